// The field numbers and enumerations of onnx.proto that the importer reads. Field names are those
// of the schema, prefixed with the name of the message.
#pragma once

#include <cstdint>

namespace dala::model::onnx {

namespace field {

enum Model : uint32_t {
  kModelProducerName = 2,
  kModelGraph = 7,
  kModelOpsetImport = 8,
};

enum OperatorSetId : uint32_t {
  kOperatorSetDomain = 1,
  kOperatorSetVersion = 2,
};

enum Graph : uint32_t {
  kGraphNode = 1,
  kGraphInitializer = 5,
  kGraphInput = 11,
  kGraphOutput = 12,
  kGraphSparseInitializer = 15,
};

enum Node : uint32_t {
  kNodeInput = 1,
  kNodeOutput = 2,
  kNodeName = 3,
  kNodeOpType = 4,
  kNodeAttribute = 5,
  kNodeDomain = 7,
};

enum Attribute : uint32_t {
  kAttributeName = 1,
  kAttributeFloat = 2,
  kAttributeInt = 3,
  kAttributeString = 4,
  kAttributeTensor = 5,
  kAttributeGraph = 6,
  kAttributeFloats = 7,
  kAttributeInts = 8,
  kAttributeStrings = 9,
  kAttributeDocString = 13,
  kAttributeType = 20,
};

enum ValueInfo : uint32_t {
  kValueInfoName = 1,
  kValueInfoType = 2,
};

enum Type : uint32_t {
  kTypeTensor = 1,
  kTypeDenotation = 6,
};

enum TensorType : uint32_t {
  kTensorTypeElementType = 1,
  kTensorTypeShape = 2,
};

enum TensorShape : uint32_t {
  kTensorShapeDimension = 1,
};

enum Dimension : uint32_t {
  kDimensionValue = 1,
  kDimensionParam = 2,
};

enum Tensor : uint32_t {
  kTensorDims = 1,
  kTensorDataType = 2,
  kTensorFloatData = 4,
  kTensorInt32Data = 5,
  kTensorInt64Data = 7,
  kTensorName = 8,
  kTensorRawData = 9,
  kTensorDoubleData = 10,
  kTensorUint64Data = 11,
  kTensorExternalData = 13,
  kTensorDataLocation = 14,
};

enum StringStringEntry : uint32_t {
  kEntryKey = 1,
  kEntryValue = 2,
};

}  // namespace field

// AttributeProto.AttributeType
enum AttributeType : int64_t {
  kFloat = 1,
  kInt = 2,
  kString = 3,
  kTensor = 4,
  kGraph = 5,
  kFloats = 6,
  kInts = 7,
  kStrings = 8,
};

// TensorProto.DataLocation
enum DataLocation : int64_t {
  kExternal = 1,
};

}  // namespace dala::model::onnx
