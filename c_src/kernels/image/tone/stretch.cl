// Levels stretched by a line per channel: out = (in - low) * gain. Alpha is copied.
//
// With stretch.gray_world, low is 0 and gain makes the mean of each channel the mean of all of
// them. Otherwise low is the level below which at most clip * pixels lie, high the one above which
// at most that many do, and gain is white / (high - low); where high is not above low, the channel
// stays.
#pragma once

#include "kernels/image/tone/tone.cl"

static inline int lowest(__global const uint *counts, const int channels, const float most) {
  float below = 0;
  for (int v = 0; v < TONE_LEVELS; ++v) {
    for (int c = 0; c < channels; ++c) below += (float)counts[c * TONE_LEVELS + v];
    if (below > most) return v;
  }
  return TONE_LEVELS - 1;
}

static inline int highest(__global const uint *counts, const int channels, const float most) {
  float above = 0;
  for (int v = TONE_LEVELS - 1; v >= 0; --v) {
    for (int c = 0; c < channels; ++c) above += (float)counts[c * TONE_LEVELS + v];
    if (above > most) return v;
  }
  return 0;
}

static inline float mean_level(__global const uint *counts, const float pixels) {
  float sum = 0;
  for (int v = 0; v < TONE_LEVELS; ++v) sum += (float)v * ((float)counts[v] / pixels);
  return sum;
}

//   counts   the histogram of each channel
//   lines    low and gain of each colour, in elements of the picture
//
// One item.
__kernel void stretch_lines(__global const uint *restrict counts, __global float *restrict lines,
                            const Tones tones, const Stretch stretch) {
  if (get_global_id(0) != 0) return;
  const float pixels = (float)(tones.height * tones.width);
  const int colours = (int)min(tones.channels, 3L);
  float all = 0;
  for (int c = 0; c < colours; ++c) all += mean_level(counts + c * TONE_LEVELS, pixels);
  for (int c = 0; c < colours; ++c) {
    float low = 0, gain = 1;
    if (stretch.gray_world) {
      const float mean = mean_level(counts + c * TONE_LEVELS, pixels);
      if (mean > 0) gain = all / (float)colours / mean;
    } else {
      const int together = stretch.together ? colours : 1;
      __global const uint *own = stretch.together ? counts : counts + c * TONE_LEVELS;
      const float most = stretch.clip * pixels * (float)together;
      const int from = lowest(own, together, most), to = highest(own, together, most);
      if (to > from) {
        low = (float)from * (WHITE / 255.0f);
        gain = 255.0f / (float)(to - from);
      }
    }
    lines[2 * c] = low;
    lines[2 * c + 1] = gain;
  }
}

//   in, out   pictures; they may be the same
//   lines     low and gain of each colour
//
// An item does `span` pixels; items past the last pixel do nothing.
__kernel void stretch_levels(__global const T *in, __global T *out,
                             __global const float *restrict lines, const Tones tones,
                             const long span) {
  const long begin = (long)get_global_id(0) * span;
  const long end = min(begin + span, tones.height * tones.width);
  const int channels = (int)tones.channels, colours = min(channels, 3);
  float low[3], gain[3];
  for (int c = 0; c < colours; ++c) {
    low[c] = lines[2 * c];
    gain[c] = lines[2 * c + 1];
  }
  for (long i = begin; i < end; ++i) {
    for (int c = 0; c < colours; ++c) {
      const float level = ((float)in[i * channels + c] - low[c]) * gain[c];
      out[i * channels + c] = AS_LEVEL(level);
    }
    if (channels == 4) out[i * 4 + 3] = in[i * 4 + 3];
  }
}
