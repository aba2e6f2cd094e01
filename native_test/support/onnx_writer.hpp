// Writes ONNX files for tests: protocol buffers by hand, independent of the code that reads them.
#pragma once

#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/graph/graph.hpp"
#include "support/bytes.hpp"

namespace dala::test {

// Bytes of a message, field by field.
class ProtoWriter {
 public:
  ProtoWriter& number(uint32_t field, int64_t value) {
    varint(field << 3);
    varint(static_cast<uint64_t>(value));
    return *this;
  }
  ProtoWriter& real(uint32_t field, float value) {
    varint((field << 3) | 5);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
    return *this;
  }
  ProtoWriter& bytes(uint32_t field, const std::string& content) {
    varint((field << 3) | 2);
    varint(content.size());
    bytes_ += content;
    return *this;
  }
  const std::string& str() const { return bytes_; }

 private:
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

using AttributeBytes = std::string;

inline AttributeBytes attribute(const std::string& name, int64_t value) {
  return ProtoWriter().bytes(1, name).number(3, value).number(20, 2).str();
}
inline AttributeBytes attribute(const std::string& name, float value) {
  return ProtoWriter().bytes(1, name).real(2, value).number(20, 1).str();
}
inline AttributeBytes attribute(const std::string& name, const std::string& value) {
  return ProtoWriter().bytes(1, name).bytes(4, value).number(20, 3).str();
}
inline AttributeBytes attribute(const std::string& name, const std::vector<int64_t>& values) {
  ProtoWriter writer;
  writer.bytes(1, name);
  for (int64_t value : values) writer.number(8, value);
  return writer.number(20, 7).str();
}

// A dimension by number, or by name.
struct Dim {
  Dim(int64_t size) : size(size) {}      // NOLINT(google-explicit-constructor)
  Dim(const char* name) : name(name) {}  // NOLINT(google-explicit-constructor)
  int64_t size = -1;
  std::string name;
};

class OnnxWriter {
 public:
  explicit OnnxWriter(int64_t opset = 17) : opset_(opset) {}

  OnnxWriter& node(const std::string& op, const std::vector<std::string>& inputs,
                   const std::vector<std::string>& outputs,
                   const std::vector<AttributeBytes>& attributes = {},
                   const std::string& domain = "") {
    ProtoWriter writer;
    for (const std::string& each : inputs) writer.bytes(1, each);
    for (const std::string& each : outputs) writer.bytes(2, each);
    writer.bytes(3, op + "_" + std::to_string(++nodes_)).bytes(4, op);
    for (const AttributeBytes& each : attributes) writer.bytes(5, each);
    if (!domain.empty()) writer.bytes(7, domain);
    graph_.bytes(1, writer.str());
    return *this;
  }

  template <typename T>
  OnnxWriter& constant(const std::string& name, model::ElementType type,
                       const std::vector<int64_t>& dims, const std::vector<T>& values) {
    const std::string raw(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
    ProtoWriter writer;
    for (int64_t dim : dims) writer.number(1, dim);
    writer.number(2, static_cast<int64_t>(type)).bytes(8, name).bytes(9, raw);
    return raw_constant(writer.str());
  }
  // Adds a given TensorProto.
  OnnxWriter& raw_constant(const std::string& tensor) {
    graph_.bytes(5, tensor);
    return *this;
  }

  OnnxWriter& input(const std::string& name, const std::vector<Dim>& dims,
                    model::ElementType type = model::ElementType::f32) {
    graph_.bytes(11, port(name, dims, type));
    return *this;
  }
  OnnxWriter& output(const std::string& name, const std::vector<Dim>& dims = {},
                     model::ElementType type = model::ElementType::f32) {
    graph_.bytes(12, port(name, dims, type));
    return *this;
  }

  const std::string& graph() const { return graph_.str(); }

  std::string str() const {
    const std::string opset = ProtoWriter().bytes(1, "").number(2, opset_).str();
    return ProtoWriter()
        .number(1, 8)
        .bytes(2, "dala tests")
        .bytes(7, graph_.str())
        .bytes(8, opset)
        .str();
  }

 private:
  static std::string port(const std::string& name, const std::vector<Dim>& dims,
                          model::ElementType type) {
    ProtoWriter shape;
    for (const Dim& dim : dims) {
      ProtoWriter one;
      if (dim.name.empty()) {
        one.number(1, dim.size);
      } else {
        one.bytes(2, dim.name);
      }
      shape.bytes(1, one.str());
    }
    ProtoWriter tensor;
    tensor.number(1, static_cast<int64_t>(type));
    if (!dims.empty()) tensor.bytes(2, shape.str());
    return ProtoWriter().bytes(1, name).bytes(2, ProtoWriter().bytes(1, tensor.str()).str()).str();
  }

  int64_t opset_;
  int nodes_ = 0;
  ProtoWriter graph_;
};

// The graph of another writer as an attribute: a branch, or the body of a loop.
inline AttributeBytes attribute(const std::string& name, const OnnxWriter& graph) {
  return ProtoWriter().bytes(1, name).bytes(6, graph.graph()).number(20, 5).str();
}
inline AttributeBytes attribute(const std::string& name, const std::vector<float>& values) {
  ProtoWriter writer;
  writer.bytes(1, name);
  for (float value : values) writer.real(7, value);
  return writer.number(20, 6).str();
}

}  // namespace dala::test
