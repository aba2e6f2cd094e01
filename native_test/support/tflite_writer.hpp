// Writes TFLite files for tests: flatbuffers by hand, independent of the code that reads them.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace dala::test {

// A table by the numbers of its fields: scalars in place, and references.
class FlatTable {
 public:
  template <typename T>
  FlatTable& number(int field, T value) {
    return put(field, raw(&value, sizeof(value)));
  }
  FlatTable& integer(int field, int32_t value) { return number(field, value); }
  FlatTable& byte(int field, int value) { return number(field, static_cast<int8_t>(value)); }
  FlatTable& flag(int field) { return number(field, uint8_t{1}); }
  FlatTable& real(int field, float value) { return number(field, value); }
  FlatTable& table(int field, const FlatTable& value) { return put(field, std::vector{value}); }
  FlatTable& tables(int field, const std::vector<FlatTable>& values) {
    return put(field, Tables{values});
  }
  template <typename T>
  FlatTable& numbers(int field, const std::vector<T>& values) {
    return put(field, Vector{values.size(), raw(values.data(), values.size() * sizeof(T))});
  }
  // Adds a vector of bytes, as buffers have.
  template <typename T>
  FlatTable& data(int field, const std::vector<T>& values) {
    const std::string bytes = raw(values.data(), values.size() * sizeof(T));
    return put(field, Vector{bytes.size(), bytes});
  }
  FlatTable& text(int field, const std::string& value) {
    return put(field, Vector{value.size(), value});
  }

  // A file with this as its root.
  std::string file(const std::string& identifier) const {
    std::string out(4, '\0');
    out += identifier;
    patch(out, 0, write(out));
    return out;
  }

 private:
  struct Vector {
    size_t count;
    std::string bytes;
  };
  struct Tables {
    std::vector<FlatTable> tables;
  };
  using Field = std::variant<std::string, std::vector<FlatTable>, Tables, Vector>;

  static std::string raw(const void* from, size_t size) {
    return {static_cast<const char*>(from), size};
  }

  FlatTable& put(int field, Field value) {
    fields_[field] = std::move(value);
    return *this;
  }

  static void align(std::string& out) { out.resize((out.size() + 7) / 8 * 8); }

  template <typename T>
  static void append(std::string& out, T value) {
    out += raw(&value, sizeof(value));
  }

  // Offsets are relative to their own position.
  static void patch(std::string& out, size_t at, size_t target) {
    const auto offset = static_cast<uint32_t>(target - at);
    std::memcpy(out.data() + at, &offset, sizeof(offset));
  }

  // Appends the vtable, the table, and everything that it refers to. Returns the table's position.
  size_t write(std::string& out) const {
    align(out);
    const size_t list = out.size();
    const int count = fields_.empty() ? 0 : fields_.rbegin()->first + 1;
    std::string inside(4, '\0');
    std::map<int, size_t> places;
    for (const auto& [field, value] : fields_) {
      const auto* bytes = std::get_if<std::string>(&value);
      const size_t size = bytes == nullptr ? 4 : bytes->size();
      inside.resize((inside.size() + size - 1) / size * size);
      places[field] = inside.size();
      inside += bytes == nullptr ? std::string(4, '\0') : *bytes;
    }
    append(out, static_cast<uint16_t>(4 + 2 * count));
    append(out, static_cast<uint16_t>(inside.size()));
    for (int field = 0; field < count; ++field) {
      const auto found = places.find(field);
      append(out, static_cast<uint16_t>(found == places.end() ? 0 : found->second));
    }
    align(out);
    const size_t at = out.size();
    const auto back = static_cast<int32_t>(at - list);
    std::memcpy(inside.data(), &back, sizeof(back));
    out += inside;
    for (const auto& [field, value] : fields_) {
      if (std::holds_alternative<std::string>(value)) continue;
      patch(out, at + places[field], write_target(out, value));
    }
    return at;
  }

  static size_t write_target(std::string& out, const Field& value) {
    if (const auto* one = std::get_if<std::vector<FlatTable>>(&value)) return (*one)[0].write(out);
    align(out);
    out.append(4, '\0');  // so that elements of 8 bytes are aligned
    const size_t at = out.size();
    if (const auto* vector = std::get_if<Vector>(&value)) {
      append(out, static_cast<uint32_t>(vector->count));
      out += vector->bytes + '\0';
      return at;
    }
    const auto& tables = std::get<Tables>(value).tables;
    append(out, static_cast<uint32_t>(tables.size()));
    out.append(4 * tables.size(), '\0');
    for (size_t i = 0; i < tables.size(); ++i) {
      patch(out, at + 4 + 4 * i, tables[i].write(out));
    }
    return at;
  }

  std::map<int, Field> fields_;
};

// The codes of the element types that tests use.
struct LiteType {
  static constexpr int f32 = 0;
  static constexpr int f16 = 1;
  static constexpr int i32 = 2;
  static constexpr int u8 = 3;
  static constexpr int i64 = 4;
  static constexpr int boolean = 6;
  static constexpr int i8 = 9;
  static constexpr int resource = 13;
  static constexpr int i4 = 17;
};

// Scales and zero points, along an axis if there are several.
struct LiteScales {
  std::vector<float> scales;
  std::vector<int64_t> zero_points;
  int axis = 0;
};

class TfliteWriter {
 public:
  // Tensors are identified by the numbers that these functions return.
  int tensor(const std::string& name, const std::vector<int32_t>& shape, int type = LiteType::f32,
             const LiteScales& scales = {}) {
    return add(described(name, shape, type, scales));
  }
  template <typename T>
  int constant(const std::vector<int32_t>& shape, int type, const std::vector<T>& values,
               const LiteScales& scales = {}) {
    buffers_.push_back(FlatTable().data(0, values));
    FlatTable table = described("constant", shape, type, scales);
    return add(table.number(2, static_cast<uint32_t>(buffers_.size())));
  }
  // Adds a tensor with fields of its own, such as those of a sparse one.
  int constant_as(FlatTable table, const FlatTable& buffer) {
    buffers_.push_back(buffer);
    return add(table.number(2, static_cast<uint32_t>(buffers_.size())));
  }
  static FlatTable described(const std::string& name, const std::vector<int32_t>& shape, int type,
                             const LiteScales& scales = {}) {
    FlatTable table;
    table.numbers(0, shape).byte(1, type).text(3, name);
    if (!scales.scales.empty()) {
      FlatTable quantization;
      quantization.numbers(2, scales.scales).numbers(3, scales.zero_points).integer(6, scales.axis);
      table.table(4, quantization);
    }
    return table;
  }

  TfliteWriter& op(int code, const std::vector<int32_t>& inputs,
                   const std::vector<int32_t>& outputs, const FlatTable& options = {}) {
    FlatTable number;
    number.byte(0, code > 127 ? 127 : code).integer(3, code);
    return op_as(number, FlatTable().table(4, options), inputs, outputs);
  }
  TfliteWriter& custom(const std::string& name, const std::vector<int32_t>& inputs,
                       const std::vector<int32_t>& outputs, const std::vector<uint8_t>& options) {
    return op_as(FlatTable().byte(0, 32).text(1, name), FlatTable().numbers(5, options), inputs,
                 outputs);
  }

  TfliteWriter& inputs(const std::vector<int32_t>& tensors) {
    inputs_ = tensors;
    return *this;
  }
  TfliteWriter& outputs(const std::vector<int32_t>& tensors) {
    outputs_ = tensors;
    return *this;
  }

  // Adds a tensor that keeps its value between predictions.
  int variable(const std::string& name, const std::vector<int32_t>& shape) {
    return add(described(name, shape, LiteType::f32).flag(5));
  }

  // Starts another graph of the file; the first one is the model's.
  TfliteWriter& next_graph() {
    graphs_.push_back(graph());
    tensors_.clear();
    operators_.clear();
    inputs_.clear();
    outputs_.clear();
    return *this;
  }

  std::string str(uint32_t version = 3) const {
    std::vector<FlatTable> graphs = graphs_;
    graphs.push_back(graph());
    std::vector<FlatTable> buffers{FlatTable()};
    buffers.insert(buffers.end(), buffers_.begin(), buffers_.end());
    FlatTable model;
    model.number(0, version).tables(1, codes_).tables(2, graphs).text(3, "dala tests");
    return model.tables(4, buffers).file("TFL3");
  }

 private:
  FlatTable graph() const {
    FlatTable table;
    return table.tables(0, tensors_).numbers(1, inputs_).numbers(2, outputs_).tables(3, operators_);
  }
  int add(const FlatTable& table) {
    tensors_.push_back(table);
    return static_cast<int>(tensors_.size() - 1);
  }
  TfliteWriter& op_as(const FlatTable& code, FlatTable table, const std::vector<int32_t>& inputs,
                      const std::vector<int32_t>& outputs) {
    codes_.push_back(code);
    table.number(0, static_cast<uint32_t>(codes_.size() - 1));
    operators_.push_back(table.numbers(1, inputs).numbers(2, outputs));
    return *this;
  }

  std::vector<FlatTable> graphs_;  // finished
  std::vector<FlatTable> tensors_;
  std::vector<FlatTable> buffers_;
  std::vector<FlatTable> codes_;
  std::vector<FlatTable> operators_;
  std::vector<int32_t> inputs_;
  std::vector<int32_t> outputs_;
};

}  // namespace dala::test
