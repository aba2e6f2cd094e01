// Drawing on an RGBA image {height, width, 4} of u8, rows from the top.
//
// A colour is blended over the pixel below, both not premultiplied; with a the alpha of the colour
// and b the alpha below, all from 0 to 1:
//   alpha = a + b (1 - a),  channel = (color a + below b (1 - a)) / alpha
// rounded to nearest. With a = 1 the colour replaces the pixel, with a = 0 the pixel stays. The
// formula is evaluated in integers, so that every device produces the same bytes.
//
// Edge rule: the host clips rectangles to the image; pixels of a line outside of it are skipped.
#pragma once

#include "kernels/draw/draw_args.h"

static inline uchar4 over(const uchar4 below, const uchar4 color) {
  const uint a = 255u * color.w;
  const uint b = (uint)below.w * (255u - color.w);
  const uint all = a + b;  // 255 times the alpha
  if (all == 0u) return below;
  return (uchar4)((uchar)((color.x * a + below.x * b + all / 2u) / all),
                  (uchar)((color.y * a + below.y * b + all / 2u) / all),
                  (uchar)((color.z * a + below.z * b + all / 2u) / all),
                  (uchar)((all + 127u) / 255u));
}

static inline uchar4 color_of(const uchar *channels) {
  return (uchar4)(channels[0], channels[1], channels[2], channels[3]);
}

// Each work-item fills rect.span columns of rect.lines rows.
__kernel void fill_rect(__global uchar4 *image, const Rect rect) {
  const long x0 = (long)get_global_id(0) * rect.span;
  const long y0 = (long)get_global_id(1) * rect.lines;
  const long x1 = min(x0 + rect.span, rect.columns);
  const long y1 = min(y0 + rect.lines, rect.rows);
  const uchar4 color = color_of(rect.color);
  for (long y = y0; y < y1; ++y) {
    __global uchar4 *row = image + (rect.top + y) * rect.width + rect.left;
    if (rect.blend) {
      for (long x = x0; x < x1; ++x) row[x] = over(row[x], color);
    } else {
      for (long x = x0; x < x1; ++x) row[x] = color;
    }
  }
}

// floor(step * distance / n + 1/2)
static inline long place(const long step, const long distance, const long n) {
  const long twice = 2 * step * distance + n;
  const long whole = twice / (2 * n);
  return whole * 2 * n > twice ? whole - 1 : whole;
}

// Each work-item draws line.span steps.
__kernel void draw_line(__global uchar4 *image, const Line line) {
  const long from = (long)get_global_id(0) * line.span;
  const long to = min(from + line.span, line.count);
  const uchar4 color = color_of(line.color);
  for (long i = from; i < to; ++i) {
    const long column = line.x + place(line.first + i, line.dx, line.n);
    const long row = line.y + place(line.first + i, line.dy, line.n);
    if (column < 0 || column >= line.width || row < 0 || row >= line.height) continue;
    __global uchar4 *pixel = image + row * line.width + column;
    *pixel = over(*pixel, color);
  }
}

// Each work-item fills circle.span columns of circle.lines rows.
__kernel void draw_circle(__global uchar4 *image, const Circle circle) {
  const long x0 = (long)get_global_id(0) * circle.span;
  const long y0 = (long)get_global_id(1) * circle.lines;
  const long x1 = min(x0 + circle.span, circle.columns);
  const long y1 = min(y0 + circle.lines, circle.rows);
  const uchar4 color = color_of(circle.color);
  for (long y = y0; y < y1; ++y) {
    const long dy = circle.top + y - circle.y;
    __global uchar4 *row = image + (circle.top + y) * circle.width + circle.left;
    for (long x = x0; x < x1; ++x) {
      const long dx = circle.left + x - circle.x;
      const long distance = dx * dx + dy * dy;
      if (distance > circle.inner && distance <= circle.outer) row[x] = over(row[x], color);
    }
  }
}

// RGBA over an opaque background, as RGB. Each work-item converts view.span pixels.
__kernel void flatten(__global const uchar *image, __global uchar *output, const Flatten view) {
  const long from = (long)get_global_id(0) * view.span;
  const long to = min(from + view.span, view.count);
  const uchar4 background = color_of(view.background);
  for (long i = from; i < to; ++i) {
    const uint a = image[4 * i + 3];
    const uint b = 255u - a;
    output[3 * i] = (uchar)((image[4 * i] * a + background.x * b + 127u) / 255u);
    output[3 * i + 1] = (uchar)((image[4 * i + 1] * a + background.y * b + 127u) / 255u);
    output[3 * i + 2] = (uchar)((image[4 * i + 2] * a + background.z * b + 127u) / 255u);
  }
}
