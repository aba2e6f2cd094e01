// The arithmetic of one step of a recurrent layer, for an element (GPU family) or for the units of
// a tile (CPU family), which is what V and AS_V, AS_INT_V stand for.
//
//   RNN           h' = f(x + R h)
//   GRU           z = f(xz + Rz h), r = f(xr + Rr h), n = g(xn + Rn (r * h))
//   GRU_LINEAR    n = g(xn + r * (Rn h + bn));            h' = (1 - z) * n + z * h
//   LSTM          i = f(xi + Ri h + pi * c), f = f(xf + Rf h + pf * c), g = g(xg + Rg h),
//                 c' = f * c + i * g, o = f(xo + Ro h + po * c'), h' = o * h(c')
//
// The products with the input already hold the biases.
#pragma once

#include "kernels/nn/recurrent/recurrent_args.h"

static inline V clipped(const V x, const float clip) {
  return clip > 0 ? fmin(fmax(x, (V)(-clip)), (V)(clip)) : x;
}

// 1 / (1 + exp(-x)). exp(y) is 2^n * exp(r) with y = n * ln 2 + r, see activation.cl.
static inline V sigmoid_of(const V x) {
#if CPU_CLASS
  const V zero_units = (V)(12582912.0f);
  const V y = fmin(fmax(-x, (V)(-80.0f)), (V)(80.0f));
  const V units = fma(y, (V)(1.44269504f), zero_units), n = units - zero_units;
  const V r = fma(n, (V)(-1.42860677e-6f), fma(n, (V)(-0.693145752f), y));
  V series = fma(r, (V)(1.37805939e-3f), (V)(8.37312452e-3f));
  series = fma(series, r, (V)(4.16695364e-2f));
  series = fma(series, r, (V)(1.66664720e-1f));
  series = fma(series, r, (V)(4.99999851e-1f));
  series = fma(fma(series, r, (V)(1.0f)), r, (V)(1.0f));
  const V result = (V)(1.0f) / ((V)(1.0f) + AS_V(AS_INT_V(series) + (AS_INT_V(units) << 23)));
  return x == x ? result : x;
#else
  return 1 / (1 + exp(-x));
#endif
}

// Near 0 an odd polynomial, elsewhere 2 / (1 + exp(-2 x)) - 1.
static inline V tanh_of(const V x) {
#if CPU_CLASS
  const V z = x * x;
  V series = fma(z, (V)(-5.70498872745e-3f), (V)(2.06390887954e-2f));
  series = fma(series, z, (V)(-5.37397155531e-2f));
  series = fma(series, z, (V)(1.33314422036e-1f));
  series = fma(series, z, (V)(-3.33332819422e-1f));
  const V near = fma(series * z, x, x);
  const V far = fma((V)(2.0f), sigmoid_of(x + x), (V)(-1.0f));
  return fabs(x) < (V)(0.625f) ? near : far;
#else
  return tanh(x);
#endif
}

static inline V curve_of(const V x, const int curve, const float alpha, const float beta) {
  switch (curve) {
    case CURVE_OF_SIGMOID: return sigmoid_of(x);
    case CURVE_OF_TANH: return tanh_of(x);
    case CURVE_OF_RELU: return fmax(x, (V)(0.0f));
    case CURVE_OF_AFFINE: return fma((V)(alpha), x, (V)(beta));
    case CURVE_OF_LEAKY_RELU: return x < (V)(0.0f) ? (V)(alpha)*x : x;
    case CURVE_OF_THRESHOLDED_RELU: return x > (V)(alpha) ? x : (V)(0.0f);
    case CURVE_OF_HARD_SIGMOID:
      return fmin(fmax(fma((V)(alpha), x, (V)(beta)), (V)(0.0f)), (V)(1.0f));
    case CURVE_OF_ELU: return x < (V)(0.0f) ? (V)(alpha) * (exp(x) - (V)(1.0f)) : x;
    case CURVE_OF_SOFTSIGN: return x / ((V)(1.0f) + fabs(x));
    case CURVE_OF_SOFTPLUS: return x > (V)(20.0f) ? x : log((V)(1.0f) + exp(x));
    default: return (V)(alpha)*tanh_of((V)(beta)*x);
  }
}

// The curve with this number, a constant, of a direction. Arrays of arguments are indexed by
// constants only: others are copied to slow memory by some compilers, for each item.
static inline V curved_by(const V x, const Recurrence *layer, const long direction,
                          const int index) {
  // Both are read in any case: a condition in front of the reads would become an index.
  const int curves[2] = {layer->curves[index], layer->curves[3 + index]};
  const float alphas[2] = {layer->alphas[index], layer->alphas[3 + index]};
  const float betas[2] = {layer->betas[index], layer->betas[3 + index]};
  const int curve = direction == 0 ? curves[0] : curves[1];
  const float alpha = direction == 0 ? alphas[0] : alphas[1];
  const float beta = direction == 0 ? betas[0] : betas[1];
  return curve_of(x, curve, alpha, beta);
}

// The same after the clip.
static inline V activated_by(const V x, const Recurrence *layer, const long direction,
                             const int index) {
  return curved_by(clipped(x, layer->clip), layer, direction, index);
}

// Gates in the order input, output, forget, cell; peepholes input, output, forget.
static inline V lstm_cell(const V input_sum, const V output_sum, const V forget_sum,
                          const V cell_sum, const V peep_input, const V peep_output,
                          const V peep_forget, V *cell, const Recurrence *layer,
                          const long direction) {
  const V before = *cell;
  const V in = activated_by(fma(peep_input, before, input_sum), layer, direction, 0);
  const V forget = layer->input_forget
                       ? (V)(1.0f) - in
                       : activated_by(fma(peep_forget, before, forget_sum), layer, direction, 0);
  const V now = clipped(fma(forget, before, in * activated_by(cell_sum, layer, direction, 1)),
                        layer->cell_clip);
  const V out = activated_by(fma(peep_output, now, output_sum), layer, direction, 0);
  *cell = now;
  return out * curved_by(now, layer, direction, 2);
}

static inline V mixed(const V update, const V candidate, const V state) {
  return fma(update, state - candidate, candidate);
}
