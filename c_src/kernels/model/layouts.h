// The structs that kernels of models take by value. Host and device compile this file, the host
// through model/build/layouts.hpp.
//
// `count` is the number of results, `chunk` the number per work item: item i computes the results
// from i * chunk on. Dimensions are listed innermost first; strides are in elements.
#pragma once

#define MODEL_RANK 8
#define MODEL_SPACE 3  // the most spatial dimensions

// Up to three inputs and the output, which is the last, with the same dimensions.
typedef struct {
  long count;
  long chunk;
  long rank;
  long dims[MODEL_RANK];
  long strides[4 * MODEL_RANK];  // a row of MODEL_RANK per operand
  long offsets[4];
} Walk;

// in[outer][axis][inner], where the axis of the result has `picks` elements.
typedef struct {
  long count;
  long chunk;
  long outer;
  long axis;
  long inner;
  long picks;
  long first_flag;   // cumulate: exclusive; arg, rank: the largest; resample: taps
  long second_flag;  // cumulate: reverse; arg: the last of equals
  long wide;         // indices are 64 bit
} AxisWalk;

// Indices into several dimensions. `dims` and `strides` describe the data; an index addresses
// `slice` elements.
typedef struct {
  long count;
  long chunk;
  long rank;
  long dims[MODEL_RANK];
  long strides[MODEL_RANK];
  long index_dims[MODEL_RANK];
  long axis;
  long tuples;
  long slice;
  long batch_tuples;  // tuples per batch
  long batch_stride;
  long wide;
  long how;  // of scatter: a ScatterMode
} IndexWalk;

// Results over `dims`, each from `total` elements over `reduced_dims`.
typedef struct {
  long count;
  long chunk;
  long rank;
  long dims[MODEL_RANK];
  long strides[MODEL_RANK];
  long reduced_rank;
  long reduced_dims[MODEL_RANK];
  long reduced_strides[MODEL_RANK];
  long total;
} Reduction;

// Sums of products: dimensions of the result and of the sum, with their strides in a and b.
typedef struct {
  long count;
  long chunk;
  long rank;
  long dims[MODEL_RANK];
  long a[MODEL_RANK];
  long b[MODEL_RANK];
  long sum_rank;
  long sum_dims[MODEL_RANK];
  long sum_a[MODEL_RANK];
  long sum_b[MODEL_RANK];
  long total;
} Contraction;

// Windows over up to three dimensions, outermost first; unused dimensions are 1.
typedef struct {
  long count;
  long chunk;
  long planes;  // of pools: batch times channels
  long groups;
  long in_channels;   // per group
  long out_channels;  // per group
  long in[MODEL_SPACE];
  long out[MODEL_SPACE];
  long size[MODEL_SPACE];
  long stride[MODEL_SPACE];
  long pad[MODEL_SPACE];
  long padded[MODEL_SPACE];  // in, with the padding on both sides
  long dilation[MODEL_SPACE];
  long flag;  // of average pools: padding counts; of argmax: columns first; of convolutions: a bias
  long power;
} Windows;

// Planes sampled at the `spots` coordinates of a grid.
typedef struct {
  long count;
  long chunk;
  long channels;
  long height;
  long width;
  long spots;
  long mode;
  long padding;
  long align;  // -1 and 1 are the centres of the corner elements
} GridView;

// Regions of planes, each cut into cells.
typedef struct {
  long count;
  long chunk;
  long batches;
  long channels;
  long height;
  long width;
  long out_height;
  long out_width;
  long samples;  // per cell and dimension; 0: the number of elements, rounded up
  long half_pixel;
  long wide;  // batch indices are 64 bit
} RegionView;

enum Arithmetic {
  OP_IDENTITY,
  OP_ABS,
  OP_NEG,
  OP_CEIL,
  OP_FLOOR,
  OP_ROUND,
  OP_SQRT,
  OP_EXP,
  OP_LOG,
  OP_SIN,
  OP_COS,
  OP_TAN,
  OP_ASIN,
  OP_ACOS,
  OP_ATAN,
  OP_SINH,
  OP_COSH,
  OP_TANH,
  OP_ASINH,
  OP_ACOSH,
  OP_ATANH,
  OP_ERF,
  OP_SIGN,
  OP_RECIPROCAL,
  OP_SIGMOID,
  OP_SOFTPLUS,
  OP_SOFTSIGN,
  OP_RELU,
  OP_LEAKY_RELU,        // p: slope
  OP_ELU,               // p: alpha
  OP_SELU,              // p: alpha, q: gamma
  OP_CELU,              // p: alpha
  OP_THRESHOLDED_RELU,  // p: alpha
  OP_HARD_SIGMOID,      // p: alpha, q: beta
  OP_HARD_SWISH,
  OP_MISH,
  OP_GELU,
  OP_GELU_TANH,
  OP_SHRINK,  // p: lambda, q: bias
  OP_AFFINE,  // p * x + q
  OP_SQUARE,
  OP_LOGICAL_NOT,
  OP_BITWISE_NOT,
  OP_ADD,
  OP_SUB,
  OP_MUL,
  OP_DIV,
  OP_POW,
  OP_MOD,   // with the divisor's sign
  OP_FMOD,  // with the dividend's sign
  OP_MIN,
  OP_MAX,
  OP_PRELU,
  OP_AND,
  OP_OR,
  OP_XOR,
  OP_SHIFT_LEFT,
  OP_SHIFT_RIGHT,
  OP_BITWISE_AND,
  OP_BITWISE_OR,
  OP_BITWISE_XOR,
  OP_CLIP,  // x, low, high
};

enum Comparison {
  CMP_EQUAL,
  CMP_LESS,
  CMP_LESS_EQUAL,
  CMP_GREATER,
  CMP_GREATER_EQUAL,
  CMP_NAN,
  CMP_INFINITE
};

enum Reducer {
  REDUCE_SUM,
  REDUCE_MEAN,
  REDUCE_PROD,
  REDUCE_MIN,
  REDUCE_MAX,
  REDUCE_L1,
  REDUCE_L2,
  REDUCE_SUM_SQUARE,
  REDUCE_LOG_SUM,
  REDUCE_LOG_SUM_EXP,
};

enum ScatterMode { SCATTER_REPLACE, SCATTER_ADD, SCATTER_MUL, SCATTER_MIN, SCATTER_MAX };

enum Pool { POOL_MAX, POOL_AVERAGE, POOL_LP };

enum GridMode { GRID_NEAREST, GRID_LINEAR, GRID_CUBIC };

enum GridPadding { GRID_ZEROS, GRID_BORDER, GRID_REFLECTION };
