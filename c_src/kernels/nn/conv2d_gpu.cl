// out[b][o][y][x] = activation(bias[o] + sum over i, ky, kx of
//                   weights[o][i][ky][kx] * in[b][i][y * stride_y + ky * dilation_y - pad_y][...])
// where o and i are channels of the same group, for devices with many narrow processors.
//
//   in, weights, out   row-major elements of type T: {batch, channels, height, width}, {output
//                      channels, channels of a group, size_y, size_x}, {batch, output channels, ..}
//   bias               an element per output channel when conv.has_bias, otherwise anything
//   low, high          bounds of the activation
//
// An item per output element; neighbours are neighbouring pixels, which read neighbouring elements
// and the same weights. Edge rules: what lies outside the input counts as 0; items past the last
// element do nothing. Preconditions: out overlaps no input.

__kernel void conv2d(__global const T *restrict in, __global const T *restrict weights,
                     __global const T *restrict bias, __global T *restrict out,
                     const Convolution conv, const T low, const T high) {
  const Window window = conv.window;
  const long pixels = window.out_height * window.out_width;
  const long index = (long)get_global_id(0);
  if (index >= conv.slices * conv.out_channels * pixels) return;
  const long plane = index / pixels, pixel = index % pixels;
  const long channel = plane % (conv.groups * conv.out_channels);
  const long x0 = pixel % window.out_width * window.stride_x - window.pad_x;
  const long y0 = pixel / window.out_width * window.stride_y - window.pad_y;
  in += plane / conv.out_channels * conv.in_channels * window.height * window.width;
  weights += channel * conv.in_channels * window.size_y * window.size_x;

  T sum = conv.has_bias ? bias[channel] : (T)0;
  for (long i = 0; i < conv.in_channels; ++i, in += window.height * window.width) {
    for (long ky = 0; ky < window.size_y; ++ky, weights += window.size_x) {
      const long y = y0 + ky * window.dilation_y;
      if (y < 0 || y >= window.height) continue;
      for (long kx = 0; kx < window.size_x; ++kx) {
        const long x = x0 + kx * window.dilation_x;
        if (x >= 0 && x < window.width) sum = fma(weights[kx], in[y * window.width + x], sum);
      }
    }
  }
  out[index] = ACTIVATED(sum, low, high);
}
