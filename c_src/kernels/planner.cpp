#include "kernels/planner.hpp"

#include <algorithm>

#include "kernels/embedded_sources.hpp"

namespace dala {
namespace {

// -w: some drivers print warnings to the user's terminal.
constexpr const char* kBuildOptions = "-cl-std=CL1.2 -w";

}  // namespace

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

std::shared_ptr<Program> Planner::program(const std::string& key,
                                          const std::function<ProgramSource()>& source,
                                          const std::string& options) {
  const auto for_class = [&] {
    ProgramSource whole = source();
    whole.defines.emplace_back("CPU_CLASS", cpu_class() ? "1" : "0");
    return whole;
  };
  return known(key, for_class, options);
}

std::shared_ptr<Program> Planner::program(const std::string& prelude,
                                          const std::vector<std::string>& files,
                                          const Defines& defines, const std::string& options) {
  ProgramSource source{{}, {{"", {}, lines(defines) + prelude}}};
  for (const std::string& file : files) source.parts.push_back({file});
  return known(
      text(join(files, "\n"), "\n", options, "\n", source.parts.front().code),
      [&] { return source; }, options);
}

std::string Planner::text_of(const ProgramSource& source) const {
  const std::string extension = fp64() ? "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n" : "";
  return extension + assemble(source, embedded_sources());
}

std::shared_ptr<Program> Planner::known(const std::string& key,
                                        const std::function<ProgramSource()>& source,
                                        const std::string& options) {
  const std::lock_guard lock(mutex_);
  auto& program = known_[key];
  if (!program) {
    const ProgramSource whole = source();
    const bool foreign = std::any_of(whole.parts.begin(), whole.parts.end(),
                                     [](const Part& part) { return part.foreign; });
    program = programs_.get(text_of(whole), kBuildOptions + (" " + options), foreign);
  }
  return program;
}

std::shared_ptr<Program> Planner::foreign_program(const std::string& source,
                                                  const std::string& options) {
  const ProgramSource whole{{}, {{"", {}, source, true}}};
  return programs_.get(text_of(whole), kBuildOptions + (" " + options), true);
}

void Planner::forget(const std::shared_ptr<Program>& program) {
  const std::lock_guard lock(mutex_);
  std::erase_if(known_, [&program](const auto& entry) { return entry.second == program; });
}

}  // namespace dala
