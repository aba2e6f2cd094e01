#include "kernels/custom/custom_kernel.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <tuple>
#include <utility>

#include "kernels/custom/build_error.hpp"
#include "kernels/custom/compiled_kernel.hpp"
#include "kernels/custom/kernel_arguments.hpp"
#include "kernels/custom/lengths.hpp"
#include "kernels/custom/source_lexer.hpp"
#include "runtime/error.hpp"

namespace dala {
namespace {

[[noreturn]] void refuse(const std::string& sentence) {
  throw Error(Reason::invalid_param, sentence);
}

std::vector<std::string> kernel_names(cl_program program) {
  size_t size = 0;
  check(cl().clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, 0, nullptr, &size),
        "clGetProgramInfo");
  std::string joined(size, '\0');
  check(cl().clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, size, joined.data(), nullptr),
        "clGetProgramInfo");
  std::vector<std::string> names;
  std::istringstream stream(joined.c_str());
  for (std::string name; std::getline(stream, name, ';');) names.push_back(name);
  return names;
}

std::string choose_entry(const CustomSource& custom, const std::vector<std::string>& names) {
  const std::string& requested = custom.entry.empty() ? custom.name : custom.entry;
  if (std::find(names.begin(), names.end(), requested) != names.end()) return requested;
  if (custom.entry.empty() && names.size() == 1) return names.front();
  std::string known;
  for (const std::string& name : names) known += (known.empty() ? "" : ", ") + name;
  refuse(text("the source of ", custom.name, " has no kernel named ", requested, "; it has ",
              known.empty() ? "none" : known));
}

void check_buffer(const CustomSource& custom, const CompiledKernel& kernel,
                  const KernelArgument& argument) {
  if (kernel.output_of(argument) >= 0) {
    if (argument.is_const) {
      refuse(text("output ", argument.name, " of ", custom.name, " must not be declared const"));
    }
    return;
  }
  // A kernel that writes to an input would change memory that others only read, such as an Erlang
  // binary.
  if (!argument.is_const) {
    refuse(text("input ", argument.name, " of ", custom.name, " must be declared const, as in ",
                "__global const ", argument.type, " ", argument.name));
  }
}

void check_scalar(const CustomSource& custom, const CompiledKernel& kernel,
                  const KernelArgument& argument) {
  const bool filled_in = kernel.lengths->find(argument.name).has_value();
  if (filled_in && !is_integer_scalar(argument.type)) {
    refuse(text("argument ", argument.name, " of ", custom.name,
                " is filled in and must be an integer, not ", argument.type));
  }
  const bool listed =
      std::find(custom.params.begin(), custom.params.end(), argument.name) != custom.params.end();
  if (!listed && !filled_in) {
    refuse(text("argument ", argument.name, " of ", custom.name,
                " is neither one of its params nor one of n, width, height, channels"));
  }
}

void check_argument(const CustomSource& custom, const CompiledKernel& kernel,
                    const KernelArgument& argument) {
  switch (argument.kind) {
    case KernelArgument::Kind::buffer:
      check_buffer(custom, kernel, argument);
      return;
    case KernelArgument::Kind::scalar:
      check_scalar(custom, kernel, argument);
      return;
    case KernelArgument::Kind::local:
      if (!custom.local_memory.contains(argument.name)) {
        refuse(text("argument ", argument.name, " of ", custom.name,
                    " is __local; state its number of elements, as in local_memory: [",
                    argument.name, ": 256]"));
      }
      return;
    case KernelArgument::Kind::other:
      refuse(
          text("argument ", argument.name, " of ", custom.name, " has the type ", argument.type,
               "; buffers of half, float, double, char, short, int, long, uchar, ushort, uint or "
               "ulong (or vectors of these) and scalars can be passed"));
  }
}

bool has_argument(const CompiledKernel& kernel, const std::string& name,
                  KernelArgument::Kind kind) {
  return std::any_of(
      kernel.arguments.begin(), kernel.arguments.end(),
      [&](const KernelArgument& each) { return each.name == name && each.kind == kind; });
}

void check_arguments(const CustomSource& custom, const CompiledKernel& kernel) {
  int inputs = 0;
  for (const KernelArgument& argument : kernel.arguments) {
    check_argument(custom, kernel, argument);
    const bool buffer = argument.kind == KernelArgument::Kind::buffer;
    if (buffer && kernel.output_of(argument) < 0) ++inputs;
  }
  const std::set<std::string> outputs(custom.outputs.begin(), custom.outputs.end());
  for (const std::string& output : outputs) {
    if (has_argument(kernel, output, KernelArgument::Kind::buffer)) continue;
    refuse(
        text(custom.name, " has no argument named ", output, ", as in __global float* ", output));
  }
  if (inputs != custom.inputs) {
    refuse(text(custom.name, " is registered with ", custom.inputs,
                " inputs, but its source takes ", inputs));
  }
  for (const auto& memory : custom.local_memory) {
    if (has_argument(kernel, memory.first, KernelArgument::Kind::local)) continue;
    refuse(text("the source of ", custom.name, " has no __local argument named ", memory.first));
  }
  for (const std::string& param : custom.params) {
    if (param == "n" || param == "width" || param == "height" || param == "channels") {
      refuse(text(param, " is filled in and cannot be a param"));
    }
    if (has_argument(kernel, param, KernelArgument::Kind::scalar)) continue;
    refuse(text("the source of ", custom.name, " has no argument named ", param));
  }
}

// The launches for which a new kernel is compiled immediately: every group size, and ranges of many
// elements only with the largest one. Images that wide and odd numbers of so many elements are
// rare; other launches are compiled when they are first requested.
std::vector<Specialisation> usual_launches(const std::string& entry, bool pixels,
                                           const Device& device) {
  std::vector<Specialisation> launches;
  const std::vector<size_t> sizes = group_sizes(device);
  for (size_t size : sizes) launches.push_back({entry, {size, 1, 1}, false});
  if (!pixels) launches.push_back({entry, {sizes.front(), 1, 1}, true});
  return launches;
}

std::vector<ParamSpec> param_specs(const CompiledKernel& kernel) {
  std::vector<ParamSpec> specs;
  for (const KernelArgument& argument : kernel.arguments) {
    if (argument.kind != KernelArgument::Kind::scalar) continue;
    if (kernel.lengths->find(argument.name)) continue;
    ParamSpec spec;
    spec.name = argument.name;
    spec.required = true;
    spec.summary = text("passed as ", argument.type);
    spec.kind = ParamSpec::Kind::number;
    if (is_integer_scalar(argument.type)) {
      spec.kind = ParamSpec::Kind::integer;
      std::tie(spec.min, spec.max) = integer_range(argument.type);
    }
    specs.push_back(std::move(spec));
  }
  for (ParamSpec& spec : kernel.lengths->params()) specs.push_back(std::move(spec));
  return specs;
}

// The names of the kernels in the source, before macro expansion.
std::vector<std::string> written_kernels(const std::vector<SourceToken>& tokens) {
  std::vector<std::string> names;
  bool kernel = false;
  for (size_t i = 0; i + 1 < tokens.size(); ++i) {
    kernel = kernel || tokens[i].is("__kernel") || tokens[i].is("kernel");
    if (tokens[i].is("{") || tokens[i].is(";")) kernel = false;
    const bool name = tokens[i].kind == SourceToken::Kind::word && tokens[i + 1].is("(") &&
                      !tokens[i].spelling.starts_with("__attribute") && i > 0 &&
                      tokens[i - 1].is("void");
    if (kernel && name) names.push_back(tokens[i].spelling);
  }
  return names;
}

// Rejects a kernel with more local memory than the device has: some drivers abort at its launch.
void check_local_memory(const CustomSource& custom, const CompiledKernel& kernel,
                        const ClKernel& object, const Device& device) {
  cl_ulong declared = 0;
  check(cl().clGetKernelWorkGroupInfo(object.get(), device.info().id, CL_KERNEL_LOCAL_MEM_SIZE,
                                      sizeof(declared), &declared, nullptr),
        "clGetKernelWorkGroupInfo");
  // In double, since the caller's numbers are not bounded.
  auto bytes = static_cast<double>(declared);
  for (const KernelArgument& argument : kernel.arguments) {
    const auto found = custom.local_memory.find(argument.name);
    if (argument.kind != KernelArgument::Kind::local || found == custom.local_memory.end())
      continue;
    bytes += static_cast<double>(found->second) * static_cast<double>(argument.bytes);
  }
  if (bytes <= static_cast<double>(device.info().local_memory)) return;
  throw Error(Reason::unsupported, text(custom.name, " uses ", static_cast<uint64_t>(bytes),
                                        " bytes of __local memory; ", device.info().name, " has ",
                                        device.info().local_memory));
}

// Applies the work-group size that the caller fixes, in addition to that of the source.
void fix_group(const CustomSource& custom, CompiledKernel& kernel, const Device& device) {
  if (custom.local.empty()) return;
  const size_t dimensions = custom.items.empty() ? (kernel.pixels ? 2 : 1) : custom.items.size();
  if (custom.local.size() > dimensions) {
    refuse(text("local of ", custom.name, " has ", custom.local.size(), " dimensions, its range ",
                dimensions));
  }
  std::array<size_t, 3> local{1, 1, 1};
  uint64_t items = 1;
  for (size_t i = 0; i < custom.local.size(); ++i) {
    local[i] = static_cast<size_t>(custom.local[i]);
    items *= local[i];
  }
  const uint64_t most = std::max<uint64_t>(1, device.info().max_work_group);
  if (items > most) {
    throw Error(Reason::unsupported, text("a work-group of ", custom.name, " has ", items,
                                          " work-items; ", device.info().name, " allows ", most));
  }
  if (kernel.required_local[0] != 0 && kernel.required_local != local) {
    refuse(text("the source of ", custom.name,
                " requires another work-group size than local: reqd_work_group_size"));
  }
  kernel.required_local = local;
}

// Drivers that implement the built-in functions as macros rename arguments of these names, such as
// `sign` to `_cl_sign`; the caller means the name in the source.
void restore_names(const std::vector<SourceToken>& tokens, std::vector<KernelArgument>& arguments) {
  constexpr std::string_view kPrefix = "_cl_";
  for (KernelArgument& argument : arguments) {
    const bool written = std::any_of(tokens.begin(), tokens.end(), [&argument](const auto& token) {
      return token.spelling == argument.name;
    });
    if (!written && argument.name.starts_with(kPrefix)) argument.name.erase(0, kPrefix.size());
  }
}

bool uses_pixels(const CustomSource& custom, const std::string& source) {
  if (!custom.items.empty()) return false;
  if (custom.range != "auto") return custom.range == "pixels";
  return source.find("get_global_id(1)") != std::string::npos;
}

// Compiles the source, and the kernel for its usual launches or the only one that it allows.
void build(const CustomSource& custom, const CheckedSource& source, CompiledKernel& kernel,
           Planner& planner) {
  const Device& device = planner.device();
  const std::vector<SourceToken> tokens = tokens_of(source.text);
  const std::vector<std::string> written = written_kernels(tokens);
  const std::string& requested = custom.entry.empty() ? custom.name : custom.entry;
  const std::string entry = written.size() == 1 ? written.front() : requested;
  kernel.pixels = uses_pixels(custom, source.text);
  // Drivers may put lines of their own in front of a source.
  kernel.program =
      planner.foreign_program("#line 1 \"source\"\n" + source.text, "-cl-kernel-arg-info");
  try {
    kernel.program->build_from_source(usual_launches(entry, kernel.pixels, device));
  } catch (const Error& error) {
    throw located(error, custom.name, source);
  }
  kernel.entry = choose_entry(custom, kernel_names(kernel.program->get()));

  const ClKernel object = kernel.program->create_kernel(kernel.entry);
  kernel.arguments = kernel_arguments(object.get());
  restore_names(tokens, kernel.arguments);
  check_local_memory(custom, kernel, object, device);
  check(cl().clGetKernelWorkGroupInfo(
            object.get(), device.info().id, CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
            sizeof(kernel.required_local), kernel.required_local.data(), nullptr),
        "clGetKernelWorkGroupInfo");
  fix_group(custom, kernel, device);
  const std::array<size_t, 3>& local = kernel.required_local;
  if (local[0] != 0) kernel.program->build_for(kernel.entry, {local, local, 3});
}

}  // namespace

Descriptor make_custom_kernel(const CustomSource& custom, Planner& planner) {
  auto kernel = std::make_shared<CompiledKernel>();
  kernel->name = custom.name;
  kernel->trusted = custom.trusted;
  kernel->items = custom.items;
  kernel->outputs = custom.outputs;
  kernel->local_memory = custom.local_memory;
  build(custom, checked_source(custom.name, custom.source, custom.headers), *kernel, planner);
  kernel->lengths.emplace(custom.name, kernel->arguments, custom.params, custom.sizes,
                          kernel->pixels, custom.outputs);
  check_arguments(custom, *kernel);

  Descriptor descriptor;
  descriptor.name = custom.name;
  descriptor.summary = custom.summary.empty() ? "Registered by the application." : custom.summary;
  descriptor.inputs = custom.inputs;
  descriptor.outputs = static_cast<int>(custom.outputs.size());
  descriptor.dtypes.assign(std::begin(kAllDTypes), std::end(kAllDTypes));
  descriptor.output_rule = "defined by its source";
  descriptor.params = param_specs(*kernel);
  descriptor.check = [kernel](const Call& call) { check_call(*kernel, call); };
  descriptor.plan = [kernel](const Call& call, Planner& planner) {
    return plan_call(*kernel, call, planner.device());
  };
  descriptor.custom = true;
  descriptor.programs = {kernel->program};
  return descriptor;
}

}  // namespace dala
