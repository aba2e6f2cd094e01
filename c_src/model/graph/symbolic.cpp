#include "model/graph/symbolic.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "runtime/error.hpp"

namespace dala::model {
namespace {

// A free dimension of the inputs. Each unnamed dimension is a separate symbol, which no formula can
// refer to.
struct Symbol {
  std::string name;
  bool leads = false;  // the first dimension of some input: usually the batch size
};

// `places` holds the symbol of every dimension of every input, or -1 for a fixed dimension.
struct Symbols {
  std::vector<Symbol> all;
  std::vector<std::vector<int>> places;
};

Symbols symbols_of(const std::vector<Port>& inputs) {
  Symbols symbols;
  std::map<std::string, int> named;
  for (const Port& port : inputs) {
    std::vector<int>& places = symbols.places.emplace_back();
    for (const Dimension& dimension : *port.shape) {
      if (dimension.size) {
        places.push_back(-1);
        continue;
      }
      auto next = static_cast<int>(symbols.all.size());
      if (!dimension.name.empty()) next = named.emplace(dimension.name, next).first->second;
      if (next == static_cast<int>(symbols.all.size())) symbols.all.push_back({dimension.name});
      if (places.empty()) symbols.all[static_cast<size_t>(next)].leads = true;
      places.push_back(next);
    }
  }
  return symbols;
}

using Sizes = std::vector<int64_t>;  // of the symbols

// A successful trial.
struct Sample {
  Sizes sizes;
  std::vector<Shape> outputs;
};

class Sampler {
 public:
  Sampler(const std::vector<Port>& inputs, const Trial& trial)
      : inputs_(inputs), trial_(trial), symbols_(symbols_of(inputs)) {}

  const std::vector<Symbol>& symbols() const { return symbols_.all; }

  // Finds sizes that the graph accepts, then varies each symbol alone, then all symbols together.
  std::vector<Sample> samples() {
    std::vector<Sample> found;
    const std::optional<Sample> first = start();
    if (!first) return found;
    found.push_back(*first);
    Sizes other = first->sizes;
    for (size_t i = 0; i < other.size(); ++i) {
      const int64_t base = first->sizes[i];
      bool odd = false;
      for (int64_t size : {2 * base, 3 * base, base + 1, base + 5, 5 * base, 10 * base,
                           10 * base + 7, base - 1, base / 2 - 1}) {
        // Sizes near the first one do not tell one divisor from another, so some are far from it.
        // The last two are for graphs that accept no size above the first one but its multiples.
        if (size < 1 || (size < base && odd)) continue;
        Sizes changed = first->sizes;
        changed[i] = size;
        if (!add(found, changed)) continue;
        odd = odd || size % base != 0;
        if (other[i] == base) other[i] = size;
      }
    }
    if (symbols_.all.size() > 1) add(found, other);
    return found;
  }

 private:
  // Networks downsample by two several times, for which multiples of 64 work; sequences have a
  // maximum length; some graphs only accept a batch of one.
  std::optional<Sample> start() {
    for (int64_t rest : {64, 128, 256, 512, 32, 224, 16, 8, 4, 2, 1}) {
      for (int64_t leading : {2, 1}) {
        Sizes sizes;
        for (const Symbol& symbol : symbols_.all) sizes.push_back(symbol.leads ? leading : rest);
        if (auto sample = tried(sizes)) return sample;
        if (symbols_.all.empty()) return std::nullopt;
      }
    }
    return std::nullopt;
  }

  bool add(std::vector<Sample>& samples, const Sizes& sizes) {
    std::optional<Sample> sample = tried(sizes);
    if (!sample) return false;
    samples.push_back(*std::move(sample));
    return true;
  }

  std::optional<Sample> tried(const Sizes& sizes) {
    std::vector<Shape> shapes;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      Shape& shape = shapes.emplace_back();
      for (size_t d = 0; d < symbols_.places[i].size(); ++d) {
        const int symbol = symbols_.places[i][d];
        shape.push_back(symbol < 0 ? *(*inputs_[i].shape)[d].size
                                   : sizes[static_cast<size_t>(symbol)]);
      }
    }
    auto outputs = trial_(shapes);
    if (!outputs) return std::nullopt;
    return Sample{sizes, *std::move(outputs)};
  }

  const std::vector<Port>& inputs_;
  const Trial& trial_;
  Symbols symbols_;
};

// The value of one output dimension in a sample.
struct Point {
  Sizes sizes;
  int64_t value = 0;
};

// factor * round(whole / divisor) + offset, where whole is the product or the sum of `symbols`.
struct Formula {
  enum class Rounding { none, up, down };
  std::vector<size_t> symbols;
  bool sum = false;
  int64_t factor = 1;
  int64_t divisor = 1;
  int64_t offset = 0;
  Rounding rounding = Rounding::none;

  int64_t whole(const Sizes& sizes) const {
    int64_t result = sum ? 0 : 1;
    for (size_t symbol : symbols) result = sum ? result + sizes[symbol] : result * sizes[symbol];
    return result;
  }

  bool fits(const std::vector<Point>& points) const {
    return std::all_of(points.begin(), points.end(), [this](const Point& point) {
      const int64_t all = whole(point.sizes);
      switch (rounding) {
        case Rounding::none:
          return factor * all == (point.value - offset) * divisor;
        case Rounding::up:
          return factor * ((all + divisor - 1) / divisor) + offset == point.value;
        case Rounding::down:
          return factor * (all / divisor) + offset == point.value;
      }
      return false;
    });
  }

  std::string str(const std::vector<Symbol>& names) const {
    std::string result;
    for (size_t symbol : symbols) {
      result += (result.empty() ? "" : sum ? "+" : "*") + names[symbol].name;
    }
    if (sum && (factor != 1 || divisor != 1)) result = "(" + result + ")";
    if (divisor != 1 && rounding != Rounding::none) {
      result = text(rounding == Rounding::up ? "ceil(" : "floor(", result, "/", divisor, ")");
    }
    if (factor != 1) result = text(factor, "*", result);
    if (divisor != 1 && rounding == Rounding::none) result += text("/", divisor);
    if (offset != 0) result += text(offset > 0 ? "+" : "-", std::abs(offset));
    return result;
  }
};

// The line through two points, if its coefficients are integers.
std::optional<Formula> line_through(Formula formula, const Point& a, const Point& b) {
  const int64_t run = formula.whole(b.sizes) - formula.whole(a.sizes);
  const int64_t rise = b.value - a.value;
  if (run == 0 || rise == 0 || (rise < 0) != (run < 0)) return std::nullopt;
  const int64_t common = std::gcd(run, rise);
  formula.factor = std::abs(rise / common);
  formula.divisor = std::abs(run / common);
  const int64_t share = formula.factor * formula.whole(a.sizes);
  if (share % formula.divisor != 0) return std::nullopt;
  formula.offset = a.value - share / formula.divisor;
  return formula;
}

// The same slope with the quotient rounded, by the smallest divisor that fits.
std::optional<Formula> rounded(const Formula& line, const std::vector<Point>& points) {
  constexpr int64_t kMaxTimes = 32;
  for (int64_t times = 1; times <= kMaxTimes; ++times) {
    Formula formula = line;
    formula.factor *= times;
    formula.divisor *= times;
    for (const auto rounding : {Formula::Rounding::up, Formula::Rounding::down}) {
      formula.rounding = rounding;
      if (formula.fits(points)) return formula;
    }
  }
  return std::nullopt;
}

// The formula in these symbols that fits all points. Any two points are on a line, so the formula
// needs a third point, or an offset of zero.
std::optional<Formula> fitted(const std::vector<size_t>& symbols, bool sum,
                              const std::vector<Point>& points) {
  Formula formula;
  formula.symbols = symbols;
  formula.sum = sum;
  const auto& first = points.front();
  const auto second = std::find_if(points.begin(), points.end(), [&](const Point& point) {
    return formula.whole(point.sizes) != formula.whole(first.sizes);
  });
  if (second == points.end()) return std::nullopt;
  const std::optional<Formula> line = line_through(formula, first, *second);
  if (!line) return std::nullopt;
  const bool third = std::any_of(points.begin(), points.end(), [&](const Point& point) {
    const int64_t whole = formula.whole(point.sizes);
    return whole != formula.whole(first.sizes) && whole != formula.whole(second->sizes);
  });
  if (!third && line->offset != 0) return std::nullopt;
  if (line->fits(points)) return line;
  return line->divisor > 1 ? rounded(*line, points) : std::nullopt;
}

// A symbol that has one size in all points would fit into any product.
bool all_vary(const std::vector<size_t>& symbols, const std::vector<Point>& points) {
  return std::all_of(symbols.begin(), symbols.end(), [&](size_t symbol) {
    return std::any_of(points.begin(), points.end(), [&](const Point& point) {
      return point.sizes[symbol] != points.front().sizes[symbol];
    });
  });
}

Dimension dimension_of(const std::vector<Point>& points, const std::vector<Symbol>& symbols) {
  const bool same = std::all_of(points.begin(), points.end(), [&](const Point& point) {
    return point.value == points.front().value;
  });
  if (same) return {points.front().value, ""};

  constexpr size_t kMaxSymbols = 6;  // bounds the number of products to try
  const size_t count = std::min(symbols.size(), kMaxSymbols);
  std::vector<std::vector<size_t>> subsets;
  for (size_t mask = 1; mask < (size_t{1} << count); ++mask) {
    std::vector<size_t>& subset = subsets.emplace_back();
    for (size_t i = 0; i < count; ++i) {
      if ((mask >> i & 1) != 0) subset.push_back(i);
    }
  }
  std::stable_sort(subsets.begin(), subsets.end(),
                   [](const auto& a, const auto& b) { return a.size() < b.size(); });
  for (const std::vector<size_t>& subset : subsets) {
    const bool named = std::none_of(subset.begin(), subset.end(),
                                    [&](size_t i) { return symbols[i].name.empty(); });
    if (!named || !all_vary(subset, points)) continue;
    for (const bool sum : {false, true}) {
      if (sum && subset.size() < 2) continue;
      const auto formula = fitted(subset, sum, points);
      if (formula) return {std::nullopt, formula->str(symbols)};
    }
  }
  return {};
}

}  // namespace

std::optional<std::vector<std::vector<Dimension>>> symbolic_outputs(const std::vector<Port>& inputs,
                                                                    const Trial& trial) {
  const bool ranked =
      std::all_of(inputs.begin(), inputs.end(), [](const Port& port) { return !!port.shape; });
  if (!ranked) return std::nullopt;
  Sampler sampler(inputs, trial);
  const std::vector<Sample> samples = sampler.samples();
  if (samples.empty()) return std::nullopt;

  std::vector<std::vector<Dimension>> result;
  for (size_t output = 0; output < samples.front().outputs.size(); ++output) {
    const size_t rank = samples.front().outputs[output].size();
    std::vector<Dimension>& shape = result.emplace_back();
    for (size_t d = 0; d < rank; ++d) {
      std::vector<Point> points;
      for (const Sample& sample : samples) {
        if (sample.outputs[output].size() != rank) return std::nullopt;
        points.push_back({sample.sizes, sample.outputs[output][d]});
      }
      shape.push_back(dimension_of(points, sampler.symbols()));
    }
  }
  return result;
}

void complete_outputs(std::vector<Port>& outputs,
                      const std::vector<std::vector<Dimension>>& found) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::optional<std::vector<Dimension>>& shape = outputs[i].shape;
    if (!shape || shape->size() != found[i].size()) {
      shape = found[i];
      continue;
    }
    for (size_t d = 0; d < shape->size(); ++d) {
      const Dimension& known = found[i][d];
      if (known.size || !known.name.empty()) (*shape)[d] = known;
    }
  }
}

}  // namespace dala::model
