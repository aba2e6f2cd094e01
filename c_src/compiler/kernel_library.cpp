#include "compiler/kernel_library.hpp"

#include <unistd.h>

#if defined(__linux__)
#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <mutex>
#include <string_view>
#include <vector>

namespace dala::compiler {
namespace {

std::atomic<int> g_disarmed{0};
std::mutex g_mutex;
std::condition_variable g_refused;
std::string g_refusal;

// Functions of the C library and the compiler's runtime that compilers call implicitly. Most of the
// mathematics is PoCL's own and part of the kernel's library.
constexpr std::string_view kAllowed[] = {
    "memcpy", "memmove", "memset", "memcmp",    "bcmp",      "snprintf", "acos",      "acosh",
    "asin",   "asinh",   "atan",   "atan2",     "atanh",     "cbrt",     "ceil",      "cos",
    "cosh",   "erf",     "erfc",   "exp",       "exp10",     "exp2",     "expm1",     "fabs",
    "fdim",   "floor",   "fma",    "fmax",      "fmin",      "fmod",     "frexp",     "hypot",
    "ilogb",  "ldexp",   "lgamma", "lgamma_r",  "log",       "log10",    "log1p",     "log2",
    "logb",   "modf",    "nan",    "nearbyint", "nextafter", "pow",      "remainder", "remquo",
    "rint",   "round",   "scalbn", "sin",       "sincos",    "sinh",     "sqrt",      "tan",
    "tanh",   "tgamma",  "trunc"};

bool allowed(std::string_view name) {
  // Functions of the compiler's runtime, such as __udivti3, and of PoCL.
  if (name.starts_with("__") && name.size() > 5 && name.back() >= '2' && name.back() <= '4') {
    return true;
  }
  if (name.find("pocl_") != std::string_view::npos) return true;
  const auto known = [](std::string_view each) {
    return std::find(std::begin(kAllowed), std::end(kAllowed), each) != std::end(kAllowed);
  };
  return known(name) || (name.ends_with('f') && known(name.substr(0, name.size() - 1)));
}

// Bounds-checked access to the structures in an ELF file.
class File {
 public:
  explicit File(const std::string& bytes) : bytes_(bytes) {}

  template <typename T>
  bool read(uint64_t offset, T& to) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) return false;
    std::memcpy(&to, bytes_.data() + offset, sizeof(T));
    return true;
  }

  std::string_view bytes(const Elf64_Shdr& section) const {
    if (section.sh_offset > bytes_.size()) return "";
    return std::string_view(bytes_).substr(section.sh_offset, section.sh_size);
  }

  std::string_view name(const Elf64_Shdr& strings, uint32_t index) const {
    const uint64_t offset = strings.sh_offset + index;
    if (offset >= bytes_.size()) return "";
    return bytes_.c_str() + offset;
  }

 private:
  const std::string& bytes_;
};

std::string objection_to_symbol(const Elf64_Sym& symbol, std::string_view name) {
  if (ELF64_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC) {
    return "it has " + std::string(name) + ", a function that is chosen when it is loaded";
  }
  if (symbol.st_shndx != SHN_UNDEF || name.empty() || allowed(name)) return "";
  return "it refers to " + std::string(name) + ", which no kernel defines";
}

std::string objection_to_entry(const Elf64_Dyn& entry) {
  switch (entry.d_tag) {
    case DT_INIT:
    case DT_INIT_ARRAY:
    case DT_PREINIT_ARRAY:
      return "it has code that runs when it is loaded";
    case DT_FINI:
    case DT_FINI_ARRAY:
      return "it has code that runs when it is unloaded";
    default:
      return "";
  }
}

// A larger stack frame, for a kernel's private arrays times the items of a work-group, overflows
// the stack of a driver's thread.
std::string objection_to_frames([[maybe_unused]] std::string_view code) {
#if defined(__x86_64__)
  constexpr uint32_t kMostBytes = 2 << 20;
  constexpr std::string_view kReserve = "\x48\x81\xec";  // sub rsp, imm32
  for (size_t at = code.find(kReserve); at != code.npos; at = code.find(kReserve, at + 1)) {
    uint32_t bytes = 0;
    if (code.size() - at < kReserve.size() + sizeof(bytes)) break;
    std::memcpy(&bytes, code.data() + at + kReserve.size(), sizeof(bytes));
    if (bytes > kMostBytes && bytes < (1u << 31)) {
      return "its private arrays take " + std::to_string(bytes) + " bytes of the stack";
    }
  }
#endif
  return "";
}

template <typename T, typename Visit>
std::string first_objection(const File& file, const Elf64_Shdr& section, Visit visit) {
  for (uint64_t at = 0; at + sizeof(T) <= section.sh_size; at += sizeof(T)) {
    T item{};
    if (!file.read(section.sh_offset + at, item)) return "it is damaged";
    if (std::string problem = visit(item); !problem.empty()) return problem;
  }
  return "";
}

// Patches every function to return at once. The pages are private to this process.
bool disarm(void* library, const std::vector<std::string>& functions) {
#if defined(__x86_64__)
  const unsigned char code[] = {0xc3};
#elif defined(__aarch64__)
  const unsigned char code[] = {0xc0, 0x03, 0x5f, 0xd6};
#else
  const unsigned char code[] = {0};
  return false;
#endif
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  for (const std::string& name : functions) {
    auto* start = static_cast<char*>(dlsym(library, name.c_str()));
    if (start == nullptr) return false;
    const uintptr_t into_page = reinterpret_cast<uintptr_t>(start) % page;
    char* first = start - into_page;
    const size_t length = into_page + sizeof(code);
    if (mprotect(first, length, PROT_READ | PROT_WRITE) != 0) return false;
    std::memcpy(start, code, sizeof(code));
    if (mprotect(first, length, PROT_READ | PROT_EXEC) != 0) return false;
    __builtin___clear_cache(start, start + sizeof(code));
  }
  return !functions.empty();
}

// The work-group functions that the library defines. Empty if it is not a PoCL kernel.
std::vector<std::string> kernel_functions(const std::string& bytes) {
  constexpr std::string_view kPrefix = "_pocl_kernel_";
  const File file(bytes);
  Elf64_Ehdr header{};
  std::vector<std::string> functions;
  if (!file.read(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return functions;
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section{};
    Elf64_Shdr strings{};
    if (!file.read(header.e_shoff + i * sizeof(section), section)) break;
    if (section.sh_type != SHT_DYNSYM ||
        !file.read(header.e_shoff + section.sh_link * sizeof(section), strings)) {
      continue;
    }
    first_objection<Elf64_Sym>(file, section, [&](const Elf64_Sym& symbol) {
      const std::string_view name = file.name(strings, symbol.st_name);
      if (symbol.st_shndx != SHN_UNDEF && name.starts_with(kPrefix)) functions.emplace_back(name);
      return std::string();
    });
  }
  return functions;
}

}  // namespace

int disarmed() { return g_disarmed.load(); }

std::string wait_for_refusal() {
  std::unique_lock lock(g_mutex);
  g_refused.wait(lock, [] { return !g_refusal.empty(); });
  return g_refusal;
}

std::string objection_to(const std::string& bytes) {
  const File file(bytes);
  Elf64_Ehdr header{};
  if (!file.read(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64) {
    return "";
  }
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section{};
    if (!file.read(header.e_shoff + i * sizeof(section), section)) return "it is damaged";
    std::string problem;
    if ((section.sh_flags & SHF_EXECINSTR) != 0 && section.sh_type == SHT_PROGBITS) {
      problem = objection_to_frames(file.bytes(section));
    } else if (section.sh_type == SHT_DYNAMIC) {
      problem = first_objection<Elf64_Dyn>(file, section, objection_to_entry);
    } else if (section.sh_type == SHT_DYNSYM) {
      Elf64_Shdr strings{};
      if (!file.read(header.e_shoff + section.sh_link * sizeof(section), strings)) {
        return "it is damaged";
      }
      problem = first_objection<Elf64_Sym>(file, section, [&](const Elf64_Sym& symbol) {
        return objection_to_symbol(symbol, file.name(strings, symbol.st_name));
      });
    }
    if (!problem.empty()) return problem;
  }
  return "";
}

namespace {

void* open_for_real(const char* path, int flags) {
  static const auto real =
      reinterpret_cast<void* (*)(const char*, int)>(dlsym(RTLD_NEXT, "dlopen"));
  return real(path, flags);
}

// Opening the library could run its code, and PoCL aborts the process if dlopen fails.
[[noreturn]] void refuse(const std::string& problem) {
  {
    const std::lock_guard lock(g_mutex);
    g_refusal = problem;
  }
  g_refused.notify_all();
  for (;;) pause();
}

void* open_disarmed(const char* path, int flags) {
  std::ifstream stream(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(stream)), {});
  const std::vector<std::string> functions = kernel_functions(bytes);
  if (functions.empty()) return open_for_real(path, flags);
  if (const std::string problem = objection_to(bytes); !problem.empty()) {
    refuse(problem);
  }
  void* library = open_for_real(path, flags);
  if (library != nullptr && disarm(library, functions)) ++g_disarmed;
  return library;
}

}  // namespace
}  // namespace dala::compiler

// Precedes the C library's dlopen in symbol resolution, so the driver's calls arrive here.
extern "C" __attribute__((visibility("default"))) void* dlopen(const char* path, int flags) {
  const std::string_view name = path == nullptr ? "" : path;
  const char* cache = getenv("POCL_CACHE_DIR");
  if (cache != nullptr && *cache != '\0' && name.starts_with(cache)) {
    return dala::compiler::open_disarmed(path, flags);
  }
  return dala::compiler::open_for_real(path, flags);
}

#else

// No driver on other systems compiles at launch.
namespace dala::compiler {

int disarmed() { return 0; }

std::string wait_for_refusal() {
  for (;;) pause();
}

std::string objection_to(const std::string&) { return ""; }

}  // namespace dala::compiler
#endif
