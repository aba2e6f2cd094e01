// Argument lists of the pointwise kernels of both families, as macros for up to four inputs and
// four parameters.
#pragma once

#include "kernels/common/fp_contract_off.h"
#include "kernels/common/paste.h"
#include "kernels/elementwise/pointwise_args.h"

// Kernel arguments: inputs, then parameters.
#define INPUT_ARGUMENTS_0
#define INPUT_ARGUMENTS_1 __global const T0 *in0,
#define INPUT_ARGUMENTS_2 INPUT_ARGUMENTS_1 __global const T1 *in1,
#define INPUT_ARGUMENTS_3 INPUT_ARGUMENTS_2 __global const T2 *in2,
#define INPUT_ARGUMENTS_4 INPUT_ARGUMENTS_3 __global const T3 *in3,
#define PARAM_ARGUMENTS_0
#define PARAM_ARGUMENTS_1 const T p0,
#define PARAM_ARGUMENTS_2 PARAM_ARGUMENTS_1 const T p1,
#define PARAM_ARGUMENTS_3 PARAM_ARGUMENTS_2 const T p2,
#define PARAM_ARGUMENTS_4 PARAM_ARGUMENTS_3 const T p3,

// Arguments of the body: the inputs' elements at the given indices, then the parameters.
#define ELEMENTS_0(i0, i1, i2, i3)
#define ELEMENTS_1(i0, i1, i2, i3) in0[i0]
#define ELEMENTS_2(i0, i1, i2, i3) in0[i0], in1[i1]
#define ELEMENTS_3(i0, i1, i2, i3) in0[i0], in1[i1], in2[i2]
#define ELEMENTS_4(i0, i1, i2, i3) in0[i0], in1[i1], in2[i2], in3[i3]
#define PARAMS_0
#define PARAMS_1 p0
#define PARAMS_2 p0, p1
#define PARAMS_3 p0, p1, p2
#define PARAMS_4 p0, p1, p2, p3
#define SEPARATOR_00
#define SEPARATOR_01
#define SEPARATOR_10
#define SEPARATOR_11 ,

#define POINTWISE_ARGUMENTS         \
  PASTE(INPUT_ARGUMENTS_, N_INPUTS) \
  PASTE(PARAM_ARGUMENTS_, N_PARAMS) \
  __global T *out, const PointwiseLayout layout
#define APPLY(i0, i1, i2, i3)                                                                      \
  BODY(PASTE(ELEMENTS_, N_INPUTS)(i0, i1, i2, i3) PASTE(SEPARATOR_, PASTE(HAS_INPUTS, HAS_PARAMS)) \
           PASTE(PARAMS_, N_PARAMS))
