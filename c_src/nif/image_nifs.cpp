// Picture files. Both take as long as the picture is large, so they run on dirty schedulers; they
// need no device.
#include <algorithm>

#include "media/picture.hpp"
#include "nif/resource/resources.hpp"

namespace dala::nif {

// `{:ok, {width, height, rgba}}`. `memory_limit` is what applies while no device has been started.
OkOrError<std::tuple<int64_t, int64_t, ReadbackBinary>> image_decode(ErlNifEnv* env,
                                                                     ErlNifBinary file,
                                                                     int64_t max_pixels,
                                                                     uint64_t memory_limit) {
  return guarded(env, [&] {
    const media::Limits limits{std::min(max_pixels, media::kMaxPixels), [&](size_t bytes) {
                                 const auto current = Instance::get().running();
                                 return current ? current->runtime().memory().hold(bytes)
                                                : hold_shared(bytes, memory_limit);
                               }};
    const media::Picture picture =
        media::decode({reinterpret_cast<const std::byte*>(file.data), file.size}, limits);
    return ok(std::tuple(int64_t{picture.width}, int64_t{picture.height},
                         ReadbackBinary{picture.pixels}));
  });
}
FINE_NIF(image_decode, ERL_NIF_DIRTY_JOB_CPU_BOUND);

// `{:ok, file}`. The caller has checked that the sizes fit.
OkOrError<std::string> image_encode(ErlNifEnv* env, ErlNifBinary rgba, int64_t width,
                                    int64_t height, fine::Atom format, int64_t quality) {
  return guarded(env, [&] {
    if (width < 1 || height < 1 || width > media::kMaxPixels / height ||
        rgba.size != static_cast<size_t>(width * height) * 4) {
      throw std::invalid_argument("the pixels do not fit the size");
    }
    const media::View view{width, height, reinterpret_cast<const std::byte*>(rgba.data)};
    const auto level = static_cast<int>(quality);
    const std::vector<std::byte> file = format == "jpeg"   ? encode_jpeg(view, level)
                                        : format == "webp" ? encode_webp(view, level)
                                                           : encode_png(view);
    return ok(std::string(reinterpret_cast<const char*>(file.data()), file.size()));
  });
}
FINE_NIF(image_encode, ERL_NIF_DIRTY_JOB_CPU_BOUND);

}  // namespace dala::nif
