// The weights of a Gaussian: exp(-k^2 / (2 sigma^2)) for k of 0 to radius, divided by the sum of
// them all, k of -radius to -1 included.

#define MOST_RADIUS 64

typedef struct {
  int radius;
  float weights[MOST_RADIUS + 1];
} Gauss;
