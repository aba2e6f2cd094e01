#include "model/import/onnx/protobuf.hpp"

#include <cstring>

#include "model/graph/problem.hpp"

namespace dala::model::onnx {
namespace {

// Wire types, the low 3 bits of a field's key.
enum WireType {
  kVarint = 0,
  kFixed64 = 1,
  kLengthDelimited = 2,
  kFixed32 = 5,
};

template <typename T>
void append_fixed(const Field& field, Field::Kind single, std::vector<T>& numbers) {
  if (field.kind == single) {
    T value;
    std::memcpy(&value, &field.bits, sizeof(T));
    numbers.push_back(value);
    return;
  }
  const Bytes packed = field.content();
  if (packed.size() % sizeof(T) != 0) {
    reject(text("a packed list of ", packed.size(), " bytes, expected a multiple of ", sizeof(T)));
  }
  for (size_t at = 0; at < packed.size(); at += sizeof(T)) {
    numbers.push_back(load<T>(packed.data() + at));
  }
}

}  // namespace

int64_t Field::integer() const {
  if (kind == Kind::bytes) reject(dala::text("field ", number, " is not a number"));
  return static_cast<int64_t>(bits);
}

float Field::real() const {
  if (kind != Kind::fixed32) reject(dala::text("field ", number, " is not a float"));
  float value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

Bytes Field::content() const {
  if (kind != Kind::bytes) reject(dala::text("field ", number, " is not length-delimited"));
  return bytes;
}

std::string_view Field::text() const {
  const Bytes given = content();
  return {reinterpret_cast<const char*>(given.data()), given.size()};
}

bool Message::next(Field& field) {
  if (rest_.empty()) return false;
  const uint64_t key = varint();
  field.number = static_cast<uint32_t>(key >> 3);
  field.bits = 0;
  field.bytes = {};
  if (field.number == 0 || key >> 32 != 0) reject(text(what_, " has an invalid field number"));
  switch (key & 7) {
    case kVarint:
      field.kind = Field::Kind::varint;
      field.bits = varint();
      return true;
    case kFixed64:
      field.kind = Field::Kind::fixed64;
      field.bits = load<uint64_t>(take(8).data());
      return true;
    case kLengthDelimited:
      field.kind = Field::Kind::bytes;
      field.bytes = take(varint());
      return true;
    case kFixed32:
      field.kind = Field::Kind::fixed32;
      field.bits = load<uint32_t>(take(4).data());
      return true;
    default:
      reject(text(what_, " has a field of the unknown wire type ", key & 7));
  }
}

uint64_t Message::varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    const auto byte = static_cast<uint64_t>(take(1).front());
    if (shift < 64) value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  reject(text(what_, " has a varint of more than 10 bytes"));
}

Bytes Message::take(uint64_t size) {
  if (size > rest_.size()) {
    reject(text(what_, " is truncated: ", size, " bytes expected, ", rest_.size(), " left"));
  }
  const Bytes taken = rest_.first(size);
  rest_ = rest_.subspan(size);
  return taken;
}

void append_integers(const Field& field, std::vector<int64_t>& numbers) {
  if (field.kind != Field::Kind::bytes) {
    numbers.push_back(field.integer());
    return;
  }
  // Packed: a sequence of varints.
  const Bytes packed = field.content();
  uint64_t value = 0;
  int shift = 0;
  for (std::byte each : packed) {
    const auto byte = static_cast<uint64_t>(each);
    if (shift >= 70) reject("a packed list has a varint of more than 10 bytes");
    if (shift < 64) value |= (byte & 0x7f) << shift;
    shift += 7;
    if (byte >= 0x80) continue;
    numbers.push_back(static_cast<int64_t>(value));
    value = 0;
    shift = 0;
  }
  if (shift != 0) reject("a packed list ends within a varint");
}

void append_floats(const Field& field, std::vector<float>& numbers) {
  append_fixed(field, Field::Kind::fixed32, numbers);
}

void append_doubles(const Field& field, std::vector<double>& numbers) {
  append_fixed(field, Field::Kind::fixed64, numbers);
}

}  // namespace dala::model::onnx
