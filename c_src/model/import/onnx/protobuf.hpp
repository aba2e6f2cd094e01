// A zero-copy reader of the protocol buffers wire format, which ONNX files use. Compared with
// libprotobuf, weights are not copied before they are converted, there is no limit of 2 GB, and no
// clash with the libprotobuf of another NIF library in the VM.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dala::model::onnx {

using Bytes = std::span<const std::byte>;

// The number there, which need not be aligned.
template <typename T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

// One field of a message: its number, and its content by wire type.
struct Field {
  enum class Kind { varint, fixed64, bytes, fixed32 } kind = Kind::varint;
  uint32_t number = 0;
  uint64_t bits = 0;  // the value of a varint, fixed64 or fixed32
  Bytes bytes;        // the content if length-delimited: a string, a message, or packed numbers

  // Throw `invalid_model` if the field has another wire type.
  int64_t integer() const;
  float real() const;  // fixed32
  Bytes content() const;
  std::string_view text() const;
};

// Iterates over the fields of a message. Throws `invalid_model` if the bytes are not a message.
class Message {
 public:
  Message(Bytes bytes, std::string_view what) : rest_(bytes), what_(what) {}

  bool next(Field& field);  // false at the end

 private:
  uint64_t varint();
  Bytes take(uint64_t size);

  Bytes rest_;
  std::string_view what_;  // the name of the message in error texts
};

// Appends the numbers of a repeated field, packed or not.
void append_integers(const Field& field, std::vector<int64_t>& numbers);
void append_floats(const Field& field, std::vector<float>& numbers);
void append_doubles(const Field& field, std::vector<double>& numbers);

}  // namespace dala::model::onnx
