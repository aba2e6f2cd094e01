// Flatbuffers, read in place: tables whose fields are known by number, strings, and vectors. Every
// offset is checked before it is followed, whoever wrote it; what points outside of the file is
// `invalid_model`. Reading costs nothing but what is asked for.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace dala::model::tflite {

using Bytes = std::span<const std::byte>;

[[noreturn]] void outside(size_t at);  // throws

// The number at that place, of any alignment.
template <typename T>
T load(Bytes file, size_t at) {
  if (at > file.size() || sizeof(T) > file.size() - at) outside(at);
  T value;
  std::memcpy(&value, file.data() + at, sizeof(T));
  return value;
}

// Numbers in a row.
template <typename T>
class Numbers {
 public:
  Numbers() = default;
  explicit Numbers(Bytes bytes) : bytes_(bytes) {}

  size_t size() const { return bytes_.size() / sizeof(T); }
  bool empty() const { return bytes_.empty(); }
  T operator[](size_t index) const { return load<T>(bytes_, index * sizeof(T)); }
  std::vector<int64_t> integers() const {
    std::vector<int64_t> values(size());
    for (size_t i = 0; i < size(); ++i) values[i] = static_cast<int64_t>((*this)[i]);
    return values;
  }

 private:
  Bytes bytes_;
};

class Tables;

class Table {
 public:
  Table(Bytes file, size_t at);
  static Table root(Bytes file);

  bool has(int field) const { return place(field) != 0; }
  template <typename T>
  T number(int field, T fallback = 0) const {
    const size_t at = place(field);
    return at == 0 ? fallback : load<T>(file_, at);
  }
  bool flag(int field) const { return number<uint8_t>(field) != 0; }
  std::optional<Table> table(int field) const;
  Tables tables(int field) const;  // empty when absent, as are these
  std::string_view text(int field) const;
  template <typename T>
  Numbers<T> numbers(int field) const {
    return Numbers<T>(vector(field, sizeof(T)));
  }
  Bytes bytes(int field) const { return vector(field, 1); }

 private:
  size_t place(int field) const;               // of the field in the file; 0: it is absent
  size_t target(int field) const;              // of what the field points to; 0: it is absent
  Bytes vector(int field, size_t each) const;  // its elements, of that size

  Bytes file_;
  size_t at_;
  size_t fields_;  // where their places are listed
  size_t count_;
};

// Tables in a row.
class Tables {
 public:
  Tables(Bytes file, size_t first, size_t count) : file_(file), first_(first), count_(count) {}

  size_t size() const { return count_; }
  Table operator[](size_t index) const;

 private:
  Bytes file_;
  size_t first_;
  size_t count_;
};

}  // namespace dala::model::tflite
