// JPEG files: baseline and progressive, grey, colour, CMYK and YCCK in; colour out.
#include <algorithm>
#include <utility>

#include "media/codec_library.hpp"
#include "media/jpeg_errors.hpp"
#include "media/picture.hpp"
#include "runtime/error.hpp"

namespace dala::media {
namespace {

// A progressive file may say thousands of times that nothing changes, and each time takes as long
// as a picture.
constexpr int kMostScans = 200;

class Decompressor {
 public:
  explicit Decompressor(const JpegApi& api) : api_(api), errors_(api) {
    info_.err = errors_.manager();
    progress_.progress_monitor = [](j_common_ptr info) {
      if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number <= kMostScans) return;
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

// Adobe's programs store CMYK inverted, and say so by their marker.
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
                text("the JPEG file cannot be made: ", errors_.jump().message()));
  }

 private:
  const JpegApi& api_;
  JpegErrors errors_;
  jpeg_compress_struct info_{};
};

// Writes to memory that is large enough for the worst case.
jpeg_destination_mgr fixed_memory(std::vector<std::byte>& memory) {
  jpeg_destination_mgr destination{};
  destination.next_output_byte = reinterpret_cast<JOCTET*>(memory.data());
  destination.free_in_buffer = memory.size();
  destination.init_destination = [](j_compress_ptr) {};
  destination.term_destination = [](j_compress_ptr) {};
  destination.empty_output_buffer = [](j_compress_ptr info) -> boolean {
    info->err->msg_code = JERR_OUT_OF_MEMORY;
    info->err->error_exit(reinterpret_cast<j_common_ptr>(info));
    return FALSE;
  };
  return destination;
}

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
                text("JPEG files need libjpeg-turbo, which cannot be used: ", loaded.second,
                     " (on Debian it is in libjpeg62-turbo, on Ubuntu in libjpeg-turbo8)"));
  }
  return loaded.first;
}

Picture decode_jpeg(File file) {
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
                                          " channels of unknown meaning, which cannot be read"));
  }
  info.out_color_space = cmyk ? JCS_CMYK : JCS_EXT_RGBA;
  Picture picture = allocate_picture("the JPEG file", info.image_width, info.image_height);
  const auto width = static_cast<size_t>(picture.width);
  std::vector<uint8_t> inks(cmyk ? width * 4 : 0);
  decompressor.run([&] {
    api.jpeg_start_decompress(&info);
    auto* to = reinterpret_cast<uint8_t*>(picture.data());
    while (info.output_scanline < info.output_height) {
      JSAMPROW row = cmyk ? inks.data() : to;
      api.jpeg_read_scanlines(&info, &row, 1);
      if (cmyk) cmyk_to_rgba(inks.data(), to, width, info.saw_Adobe_marker != FALSE);
      to += width * 4;
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
  // Six bytes per pixel of whole blocks, and the tables.
  const auto padded = [](int64_t extent) { return static_cast<size_t>((extent + 15) / 16 * 16); };
  std::vector<std::byte> file(padded(view.width) * padded(view.height) * 6 + 2048);
  jpeg_destination_mgr destination = fixed_memory(file);
  info.dest = &destination;
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
  file.resize(file.size() - destination.free_in_buffer);
  return file;
}

}  // namespace dala::media
