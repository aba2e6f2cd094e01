#include "model/build/build.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/element.hpp"
#include "kernels/nn/conv/convolution.hpp"
#include "kernels/nn/nn.hpp"
#include "model/build/views.hpp"
#include "model/graph/problem.hpp"

namespace dala::model {
namespace {

// Limits of constant folding: the elements of a result, and the elements read for it, in plans and
// in shape inference.
constexpr int64_t kMaxFolded = int64_t{1} << 22;
constexpr double kMaxFoldingWork = 1 << 26;
constexpr double kMaxShapeWork = 1 << 16;
constexpr double kWorkPerGroup = 8192;  // elements read that outweigh the cost of a work-group

Defines math_defines(ElementType type, bool fp64) {
  const bool floats = is_float(type);
  const bool negatives = floats || type == ElementType::i8 || type == ElementType::i16 ||
                         type == ElementType::i32 || type == ElementType::i64;
  const size_t bytes = floats ? 8 : file_bytes(type);
  const char* own = compute_name(type);
  const char* unsigned_one = floats       ? own
                             : bytes == 1 ? "uchar"
                             : bytes == 2 ? "ushort"
                             : bytes == 4 ? "uint"
                                          : "ulong";
  const char* stored = type == ElementType::u64 ? "ulong" : cl_name(storage_of(type));
  const char* real = fp64 ? "double" : "float";
  return {{"S", stored},
          {"T", own},
          {"UT", unsigned_one},
          {"T_FLOAT", floats ? "1" : "0"},
          {"T_SIGNED", negatives ? "1" : "0"},
          {"T_BITS", std::to_string(8 * bytes)},
          {"ACC", floats      ? real
                  : negatives ? "long"
                              : "ulong"},
          {"REAL", real}};
}

}  // namespace

void allocate(Runtime& runtime, Place& place) {
  place.storage = runtime.memory().allocate(place.bytes());
  place.buffer = std::make_shared<Buffer>(
      TensorType{DType::u8, {static_cast<int64_t>(place.bytes())}}, place.storage);
}

Tensor Build::constant(HostTensorPtr values) {
  Tensor tensor;
  tensor.type = values->type;
  tensor.shape = values->shape;
  tensor.known = std::const_pointer_cast<HostTensor>(std::move(values));
  return tensor;
}

Tensor Build::fresh(ElementType type, Shape shape) {
  Tensor tensor;
  tensor.type = type;
  tensor.shape = checked_type(storage_of(type), std::move(shape)).shape;
  tensor.place = std::make_shared<Place>();
  tensor.place->type = tensor.storage();
  // No node writes an empty tensor, so no later step would allocate its memory.
  if (tensor.place->bytes() == 0 && !only_shapes()) allocate(engine_.runtime(), *tensor.place);
  return tensor;
}

Tensor Build::result(const std::vector<Tensor>& inputs, ElementType type, const Shape& shape,
                     double weight) {
  const bool known = std::all_of(inputs.begin(), inputs.end(),
                                 [](const Tensor& input) { return input.known != nullptr; });
  const TensorType checked = checked_type(storage_of(type), shape);
  const bool little =
      checked.count() <= kMaxFolded && static_cast<double>(checked.count()) * weight <=
                                           (only_shapes() ? kMaxShapeWork : kMaxFoldingWork);
  if (!known || !little) return fresh(type, shape);
  Tensor tensor;
  tensor.type = type;
  tensor.shape = shape;
  tensor.known = std::make_shared<HostTensor>(type, shape);
  return tensor;
}

Tensor Build::reshaped(const Tensor& tensor, const Shape& shape) {
  if (tensor.shape == shape) return tensor;
  if (tensor.count() == checked_type(storage_of(tensor.type), shape).count()) {
    if (auto view = reshaped_view(tensor, shape)) return *view;
  }
  Tensor result = tensor;
  result.shape = checked_type(storage_of(tensor.type), shape).shape;
  if (result.count() != tensor.count()) {
    throw Error(Reason::shape_mismatch, text("expected a tensor that can have the shape ",
                                             to_string(shape), ", got ", to_string(tensor.shape)));
  }
  if (tensor.known != nullptr) {
    result.known = std::make_shared<HostTensor>(*tensor.known);
    result.known->shape = shape;
  }
  return result;
}

const HostTensor& Build::values(const Tensor& tensor) {
  if (tensor.known != nullptr) return *tensor.known;
  if (tensor.list != nullptr) reject("a list of tensors is used as a tensor");
  if (mode_ != Mode::eager) throw NeedsValues{};
  const PlacePtr place = place_of(tensor);
  flush();
  auto values = std::make_shared<HostTensor>(tensor.type, tensor.shape);
  if (!values->bytes.empty()) {
    const std::vector<std::byte> bytes = engine_.runtime().read_now(place->buffer);
    std::copy_n(bytes.begin(), values->bytes.size(), values->bytes.begin());
  }
  // Callers get a reference, which is valid as long as this object.
  read_back_.push_back(values);
  return *values;
}

Tensor Build::kernel(const std::string& name, const std::vector<Tensor>& inputs, ElementType type,
                     const Shape& shape, const Params& params) {
  const auto descriptor = engine_.registry().find(name);
  Tensor output = fresh(type, shape);
  std::vector<TensorType> types;
  for (const Tensor& input : inputs) types.push_back(input.storage());
  const Call call = validate(*descriptor, std::move(types), output.storage(), params);
  if (only_shapes()) return output;
  Launch launch = descriptor->plan(call, engine_.planner());
  launch.name = name;
  const bool computes = !launch.steps.empty();
  add_node(std::move(launch), inputs, output);
  if (computes && descriptor->body && mode_ == Mode::plan) {
    nodes_.back().fusible =
        Fusible{descriptor->body(call, engine_.planner()), call.inputs, call.output};
  }
  return output;
}

void Build::copy(const Tensor& from, Tensor& to) {
  if (to.known != nullptr) {
    to.known->bytes = from.known->bytes;
    return;
  }
  Launch launch;
  launch.name = "copy_buffer";
  if (to.bytes() > 0) launch.steps.push_back(CopyStep{input(0), output(), to.bytes()});
  launch.work = 2.0 * static_cast<double>(to.bytes());
  add_node(std::move(launch), {from}, to);
}

void Build::fill(Tensor& to, const dala::Value& element) {
  if (to.known != nullptr) {
    std::vector<std::byte>& bytes = to.known->bytes;
    for (size_t at = 0; at < bytes.size(); at += element.bytes.size()) {
      std::copy(element.bytes.begin(), element.bytes.end(), bytes.begin() + static_cast<long>(at));
    }
    return;
  }
  Launch launch;
  launch.name = "fill";
  if (to.bytes() > 0) launch.steps.push_back(FillStep{output(), element, to.bytes()});
  launch.work = static_cast<double>(to.bytes());
  add_node(std::move(launch), {}, to);
}

PlacePtr Build::place_of(const Tensor& tensor) {
  if (tensor.place != nullptr) return tensor.place;
  if (tensor.view != nullptr) return in_own_order(*this, tensor).place;
  if (tensor.list != nullptr) reject("a list of tensors is used as a tensor");
  const auto shared = shared_.uploads.find(tensor.known);
  BufferPtr& upload = shared != shared_.uploads.end() ? shared->second : own_[tensor.known];
  if (upload == nullptr) {
    upload = engine_.runtime().from_host(tensor.storage(), tensor.known->bytes.data(),
                                         std::shared_ptr<void>(tensor.known));
  }
  auto place = std::make_shared<Place>();
  place->type = tensor.storage();
  place->buffer = upload;
  return place;
}

Tensor Build::packed(const Tensor& weights, int64_t groups, bool winograd) {
  Shape plane = weights.shape;
  if (plane.size() == 3) plane.insert(plane.begin() + 2, 1);
  const TensorType type{storage_of(weights.type), winograd ? winograd_weights_shape(plane)
                                                           : packed_weights_shape(plane, groups)};
  if (only_shapes()) return fresh(weights.type, type.shape);
  const auto key = std::make_tuple(HostTensorPtr(weights.known), groups, winograd);
  const auto found = shared_.packed.find(key);
  BufferPtr buffer = found == shared_.packed.end() ? nullptr : found->second;
  if (buffer == nullptr) {
    Runtime& runtime = engine_.runtime();
    buffer = std::make_shared<Buffer>(type, runtime.memory().allocate(type.bytes()));
    const BufferPtr plain =
        runtime.from_host({type.dtype, plane}, weights.known->bytes.data(), weights.known);
    const Stage stage =
        engine_.stage("conv2d_pack", {plain}, buffer, {{"groups", groups}, {"winograd", winograd}});
    runtime.wait(runtime.scheduler().submit({stage}, nullptr, nullptr));
    // Weights that a plan folds are constants of that plan alone.
    if (shared_.uploads.count(weights.known) != 0) shared_.packed[key] = buffer;
  }
  Tensor result;
  result.type = weights.type;
  result.shape = type.shape;
  result.place = std::make_shared<Place>();
  result.place->type = type;
  result.place->buffer = buffer;
  return result;
}

void Build::flush() {
  Runtime& runtime = engine_.runtime();
  std::vector<Stage> stages;
  for (const plan::Node& node : nodes_) {
    Stage stage;
    stage.launch = node.launch;
    for (const plan::ValuePtr& value : node.inputs) stage.inputs.push_back(value->buffer);
    auto& output = static_cast<Place&>(*node.outputs.front());
    if (output.buffer == nullptr) allocate(runtime, output);
    stage.output = output.buffer;
    stages.push_back(std::move(stage));
  }
  nodes_.clear();
  if (!stages.empty()) runtime.wait(runtime.scheduler().submit(stages, nullptr, nullptr));
}

Build::Spread Build::spread_of(const Tensor& output, int64_t count, double weight) const {
  Spread spread;
  if (output.known != nullptr) {
    spread.chunk = count;
    return spread;
  }
  const Planner& planner = engine_.planner();
  if (!planner.cpu_class()) {
    const size_t items = planner.group_items(64);
    spread.range.local[0] = items;
    spread.range.global[0] =
        static_cast<size_t>(ceil_div(count, static_cast<int64_t>(items))) * items;
    return spread;
  }
  const double wanted = static_cast<double>(count) * weight / kWorkPerGroup;
  const int64_t most = std::min(count, 4 * planner.busy_groups());
  const int64_t groups = std::clamp(static_cast<int64_t>(std::min(wanted, 1e9)), int64_t{1}, most);
  spread.chunk = ceil_div(count, groups);
  spread.range.global[0] = static_cast<size_t>(ceil_div(count, spread.chunk));
  return spread;
}

std::shared_ptr<Program> Build::program_of(const Family& family) {
  Planner& planner = engine_.planner();
  switch (family.kind) {
    case Family::Kind::move:
      return planner.program(text("model move ", family.bytes), [&] {
        return ProgramSource{{{"E", unsigned_name(family.bytes)}}, {{"model/move.cl"}}};
      });
    case Family::Kind::convert:
      return planner.program("model convert", [&] {
        return ProgramSource{{{"REAL", planner.fp64() ? "double" : "float"},
                              {"HAS_DOUBLE", planner.fp64() ? "1" : "0"}},
                             {{"model/convert.cl"}}};
      });
    case Family::Kind::math:
      break;
  }
  const ElementType type = computed_as(family.type);
  if (type == ElementType::f64 && !planner.fp64()) {
    throw Error(Reason::unsupported, text("f64 needs a device with double precision; ",
                                          planner.device().info().name, " has none"));
  }
  if (family.fixed_op >= 0) {
    return planner.program(text("model operation ", family.fixed_op, " ", to_string(type)), [&] {
      Defines defines = math_defines(type, planner.fp64());
      defines.emplace_back("FIXED_OP", std::to_string(family.fixed_op));
      return ProgramSource{defines, {{"model/elementwise.cl"}}};
    });
  }
  return planner.program(text("model math ", to_string(type)), [&] {
    return ProgramSource{
        math_defines(type, planner.fp64()),
        {{"model/elementwise.cl"}, {"model/math.cl"}, {"model/windows.cl"}, {"model/sample.cl"}}};
  });
}

void Build::run_spread(const Family& family, const std::string& entry,
                       const std::vector<Tensor>& inputs, Tensor& output,
                       const std::vector<dala::Value>& arguments, const Spread& spread,
                       double weight) {
  if (output.known != nullptr) {
    std::vector<HostArgument> given;
    for (const Tensor& input : inputs) given.emplace_back(input.known->bytes.data());
    given.emplace_back(output.known->bytes.data());
    for (const dala::Value& argument : arguments) given.emplace_back(argument);
    run_on_host(family, entry, given);
    return;
  }
  if (only_shapes()) return;
  KernelStep step{program_of(family), entry, {}, spread.range};
  Launch launch;
  launch.name = entry;
  for (size_t i = 0; i < inputs.size(); ++i) {
    step.arguments.push_back(input(static_cast<int>(i)));
    launch.work += static_cast<double>(inputs[i].bytes());
  }
  step.arguments.push_back(dala::output());
  for (const dala::Value& argument : arguments) step.arguments.push_back(argument);
  launch.steps.push_back(std::move(step));
  launch.work += static_cast<double>(output.count()) * weight;
  add_node(std::move(launch), inputs, output);
}

void Build::add_node(Launch launch, const std::vector<Tensor>& inputs, const Tensor& output) {
  if (launch.steps.empty() || only_shapes()) return;
  plan::Node node;
  for (const Tensor& input : inputs) {
    launch.bytes += static_cast<double>(input.bytes());
    node.inputs.push_back(place_of(input));
  }
  launch.bytes += static_cast<double>(output.bytes());
  node.outputs.push_back(output.place);
  node.label = layer_;
  node.launch = std::make_shared<const Launch>(std::move(launch));
  nodes_.push_back(std::move(node));
}

}  // namespace dala::model
