// The wire format of protocol buffers, read in place. ONNX files are such messages; reading them
// here, rather than through libprotobuf, keeps weights uncopied until they are converted, has no
// limit of 2 GB, and cannot clash with the libprotobuf that another NIF of the VM brings along.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dala::model::onnx {

using Bytes = std::span<const std::byte>;

// One field of a message: its number, and its content by kind.
struct Field {
  enum class Kind { varint, fixed64, bytes, fixed32 } kind = Kind::varint;
  uint32_t number = 0;
  uint64_t bits = 0;  // of varint, fixed64 and fixed32
  Bytes bytes;        // of bytes: a string, a message, or packed numbers

  int64_t integer() const;        // throws `invalid_model` unless it is a number
  float real() const;             // of fixed32
  Bytes content() const;          // throws `invalid_model` unless it is bytes
  std::string_view text() const;  // the same
};

// Walks through the fields of a message. Throws `invalid_model` where the bytes are no message.
class Message {
 public:
  Message(Bytes bytes, std::string_view what) : rest_(bytes), what_(what) {}

  bool next(Field& field);  // false at the end

 private:
  uint64_t varint();
  Bytes take(uint64_t size);

  Bytes rest_;
  std::string_view what_;  // what kind of message this is, for people
};

// Appends the numbers of a repeated field, which may be packed into one or not.
void append_integers(const Field& field, std::vector<int64_t>& numbers);
void append_floats(const Field& field, std::vector<float>& numbers);
void append_doubles(const Field& field, std::vector<double>& numbers);

}  // namespace dala::model::onnx
