#include "model/model.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "model/folder.hpp"
#include "model/foreign.hpp"
#include "model/onnx/import.hpp"
#include "model/ops/table.hpp"
#include "model/optimize.hpp"
#include "model/symbolic.hpp"
#include "model/tfjs/import.hpp"
#include "model/tflite/import.hpp"
#include "model/views.hpp"
#include "model/walk.hpp"
#include "plan/fusion.hpp"

namespace dala::model {
namespace {

constexpr size_t kMostPlans = 8;
constexpr size_t kMostNewValues = 16;  // of small inputs in a row, before plans are given up
constexpr int64_t kSmallInput = 16;    // elements of an input whose values a plan may be made for

std::string shape_text(const std::vector<Dimension>& shape) {
  std::vector<std::string> parts;
  for (const Dimension& dimension : shape) {
    parts.push_back(dimension.size           ? std::to_string(*dimension.size)
                    : dimension.name.empty() ? "_"
                                             : dimension.name);
  }
  return "{" + join(parts, ", ") + "}";
}

// A problem with a file, rather than with a call, whatever it was called where it was found.
[[noreturn]] void rethrow_as_invalid(const Error& problem) {
  switch (problem.reason) {
    case Reason::shape_mismatch:
    case Reason::dtype_mismatch:
    case Reason::invalid_param:
    case Reason::arity_mismatch:
      throw Error(Reason::invalid_model, problem.message, problem.details);
    default:
      throw problem;
  }
}

Error freed_error() { return Error(Reason::freed, "the model has been freed"); }

// Tables that plans make grow with the dimensions of inputs. A dimension of 0 makes no memory of
// the others, so it does not count here.
void need_room(const Port& port, const Shape& shape, uint64_t room) {
  Shape extents = shape;
  std::replace(extents.begin(), extents.end(), int64_t{0}, int64_t{1});
  const TensorType type = checked_type(storage_of(port.type), std::move(extents));
  if (type.bytes() <= room) return;
  throw Error(Reason::out_of_memory, text("input \"", port.name, "\" has shape ", to_string(shape),
                                          ", too large for the ", room, " bytes of the device"));
}

// Formats are told apart by what is in the file.
Graph imported(onnx::Bytes file, const std::string& folder) {
  if (tflite::is_tflite(file)) return tflite::import(file);
  if (tfjs::is_json(file)) return tfjs::import(file, folder);
  refuse_foreign(file);
  return onnx::import(file, folder);
}

}  // namespace

Model::Model(Engine& engine, Graph graph) : engine_(engine), graph_(std::move(graph)) {
  each_constant(graph_, [this](const HostTensorPtr& tensor) {
    if (!constants_.uploads.emplace(tensor, nullptr).second) return;
    parameters_ += tensor->count();
    weight_bytes_ += tensor->bytes.size();
  });
}

std::shared_ptr<Model> Model::load(Engine& engine, onnx::Bytes file, const std::string& folder) {
  Graph graph;
  try {
    graph = imported(file, folder);
  } catch (const Error& problem) {
    rethrow_as_invalid(problem);
  }
  return from_graph(engine, std::move(graph));
}

std::shared_ptr<Model> Model::from_graph(Engine& engine, Graph graph) {
  std::shared_ptr<Model> model;
  try {
    check_operators(graph);
    model.reset(new Model(engine, optimized(std::move(graph))));
    model->prepare();
    model->complete_outputs();
  } catch (const Error& problem) {
    rethrow_as_invalid(problem);
  }
  return model;
}

std::shared_ptr<Model> Model::load_file(Engine& engine, const std::string& path) {
  const std::vector<std::byte> bytes = read_model_file(path);
  const std::filesystem::path place(path);
  // Without the mark of its format it would be taken for something else.
  if (place.extension() == ".tflite" && !tflite::is_tflite(bytes)) {
    throw Error(Reason::invalid_model, "this is not a TFLite file");
  }
  const std::string folder = place.parent_path().string();
  return load(engine, bytes, folder.empty() ? "." : folder);
}

Model::Info Model::info() {
  const std::lock_guard lock(mutex_);
  Info info;
  info.opset = graph_.opset;
  info.producer = graph_.producer;
  info.nodes = graph_.nodes.size();
  info.parameters = parameters_;
  info.weight_bytes = weight_bytes_;
  for (const auto& [shapes, cached] : plans_) info.working_bytes += cached.plan->bytes();
  return info;
}

// Works out the dimensions of outputs that the file leaves open.
void Model::complete_outputs() {
  const auto fixed = [](const Port& port) {
    return port.shape && std::all_of(port.shape->begin(), port.shape->end(),
                                     [](const Dimension& each) { return each.size.has_value(); });
  };
  if (std::all_of(graph_.outputs.begin(), graph_.outputs.end(), fixed)) return;
  const Trial trial =
      [this](const std::vector<Shape>& shapes) -> std::optional<std::vector<Shape>> {
    try {
      Build build(engine_, constants_, Build::Mode::shapes);
      std::vector<Shape> outputs;
      for (const Tensor& output : walk(build, planned_inputs(shapes))) {
        outputs.push_back(output.shape);
      }
      return outputs;
    } catch (const Error&) {
      return std::nullopt;
    }
  };
  try {
    const auto found = symbolic_outputs(graph_.inputs, trial);
    if (found) model::complete_outputs(graph_.outputs, *found);
  } catch (const NeedsValues&) {
    // They depend on values.
  }
}

// The shapes of inputs that fit the model.
std::vector<Shape> Model::shapes_of(const std::vector<BufferPtr>& inputs) const {
  std::vector<Shape> shapes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorType& type = inputs[i]->type();
    shapes.push_back(type.shape);
    if (inputs.size() != graph_.inputs.size()) continue;
    if (type.dtype == storage_of(graph_.inputs[i].type)) continue;
    const Port& port = graph_.inputs[i];
    throw Error(Reason::dtype_mismatch,
                text("input \"", port.name, "\" is ", to_string(type.dtype), ", the model takes ",
                     to_string(storage_of(port.type))));
  }
  check_shapes(shapes);
  return shapes;
}

void Model::check_shapes(const std::vector<Shape>& shapes) const {
  if (shapes.size() != graph_.inputs.size()) {
    throw Error(Reason::arity_mismatch,
                text("the model takes ", graph_.inputs.size(),
                     graph_.inputs.size() == 1 ? " input" : " inputs", ", got ", shapes.size()));
  }
  struct Named {
    int64_t size = 0;
    const Port* port = nullptr;
  };
  std::map<std::string, Named> named;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const Port& port = graph_.inputs[i];
    const Shape& shape = shapes[i];
    need_room(port, shape, engine_.runtime().memory().info().limit);
    if (!port.shape) continue;
    bool fits = shape.size() == port.shape->size();
    for (size_t d = 0; fits && d < shape.size(); ++d) {
      const Dimension& dimension = (*port.shape)[d];
      if (dimension.size) {
        fits = shape[d] == *dimension.size;
      } else if (!dimension.name.empty()) {
        const Named& first = named.emplace(dimension.name, Named{shape[d], &port}).first->second;
        if (first.size == shape[d]) continue;
        throw Error(Reason::shape_mismatch,
                    text("input \"", port.name, "\" has ", shape[d], " for the dimension ",
                         dimension.name, ", input \"", first.port->name, "\" has ", first.size));
      }
    }
    if (fits) continue;
    throw Error(Reason::shape_mismatch,
                text("input \"", port.name, "\" has shape ", to_string(shape), ", the model takes ",
                     shape_text(*port.shape)));
  }
}

// Asks every operator in turn. The tensors that come back are those of the outputs.
std::vector<Tensor> Model::walk(Build& build, const std::vector<Tensor>& inputs) const {
  const std::vector<Tensor> results = model::walk(build, graph_, inputs);

  // Outputs get memory of their own: a constant, an input and what is an output already do not
  // have it.
  std::set<const plan::Value*> taken;
  for (const plan::Node& node : build.nodes()) {
    for (const plan::ValuePtr& value : node.inputs) {
      if (value->input >= 0) taken.insert(value.get());
    }
  }
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < results.size(); ++i) {
    const Port& port = graph_.outputs[i];
    const auto maker =
        std::find_if(graph_.nodes.begin(), graph_.nodes.end(), [&](const Node& node) {
          return std::find(node.outputs.begin(), node.outputs.end(), port.tensor) !=
                 node.outputs.end();
        });
    build.set_layer(maker == graph_.nodes.end() ? "outputs" : describe(*maker));
    const Tensor tensor = in_own_order(build, results[i]);
    const bool own = tensor.place != nullptr && tensor.place->input < 0 &&
                     tensor.known == nullptr && taken.insert(tensor.place.get()).second;
    if (own) {
      outputs.push_back(tensor);
      continue;
    }
    Tensor copy = build.fresh(tensor.type, tensor.shape);
    build.copy(tensor, copy);
    outputs.push_back(copy);
  }
  return outputs;
}

// The inputs of a plan, whose memory every run brings along.
std::vector<Tensor> Model::planned_inputs(const std::vector<Shape>& shapes,
                                          const Values& values) const {
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (const auto found = values.find(i); found != values.end()) {
      Tensor known;
      known.type = graph_.inputs[i].type;
      known.shape = shapes[i];
      known.known = std::make_shared<HostTensor>(*found->second);
      inputs.push_back(std::move(known));
      continue;
    }
    Tensor input;
    input.type = graph_.inputs[i].type;
    input.shape = checked_type(storage_of(input.type), shapes[i]).shape;
    input.place = std::make_shared<Place>();
    input.place->type = input.storage();
    input.place->input = static_cast<int>(i);
    inputs.push_back(std::move(input));
  }
  return inputs;
}

Model::PlanPtr Model::make_plan(const std::vector<Shape>& shapes, const Values& values) {
  Build build(engine_, constants_, Build::Mode::plan);
  std::vector<plan::Plan::Output> outputs;
  for (const Tensor& tensor : walk(build, planned_inputs(shapes, values))) {
    tensor.place->output = static_cast<int>(outputs.size());
    outputs.push_back({tensor.place, tensor.storage()});
  }
  const bool fuse = engine_.runtime().config().fusion;
  std::vector<plan::Node> nodes;
  for (plan::Fused& each : plan::fused(build.nodes(), engine_.planner(), fuse)) {
    if (each.node.launch != nullptr) nodes.push_back(std::move(each.node));
  }
  return std::make_shared<plan::Plan>(engine_.runtime(), std::move(nodes), std::move(outputs),
                                      plan::Plan::Memory::kept);
}

// Throws NeedsValues.
Model::PlanPtr Model::found_or_made(const std::vector<Shape>& shapes, const Values& values) {
  std::vector<Shape> key = shapes;
  for (const auto& [index, tensor] : values) key.push_back(tensor->integers());
  const std::lock_guard lock(mutex_);
  if (freed_) throw freed_error();
  if (eager_) return nullptr;
  const auto found = plans_.find(key);
  if (found != plans_.end()) {
    found->second.used = ++uses_;
    new_values_ = 0;
    return found->second.plan;
  }
  // An input that differs every time, such as a position, would make every plan a new one.
  if (!values.empty() && ++new_values_ > kMostNewValues) throw NeedsValues{};
  PlanPtr plan = make_plan(shapes, values);
  if (plans_.size() >= kMostPlans) {
    plans_.erase(std::min_element(plans_.begin(), plans_.end(), [](const auto& a, const auto& b) {
      return a.second.used < b.second.used;
    }));
  }
  plans_[key] = {plan, ++uses_};
  return plan;
}

Model::Values Model::small_values(const std::vector<BufferPtr>& inputs) const {
  Values values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ElementType type = graph_.inputs[i].type;
    const TensorType& given = inputs[i]->type();
    if (is_float(type) || given.count() > kSmallInput || given.count() == 0) continue;
    auto tensor = std::make_shared<HostTensor>(type, given.shape);
    tensor->bytes = engine_.runtime().read_now(inputs[i]);
    values[i] = std::move(tensor);
  }
  return values;
}

Model::PlanPtr Model::plan_for(const std::vector<Shape>& shapes,
                               const std::vector<BufferPtr>* inputs) {
  try {
    if (!by_value_) return found_or_made(shapes, {});
  } catch (const NeedsValues&) {
    by_value_ = true;
  }
  if (inputs == nullptr) return nullptr;
  try {
    const Values values = small_values(*inputs);
    if (!values.empty()) return found_or_made(shapes, values);
  } catch (const NeedsValues&) {
    // Others decide.
  }
  const std::lock_guard lock(mutex_);
  if (freed_) throw freed_error();
  eager_ = true;
  return nullptr;
}

std::vector<BufferPtr> Model::run_eagerly(const std::vector<BufferPtr>& buffers) {
  const std::lock_guard lock(mutex_);
  if (freed_) throw freed_error();
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < buffers.size(); ++i) {
    Tensor input;
    input.type = graph_.inputs[i].type;
    input.shape = buffers[i]->type().shape;
    input.place = std::make_shared<Place>();
    input.place->type = input.storage();
    input.place->input = static_cast<int>(i);
    input.place->buffer = buffers[i];
    inputs.push_back(std::move(input));
  }
  Build build(engine_, constants_, Build::Mode::eager);
  const std::vector<Tensor> tensors = walk(build, inputs);
  build.flush();
  std::vector<BufferPtr> outputs;
  for (const Tensor& tensor : tensors) {
    Place& place = *tensor.place;
    if (place.storage == nullptr) allocate(engine_.runtime(), place);  // empty ones
    outputs.push_back(std::make_shared<Buffer>(tensor.storage(), place.storage));
  }
  return outputs;
}

// A model may be freed by another thread in the meantime.
CommandId Model::submit(const plan::Plan::Bound& bound, std::shared_ptr<Client> client,
                        const Listener& listener, std::shared_ptr<Profile> watcher) {
  try {
    return engine_.runtime().scheduler().submit(bound.stages, std::move(client), listener,
                                                std::move(watcher));
  } catch (const Error& problem) {
    if (problem.reason != Reason::freed || !freed_) throw;
    throw freed_error();
  }
}

std::optional<CommandId> Model::predict(const std::vector<BufferPtr>& inputs,
                                        std::shared_ptr<Client> client, const Done& done) {
  const PlanPtr plan = plan_for(shapes_of(inputs), &inputs);
  if (plan == nullptr) {
    done(run_eagerly(inputs), nullptr);
    return std::nullopt;
  }
  plan::Plan::Bound bound = plan->bind(engine_.runtime(), inputs);
  return submit(
      bound, std::move(client),
      [done, outputs = bound.outputs](CommandId, const Error* error) { done(outputs, error); });
}

std::vector<BufferPtr> Model::predict_now(const std::vector<BufferPtr>& inputs) {
  const PlanPtr plan = plan_for(shapes_of(inputs), &inputs);
  if (plan == nullptr) return run_eagerly(inputs);
  Runtime& runtime = engine_.runtime();
  plan::Plan::Bound bound = plan->bind(runtime, inputs);
  runtime.wait(submit(bound, nullptr, nullptr));
  return std::move(bound.outputs);
}

// Pipelines hold the buffers of plans until they run again; without memory these take no room.
void Model::free() {
  const std::lock_guard lock(mutex_);
  freed_ = true;
  for (const auto& [shapes, cached] : plans_) cached.plan->give_back(engine_.runtime());
  plans_.clear();
  constants_ = {};
  graph_.constants.clear();
  for (Node& node : graph_.nodes) {
    for (auto& [name, attribute] : node.attributes) attribute.graph.reset();
  }
}

}  // namespace dala::model
