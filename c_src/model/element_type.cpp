#include "model/element_type.hpp"

#include "runtime/error.hpp"

namespace dala::model {

ElementType element_type(int64_t onnx_code) {
  switch (onnx_code) {
    case 1:
    case 2:
    case 3:
    case 4:
    case 5:
    case 6:
    case 7:
    case 9:
    case 10:
    case 11:
    case 12:
    case 13:
    case 16:
      return static_cast<ElementType>(onnx_code);
    case 8:
      throw Error(Reason::unsupported_op, "tensors of strings are not supported");
    case 14:
    case 15:
      throw Error(Reason::unsupported_op, "tensors of complex numbers are not supported");
    case 17:
    case 18:
    case 19:
    case 20:
    case 21:
    case 22:
    case 23:
      throw Error(Reason::unsupported_op,
                  "tensors of 8 bit floats and 4 bit numbers are not supported");
    default:
      throw Error(Reason::invalid_model, text(onnx_code, " is not an element type of ONNX"));
  }
}

const char* to_string(ElementType type) {
  switch (type) {
    case ElementType::f32:
      return "f32";
    case ElementType::u8:
      return "u8";
    case ElementType::i8:
      return "i8";
    case ElementType::u16:
      return "u16";
    case ElementType::i16:
      return "i16";
    case ElementType::i32:
      return "i32";
    case ElementType::i64:
      return "i64";
    case ElementType::string:
      return "string";
    case ElementType::boolean:
      return "bool";
    case ElementType::f16:
      return "f16";
    case ElementType::f64:
      return "f64";
    case ElementType::u32:
      return "u32";
    case ElementType::u64:
      return "u64";
    case ElementType::bf16:
      return "bf16";
  }
  return "";
}

DType storage_of(ElementType type) {
  switch (type) {
    case ElementType::f64:
      return DType::f64;
    case ElementType::u8:
    case ElementType::boolean:
      return DType::u8;
    case ElementType::i8:
    case ElementType::i16:
    case ElementType::i32:
      return DType::s32;
    case ElementType::u16:
    case ElementType::u32:
      return DType::u32;
    case ElementType::i64:
    case ElementType::u64:
      return DType::s64;
    default:
      return DType::f32;
  }
}

ElementType computed_as(ElementType type) {
  if (type == ElementType::f16 || type == ElementType::bf16) return ElementType::f32;
  return type == ElementType::boolean ? ElementType::u8 : type;
}

const char* compute_name(ElementType type) {
  switch (computed_as(type)) {
    case ElementType::f64:
      return "double";
    case ElementType::u8:
      return "uchar";
    case ElementType::i8:
      return "char";
    case ElementType::u16:
      return "ushort";
    case ElementType::i16:
      return "short";
    case ElementType::i32:
      return "int";
    case ElementType::i64:
      return "long";
    case ElementType::u32:
      return "uint";
    case ElementType::u64:
      return "ulong";
    default:
      return "float";
  }
}

size_t file_bytes(ElementType type) {
  switch (type) {
    case ElementType::f64:
    case ElementType::i64:
    case ElementType::u64:
      return 8;
    case ElementType::u8:
    case ElementType::i8:
    case ElementType::boolean:
      return 1;
    case ElementType::u16:
    case ElementType::i16:
    case ElementType::f16:
    case ElementType::bf16:
      return 2;
    default:
      return 4;
  }
}

}  // namespace dala::model
