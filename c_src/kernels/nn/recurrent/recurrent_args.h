// The argument of the recurrent kernels, and how their weights are arranged.
#pragma once

#include "kernels/common/shared.h"

// Units of a layer that are computed together. Weights, products and extras are padded to a
// multiple of it.
#define RECURRENT_TILE 16

// The kind of layer.
#define RECURRENT_RNN 0
#define RECURRENT_GRU 1         // the candidate is computed from the state times the reset gate
#define RECURRENT_GRU_LINEAR 2  // the reset gate is applied to the product with the state
#define RECURRENT_LSTM 3

#define CURVE_OF_SIGMOID 0
#define CURVE_OF_TANH 1
#define CURVE_OF_RELU 2
#define CURVE_OF_AFFINE 3
#define CURVE_OF_LEAKY_RELU 4
#define CURVE_OF_THRESHOLDED_RELU 5
#define CURVE_OF_HARD_SIGMOID 6
#define CURVE_OF_ELU 7
#define CURVE_OF_SOFTSIGN 8
#define CURVE_OF_SOFTPLUS 9
#define CURVE_OF_SCALED_TANH 10

SHARED_BEGIN

typedef struct Recurrence {
  cl_long steps HOST_INIT(1);
  cl_long batch HOST_INIT(1);
  cl_long directions HOST_INIT(1);
  cl_long hidden HOST_INIT(1);
  cl_long tiles HOST_INIT(1);
  cl_int kind HOST_INIT(0);
  cl_int backwards HOST_INIT(0);  // of the first direction; the second is always reversed
  cl_int has_lengths HOST_INIT(0);
  cl_int has_peepholes HOST_INIT(0);
  cl_int input_forget HOST_INIT(0);  // the forget gate is 1 - the input gate
  cl_int states HOST_INIT(0);        // the final states follow the sequence in the output
  cl_int groups HOST_INIT(1);        // work-groups that share the work of a step
  cl_int unused HOST_INIT(0);
  cl_float clip HOST_INIT(0);       // bound of the activations' arguments, if above 0
  cl_float cell_clip HOST_INIT(0);  // bound of an LSTM's cell state, if above 0
  SHARED_ARRAY(cl_int, curves, 6);  // three per direction
  SHARED_ARRAY(cl_float, alphas, 6);
  SHARED_ARRAY(cl_float, betas, 6);
} Recurrence;
SHARED_STRUCT(Recurrence, 152)

SHARED_END
