// The JPEG codec, on top of libjpeg-turbo. It decodes baseline and progressive files in greyscale,
// colour, CMYK and YCCK, and encodes colour.
#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "media/codec_library.hpp"
#include "media/jpeg_errors.hpp"
#include "media/picture.hpp"
#include "runtime/error.hpp"
#include "runtime/memory/host_memory.hpp"

namespace dala::media {
namespace {

// A malicious progressive file can hold thousands of empty scans, each of which costs as much time
// as decoding a picture.
constexpr int kMaxScans = 200;

class Decompressor {
 public:
  explicit Decompressor(const JpegApi& api) : api_(api), errors_(api) {
    info_.err = errors_.manager();
    progress_.progress_monitor = [](j_common_ptr info) {
      if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number <= kMaxScans) return;
      info->err->msg_code = JERR_BAD_PROGRESSION;
      info->err->error_exit(info);
    };
    run([&] { api_.jpeg_CreateDecompress(&info_, JPEG_LIB_VERSION, sizeof(info_)); });
    info_.progress = &progress_;
  }
  ~Decompressor() { api_.jpeg_destroy_decompress(&info_); }
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;

  jpeg_decompress_struct& info() { return info_; }

  template <typename Body>
  void run(const Body& body) {
    if (errors_.jump().attempt(body)) return;
    throw Error(Reason::invalid_param,
                text("the JPEG file is damaged: ", errors_.jump().message()));
  }

 private:
  const JpegApi& api_;
  JpegErrors errors_;
  jpeg_progress_mgr progress_{};
  jpeg_decompress_struct info_{};
};

// Adobe applications store CMYK inverted and write an Adobe marker.
void cmyk_to_rgba(const uint8_t* from, uint8_t* to, size_t pixels, bool inverted) {
  for (size_t i = 0; i < pixels; ++i, from += 4, to += 4) {
    const unsigned key = inverted ? from[3] : 255U - from[3];
    for (size_t c = 0; c < 3; ++c) {
      const unsigned ink = inverted ? from[c] : 255U - from[c];
      to[c] = static_cast<uint8_t>((ink * key + 127) / 255);
    }
    to[3] = 255;
  }
}

// Memory for the coefficients: libjpeg keeps those of all blocks until the last scan.
size_t coefficient_bytes(const jpeg_decompress_struct& info) {
  const auto padded = [](JDIMENSION blocks, int factor) {
    const auto step = static_cast<size_t>(factor);
    return (blocks + step - 1) / step * step;
  };
  size_t blocks = 0;
  for (int i = 0; i < info.num_components; ++i) {
    const jpeg_component_info& component = info.comp_info[i];
    blocks += padded(component.width_in_blocks, component.h_samp_factor) *
              padded(component.height_in_blocks, component.v_samp_factor);
  }
  return blocks * sizeof(JBLOCK);
}

class Compressor {
 public:
  explicit Compressor(const JpegApi& api) : api_(api), errors_(api) {
    info_.err = errors_.manager();
    run([&] { api_.jpeg_CreateCompress(&info_, JPEG_LIB_VERSION, sizeof(info_)); });
  }
  ~Compressor() { api_.jpeg_destroy_compress(&info_); }
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;

  jpeg_compress_struct& info() { return info_; }

  template <typename Body>
  void run(const Body& body) {
    if (errors_.jump().attempt(body)) return;
    throw Error(Reason::out_of_memory,
                text("the JPEG file cannot be encoded: ", errors_.jump().message()));
  }

 private:
  const JpegApi& api_;
  JpegErrors errors_;
  jpeg_compress_struct info_{};
};

// Writes to a growing buffer. `base` comes first: libjpeg knows only that part.
struct Destination {
  jpeg_destination_mgr base{};
  std::vector<std::byte> memory;

  Destination() : memory(size_t{1} << 16) {
    base.init_destination = [](j_compress_ptr info) { of(info)->offer(0); };
    base.term_destination = [](j_compress_ptr) {};
    base.empty_output_buffer = [](j_compress_ptr info) -> boolean {
      Destination* own = of(info);
      const size_t full = own->memory.size();
      if (!own->grow()) {
        info->err->msg_code = JERR_OUT_OF_MEMORY;
        info->err->error_exit(reinterpret_cast<j_common_ptr>(info));
      }
      own->offer(full);
      return TRUE;
    };
  }
  Destination(const Destination&) = delete;
  Destination& operator=(const Destination&) = delete;

  static Destination* of(j_compress_ptr info) { return reinterpret_cast<Destination*>(info->dest); }

  void offer(size_t from) {
    base.next_output_byte = reinterpret_cast<JOCTET*>(memory.data() + from);
    base.free_in_buffer = memory.size() - from;
  }

  // Exceptions must not propagate through libjpeg's C frames.
  bool grow() noexcept {
    try {
      memory.resize(2 * memory.size());
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }
};

}  // namespace

const JpegApi& jpeg() {
  static const std::pair<JpegApi, std::string> loaded = [] {
    CodecLibrary library(kJpegLibraries);
    JpegApi api;
#define DALA_JPEG_LOAD(name) library.find(#name, api.name);
    DALA_JPEG_FUNCTIONS(DALA_JPEG_LOAD)
#undef DALA_JPEG_LOAD
    return std::make_pair(api, library.problem());
  }();
  if (!loaded.second.empty()) {
    throw Error(Reason::unsupported,
                text("JPEG files need libjpeg-turbo, which cannot be loaded: ", loaded.second,
                     " (on Debian it is in libjpeg62-turbo, on Ubuntu in libjpeg-turbo8)"));
  }
  return loaded.first;
}

Picture decode_jpeg(File file, const Limits& limits) {
  const JpegApi& api = jpeg();
  Decompressor decompressor(api);
  jpeg_decompress_struct& info = decompressor.info();
  decompressor.run([&] {
    api.jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(file.data()), file.size());
    api.jpeg_read_header(&info, TRUE);
  });
  const bool cmyk = info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
  if (info.jpeg_color_space == JCS_UNKNOWN) {
    throw Error(Reason::unsupported, text("the JPEG file has ", info.num_components,
                                          " channels in an unknown colour space, which cannot be "
                                          "read"));
  }
  info.out_color_space = cmyk ? JCS_CMYK : JCS_EXT_RGBA;
  check_size("the JPEG file", info.image_width, info.image_height, limits);
  const Turn turn(info.image_width, info.image_height, exif_orientation(file));
  SharedHold coefficients;
  if (api.jpeg_has_multiple_scans(&info) != FALSE) {
    const size_t bytes = coefficient_bytes(info);
    coefficients = limits.hold(bytes);
    need_host_room(bytes);
  }
  Picture picture = allocate_picture(turn.width(), turn.height(), limits);
  const size_t width = info.image_width;
  std::vector<uint8_t> row(width * 4);
  decompressor.run([&] {
    api.jpeg_start_decompress(&info);
    while (info.output_scanline < info.output_height) {
      const int64_t y = info.output_scanline;
      JSAMPROW to = row.data();
      api.jpeg_read_scanlines(&info, &to, 1);
      if (cmyk) cmyk_to_rgba(to, to, width, info.saw_Adobe_marker != FALSE);
      turn.place(reinterpret_cast<const std::byte*>(to), y, picture.data());
    }
    api.jpeg_finish_decompress(&info);
  });
  return picture;
}

std::vector<std::byte> encode_jpeg(const View& view, int quality) {
  if (view.width > JPEG_MAX_DIMENSION || view.height > JPEG_MAX_DIMENSION) {
    throw Error(Reason::unsupported,
                text("a JPEG file has at most ", JPEG_MAX_DIMENSION,
                     " rows and columns, the picture is ", view.width, " by ", view.height));
  }
  const JpegApi& api = jpeg();
  Compressor compressor(api);
  jpeg_compress_struct& info = compressor.info();
  Destination destination;
  info.dest = &destination.base;
  info.image_width = static_cast<JDIMENSION>(view.width);
  info.image_height = static_cast<JDIMENSION>(view.height);
  info.input_components = 4;
  info.in_color_space = JCS_EXT_RGBA;
  compressor.run([&] {
    api.jpeg_set_defaults(&info);
    api.jpeg_set_quality(&info, quality, TRUE);
    api.jpeg_start_compress(&info, TRUE);
    while (info.next_scanline < info.image_height) {
      const size_t row = info.next_scanline * static_cast<size_t>(view.width) * 4;
      auto* pixels = reinterpret_cast<JSAMPROW>(const_cast<std::byte*>(view.data + row));
      api.jpeg_write_scanlines(&info, &pixels, 1);
    }
    api.jpeg_finish_compress(&info);
  });
  destination.memory.resize(destination.memory.size() - destination.base.free_in_buffer);
  return std::move(destination.memory);
}

}  // namespace dala::media
