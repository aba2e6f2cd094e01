// What the convolution kernels share: extents.

typedef struct {
  Window window;
  long slices;         // batch * groups
  long groups;
  long in_channels;    // of one group
  long out_channels;   // of one group
  long has_bias;
  long has_residual;
  long curve;          // of the activation, see activation.cl
  long pointwise;      // 1 x 1 windows, stride 1, no padding: pixels are used where they are
  long nhwc;           // channels come last, instead of after the batch
  long packed;         // weights are rows of output channels, see conv2d_pack
  long columns;        // of packed weights
  long group_columns;  // of those, the channels of one group
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
