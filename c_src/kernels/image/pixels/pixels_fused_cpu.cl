// Several filters at every pixel of an image, CPU family. ENTRY, ARGUMENTS and PLACE are those of
// fusion/fused_cpu.cl; no input broadcasts.
//
// A work-group is one item and owns layout.chunk consecutive pixels, which it processes LANES at a
// time. Edge rule: the last chunk ends at layout.count, and `left` is the number of remaining
// pixels. All loads of a pixel precede its stores, so outputs may be inputs.

#include "kernels/common/fp_contract_off.h"
#include "kernels/common/kernel.h"
#include "kernels/common/paste.h"
#include "kernels/image/pixels/pixel_slots.cl"

typedef struct {
  long count;  // pixels
  long chunk;  // pixels per work-group
} PASTE(ENTRY, _layout);

SINGLE_ITEM_KERNEL void ENTRY(ARGUMENTS const PASTE(ENTRY, _layout) layout) {
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
