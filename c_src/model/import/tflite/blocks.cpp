#include "model/import/tflite/blocks.hpp"

#include "model/import/tflite/ops/planes.hpp"

namespace dala::model::tflite {
namespace {

constexpr size_t kNoUser = SIZE_MAX;

// The operator that uses each tensor; kNoUser unless that is the tensor's only use.
std::vector<size_t> only_users(const File& file) {
  std::vector<size_t> users(file.tensors.size(), kNoUser);
  std::vector<size_t> uses(file.tensors.size(), 0);
  for (size_t i = 0; i < file.operators.size(); ++i) {
    for (int64_t input : file.operators[i].inputs) {
      if (input < 0) continue;
      users[static_cast<size_t>(input)] = i;
      ++uses[static_cast<size_t>(input)];
    }
  }
  for (int64_t output : file.outputs) ++uses[static_cast<size_t>(output)];
  for (size_t i = 0; i < users.size(); ++i) {
    if (uses[i] != 1) users[i] = kNoUser;
  }
  return users;
}

// The only user of the only output of an operator, if that is the user's first input.
size_t follower(const File& file, const std::vector<size_t>& users, size_t index) {
  const OperatorInfo& op = file.operators[index];
  if (op.outputs.size() != 1) return kNoUser;
  const size_t user = users[static_cast<size_t>(op.outputs[0])];
  if (user == kNoUser || user <= index) return kNoUser;
  return file.operators[user].inputs[0] == op.outputs[0] ? user : kNoUser;
}

// The values of a constant input of `count` integers; empty if it is anything else.
std::vector<int64_t> constants(const File& file, Weights& weights, const OperatorInfo& op,
                               size_t input, size_t count) {
  if (input >= op.inputs.size() || op.inputs[input] < 0) return {};
  const TensorInfo& info = file.tensors[static_cast<size_t>(op.inputs[input])];
  if (info.data.empty() || info.data.size() > 64 || info.sparsity || info.quantized()) return {};
  const std::vector<int64_t> values = weights.read(info)->integers();
  return values.size() == count ? values : std::vector<int64_t>();
}

// {{top, bottom}, {left, right}} as {top, left, bottom, right}.
std::array<int64_t, 4> as_pads(const std::vector<int64_t>& pairs) {
  return {pairs[0], pairs[2], pairs[1], pairs[3]};
}

}  // namespace

std::map<size_t, Blocks> find_blocks(const File& file, Weights& weights) {
  std::map<size_t, Blocks> found;
  const std::vector<size_t> users = only_users(file);
  for (size_t before = 0; before < file.operators.size(); ++before) {
    const OperatorInfo& cut = file.operators[before];
    if (cut.name != "SPACE_TO_BATCH_ND") continue;
    const size_t index = follower(file, users, before);
    if (index == kNoUser) continue;
    const OperatorInfo& conv = file.operators[index];
    if ((conv.name != "CONV_2D" && !is_depthwise(conv)) || conv.inputs.size() < 2) continue;
    const size_t after = follower(file, users, index);
    if (after == kNoUser || file.operators[after].name != "BATCH_TO_SPACE_ND") continue;
    const OperatorInfo& join = file.operators[after];
    const auto block = constants(file, weights, cut, 1, 2);
    const auto pads = constants(file, weights, cut, 2, 4);
    const auto crops = constants(file, weights, join, 2, 4);
    if (block.empty() || pads.empty() || crops.empty() || conv.inputs[1] < 0 ||
        constants(file, weights, join, 1, 2) != block) {
      continue;
    }
    const Shape& kernel = file.tensors[static_cast<size_t>(conv.inputs[1])].shape;
    if (kernel.size() != 4) continue;
    const auto window = channels_last::dilated(convolution_window(conv), {kernel[1], kernel[2]},
                                               {block[0], block[1]}, as_pads(pads), as_pads(crops));
    if (window) found[index] = {before, after, *window};
  }
  return found;
}

}  // namespace dala::model::tflite
