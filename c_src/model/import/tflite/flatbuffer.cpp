#include "model/import/tflite/flatbuffer.hpp"

#include "runtime/error.hpp"

namespace dala::model::tflite {
namespace {

// The target of an offset. Offsets are relative to their own position and point forwards.
size_t followed(Bytes file, size_t at) {
  const size_t target = at + load<uint32_t>(file, at);
  if (target == at || target >= file.size()) reject_offset(file, target);
  return target;
}

// The elements of a vector, which follow their count.
Bytes elements(Bytes file, size_t at, size_t each) {
  const size_t count = load<uint32_t>(file, at);
  const size_t first = at + sizeof(uint32_t);
  if (count > (file.size() - first) / each) reject_offset(file, first + count * each);
  return file.subspan(first, count * each);
}

}  // namespace

void reject_offset(Bytes data, size_t at) {
  throw Error(Reason::invalid_model, text("the file is truncated or damaged: invalid offset ", at,
                                          " in ", data.size(), " bytes of data"));
}

Table::Table(Bytes file, size_t at) : file_(file), at_(at) {
  const int64_t fields = static_cast<int64_t>(at) - load<int32_t>(file, at);
  if (fields < 0) reject_offset(file, at);
  fields_ = static_cast<size_t>(fields);
  const size_t bytes = load<uint16_t>(file, fields_);
  if (bytes < 2 * sizeof(uint16_t) || fields_ + bytes > file.size()) {
    reject_offset(file, fields_ + bytes);
  }
  count_ = bytes / sizeof(uint16_t) - 2;
}

Table Table::root(Bytes file) { return Table(file, followed(file, 0)); }

size_t Table::place(int field) const {
  const auto index = static_cast<size_t>(field);
  if (index >= count_) return 0;
  const size_t offset = load<uint16_t>(file_, fields_ + (index + 2) * sizeof(uint16_t));
  return offset == 0 ? 0 : at_ + offset;
}

size_t Table::target(int field) const {
  const size_t at = place(field);
  return at == 0 ? 0 : followed(file_, at);
}

Bytes Table::vector(int field, size_t each) const {
  const size_t at = target(field);
  return at == 0 ? Bytes() : elements(file_, at, each);
}

std::optional<Table> Table::table(int field) const {
  const size_t at = target(field);
  if (at == 0) return std::nullopt;
  return Table(file_, at);
}

Tables Table::tables(int field) const {
  const size_t at = target(field);
  if (at == 0) return {file_, 0, 0};
  return {file_, at + sizeof(uint32_t),
          elements(file_, at, sizeof(uint32_t)).size() / sizeof(uint32_t)};
}

std::string_view Table::text(int field) const {
  const Bytes bytes = vector(field, 1);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Table Tables::operator[](size_t index) const {
  return Table(file_, followed(file_, first_ + index * sizeof(uint32_t)));
}

}  // namespace dala::model::tflite
