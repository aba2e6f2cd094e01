// Windows of size_y x size_x elements, dilation apart, that slide with a stride over padded planes
// of height x width: output (oy, ox) looks at rows oy * stride_y + ky * dilation_y - pad_y and at
// columns ox * stride_x + kx * dilation_x - pad_x. What lies outside the plane is padding.

typedef struct {
  long height, width;
  long out_height, out_width;
  long size_y, size_x;
  long stride_y, stride_x;
  long pad_y, pad_x;  // above and to the left
  long dilation_y, dilation_x;
} Window;

// Which part of the work a work-group does.
typedef struct {
  long x, y, z;
} Group;
#define OWN_GROUP ((Group){get_group_id(0), get_group_id(1), get_group_id(2)})

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)

#ifdef __clang__
#define INDEPENDENT_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT_LOOP
#endif

// The range of o, within 0..count, for which o * stride + shift lies in 0..extent.
static inline int first_inside(const long shift, const long stride, const long count) {
  if (shift >= 0) return 0;
  return (int)min(count, stride == 1 ? -shift : (stride - 1 - shift) / stride);
}
static inline int end_inside(const long shift, const long stride, const long extent,
                             const long count) {
  if (shift >= extent) return 0;
  return (int)min(count, stride == 1 ? extent - shift : (extent - 1 - shift) / stride + 1);
}
