#include "kernels/fft/fft_plan.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <mutex>
#include <numbers>

#include "kernels/element.hpp"
#include "kernels/fft/fft_args.h"
#include "kernels/reduce/axis.hpp"

namespace dala {
namespace {

constexpr int64_t kLongestPass = 2048;      // points; two tiles of them fill the L2 cache
constexpr int64_t kWorthTwoPasses = 512;    // points for which few transforms gain from two passes
constexpr int64_t kPointsPerGroup = 16384;  // points that amortise the start of a group
constexpr size_t kKeptTables = 64;

int64_t lanes_of(const Planner& planner, DType dtype) {
  const int64_t lanes = planner.cpu_class() ? 16 : 8;
  return dtype == DType::f32 ? lanes : lanes / 2;
}

int64_t most_prime(const Planner& planner) {
  return planner.cpu_class() ? 127 : 31;  // GENERIC_RADIX in fft_cpu.cl and fft_gpu.cl
}

size_t tile_bytes(const Planner& planner, DType dtype, int64_t length) {
  return static_cast<size_t>(4 * length * lanes_of(planner, dtype)) * size_of(dtype);
}

int64_t longest_pass(const Planner& planner, DType dtype) {
  const auto room = static_cast<int64_t>(planner.device().info().local_memory);
  return std::min(kLongestPass, room / static_cast<int64_t>(tile_bytes(planner, dtype, 1)));
}

std::vector<int64_t> prime_factors(int64_t n) {
  std::vector<int64_t> factors;
  for (int64_t p = 2; p * p <= n; p += p == 2 ? 1 : 2) {
    for (; n % p == 0; n /= p) factors.push_back(p);
  }
  if (n > 1) factors.push_back(n);
  return factors;
}

// Roots of unity e^(-2 pi i k / n) as pairs of T, appended to a table.
template <typename T>
void append_roots(std::vector<std::byte>& table, int64_t count, int64_t step, int64_t n) {
  // Wider than the result, which is thus rounded once.
  using Wide = std::conditional_t<std::is_same_v<T, float>, double, long double>;
  const Wide turn = -2 * std::numbers::pi_v<Wide> / static_cast<Wide>(n);
  const size_t begin = table.size();
  table.resize(begin + static_cast<size_t>(count) * 2 * sizeof(T));
  for (int64_t k = 0; k < count; ++k) {
    const Wide angle = turn * static_cast<Wide>(k * step % n);
    const T pair[2] = {static_cast<T>(std::cos(angle)), static_cast<T>(std::sin(angle))};
    std::memcpy(table.data() + begin + static_cast<size_t>(k) * sizeof(pair), pair, sizeof(pair));
  }
}

// Identifies the tables of a pass, or of a chirp.
struct TableKey {
  DType dtype;
  int64_t roots;  // the first table: e^(-2 pi i k / roots); 0: none
  int64_t whole;  // the fine and the coarse table: w = e^(-2 pi i / whole); 0: none
  auto operator<=>(const TableKey&) const = default;
};

int fine_bits(int64_t whole) { return (std::bit_width(static_cast<uint64_t>(whole)) + 1) / 2; }
int64_t fine_count(int64_t whole) { return int64_t{1} << fine_bits(whole); }
int64_t coarse_count(int64_t whole) { return (whole >> fine_bits(whole)) + 1; }

using Table = std::shared_ptr<const std::vector<std::byte>>;

template <typename T>
Table make_table(const TableKey& key) {
  std::vector<std::byte> table;
  if (key.roots > 0) append_roots<T>(table, key.roots, 1, key.roots);
  if (key.whole > 0) {
    append_roots<T>(table, fine_count(key.whole), 1, key.whole);
    append_roots<T>(table, coarse_count(key.whole), fine_count(key.whole), key.whole);
  }
  return std::make_shared<const std::vector<std::byte>>(std::move(table));
}

// A cache of recently used tables, for transforms that are run again.
Table table_for(const TableKey& key) {
  static std::mutex mutex;
  static std::map<TableKey, Table> kept;
  {
    const std::lock_guard lock(mutex);
    const auto found = kept.find(key);
    if (found != kept.end()) return found->second;
  }
  Table table = key.dtype == DType::f32 ? make_table<float>(key) : make_table<double>(key);
  const std::lock_guard lock(mutex);
  if (kept.size() >= kKeptTables) kept.clear();
  kept[key] = table;
  return table;
}

// Adds scratch for the tables, and the step that writes them.
Operand add_table(Launch& launch, const TableKey& key) {
  const Table table = table_for(key);
  const Operand memory = add_scratch(launch, table->size());
  auto owner = std::const_pointer_cast<std::vector<std::byte>>(table);
  launch.steps.push_back(HostCopyStep{HostCopyStep::Direction::to_device, memory, owner->data(),
                                      owner->size(), owner});
  return memory;
}

Value element(DType dtype, double number) {
  return dtype == DType::f32 ? value(static_cast<float>(number)) : value(number);
}

size_t gpu_items(const Planner& planner, DType dtype) {
  return std::max(planner.group_items(128), static_cast<size_t>(lanes_of(planner, dtype)));
}

std::shared_ptr<Program> pass_program(Planner& planner, DType dtype) {
  return planner.program(text("fft ", to_string(dtype)), [&] {
    Defines defines{{"T", cl_name(dtype)}, {"LANES", std::to_string(lanes_of(planner, dtype))}};
    if (!planner.cpu_class()) {
      defines.emplace_back("ITEMS", std::to_string(gpu_items(planner, dtype)));
    }
    return ProgramSource{defines, {{planner.cpu_class() ? "fft/fft_cpu.cl" : "fft/fft_gpu.cl"}}};
  });
}

// The fraction of lanes in use for `count` adjacent transforms.
double use_of(int64_t count, int64_t lanes) {
  return static_cast<double>(count) / static_cast<double>(ceil_div(count, lanes) * lanes);
}

// Chooses the transforms that share a tile. Adjacent transforms are read fastest, then transforms
// whose own points are adjacent.
void choose_lanes(FftPass& pass, int64_t lanes) {
  constexpr double kTransposed = 0.8;
  constexpr double kScattered = 0.3;
  const double of_q = use_of(pass.stride, lanes);
  const double of_p = use_of(pass.rest, lanes) * (pass.stride == 1 ? kTransposed : kScattered);
  const double of_outer =
      use_of(pass.outer, lanes) * (pass.stride * pass.rest == 1 ? kTransposed : kScattered);
  if (of_q >= of_p && of_q >= of_outer) {
    pass.lanes_of = FFT_LANES_Q;
    pass.tiles = pass.outer * pass.rest * ceil_div(pass.stride, lanes);
  } else if (of_p >= of_outer) {
    pass.lanes_of = FFT_LANES_P;
    pass.tiles = pass.outer * pass.stride * ceil_div(pass.rest, lanes);
  } else {
    pass.lanes_of = FFT_LANES_OUTER;
    pass.tiles = pass.stride * pass.rest * ceil_div(pass.outer, lanes);
  }
}

void add_pass(Launch& launch, Planner& planner, DType dtype, FftPass pass, Operand from, Operand to,
              double scale) {
  const int64_t lanes = lanes_of(planner, dtype);
  choose_lanes(pass, lanes);
  const std::vector<int32_t> radices = fft_radices(pass.length);
  pass.stages = static_cast<cl_int>(radices.size());
  std::copy(radices.begin(), radices.end(), pass.radices.begin());

  TableKey key{dtype, pass.length, 0};
  if (pass.rest > 1) {
    key.whole = pass.length * pass.rest;
    pass.fine_bits = fine_bits(key.whole);
    pass.fine = pass.length;
    pass.coarse = pass.fine + fine_count(key.whole);
  }
  const Operand tables = add_table(launch, key);
  Operand turns = tables;
  const auto program = pass_program(planner, dtype);
  if (planner.cpu_class() && pass.rest > 1 && pass.lanes_of == FFT_LANES_P) {
    turns = add_scratch(launch, static_cast<size_t>(2 * pass.length * lanes) * size_of(dtype));
    FftPass prepare = pass;
    prepare.units = ceil_div(pass.length, planner.busy_groups());
    Range range;
    range.global[0] = static_cast<size_t>(ceil_div(pass.length, prepare.units));
    launch.steps.push_back(
        KernelStep{program, "fft_turns", {tables, turns, value(prepare)}, range});
  }
  Range range;
  if (planner.cpu_class()) {
    const int64_t enough = std::max<int64_t>(1, kPointsPerGroup / (pass.length * lanes));
    const int64_t fair = std::max<int64_t>(1, pass.tiles / planner.busy_groups());
    pass.units = std::min(enough, fair);
    range.global[0] = static_cast<size_t>(ceil_div(pass.tiles, pass.units));
  } else {
    range = group_per_result(pass.tiles, gpu_items(planner, dtype));
  }
  launch.steps.push_back(KernelStep{program,
                                    "fft_pass",
                                    {from, to, tables, turns, value(pass), element(dtype, scale),
                                     LocalMemory{tile_bytes(planner, dtype, pass.length)}},
                                    range});
}

// CPU class: divides the points of the steps around the passes into work-groups.
Range point_range(const Planner& planner, int64_t count, cl_long& chunk) {
  if (!planner.cpu_class()) return item_per_result(planner, count);
  chunk = std::max<int64_t>(1024, ceil_div(count, planner.busy_groups()));
  Range range;
  range.global[0] = static_cast<size_t>(ceil_div(count, chunk));
  return range;
}

size_t complex_bytes(DType dtype, int64_t points) {
  return static_cast<size_t>(2 * points) * size_of(dtype);
}

// Bluestein's algorithm, a convolution with a chirp; see chirp.cl.
void add_bluestein(Launch& launch, Planner& planner, DType dtype, const FftArray& array,
                   Operand from, Operand to, bool inverse, double scale) {
  FftArray padded = array;
  padded.length = fft_good_length(2 * array.length - 1);
  FftChirp view;
  view.length = array.length;
  view.padded = padded.length;
  view.inverse = inverse ? 1 : 0;
  const auto program = fft_steps_program(planner, dtype);
  const RootTables roots = add_root_tables(launch, dtype, 2 * array.length);
  const Operand tables = roots.memory;
  view.fine = roots.fine;
  view.coarse = roots.coarse;
  view.fine_bits = roots.fine_bits;
  const Operand filter = add_scratch(launch, complex_bytes(dtype, padded.length));
  const Operand work = add_scratch(launch, complex_bytes(dtype, padded.count()));

  view.count = padded.length;
  Range range = point_range(planner, view.count, view.chunk);
  launch.steps.push_back(KernelStep{program, "chirp_filter", {filter, tables, value(view)}, range});
  add_fft(launch, planner, dtype, {1, padded.length, 1}, filter, filter, false, 1);

  view.inner = array.inner;
  view.count = padded.count();
  range = point_range(planner, view.count, view.chunk);
  launch.steps.push_back(KernelStep{program, "chirp_in", {from, work, tables, value(view)}, range});
  add_fft(launch, planner, dtype, padded, work, work, false, 1);
  launch.steps.push_back(KernelStep{program, "chirp_times", {work, filter, value(view)}, range});
  add_fft(launch, planner, dtype, padded, work, work, true,
          1.0 / static_cast<double>(padded.length));

  view.count = array.count();
  range = point_range(planner, view.count, view.chunk);
  launch.steps.push_back(KernelStep{
      program, "chirp_out", {work, to, tables, value(view), element(dtype, scale)}, range});
}

}  // namespace

RootTables add_root_tables(Launch& launch, DType dtype, int64_t whole) {
  return {add_table(launch, {dtype, 0, whole}), 0, fine_count(whole), fine_bits(whole)};
}

Operand add_scratch(Launch& launch, size_t bytes) {
  launch.scratch.push_back(bytes);
  return scratch(static_cast<int>(launch.scratch.size()) - 1);
}

std::shared_ptr<Program> fft_steps_program(Planner& planner, DType dtype) {
  return planner.program(text("fft steps ", to_string(dtype)), [&] {
    return ProgramSource{{{"T", cl_name(dtype)}}, {{"fft/chirp.cl"}}};
  });
}

double fft_operations(const FftArray& array) {
  return 5.0 * static_cast<double>(array.count()) *
         std::log2(static_cast<double>(std::max<int64_t>(2, array.length)));
}

std::vector<int64_t> fft_pass_lengths(int64_t length, int64_t longest, int64_t most_prime,
                                      int64_t fewest) {
  std::vector<int64_t> factors = prime_factors(length);
  std::sort(factors.rbegin(), factors.rend());
  if (!factors.empty() && factors[0] > std::min(most_prime, longest)) return {};
  for (auto passes = static_cast<size_t>(fewest); passes <= factors.size() + 1; ++passes) {
    // Assigns the factors, largest first, each to the shortest pass so far.
    std::vector<int64_t> lengths(passes, 1);
    for (int64_t factor : factors) {
      *std::min_element(lengths.begin(), lengths.end()) *= factor;
    }
    std::sort(lengths.rbegin(), lengths.rend());
    if (lengths[0] > longest) continue;
    while (lengths.size() > 1 && lengths.back() == 1) lengths.pop_back();
    return lengths;
  }
  return {};
}

std::vector<int32_t> fft_radices(int64_t length) {
  std::vector<int32_t> radices;
  int twos = 0;
  for (int64_t factor : prime_factors(length)) {
    if (factor == 2) {
      ++twos;
    } else {
      radices.push_back(static_cast<int32_t>(factor));
    }
  }
  std::vector<int32_t> powers;
  for (; twos >= 3 && twos != 4; twos -= 3) powers.push_back(8);
  for (; twos >= 2; twos -= 2) powers.push_back(4);
  if (twos > 0) powers.push_back(2);
  powers.insert(powers.end(), radices.begin(), radices.end());
  return powers;
}

int64_t fft_good_length(int64_t length) {
  auto best = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(length)));
  for (int64_t odd : {3, 5, 9, 15, 25, 27, 45}) {
    int64_t good = odd;
    while (good < length) good *= 2;
    best = std::min(best, good);
  }
  return best;
}

void add_fft(Launch& launch, Planner& planner, DType dtype, const FftArray& array, Operand from,
             Operand to, bool inverse, double scale) {
  const int64_t longest = longest_pass(planner, dtype);
  const bool few = array.outer * array.inner < lanes_of(planner, dtype);
  const int64_t fewest = few && array.length >= kWorthTwoPasses ? 2 : 1;
  const std::vector<int64_t> lengths =
      fft_pass_lengths(array.length, longest, most_prime(planner), fewest);
  if (lengths.empty()) {
    add_bluestein(launch, planner, dtype, array, from, to, inverse, scale);
    return;
  }
  // A single pass works in its own tiles; several alternate with scratch.
  Operand areas[2] = {to, to};
  for (size_t i = 0; i < 2 && i + 1 < lengths.size(); ++i) {
    areas[i] = add_scratch(launch, complex_bytes(dtype, array.count()));
  }
  FftPass pass;
  pass.outer = array.outer;
  pass.span = array.length * array.inner;
  pass.stride = array.inner;
  pass.rest = array.length;
  pass.inverse = inverse ? 1 : 0;
  Operand source = from;
  for (size_t i = 0; i < lengths.size(); ++i) {
    const bool last = i + 1 == lengths.size();
    pass.length = lengths[i];
    pass.rest /= lengths[i];
    const Operand target = last ? to : areas[i % 2];
    add_pass(launch, planner, dtype, pass, source, target, last ? scale : 1);
    pass.stride *= lengths[i];
    source = target;
  }
}

}  // namespace dala
