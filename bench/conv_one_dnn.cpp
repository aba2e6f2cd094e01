#include "bench/conv_peers.hpp"

#ifdef DALA_BENCH_ONEDNN

#include <dnnl.hpp>
#include <unordered_map>

#include "bench/peers.hpp"

namespace dala::bench {
namespace {

using Tag = dnnl::memory::format_tag;
constexpr auto kFloat = dnnl::memory::data_type::f32;

struct State {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  dnnl::convolution_forward conv;
  std::unordered_map<int, dnnl::memory> arguments;
};

void copy(State& state, dnnl::memory from, dnnl::memory to) {
  dnnl::reorder(from, to).execute(state.stream, from, to);
  state.stream.wait();
}

// What the caller has, moved once into the layout that the convolution wants.
dnnl::memory adopt(State& state, const dnnl::memory::desc& plain, float* data,
                   const dnnl::memory::desc& wanted) {
  dnnl::memory result(wanted, state.engine);
  copy(state, dnnl::memory(plain, state.engine, data), result);
  return result;
}

void set_up(State& state, const Layer& layer, const ConvData& data) {
  const Shape x = layer.input_shape();
  const Shape y = layer.output_shape();
  const int64_t groups = layer.groups;
  const dnnl::memory::dims weight_dims =
      groups == 1
          ? dnnl::memory::dims{layer.out_channels, layer.in_channels, layer.size, layer.size}
          : dnnl::memory::dims{groups, layer.out_channels / groups, layer.in_channels / groups,
                               layer.size, layer.size};
  const Tag weight_tag = groups == 1 ? Tag::oihw : Tag::goihw;
  const dnnl::memory::dims bias_dims{layer.out_channels};
  const dnnl::memory::dims strides{layer.stride, layer.stride};
  const dnnl::memory::dims padding{layer.size / 2, layer.size / 2};

  dnnl::primitive_attr attributes;
  if (layer.relu6) {
    dnnl::post_ops after;
    after.append_eltwise(1, dnnl::algorithm::eltwise_clip, 0, 6);
    attributes.set_post_ops(after);
  }
  const dnnl::convolution_forward::desc wish(
      dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_auto, {x, kFloat, Tag::any},
      {weight_dims, kFloat, Tag::any}, {bias_dims, kFloat, Tag::any}, {y, kFloat, Tag::any},
      strides, padding, padding);
  const dnnl::convolution_forward::primitive_desc chosen(wish, attributes, state.engine);
  state.conv = dnnl::convolution_forward(chosen);
  state.arguments = {
      {DNNL_ARG_SRC, adopt(state, {x, kFloat, Tag::nchw}, data.x->data(), chosen.src_desc())},
      {DNNL_ARG_WEIGHTS, adopt(state, {weight_dims, kFloat, weight_tag}, data.weights->data(),
                               chosen.weights_desc())},
      {DNNL_ARG_BIAS,
       adopt(state, {bias_dims, kFloat, Tag::x}, data.bias->data(), chosen.bias_desc())},
      {DNNL_ARG_DST, dnnl::memory(chosen.dst_desc(), state.engine)}};
}

}  // namespace

ConvPeer one_dnn_conv(const Layer& layer, const ConvData& data) {
  auto state = std::make_shared<State>();
  on_peer_thread_with_helpers([&] { set_up(*state, layer, data); });
  const auto run = [state] {
    state->conv.execute(state->stream, state->arguments);
    state->stream.wait();
  };
  const auto result = [state, shape = layer.output_shape()] {
    auto plain = array<float>(static_cast<size_t>(shape[1] * shape[2] * shape[3]));
    copy(*state, state->arguments.at(DNNL_ARG_DST),
         dnnl::memory({shape, kFloat, Tag::nchw}, state->engine, plain->data()));
    return plain;
  };
  return {run, result};
}

}  // namespace dala::bench

#else

namespace dala::bench {
ConvPeer one_dnn_conv(const Layer&, const ConvData&) { return {}; }
}  // namespace dala::bench

#endif
