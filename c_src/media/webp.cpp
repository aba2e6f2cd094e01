// The WebP codec, on top of libwebp. It decodes lossy and lossless files, with alpha or without,
// and the first frame of animations; it encodes lossy and lossless files.
//
// Only the functions of libwebp's simple API are used. They take no structs and have had the same
// signatures since 2012, so they are declared here and the build needs no headers of libwebp.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "media/codec_library.hpp"
#include "media/picture.hpp"
#include "runtime/error.hpp"
#include "runtime/memory/host_memory.hpp"

namespace dala::media {
namespace {

struct WebpApi {
  int (*get_info)(const uint8_t* data, size_t size, int* width, int* height) = nullptr;
  uint8_t* (*decode_into)(const uint8_t* data, size_t size, uint8_t* out, size_t out_size,
                          int stride) = nullptr;
  size_t (*encode)(const uint8_t* rgba, int width, int height, int stride, float quality,
                   uint8_t** file) = nullptr;
  size_t (*encode_lossless)(const uint8_t* rgba, int width, int height, int stride,
                            uint8_t** file) = nullptr;
  void (*free)(void* memory) = nullptr;
};

const WebpApi& webp() {
  static const std::pair<WebpApi, std::string> loaded = [] {
    CodecLibrary library(kWebpLibraries);
    WebpApi api;
    library.find("WebPGetInfo", api.get_info);
    library.find("WebPDecodeRGBAInto", api.decode_into);
    library.find("WebPEncodeRGBA", api.encode);
    library.find("WebPEncodeLosslessRGBA", api.encode_lossless);
    library.find("WebPFree", api.free);
    return std::make_pair(api, library.problem());
  }();
  if (!loaded.second.empty()) {
    throw Error(Reason::unsupported,
                text("WebP files need libwebp, which cannot be loaded: ", loaded.second,
                     " (on Debian and Ubuntu it is in libwebp7)"));
  }
  return loaded.first;
}

[[noreturn]] void damaged_webp(const std::string& how) {
  throw Error(Reason::invalid_param, text("the WebP file is damaged: ", how));
}

uint32_t number_at(File file, size_t at, size_t size) {
  uint32_t result = 0;
  for (size_t i = size; i-- > 0;) result = result << 8 | std::to_integer<uint32_t>(file[at + i]);
  return result;
}

bool is_chunk(File file, const char* name) {
  return file.size() >= 8 && std::memcmp(file.data(), name, 4) == 0;
}

// The content of the chunk at the start of `rest`, which moves to the next one.
File take_chunk(File& rest) {
  const size_t size = number_at(rest, 4, 4);
  rest = rest.subspan(8);
  if (size > rest.size()) damaged_webp("it ends too early");
  const File content = rest.first(size);
  rest = rest.subspan(std::min(rest.size(), size + size % 2));
  return content;
}

// What libwebp decodes, and its place on the canvas.
struct WebpFrame {
  File data;
  int64_t left = 0;
  int64_t top = 0;
};

constexpr size_t kRiffHeader = 12;  // "RIFF", the size of what follows, "WEBP"
constexpr size_t kFrameHeader = 16;

// libwebp takes the content of a frame, but no animation as a whole.
WebpFrame first_frame(File file) {
  File rest = file.subspan(kRiffHeader);
  while (rest.size() >= 8) {
    const bool frame = is_chunk(rest, "ANMF");
    const File content = take_chunk(rest);
    if (!frame) continue;
    if (content.size() < kFrameHeader) damaged_webp("it ends too early");
    return {content.subspan(kFrameHeader), int64_t{2} * number_at(content, 0, 3),
            int64_t{2} * number_at(content, 3, 3)};
  }
  damaged_webp("it is an animation without a frame");
}

bool is_animation(File file) {
  const File chunks = file.subspan(kRiffHeader);
  constexpr uint32_t kAnimation = 0x02;
  return is_chunk(chunks, "VP8X") && chunks.size() >= 18 &&
         (number_at(chunks, 8, 1) & kAnimation) != 0;
}

std::pair<int64_t, int64_t> size_of(File file) {
  int width = 0;
  int height = 0;
  const auto* data = reinterpret_cast<const uint8_t*>(file.data());
  if (webp().get_info(data, file.size(), &width, &height) == 0)
    damaged_webp("it has no valid header");
  return {width, height};
}

}  // namespace

bool is_webp(File file) {
  return file.size() >= kRiffHeader && std::memcmp(file.data(), "RIFF", 4) == 0 &&
         std::memcmp(file.data() + 8, "WEBP", 4) == 0;
}

Picture decode_webp(File file, const Limits& limits) {
  const WebpApi& api = webp();
  const size_t declared = size_t{number_at(file, 4, 4)} + 8;
  if (file.size() < declared) damaged_webp("it ends too early");
  const auto [width, height] = size_of(file);
  check_size("the WebP file", width, height, limits);
  const WebpFrame frame = is_animation(file) ? first_frame(file) : WebpFrame{file};
  const auto [columns, rows] = size_of(frame.data);
  if (columns > width - frame.left || rows > height - frame.top) {
    damaged_webp(text("its first frame, ", columns, " by ", rows, " pixels at ", frame.left, ", ",
                      frame.top, ", is not inside ", width, " by ", height, " pixels"));
  }
  // libwebp decodes lossless files, and the alpha of others, as a whole before it converts them.
  const auto working = static_cast<size_t>(columns * rows) * 4;
  const SharedHold hold = limits.hold(working);
  need_host_room(working);
  Picture picture = allocate_picture(width, height, limits);
  if (columns != width || rows != height) std::memset(picture.data(), 0, picture.bytes());
  const size_t start = static_cast<size_t>(frame.top * width + frame.left) * 4;
  auto* to = reinterpret_cast<uint8_t*>(picture.data()) + start;
  if (api.decode_into(reinterpret_cast<const uint8_t*>(frame.data.data()), frame.data.size(), to,
                      picture.bytes() - start, static_cast<int>(width * 4)) == nullptr) {
    damaged_webp("its pixels cannot be decoded");
  }
  return picture;
}

std::vector<std::byte> encode_webp(const View& view, int quality) {
  constexpr int64_t kMaxDimension = 16383;
  if (view.width > kMaxDimension || view.height > kMaxDimension) {
    throw Error(Reason::unsupported,
                text("a WebP file has at most ", kMaxDimension,
                     " rows and columns, the picture is ", view.width, " by ", view.height));
  }
  const WebpApi& api = webp();
  const auto* rgba = reinterpret_cast<const uint8_t*>(view.data);
  const auto width = static_cast<int>(view.width);
  const auto height = static_cast<int>(view.height);
  uint8_t* file = nullptr;
  const size_t size =
      quality == kLossless
          ? api.encode_lossless(rgba, width, height, 4 * width, &file)
          : api.encode(rgba, width, height, 4 * width, static_cast<float>(quality), &file);
  const std::unique_ptr<uint8_t, void (*)(void*)> owner(file, api.free);
  if (size == 0) {
    throw Error(Reason::out_of_memory,
                "the WebP file cannot be encoded: the system has no memory left");
  }
  const auto* first = reinterpret_cast<const std::byte*>(file);
  return {first, first + size};
}

}  // namespace dala::media
