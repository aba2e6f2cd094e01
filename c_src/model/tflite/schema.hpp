// The numbers of the fields of TFLite's tables, version 3 of the format.
#pragma once

namespace dala::model::tflite::field {

enum Model {
  kModelVersion = 0,
  kModelOperatorCodes = 1,
  kModelSubgraphs = 2,
  kModelDescription = 3,
  kModelBuffers = 4,
};

enum OperatorCode {
  kCodeOfOneByte = 0,
  kCodeCustom = 1,
  kCode = 3,
};

enum Graph {
  kGraphTensors = 0,
  kGraphInputs = 1,
  kGraphOutputs = 2,
  kGraphOperators = 3,
};

enum Operator {
  kOperatorCode = 0,
  kOperatorInputs = 1,
  kOperatorOutputs = 2,
  kOperatorOptions = 4,
  kOperatorCustomOptions = 5,
};

enum Tensor {
  kTensorShape = 0,
  kTensorType = 1,
  kTensorBuffer = 2,
  kTensorName = 3,
  kTensorQuantization = 4,
  kTensorIsVariable = 5,
  kTensorSparsity = 6,
  kTensorShapeSignature = 7,
};

enum Quantization {
  kQuantizationScale = 2,
  kQuantizationZeroPoint = 3,
  kQuantizationAxis = 6,
};

enum Sparsity {
  kSparsityTraversal = 0,
  kSparsityBlockMap = 1,
  kSparsityDimensions = 2,
};

// Segments and indices are each a kind of vector and the vector.
enum SparseDimension {
  kDimensionFormat = 0,
  kDimensionDenseSize = 1,
  kDimensionSegmentsKind = 2,
  kDimensionSegments = 3,
  kDimensionIndicesKind = 4,
  kDimensionIndices = 5,
};

enum Buffer {
  kBufferData = 0,
  kBufferOffset = 1,
  kBufferSize = 2,
};

}  // namespace dala::model::tflite::field
