// Several filters at every pixel of an image, for devices that are CPUs. ENTRY, ARGUMENTS and PLACE
// are those of fusion/fused_cpu.cl; no input broadcasts.
//
// A work-group is one item and owns layout.chunk consecutive pixels, which it takes LANES at a
// time. Edge rule: the last chunk ends at layout.count, and `left` says how many pixels are left.
// All loads of a pixel come before its stores, so outputs may be inputs.

typedef struct {
  long count;  // pixels
  long chunk;  // pixels per work-group
} PASTE(ENTRY, _layout);

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void ENTRY(ARGUMENTS const PASTE(ENTRY, _layout) layout) {
  long i = (long)get_group_id(0) * layout.chunk;
  const long end = min(i + layout.chunk, layout.count);
  for (; i + LANES <= end; i += LANES) {
    const int left = LANES;
    PLACE
  }
  if (i < end) {
    const int left = (int)(end - i);
    PLACE
  }
}
