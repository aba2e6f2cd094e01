# The front door: `make help` lists what can be done. Mix calls `make native`.

SHELL := bash
.DEFAULT_GOAL := help

# Elixir warns, and prints escapes, where the locale is not UTF-8.
ifeq ($(findstring UTF-8,$(or $(LC_ALL),$(LC_CTYPE),$(LANG))),)
export LC_ALL := C.UTF-8
endif

JOBS := $(shell nproc 2>/dev/null || sysctl -n hw.ncpu 2>/dev/null || echo 1)
GENERATOR := $(if $(shell command -v ninja),Ninja,Unix Makefiles)

# Where ccache is, the same sources are compiled once: for the native tests, for Mix, and for
# applications that have this library as a dependency.
ifneq ($(shell command -v ccache),)
export CMAKE_CXX_COMPILER_LAUNCHER := ccache
endif

# Sanitizer of the native tests: asan or tsan. Each has its own build folder.
SAN ?=
NATIVE_DIR := _build/native$(addprefix -,$(SAN))

# How to find the Erlang headers when Mix has not told.
ERTS_DIR = $(or $(ERTS_INCLUDE_DIR),$(shell erl -noshell -eval \
  'io:format("~s/erts-~s/include",[code:root_dir(),erlang:system_info(version)]),halt().'))

CPP_FILES = $(shell find bench c_src native_test -name '*.cpp' 2>/dev/null | sort)
HPP_FILES = $(shell find bench c_src native_test -name '*.hpp' 2>/dev/null | sort)

# $(call configure,<folder>,<cmake arguments>): configures when the folder is new
# or was made with other arguments, in which case nothing in it can be trusted.
define configure
	@set -- -S '$(CURDIR)' -G '$(GENERATOR)' $(2); \
	if [ "$$(cat '$(1)/configured' 2>/dev/null)" != "$$*" ]; then \
	  rm -rf '$(1)' && mkdir -p '$(1)' && \
	  { cmake -B '$(1)' "$$@" >'$(1)/configure.log' 2>&1 || { cat '$(1)/configure.log'; exit 1; }; } && \
	  printf '%s' "$$*" >'$(1)/configured'; \
	fi
endef

# $(call build,<folder>,<target>): shows what is done, and nothing when there is nothing to do.
define build
	@set -o pipefail; cmake --build '$(1)' --target $(2) --parallel $(JOBS) 2>&1 \
	  | { grep -vE '^-- |no work to do|Re-checking globbed|Built target|^Consolidate|^make\[' || true; }
endef

# Kernel caches that are cold and go away: a warm one hides everything that can go
# wrong at the first build of a kernel.
cold_caches = scratch=$$(mktemp -d) && trap 'rm -rf "$$scratch"' EXIT && \
  mkdir "$$scratch/pocl" "$$scratch/dala" && \
  export POCL_CACHE_DIR="$$scratch/pocl" DALA_GPU_CACHE_DIR="$$scratch/dala"

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## install the system packages that are missing
	@bin/setup

.PHONY: build
build: setup ## compile everything
	@mix compile

.PHONY: demo
demo: build ## run the quick start example
	@mix run examples/quick_start.exs

.PHONY: demo-ml
demo-ml: build ## install models and show what they find (PICTURE=photo.jpg for one's own)
	@bin/setup models
	@mix run examples/photo.exs $(if $(PICTURE),--picture '$(PICTURE)') \
	  $(if $(DOCS),--thumbnails guides/images/photo)

.PHONY: gallery
gallery: build ## write a page that shows every filter (PICTURE=photo.jpg for one's own)
	@mix dala.gallery $(if $(PICTURE),--picture '$(PICTURE)') \
	  $(if $(DOCS),--thumbnails guides/images/filters)

.PHONY: camera
camera: build ## run filters on a moving scene, in a window
	@mix dala.camera $(ARGS)

.PHONY: test
ifeq ($(SAN),)
test: setup ## check formats, run native and Elixir tests (SAN=asan|tsan: native tests, sanitized)
	@$(MAKE) --no-print-directory check-format
	@$(MAKE) --no-print-directory test-native
	@$(MAKE) --no-print-directory test-onnx
	@$(MAKE) --no-print-directory test-elixir
else
test: setup
	@$(MAKE) --no-print-directory test-native
endif

.PHONY: test-native
test-native: native-tests ## run the native tests
	@echo '==> native tests$(if $(SAN), ($(SAN)))'
	@$(cold_caches) && ctest --test-dir $(NATIVE_DIR) --parallel $(JOBS) --output-on-failure --no-tests=error $(ARGS)

.PHONY: test-elixir
test-elixir: ## run the Elixir tests (ARGS are passed on)
	@echo '==> Elixir tests'
	@$(cold_caches) && mix test $(ARGS)

# The test of many predictions at once, for longer than the others have time for.
MINUTES ?= 5

.PHONY: soak
soak: build ## predict in 16 processes for MINUTES: same results, flat memory, how long each waits
	@DALA_SOAK_SECONDS=$$((60 * $(MINUTES))) mix test test/system/predictions_test.exs

# The test models that come with ONNX: per operator, how many pass. The table goes into the guide.
ONNX_DATA := /usr/share/libonnx-testdata/data

.PHONY: test-onnx
test-onnx: setup configure-native ## run the test models of ONNX and say which operators pass
	$(call build,$(NATIVE_DIR),dala_onnx)
	@echo '==> ONNX test models'
	@$(cold_caches) && $(NATIVE_DIR)/dala_onnx $(ONNX_DATA) --guide guides/onnx.md \
	  --least node=800 --least pytorch-converted=80 --least pytorch-operator=34 $(ARGS)

# The models with real weights, fetched once into a folder of their own.
MODELS_DIR := _build/models

.PHONY: test-models
test-models: setup ## install the real models and check what they find (ACCEPT_LICENCE=1: yolo_v5, too)
	@bin/setup models || true
	@echo '==> models'
	@DALA_TEST_MODELS=1 DALA_MODELS_DIR='$(CURDIR)/$(MODELS_DIR)' \
	  DALA_ACCEPT_LICENCE='$(ACCEPT_LICENCE)' mix test test/system/real_models_test.exs $(ARGS)

# libFuzzer on the loader of models, with the address sanitizer; a new folder of its own, since
# everything below is compiled by clang.
FUZZ_DIR := _build/fuzz
FUZZ_SECONDS ?= 60

.PHONY: fuzz
fuzz: setup ## feed damaged files to the model loader for FUZZ_SECONDS
	@command -v clang++ >/dev/null || { echo 'make fuzz needs clang (apt-get install clang)' >&2; exit 1; }
	@CXX=clang++ $(MAKE) --no-print-directory configure-fuzz
	$(call build,$(FUZZ_DIR),dala_fuzz)
	@mkdir -p $(FUZZ_DIR)/corpus
	@cp examples/double.json $(FUZZ_DIR)/corpus
	@find $(ONNX_DATA) -name model.onnx -size -8k | head -400 | while read -r file; do \
	  cp "$$file" "$(FUZZ_DIR)/corpus/$$(basename "$$(dirname "$$file")")"; done
	@cp examples/double.* $(FUZZ_DIR)/corpus/
	@$(cold_caches) && cd $(FUZZ_DIR) && ASAN_OPTIONS=detect_leaks=0:detect_container_overflow=0:intercept_tls_get_addr=0 \
	  ./dala_fuzz corpus -max_total_time=$(FUZZ_SECONDS) -rss_limit_mb=4096 -timeout=10 $(ARGS)

.PHONY: configure-fuzz
configure-fuzz:
	$(call configure,$(FUZZ_DIR),'-DDALA_FUZZ=ON')

# Oclgrind is an OpenCL device that executes kernels one instruction at a time
# and logs every access out of bounds and every race. The loader finds it as the
# only platform through a vendors folder of our own. Functions stay functions:
# inlining those that return structs leaves notes on aliases that it does not know.
OCLGRIND_DIR := _build/oclgrind
OCLGRIND_FINDINGS := Invalid (read|write)|[Dd]ata race|Unaligned|not aligned|divergence|Uninitialized|exceeds|out of bounds|OCLGRIND FATAL

.PHONY: test-oclgrind
test-oclgrind: setup native-tests ## run the native tests on Oclgrind, which checks every memory access
	@echo '==> native tests on Oclgrind'
	@rm -rf $(OCLGRIND_DIR) && mkdir -p $(OCLGRIND_DIR)/vendors
	@echo "$$(dirname "$$(readlink -f "$$(command -v oclgrind)")")/../lib/oclgrind/liboclgrind-rt-icd.so" \
	  >$(OCLGRIND_DIR)/vendors/oclgrind.icd
	@$(cold_caches) && log='$(CURDIR)/$(OCLGRIND_DIR)/log' && : >"$$log" && status=0; \
	OCL_ICD_VENDORS='$(CURDIR)/$(OCLGRIND_DIR)/vendors/' OCLGRIND_LOG="$$log" \
	  OCLGRIND_BUILD_OPTIONS=-fno-inline \
	  OCLGRIND_DATA_RACES=1 OCLGRIND_MAX_ERRORS=100 DALA_TEST_QUICK=1 \
	  $(NATIVE_DIR)/dala_tests $(ARGS) || status=$$?; \
	if grep -nE '$(OCLGRIND_FINDINGS)' "$$log"; then \
	  echo "Oclgrind has findings; the whole log is $(OCLGRIND_DIR)/log"; status=1; \
	fi; \
	exit $$status

# Every workload beside its peer; guides/performance.md says how to read it.
QUICK ?=
ONLY ?=

.PHONY: bench
bench: native-bench build ## measure against peers (QUICK=1: two minutes; ONLY=conv: a part)
	@# Kernels are compiled once per machine. The VM does not pass on what it sets itself.
	@mkdir -p _build/bench/cache/pocl _build/bench/cache/dala
	@POCL_CACHE_DIR='$(CURDIR)/_build/bench/cache/pocl' \
	  DALA_GPU_CACHE_DIR='$(CURDIR)/_build/bench/cache/dala' \
	  mix run bench/run.exs $(if $(filter-out 0,$(QUICK)),--quick) $(if $(ONLY),--only '$(ONLY)')

.PHONY: native-bench
native-bench:
	@bin/setup bench
	$(call configure,_build/bench,'-DDALA_BUILD_BENCH=ON')
	$(call build,_build/bench,dala_bench)

.PHONY: lint
lint: check-format tidy ## check formats and run clang-tidy

.PHONY: check-format
check-format:
	@echo '==> formats'
	@clang-format --dry-run -Werror $(CPP_FILES) $(HPP_FILES)
	@mix format --check-formatted

.PHONY: format
format: ## format all sources
	@clang-format -i $(CPP_FILES) $(HPP_FILES)
	@mix format

# One stamp per source, so that only what changed is looked at again. Without the bench, whose
# peers need not be installed.
TIDY_STAMPS = $(patsubst %.cpp,_build/tidy/%.ok,$(filter-out bench/%,$(CPP_FILES)))

.PHONY: tidy
tidy: configure-native ## run clang-tidy on what changed since its last run
	@echo '==> clang-tidy'
	@mkdir -p _build/tidy
	@# Flags of GCC that clang does not know would be errors.
	@sed 's/ -fno-gnu-unique//g' _build/native/compile_commands.json >_build/tidy/compile_commands.json
	@$(MAKE) --no-print-directory --keep-going -j$(JOBS) tidy-stamps

.PHONY: tidy-stamps
tidy-stamps: $(TIDY_STAMPS)

# fine decodes arguments into values, so NIFs take them by value.
tidy_flags = $(if $(filter c_src/nif/%,$<),--checks=-performance-unnecessary-value-param)

_build/tidy/%.ok: %.cpp $(HPP_FILES) .clang-tidy
	@echo 'tidy $<'
	@clang-tidy -p _build/tidy --quiet $(tidy_flags) $< 2>/dev/null
	@mkdir -p $(@D) && touch $@

.PHONY: configure-native
configure-native:
	$(call configure,$(NATIVE_DIR),'-DDALA_BUILD_TESTS=ON' '-DDALA_SAN=$(SAN)' '-DERTS_INCLUDE_DIR=$(ERTS_DIR)')

.PHONY: native-tests
native-tests: configure-native
	$(call build,$(NATIVE_DIR),dala_tests)

# Mix says where to build, for which Erlang, and with whose fine.hpp.
.PHONY: native
native:
	@[ -n "$$MIX_APP_PATH" ] || { echo 'make native is for Mix; run mix compile' >&2; exit 1; }
	$(call configure,$(MIX_APP_PATH)/obj,'-DDALA_PRIV_DIR=$(MIX_APP_PATH)/priv' '-DERTS_INCLUDE_DIR=$(ERTS_INCLUDE_DIR)' '-DFINE_INCLUDE_DIR=$(FINE_INCLUDE_DIR)')
	$(call build,$(MIX_APP_PATH)/obj,dala_gpu_nif)

.PHONY: clean
clean: ## remove everything that was built
	@rm -rf _build
