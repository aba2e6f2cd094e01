// Disables floating-point contraction: a product and a sum are not merged into one operation with
// one rounding.
//
// Fusible kernels are compiled under this rule, alone and fused, so that a value that passes from
// stage to stage in a register equals the value after a round trip through memory.
#pragma once

#pragma OPENCL FP_CONTRACT OFF
