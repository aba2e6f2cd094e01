// Reference implementations of the kernels that decode and encode video frames, and their errors
// for frames that do not match.
#include <doctest/doctest.h>

#include "kernels/image/pictures.hpp"

namespace dala::test {
namespace {

using Real = long double;

// The coding of a case, decoded from its parameters independently.
struct Coding {
  Real red = 0.299L, blue = 0.114L;
  Real black = 16, luma = 219, chroma = 224;
  bool interleaved = false;

  explicit Coding(const Params& params) {
    const auto is = [&](const std::string& name, const std::string& choice) {
      return params.count(name) != 0 && params.at(name) == ParamValue(choice);
    };
    if (is("matrix", "bt709")) {
      red = 0.2126L;
      blue = 0.0722L;
    }
    if (is("range", "full")) {
      black = 0;
      luma = chroma = 255;
    }
    interleaved = is("format", "nv12");
  }
  Real green() const { return 1 - red - blue; }

  // The index of u (0) or v (1) of a pixel in the frame.
  size_t at(const Picture& picture, int64_t y, int64_t x, int64_t v) const {
    const int64_t width = (picture.width + 1) / 2;
    const int64_t height = (picture.height + 1) / 2;
    const int64_t sample = y / 2 * width + x / 2;
    const int64_t place = interleaved ? 2 * sample + v : v * width * height + sample;
    return static_cast<size_t>(picture.height * picture.width + place);
  }
};

int64_t samples(int64_t height, int64_t width) {
  return height * width + 2 * ((height + 1) / 2) * ((width + 1) / 2);
}

std::vector<Case> frame_cases(bool decodes) {
  std::vector<Shape> sizes{{1, 1},  {1, 7},  {5, 1}, {2, 2}, {3, 5},
                           {4, 18}, {5, 33}, {0, 4}, {3, 0}};
  if (!quick()) sizes.insert(sizes.end(), {{67, 131}, {64, 256}});
  std::vector<Case> cases;
  for (const Shape& size : sizes) {
    for (const std::string format : {"yuv420p", "nv12"}) {
      for (const std::string matrix : {"bt601", "bt709"}) {
        for (const std::string range : {"limited", "full"}) {
          const TensorType picture{DType::u8, {size[0], size[1], 4}};
          const TensorType frame{DType::u8, {samples(size[0], size[1])}};
          cases.push_back({{decodes ? frame : picture},
                           decodes ? picture : frame,
                           {{"format", format}, {"matrix", matrix}, {"range", range}}});
        }
      }
    }
  }
  return cases;
}

Tensor decoded(const Case& example, const std::vector<Tensor>& inputs) {
  const Coding coding(example.params);
  const Picture picture(example.output.shape);
  Tensor result(example.output);
  for (int64_t y = 0; y < picture.height; ++y) {
    for (int64_t x = 0; x < picture.width; ++x) {
      const auto plain = static_cast<size_t>(y * picture.width + x);
      const Real luma = (level(inputs[0], plain) - coding.black) / coding.luma;
      const Real cb = (level(inputs[0], coding.at(picture, y, x, 0)) - 128) / coding.chroma;
      const Real cr = (level(inputs[0], coding.at(picture, y, x, 1)) - 128) / coding.chroma;
      const Real r = luma + 2 * (1 - coding.red) * cr;
      const Real b = luma + 2 * (1 - coding.blue) * cb;
      const Real g = (luma - coding.red * r - coding.blue * b) / coding.green();
      set_level(result, picture.index(y, x, 0), 255 * r);
      set_level(result, picture.index(y, x, 1), 255 * g);
      set_level(result, picture.index(y, x, 2), 255 * b);
      set_level(result, picture.index(y, x, 3), 255);
    }
  }
  return result;
}

Tensor encoded(const Case& example, const std::vector<Tensor>& inputs) {
  const Coding coding(example.params);
  const Picture picture(example.inputs[0].shape);
  const auto luma = [&](const std::array<Real, 3>& c) {
    return coding.red * c[0] + coding.green() * c[1] + coding.blue * c[2];
  };
  Tensor result(example.output);
  for (int64_t y = 0; y < picture.height; ++y) {
    for (int64_t x = 0; x < picture.width; ++x) {
      std::array<Real, 3> own{};
      std::array<Real, 3> mean{};
      Real count = 0;
      for (int64_t j = y / 2 * 2; j < std::min(y / 2 * 2 + 2, picture.height); ++j) {
        for (int64_t i = x / 2 * 2; i < std::min(x / 2 * 2 + 2, picture.width); ++i) {
          ++count;
          for (size_t c = 0; c < 3; ++c) {
            const Real here = level(inputs[0], picture.index(j, i, static_cast<int64_t>(c))) / 255;
            mean[c] += here;
            if (j == y && i == x) own[c] = here;
          }
        }
      }
      for (Real& c : mean) c /= count;
      const auto plain = static_cast<size_t>(y * picture.width + x);
      set_level(result, plain, coding.black + coding.luma * luma(own));
      const Real cb = (mean[2] - luma(mean)) / (2 * (1 - coding.blue));
      const Real cr = (mean[0] - luma(mean)) / (2 * (1 - coding.red));
      set_level(result, coding.at(picture, y, x, 0), 128 + coding.chroma * cb);
      set_level(result, coding.at(picture, y, x, 1), 128 + coding.chroma * cr);
    }
  }
  return result;
}

const SubjectOf kDecode("yuv_to_rgba", {[](DType) { return frame_cases(true); }, decoded, 0, 0, 1});
const SubjectOf kEncode("rgba_to_yuv",
                        {[](DType) { return frame_cases(false); }, encoded, 0, 0, 1});

}  // namespace

TEST_CASE("known video colours") {
  const auto colour = [](std::vector<uint8_t> frame, const Params& params) {
    const BufferPtr out = zeros(DType::u8, {1, 1, 4});
    run("yuv_to_rgba", {buffer(frame)}, out, params);
    return read<uint8_t>(out);
  };
  using Bytes = std::vector<uint8_t>;
  CHECK(colour({16, 128, 128}, {}) == Bytes{0, 0, 0, 255});
  CHECK(colour({235, 128, 128}, {}) == Bytes{255, 255, 255, 255});
  CHECK(colour({81, 90, 240}, {}) == Bytes{254, 0, 0, 255});
  CHECK(colour({76, 85, 255}, {{"range", std::string("full")}}) == Bytes{254, 0, 0, 255});
  CHECK(colour({63, 102, 240}, {{"matrix", std::string("bt709")}}) == Bytes{255, 1, 0, 255});
}

TEST_CASE("frames of the wrong size are refused") {
  const auto trying = [](const std::string& kernel, const Shape& from, const Shape& to,
                         const Params& params = {}) {
    return failure([&] { run(kernel, {zeros(DType::u8, from)}, zeros(DType::u8, to), params); });
  };
  CHECK(trying("yuv_to_rgba", {100}, {6, 8, 4}) ==
        "shape_mismatch: input 0 of yuv_to_rgba has 100 elements, expected 72: yuv420p of 8 x 6");
  CHECK(trying("rgba_to_yuv", {5, 3, 4}, {22}, {{"format", std::string("nv12")}}) ==
        "shape_mismatch: the output of rgba_to_yuv has 22 elements, expected 27: nv12 of 3 x 5");
  CHECK(trying("yuv_to_rgba", {72}, {6, 8, 3}) ==
        "shape_mismatch: the output of yuv_to_rgba has shape {6, 8, 3} and 3 channels, expected 4");
  CHECK(trying("yuv_to_rgba", {72}, {6, 8, 4}, {{"format", std::string("i422")}}) ==
        "invalid_param: format of yuv_to_rgba must be yuv420p or nv12, got i422");
  CHECK(trying("yuv_to_rgba", {9, 8}, {6, 8, 4}) == "no error");
  CHECK(trying("yuv_to_rgba", {9, 8}, {192}, {{"width", int64_t{8}}, {"height", int64_t{6}}}) ==
        "no error");
}

}  // namespace dala::test
