// A picture at another size, each pixel being the nearest one, for devices that are CPUs.
//
//   in, out   pictures whose pixels have 32 bits: four bytes, or one float
//   view      their sizes, and how many columns and rows of the result a work-group owns
//   places    local memory: view.columns: the column of the picture for each of the result
//
// The nearest to output o is (2o + 1) * in / (2 * out), rounded down: the later one of two that are
// equally near. A work-group is one item. Preconditions: no extent is 0; in and out do not overlap;
// range is {ceil(out_width / columns), ceil(out_height / rows)}.

#ifdef __clang__
typedef uint AnyPixel __attribute__((aligned(1)));
#else
typedef uint AnyPixel;
#endif

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void nearest(__global const AnyPixel *restrict in, __global AnyPixel *restrict out,
             const Resample view, __local int *places) {
  const long column0 = (long)get_group_id(0) * view.columns;
  const int count = (int)min((long)view.columns, view.out_width - column0);
  const long row0 = (long)get_group_id(1) * view.rows;
  const long row_end = min(row0 + view.rows, view.out_height);
  for (int x = 0; x < count; ++x) {
    places[x] = (int)((2 * (column0 + x) + 1) * view.width / (2 * view.out_width));
  }
  for (long row = row0; row < row_end; ++row) {
    const long nearest = (2 * row + 1) * view.height / (2 * view.out_height);
    __global const AnyPixel *from = in + nearest * view.width;
    __global AnyPixel *to = out + row * view.out_width + column0;
    INDEPENDENT_LOOP
    for (int x = 0; x < count; ++x) to[x] = from[places[x]];
  }
}
