// The field numbers, enumerations and operator names of the TFLite schema, version 3, that the
// importer reads.
#pragma once

#include <cstdint>
#include <string>

namespace dala::model::tflite::field {

enum Model {
  kModelVersion = 0,
  kModelOperatorCodes = 1,
  kModelSubgraphs = 2,
  kModelDescription = 3,
  kModelBuffers = 4,
};

enum OperatorCode {
  kCodeDeprecatedBuiltin = 0,  // one byte, for the operators up to 127
  kCodeCustom = 1,
  kCodeBuiltin = 3,
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

// Segments and indices are unions: a type and a table with one vector.
enum SparseDimension {
  kDimensionFormat = 0,
  kDimensionDenseSize = 1,
  kDimensionSegmentsType = 2,
  kDimensionSegments = 3,
  kDimensionIndicesType = 4,
  kDimensionIndices = 5,
};

enum IndexVector {
  kIndexVectorValues = 0,
};

enum Buffer {
  kBufferData = 0,
  kBufferOffset = 1,
  kBufferSize = 2,
};

}  // namespace dala::model::tflite::field

// Fields of the option tables, by operator.
namespace dala::model::tflite::option {

inline constexpr int kAbsent = -1;  // for an operator whose options have no activation

enum Arithmetic {
  kArithmeticActivation = 0,  // of ADD, SUB, MUL and DIV
};

enum BatchMatMul {
  kBatchMatMulAdjX = 0,
  kBatchMatMulAdjY = 1,
};

enum Concatenation {
  kConcatenationAxis = 0,
  kConcatenationActivation = 1,
};

enum Conv2D {
  kConvActivation = 3,
  kConvDilationW = 4,
  kConvDilationH = 5,
};

enum CumSum {
  kCumSumExclusive = 0,
  kCumSumReverse = 1,
};

enum DepthwiseConv2D {
  kDepthwiseMultiplier = 3,
  kDepthwiseActivation = 4,
  kDepthwiseDilationW = 5,
  kDepthwiseDilationH = 6,
};

enum FullyConnected {
  kFullyConnectedActivation = 0,
  kFullyConnectedWeightsFormat = 1,
  kFullyConnectedKeepNumDims = 2,
};

enum Gather {
  kGatherAxis = 0,
  kGatherBatchDims = 1,
};

enum Gelu {
  kGeluApproximate = 0,
};

enum L2Norm {
  kL2NormActivation = 0,
};

enum LeakyRelu {
  kLeakyReluAlpha = 0,
};

enum LocalResponseNormalization {
  kLrnRadius = 0,
  kLrnBias = 1,
  kLrnAlpha = 2,
  kLrnBeta = 3,
};

enum MirrorPad {
  kMirrorPadMode = 0,
};

enum Pack {
  kPackAxis = 1,
};

enum Pool2D {
  kPoolFilterWidth = 3,
  kPoolFilterHeight = 4,
  kPoolActivation = 5,
};

enum Reducer {
  kReducerKeepDims = 0,
};

enum Reshape {
  kReshapeNewShape = 0,
};

enum ResizeBilinear {
  kResizeBilinearAlignCorners = 2,
  kResizeBilinearHalfPixelCenters = 3,
};

enum ResizeNearestNeighbor {
  kResizeNearestAlignCorners = 0,
  kResizeNearestHalfPixelCenters = 1,
};

enum Softmax {
  kSoftmaxBeta = 0,
};

enum SpaceDepth {
  kSpaceDepthBlockSize = 0,  // of DEPTH_TO_SPACE and SPACE_TO_DEPTH
};

enum Squeeze {
  kSqueezeDims = 0,
};

enum StridedSlice {
  kStridedSliceBeginMask = 0,
  kStridedSliceEndMask = 1,
  kStridedSliceEllipsisMask = 2,
  kStridedSliceNewAxisMask = 3,
  kStridedSliceShrinkAxisMask = 4,
  kStridedSliceOffset = 5,
};

enum CallOnce {
  kCallOnceGraph = 0,
};

enum If {
  kIfThen = 0,
  kIfElse = 1,
};

enum While {
  kWhileCondition = 0,
  kWhileBody = 1,
};

enum VarHandle {
  kVarHandleContainer = 0,
  kVarHandleName = 1,
};

enum SequenceLstm {
  kLstmActivation = 0,
  kLstmCellClip = 1,
  kLstmProjectionClip = 2,
  kLstmTimeMajor = 3,
};

enum SequenceRnn {
  kRnnTimeMajor = 0,
  kRnnActivation = 1,
};

enum TransposeConv {
  kTransposeConvActivation = 3,
};

enum Unpack {
  kUnpackAxis = 1,
};

// The first fields of the options of convolutions, pools and transposed convolutions.
enum Window {
  kWindowPadding = 0,
  kWindowStrideW = 1,
  kWindowStrideH = 2,
};

}  // namespace dala::model::tflite::option

namespace dala::model::tflite {

enum class TensorTypeCode : int64_t {
  float32 = 0,
  float16 = 1,
  int32 = 2,
  uint8 = 3,
  int64 = 4,
  boolean = 6,
  int16 = 7,
  int8 = 9,
  float64 = 10,
  uint64 = 12,
  uint32 = 15,
  uint16 = 16,
  int4 = 17,
  bfloat16 = 18,
};

enum class ActivationFunction : int64_t {
  none = 0,
  relu = 1,
  relu_n1_to_1 = 2,
  relu6 = 3,
  tanh = 4,
};

enum class Padding : int64_t {
  same = 0,
  valid = 1,
};

enum class MirrorPadMode : int64_t {
  reflect = 0,
  symmetric = 1,
};

enum class WeightsFormat : int64_t {
  standard = 0,  // DEFAULT
  shuffled_4x16_int8 = 1,
};

enum class DimensionFormat : int64_t {
  dense = 0,
  sparse_csr = 1,
};

enum class IndexVectorType : uint8_t {
  int32 = 1,
  uint16 = 2,
  uint8 = 3,
};

inline constexpr int64_t kCustom = 32;  // CUSTOM: the file has the operator's name

// The name of a builtin operator; "BUILTIN_900" for an unknown code.
std::string builtin_name(int64_t code);

}  // namespace dala::model::tflite
