#include "kernels/custom/compiled_kernel.hpp"

#include <utility>

#include "runtime/error.hpp"

namespace dala {
namespace {

// Complex numbers as the source sees them: an additional dimension of two floats, or a float2 each.
Call pairs_of_floats(Call call) {
  const auto replace = [](TensorType& type) {
    if (type.dtype != DType::c64) return;
    type.dtype = DType::f32;
    type.shape.push_back(2);
  };
  for (TensorType& type : call.inputs) replace(type);
  replace(call.output);
  for (TensorType& type : call.more_outputs) replace(type);
  return call;
}

// Whether a pointer is to elements of that type. OpenCL C has no bf16, so a kernel reads its bits,
// like those of f16, as ushort.
bool holds(const KernelArgument& argument, DType dtype) {
  return *argument.element == dtype || (*argument.element == DType::u16 && is_narrow_float(dtype));
}

void check_buffer(const CompiledKernel& kernel, const KernelArgument& argument,
                  const TensorType& type, const std::string& what) {
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

Range choose_range(const CompiledKernel& kernel, const Call& call, const Device& device) {
  Range range;
  if (kernel.items.empty()) {
    const std::pair<size_t, size_t> items = kernel.lengths->items(call);
    range.global = {items.first, items.second, 1};
    if (kernel.pixels) range.dimensions = 2;
  } else {
    for (size_t i = 0; i < kernel.items.size(); ++i) {
      range.global[i] = static_cast<size_t>(kernel.items[i]);
    }
    range.dimensions = static_cast<int>(kernel.items.size());
  }
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

}  // namespace

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

void check_call(const CompiledKernel& kernel, const Call& given) {
  const Call call = pairs_of_floats(given);
  size_t next_input = 0;
  for (const KernelArgument& argument : kernel.arguments) {
    if (argument.kind != KernelArgument::Kind::buffer) continue;
    const int output = kernel.output_of(argument);
    if (output == 0) {
      check_buffer(kernel, argument, call.output, "the output");
    } else if (output > 0) {
      check_buffer(kernel, argument, call.more_outputs[static_cast<size_t>(output) - 1],
                   text("output ", output));
    } else {
      check_buffer(kernel, argument, call.inputs[next_input], text("input ", next_input));
      ++next_input;
    }
  }
  kernel.lengths->check(call);
}

Launch plan_call(const CompiledKernel& kernel, const Call& given, const Device& device) {
  const Call call = pairs_of_floats(given);
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
      const int index = kernel.output_of(argument);
      step.arguments.emplace_back(index >= 0 ? output(index) : input(next_input++));
      continue;
    }
    if (argument.kind == KernelArgument::Kind::local) {
      const auto elements = static_cast<size_t>(kernel.local_memory.at(argument.name));
      step.arguments.emplace_back(LocalMemory{elements * argument.bytes});
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
  for (const TensorType& type : call.more_outputs) launch.work += static_cast<double>(type.bytes());
  launch.steps.emplace_back(std::move(step));
  return launch;
}

}  // namespace dala
