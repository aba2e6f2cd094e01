// Pools, convolutions and resampling along one axis, over one to three dimensions and for every
// element type. S, T and ACC: see math.cl.
//
// Private, because they are the general case: the kernels of the registry (conv2d, max_pool2d,
// avg_pool2d, resize) have two dimensions and floats, and run wherever these suffice. The host
// compiles them for constant folding.

#include "kernels/common/loops.h"
#include "kernels/model/scalar.cl"
#include "kernels/model/walk.cl"

// A window: its plane, and its first element in each dimension, which may be in the padding.
typedef struct {
  long plane;
  long first[MODEL_SPACE];
} WindowPlace;

static inline WindowPlace window_at(const Windows *view, long index) {
  WindowPlace result;
  UNROLLED_LOOP
  for (int d = MODEL_SPACE - 1; d >= 0; --d) {
    result.first[d] = index % view->out[d] * view->stride[d] - view->pad[d];
    index /= view->out[d];
  }
  result.plane = index;
  return result;
}

static inline bool within(const Windows *view, long y, long x, long z) {
  return y >= 0 && y < view->in[0] && x >= 0 && x < view->in[1] && z >= 0 && z < view->in[2];
}

static inline long element_of(const Windows *view, long plane, long y, long x, long z) {
  return ((plane * view->in[0] + y) * view->in[1] + x) * view->in[2] + z;
}

// out = the maximum, mean or norm of each window; the maximum of no elements is 0.
__kernel void pool(__global const S *in, __global S *out, const int op, const Windows view) {
  const long end = LAST_OF(view);
  for (long i = FIRST_OF(view); i < end; ++i) {
    const WindowPlace at = window_at(&view, i);
    T largest = (T)0;
    ACC sum = (ACC)0;
    long seen = 0, counted = 0;
    for (long a = 0; a < view.size[0]; ++a) {
      for (long b = 0; b < view.size[1]; ++b) {
        for (long c = 0; c < view.size[2]; ++c) {
          const long y = at.first[0] + a * view.dilation[0];
          const long x = at.first[1] + b * view.dilation[1];
          const long z = at.first[2] + c * view.dilation[2];
          if (y + view.pad[0] < view.padded[0] && x + view.pad[1] < view.padded[1] &&
              z + view.pad[2] < view.padded[2]) {
            ++counted;
          }
          if (!within(&view, y, x, z)) continue;
          const T value = (T)in[element_of(&view, at.plane, y, x, z)];
          largest = seen == 0 ? value : greater(largest, value);
          ++seen;
#if T_FLOAT
          if (op == POOL_LP) {
            const ACC size = fabs((ACC)value);
            sum += view.power == 1 ? size
                                   : (view.power == 2 ? size * size : pow(size, (ACC)view.power));
            continue;
          }
#endif
          sum += (ACC)value;
        }
      }
    }
    if (op == POOL_MAX) {
      out[i] = (S)largest;
    } else if (op == POOL_AVERAGE) {
      const long divisor = view.flag != 0 ? counted : seen;
      out[i] = (S)(T)(divisor == 0 ? (ACC)0 : sum / (ACC)divisor);
    } else {
#if T_FLOAT
      out[i] = (S)(T)(view.power == 1
                          ? sum
                          : (view.power == 2 ? sqrt(sum) : pow(sum, (ACC)1 / (ACC)view.power)));
#endif
    }
  }
}

// The index in the tensor of the maximum of each window; in column-major order if `flag` is set.
__kernel void pool_places(__global const S *in, __global long *out, const Windows view) {
  const long end = LAST_OF(view);
  for (long i = FIRST_OF(view); i < end; ++i) {
    const WindowPlace at = window_at(&view, i);
    T largest = (T)0;
    long best = 0, seen = 0;
    for (long a = 0; a < view.size[0]; ++a) {
      for (long b = 0; b < view.size[1]; ++b) {
        for (long c = 0; c < view.size[2]; ++c) {
          const long y = at.first[0] + a * view.dilation[0];
          const long x = at.first[1] + b * view.dilation[1];
          const long z = at.first[2] + c * view.dilation[2];
          if (!within(&view, y, x, z)) continue;
          const T value = (T)in[element_of(&view, at.plane, y, x, z)];
          if (seen > 0 && !(value > largest || (value != value && largest == largest))) continue;
          seen = 1;
          largest = value;
          best = view.flag != 0 ? ((at.plane * view.in[2] + z) * view.in[1] + x) * view.in[0] + y
                                : element_of(&view, at.plane, y, x, z);
        }
      }
    }
    out[i] = best;
  }
}

// Weights are [out channels][in channels per group][windows].
__kernel void convolve(__global const S *in, __global const S *weights, __global const S *bias,
                       __global S *out, const Windows view) {
  const long end = LAST_OF(view);
  const long window = view.size[0] * view.size[1] * view.size[2];
  for (long i = FIRST_OF(view); i < end; ++i) {
    const WindowPlace at = window_at(&view, i);
    const long channels = view.groups * view.out_channels;
    const long channel = at.plane % channels, batch = at.plane / channels;
    const long group = channel / view.out_channels;
    ACC sum = view.flag != 0 ? (ACC)(T)bias[channel] : (ACC)0;
    for (long k = 0; k < view.in_channels; ++k) {
      const long plane = (batch * view.groups + group) * view.in_channels + k;
      __global const S *factors = weights + (channel * view.in_channels + k) * window;
      for (long a = 0; a < view.size[0]; ++a) {
        for (long b = 0; b < view.size[1]; ++b) {
          for (long c = 0; c < view.size[2]; ++c, ++factors) {
            const long y = at.first[0] + a * view.dilation[0];
            const long x = at.first[1] + b * view.dilation[1];
            const long z = at.first[2] + c * view.dilation[2];
            if (!within(&view, y, x, z)) continue;
            sum += (ACC)(T)in[element_of(&view, plane, y, x, z)] * (ACC)(T)*factors;
          }
        }
      }
    }
    out[i] = (S)(T)sum;
  }
}

// The transpose of the convolution from `out` to `in` with these strides, padding and dilation.
// Weights are [in channels][out channels per group][windows].
__kernel void convolve_transposed(__global const S *in, __global const S *weights,
                                  __global const S *bias, __global S *out, const Windows view) {
  const long end = LAST_OF(view);
  const long window = view.size[0] * view.size[1] * view.size[2];
  for (long i = FIRST_OF(view); i < end; ++i) {
    long rest = i, at[MODEL_SPACE];
    UNROLLED_LOOP
    for (int d = MODEL_SPACE - 1; d >= 0; --d) {
      at[d] = rest % view.out[d] + view.pad[d];
      rest /= view.out[d];
    }
    const long channels = view.groups * view.out_channels;
    const long channel = rest % channels, batch = rest / channels;
    const long group = channel / view.out_channels;
    ACC sum = view.flag != 0 ? (ACC)(T)bias[channel] : (ACC)0;
    for (long a = 0; a < view.size[0]; ++a) {
      const long y = at[0] - a * view.dilation[0];
      if (y < 0 || y % view.stride[0] != 0 || y / view.stride[0] >= view.in[0]) continue;
      for (long b = 0; b < view.size[1]; ++b) {
        const long x = at[1] - b * view.dilation[1];
        if (x < 0 || x % view.stride[1] != 0 || x / view.stride[1] >= view.in[1]) continue;
        for (long c = 0; c < view.size[2]; ++c) {
          const long z = at[2] - c * view.dilation[2];
          if (z < 0 || z % view.stride[2] != 0 || z / view.stride[2] >= view.in[2]) continue;
          const long tap = (a * view.size[1] + b) * view.size[2] + c;
          for (long k = 0; k < view.in_channels; ++k) {
            const long from = group * view.in_channels + k;
            const long plane = batch * view.groups * view.in_channels + from;
            const long factor =
                (from * view.out_channels + channel % view.out_channels) * window + tap;
            sum += (ACC)(T)in[element_of(&view, plane, y / view.stride[0], x / view.stride[1],
                                         z / view.stride[2])] *
                   (ACC)(T)weights[factor];
          }
        }
      }
    }
    out[i] = (S)(T)sum;
  }
}

#if T_FLOAT
// out[o][p][i] = sum over t of weights[p][t] * in[o][places[p][t]][i]: resizing along one axis.
// An index of -1 has the value `outside`. first_flag is the number of taps.
__kernel void resample(__global const S *in, __global const int *places,
                       __global const float *weights, __global S *out, const float outside,
                       const AxisWalk walk) {
  const long end = LAST_OF(walk);
  const long taps = walk.first_flag;
  for (long i = FIRST_OF(walk); i < end;) {
    const long row = i / walk.inner, column = i % walk.inner;
    const long run = min(walk.inner - column, end - i);
    const long pick = row % walk.picks;
    __global const S *from = in + row / walk.picks * walk.axis * walk.inner + column;
    for (long j = 0; j < run; ++j) {
      ACC sum = (ACC)0;
      for (long t = 0; t < taps; ++t) {
        const long at = places[pick * taps + t];
        const bool inside = at >= 0 && at < walk.axis;
        sum += (ACC)weights[pick * taps + t] *
               (inside ? (ACC)from[at * walk.inner + j] : (ACC)outside);
      }
      out[i + j] = (S)(T)sum;
    }
    i += run;
  }
}
#endif
