#include "kernels/custom/custom_kernel.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <sstream>
#include <tuple>
#include <utility>

#include "kernels/custom/kernel_arguments.hpp"
#include "runtime/error.hpp"

namespace dala {
namespace {

constexpr const char* kReserved[] = {"n", "width", "height", "channels"};

bool is_reserved(const std::string& name) {
  return std::find(std::begin(kReserved), std::end(kReserved), name) != std::end(kReserved);
}

// A compiled kernel and what each of its arguments stands for.
struct Compiled {
  std::shared_ptr<Program> program;
  std::string name;   // as registered
  std::string entry;  // in the source
  std::vector<KernelArgument> arguments;
  int inputs = 0;
  bool pixels = false;                     // one item per pixel instead of per element
  std::array<size_t, 3> required_local{};  // zeros: free to choose
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

std::string choose_entry(const CustomSource& custom, cl_program program) {
  const std::vector<std::string> names = kernel_names(program);
  const std::string& wish = custom.entry.empty() ? custom.name : custom.entry;
  if (std::find(names.begin(), names.end(), wish) != names.end()) return wish;
  if (custom.entry.empty() && names.size() == 1) return names.front();
  std::string known;
  for (const std::string& name : names) known += (known.empty() ? "" : ", ") + name;
  refuse(text("the source of ", custom.name, " has no kernel named ", wish, "; it has ",
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
      if (is_reserved(argument.name) && !is_integer_scalar(argument.type)) {
        refuse(text("argument ", argument.name, " of ", custom.name,
                    " is filled in and must be an integer, not ", argument.type));
      }
      if (!listed && !is_reserved(argument.name)) {
        refuse(text("argument ", argument.name, " of ", custom.name,
                    " is neither one of its params nor one of n, width, height, channels"));
      }
    } else {
      refuse(text("argument ", argument.name, " of ", custom.name, " has the type ", argument.type,
                  "; buffers of float, double, int, long, uint or uchar (or vectors of these) and "
                  "scalars can be passed"));
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
    if (is_reserved(param)) refuse(text(param, " is filled in and cannot be a param"));
    const bool found = std::any_of(
        kernel.arguments.begin(), kernel.arguments.end(), [&param](const KernelArgument& each) {
          return each.name == param && each.kind == KernelArgument::Kind::scalar;
        });
    if (!found) refuse(text("the source of ", custom.name, " has no argument named ", param));
  }
}

struct ImageSize {
  int64_t width = 0;
  int64_t height = 0;
  int64_t channels = 1;
};

// The picture's size: from the params, from the output's shape, or from the first input's.
ImageSize image_size(const Compiled& kernel, const Call& call) {
  if (call.has("width") && call.has("height")) {
    return {call.integer("width"), call.integer("height"),
            call.has("channels") ? call.integer("channels") : 1};
  }
  std::vector<const Shape*> shapes{&call.output.shape};
  if (!call.inputs.empty()) shapes.push_back(&call.inputs.front().shape);
  for (const Shape* shape : shapes) {
    if (shape->size() == 2) return {(*shape)[1], (*shape)[0], 1};
    if (shape->size() == 3) return {(*shape)[1], (*shape)[0], (*shape)[2]};
  }
  throw Error(Reason::shape_mismatch,
              text(kernel.name, " works on images: give it buffers of shape {height, width} or ",
                   "{height, width, channels}, or the params width and height; the output is ",
                   to_string(call.output.shape)));
}

void check_buffer(const Compiled& kernel, const KernelArgument& argument, const TensorType& type,
                  const std::string& what) {
  if (*argument.element != type.dtype) {
    throw Error(Reason::dtype_mismatch,
                text(what, " of ", kernel.name, " is ", to_string(type.dtype), ", expected ",
                     to_string(*argument.element), " for ", argument.type, " ", argument.name));
  }
  if (type.count() % argument.lanes != 0) {
    throw Error(Reason::shape_mismatch,
                text(what, " of ", kernel.name, " has ", type.count(), " elements, which ",
                     argument.type, " ", argument.name, " does not divide"));
  }
}

void check_call(const Compiled& kernel, const Call& call) {
  size_t next_input = 0;
  bool needs_size = kernel.pixels;
  for (const KernelArgument& argument : kernel.arguments) {
    if (argument.kind == KernelArgument::Kind::buffer) {
      if (argument.name == "output") {
        check_buffer(kernel, argument, call.output, "the output");
      } else {
        check_buffer(kernel, argument, call.inputs[next_input], text("input ", next_input));
        ++next_input;
      }
    } else if (is_reserved(argument.name) && argument.name != "n") {
      needs_size = true;
    }
  }
  if (needs_size) image_size(kernel, call);
}

double reserved_value(const std::string& name, const Compiled& kernel, const Call& call) {
  if (name == "n") return static_cast<double>(call.output.count());
  const ImageSize size = image_size(kernel, call);
  if (name == "width") return static_cast<double>(size.width);
  if (name == "height") return static_cast<double>(size.height);
  return static_cast<double>(size.channels);
}

Range choose_range(const Compiled& kernel, const Call& call, const Device& device) {
  Range range;
  if (kernel.pixels) {
    const ImageSize size = image_size(kernel, call);
    range.global = {static_cast<size_t>(size.width), static_cast<size_t>(size.height), 1};
    range.dimensions = 2;
  } else {
    range.global = {static_cast<size_t>(call.output.count()), 1, 1};
  }
  if (kernel.required_local[0] != 0) {
    range.local = kernel.required_local;
    for (size_t i = 0; i < 3; ++i) {
      range.global[i] = (range.global[i] + range.local[i] - 1) / range.local[i] * range.local[i];
    }
    return range;
  }
  // Exactly one item per element: the group size is the largest power of two that divides the
  // row. Few sizes occur, and drivers that compile per size do so only a few times.
  const size_t most = std::min<size_t>(device.device_class() == DeviceClass::cpu ? 64 : 256,
                                       std::max<uint64_t>(1, device.info().max_work_group));
  while (range.local[0] * 2 <= most && range.global[0] % (range.local[0] * 2) == 0) {
    range.local[0] *= 2;
  }
  return range;
}

Launch plan_call(const Compiled& kernel, const Call& call, const Device& device) {
  Launch launch;
  // The source may read its neighbours' elements and may leave some of the output alone.
  launch.in_place = false;
  launch.overwrites_output = false;
  KernelStep step{kernel.program, kernel.entry, {}, choose_range(kernel, call, device)};
  if (step.range.global[0] == 0 || step.range.global[1] == 0) return launch;

  int next_input = 0;
  for (const KernelArgument& argument : kernel.arguments) {
    if (argument.kind == KernelArgument::Kind::buffer) {
      step.arguments.emplace_back(argument.name == "output" ? output() : input(next_input++));
      continue;
    }
    const double number = is_reserved(argument.name) ? reserved_value(argument.name, kernel, call)
                                                     : call.number(argument.name);
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
  bool sizes = kernel.pixels;
  for (const KernelArgument& argument : kernel.arguments) {
    if (argument.kind != KernelArgument::Kind::scalar) continue;
    if (is_reserved(argument.name)) {
      sizes = sizes || argument.name != "n";
      continue;
    }
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
  if (!sizes) return specs;
  for (const char* name : {"width", "height", "channels"}) {
    ParamSpec spec;
    spec.name = name;
    spec.kind = ParamSpec::Kind::integer;
    spec.min = 1;
    spec.max = 1 << 24;
    spec.summary = "of the image, for buffers whose shape does not say it";
    specs.push_back(std::move(spec));
  }
  return specs;
}

}  // namespace

Descriptor make_custom_kernel(const CustomSource& custom, Planner& planner) {
  auto kernel = std::make_shared<Compiled>();
  kernel->name = custom.name;
  kernel->program = planner.program(custom.source, {}, {}, "-cl-kernel-arg-info");
  kernel->program->build_from_source();
  kernel->entry = choose_entry(custom, kernel->program->get());
  const ClKernel object = kernel->program->create_kernel(kernel->entry);
  kernel->arguments = kernel_arguments(object.get());
  kernel->inputs = custom.inputs;
  kernel->pixels =
      custom.range == "pixels" ||
      (custom.range == "auto" && custom.source.find("get_global_id(1)") != std::string::npos);
  check(cl().clGetKernelWorkGroupInfo(
            object.get(), planner.device().info().id, CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
            sizeof(kernel->required_local), kernel->required_local.data(), nullptr),
        "clGetKernelWorkGroupInfo");
  check_arguments(custom, *kernel);

  Descriptor descriptor;
  descriptor.name = custom.name;
  descriptor.summary = custom.summary.empty() ? "Registered by the application." : custom.summary;
  descriptor.inputs = custom.inputs;
  descriptor.dtypes.assign(std::begin(kAllDTypes), std::end(kAllDTypes));
  descriptor.output_rule = "as its source says";
  descriptor.params = param_specs(*kernel);
  descriptor.check = [kernel](const Call& call) { check_call(*kernel, call); };
  descriptor.plan = [kernel](const Call& call, Planner& planner) {
    return plan_call(*kernel, call, planner.device());
  };
  descriptor.custom = true;
  return descriptor;
}

}  // namespace dala
