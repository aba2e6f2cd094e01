// The PNG codec, on top of libpng. It decodes greyscale, palette and colour files of 1 to 16 bits
// per channel, interlaced or not, and encodes RGBA.
//
// libpng's simplified API would be shorter, but in widely used versions it corrupts interlaced
// 16-bit files or writes out of bounds.
#include <png.h>

#include <algorithm>
#include <new>
#include <utility>

#include "media/codec_library.hpp"
#include "media/jump.hpp"
#include "media/picture.hpp"
#include "runtime/error.hpp"

namespace dala::media {
namespace {

#define DALA_PNG_FUNCTIONS(X)    \
  X(png_create_read_struct)      \
  X(png_create_write_struct)     \
  X(png_create_info_struct)      \
  X(png_destroy_read_struct)     \
  X(png_destroy_write_struct)    \
  X(png_get_error_ptr)           \
  X(png_get_io_ptr)              \
  X(png_set_read_fn)             \
  X(png_set_keep_unknown_chunks) \
  X(png_set_write_fn)            \
  X(png_read_info)               \
  X(png_get_image_width)         \
  X(png_get_image_height)        \
  X(png_set_expand)              \
  X(png_set_scale_16)            \
  X(png_set_gray_to_rgb)         \
  X(png_set_add_alpha)           \
  X(png_set_interlace_handling)  \
  X(png_read_update_info)        \
  X(png_get_rowbytes)            \
  X(png_read_row)                \
  X(png_read_end)                \
  X(png_set_IHDR)                \
  X(png_write_info)              \
  X(png_write_row)               \
  X(png_write_end)

struct PngApi {
#define DALA_PNG_MEMBER(name) decltype(&::name) name = nullptr;
  DALA_PNG_FUNCTIONS(DALA_PNG_MEMBER)
#undef DALA_PNG_MEMBER
};

const PngApi& png() {
  static const std::pair<PngApi, std::string> loaded = [] {
    CodecLibrary library(kPngLibraries);
    PngApi api;
#define DALA_PNG_LOAD(name) library.find(#name, api.name);
    DALA_PNG_FUNCTIONS(DALA_PNG_LOAD)
#undef DALA_PNG_LOAD
    return std::make_pair(api, library.problem());
  }();
  if (!loaded.second.empty()) {
    throw Error(Reason::unsupported,
                text("PNG files need libpng, which cannot be loaded: ", loaded.second,
                     " (on Debian and Ubuntu it is in libpng16-16)"));
  }
  return loaded.first;
}

void on_error(png_structp state, png_const_charp message) {
  static_cast<Jump*>(png().png_get_error_ptr(state))->give_up(message);
}

void on_warning(png_structp, png_const_charp) {}  // never to the terminal

void need_memory(const void* object) {
  if (object != nullptr) return;
  throw Error(Reason::out_of_memory, "the system has no memory left for a PNG file");
}

class PngReader {
 public:
  explicit PngReader(File file) : api_(png()), rest_(file) {
    state_ = api_.png_create_read_struct(PNG_LIBPNG_VER_STRING, &jump_, on_error, on_warning);
    need_memory(state_);
    info_ = api_.png_create_info_struct(state_);
    if (info_ == nullptr) api_.png_destroy_read_struct(&state_, nullptr, nullptr);
    need_memory(info_);
    api_.png_set_read_fn(state_, this, read);
    // Ancillary chunks (text, profiles) would be decompressed and kept: a file can hold thousands
    // of them, 8 MB each.
    api_.png_set_keep_unknown_chunks(state_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  }
  ~PngReader() { api_.png_destroy_read_struct(&state_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  Picture picture(const Limits& limits) {
    run([&] { api_.png_read_info(state_, info_); });
    const int64_t width = api_.png_get_image_width(state_, info_);
    const int64_t height = api_.png_get_image_height(state_, info_);
    check_size("the PNG file", width, height, limits);
    Picture picture = allocate_picture(width, height, limits);
    run([&] { read_pixels(picture); });
    return picture;
  }

 private:
  template <typename Body>
  void run(const Body& body) {
    if (jump_.attempt(body)) return;
    throw Error(Reason::invalid_param, text("the PNG file is damaged: ", jump_.message()));
  }

  void read_pixels(const Picture& picture) {
    api_.png_set_expand(state_);  // palettes, less than 8 bits, tRNS
    api_.png_set_scale_16(state_);
    api_.png_set_gray_to_rgb(state_);
    api_.png_set_add_alpha(state_, 255, PNG_FILLER_AFTER);  // if the file has none
    const int passes = api_.png_set_interlace_handling(state_);
    api_.png_read_update_info(state_, info_);
    const auto row_bytes = static_cast<size_t>(picture.width) * 4;
    if (api_.png_get_rowbytes(state_, info_) != row_bytes) {
      jump_.give_up("its rows have an unexpected size");
    }
    for (int pass = 0; pass < passes; ++pass) {
      auto* row = reinterpret_cast<png_bytep>(picture.data());
      for (int64_t y = 0; y < picture.height; ++y, row += row_bytes) {
        api_.png_read_row(state_, row, nullptr);
      }
    }
    api_.png_read_end(state_, nullptr);
  }

  static void read(png_structp state, png_bytep to, size_t size) {
    auto* reader = static_cast<PngReader*>(png().png_get_io_ptr(state));
    if (size > reader->rest_.size()) reader->jump_.give_up("it ends too early");
    const auto* from = reinterpret_cast<png_const_bytep>(reader->rest_.data());
    std::copy(from, from + size, to);
    reader->rest_ = reader->rest_.subspan(size);
  }

  const PngApi& api_;
  File rest_;
  Jump jump_;
  png_structp state_ = nullptr;
  png_infop info_ = nullptr;
};

class PngWriter {
 public:
  PngWriter() : api_(png()) {
    state_ = api_.png_create_write_struct(PNG_LIBPNG_VER_STRING, &jump_, on_error, on_warning);
    need_memory(state_);
    info_ = api_.png_create_info_struct(state_);
    if (info_ == nullptr) api_.png_destroy_write_struct(&state_, nullptr);
    need_memory(info_);
    api_.png_set_write_fn(state_, this, append, [](png_structp) {});
  }
  ~PngWriter() { api_.png_destroy_write_struct(&state_, &info_); }
  PngWriter(const PngWriter&) = delete;
  PngWriter& operator=(const PngWriter&) = delete;

  std::vector<std::byte> file(const View& view) {
    const bool done = jump_.attempt([&] {
      api_.png_set_IHDR(state_, info_, static_cast<png_uint_32>(view.width),
                        static_cast<png_uint_32>(view.height), 8, PNG_COLOR_TYPE_RGBA,
                        PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
      api_.png_write_info(state_, info_);
      const auto* row = reinterpret_cast<png_const_bytep>(view.data);
      for (int64_t y = 0; y < view.height; ++y, row += view.width * 4) {
        api_.png_write_row(state_, row);
      }
      api_.png_write_end(state_, info_);
    });
    if (done) return std::move(file_);
    const bool too_large = view.width > kMaxDimension || view.height > kMaxDimension;
    throw Error(too_large ? Reason::unsupported : Reason::out_of_memory,
                text("the PNG file cannot be encoded: ", jump_.message()));
  }

 private:
  static constexpr int64_t kMaxDimension = 1'000'000;  // libpng's default limit

  static void append(png_structp state, png_bytep from, size_t size) {
    auto* writer = static_cast<PngWriter*>(png().png_get_io_ptr(state));
    bool full = false;
    try {
      const auto* bytes = reinterpret_cast<const std::byte*>(from);
      writer->file_.insert(writer->file_.end(), bytes, bytes + size);
    } catch (const std::bad_alloc&) {
      full = true;
    }
    if (full) writer->jump_.give_up("the system has no memory left");
  }

  const PngApi& api_;
  std::vector<std::byte> file_;
  Jump jump_;
  png_structp state_ = nullptr;
  png_infop info_ = nullptr;
};

}  // namespace

Picture decode_png(File file, const Limits& limits) { return PngReader(file).picture(limits); }

std::vector<std::byte> encode_png(const View& view) { return PngWriter().file(view); }

}  // namespace dala::media
