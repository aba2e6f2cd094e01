// Reference implementations of the filters of single pixels, and their errors for calls that do not
// match.
#include <doctest/doctest.h>

#include <array>

#include "kernels/image/colour/white_balance.hpp"
#include "kernels/image/pictures.hpp"

namespace dala::test {
namespace {

using Real = long double;
using Colour = std::array<Real, 4>;  // r, g, b, a of 0 to 1

struct Spot {
  Real x, y;  // -1 to 1
};

using Formula = std::function<Colour(const Colour&, const Spot&, const Params&)>;

Real luma(const Colour& c) { return 0.299L * c[0] + 0.587L * c[1] + 0.114L * c[2]; }

// Applies the formula to each colour; alpha is kept.
Colour each(const Colour& c, const std::function<Real(Real)>& formula) {
  return {formula(c[0]), formula(c[1]), formula(c[2]), c[3]};
}

Real white(const Tensor& tensor) { return tensor.is_real() ? 1 : 255; }

// Applies the formula to every pixel. A single channel is a grey, missing alpha is 1.
Tensor filtered(const Case& example, const Tensor& input, const Formula& formula, Real scale) {
  const Picture from(example.inputs[0].shape);
  const Picture to(example.output.shape);
  Tensor result(example.output);
  if (result.is_real()) result.scales.assign(result.size(), scale);
  for (int64_t y = 0; y < from.height; ++y) {
    for (int64_t x = 0; x < from.width; ++x) {
      Colour colour{0, 0, 0, 1};
      for (int64_t c = 0; c < from.channels; ++c) {
        colour[static_cast<size_t>(c)] = level(input, from.index(y, x, c)) / white(input);
      }
      if (from.channels == 1) colour[1] = colour[2] = colour[0];
      const Spot spot{static_cast<Real>(2 * x + 1 - from.width) / from.width,
                      static_cast<Real>(2 * y + 1 - from.height) / from.height};
      const Colour made = formula(colour, spot, example.params);
      for (int64_t c = 0; c < to.channels; ++c) {
        // Halves round up; the sum of a half may be slightly too low.
        set_level(result, to.index(y, x, c),
                  made[static_cast<size_t>(c)] * white(result) + (result.is_real() ? 0 : 1e-9L));
      }
    }
  }
  return result;
}

std::vector<Shape> shapes(int64_t fewest_channels) {
  std::vector<Shape> all = picture_shapes();
  all.insert(all.end(), {{2, 17, 3}, {3, 33, 1}, {1, 16, 4}, {1, 1, 3}});
  if (!quick()) all.insert(all.end(), {{61, 203, 4}, {61, 203, 3}, {61, 203}});
  std::erase_if(all, [&](const Shape& shape) { return Picture(shape).channels < fewest_channels; });
  return all;
}

std::vector<Case> same_shape_cases(DType dtype, int64_t fewest_channels,
                                   const std::vector<Params>& settings) {
  std::vector<Case> cases;
  for (const Shape& shape : shapes(fewest_channels)) {
    for (const Params& params : settings)
      cases.push_back({{{dtype, shape}}, {dtype, shape}, params});
  }
  return cases;
}

SubjectOf same_shape(const std::string& kernel, int64_t fewest_channels,
                     const std::vector<Params>& settings, const Formula& formula, Real scale = 8) {
  return {kernel,
          {[=](DType dtype) { return same_shape_cases(dtype, fewest_channels, settings); },
           [=](const Case& example, const std::vector<Tensor>& inputs) {
             return filtered(example, inputs[0], formula, scale);
           },
           1e-6L, 0, 1}};
}

std::vector<Case> grayscale_cases(DType dtype) {
  std::vector<Case> cases = same_shape_cases(dtype, 1, {{}});
  for (const Shape& shape : shapes(3)) {
    cases.push_back({{{dtype, shape}}, {dtype, {shape[0], shape[1]}}, {}});
    cases.push_back({{{dtype, shape}}, {dtype, {shape[0], shape[1], 1}}, {}});
  }
  return cases;
}

Tensor grey(const Case& example, const std::vector<Tensor>& inputs) {
  return filtered(
      example, inputs[0],
      [](const Colour& c, const Spot&, const Params&) {
        const Real y = luma(c);
        return Colour{y, y, y, c[3]};
      },
      8);
}

// Exact, hence no levels of tolerance.
const SubjectOf kGrayscale("grayscale", {grayscale_cases, grey, 1e-6L, 0, 0});

const SubjectOf kSepia =
    same_shape("sepia", 3, {{}, {{"intensity", 1.0}}, {{"intensity", 0.0}}},
               [](const Colour& c, const Spot&, const Params& params) {
                 const Real intensity = number_of(params, "intensity", 0.8);
                 const Real rows[3][3] = {
                     {0.393L, 0.769L, 0.189L}, {0.349L, 0.686L, 0.168L}, {0.272L, 0.534L, 0.131L}};
                 Colour made = c;
                 for (size_t i = 0; i < 3; ++i) {
                   const Real toned = rows[i][0] * c[0] + rows[i][1] * c[1] + rows[i][2] * c[2];
                   made[i] = (1 - intensity) * c[i] + intensity * toned;
                 }
                 return made;
               });

const SubjectOf kVignette =
    same_shape("vignette", 1, {{}, {{"intensity", 1.0}}},
               [](const Colour& c, const Spot& spot, const Params& params) {
                 const Real distance = std::hypot(spot.x, spot.y) / std::sqrt(2.0L);
                 return each(c, [&](Real x) {
                   return x * (1 - number_of(params, "intensity", 0.5) * distance * distance);
                 });
               });

std::vector<Params> values(std::initializer_list<double> numbers) {
  std::vector<Params> all;
  for (double number : numbers) all.push_back({{"value", number}});
  return all;
}

const SubjectOf kBrightness =
    same_shape("brightness", 1, values({0, 0.1, -0.35, 1}),
               [](const Colour& c, const Spot&, const Params& params) {
                 return each(c, [&](Real x) { return x + number_of(params, "value", 0); });
               });

const SubjectOf kContrast = same_shape(
    "contrast", 1, values({0, 0.3, -1, 4}), [](const Colour& c, const Spot&, const Params& params) {
      return each(c,
                  [&](Real x) { return 0.5L + (x - 0.5L) * (1 + number_of(params, "value", 0)); });
    });

const SubjectOf kSaturation = same_shape(
    "saturation", 1, values({0, 0.5, -1, 4}),
    [](const Colour& c, const Spot&, const Params& params) {
      const Real y = luma(c);
      return each(c, [&](Real x) { return y + (x - y) * (1 + number_of(params, "value", 0)); });
    });

// Chromaticity of a black body by the published polynomials, in powers of 1000 / T and of x.
std::array<Real, 3> light(Real kelvin) {
  const Real t = 1000 / kelvin;
  const bool warm = kelvin <= 4000;
  const Real x =
      warm ? -0.2661239L * std::pow(t, 3.0L) - 0.2343589L * t * t + 0.8776956L * t + 0.179910L
           : -3.0258469L * std::pow(t, 3.0L) + 2.1070379L * t * t + 0.2226347L * t + 0.240390L;
  const Real y =
      kelvin <= 2222
          ? -1.1063814L * std::pow(x, 3.0L) - 1.34811020L * x * x + 2.18555832L * x - 0.20219683L
      : warm ? -0.9549476L * std::pow(x, 3.0L) - 1.37418593L * x * x + 2.09137015L * x - 0.16748867L
             : 3.0817580L * std::pow(x, 3.0L) - 5.87338670L * x * x + 3.75112997L * x - 0.37001483L;
  const Real xyz[3] = {x / y, 1, (1 - x - y) / y};
  const Real rows[3][3] = {
      {3.2406L, -1.5372L, -0.4986L}, {-0.9689L, 1.8758L, 0.0415L}, {0.0557L, -0.2040L, 1.0570L}};
  std::array<Real, 3> rgb{};
  for (size_t i = 0; i < 3; ++i) {
    for (size_t j = 0; j < 3; ++j) rgb[i] += rows[i][j] * xyz[j];
  }
  return rgb;
}

const SubjectOf kWhiteBalance = same_shape(
    "white_balance", 3,
    {{}, {{"temperature", 2000.0}}, {{"temperature", int64_t{3200}}}, {{"temperature", 25000.0}}},
    [](const Colour& c, const Spot&, const Params& params) {
      const auto from = light(number_of(params, "temperature", 6500));
      const auto to = light(6500);
      Colour gains{1, 1, 1, 1};
      for (size_t i = 0; i < 3; ++i) gains[i] = std::pow(to[i] / from[i], 1 / 2.2L);
      return Colour{c[0] * gains[0] / luma(gains), c[1] * gains[1] / luma(gains),
                    c[2] * gains[2] / luma(gains), c[3]};
    },
    64);

const SubjectOf kHdr = same_shape(
    "hdr", 1, {{}, {{"exposure", 0.5}}, {{"exposure", int64_t{16}}}, {{"exposure", 0.0}}},
    [](const Colour& c, const Spot&, const Params& params) {
      return each(c, [&](Real x) {
        const Real v = std::max<Real>(0, 2 * number_of(params, "exposure", 1) * x);
        return v * (1 + v / 4) / (1 + v);
      });
    },
    64);

// The levels are no luma that bytes have.
const SubjectOf kThreshold =
    same_shape("threshold", 1, {{{"level", 0.5001}}, {{"level", 0.0}}, {{"level", 0.2503}}},
               [](const Colour& c, const Spot&, const Params& params) {
                 const Real level = static_cast<float>(number_of(params, "level", 0.5));
                 return each(c, [&](Real) { return luma(c) < level ? 0 : 1; });
               });

std::vector<Case> key_cases(DType dtype) {
  const std::vector<Params> settings{
      {},
      {{"color", std::vector<double>{20, 60, 200}}, {"threshold", 0.5}, {"softness", 0.3}},
      {{"color", int64_t{128}}, {"threshold", 0.0}}};
  std::vector<Case> cases;
  for (const Shape& shape : shapes(3)) {
    for (const Params& params : settings) {
      cases.push_back({{{dtype, shape}}, {dtype, {shape[0], shape[1], 4}}, params});
    }
  }
  return cases;
}

Tensor keyed(const Case& example, const std::vector<Tensor>& inputs) {
  const auto formula = [](const Colour& c, const Spot&, const Params& params) {
    Colour key{0, 1, 0, 1};
    if (params.count("color") != 0) {
      const ParamValue& given = params.at("color");
      if (const auto* grey = std::get_if<int64_t>(&given)) {
        key[0] = key[1] = key[2] = static_cast<Real>(*grey) / 255;
      } else {
        for (size_t i = 0; i < 3; ++i) key[i] = std::get<std::vector<double>>(given)[i] / 255.0L;
      }
    }
    const Real cb = 0.564L * (c[2] - luma(c) - key[2] + luma(key));
    const Real cr = 0.713L * (c[0] - luma(c) - key[0] + luma(key));
    const Real kept = (std::hypot(cb, cr) - number_of(params, "threshold", 0.3)) /
                      number_of(params, "softness", 0.1);
    return Colour{c[0], c[1], c[2], c[3] * std::clamp<Real>(kept, 0, 1)};
  };
  return filtered(example, inputs[0], formula, 512);
}

const SubjectOf kChromaKey("chroma_key", {key_cases, keyed, 1e-6L, 0, 1});

// Images that gain or lose alpha.
SubjectOf converts(const std::string& kernel, int64_t channels, int64_t out_channels) {
  const auto cases = [=](DType dtype) {
    std::vector<Case> all;
    for (const Shape& shape : {Shape{1, 1}, Shape{7, 5}, Shape{3, 37}, Shape{0, 4}}) {
      all.push_back({{{dtype, {shape[0], shape[1], channels}}},
                     {dtype, {shape[0], shape[1], out_channels}},
                     {}});
    }
    return all;
  };
  return {kernel, {cases, [](const Case& example, const std::vector<Tensor>& inputs) {
                     return filtered(
                         example, inputs[0],
                         [](const Colour& c, const Spot&, const Params&) { return c; }, 0);
                   }}};
}

const SubjectOf kToRgba = converts("rgb_to_rgba", 3, 4);
const SubjectOf kToRgb = converts("rgba_to_rgb", 4, 3);

std::string trying(const std::string& kernel, const Shape& from, const Shape& to,
                   const Params& params = {}) {
  return failure([&] { run(kernel, {zeros(DType::u8, from)}, zeros(DType::u8, to), params); });
}

}  // namespace

// All colours, as an image of 4096 x 4096.
TEST_CASE("grayscale is exact for every colour") {
  if (quick()) return;
  std::vector<uint8_t> colours(size_t{1} << 26);
  for (size_t i = 0; i < colours.size() / 4; ++i) {
    for (size_t c = 0; c < 3; ++c) colours[4 * i + c] = static_cast<uint8_t>(i >> (8 * c));
    colours[4 * i + 3] = static_cast<uint8_t>(i * 7);
  }
  const BufferPtr image = buffer(colours, {4096, 4096, 4});
  const BufferPtr alone = zeros(DType::u8, {4096, 4096});
  run("grayscale", {image}, alone);
  run("grayscale", {image}, image);
  const std::vector<uint8_t> grey = read<uint8_t>(alone);
  const std::vector<uint8_t> same = read<uint8_t>(image);
  size_t wrong = 0;
  for (size_t i = 0; i < grey.size(); ++i) {
    const uint8_t* c = &colours[4 * i];
    const int y = (299 * c[0] + 587 * c[1] + 114 * c[2] + 500) / 1000;
    const uint8_t* s = &same[4 * i];
    const bool right = grey[i] == y && s[0] == y && s[1] == y && s[2] == y && s[3] == c[3];
    wrong += right ? 0 : 1;
  }
  CHECK(wrong == 0);
}

TEST_CASE("an image may begin at any byte") {
  std::vector<std::byte> bytes(1 + 3 * 37 * 4);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 89);
  const TensorType type{DType::u8, {3, 37, 4}};
  const auto owner = std::make_shared<std::vector<std::byte>>(bytes);
  const BufferPtr odd = engine().runtime().from_host(type, owner->data() + 1, owner);
  const BufferPtr even = buffer_of_bytes(type, {bytes.begin() + 1, bytes.end()});
  for (const std::string kernel : {"grayscale", "sepia", "vignette"}) {
    const BufferPtr got = zeros(DType::u8, type.shape);
    const BufferPtr expected = zeros(DType::u8, type.shape);
    run(kernel, {odd}, got);
    run(kernel, {even}, expected);
    CHECK_MESSAGE(read<uint8_t>(got) == read<uint8_t>(expected), kernel);
  }
}

TEST_CASE("white keeps its luma when it is made warmer or colder") {
  for (double kelvin : {2000.0, 4000.0, 6500.0, 9000.0, 25000.0}) {
    const auto gains = white_balance_gains(kelvin);
    CHECK(0.299 * gains[0] + 0.587 * gains[1] + 0.114 * gains[2] == doctest::Approx(1));
    CHECK((gains[0] > gains[2]) == (kelvin > kDaylight));
  }
}

TEST_CASE("identities change no byte") {
  std::vector<uint8_t> levels;
  for (int i = 0; i < 5 * 61 * 4; ++i) levels.push_back(static_cast<uint8_t>(i * 37));
  const BufferPtr image = buffer(levels, {5, 61, 4});
  const auto stays = [&](const std::string& kernel, const Params& params) {
    const BufferPtr out = zeros(DType::u8, {5, 61, 4});
    run(kernel, {image}, out, params);
    return read<uint8_t>(out) == levels;
  };
  for (const std::string kernel : {"brightness", "contrast", "saturation"}) {
    CHECK_MESSAGE(stays(kernel, {{"value", int64_t{0}}}), kernel);
  }
  CHECK(stays("sepia", {{"intensity", 0.0}}));
  CHECK(stays("vignette", {{"intensity", 0.0}}));
  CHECK(stays("white_balance", {}));
}

TEST_CASE("colour filters report mismatches of shape and parameters") {
  const Shape image{2, 3, 4};
  CHECK(trying("brightness", image, image) ==
        "invalid_param: brightness needs the parameter value");
  CHECK(trying("brightness", image, image, {{"value", 1.5}}) ==
        "invalid_param: value of brightness must be a number between -1 and 1, got 1.5");
  CHECK(trying("contrast", image, image, {{"value", -1.01}}) ==
        "invalid_param: value of contrast must be a number between -1 and 4, got -1.01");
  CHECK(trying("white_balance", image, image, {{"temperature", int64_t{1900}}}) ==
        "invalid_param: temperature of white_balance must be a number between 2000 and 25000, got "
        "1900");
  CHECK(trying("sepia", {2, 3}, {2, 3}) ==
        "shape_mismatch: input 0 of sepia has shape {2, 3} and one channel, expected 3 or 4 "
        "channels");
  CHECK(trying("sepia", image, {2, 3, 3}) ==
        "shape_mismatch: the output of sepia has shape {2, 3, 3}, expected {2, 3, 4}");
  CHECK(trying("grayscale", image, {3, 2}) ==
        "shape_mismatch: the output of grayscale has shape {3, 2}, expected {2, 3, 4}, {2, 3} or "
        "{2, 3, 1}");
  CHECK(
      trying("chroma_key", image, image, {{"color", std::vector<double>{0, 256, 0}}}) ==
      "invalid_param: color of chroma_key must be an integer between 0 and 255, or 3 of them, got "
      "{0, 256, 0}");
  CHECK(trying("chroma_key", {2, 3, 3}, {2, 3, 3}) ==
        "shape_mismatch: the output of chroma_key has shape {2, 3, 3}, expected {2, 3, 4}");
  CHECK(trying("rgb_to_rgba", image, image) ==
        "shape_mismatch: input 0 of rgb_to_rgba has shape {2, 3, 4} and 4 channels, expected 3");
}

}  // namespace dala::test
