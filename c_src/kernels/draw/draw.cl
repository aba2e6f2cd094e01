// Drawing on an RGBA image {height, width, 4} of u8, rows from the top.
//
// A colour goes over what is there by its alpha a, both colours not premultiplied (b is the alpha
// below, all from 0 to 1):
//   alpha = a + b (1 - a),  channel = (color a + below b (1 - a)) / alpha
// rounded to nearest. With a = 1 the colour replaces, with a = 0 nothing changes. The formula is
// evaluated in integers, so that every device gives the same bytes.

uchar4 over(uchar4 below, uchar4 color) {
  const uint a = 255u * color.w;
  const uint b = (uint)below.w * (255u - color.w);
  const uint all = a + b;  // 255 times the alpha
  if (all == 0u) return below;
  return (uchar4)((uchar)((color.x * a + below.x * b + all / 2u) / all),
                  (uchar)((color.y * a + below.y * b + all / 2u) / all),
                  (uchar)((color.z * a + below.z * b + all / 2u) / all),
                  (uchar)((all + 127u) / 255u));
}

// The rectangle of `columns` by `rows` pixels at (left, top), which lies within the image of
// `width` columns. An item does `span` columns of `lines` rows.
__kernel void fill_rect(__global uchar4* image, long width, long left, long top, long columns,
                        long rows, long span, long lines, uchar4 color, int blend) {
  const long x0 = get_global_id(0) * span;
  const long y0 = get_global_id(1) * lines;
  const long x1 = min(x0 + span, columns);
  const long y1 = min(y0 + lines, rows);
  for (long y = y0; y < y1; ++y) {
    __global uchar4* row = image + (top + y) * width + left;
    if (blend) {
      for (long x = x0; x < x1; ++x) row[x] = over(row[x], color);
    } else {
      for (long x = x0; x < x1; ++x) row[x] = color;
    }
  }
}

// floor(step * distance / n + 1/2)
long place(long step, long distance, long n) {
  const long twice = 2 * step * distance + n;
  const long whole = twice / (2 * n);
  return whole * 2 * n > twice ? whole - 1 : whole;
}

// Steps `first` to `first + count - 1` of the n that lead from (x, y) to (x + dx, y + dy). Each
// step is one pixel, since n is the larger of the distances. An item does `span` steps.
__kernel void draw_line(__global uchar4* image, long width, long height, long x, long y, long dx,
                        long dy, long n, long first, long count, long span, uchar4 color) {
  const long from = get_global_id(0) * span;
  const long to = min(from + span, count);
  for (long i = from; i < to; ++i) {
    const long column = x + place(first + i, dx, n);
    const long row = y + place(first + i, dy, n);
    if (column < 0 || column >= width || row < 0 || row >= height) continue;
    __global uchar4* pixel = image + row * width + column;
    *pixel = over(*pixel, color);
  }
}

// RGBA over an opaque background, as RGB. An item does `span` of `count` pixels.
__kernel void flatten(__global const uchar* image, __global uchar* output, long count, long span,
                      uchar4 background) {
  const long from = get_global_id(0) * span;
  const long to = min(from + span, count);
  for (long i = from; i < to; ++i) {
    const uint a = image[4 * i + 3];
    const uint b = 255u - a;
    output[3 * i] = (uchar)((image[4 * i] * a + background.x * b + 127u) / 255u);
    output[3 * i + 1] = (uchar)((image[4 * i + 1] * a + background.y * b + 127u) / 255u);
    output[3 * i + 2] = (uchar)((image[4 * i + 2] * a + background.z * b + 127u) / 255u);
  }
}
