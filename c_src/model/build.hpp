// The planning of a graph: operators are asked one after the other what they compute, and answer
// by calling what is here. What depends only on constants is computed at once, on the host; the
// rest becomes nodes of a plan.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "kernels/engine.hpp"
#include "model/host_kernels.hpp"
#include "model/layouts.hpp"
#include "model/tensor.hpp"

namespace dala::model {

// Thrown when a shape depends on values that are known only while the graph runs.
struct NeedsValues {};

// Constants and where they are on the device, once they are.
using Uploads = std::map<HostTensorPtr, BufferPtr>;

// What all plans of a model share: its constants, each with an entry in `uploads`, and the weights
// of convolutions as conv2d_pack orders them, by how many groups they are for.
struct SharedConstants {
  Uploads uploads;
  std::map<std::pair<HostTensorPtr, int64_t>, BufferPtr> packed;
};

class Build {
 public:
  enum class Mode {
    plan,
    eager,  // values that are asked for are computed and read back, so the plan is good for once
    shapes  // nothing is planned: the device is not touched, and only shapes come out
  };
  Build(Engine& engine, SharedConstants& shared, Mode mode)
      : engine_(engine), shared_(shared), mode_(mode) {}

  Engine& engine() { return engine_; }
  Mode mode() const { return mode_; }
  std::vector<plan::Node>& nodes() { return nodes_; }
  void set_layer(std::string layer) { layer_ = std::move(layer); }

  // Tensors: with these values; in new memory on the device.
  Tensor constant(HostTensorPtr values);
  Tensor fresh(ElementType type, Shape shape);
  // A result of these inputs: on the host when all of them are known and it is little work, with
  // `weight` elements looked at for each.
  Tensor result(const std::vector<Tensor>& inputs, ElementType type, const Shape& shape,
                double weight = 1);
  // The same elements under another shape; nothing moves. Throws `shape_mismatch` unless it has as
  // many.
  static Tensor reshaped(const Tensor& tensor, const Shape& shape);

  // The values of a tensor, now. Throws NeedsValues when they are not known before the graph runs.
  const HostTensor& values(const Tensor& tensor);
  std::vector<int64_t> integers(const Tensor& tensor) { return values(tensor).integers(); }

  // Runs a kernel of this folder: inputs, the output, scalars, the layout. `weight` is how much
  // work a result is, in elements looked at.
  template <typename Layout>
  void run(const Family& family, const std::string& entry, const std::vector<Tensor>& inputs,
           Tensor& output, std::vector<dala::Value> scalars, Layout layout, double weight = 1) {
    if (layout.count == 0) return;
    Spread spread = spread_of(output, layout.count, weight);
    layout.chunk = spread.chunk;
    scalars.push_back(value(layout));
    run_spread(family, entry, inputs, output, scalars, spread, weight);
  }

  // Runs a kernel of the registry.
  Tensor kernel(const std::string& name, const std::vector<Tensor>& inputs, ElementType type,
                const Shape& shape, const Params& params);

  // Copies all bytes of a tensor into a result of the same size.
  void copy(const Tensor& from, Tensor& to);
  // Every element is the one of these bytes, of the storage type.
  void fill(Tensor& to, const dala::Value& element);

  // The memory of a tensor on the device; values that are only known go there.
  PlacePtr place_of(const Tensor& tensor);

  // Weights {co, c / groups, ..} whose values are known, ordered for conv2d, once for all plans.
  Tensor packed(const Tensor& weights, int64_t groups);

  // Runs what is planned so far and waits for it. Only when eager.
  void flush();

 private:
  struct Spread {
    int64_t chunk = 1;
    Range range;
  };
  Spread spread_of(const Tensor& output, int64_t count, double weight) const;
  void run_spread(const Family& family, const std::string& entry, const std::vector<Tensor>& inputs,
                  Tensor& output, const std::vector<dala::Value>& arguments, const Spread& spread,
                  double weight);
  std::shared_ptr<Program> program_of(const Family& family);
  bool in_sequences(const Family& family) const;
  void add_node(Launch launch, const std::vector<Tensor>& inputs, const Tensor& output);
  bool only_shapes() const { return mode_ == Mode::shapes; }

  Engine& engine_;
  SharedConstants& shared_;
  Uploads own_;
  const Mode mode_;
  std::string layer_;
  std::vector<plan::Node> nodes_;
  std::vector<HostTensorPtr> read_back_;
};

// Gives a place memory of its own.
void allocate(Runtime& runtime, Place& place);

}  // namespace dala::model
