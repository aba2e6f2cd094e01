// The weights of a Gaussian: exp(-k^2 / (2 sigma^2)) for k of 0 to radius, divided by the sum of
// them all, k of -radius to -1 included.

#define MOST_RADIUS 64

typedef struct {
  int radius;
  float amount;  // of sharpen
  float weights[MOST_RADIUS + 1];
  // The same for words, see words_cpu.cl: the first in parts of 2^16, the others of 2^17.
  ushort words[MOST_RADIUS + 1];
  short amount_word;  // in parts of 2^13
} Gauss;
