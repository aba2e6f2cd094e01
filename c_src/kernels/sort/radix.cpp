#include "kernels/sort/radix.hpp"

#include "kernels/element.hpp"
#include "kernels/reduce/axis.hpp"

namespace dala {
namespace {

constexpr int kDigitBits = 4;  // DIGIT_BITS in radix_gpu.cl
constexpr int64_t kDigitValues = 16;

Operand add_scratch(Launch& launch, size_t bytes) {
  launch.scratch.push_back(bytes);
  return scratch(static_cast<int>(launch.scratch.size()) - 1);
}

}  // namespace

RadixRows add_radix_rows(Launch& launch, const SortView& view, size_t key_bytes) {
  const auto count = static_cast<size_t>(view.rows * view.length);
  const Operand keys = add_scratch(launch, count * key_bytes);
  return {keys, add_scratch(launch, count * sizeof(uint32_t))};
}

RadixRows add_radix_passes(Launch& launch, Planner& planner, SortView view, const RadixRows& rows,
                           size_t key_bytes, int bits) {
  const size_t items = planner.group_items(256, 3 * sizeof(uint32_t) + 1);
  view.chunk = static_cast<int64_t>(items);
  view.chunks = ceil_div(view.length, view.chunk);
  const std::string key = unsigned_name(key_bytes);
  const auto program = planner.program(text("radix ", key, " ", items), [&] {
    return ProgramSource{{{"KEY", key}, {"ITEMS", std::to_string(items)}}, {{"sort/radix_gpu.cl"}}};
  });
  const Operand counts = add_scratch(
      launch, static_cast<size_t>(view.rows * view.chunks * kDigitValues) * sizeof(uint32_t));
  const Range tiles = group_per_result(view.rows * view.chunks, items);
  RadixRows from = rows;
  RadixRows to = add_radix_rows(launch, view, key_bytes);
  for (int shift = 0; shift < bits; shift += kDigitBits) {
    view.shift = shift;
    launch.steps.push_back(
        KernelStep{program, "radix_count", {from.keys, counts, value(view)}, tiles});
    launch.steps.push_back(KernelStep{
        program, "radix_offsets", {counts, value(view)}, group_per_result(view.rows, items)});
    launch.steps.push_back(
        KernelStep{program,
                   "radix_scatter",
                   {from.keys, from.places, to.keys, to.places, counts, value(view)},
                   tiles});
    std::swap(from, to);
  }
  return from;
}

}  // namespace dala
