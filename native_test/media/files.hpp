// Writes uncompressed PNG and BMP files of every type, without the libraries that read them.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "media/jpeg_api.hpp"
#include "media/picture.hpp"
#include "support/seeds.hpp"

namespace dala::test {

using Bytes = std::vector<uint8_t>;

inline media::File file_of(const Bytes& bytes) {
  keep_seed("picture", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  return {reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()};
}

inline Bytes pixels_of(const media::Picture& picture) {
  const auto* first = reinterpret_cast<const uint8_t*>(picture.data());
  return {first, first + picture.bytes()};
}

// Integers in big-endian (PNG) or little-endian (BMP) order.
inline void put_big(Bytes& to, uint64_t number, int size) {
  for (int i = size; i-- > 0;) to.push_back(static_cast<uint8_t>(number >> (8 * i)));
}
inline void put_little(Bytes& to, uint64_t number, int size) {
  for (int i = 0; i < size; ++i) to.push_back(static_cast<uint8_t>(number >> (8 * i)));
}

inline uint32_t crc32(const uint8_t* data, size_t size) {
  uint32_t crc = 0xffffffff;
  for (size_t i = 0; i < size; ++i) {
    crc ^= data[i];
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xedb88320U : 0);
  }
  return ~crc;
}

inline void put_chunk(Bytes& png, const std::string& name, const Bytes& content) {
  put_big(png, content.size(), 4);
  const size_t start = png.size();
  png.insert(png.end(), name.begin(), name.end());
  png.insert(png.end(), content.begin(), content.end());
  put_big(png, crc32(png.data() + start, png.size() - start), 4);
}

// A zlib stream of stored blocks.
inline Bytes stored(const Bytes& content) {
  Bytes stream{0x78, 0x01};
  size_t at = 0;
  do {
    const size_t size = std::min<size_t>(content.size() - at, 65535);
    stream.push_back(at + size == content.size() ? 1 : 0);
    put_little(stream, size, 2);
    put_little(stream, ~size, 2);
    stream.insert(stream.end(), content.begin() + static_cast<int64_t>(at),
                  content.begin() + static_cast<int64_t>(at + size));
    at += size;
  } while (at < content.size());
  uint32_t a = 1;
  uint32_t b = 0;
  for (uint8_t byte : content) {
    a = (a + byte) % 65521;
    b = (b + a) % 65521;
  }
  put_big(stream, b << 16 | a, 4);
  return stream;
}

struct PngSpec {
  int width = 1;
  int height = 1;
  int color_type = 6;  // 0 grey, 2 RGB, 3 palette, 4 grey and alpha, 6 RGBA
  int depth = 8;
  bool interlaced = false;
  Bytes palette = {};       // PLTE
  Bytes transparency = {};  // tRNS
  // The sample of a pixel's channel, `depth` bits.
  uint32_t (*sample)(int x, int y, int channel) = nullptr;

  int channels() const {
    return std::array{1, 0, 3, 1, 2, 0, 4}.at(static_cast<size_t>(color_type));
  }
};

inline void put_rows(Bytes& raw, const PngSpec& spec, std::array<int, 4> grid) {
  const auto [x0, y0, dx, dy] = grid;
  if (x0 >= spec.width) return;
  for (int y = y0; y < spec.height; y += dy) {
    raw.push_back(0);  // no filter
    uint32_t bits = 0;
    int held = 0;
    for (int x = x0; x < spec.width; x += dx) {
      for (int c = 0; c < spec.channels(); ++c) {
        if (spec.depth >= 8) {
          put_big(raw, spec.sample(x, y, c), spec.depth / 8);
          continue;
        }
        bits = bits << spec.depth | spec.sample(x, y, c);
        held += spec.depth;
        if (held == 8) {
          raw.push_back(static_cast<uint8_t>(bits));
          bits = 0;
          held = 0;
        }
      }
    }
    if (held > 0) raw.push_back(static_cast<uint8_t>(bits << (8 - held)));
  }
}

inline Bytes make_png(const PngSpec& spec) {
  Bytes png{0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  Bytes header;
  put_big(header, static_cast<uint64_t>(spec.width), 4);
  put_big(header, static_cast<uint64_t>(spec.height), 4);
  header.insert(header.end(),
                {static_cast<uint8_t>(spec.depth), static_cast<uint8_t>(spec.color_type), 0, 0,
                 static_cast<uint8_t>(spec.interlaced ? 1 : 0)});
  put_chunk(png, "IHDR", header);
  if (!spec.palette.empty()) put_chunk(png, "PLTE", spec.palette);
  if (!spec.transparency.empty()) put_chunk(png, "tRNS", spec.transparency);
  Bytes raw;
  if (spec.interlaced) {
    for (const std::array<int, 4>& pass : std::initializer_list<std::array<int, 4>>{{0, 0, 8, 8},
                                                                                    {4, 0, 8, 8},
                                                                                    {0, 4, 4, 8},
                                                                                    {2, 0, 4, 4},
                                                                                    {0, 2, 2, 4},
                                                                                    {1, 0, 2, 2},
                                                                                    {0, 1, 1, 2}}) {
      put_rows(raw, spec, pass);
    }
  } else {
    put_rows(raw, spec, {0, 0, 1, 1});
  }
  put_chunk(png, "IDAT", stored(raw));
  put_chunk(png, "IEND", {});
  return png;
}

struct BmpSpec {
  int width = 1;
  int height = 1;
  int bits = 24;
  bool top_down = false;
  uint32_t compression = 0;
  std::vector<uint32_t> masks = {};
  std::vector<uint32_t> palette = {};                             // 0xRRGGBB
  uint32_t (*pixel)(int x, int y) = [](int, int) { return 0U; };  // the stored value
};

inline Bytes make_bmp(const BmpSpec& spec) {
  Bytes rows;
  for (int i = 0; i < spec.height; ++i) {
    const int y = spec.top_down ? i : spec.height - 1 - i;
    const size_t start = rows.size();
    uint32_t bits = 0;
    int held = 0;
    for (int x = 0; x < spec.width; ++x) {
      if (spec.bits >= 8) {
        put_little(rows, spec.pixel(x, y), spec.bits / 8);
        continue;
      }
      bits = bits << spec.bits | spec.pixel(x, y);
      held += spec.bits;
      if (held == 8 || x + 1 == spec.width) {
        rows.push_back(static_cast<uint8_t>(bits << (8 - held)));
        bits = 0;
        held = 0;
      }
    }
    while ((rows.size() - start) % 4 != 0) rows.push_back(0xee);
  }
  const size_t offset = 14 + 40 + 4 * (spec.masks.size() + spec.palette.size());
  Bytes bmp{'B', 'M'};
  put_little(bmp, offset + rows.size(), 4);
  put_little(bmp, 0, 4);
  put_little(bmp, offset, 4);
  put_little(bmp, 40, 4);
  put_little(bmp, static_cast<uint32_t>(spec.width), 4);
  put_little(bmp, static_cast<uint32_t>(spec.top_down ? -spec.height : spec.height), 4);
  put_little(bmp, 1, 2);
  put_little(bmp, static_cast<uint32_t>(spec.bits), 2);
  put_little(bmp, spec.compression, 4);
  put_little(bmp, rows.size(), 4);
  put_little(bmp, 0, 8);
  put_little(bmp, spec.palette.size(), 4);
  put_little(bmp, 0, 4);
  for (uint32_t mask : spec.masks) put_little(bmp, mask, 4);
  for (uint32_t color : spec.palette) put_little(bmp, color, 4);
  bmp.insert(bmp.end(), rows.begin(), rows.end());
  return bmp;
}

// A JPEG file in any colour space and encoding.
struct JpegSpec {
  int width = 40;
  int height = 24;
  J_COLOR_SPACE space = JCS_RGB;       // of the samples
  J_COLOR_SPACE stored = JCS_UNKNOWN;  // of the file; unknown: the default
  bool progressive = false;
  bool adobe = true;
  int quality = 100;
  std::function<int(int x, int y, int channel)> sample;
};

extern "C" inline void ignore_output(j_common_ptr) {}

inline Bytes make_jpeg(const JpegSpec& spec) {
  const media::JpegApi& api = media::jpeg();
  jpeg_error_mgr errors;
  jpeg_compress_struct info{};
  info.err = api.jpeg_std_error(&errors);
  errors.output_message = ignore_output;
  api.jpeg_CreateCompress(&info, JPEG_LIB_VERSION, sizeof(info));
  Bytes file(1 << 20);
  jpeg_destination_mgr destination{};
  destination.next_output_byte = file.data();
  destination.free_in_buffer = file.size();
  destination.init_destination = [](j_compress_ptr) {};
  destination.term_destination = [](j_compress_ptr) {};
  destination.empty_output_buffer = [](j_compress_ptr) -> boolean { std::abort(); };
  info.dest = &destination;
  info.image_width = static_cast<JDIMENSION>(spec.width);
  info.image_height = static_cast<JDIMENSION>(spec.height);
  info.in_color_space = spec.space;
  info.input_components = spec.space == JCS_GRAYSCALE ? 1 : spec.space == JCS_CMYK ? 4 : 3;
  api.jpeg_set_defaults(&info);
  if (spec.stored != JCS_UNKNOWN) api.jpeg_set_colorspace(&info, spec.stored);
  api.jpeg_set_quality(&info, spec.quality, TRUE);
  // No chroma subsampling, so that colours do not bleed over edges.
  for (int c = 0; c < info.num_components; ++c) {
    info.comp_info[c].h_samp_factor = info.comp_info[c].v_samp_factor = 1;
  }
  if (spec.progressive) api.jpeg_simple_progression(&info);
  if (!spec.adobe) info.write_Adobe_marker = FALSE;
  api.jpeg_start_compress(&info, TRUE);
  for (int y = 0; y < spec.height; ++y) {
    Bytes row;
    for (int x = 0; x < spec.width; ++x) {
      for (int c = 0; c < info.input_components; ++c) {
        row.push_back(static_cast<uint8_t>(spec.sample(x, y, c)));
      }
    }
    JSAMPROW pointer = row.data();
    api.jpeg_write_scanlines(&info, &pointer, 1);
  }
  api.jpeg_finish_compress(&info);
  api.jpeg_destroy_compress(&info);
  file.resize(file.size() - destination.free_in_buffer);
  return file;
}

}  // namespace dala::test
