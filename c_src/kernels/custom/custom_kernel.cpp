#include "kernels/custom/custom_kernel.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <sstream>
#include <tuple>
#include <utility>

#include "kernels/custom/kernel_arguments.hpp"
#include "kernels/custom/lengths.hpp"
#include "kernels/custom/source_lexer.hpp"
#include "runtime/error.hpp"

namespace dala {
namespace {

// A compiled kernel and the meaning of each of its arguments.
struct Compiled {
  std::shared_ptr<Program> program;
  std::string name;   // as registered
  std::string entry;  // in the source
  std::vector<KernelArgument> arguments;
  std::optional<Lengths> lengths;
  bool pixels = false;  // one work-item per pixel instead of per element
  bool trusted = false;
  std::array<size_t, 3> required_local{};  // zeros if the source does not fix a work-group size
};

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

void check_arguments(const CustomSource& custom, const Compiled& kernel) {
  int inputs = 0;
  bool has_output = false;
  for (const KernelArgument& argument : kernel.arguments) {
    const bool listed =
        std::find(custom.params.begin(), custom.params.end(), argument.name) != custom.params.end();
    if (argument.kind == KernelArgument::Kind::buffer) {
      if (argument.name == "output") {
        has_output = true;
        continue;
      }
      ++inputs;
      // A kernel that writes to an input would change memory that others only read, such as an
      // Erlang binary.
      if (!argument.is_const) {
        refuse(text("input ", argument.name, " of ", custom.name, " must be declared const, as in ",
                    "__global const ", argument.type, " ", argument.name));
      }
    } else if (argument.kind == KernelArgument::Kind::scalar) {
      const bool filled_in = kernel.lengths->find(argument.name).has_value();
      if (filled_in && !is_integer_scalar(argument.type)) {
        refuse(text("argument ", argument.name, " of ", custom.name,
                    " is filled in and must be an integer, not ", argument.type));
      }
      if (!listed && !filled_in) {
        refuse(text("argument ", argument.name, " of ", custom.name,
                    " is neither one of its params nor one of n, width, height, channels"));
      }
    } else {
      refuse(
          text("argument ", argument.name, " of ", custom.name, " has the type ", argument.type,
               "; buffers of half, float, double, char, short, int, long, uchar, ushort, uint or "
               "ulong (or vectors of these) and scalars can be passed"));
    }
  }
  if (!has_output) {
    refuse(text(custom.name, " has no argument named output, as in __global float* output"));
  }
  if (inputs != custom.inputs) {
    refuse(text(custom.name, " is registered with ", custom.inputs,
                " inputs, but its source takes ", inputs));
  }
  for (const std::string& param : custom.params) {
    if (param == "n" || param == "width" || param == "height" || param == "channels") {
      refuse(text(param, " is filled in and cannot be a param"));
    }
    const bool found = std::any_of(
        kernel.arguments.begin(), kernel.arguments.end(), [&param](const KernelArgument& each) {
          return each.name == param && each.kind == KernelArgument::Kind::scalar;
        });
    if (!found) refuse(text("the source of ", custom.name, " has no argument named ", param));
  }
}

// Complex numbers as a source sees them: one more dimension of two floats, or a float2 each.
Call pairs_of_floats(Call call) {
  const auto replace = [](TensorType& type) {
    if (type.dtype != DType::c64) return;
    type.dtype = DType::f32;
    type.shape.push_back(2);
  };
  for (TensorType& type : call.inputs) replace(type);
  replace(call.output);
  return call;
}

// Whether a pointer is to elements of that type. OpenCL C has no bf16: a kernel reads its bits, and
// those of an f16, as ushort.
bool holds(const KernelArgument& argument, DType dtype) {
  return *argument.element == dtype || (*argument.element == DType::u16 && is_narrow_float(dtype));
}

void check_buffer(const Compiled& kernel, const KernelArgument& argument, const TensorType& type,
                  const std::string& what) {
  if (!holds(argument, type.dtype)) {
    throw Error(Reason::dtype_mismatch,
                text(what, " of ", kernel.name, " is ", to_string(type.dtype), ", expected ",
                     to_string(*argument.element), " for ", argument.type, " ", argument.name));
  }
  if (type.count() % argument.lanes != 0) {
    throw Error(Reason::shape_mismatch,
                text(what, " of ", kernel.name, " has ", type.count(),
                     " elements, which is not a multiple of the vector size of ", argument.type,
                     " ", argument.name));
  }
}

void check_call(const Compiled& kernel, const Call& call) {
  size_t next_input = 0;
  for (const KernelArgument& argument : kernel.arguments) {
    if (argument.kind != KernelArgument::Kind::buffer) continue;
    if (argument.name == "output") {
      check_buffer(kernel, argument, call.output, "the output");
    } else {
      check_buffer(kernel, argument, call.inputs[next_input], text("input ", next_input));
      ++next_input;
    }
  }
  kernel.lengths->check(call);
}

// The work-group sizes to choose from, largest first. Drivers that compile at launch compile each
// size separately, so the list is short for them.
std::vector<size_t> group_sizes(const Device& device) {
  std::vector<size_t> sizes{64, 8, 1};
  if (!device.compiles_at_launch()) {
    sizes = {256, 128, 64, 32, 16, 8, 4, 2, 1};
    if (device.device_class() == DeviceClass::cpu) sizes.erase(sizes.begin(), sizes.begin() + 2);
  }
  const auto too_large = [&device](size_t size) {
    return size > std::max<uint64_t>(1, device.info().max_work_group);
  };
  std::erase_if(sizes, too_large);
  return sizes;
}

Range choose_range(const Compiled& kernel, const Call& call, const Device& device) {
  Range range;
  const auto [width, height] = kernel.lengths->items(call);
  range.global = {width, height, 1};
  if (kernel.pixels) range.dimensions = 2;
  if (kernel.required_local[0] != 0) {
    range.local = kernel.required_local;
    for (size_t i = 0; i < 3; ++i) {
      range.global[i] = (range.global[i] + range.local[i] - 1) / range.local[i] * range.local[i];
    }
    return range;
  }
  // Exactly one work-item per element: the group is the largest that divides the row.
  for (size_t size : group_sizes(device)) {
    if (range.global[0] % size != 0) continue;
    range.local[0] = size;
    break;
  }
  return range;
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

Launch plan_call(const Compiled& kernel, const Call& call, const Device& device) {
  Launch launch;
  // The source may read elements at other positions, and may write only a part of the output.
  launch.in_place = false;
  launch.overwrites_output = false;
  launch.trusted = kernel.trusted;
  KernelStep step{kernel.program, kernel.entry, {}, choose_range(kernel, call, device)};
  if (step.range.global[0] == 0 || step.range.global[1] == 0) return launch;

  int next_input = 0;
  for (const KernelArgument& argument : kernel.arguments) {
    if (argument.kind == KernelArgument::Kind::buffer) {
      step.arguments.emplace_back(argument.name == "output" ? output() : input(next_input++));
      continue;
    }
    const auto length = kernel.lengths->find(argument.name);
    const double number =
        length ? kernel.lengths->value(*length, call) : call.number(argument.name);
    Value bytes{scalar_bytes(argument.type, number)};
    if (bytes.bytes.empty()) {
      throw Error(Reason::invalid_param,
                  text("parameter ", argument.name, " of ", kernel.name, " is ", number, ", which ",
                       argument.type, " cannot hold"));
    }
    step.arguments.emplace_back(std::move(bytes));
  }
  launch.work = static_cast<double>(call.output.bytes());
  for (const TensorType& type : call.inputs) launch.work += static_cast<double>(type.bytes());
  launch.steps.emplace_back(std::move(step));
  return launch;
}

std::vector<ParamSpec> param_specs(const Compiled& kernel) {
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
void check_local_memory(const CustomSource& custom, const ClKernel& kernel, const Device& device) {
  cl_ulong bytes = 0;
  check(cl().clGetKernelWorkGroupInfo(kernel.get(), device.info().id, CL_KERNEL_LOCAL_MEM_SIZE,
                                      sizeof(bytes), &bytes, nullptr),
        "clGetKernelWorkGroupInfo");
  if (bytes <= device.info().local_memory) return;
  throw Error(Reason::unsupported, text(custom.name, " uses ", bytes, " bytes of __local memory; ",
                                        device.info().name, " has ", device.info().local_memory));
}

bool uses_pixels(const CustomSource& custom, const std::string& source) {
  if (custom.range != "auto") return custom.range == "pixels";
  return source.find("get_global_id(1)") != std::string::npos;
}

// Compiles the source, and the kernel for its usual launches or the only one that it allows.
void build(const CustomSource& custom, const std::string& source, Compiled& kernel,
           Planner& planner) {
  const Device& device = planner.device();
  const std::vector<std::string> written = written_kernels(tokens_of(source));
  const std::string& requested = custom.entry.empty() ? custom.name : custom.entry;
  const std::string entry = written.size() == 1 ? written.front() : requested;
  kernel.pixels = uses_pixels(custom, source);
  kernel.program = planner.foreign_program(source, "-cl-kernel-arg-info");
  kernel.program->build_from_source(usual_launches(entry, kernel.pixels, device));
  kernel.entry = choose_entry(custom, kernel_names(kernel.program->get()));

  const ClKernel object = kernel.program->create_kernel(kernel.entry);
  check_local_memory(custom, object, device);
  kernel.arguments = kernel_arguments(object.get());
  check(cl().clGetKernelWorkGroupInfo(
            object.get(), device.info().id, CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
            sizeof(kernel.required_local), kernel.required_local.data(), nullptr),
        "clGetKernelWorkGroupInfo");
  const std::array<size_t, 3>& local = kernel.required_local;
  if (local[0] != 0) kernel.program->build_for(kernel.entry, {local, local, 3});
}

}  // namespace

Descriptor make_custom_kernel(const CustomSource& custom, Planner& planner) {
  auto kernel = std::make_shared<Compiled>();
  kernel->name = custom.name;
  kernel->trusted = custom.trusted;
  build(custom, checked_source(custom.name, custom.source, custom.headers), *kernel, planner);
  kernel->lengths.emplace(custom.name, kernel->arguments, custom.params, custom.sizes,
                          kernel->pixels);
  check_arguments(custom, *kernel);

  Descriptor descriptor;
  descriptor.name = custom.name;
  descriptor.summary = custom.summary.empty() ? "Registered by the application." : custom.summary;
  descriptor.inputs = custom.inputs;
  descriptor.dtypes.assign(std::begin(kAllDTypes), std::end(kAllDTypes));
  descriptor.output_rule = "defined by its source";
  descriptor.params = param_specs(*kernel);
  descriptor.check = [kernel](const Call& call) { check_call(*kernel, pairs_of_floats(call)); };
  descriptor.plan = [kernel](const Call& call, Planner& planner) {
    return plan_call(*kernel, pairs_of_floats(call), planner.device());
  };
  descriptor.custom = true;
  descriptor.programs = {kernel->program};
  return descriptor;
}

}  // namespace dala
