// A picture as the input of a network, see preprocess.cl, for devices that are CPUs.
//
//   line   local memory: a sum for every element of an input row that the columns of a tile cover
//
// A work-group is one item and owns view.columns x view.rows of the result. For each row it adds up
// the rows that it covers, and then along the line. Preconditions: no extent is 0; in and out do
// not overlap; range is {ceil(out_width / columns), ceil(out_height / rows)}.

static inline void border_pixels(__global float *row, const long from, const long end,
                                 const Preprocess view) {
  for (int c = 0; c < 3; ++c) {
    for (long x = from; x < end; ++x) row[x * view.pixel + c * view.plane] = view.border[c];
  }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void preprocess_tiles(__global const T *restrict in, __global float *restrict out,
                      const Preprocess view, __local float *line) {
  const int channels = (int)view.channels;
  const int green = channels == 1 ? 0 : 1, blue = channels == 1 ? 0 : 2;
  const long column0 = (long)get_group_id(0) * view.columns;
  const long column_end = min(column0 + view.columns, view.out_width);
  const long row0 = (long)get_group_id(1) * view.rows;
  const long row_end = min(row0 + view.rows, view.out_height);
  const long left = clamp(view.to_left, column0, column_end);
  const long right = clamp(view.to_left + view.width_to, left, column_end);

  for (long y = row0; y < row_end; ++y) {
    __global float *row = out + view.start + y * view.out_width * view.pixel;
    if (left == right || !inside(y, view.to_top, view.height_to)) {
      border_pixels(row, column0, column_end, view);
      continue;
    }
    border_pixels(row, column0, left, view);
    border_pixels(row, right, column_end, view);

    const long first = span_of(left - view.to_left, view.width_in, view.width_to).first;
    const long last = span_of(right - 1 - view.to_left, view.width_in, view.width_to).last;
    const int count = (int)(last + 1 - first) * channels;
    const Span down = span_of(y - view.to_top, view.height_in, view.height_to);
    for (long i = down.first; i <= down.last; ++i) {
      const float weight =
          i == down.first ? down.at_first : i == down.last ? down.at_last : down.between;
      __global const T *from = in + ((view.top + i) * view.width + view.left + first) * channels;
      if (i == down.first) {
        INDEPENDENT_LOOP
        for (int x = 0; x < count; ++x) line[x] = weight * (float)from[x];
      } else {
        INDEPENDENT_LOOP
        for (int x = 0; x < count; ++x) line[x] += weight * (float)from[x];
      }
    }
    for (long x = left; x < right; ++x) {
      const Span across = span_of(x - view.to_left, view.width_in, view.width_to);
      __local const float *from = line + (across.first - first) * channels;
      __local const float *end = line + (across.last - first) * channels;
      float r = 0, g = 0, b = 0;
      for (__local const float *at = from + channels; at < end; at += channels) {
        r += at[0];
        g += at[green];
        b += at[blue];
      }
      r = across.at_first * from[0] + across.between * r;
      g = across.at_first * from[green] + across.between * g;
      b = across.at_first * from[blue] + across.between * b;
      if (end > from) {
        r += across.at_last * end[0];
        g += across.at_last * end[green];
        b += across.at_last * end[blue];
      }
      __global float *to = row + x * view.pixel;
      to[0] = fma(r, view.gain[0], view.bias[0]);
      to[view.plane] = fma(g, view.gain[1], view.bias[1]);
      to[2 * view.plane] = fma(b, view.gain[2], view.bias[2]);
    }
  }
}
