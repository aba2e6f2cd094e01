#include "model/graph/element_type.hpp"

#include "model/graph/problem.hpp"

namespace dala::model {

namespace {

// ONNX's TensorProto.DataType.
enum DataType : int64_t {
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUint32 = 12,
  kUint64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBfloat16 = 16,
  kFloat8E4M3Fn = 17,
  kFloat8E4M3Fnuz = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2Fnuz = 20,
  kUint4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
};

}  // namespace

ElementType element_type(int64_t onnx_code) {
  switch (onnx_code) {
    case kFloat:
    case kUint8:
    case kInt8:
    case kUint16:
    case kInt16:
    case kInt32:
    case kInt64:
    case kBool:
    case kFloat16:
    case kDouble:
    case kUint32:
    case kUint64:
    case kBfloat16:
      return static_cast<ElementType>(onnx_code);
    case kString:
      unsupported("tensors of strings are not supported");
    case kComplex64:
    case kComplex128:
      unsupported("tensors of complex numbers are not supported");
    case kFloat8E4M3Fn:
    case kFloat8E4M3Fnuz:
    case kFloat8E5M2:
    case kFloat8E5M2Fnuz:
    case kUint4:
    case kInt4:
    case kFloat4E2M1:
      unsupported("tensors of 8-bit floats and 4-bit numbers are not supported");
    default:
      reject(text(onnx_code, " is not an ONNX element type"));
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
