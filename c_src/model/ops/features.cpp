// Operators that make features of text and sound: counts of n-grams, and the weights of mel bands.
#include <algorithm>
#include <cmath>

#include "model/ops/families.hpp"

namespace dala::model {
namespace {

// The n-grams of one length, as a matrix {count, length} of the pool.
struct Grams {
  int64_t length = 0;
  int64_t first = 0;  // the number of n-grams of other lengths before these
  std::vector<int64_t> items;

  int64_t count() const { return static_cast<int64_t>(items.size()) / length; }
};

// The pool holds the n-grams of length 1, 2, .. one after the other; `ngram_counts` says where each
// length begins.
std::vector<Grams> grams_of(const OpCall& call) {
  const std::vector<int64_t> pool = call.integers("pool_int64s");
  const std::vector<int64_t> starts = call.integers("ngram_counts");
  std::vector<Grams> all;
  int64_t before = 0;
  for (size_t i = 0; i < starts.size(); ++i) {
    const auto size = static_cast<int64_t>(pool.size());
    const int64_t end = i + 1 < starts.size() ? starts[i + 1] : size;
    const auto length = static_cast<int64_t>(i) + 1;
    if (starts[i] < 0 || end < starts[i] || end > size || (end - starts[i]) % length != 0) {
      reject(text("ngram_counts gives n-grams of length ", length, " the items ", starts[i], " to ",
                  end, " of a pool of ", size));
    }
    all.push_back({length, before, {pool.begin() + starts[i], pool.begin() + end}});
    before += all.back().count();
  }
  return all;
}

Tensor integers(Build& build, ElementType type, const Shape& shape,
                const std::vector<int64_t>& values) {
  auto tensor = std::make_shared<HostTensor>(type, shape);
  for (size_t i = 0; i < values.size(); ++i) {
    tensor->set(static_cast<int64_t>(i), static_cast<double>(values[i]));
  }
  return build.constant(std::move(tensor));
}

// How often each n-gram occurs in the rows of x {rows, items}, with up to `skips` items left out
// between its neighbours: {rows, n-grams}.
Tensor occurrences(Build& build, const Tensor& x, const Grams& grams, int64_t skips) {
  const int64_t rows = x.dim(0);
  Tensor sum = filled(build, ElementType::f32, {rows, grams.count()}, 0);
  // A single item has no neighbours.
  for (int64_t skip = 0; skip <= (grams.length == 1 ? 0 : skips); ++skip) {
    const int64_t places = x.dim(1) - (grams.length - 1) * (skip + 1);
    if (places < 1) break;
    std::optional<Tensor> found;
    for (int64_t i = 0; i < grams.length; ++i) {
      std::vector<int64_t> column;
      for (int64_t g = 0; g < grams.count(); ++g) {
        column.push_back(grams.items[static_cast<size_t>(g * grams.length + i)]);
      }
      const Tensor wanted = integers(build, x.type, {1, grams.count(), 1}, column);
      const Tensor there =
          Build::reshaped(part(build, x, 1, i * (skip + 1), places), {rows, 1, places});
      const Tensor equal =
          convert(build, compare(build, CMP_EQUAL, there, wanted), ElementType::f32);
      found = found ? pointwise(build, OP_MUL, {*found, equal}) : equal;
    }
    sum = pointwise(build, OP_ADD, {sum, reduce(build, REDUCE_SUM, *found, {2}, false)});
  }
  return sum;
}

void tf_idf_vectorizer(OpCall& call) {
  Build& build = call.build;
  const Tensor& x = call.in(0);
  if (call.has_attribute("pool_strings")) {
    unsupported("TfIdfVectorizer of strings is not supported; map them to integers beforehand");
  }
  if ((x.type != ElementType::i32 && x.type != ElementType::i64) || x.rank() < 1 || x.rank() > 2) {
    throw Error(Reason::shape_mismatch,
                text("TfIdfVectorizer got ", to_string(x.type), " of shape ", to_string(x.shape),
                     ", expected i32 or i64 of one or two dimensions"));
  }
  const std::vector<int64_t> columns = call.integers("ngram_indexes");
  const std::vector<double> weights = call.reals("weights");
  const std::vector<Grams> all = grams_of(call);
  const int64_t count = all.empty() ? 0 : all.back().first + all.back().count();
  const bool negative =
      std::any_of(columns.begin(), columns.end(), [](int64_t c) { return c < 0; });
  if (count == 0 || static_cast<int64_t>(columns.size()) != count || negative ||
      (!weights.empty() && weights.size() != columns.size())) {
    reject(text("a pool of ", count, " n-grams with ", columns.size(), " ngram_indexes and ",
                weights.size(), " weights"));
  }
  const std::string mode = call.text("mode", "");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF") {
    reject(text("mode ", mode, ", expected TF, IDF or TFIDF"));
  }
  const int64_t width = *std::max_element(columns.begin(), columns.end()) + 1;
  constexpr int64_t kMostColumns = 1 << 24;
  if (width > kMostColumns) {
    unsupported(text("ngram_indexes up to ", width - 1, ", expected less than ", kMostColumns));
  }
  const bool batch = x.rank() == 2;
  const Tensor rows = batch ? x : Build::reshaped(x, {1, x.dim(0)});
  const int64_t shortest = call.integer("min_gram_length", 1);
  const int64_t longest = call.integer("max_gram_length", 1);
  // Column 0 of what is gathered is 0, for results without an n-gram.
  std::vector<Tensor> parts{filled(build, ElementType::f32, {rows.dim(0), 1}, 0)};
  std::vector<int64_t> sources(static_cast<size_t>(width), 0);
  auto factors = std::make_shared<HostTensor>(ElementType::f32, Shape{1, width});
  int64_t made = 1;
  for (const Grams& grams : all) {
    if (grams.length < shortest || grams.length > longest || grams.count() == 0) continue;
    parts.push_back(occurrences(build, rows, grams, call.integer("max_skip_count", 0)));
    for (int64_t g = 0; g < grams.count(); ++g) {
      const auto at = static_cast<size_t>(grams.first + g);
      sources[static_cast<size_t>(columns[at])] = made++;
      factors->set(columns[at], weights.empty() ? 1 : weights[at]);
    }
  }
  Tensor y = gather(build, concat(build, parts, 1), 1,
                    integers(build, ElementType::i64, {width}, sources));
  if (mode == "IDF") {
    y = pointwise(build, OP_MIN, {y, scalar(build, ElementType::f32, 1)});
  }
  if (mode != "TF") y = pointwise(build, OP_MUL, {y, build.constant(std::move(factors))});
  call.set(0, batch ? y : Build::reshaped(y, {width}));
}

double mel_of(double hertz) { return 2595 * std::log10(1 + hertz / 700); }
double hertz_of(double mel) { return 700 * (std::pow(10, mel / 2595) - 1); }

// {dft_length / 2 + 1, bands}: each band is a triangle over the bins of a spectrum, between its
// neighbours on the mel scale. The inputs decide the shape, so their values are needed.
void mel_weight_matrix(OpCall& call) {
  Build& build = call.build;
  const auto number = [&](size_t index) {
    const HostTensor& values = build.values(call.in(index));
    if (values.count() == 1) return values.number(0);
    throw Error(Reason::shape_mismatch,
                text("input ", index, " of MelWeightMatrix has shape ",
                     to_string(call.in(index).shape), ", expected a number"));
  };
  const double bands = number(0);
  const double length = number(1);
  const double rate = number(2);
  const double low = number(3);
  const double high = number(4);
  constexpr double kMost = 1 << 20;
  if (!(bands >= 1 && bands <= kMost && length >= 1 && length <= kMost && rate >= 1 && low >= 0 &&
        high >= low && bands * length <= kMost * 64)) {
    throw Error(Reason::invalid_param,
                text("MelWeightMatrix of ", bands, " bands for a transform of length ", length,
                     " at ", rate, " Hz, from ", low, " to ", high, " Hz"));
  }
  const auto columns = static_cast<int64_t>(bands);
  const int64_t bins = static_cast<int64_t>(length) / 2 + 1;
  const double step = (mel_of(high) - mel_of(low)) / (bands + 2);
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < columns + 2; ++i) {
    const double hertz = hertz_of(static_cast<double>(i) * step + mel_of(low));
    const double bin = std::floor((length + 1) * hertz / rate);
    edges.push_back(static_cast<int64_t>(std::clamp(bin, 0.0, 2 * kMost)));
  }
  auto matrix = std::make_shared<HostTensor>(element_type(call.integer("output_datatype", 1)),
                                             Shape{bins, columns});
  const auto put = [&](int64_t bin, int64_t column, double value) {
    if (bin < bins) matrix->set(bin * columns + column, value);
  };
  for (int64_t i = 0; i < columns; ++i) {
    const int64_t from = edges[static_cast<size_t>(i)];
    const int64_t center = edges[static_cast<size_t>(i) + 1];
    const int64_t to = edges[static_cast<size_t>(i) + 2];
    if (center == from) put(center, i, 1);
    for (int64_t bin = from; center > from && bin <= center; ++bin) {
      put(bin, i, static_cast<double>(bin - from) / static_cast<double>(center - from));
    }
    for (int64_t bin = center; bin < to; ++bin) {
      put(bin, i, static_cast<double>(to - bin) / static_cast<double>(to - center));
    }
  }
  call.set(0, build.constant(std::move(matrix)));
}

}  // namespace

Operators feature_operators() {
  return {
      {"MelWeightMatrix", mel_weight_matrix},
      {"TfIdfVectorizer", tf_idf_vectorizer},
  };
}

}  // namespace dala::model
