#include "runtime/program/compile_request.hpp"

#include <cstdint>
#include <cstring>

#include "runtime/program/grid_growth.hpp"

namespace dala {
namespace {

// PoCL specialises kernels for grids whose indices fit 16 bits, excluding the largest index.
constexpr size_t kWide = 65535;

void put(std::string& bytes, uint64_t number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

void put(std::string& bytes, const std::string& text) {
  put(bytes, uint64_t{text.size()});
  bytes += text;
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  uint64_t number() {
    uint64_t value = 0;
    if (!has(sizeof(value))) return 0;
    std::memcpy(&value, bytes_.data(), sizeof(value));
    bytes_.remove_prefix(sizeof(value));
    return value;
  }

  std::string text() {
    const uint64_t size = number();
    if (!has(size)) return "";
    std::string value(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
    return value;
  }

  bool good() const { return good_; }
  bool at_end() const { return good_ && bytes_.empty(); }

 private:
  bool has(uint64_t size) {
    good_ = good_ && size <= bytes_.size();
    return good_;
  }

  std::string_view bytes_;
  bool good_ = true;
};

}  // namespace

Specialisation specialisation_of(const std::string& entry, const Range& range) {
  return {entry, range.local, GridGrowth::width_of(range.global, range.local) >= kWide};
}

std::string encode(const CompileRequest& request) {
  std::string bytes;
  put(bytes, request.platform);
  put(bytes, request.device);
  put(bytes, request.source);
  put(bytes, request.options);
  put(bytes, uint64_t{request.specialisations.size()});
  for (const Specialisation& each : request.specialisations) {
    put(bytes, each.entry);
    for (size_t items : each.local) put(bytes, uint64_t{items});
    put(bytes, uint64_t{each.wide ? 1u : 0u});
  }
  return bytes;
}

std::optional<CompileRequest> decode_request(std::string_view bytes) {
  Reader reader(bytes);
  CompileRequest request;
  request.platform = reader.text();
  request.device = reader.text();
  request.source = reader.text();
  request.options = reader.text();
  for (uint64_t left = reader.number(); left > 0 && reader.good(); --left) {
    Specialisation& each = request.specialisations.emplace_back();
    each.entry = reader.text();
    for (size_t& items : each.local) items = reader.number();
    each.wide = reader.number() != 0;
  }
  if (!reader.at_end()) return std::nullopt;
  return request;
}

}  // namespace dala
