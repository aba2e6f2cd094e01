// One pass of a Fourier transform over memory: transforms of `length` points of an array that is
// seen as [outer][length * rest][stride], as Stockham's algorithm has it. With the pass's
// transforms numbered by (p, q), p < rest and q < stride,
//
//   from   point k of (p, q) is at q + stride * (p + rest * k)
//   to     point j of (p, q) goes to q + stride * (length * p + j), times w^(p * j)
//
// where w is e^(-2 pi i / (length * rest)). The passes over one array have lengths whose product is
// that of the whole transform; stride, at first the distance of its points, grows by each of them.
#pragma once

#include "kernels/common/shared.h"

SHARED_BEGIN

#define FFT_MOST_STAGES 24  // of the transforms in a pass

// The meaning of adjacent lanes of a tile.
#define FFT_LANES_Q 0
#define FFT_LANES_P 1
#define FFT_LANES_OUTER 2

typedef struct FftPass {
  cl_long length HOST_INIT(1);
  cl_long rest HOST_INIT(1);
  cl_long stride HOST_INIT(1);
  cl_long outer HOST_INIT(1);
  cl_long span HOST_INIT(1);    // points from one array to the next
  cl_long tiles HOST_INIT(0);   // of LANES transforms each
  cl_long units HOST_INIT(1);   // tiles per work-group
  cl_long fine HOST_INIT(0);    // of the tables, see fft.cl: where w^k, k < 2^fine_bits, begins
  cl_long coarse HOST_INIT(0);  // where w^(k * 2^fine_bits) begins
  cl_int fine_bits HOST_INIT(0);
  cl_int lanes_of HOST_INIT(FFT_LANES_Q);
  cl_int inverse HOST_INIT(0);
  cl_int stages HOST_INIT(0);
  SHARED_ARRAY(cl_int, radices, FFT_MOST_STAGES);  // their product is the length
} FftPass;
SHARED_STRUCT(FftPass, 184)

// The chirp of Bluestein's algorithm and the steps around its convolution; see chirp.cl.
typedef struct FftChirp {
  cl_long length HOST_INIT(1);  // of the transform
  cl_long padded HOST_INIT(1);  // of the convolution
  cl_long inner HOST_INIT(1);   // distance of neighbouring points
  cl_long count HOST_INIT(0);   // points to write
  cl_long chunk HOST_INIT(1);   // points per work-group (CPU class)
  cl_long fine HOST_INIT(0);    // tables of e^(-pi i / length), as in FftPass
  cl_long coarse HOST_INIT(0);
  cl_int fine_bits HOST_INIT(0);
  cl_int inverse HOST_INIT(0);
} FftChirp;
SHARED_STRUCT(FftChirp, 64)

// Real numbers to and from complex ones.
typedef struct FftReal {
  cl_long length HOST_INIT(1);  // of the transform
  cl_long kept HOST_INIT(1);    // points that determine it: length / 2 + 1
  cl_long inner HOST_INIT(1);
  cl_long count HOST_INIT(0);  // elements or points to write
  cl_long chunk HOST_INIT(1);  // of them per work-group (CPU class)
  cl_long fine HOST_INIT(0);   // tables of e^(-2 pi i / length), as in FftPass
  cl_long coarse HOST_INIT(0);
  cl_int fine_bits HOST_INIT(0);
  cl_int unused HOST_INIT(0);
} FftReal;
SHARED_STRUCT(FftReal, 64)

SHARED_END
