// Layers that move elements: shapes, order, padding, cropping, upsampling.
#include <array>

#include "model/import/common/channels_last.hpp"
#include "model/import/tfjs/layers/table.hpp"

namespace dala::model::tfjs {
namespace {

KerasValue flatten(const KerasCall& call) {
  call.need_channels_last();
  return {call.builder.add("Flatten", {call.in().tensor}, {{"axis", attr::integer(1)}}), 2};
}

KerasValue reshape(const KerasCall& call) {
  const Json* target = call.layer.find("target_shape");
  if (target == nullptr) reject("target_shape is missing");
  std::vector<int64_t> shape{0};  // the batch
  for (const Json& each : target->list("target_shape")) {
    shape.push_back(each.is_null() ? -1 : each.integer("target_shape"));
  }
  return {call.builder.reshape(call.in().tensor, shape), static_cast<int64_t>(shape.size())};
}

KerasValue permute(const KerasCall& call) {
  std::vector<int64_t> order = call.layer.integers("dims");
  order.insert(order.begin(), 0);
  return {call.builder.transpose(call.in().tensor, order), call.in().rank};
}

KerasValue repeat_vector(const KerasCall& call) {
  call.need_rank(2);
  GraphBuilder& builder = call.builder;
  const TensorId row = builder.add("Unsqueeze", {call.in().tensor, builder.integers({1})});
  return {builder.add("Tile", {row, builder.integers({1, call.layer.integer("n", 1), 1})}), 3};
}

// Two numbers, or pairs of numbers, around each spatial axis: {{top, bottom}, {left, right}}.
std::array<int64_t, 4> around(const KerasCall& call, const char* key) {
  const Json* given = call.layer.find(key);
  if (given == nullptr) return {1, 1, 1, 1};
  std::array<int64_t, 4> result{};
  if (!given->is_number() && given->list(key).size() != 2) {
    reject(text(key, " has ", given->list(key).size(), " values, expected 2"));
  }
  for (size_t d = 0; d < 2; ++d) {
    const Json& axis = given->is_number() ? *given : given->list(key)[d];
    if (axis.is_number()) {
      result[2 * d] = result[2 * d + 1] = axis.integer(key);
      continue;
    }
    const Json::List& both = axis.list(key);
    if (both.size() != 2) reject(text(key, " has ", both.size(), " values, expected 2"));
    for (size_t i = 0; i < 2; ++i) result[2 * d + i] = both[i].integer(key);
  }
  for (int64_t value : result) {
    if (value < 0 || value > (1 << 20)) {
      reject(text(key, " has the value ", value, ", expected 0 to ", 1 << 20));
    }
  }
  return result;
}

KerasValue zero_padding2d(const KerasCall& call) {
  call.need_rank(4);
  call.need_channels_last();
  const auto pads = around(call, "padding");
  return {call.builder.add(
              "Pad", {call.in().tensor,
                      call.builder.integers({0, pads[0], pads[2], 0, 0, pads[1], pads[3], 0})}),
          4};
}

KerasValue cropping2d(const KerasCall& call) {
  call.need_rank(4);
  call.need_channels_last();
  const auto crops = around(call, "cropping");
  const auto end = [](int64_t crop) { return crop == 0 ? int64_t{1} << 40 : -crop; };
  GraphBuilder& builder = call.builder;
  return {builder.add("Slice",
                      {call.in().tensor, builder.integers({crops[0], crops[2]}),
                       builder.integers({end(crops[1]), end(crops[3])}), builder.integers({1, 2})}),
          4};
}

KerasValue up_sampling2d(const KerasCall& call) {
  call.need_rank(4);
  call.need_channels_last();
  const auto size = call.layer.pair("size", 2);
  const std::string how = call.layer.text("interpolation", "nearest");
  if (how != "nearest" && how != "bilinear") unsupported("interpolation " + how);
  auto scales = std::make_shared<HostTensor>(ElementType::f32, Shape{4});
  for (int64_t i = 0; i < 4; ++i) {
    scales->set(i, i < 2 ? 1 : static_cast<double>(size[static_cast<size_t>(i - 2)]));
  }
  GraphBuilder& builder = call.builder;
  const TensorId y = builder.add(
      "Resize",
      {channels_last::to_planes(builder, call.in().tensor), kNone, builder.constant(scales)},
      {{"mode", attr::text(how == "nearest" ? "nearest" : "linear")},
       {"nearest_mode", attr::text("floor")},
       {"coordinate_transformation_mode", attr::text("asymmetric")}});
  return {channels_last::from_planes(builder, y), 4};
}

}  // namespace

Layers movement_layers() {
  return {
      {"Cropping2D", cropping2d},        {"Flatten", flatten}, {"Permute", permute},
      {"RepeatVector", repeat_vector},   {"Reshape", reshape}, {"UpSampling2D", up_sampling2d},
      {"ZeroPadding2D", zero_padding2d},
  };
}

}  // namespace dala::model::tfjs
