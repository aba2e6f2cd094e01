// Sampling of planes between elements: GridSample and RoiAlign. For floats; S, T and ACC: see
// math.cl.
//
// Private, because the registry has no kernel that samples at computed coordinates; the host
// compiles them for constant folding.

#include "kernels/model/walk.cl"

#if T_FLOAT

// x reflected into the range from `low` to `high`.
static inline ACC reflected(ACC x, ACC low, ACC high) {
  const ACC range = high - low;
  if (!(range > (ACC)0)) return low;
  const ACC distance = x < low ? low - x : (x > high ? x - high : (ACC)0);
  if (distance == (ACC)0) return x;
  const ACC turns = floor(distance / range);
  const ACC rest = distance - turns * range;
  const bool even = fmod(turns, (ACC)2) == (ACC)0;
  if (x < low) return even ? low + rest : high - rest;
  return even ? high - rest : low + rest;
}

// The range of coordinates along a dimension that is not padding.
static inline ACC low_end(const GridView *view) { return view->align != 0 ? (ACC)0 : (ACC)-0.5f; }
static inline ACC high_end(const GridView *view, long size) {
  return view->align != 0 ? (ACC)(size - 1) : (ACC)size - (ACC)0.5f;
}

// The element at a coordinate, by the padding mode; -1 if it is zero padding.
static inline long element_for(const GridView *view, ACC x, long size) {
  if (x >= (ACC)0 && x <= (ACC)(size - 1)) return (long)x;
  if (view->padding == GRID_ZEROS || !(x == x)) return -1;
  if (view->padding == GRID_REFLECTION) x = reflected(x, low_end(view), high_end(view, size));
  return (long)fmin(fmax(x, (ACC)0), (ACC)(size - 1));
}

static inline ACC pixel(__global const S *plane, const GridView *view, ACC y, ACC x) {
  const long row = element_for(view, y, view->height), column = element_for(view, x, view->width);
  return row < 0 || column < 0 ? (ACC)0 : (ACC)plane[row * view->width + column];
}

static inline ACC denormalized(const GridView *view, ACC at, long size) {
  const ACC x = view->align != 0 ? (at + (ACC)1) / (ACC)2 * (ACC)(size - 1)
                                 : ((at + (ACC)1) * (ACC)size - (ACC)1) / (ACC)2;
  // Larger values could not be converted to integers.
  return fmin(fmax(x, (ACC)-1e9f), (ACC)1e9f);
}

static inline ACC padded(const GridView *view, ACC x, long size) {
  if (x >= low_end(view) && x <= high_end(view, size)) return x;
  if (view->padding == GRID_BORDER) return fmin(fmax(x, (ACC)0), (ACC)(size - 1));
  if (view->padding == GRID_REFLECTION) return reflected(x, low_end(view), high_end(view, size));
  return x;
}

static inline void cubic_weights(ACC *weights, ACC f) {
  const ACC a = (ACC)-0.75f;
  for (int i = 0; i < 4; ++i) {
    const ACC x = fabs(f + (ACC)(1 - i));
    weights[i] = x <= (ACC)1 ? ((a + (ACC)2) * x - (a + (ACC)3)) * x * x + (ACC)1
                             : ((a * x - (ACC)5 * a) * x + (ACC)8 * a) * x - (ACC)4 * a;
  }
}

// out[n][c][y][x] = in[n][c] sampled at grid[n][y][x] = {x, y}, from -1 to 1 over the plane.
__kernel void grid_sample(__global const S *in, __global const S *grid, __global S *out,
                          const GridView view) {
  const long end = LAST_OF(view);
  for (long i = FIRST_OF(view); i < end; ++i) {
    const long spot = i % view.spots, batch = i / view.spots / view.channels;
    __global const S *plane = in + i / view.spots * view.height * view.width;
    __global const S *at = grid + (batch * view.spots + spot) * 2;
    ACC x = denormalized(&view, (ACC)at[0], view.width);
    ACC y = denormalized(&view, (ACC)at[1], view.height);
    if (view.mode == GRID_NEAREST) {
      x = rint(x);
      y = rint(y);
    }
    x = padded(&view, x, view.width);
    y = padded(&view, y, view.height);
    if (view.mode == GRID_NEAREST) {
      out[i] = (S)(T)pixel(plane, &view, y, x);
      continue;
    }
    const ACC left = floor(x), top = floor(y);
    const ACC dx = x - left, dy = y - top;
    ACC sum = (ACC)0;
    if (view.mode == GRID_LINEAR) {
      sum = ((ACC)1 - dy) * (((ACC)1 - dx) * pixel(plane, &view, top, left) +
                             dx * pixel(plane, &view, top, left + (ACC)1)) +
            dy * (((ACC)1 - dx) * pixel(plane, &view, top + (ACC)1, left) +
                  dx * pixel(plane, &view, top + (ACC)1, left + (ACC)1));
    } else {
      ACC across[4], down[4];
      cubic_weights(across, dx);
      cubic_weights(down, dy);
      for (int a = 0; a < 4; ++a) {
        for (int b = 0; b < 4; ++b) {
          sum += down[a] * across[b] * pixel(plane, &view, top + (ACC)(a - 1), left + (ACC)(b - 1));
        }
      }
    }
    out[i] = (S)(T)sum;
  }
}

// Bilinear interpolation; 0 beyond one element outside of the plane.
static inline ACC between(__global const S *plane, long height, long width, ACC y, ACC x) {
  if (!(y >= (ACC)-1 && y <= (ACC)height && x >= (ACC)-1 && x <= (ACC)width)) return (ACC)0;
  y = fmax(y, (ACC)0);
  x = fmax(x, (ACC)0);
  const long top = min((long)y, height - 1), left = min((long)x, width - 1);
  const long bottom = min(top + 1, height - 1), right = min(left + 1, width - 1);
  const ACC dy = top >= height - 1 ? (ACC)0 : y - (ACC)top;
  const ACC dx = left >= width - 1 ? (ACC)0 : x - (ACC)left;
  return ((ACC)1 - dy) * (((ACC)1 - dx) * (ACC)plane[top * width + left] +
                          dx * (ACC)plane[top * width + right]) +
         dy * (((ACC)1 - dx) * (ACC)plane[bottom * width + left] +
               dx * (ACC)plane[bottom * width + right]);
}

// out[r][c][y][x] = the mean of samples in a cell of region r = {x1, y1, x2, y2}.
__kernel void roi_align(__global const S *in, __global const S *regions,
                        __global const int *batches, __global S *out, const float scale,
                        const RegionView view) {
  const long end = LAST_OF(view);
  for (long i = FIRST_OF(view); i < end; ++i) {
    const long column = i % view.out_width, row = i / view.out_width % view.out_height;
    const long channel = i / view.out_width / view.out_height % view.channels;
    const long region = i / view.out_width / view.out_height / view.channels;
    const long batch = index_at(batches, region, view.wide, view.batches);
    const ACC shift = view.half_pixel != 0 ? (ACC)0.5f : (ACC)0;
    __global const S *corner = regions + region * 4;
    const ACC x1 = (ACC)corner[0] * (ACC)scale - shift, y1 = (ACC)corner[1] * (ACC)scale - shift;
    ACC width = (ACC)corner[2] * (ACC)scale - shift - x1;
    ACC height = (ACC)corner[3] * (ACC)scale - shift - y1;
    if (view.half_pixel == 0) {
      width = fmax(width, (ACC)1);
      height = fmax(height, (ACC)1);
    }
    const ACC cell_width = width / (ACC)view.out_width, cell_height = height / (ACC)view.out_height;
    const ACC most = (ACC)4096;
    const long down =
        view.samples > 0 ? view.samples : (long)fmin(fmax(ceil(cell_height), (ACC)0), most);
    const long across =
        view.samples > 0 ? view.samples : (long)fmin(fmax(ceil(cell_width), (ACC)0), most);
    __global const S *plane =
        in + (max(batch, 0L) * view.channels + channel) * view.height * view.width;
    ACC sum = (ACC)0;
    for (long a = 0; a < down && batch >= 0; ++a) {
      const ACC y = y1 + (ACC)row * cell_height + ((ACC)a + (ACC)0.5f) * cell_height / (ACC)down;
      for (long b = 0; b < across; ++b) {
        const ACC x =
            x1 + (ACC)column * cell_width + ((ACC)b + (ACC)0.5f) * cell_width / (ACC)across;
        sum += between(plane, view.height, view.width, y, x);
      }
    }
    out[i] = (S)(T)(sum / (ACC)max(down * across, 1L));
  }
}

#endif
