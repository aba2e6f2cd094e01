#include "model/import/tflite/import.hpp"

#include <set>
#include <utility>

#include "model/graph/problem.hpp"
#include "model/import/tflite/blocks.hpp"
#include "model/import/tflite/ops/planes.hpp"
#include "model/import/tflite/table.hpp"
#include "runtime/error.hpp"

namespace dala::model::tflite {
namespace {

constexpr size_t kMaxLayerName = 200;

// Reads one graph of a file. Graphs within others, the bodies of loops, have a depth.
class Importer : public Surroundings {
 public:
  explicit Importer(Bytes bytes, size_t graph = 0, int depth = 0)
      : bytes_(bytes),
        depth_(depth),
        file_(read_file(bytes, graph)),
        weights_(bytes.size()),
        builder_("tflite", file_.description),
        made_(file_.tensors.size(), kNone) {}

  Graph run() {
    read_operators();
    for (int64_t index : file_.outputs) read_output(static_cast<size_t>(index));
    add_variables();
    return builder_.finish();
  }

  Graph nested(int64_t graph) override {
    if (depth_ >= kMaxDepth) reject(text("graphs are nested more than ", kMaxDepth, " deep"));
    return Importer(bytes_, static_cast<size_t>(graph), depth_ + 1).run();
  }

  void initialize(int64_t graph) override {
    Importer other(bytes_, static_cast<size_t>(graph), depth_ + 1);
    other.initializes_ = true;
    other.read_operators();
    if (!other.starts_at_zero_) unsupported("variables that do not start at 0");
  }

  void open_variable(int64_t handle, const std::string& name) override {
    handles_[handle] = "variable " + name;
  }

  TensorId read_variable(int64_t handle, int64_t result) override {
    return variable(name_of_handle(handle), file_.tensors[static_cast<size_t>(result)]);
  }

  void assign_variable(int64_t handle, TensorId value) override {
    assign(name_of_handle(handle), value);
  }

  void update(int64_t index, TensorId value) override {
    assign(std::string(name_of(index)), value);
  }

 private:
  // The value of a variable now: at first an input of the model.
  TensorId variable(const std::string& name, const TensorInfo& info) {
    if (depth_ > 0) unsupported("variables inside of nested graphs");
    const auto found = variables_.find(name);
    if (found != variables_.end() && found->second.value != kNone) return found->second.value;
    Port port;
    port.name = name;
    port.type = graph_type(info);
    port.shape.emplace();
    for (int64_t size : info.shape) port.shape->push_back({size, ""});
    const TensorId input = builder_.input(port);
    port.tensor = input;
    variables_[name] = {input, port};
    read_.push_back(name);
    return input;
  }

  void assign(const std::string& name, TensorId value) {
    if (!initializes_) {
      if (depth_ > 0) unsupported("variables inside of nested graphs");
      variables_[name].value = value;
      return;
    }
    const HostTensorPtr known = builder_.known(value);
    bool zeros = known != nullptr;
    for (int64_t i = 0; zeros && i < known->count(); ++i) zeros = known->number(i) == 0;
    starts_at_zero_ = starts_at_zero_ && zeros;
  }

  const std::string& name_of_handle(int64_t handle) const {
    const auto found = handles_.find(handle);
    if (found == handles_.end()) reject(text("tensor ", handle, " is no handle of a variable"));
    return found->second;
  }

  // Variables that are read are inputs, and their last values outputs.
  void add_variables() {
    for (const std::string& name : read_) {
      const Variable& variable = variables_[name];
      Port port = variable.port;
      port.name = name + " (next)";
      port.tensor = variable.value;
      port.feeds = name;
      builder_.output(std::move(port));
    }
  }

  void read_operators() {
    for (int64_t index : file_.inputs) read_input(static_cast<size_t>(index));
    blocks_ = find_blocks(file_, weights_);
    for (const auto& [conv, blocks] : blocks_) {
      part_of_another_.insert(blocks.before);
      part_of_another_.insert(blocks.after);
    }
    for (size_t i = 0; i < file_.operators.size(); ++i) {
      if (part_of_another_.count(i) == 0) read_operator(i);
    }
  }

  // The port of a tensor. Its index is appended to a name that is empty or already taken.
  Port port_of(size_t index, std::set<std::string>& taken) const {
    const TensorInfo& info = file_.tensors[index];
    need_readable(info);
    Port port;
    port.name = std::string(info.name);
    if (port.name.empty() || taken.count(port.name) != 0) port.name += text(":", index);
    taken.insert(port.name);
    port.type = info.type;
    port.shape.emplace();
    for (size_t d = 0; d < info.shape.size(); ++d) {
      const bool free = !info.signature.empty() && info.signature[d] < 0;
      port.shape->push_back({free ? std::nullopt : std::optional(info.shape[d]), ""});
    }
    if (info.quantized()) {
      if (info.quantization.scales.size() != 1) {
        unsupported(text("per-axis quantization of \"", port.name, "\" is not supported"));
      }
      port.quantization = {info.quantization.scale(0), info.quantization.zero_point(0)};
    }
    return port;
  }

  // A port of a nested graph, whose values are those of the graph around it.
  Port inner(Port port, size_t index) const {
    port.type = graph_type(file_.tensors[index]);
    port.quantization.reset();
    return port;
  }

  // The inputs of QuantizeLinear and DequantizeLinear: x, the scale and the zero point.
  std::vector<TensorId> with_scale(TensorId x, const Port& port) {
    return {x, builder_.scalar(port.quantization->scale),
            builder_.scalar(static_cast<double>(port.quantization->zero_point), port.type)};
  }

  void read_input(size_t index) {
    const Port port = port_of(index, input_names_);
    builder_.set_layer(port.name);
    if (made_[index] != kNone) reject(text("\"", port.name, "\" is an input more than once"));
    if (depth_ > 0) {
      made_[index] = builder_.input(inner(port, index));
      return;
    }
    TensorId x = builder_.input(port);
    if (port.quantization) x = builder_.add("DequantizeLinear", with_scale(x, port));
    const ElementType type = graph_type(file_.tensors[index]);
    if (!port.quantization && type != port.type) x = builder_.cast(x, type);
    made_[index] = x;
  }

  void read_output(size_t index) {
    Port port = port_of(index, output_names_);
    builder_.set_layer(port.name);
    TensorId y = resolved(static_cast<int64_t>(index));
    if (depth_ > 0) {
      port = inner(port, index);
      port.tensor = y;
      builder_.output(std::move(port));
      return;
    }
    if (port.quantization) y = builder_.add("QuantizeLinear", with_scale(y, port));
    const ElementType type = graph_type(file_.tensors[index]);
    if (!port.quantization && type != port.type) y = builder_.cast(y, port.type);
    // An empty shape may mean that the file leaves the shape to the operator.
    if (port.shape->empty()) port.shape.reset();
    port.tensor = y;
    builder_.output(std::move(port));
  }

  // The tensor that was computed before, or a constant of the file.
  TensorId resolved(int64_t index) {
    if (index < 0) return kNone;
    const auto at = static_cast<size_t>(index);
    if (made_[at] != kNone) return made_[at];
    const TensorInfo& info = file_.tensors[at];
    bool empty = false;
    for (int64_t size : info.shape) empty = empty || size == 0;
    if (info.variable) return variable(std::string(info.name), info);
    if (handles_.count(index) != 0) return kNone;
    if (info.data.empty() && !empty) {
      reject(text(builder_.layer(), " needs \"", info.name, "\", which no earlier node computes"));
    }
    made_[at] = builder_.constant(weights_.read(info));
    return made_[at];
  }

  // The inputs of an operator. A merged convolution gets the input of its SPACE_TO_BATCH_ND.
  std::vector<int64_t> inputs_of(size_t index) const {
    std::vector<int64_t> inputs = file_.operators[index].inputs;
    const auto blocks = blocks_.find(index);
    if (blocks != blocks_.end()) inputs[0] = file_.operators[blocks->second.before].inputs[0];
    return inputs;
  }

  void read_operator(size_t index) {
    const OperatorInfo& op = file_.operators[index];
    builder_.set_layer(op.outputs.empty() ? op.name : layer_of(op));
    const Operator* known = find_operator(op.name);
    OpCall call{builder_, file_, op, {}, std::vector<TensorId>(op.outputs.size(), kNone), this};
    std::string problem;
    try {
      for (int64_t input : inputs_of(index)) call.inputs.push_back(resolved(input));
      // The handles of variables are of a type of their own.
      for (int64_t output : op.outputs) {
        if (op.name != "VAR_HANDLE") need_readable(file_.tensors[static_cast<size_t>(output)]);
      }
      if (known != nullptr) build(index, *known, call);
    } catch (const Error& error) {
      if (error.reason != Reason::unsupported_op) {
        throw Error(error.reason, text(op.name, " (", builder_.layer(), "): ", error.message),
                    error.details);
      }
      problem = error.message;
      known = nullptr;
    }
    if (known == nullptr) {
      call.outputs = builder_.add_unsupported(op.name, {}, op.outputs.size(), problem);
    }
    const auto blocks = blocks_.find(index);
    const OperatorInfo& last = blocks == blocks_.end() ? op : file_.operators[blocks->second.after];
    for (size_t i = 0; i < last.outputs.size() && i < call.outputs.size(); ++i) {
      TensorId& made = made_[static_cast<size_t>(last.outputs[i])];
      if (made != kNone)
        reject(text("\"", name_of(last.outputs[i]), "\" is computed more than once"));
      made = call.outputs[i];
    }
  }

  void build(size_t index, const Operator& known, OpCall& call) {
    const auto blocks = blocks_.find(index);
    if (blocks != blocks_.end()) {
      call.set(0, convolution(call, blocks->second.window));
      return;
    }
    known.build(call);
    if (known.keeps == Keeps::itself || known.keeps == Keeps::bounds) return;
    for (size_t i = 0; i < call.outputs.size(); ++i) {
      if (call.outputs[i] != kNone) clamp(call, i, known.keeps == Keeps::values);
    }
  }

  // Clamps a result to the range of its quantized type, unless the ranges of all inputs are within
  // that range.
  void clamp(OpCall& call, size_t output, bool of_inputs) {
    const auto range = range_of(call.out_info(output));
    if (!range) return;
    bool within = of_inputs;
    for (int64_t input : call.op.inputs) {
      if (input < 0) continue;
      const TensorInfo& info = file_.tensors[static_cast<size_t>(input)];
      if (graph_type(info) != ElementType::f32) continue;
      const auto other = range_of(info);
      within = within && other && other->low >= range->low - range->slack &&
               other->high <= range->high + range->slack;
    }
    if (within) return;
    call.outputs[output] = channels_last::with_epilogue(
        builder_, call.outputs[output], {channels_last::Activation::none, range->low, range->high});
  }

  // An operator is named after its first result. Some exporters concatenate dozens of names.
  std::string layer_of(const OperatorInfo& op) const {
    return std::string(name_of(op.outputs[0]).substr(0, kMaxLayerName));
  }

  std::string_view name_of(int64_t index) const {
    return file_.tensors[static_cast<size_t>(index)].name;
  }

  struct Variable {
    TensorId value = kNone;
    Port port = {};  // the input, if the variable is read
  };

  static constexpr int kMaxDepth = 16;

  const Bytes bytes_;
  const int depth_;
  bool initializes_ = false;    // the graph sets variables before the first prediction,
  bool starts_at_zero_ = true;  // all of them to 0
  File file_;
  Weights weights_;
  GraphBuilder builder_;
  std::vector<TensorId> made_;  // by tensor index in the file
  std::map<size_t, Blocks> blocks_;
  std::set<size_t> part_of_another_;
  std::set<std::string> input_names_;
  std::set<std::string> output_names_;
  std::map<int64_t, std::string> handles_;  // by tensor
  std::map<std::string, Variable> variables_;
  std::vector<std::string> read_;  // names of variables that are inputs, in that order
};

}  // namespace

Graph import(Bytes file) { return Importer(file).run(); }

}  // namespace dala::model::tflite
