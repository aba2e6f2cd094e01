// Arrays and lists of tensors. An array has a handle, which identifies it, and a flow, which is its
// content at a point of the program; here both are the list itself.
#include "model/import/tfjs/table.hpp"

namespace dala::model::tfjs {
namespace {

// The type and shape of the items, as the file states them: an attribute with their type, and an
// input or an attribute with their shape, in which -1 is any size.
Attributes items_of(OpCall& call, const char* type, std::optional<size_t> shape_input) {
  Attributes attributes;
  if (const auto known = call.node.type(type)) {
    attributes["dtype"] = attr::integer(static_cast<int64_t>(*known));
  }
  if (shape_input && *shape_input < call.inputs.size()) {
    // A number in the place of a shape stands for an unknown rank.
    const HostTensorPtr known = call.builder.known(call.in(*shape_input));
    if (known != nullptr && known->shape.size() == 1) {
      attributes["item_shape"] = attr::integers(known->integers());
    }
  } else if (const auto shape = call.node.shape("element_shape"); shape && !shape_input) {
    std::vector<int64_t> sizes;
    for (const Dimension& each : *shape) sizes.push_back(each.size.value_or(-1));
    attributes["item_shape"] = attr::integers(std::move(sizes));
  }
  return attributes;
}

constexpr const char* kItemType = "element_dtype";

TensorId as_i32(OpCall& call, TensorId x) { return call.builder.cast(x, ElementType::i32); }

void array_new(OpCall& call) {
  const TensorId list =
      call.builder.add("ListReserve", {call.in(0)}, items_of(call, "dtype", std::nullopt));
  call.outputs = {list, list};
}

void array_write(OpCall& call) {
  call.set(call.builder.add("ListSet", {call.in(3), call.in(1), call.in(2)}));
}

void array_read(OpCall& call) { call.set(call.builder.add("ListGet", {call.in(2), call.in(1)})); }

void array_gather(OpCall& call) {
  call.set(call.builder.add("ListGather", {call.in(2), call.in(1)},
                            items_of(call, "dtype", std::nullopt)));
}

void array_scatter(OpCall& call) {
  call.set(call.builder.add("ListScatter", {call.in(3), call.in(1), call.in(2)}));
}

void concatenated(OpCall& call, TensorId list) {
  const std::vector<TensorId> results = call.builder.add_many("ListConcat", {list}, 2);
  call.outputs = {results[0], as_i32(call, results[1])};
}

void array_concat(OpCall& call) { concatenated(call, call.in(1)); }

void array_split(OpCall& call) {
  call.set(call.builder.add("ListSplit", {call.in(1), call.in(2)}));
}

void array_size(OpCall& call) {
  call.set(as_i32(call, call.builder.add("ListLength", {call.in(1)})));
}

void array_close(OpCall& call) { call.outputs = {}; }

void list_reserve(OpCall& call) {
  call.set(call.builder.add("ListReserve", {call.in(1)}, items_of(call, kItemType, 0)));
}

void list_empty(OpCall& call) {
  call.set(
      call.builder.add("ListReserve", {call.builder.integers({0})}, items_of(call, kItemType, 0)));
}

void list_from_tensor(OpCall& call) { call.set(call.builder.add("ListFromTensor", {call.in(0)})); }

void list_get(OpCall& call) {
  call.set(call.builder.add("ListGet", {call.in(0), call.in(1)}, items_of(call, kItemType, 2)));
}

void list_set(OpCall& call) {
  call.set(call.builder.add("ListSet", {call.in(0), call.in(1), call.in(2)}));
}

void list_stack(OpCall& call) {
  call.set(call.builder.add("ListStack", {call.in(0)}, items_of(call, kItemType, 1)));
}

void list_gather(OpCall& call) {
  call.set(call.builder.add("ListGather", {call.in(0), call.in(1)}, items_of(call, kItemType, 2)));
}

// A new list, as long as the highest index demands or as the operator says.
void list_scatter(OpCall& call) {
  const TensorId length = call.inputs.size() > 3 ? call.in(3) : call.builder.integers({0});
  const HostTensorPtr known = call.builder.known(length);
  const bool open = known != nullptr && known->count() == 1 && known->integer(0) < 0;
  const TensorId list = call.builder.add(
      "ListReserve", {open ? call.builder.integers({0}) : length}, items_of(call, kItemType, 2));
  call.set(call.builder.add("ListScatter", {list, call.in(1), call.in(0)}));
}

void list_scatter_into(OpCall& call) {
  call.set(call.builder.add("ListScatter", {call.in(0), call.in(2), call.in(1)}));
}

void list_length(OpCall& call) {
  call.set(as_i32(call, call.builder.add("ListLength", {call.in(0)})));
}

void list_push(OpCall& call) { call.set(call.builder.add("ListPush", {call.in(0), call.in(1)})); }

void list_pop(OpCall& call) {
  call.outputs = call.builder.add_many("ListPop", {call.in(0)}, 2, items_of(call, kItemType, 1));
}

void list_concat(OpCall& call) { concatenated(call, call.in(0)); }

void list_split(OpCall& call) { call.set(call.builder.add("ListSplit", {call.in(0), call.in(2)})); }

}  // namespace

Operators list_operators() {
  return {
      {"EmptyTensorList", list_empty},
      {"TensorArrayCloseV3", array_close},
      {"TensorArrayConcatV3", array_concat},
      {"TensorArrayGatherV3", array_gather},
      {"TensorArrayReadV3", array_read},
      {"TensorArrayScatterV3", array_scatter},
      {"TensorArraySizeV3", array_size},
      {"TensorArraySplitV3", array_split},
      {"TensorArrayV3", array_new},
      {"TensorArrayWriteV3", array_write},
      {"TensorListConcat", list_concat},
      {"TensorListConcatV2", list_concat},
      {"TensorListFromTensor", list_from_tensor},
      {"TensorListGather", list_gather},
      {"TensorListGetItem", list_get},
      {"TensorListLength", list_length},
      {"TensorListPopBack", list_pop},
      {"TensorListPushBack", list_push},
      {"TensorListReserve", list_reserve},
      {"TensorListScatter", list_scatter},
      {"TensorListScatterIntoExistingList", list_scatter_into},
      {"TensorListScatterV2", list_scatter},
      {"TensorListSetItem", list_set},
      {"TensorListSplit", list_split},
      {"TensorListStack", list_stack},
  };
}

}  // namespace dala::model::tfjs
