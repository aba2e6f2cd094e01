// Spatial operators: convolutions, pools, resizing, normalization, blocks. They are translated in
// NHWC; operators in NCHW are wrapped in transposes.
#include "model/import/tfjs/activation.hpp"
#include "model/import/tfjs/table.hpp"

namespace dala::model::tfjs {
namespace {

using channels_last::WeightOrder;
using channels_last::Window;

TensorId channels_to_end(OpCall& call, TensorId x) {
  return call.channels_first() ? channels_last::from_planes(call.builder, x) : x;
}

TensorId channels_back(OpCall& call, TensorId x) {
  return call.channels_first() ? channels_last::to_planes(call.builder, x) : x;
}

// {y, x} of an attribute with one value per axis; {1, 1} if absent.
std::array<int64_t, 2> pair_of(const OpCall& call, const NodeDef& node,
                               const std::string& attribute) {
  const std::vector<int64_t> values = node.integers(attribute);
  if (values.empty()) return {1, 1};
  if (values.size() == 1) return {values[0], values[0]};
  if (values.size() == 2) return {values[0], values[1]};
  const size_t first = call.channels_first() ? 2 : 1;
  if (values.size() != 4) {
    reject(text("attribute ", attribute, " is ", to_string(values), ", expected 1, 2 or 4 values"));
  }
  return {values[first], values[first + 1]};
}

Window window_of(const OpCall& call, const NodeDef& node) {
  Window window;
  window.size = pair_of(call, node, "ksize");
  window.stride = pair_of(call, node, "strides");
  window.dilation = pair_of(call, node, "dilations");
  const std::string padding = node.text("padding", "VALID");
  window.same = padding == "SAME";
  if (padding == "EXPLICIT") {
    const std::vector<int64_t> pads = node.integers("explicit_paddings");
    if (pads.size() != 8) {
      reject(text("attribute explicit_paddings is ", to_string(pads), ", expected 8 values"));
    }
    const size_t y = call.channels_first() ? 4 : 2;
    window.pads = {pads[y], pads[y + 2], pads[y + 1], pads[y + 3]};
  } else if (padding != "SAME" && padding != "VALID") {
    reject(text("attribute padding is \"", padding, "\", expected SAME, VALID or EXPLICIT"));
  }
  return window;
}

bool is_depthwise(const NodeDef& node) {
  return node.op == "DepthwiseConv2dNative" || node.op == "FusedDepthwiseConv2dNative";
}

bool is_convolution(const NodeDef& node) {
  return node.op == "Conv2D" || node.op == "_FusedConv2D" || is_depthwise(node);
}

TensorId convolved(OpCall& call, const NodeDef& node, TensorId x, TensorId weights,
                   const Window& window, const Fused& fused) {
  if (!is_depthwise(node)) {
    return channels_last::convolution(call.builder, x, weights, WeightOrder::hwio, fused.bias,
                                      window, 1, fused.epilogue);
  }
  const HostTensorPtr values = call.builder.known(weights);
  const int64_t multiplier = values == nullptr || values->shape.size() != 4 ? 1 : values->shape[3];
  return channels_last::depthwise_convolution(call.builder, x, weights, WeightOrder::hwio,
                                              multiplier, fused.bias, window, fused.epilogue);
}

void convolution(OpCall& call) {
  const Fused fused = fused_of(call, 2);
  if (call.channels_first() && fused.slope != kNone) unsupported("a fused Prelu in NCHW");
  const TensorId x = channels_to_end(call, call.in(0));
  const TensorId y = convolved(call, call.node, x, call.in(1), window_of(call, call.node), fused);
  call.set(channels_back(call, activated(call, y, fused)));
}

// For an output size that is known only at run time: computes the full result, extended beyond the
// windows, and slices it like the padding of the forward convolution.
TensorId cut_to_size(OpCall& call, TensorId x, const Window& window) {
  GraphBuilder& builder = call.builder;
  const std::array<int64_t, 2> more{window.stride[0] - 1, window.stride[1] - 1};
  const TensorId whole = channels_last::from_planes(
      builder, builder.add("ConvTranspose",
                           {channels_last::to_planes(builder, x),
                            builder.transpose(call.in(1), {3, 2, 0, 1})},
                           {{"strides", attr::integers({window.stride[0], window.stride[1]})},
                            {"dilations", attr::integers({window.dilation[0], window.dilation[1]})},
                            {"output_padding", attr::integers({more[0], more[1]})}}));
  const int64_t y = call.channels_first() ? 2 : 1;
  const TensorId size = builder.add("Slice", {builder.cast(call.in(0), ElementType::i64),
                                              builder.integers({y}), builder.integers({y + 2})});
  TensorId start = builder.integers({0, 0});
  if (window.same) {
    const TensorId there =
        builder.add("Shape", {whole}, {{"start", attr::integer(1)}, {"end", attr::integer(3)}});
    const TensorId reached = builder.add("Sub", {there, builder.integers({more[0], more[1]})});
    const TensorId padding = builder.add("Sub", {reached, size});
    start = builder.add("Div", {builder.add("Max", {padding, start}), builder.integers({2, 2})});
  }
  return builder.add("Slice",
                     {whole, start, builder.add("Add", {start, size}), builder.integers({1, 2})});
}

// The weights are those of the forward convolution: {height, width, out, in} for this operator.
void transposed_convolution(OpCall& call) {
  const TensorId x = channels_to_end(call, call.in(2));
  const Window window = window_of(call, call.node);
  if (window.pads) unsupported("explicit padding");
  const HostTensorPtr sizes = call.builder.known(call.in(0));
  if (sizes == nullptr) {
    call.set(channels_back(call, cut_to_size(call, x, window)));
    return;
  }
  const std::vector<int64_t> all = sizes->integers();
  const size_t y = call.channels_first() ? 2 : 1;
  if (all.size() != 4) {
    reject(text("output size is ", to_string(all), ", expected 4 values"));
  }
  const TensorId result = channels_last::transposed_convolution(
      call.builder, x, call.in(1), WeightOrder::hwio, kNone, {all[y], all[y + 1]}, window, {});
  call.set(channels_back(call, result));
}

void max_pool(OpCall& call) {
  const TensorId x = channels_to_end(call, call.in(0));
  call.set(channels_back(call,
                         channels_last::max_pool(call.builder, x, window_of(call, call.node), {})));
}

void average_pool(OpCall& call) {
  const TensorId x = channels_to_end(call, call.in(0));
  call.set(channels_back(
      call, channels_last::average_pool(call.builder, x, window_of(call, call.node), {})));
}

void resize(OpCall& call) {
  channels_last::Resize how;
  how.bilinear = call.node.op == "ResizeBilinear";
  how.align_corners = call.node.boolean("align_corners", false);
  how.half_pixel_centers = call.node.boolean("half_pixel_centers", false);
  call.set(channels_last::resize(call.builder, call.in(0), call.in(1), how));
}

void depth_to_space(OpCall& call) {
  const TensorId x = channels_to_end(call, call.in(0));
  const auto block = static_cast<int64_t>(call.count_of("block_size"));
  call.set(channels_back(call, channels_last::depth_to_space(call.builder, x, block)));
}

void space_to_depth(OpCall& call) {
  const TensorId x = channels_to_end(call, call.in(0));
  const auto block = static_cast<int64_t>(call.count_of("block_size"));
  call.set(channels_back(call, channels_last::space_to_depth(call.builder, x, block)));
}

void space_to_batch(OpCall& call) {
  call.set(tensorflow::space_to_batch(call.builder, call.in(0), call.in(1), call.in(2)));
}

// {top, left, bottom, right} of {{top, bottom}, {left, right}}; nullopt if it is not a constant.
std::optional<std::array<int64_t, 4>> sides_of(OpCall& call, TensorId pairs) {
  const HostTensorPtr values = call.builder.known(pairs);
  if (values == nullptr || values->count() != 4) return std::nullopt;
  return std::array<int64_t, 4>{values->integer(0), values->integer(2), values->integer(1),
                                values->integer(3)};
}

// Merges SpaceToBatchND, a convolution and BatchToSpaceND into one dilated convolution. The inner
// convolution stays in the graph; the optimizer removes it if nothing else uses it.
std::optional<TensorId> dilated_convolution(OpCall& call) {
  if (call.node.inputs.empty()) return std::nullopt;
  const NodeDef& inner = call.nodes[call.node.inputs[0].node];
  if (!is_convolution(inner) || inner.inputs.size() < 2) return std::nullopt;
  const NodeDef& apart = call.nodes[inner.inputs[0].node];
  if (apart.op != "SpaceToBatchND" || apart.inputs.size() != 3) return std::nullopt;

  const auto tensor = [&](const Source& source) {
    return call.tensors[source.node].at(source.output);
  };
  const HostTensorPtr block = call.builder.known(tensor(apart.inputs[1]));
  const HostTensorPtr joined = call.builder.known(call.in(1));
  const HostTensorPtr weights = call.builder.known(tensor(inner.inputs[1]));
  const auto pads = sides_of(call, tensor(apart.inputs[2]));
  const auto crops = sides_of(call, call.in(2));
  if (block == nullptr || joined == nullptr || weights == nullptr || !pads || !crops ||
      block->count() != 2 || block->integers() != joined->integers() ||
      weights->shape.size() != 4) {
    return std::nullopt;
  }
  OpCall of_inner{call.builder, inner, call.nodes, call.tensors, nullptr, {}, {}};
  for (const Source& source : inner.inputs) of_inner.inputs.push_back(tensor(source));
  if (of_inner.channels_first()) return std::nullopt;
  const auto window =
      channels_last::dilated(window_of(of_inner, inner), {weights->shape[0], weights->shape[1]},
                             {block->integer(0), block->integer(1)}, *pads, *crops);
  if (!window) return std::nullopt;
  const Fused fused = fused_of(of_inner, 2);
  const TensorId y =
      convolved(of_inner, inner, tensor(apart.inputs[0]), of_inner.in(1), *window, fused);
  return activated(of_inner, y, fused);
}

void batch_to_space(OpCall& call) {
  const auto dilated = dilated_convolution(call);
  call.set(dilated ? *dilated
                   : tensorflow::batch_to_space(call.builder, call.in(0), call.in(1), call.in(2)));
}

void batch_normalization(OpCall& call) {
  GraphBuilder& builder = call.builder;
  if (call.node.boolean("is_training", false)) unsupported("is_training set");
  const TensorId x =
      call.channels_first() ? call.in(0) : channels_last::to_planes(builder, call.in(0));
  const TensorId y =
      builder.add("BatchNormalization", {x, call.in(1), call.in(2), call.in(3), call.in(4)},
                  {{"epsilon", attr::real(call.node.real("epsilon", 1e-4))}});
  call.set(call.channels_first() ? y : channels_last::from_planes(builder, y));
}

void local_response_normalization(OpCall& call) {
  const int64_t size = 2 * call.node.integer("depth_radius", 5) + 1;
  const TensorId x = channels_last::to_planes(call.builder, call.in(0));
  // ONNX divides alpha by the size.
  const double alpha = call.node.real("alpha", 1) * static_cast<double>(size);
  const TensorId y = call.builder.add("LRN", {x},
                                      {{"size", attr::integer(size)},
                                       {"bias", attr::real(call.node.real("bias", 1))},
                                       {"alpha", attr::real(alpha)},
                                       {"beta", attr::real(call.node.real("beta", 0.5))}});
  call.set(channels_last::from_planes(call.builder, y));
}

}  // namespace

Operators plane_operators() {
  return {
      {"AvgPool", average_pool},
      {"BatchToSpaceND", batch_to_space},
      {"Conv2D", convolution},
      {"Conv2DBackpropInput", transposed_convolution},
      {"DepthToSpace", depth_to_space},
      {"DepthwiseConv2dNative", convolution},
      {"FusedBatchNorm", batch_normalization},
      {"FusedBatchNormV2", batch_normalization},
      {"FusedBatchNormV3", batch_normalization},
      {"FusedDepthwiseConv2dNative", convolution},
      {"LRN", local_response_normalization},
      {"MaxPool", max_pool},
      {"ResizeBilinear", resize},
      {"ResizeNearestNeighbor", resize},
      {"SpaceToBatchND", space_to_batch},
      {"SpaceToDepth", space_to_depth},
      {"_FusedConv2D", convolution},
  };
}

}  // namespace dala::model::tfjs
