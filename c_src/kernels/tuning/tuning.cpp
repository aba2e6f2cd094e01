#include "kernels/tuning/tuning.hpp"

#include <algorithm>
#include <mutex>
#include <optional>
#include <sstream>

#include "runtime/error.hpp"
#include "runtime/process/files.hpp"
#include "runtime/program/disk_cache.hpp"

namespace dala {
namespace {

constexpr const char* kFormat = "tiles 1";

thread_local const TileChoice* trial = nullptr;

struct State {
  std::mutex mutex;
  std::map<std::string, Winners> winners;  // by identity of the device
};

// Never destroyed: threads plan until the process ends.
State& state() {
  static auto* instance = new State;
  return *instance;
}

std::string identity(const DeviceInfo& device) {
  return text(device.platform_name, "\n", device.vendor, "\n", device.name, "\n", device.driver);
}

bool is_one_of(int64_t value, std::initializer_list<int64_t> values) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

bool is_searched(const TileChoice& choice) {
  return is_one_of(choice.side, {8, 16}) && is_one_of(choice.step, {8, 16, 32}) &&
         is_one_of(choice.edge, {4, 8}) && is_one_of(choice.items, {32, 64, 128, 256, 512});
}

std::optional<ShapeClass> class_named(const std::string& name) {
  for (ShapeClass each : kShapeClasses) {
    if (name == to_string(each)) return each;
  }
  return std::nullopt;
}

std::string to_file(const DeviceInfo& device, const Winners& winners) {
  std::string lines = text(kFormat, "\n", identity(device), "\n");
  for (const auto& [shape_class, choice] : winners) {
    lines += text(to_string(shape_class), " ", choice.side, " ", choice.step, " ", choice.edge, " ",
                  choice.items, "\n");
  }
  return lines;
}

std::optional<Winners> from_file(const DeviceInfo& device, const std::string& file) {
  const std::string head = text(kFormat, "\n", identity(device), "\n");
  if (file.compare(0, head.size(), head) != 0) return std::nullopt;
  std::istringstream lines(file.substr(head.size()));
  Winners winners;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    TileChoice choice;
    words >> name >> choice.side >> choice.step >> choice.edge >> choice.items;
    const std::optional<ShapeClass> shape_class = class_named(name);
    if (!words || !shape_class || !is_searched(choice)) return std::nullopt;
    winners[*shape_class] = choice;
  }
  return winners;
}

}  // namespace

const char* to_string(ShapeClass shape_class) {
  switch (shape_class) {
    case ShapeClass::matmul_few_rows:
      return "matmul_few_rows";
    case ShapeClass::matmul_small:
      return "matmul_small";
    case ShapeClass::matmul_large:
      return "matmul_large";
    case ShapeClass::conv_pointwise:
      return "conv2d_1x1";
    case ShapeClass::conv_window:
      return "conv2d_window";
    case ShapeClass::reduce_rows:
      return "reduce_rows";
    default:
      return "reduce_columns";
  }
}

bool is_reduction(ShapeClass shape_class) {
  return shape_class == ShapeClass::reduce_rows || shape_class == ShapeClass::reduce_columns;
}

std::string describe(ShapeClass shape_class, const TileChoice& choice) {
  if (is_reduction(shape_class)) return text(choice.items, " items");
  const std::string group = text(choice.side, " x ", choice.side, " items, step ", choice.step);
  if (shape_class == ShapeClass::matmul_few_rows) return group;
  return text(group, ", ", choice.edge, " x ", choice.edge, " sums");
}

TileChoice tile_choice(const DeviceInfo& device, ShapeClass shape_class) {
  if (trial != nullptr) return *trial;
  {
    const std::lock_guard lock(state().mutex);
    const auto found = state().winners.find(identity(device));
    if (found != state().winners.end()) {
      const auto winner = found->second.find(shape_class);
      if (winner != found->second.end()) return winner->second;
    }
  }
  return vendor_choice(device);
}

TileTrial::TileTrial(const TileChoice& choice) : choice_(choice) { trial = &choice_; }
TileTrial::~TileTrial() { trial = nullptr; }

Winners winners_of(const DeviceInfo& device) {
  const std::lock_guard lock(state().mutex);
  return state().winners[identity(device)];
}

void set_winner(const DeviceInfo& device, ShapeClass shape_class, const TileChoice& choice) {
  const std::lock_guard lock(state().mutex);
  state().winners[identity(device)][shape_class] = choice;
}

std::string winners_file(const DeviceInfo& device) {
  std::ostringstream name;
  name << std::hex << checksum(identity(device)) << ".tiles";
  return name.str();
}

void load_winners(const DeviceInfo& device, DiskCache& files) {
  const std::optional<std::string> file = files.read(winners_file(device));
  const std::optional<Winners> winners = file ? from_file(device, *file) : std::nullopt;
  if (!winners) return;
  const std::lock_guard lock(state().mutex);
  state().winners[identity(device)] = *winners;
}

bool save_winners(const DeviceInfo& device, DiskCache& files) {
  return files.write(winners_file(device), to_file(device, winners_of(device)));
}

}  // namespace dala
