// A zero-copy flatbuffer reader: tables with numbered fields, strings and vectors. Every offset is
// checked before it is followed; an offset outside of the file is reported as `invalid_model`.
// Fields are decoded on access.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace dala::model::tflite {

using Bytes = std::span<const std::byte>;

// Throws `invalid_model` for an offset that is not valid in `data`.
[[noreturn]] void reject_offset(Bytes data, size_t at);

// The number at that offset, which need not be aligned.
template <typename T>
T load(Bytes file, size_t at) {
  if (at > file.size() || sizeof(T) > file.size() - at) reject_offset(file, at);
  T value;
  std::memcpy(&value, file.data() + at, sizeof(T));
  return value;
}

// A vector of numbers.
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
  Tables tables(int field) const;  // this and the following are empty if absent
  std::string_view text(int field) const;
  template <typename T>
  Numbers<T> numbers(int field) const {
    return Numbers<T>(vector(field, sizeof(T)));
  }
  Bytes bytes(int field) const { return vector(field, 1); }

 private:
  size_t place(int field) const;               // the position of the field; 0 if absent
  size_t target(int field) const;              // the position the field points to; 0 if absent
  Bytes vector(int field, size_t each) const;  // the elements of a vector, `each` bytes long

  Bytes file_;
  size_t at_;
  size_t fields_;  // the position of the vtable
  size_t count_;
};

// A vector of tables.
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
