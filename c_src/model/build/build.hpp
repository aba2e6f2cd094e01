// A plan in the making. Operators are called in topological order and describe their results with
// the functions here. Results that depend only on constants are folded on the host; all others
// become nodes of a plan.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "kernels/engine.hpp"
#include "model/build/host_kernels.hpp"
#include "model/build/layouts.hpp"
#include "model/graph/tensor.hpp"

namespace dala::model {

// Thrown when a shape depends on values that are known only while the graph runs.
struct NeedsValues {};

// Constants, with their buffers on the device once they are uploaded.
using Uploads = std::map<HostTensorPtr, BufferPtr>;

// The constants that all plans of a model share: each has an entry in `uploads`; `packed` holds the
// weights of convolutions in the order of conv2d_pack, by tensor, number of groups and whether they
// are for Winograd's algorithm.
struct SharedConstants {
  Uploads uploads;
  std::map<std::tuple<HostTensorPtr, int64_t, bool>, BufferPtr> packed;
};

class Build {
 public:
  enum class Mode {
    plan,
    eager,  // values that operators need are computed and read back; the nodes run once
    shapes  // shape inference: no nodes, and no use of the device
  };
  Build(Engine& engine, SharedConstants& shared, Mode mode)
      : engine_(engine), shared_(shared), mode_(mode) {}

  Engine& engine() { return engine_; }
  const Planner& planner() const { return engine_.planner(); }
  Mode mode() const { return mode_; }
  std::vector<plan::Node>& nodes() { return nodes_; }
  void set_layer(std::string layer) { layer_ = std::move(layer); }

  // A tensor with these values, and one in new memory on the device.
  Tensor constant(HostTensorPtr values);
  Tensor fresh(ElementType type, Shape shape);
  // A result of these inputs: on the host if the values of all are known and the work is small,
  // with `weight` elements read for each element of the result; otherwise on the device.
  Tensor result(const std::vector<Tensor>& inputs, ElementType type, const Shape& shape,
                double weight = 1);
  // The same elements under another shape, without a copy. Throws `shape_mismatch` if the number of
  // elements differs.
  static Tensor reshaped(const Tensor& tensor, const Shape& shape);

  // The values of a tensor. Throws NeedsValues if they are not known before the graph runs.
  const HostTensor& values(const Tensor& tensor);
  std::vector<int64_t> integers(const Tensor& tensor) { return values(tensor).integers(); }

  // Adds a kernel of kernels/model, which takes inputs, the output, scalars and a layout. `weight`
  // is the work per result, in elements read.
  template <typename Layout>
  void run(const Family& family, const std::string& entry, const std::vector<Tensor>& inputs,
           Tensor& output, std::vector<dala::Value> scalars, Layout layout, double weight = 1) {
    if (layout.count == 0) return;
    Spread spread = spread_of(output, layout.count, weight);
    layout.chunk = spread.chunk;
    scalars.push_back(value(layout));
    run_spread(family, entry, inputs, output, scalars, spread, weight);
  }

  // Adds a kernel of the registry.
  Tensor kernel(const std::string& name, const std::vector<Tensor>& inputs, ElementType type,
                const Shape& shape, const Params& params);

  // Copies all bytes of a tensor into a result of the same size.
  void copy(const Tensor& from, Tensor& to);
  // Sets every element of a result to this one, in bytes of the storage type.
  void fill(Tensor& to, const dala::Value& element);

  // The memory of a tensor on the device. Values that are only on the host are uploaded.
  PlacePtr place_of(const Tensor& tensor);

  // Constant weights {co, c / groups, ..} as conv2d_pack orders them, packed once for all plans.
  Tensor packed(const Tensor& weights, int64_t groups, bool winograd = false);
  // Whether an earlier plan has packed them so. Their values may be gone since.
  bool is_packed(const Tensor& weights, int64_t groups, bool winograd) const {
    return shared_.packed.count({HostTensorPtr(weights.known), groups, winograd}) != 0;
  }

  // Runs the nodes added so far and waits for them. Only in eager mode.
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

// Allocates the memory of a place.
void allocate(Runtime& runtime, Place& place);

}  // namespace dala::model
