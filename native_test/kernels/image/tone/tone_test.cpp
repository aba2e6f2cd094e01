// The references of the kernels based on histograms: levels are counted by testing every pixel, and
// tables are computed in long double.
#include <doctest/doctest.h>

#include <array>
#include <numeric>

#include "kernels/image/pictures.hpp"

namespace dala::test {
namespace {

using Real = long double;
using Counts = std::array<int64_t, 256>;

// The bin of a level: for floats, the nearest of 255 steps, in single precision.
int64_t counted(const Tensor& picture, size_t index) {
  if (!picture.is_real()) return picture.integers[index];
  const volatile float scaled =
      std::clamp(static_cast<float>(picture.reals[index]), 0.0F, 1.0F) * 255.0F;
  return static_cast<int64_t>(scaled + 0.5F);
}

int64_t counted_luma(const Tensor& tensor, const Picture& picture, int64_t y, int64_t x) {
  const size_t index = picture.index(y, x, 0);
  if (picture.channels == 1) return counted(tensor, index);
  return (299 * counted(tensor, index) + 587 * counted(tensor, index + 1) +
          114 * counted(tensor, index + 2) + 500) /
         1000;
}

std::vector<Shape> shapes() {
  std::vector<Shape> all = picture_shapes();
  if (!quick()) all.insert(all.end(), {{70, 131, 4}, {300, 9, 3}});
  return all;
}

std::vector<Case> histogram_cases(DType dtype) {
  std::vector<Case> cases;
  for (const Shape& shape : shapes()) {
    const int64_t channels = Picture(shape).channels;
    cases.push_back({{{dtype, shape}}, {DType::u32, {channels, 256}}});
    if (channels == 1) cases.push_back({{{dtype, shape}}, {DType::u32, {256}}});
    const Params luma{{"of", std::string("luma")}};
    cases.push_back({{{dtype, shape}}, {DType::u32, {256}}, luma});
    cases.push_back({{{dtype, shape}}, {DType::u32, {1, 256}}, luma});
  }
  return cases;
}

Tensor histogram(const Case& example, const std::vector<Tensor>& inputs) {
  const Picture picture(example.inputs[0].shape);
  Tensor result(example.output);
  for (int64_t y = 0; y < picture.height; ++y) {
    for (int64_t x = 0; x < picture.width; ++x) {
      if (example.params.count("of") != 0) {
        ++result.integers[static_cast<size_t>(counted_luma(inputs[0], picture, y, x))];
        continue;
      }
      for (int64_t c = 0; c < picture.channels; ++c) {
        ++result
              .integers[static_cast<size_t>(256 * c + counted(inputs[0], picture.index(y, x, c)))];
      }
    }
  }
  return result;
}

const SubjectOf kHistogram("histogram", {histogram_cases, histogram});

std::vector<Case> same_shape(DType dtype, const std::vector<Params>& settings) {
  std::vector<Case> cases;
  for (const Shape& shape : shapes()) {
    for (const Params& params : settings) {
      cases.push_back({{{dtype, shape}}, {dtype, shape}, params});
    }
  }
  return cases;
}

// The levels of one channel, or of all colours, sorted.
std::vector<int64_t> sorted_levels(const Tensor& input, const Picture& picture, int64_t first,
                                   int64_t last) {
  std::vector<int64_t> levels;
  for (int64_t i = 0; i < picture.height * picture.width; ++i) {
    for (int64_t c = first; c <= last; ++c) {
      levels.push_back(counted(input, static_cast<size_t>(i * picture.channels + c)));
    }
  }
  std::sort(levels.begin(), levels.end());
  return levels;
}

struct Line {
  Real low = 0;  // of levels
  Real gain = 1;
};

// out = (in - low) * gain in each colour.
Tensor stretched(const Case& example, const Tensor& input,
                 const std::function<Line(const Picture&, int64_t)>& line_of) {
  const Picture picture(example.output.shape);
  Tensor result(example.output);
  if (picture.height * picture.width == 0) return result;
  if (result.is_real()) result.scales.assign(result.size(), 256);
  for (int64_t c = 0; c < picture.channels; ++c) {
    const Line line = c == 3 ? Line{} : line_of(picture, c);
    for (int64_t i = 0; i < picture.height * picture.width; ++i) {
      const auto index = static_cast<size_t>(i * picture.channels + c);
      const Real low = result.is_real() ? line.low / 255 : line.low;
      set_level(result, index, (level(input, index) - low) * line.gain);
    }
  }
  return result;
}

Tensor levelled(const Case& example, const std::vector<Tensor>& inputs) {
  const Real clip = static_cast<float>(number_of(example.params, "clip", 0.005));
  const bool together = example.params.count("together") != 0;
  return stretched(example, inputs[0], [&](const Picture& picture, int64_t c) {
    const std::vector<int64_t> levels =
        sorted_levels(inputs[0], picture, together ? 0 : c, together ? picture.colours() - 1 : c);
    const auto cut = static_cast<size_t>(clip * static_cast<Real>(levels.size()));
    const int64_t low = levels[std::min(cut, levels.size() - 1)];
    const int64_t high = levels[levels.size() - 1 - std::min(cut, levels.size() - 1)];
    if (high <= low) return Line{};
    return Line{static_cast<Real>(low), 255.0L / static_cast<Real>(high - low)};
  });
}

Tensor balanced(const Case& example, const std::vector<Tensor>& inputs) {
  return stretched(example, inputs[0], [&](const Picture& picture, int64_t c) {
    const auto mean = [&](int64_t channel) {
      const std::vector<int64_t> levels = sorted_levels(inputs[0], picture, channel, channel);
      return static_cast<Real>(std::accumulate(levels.begin(), levels.end(), int64_t{0})) /
             static_cast<Real>(levels.size());
    };
    Real all = 0;
    for (int64_t channel = 0; channel < picture.colours(); ++channel) all += mean(channel);
    const Real own = mean(c);
    return own == 0 ? Line{} : Line{0, all / static_cast<Real>(picture.colours()) / own};
  });
}

const SubjectOf kAutoLevels("auto_levels", {[](DType dtype) {
                                              return same_shape(
                                                  dtype, {{},
                                                          {{"clip", 0.0}},
                                                          {{"clip", 0.1001}},
                                                          {{"clip", 0.0501}, {"together", true}}});
                                            },
                                            levelled, 1e-6L, 0, 1});

const SubjectOf kAutoWhiteBalance("auto_white_balance",
                                  {[](DType dtype) { return same_shape(dtype, {{}}); }, balanced,
                                   1e-6L, 0, 1});

// The table of a tile with these counts.
std::array<Real, 256> table_of(Counts counts, Real limit) {
  const int64_t all = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  int64_t first = 0;
  if (limit > 0) {
    const auto most = std::max<int64_t>(
        1, static_cast<int64_t>(static_cast<float>(limit) * (static_cast<float>(all) / 256)));
    int64_t excess = 0;
    for (int64_t& count : counts) {
      excess += std::max<int64_t>(0, count - most);
      count = std::min(count, most);
    }
    for (int64_t& count : counts) count += excess / 256;
    const int64_t rest = excess % 256;
    for (int64_t i = 0; i < rest; ++i) ++counts[static_cast<size_t>(i * (256 / rest))];
  } else {
    first = *std::find_if(counts.begin(), counts.end(), [](int64_t count) { return count != 0; });
  }
  std::array<Real, 256> table{};
  int64_t up_to = 0;
  for (size_t v = 0; v < 256; ++v) {
    up_to += counts[v];
    const int64_t above = std::max<int64_t>(up_to - first, 0);
    table[v] = all > first ? 255.0L * static_cast<Real>(above) / static_cast<Real>(all - first)
                           : static_cast<Real>(v);
  }
  return table;
}

Tensor equalized(const Case& example, const Tensor& input, int64_t across, int64_t down,
                 Real limit) {
  const Picture picture(example.output.shape);
  Tensor result(example.output);
  if (picture.height * picture.width == 0) return result;
  if (result.is_real()) result.scales.assign(result.size(), 64);
  across = std::min(across, picture.width);
  down = std::min(down, picture.height);
  const auto tile_of = [](int64_t place, int64_t extent, int64_t tiles) {
    int64_t tile = 0;
    while ((tile + 1) * extent / tiles <= place) ++tile;
    return tile;
  };
  std::vector<Counts> counts(static_cast<size_t>(across * down));
  for (int64_t y = 0; y < picture.height; ++y) {
    for (int64_t x = 0; x < picture.width; ++x) {
      const int64_t tile =
          tile_of(y, picture.height, down) * across + tile_of(x, picture.width, across);
      ++counts[static_cast<size_t>(tile)][static_cast<size_t>(counted_luma(input, picture, y, x))];
    }
  }
  std::vector<std::array<Real, 256>> tables;
  for (const Counts& tile : counts) tables.push_back(table_of(tile, limit));
  // The weight of a tile's table along an axis: 1 at its centre, 0 at the adjacent centres.
  const auto weight = [](int64_t place, int64_t extent, int64_t tiles, int64_t tile) {
    const Real at = std::clamp<Real>(
        (static_cast<Real>(place) + 0.5L) * static_cast<Real>(tiles) / static_cast<Real>(extent) -
            0.5L,
        0, static_cast<Real>(tiles - 1));
    return std::max<Real>(0, 1 - std::fabs(at - static_cast<Real>(tile)));
  };
  for (int64_t y = 0; y < picture.height; ++y) {
    for (int64_t x = 0; x < picture.width; ++x) {
      const int64_t luma = counted_luma(input, picture, y, x);
      Real shift = -static_cast<Real>(luma);
      for (int64_t j = 0; j < down; ++j) {
        for (int64_t i = 0; i < across; ++i) {
          shift += weight(y, picture.height, down, j) * weight(x, picture.width, across, i) *
                   tables[static_cast<size_t>(j * across + i)][static_cast<size_t>(luma)];
        }
      }
      if (result.is_real()) shift /= 255;
      for (int64_t c = 0; c < picture.channels; ++c) {
        const size_t index = picture.index(y, x, c);
        set_level(result, index, level(input, index) + (c == 3 ? 0 : shift));
      }
    }
  }
  return result;
}

const SubjectOf kEqualize("equalize", {[](DType dtype) { return same_shape(dtype, {{}}); },
                                       [](const Case& example, const std::vector<Tensor>& inputs) {
                                         return equalized(example, inputs[0], 1, 1, 0);
                                       },
                                       1e-5L, 0, 1});

const SubjectOf kClahe("clahe",
                       {[](DType dtype) {
                          return same_shape(dtype,
                                            {{},
                                             {{"tiles", int64_t{1}}, {"clip_limit", int64_t{256}}},
                                             {{"tiles", std::vector<double>{3, 2}}}});
                        },
                        [](const Case& example, const std::vector<Tensor>& inputs) {
                          std::vector<int64_t> tiles{8, 8};
                          const auto found = example.params.find("tiles");
                          if (found != example.params.end()) {
                            const auto* both = std::get_if<std::vector<double>>(&found->second);
                            tiles = both
                                        ? std::vector<int64_t>(both->begin(), both->end())
                                        : std::vector<int64_t>(2, std::get<int64_t>(found->second));
                          }
                          return equalized(example, inputs[0], tiles[0], tiles[1],
                                           number_of(example.params, "clip_limit", 2));
                        },
                        1e-5L, 0, 1});

}  // namespace

TEST_CASE("levels are stretched to known figures") {
  const BufferPtr in = buffer<uint8_t>({50, 100, 150, 200}, {2, 2});
  const BufferPtr out = zeros(DType::u8, {2, 2});
  run("auto_levels", {in}, out);
  CHECK(read<uint8_t>(out) == std::vector<uint8_t>{0, 85, 170, 255});
  run("equalize", {in}, out);
  CHECK(read<uint8_t>(out) == std::vector<uint8_t>{0, 85, 170, 255});
  // Colours whose means are 60, 30 and 90, and become 60.
  const BufferPtr colours = buffer<uint8_t>({40, 20, 60, 80, 40, 120}, {1, 2, 3});
  const BufferPtr grey = zeros(DType::u8, {1, 2, 3});
  run("auto_white_balance", {colours}, grey);
  CHECK(read<uint8_t>(grey) == std::vector<uint8_t>{40, 40, 40, 80, 80, 80});
}

TEST_CASE("a picture of one level stays as it is") {
  const BufferPtr in = buffer<uint8_t>(std::vector<uint8_t>(12, 77), {2, 2, 3});
  for (const std::string kernel : {"auto_levels", "auto_white_balance", "equalize"}) {
    CAPTURE(kernel);
    const BufferPtr out = zeros(DType::u8, {2, 2, 3});
    run(kernel, {in}, out);
    CHECK(read<uint8_t>(out) == std::vector<uint8_t>(12, 77));
  }
}

TEST_CASE("kernels of levels say what does not fit") {
  const auto trying = [](const std::string& kernel, const TensorType& to,
                         const Params& params = {}) {
    return failure([&] {
      run(kernel, {zeros(DType::u8, {4, 5, 3})}, zeros(to.dtype, to.shape), params);
    });
  };
  CHECK(trying("histogram", {DType::u8, {3, 256}}) ==
        "dtype_mismatch: the output of histogram is u8, expected u32");
  CHECK(trying("histogram", {DType::u32, {4, 256}}) ==
        "shape_mismatch: the output of histogram has shape {4, 256}, expected {3, 256}");
  CHECK(trying("histogram", {DType::u32, {3, 256}}, {{"of", std::string("luma")}}) ==
        "shape_mismatch: the output of histogram has shape {3, 256}, expected {1, 256} or {256}");
  CHECK(trying("auto_levels", {DType::u8, {4, 5, 3}}, {{"clip", 0.3}}) ==
        "invalid_param: clip of auto_levels must be a number between 0 and 0.25, got 0.3");
  CHECK(trying("clahe", {DType::u8, {4, 5, 3}}, {{"clip_limit", 0.5}}) ==
        "invalid_param: clip_limit of clahe must be a number between 1 and 256, got 0.5");
  CHECK(trying("equalize", {DType::u8, {4, 5}}) ==
        "shape_mismatch: the output of equalize has shape {4, 5}, expected {4, 5, 3}");
}

}  // namespace dala::test
