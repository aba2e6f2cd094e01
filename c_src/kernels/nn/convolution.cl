// What the convolution kernels share: extents, and what is done to a sum before it is stored.
//
//   T   element type, a float

typedef struct {
  Window window;
  long slices;        // batch * groups
  long groups;
  long in_channels;   // of one group
  long out_channels;  // of one group
  long has_bias;
  long pointwise;     // 1 x 1 windows, stride 1, no padding: pixels are used where they are
  // How the work is cut for devices that are CPUs, see conv2d_cpu.cl and depthwise_cpu.cl.
  long strip_channels;
  long strip_pixels;
  long strips;
  long block;
  long in_place;
  long strip_rows;
  long pitch;
  long flat;
  long units;
} Convolution;

// The bounds of an activation; NaN stays.
#define ACTIVATED(x, low, high) ((x) < (low) ? (low) : (x) > (high) ? (high) : (x))
