#include "kernels/planner.hpp"

#include <stdexcept>

#include "kernels/embedded_sources.hpp"

namespace dala {
namespace {

// -w: a driver that prints warnings prints them into the user's terminal.
constexpr const char* kBuildOptions = "-cl-std=CL1.2 -w";

std::string key_of(const std::vector<std::string>& files, const Defines& defines) {
  std::string key;
  for (const std::string& file : files) key += file + "\n";
  for (const auto& [name, value] : defines) key += name + "=" + value + "\n";
  return key;
}

std::string_view source_of(const std::string& file) {
  const auto& sources = embedded_sources();
  const auto found = sources.find(file);
  // A plan that names a file which is not there is a mistake in this library.
  if (found == sources.end()) throw std::logic_error("no kernel source " + file);
  return found->second;
}

std::string assemble(const std::vector<Part>& parts, bool fp64) {
  std::string source;
  if (fp64) source += "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n";
  for (const Part& part : parts) {
    source += lines(part.defines);
    if (!part.code.empty()) source += part.code + "\n";
    if (!part.file.empty()) {
      source += source_of(part.file);
      source += "\n";
    }
    for (const auto& [name, value] : part.defines) {
      source += "#undef " + name.substr(0, name.find('(')) + "\n";
    }
  }
  return source;
}

}  // namespace

std::string lines(const Defines& defines) {
  std::string result;
  for (const auto& [name, value] : defines) result += "#define " + name + " " + value + "\n";
  return result;
}

size_t Planner::group_items(size_t wish, size_t local_bytes_per_item) const {
  const DeviceInfo& info = device_.info();
  size_t items = 1;
  while (items * 2 <= wish && items * 2 <= info.max_work_group &&
         items * 2 * local_bytes_per_item <= info.local_memory) {
    items *= 2;
  }
  return items;
}

void Planner::need_arithmetic(const std::string& kernel, const Call& call) const {
  if (fp64()) return;
  bool doubles = call.output.dtype == DType::f64;
  for (const TensorType& type : call.inputs) doubles = doubles || type.dtype == DType::f64;
  if (!doubles) return;
  throw Error(Reason::unsupported, text(kernel, " on f64 needs a device with double precision; ",
                                        device_.info().name, " has none"));
}

std::shared_ptr<Program> Planner::program(const std::vector<std::string>& files,
                                          const Defines& defines) {
  return program("", files, defines);
}

std::shared_ptr<Program> Planner::program(const std::string& prelude,
                                          const std::vector<std::string>& files,
                                          const Defines& defines, const std::string& options) {
  const auto parts = [&] {
    std::vector<Part> parts{{"", {}, lines(defines) + prelude}};
    for (const std::string& file : files) parts.push_back({file});
    return parts;
  };
  return program(key_of(files, defines) + options + "\n" + prelude, parts, options);
}

std::shared_ptr<Program> Planner::program(const std::string& key,
                                          const std::function<std::vector<Part>()>& parts,
                                          const std::string& options) {
  const std::lock_guard lock(mutex_);
  auto& known = known_[key];
  if (!known) known = programs_.get(assemble(parts(), fp64()), kBuildOptions + (" " + options));
  return known;
}

}  // namespace dala
