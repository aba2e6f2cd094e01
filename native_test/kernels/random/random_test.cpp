// References of the random kernels: Philox4x32-10 as in its paper, word by word, and the
// distributions in long double; then statistical tests.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "support/subject.hpp"

namespace dala::test {
namespace {

using Block = std::array<uint32_t, 4>;

Block philox(Block counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * counter[0];
    const uint64_t b = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(a)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

int64_t integer_param(const Case& example, const std::string& name, int64_t fallback) {
  const auto found = example.params.find(name);
  return found == example.params.end() ? fallback : std::get<int64_t>(found->second);
}

double number_param(const Case& example, const std::string& name, double fallback) {
  const auto found = example.params.find(name);
  return found == example.params.end() ? fallback : std::get<double>(found->second);
}

// The block that element `index` comes from, and which of the block's numbers it is.
struct Source {
  Block block;
  int64_t number = 0;
};

Source source_of(const Case& example, size_t index, int64_t per_block) {
  const int64_t place = integer_param(example, "offset", 0) + static_cast<int64_t>(index);
  const int64_t tile = place / (16 * per_block);
  const int64_t rest = place % (16 * per_block);
  const auto block = static_cast<uint64_t>(tile * 16 + rest % 16);
  const auto stream = static_cast<uint64_t>(integer_param(example, "stream", 0));
  const auto seed = static_cast<uint64_t>(integer_param(example, "seed", 0));
  const auto low = [](uint64_t x) { return static_cast<uint32_t>(x); };
  const auto high = [](uint64_t x) { return static_cast<uint32_t>(x >> 32); };
  return {philox({low(block), high(block), low(stream), high(stream)}, {low(seed), high(seed)}),
          rest / 16};
}

uint64_t wide(const Block& block, size_t first) {
  return block[first] | static_cast<uint64_t>(block[first + 1]) << 32;
}

Tensor uniform(const Case& example, const std::vector<Tensor>&) {
  Tensor result(example.output);
  const bool narrow = example.output.dtype == DType::f32;
  const double min = number_param(example, "min", 0);
  const double max = number_param(example, "max", 1);
  // A fused multiply and add, which rounds once, and at most the number below max.
  const auto drawn = [&](auto u, auto low, auto high) {
    const auto x = std::fma(u, high - low, low);
    return static_cast<long double>(low < high ? std::min(x, std::nextafter(high, low)) : low);
  };
  for (size_t i = 0; i < result.size(); ++i) {
    const Source source = source_of(example, i, narrow ? 4 : 2);
    const auto number = static_cast<size_t>(source.number);
    if (narrow) {
      result.reals[i] = drawn(static_cast<float>(source.block[number] >> 8) * 0x1p-24F,
                              static_cast<float>(min), static_cast<float>(max));
    } else {
      result.reals[i] =
          drawn(static_cast<double>(wide(source.block, 2 * number) >> 11) * 0x1p-53, min, max);
    }
  }
  return result;
}

Tensor normal(const Case& example, const std::vector<Tensor>&) {
  Tensor result(example.output);
  result.scales.resize(result.size());
  const bool narrow = example.output.dtype == DType::f32;
  const long double mean = number_param(example, "mean", 0);
  const long double deviation = number_param(example, "std", 1);
  for (size_t i = 0; i < result.size(); ++i) {
    const Source source = source_of(example, i, narrow ? 4 : 2);
    const auto pair = static_cast<size_t>(narrow ? source.number / 2 : 0);
    // Near 1 the difference from 1 has more digits.
    const auto logarithm = [](long double bits, long double others, long double unit) {
      return bits > others ? std::log1p(-(others + 0.5L) * unit) : std::log((bits + 0.5L) * unit);
    };
    const uint32_t word = source.block[2 * pair];
    const uint64_t words = wide(source.block, 0);
    const long double log_u = narrow ? logarithm(word, ~word, 0x1p-32L)
                                     : logarithm(static_cast<long double>(words),
                                                 static_cast<long double>(~words), 0x1p-64L);
    const long double turn = narrow ? source.block[2 * pair + 1] * 0x1p-32L
                                    : static_cast<long double>(wide(source.block, 2)) * 0x1p-64L;
    // The upper two bits are a quarter of the circle, the others as a signed number are within half
    // a quarter of its beginning.
    const long double quarter = std::floor(turn * 4);
    const long double rest = turn * 4 - quarter;
    const long double angle =
        std::numbers::pi_v<long double> / 2 * (quarter + (rest < 0.5L ? rest : rest - 1));
    const long double radius = std::sqrt(-2 * log_u);
    const long double z = radius * (source.number % 2 == 0 ? std::cos(angle) : std::sin(angle));
    result.reals[i] = mean + deviation * z;
    result.scales[i] = std::fabs(mean) + deviation * radius;
  }
  return result;
}

Tensor integer(const Case& example, const std::vector<Tensor>&) {
  Tensor result(example.output);
  const int64_t min = integer_param(example, "min", 0);
  const auto span = static_cast<unsigned __int128>(
      static_cast<uint64_t>(integer_param(example, "max", 0)) - static_cast<uint64_t>(min));
  const bool large = example.output.dtype == DType::s64;
  for (size_t i = 0; i < result.size(); ++i) {
    const Source source = source_of(example, i, large ? 1 : 2);
    uint64_t drawn = 0;
    if (large) {
      // The upper 64 of 192 bits.
      const unsigned __int128 low = wide(source.block, 0) * (span + 1);
      const unsigned __int128 high = wide(source.block, 2) * (span + 1) + (low >> 64);
      drawn = static_cast<uint64_t>(high >> 64);
    } else {
      const unsigned __int128 bits = wide(source.block, static_cast<size_t>(2 * source.number));
      drawn = static_cast<uint64_t>(bits * (span + 1) >> 64);
    }
    result.integers[i] =
        wrap(example.output.dtype, static_cast<int64_t>(drawn + static_cast<uint64_t>(min)));
  }
  return result;
}

std::vector<Case> placed(DType dtype, const Params& params) {
  std::vector<Case> cases;
  const auto add = [&](const Shape& shape, const Params& more) {
    Case example{{}, {dtype, shape}, params};
    for (const auto& [name, value] : more) example.params[name] = value;
    cases.push_back(example);
  };
  for (const Shape& shape : {Shape{}, {0}, {1}, {15}, {16}, {17}, {63}, {64}, {65}, {3, 43}}) {
    add(shape, {});
  }
  add({200}, {{"seed", int64_t{42}}, {"offset", int64_t{7}}});
  add({130}, {{"seed", int64_t{-1}}, {"stream", int64_t{3}}, {"offset", int64_t{64}}});
  add({3}, {{"offset", int64_t{61}}, {"stream", int64_t{1} << 40}});
  add({40}, {{"offset", (int64_t{1} << 61) + 5}, {"seed", int64_t{1} << 62}});
  if (!quick()) {
    add({70001}, {{"seed", int64_t{5}}});
    add({2100000}, {{"offset", int64_t{3}}});
    add({2100000}, {});
  }
  return cases;
}

void append(std::vector<Case>& all, const std::vector<Case>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

const SubjectOf kUniform("random_uniform",
                         {[](DType dtype) {
                            std::vector<Case> all = placed(dtype, {});
                            append(all, placed(dtype, {{"min", -3.7}, {"max", 1e6}}));
                            append(all, placed(dtype, {{"min", 1.0}, {"max", 1.0000002}}));
                            append(all, placed(dtype, {{"min", 2.5}, {"max", 2.5}}));
                            return all;
                          },
                          uniform});

const SubjectOf kNormal("random_normal",
                        {[](DType dtype) {
                           std::vector<Case> all = placed(dtype, {});
                           append(all, placed(dtype, {{"mean", -3.5}, {"std", 20.0}}));
                           append(all, placed(dtype, {{"mean", 1.5}, {"std", 0.0}}));
                           return all;
                         },
                         normal, 5e-7L, 1e-15L});

const SubjectOf kInteger(
    "random_integer",
    {[](DType dtype) {
       std::vector<Case> all = placed(dtype, {{"max", int64_t{9}}});
       append(all, placed(dtype, {{"min", int64_t{7}}, {"max", int64_t{7}}}));
       if (dtype == DType::u8) append(all, placed(dtype, {{"max", int64_t{255}}}));
       if (dtype == DType::u32) append(all, placed(dtype, {{"max", int64_t{0xffffffff}}}));
       if (dtype == DType::s32) {
         append(all,
                placed(dtype, {{"min", -(int64_t{1} << 31)}, {"max", (int64_t{1} << 31) - 1}}));
       }
       if (dtype == DType::s64) {
         append(all, placed(dtype, {{"min", std::numeric_limits<int64_t>::min()},
                                    {"max", std::numeric_limits<int64_t>::max()}}));
         append(all, placed(dtype, {{"min", -(int64_t{1} << 62)}, {"max", int64_t{1} << 61}}));
       }
       return all;
     },
     integer});

constexpr int64_t kMany = 1 << 20;

std::vector<float> many(const std::string& kernel, const Params& params = {}) {
  const BufferPtr output = zeros(DType::f32, {kMany});
  run(kernel, {}, output, params);
  return read<float>(output);
}

}  // namespace

TEST_CASE("the reference of the random kernels gives the known answers of Philox4x32-10") {
  CHECK(philox({0, 0, 0, 0}, {0, 0}) == Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox({~0U, ~0U, ~0U, ~0U}, {~0U, ~0U}) ==
        Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("the first block of seed 0 is the known answer of Philox4x32-10") {
  const BufferPtr words = zeros(DType::u32, {32});
  run("random_integer", {}, words, {{"max", int64_t{0xffffffff}}});
  const std::vector<uint32_t> got = read<uint32_t>(words);
  CHECK(got[0] == 0xe169c58d);
  CHECK(got[16] == 0x9b00dbd8);
}

TEST_CASE("a sequence is the same however it is split") {
  for (DType dtype : {DType::f32, DType::f64}) {
    if (dtype == DType::f64 && !engine().runtime().device().info().fp64) continue;
    const BufferPtr whole = zeros(dtype, {1000});
    run("random_normal", {}, whole, {{"seed", int64_t{9}}});
    const std::vector<std::byte> expected = engine().runtime().read_now(whole);
    std::vector<std::byte> got;
    int64_t done = 0;
    for (int64_t part : {1, 16, 63, 64, 65, 300, 491}) {
      const BufferPtr piece = zeros(dtype, {part});
      run("random_normal", {}, piece, {{"seed", int64_t{9}}, {"offset", done}});
      const std::vector<std::byte> bytes = engine().runtime().read_now(piece);
      got.insert(got.end(), bytes.begin(), bytes.end());
      done += part;
    }
    CHECK(got == expected);
  }
}

TEST_CASE("normal numbers have the moments and the distribution function of their kind") {
  if (quick()) return;
  std::vector<float> got = many("random_normal", {{"seed", int64_t{2024}}});
  const auto n = static_cast<double>(got.size());
  std::array<double, 5> moments{};
  for (float x : got) {
    double power = 1;
    for (double& moment : moments) {
      moment += power / n;
      power *= x;
    }
  }
  // Five standard errors each.
  CHECK(std::abs(moments[1]) < 5 / std::sqrt(n));
  CHECK(std::abs(moments[2] - 1) < 5 * std::sqrt(2 / n));
  CHECK(std::abs(moments[3]) < 5 * std::sqrt(15 / n));
  CHECK(std::abs(moments[4] - 3) < 5 * std::sqrt(96 / n));
  // Kolmogorov-Smirnov: the chance of more than this is 3e-6.
  std::sort(got.begin(), got.end());
  double most = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double expected = 0.5 * std::erfc(-got[i] / std::numbers::sqrt2);
    most = std::max({most, std::abs(expected - static_cast<double>(i) / n),
                     std::abs(expected - static_cast<double>(i + 1) / n)});
  }
  CHECK(most < 2.6 / std::sqrt(n));
}

TEST_CASE("uniform numbers fill their range evenly, and neighbours are independent") {
  if (quick()) return;
  const std::vector<float> got = many("random_uniform", {{"seed", int64_t{77}}});
  constexpr size_t kCells = 64;
  std::vector<double> cells(kCells);
  std::vector<double> pairs(kCells * kCells);
  for (size_t i = 0; i < got.size(); ++i) {
    CHECK_UNARY(got[i] >= 0 && got[i] < 1);
    const auto cell = static_cast<size_t>(got[i] * kCells);
    ++cells[cell];
    if (i % 2 == 1) ++pairs[static_cast<size_t>(got[i - 1] * kCells) * kCells + cell];
  }
  const auto chi_square = [](const std::vector<double>& counts, double total) {
    const double expected = total / static_cast<double>(counts.size());
    double sum = 0;
    for (double count : counts) sum += (count - expected) * (count - expected) / expected;
    return sum;
  };
  // The mean of chi-square is its degrees of freedom k, and the variance 2 k: five deviations.
  const auto bound = [](double k) { return k + 5 * std::sqrt(2 * k); };
  CHECK(chi_square(cells, static_cast<double>(got.size())) < bound(kCells - 1));
  CHECK(chi_square(pairs, static_cast<double>(got.size() / 2)) < bound(kCells * kCells - 1));
}

TEST_CASE("seeds and streams give other numbers") {
  const auto draw = [](const Params& params) {
    const BufferPtr output = zeros(DType::f32, {64});
    run("random_uniform", {}, output, params);
    return read<float>(output);
  };
  CHECK(draw({}) == draw({{"seed", int64_t{0}}}));
  CHECK(draw({}) != draw({{"seed", int64_t{1}}}));
  CHECK(draw({}) != draw({{"stream", int64_t{1}}}));
}

TEST_CASE("the random kernels say what does not fit") {
  CHECK(failure([] { run("random_uniform", {}, zeros(DType::s32, {3})); }) ==
        "dtype_mismatch: the output of random_uniform is s32, expected f32 or f64");
  CHECK(failure([] {
          run("random_uniform", {}, zeros(DType::f32, {3}), {{"min", 2.0}});
        }) == "invalid_param: max of random_uniform must be at least min, 2, got 1");
  CHECK(failure([] {
          run("random_uniform", {}, zeros(DType::f32, {3}), {{"max", 1e39}});
        }) == "invalid_param: max of random_uniform must be a number that f32 can hold");
  CHECK(failure([] {
          run("random_uniform", {}, zeros(DType::f32, {3}), {{"min", -3e38}, {"max", 3e38}});
        }) == "invalid_param: max - min of random_uniform must be a number that f32 can hold");
  CHECK(failure([] {
          run("random_normal", {}, zeros(DType::f32, {3}), {{"std", -1.0}});
        }) == "invalid_param: std of random_normal must be a number of at least 0, got -1");
  CHECK(failure([] {
          run("random_integer", {}, zeros(DType::u8, {3}), {{"max", int64_t{256}}});
        }) ==
        "invalid_param: max of random_integer must be an integer between 0 and 255 for u8, got "
        "256");
  CHECK(failure([] {
          run("random_integer", {}, zeros(DType::u8, {3}),
              {{"min", int64_t{4}}, {"max", int64_t{3}}});
        }) == "invalid_param: max of random_integer must be at least min, 4, got 3");
}

}  // namespace dala::test
