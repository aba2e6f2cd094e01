// Lists of tensors: the sequences of ONNX, and, under names that begin with List, the arrays and
// lists of TensorFlow. No operator changes a list: each that sets an item returns a new one, which
// shares the others.
#include <algorithm>

#include "model/ops/families.hpp"

namespace dala::model {
namespace {

constexpr int64_t kMostItems = 1 << 20;

const TensorList& list_of(const OpCall& call, size_t index) {
  const Tensor& tensor = call.in(index);
  if (tensor.list == nullptr) reject(text("input ", index, " is not a list of tensors"));
  return *tensor.list;
}

void set_list(OpCall& call, size_t index, TensorList list) {
  if (static_cast<int64_t>(list.items.size()) > kMostItems) {
    throw Error(Reason::invalid_param,
                text("a list has ", list.items.size(), " items, expected at most ", kMostItems));
  }
  Tensor tensor;
  tensor.type = list.type;
  tensor.list = std::make_shared<const TensorList>(std::move(list));
  call.set(index, std::move(tensor));
}

int64_t number(OpCall& call, size_t index) {
  const std::vector<int64_t> values = call.build.integers(call.in(index));
  if (values.size() == 1) return values[0];
  throw Error(Reason::shape_mismatch, text("input ", index, " has shape ",
                                           to_string(call.in(index).shape), ", expected a number"));
}

// A negative position counts from the end.
size_t position(int64_t index, size_t length) {
  const auto count = static_cast<int64_t>(length);
  if (index >= -count && index < count)
    return static_cast<size_t>(index < 0 ? index + count : index);
  throw Error(Reason::invalid_param,
              text("index ", index, " is outside of a list of ", length, " items"));
}

// The shape that the file gives an item: the list's own, or that of an attribute.
std::optional<Shape> declared_shape(const OpCall& call) {
  if (!call.has_attribute("item_shape")) return std::nullopt;
  return call.integers("item_shape");
}

// The item, or zeros where none was set. These have the shape of the other items.
Tensor item(OpCall& call, const TensorList& list, size_t at) {
  if (list.items[at]) return *list.items[at];
  for (const auto& other : list.items) {
    if (other) return filled(call.build, other->type, other->shape, 0);
  }
  std::optional<Shape> shape = list.shape ? list.shape : declared_shape(call);
  if (!shape || std::count(shape->begin(), shape->end(), -1) != 0) {
    throw Error(Reason::invalid_param, text("item ", at, " of a list was never set"));
  }
  return filled(call.build, list.type, *shape, 0);
}

// The slices of x along its first axis.
std::vector<Tensor> slices(OpCall& call, const Tensor& x) {
  if (x.rank() == 0) throw Error(Reason::shape_mismatch, "a list is made from a tensor of rank 0");
  std::vector<Tensor> parts;
  const Shape shape(x.shape.begin() + 1, x.shape.end());
  for (int64_t i = 0; i < x.dim(0); ++i) {
    parts.push_back(Build::reshaped(part(call.build, x, 0, i, 1), shape));
  }
  return parts;
}

// The tensors along a new axis, or along one that they have.
Tensor joined(OpCall& call, std::vector<Tensor> parts, int64_t axis, bool stack) {
  const int64_t rank = parts[0].rank() + (stack ? 1 : 0);
  axis = normal_axis(axis, rank);
  for (Tensor& each : parts) {
    if (stack && each.shape != parts[0].shape && &each != &parts[0]) {
      throw Error(Reason::shape_mismatch,
                  text("a list has items of shapes ", to_string(parts[0].shape), " and ",
                       to_string(each.shape), ", expected one shape"));
    }
  }
  if (stack) {
    Shape shape = parts[0].shape;
    shape.insert(shape.begin() + axis, 1);
    for (Tensor& each : parts) each = Build::reshaped(each, shape);
  }
  return concat(call.build, parts, axis);
}

// Stacks items of a list; without any, the shape is what the file tells.
Tensor stacked(OpCall& call, const TensorList& list, const std::vector<size_t>& positions) {
  std::vector<Tensor> parts;
  for (size_t at : positions) parts.push_back(item(call, list, at));
  if (!parts.empty()) return joined(call, std::move(parts), 0, true);
  const std::optional<Shape> known = list.shape ? list.shape : declared_shape(call);
  Shape shape{0};
  for (int64_t size : known.value_or(Shape{})) shape.push_back(std::max<int64_t>(size, 0));
  return filled(call.build, list.type, shape, 0);
}

TensorList empty_list(const OpCall& call) {
  TensorList list;
  list.type =
      static_cast<ElementType>(call.integer("dtype", static_cast<int64_t>(ElementType::f32)));
  list.shape = declared_shape(call);
  return list;
}

TensorList list_with(std::vector<Tensor> items, TensorList list) {
  if (!items.empty()) list.type = items[0].type;
  list.items.assign(items.begin(), items.end());
  return list;
}

void reserve(OpCall& call) {
  TensorList list = empty_list(call);
  const int64_t size = number(call, 0);
  if (size < 0 || size > kMostItems) {
    throw Error(Reason::invalid_param,
                text("a list of ", size, " items, expected 0 to ", kMostItems));
  }
  list.items.resize(static_cast<size_t>(size));
  set_list(call, 0, std::move(list));
}

void from_tensor(OpCall& call) {
  TensorList list = empty_list(call);
  list.type = call.in(0).type;
  list.shape =
      Shape(call.in(0).shape.begin() + (call.in(0).rank() > 0 ? 1 : 0), call.in(0).shape.end());
  set_list(call, 0, list_with(slices(call, call.in(0)), std::move(list)));
}

void get(OpCall& call) {
  const TensorList& list = list_of(call, 0);
  call.set(0, item(call, list, position(number(call, 1), list.items.size())));
}

// Items beyond the end of an array extend it.
void put(TensorList& list, int64_t index, const Tensor& value) {
  if (index >= static_cast<int64_t>(list.items.size()) && index < kMostItems) {
    list.items.resize(static_cast<size_t>(index) + 1);
  }
  list.type = value.type;
  list.items[position(index, list.items.size())] = value;
}

void set(OpCall& call) {
  TensorList list = list_of(call, 0);
  put(list, number(call, 1), call.in(2));
  set_list(call, 0, std::move(list));
}

void scatter(OpCall& call) {
  TensorList list = list_of(call, 0);
  const std::vector<int64_t> indices = call.build.integers(call.in(1));
  const std::vector<Tensor> values = slices(call, call.in(2));
  if (indices.size() != values.size()) {
    throw Error(Reason::shape_mismatch,
                text(indices.size(), " indices for ", values.size(), " items"));
  }
  for (size_t i = 0; i < values.size(); ++i) put(list, indices[i], values[i]);
  set_list(call, 0, std::move(list));
}

void stack(OpCall& call) {
  const TensorList& list = list_of(call, 0);
  std::vector<size_t> all(list.items.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  call.set(0, stacked(call, list, all));
}

void gather_items(OpCall& call) {
  const TensorList& list = list_of(call, 0);
  std::vector<size_t> positions;
  for (int64_t index : call.build.integers(call.in(1))) {
    positions.push_back(position(index, list.items.size()));
  }
  call.set(0, stacked(call, list, positions));
}

// The items after each other, and the length of each.
void concat_items(OpCall& call) {
  const TensorList& list = list_of(call, 0);
  std::vector<Tensor> parts;
  std::vector<int64_t> lengths;
  for (size_t i = 0; i < list.items.size(); ++i) {
    parts.push_back(item(call, list, i));
    lengths.push_back(parts.back().rank() == 0 ? 1 : parts.back().dim(0));
  }
  call.set(0, parts.empty() ? stacked(call, list, {}) : joined(call, std::move(parts), 0, false));
  if (call.wants(1)) call.set(1, call.build.constant(vector_of(lengths)));
}

void length(OpCall& call) {
  const auto count = static_cast<int64_t>(list_of(call, 0).items.size());
  call.set(0, Build::reshaped(call.build.constant(vector_of({count})), {}));
}

void push(OpCall& call) {
  TensorList list = list_of(call, 0);
  list.type = call.in(1).type;
  list.items.push_back(call.in(1));
  set_list(call, 0, std::move(list));
}

void pop(OpCall& call) {
  TensorList list = list_of(call, 0);
  const size_t last = position(-1, list.items.size());
  call.set(1, item(call, list, last));
  list.items.pop_back();
  set_list(call, 0, std::move(list));
}

// Parts of these lengths along the axis.
std::vector<Tensor> split_at(OpCall& call, const Tensor& x, int64_t axis,
                             const std::vector<int64_t>& lengths) {
  int64_t sum = 0;
  for (int64_t each : lengths) sum += each;
  if (sum != x.dim(axis) ||
      std::any_of(lengths.begin(), lengths.end(), [](int64_t each) { return each < 0; })) {
    throw Error(Reason::shape_mismatch, text("parts of ", to_string(Shape(lengths)), " along axis ",
                                             axis, " of shape ", to_string(x.shape)));
  }
  std::vector<Tensor> parts;
  int64_t from = 0;
  for (int64_t each : lengths) {
    parts.push_back(part(call.build, x, axis, from, each));
    from += each;
  }
  return parts;
}

void split_items(OpCall& call) {
  const Tensor& x = call.in(0);
  if (x.rank() == 0) throw Error(Reason::shape_mismatch, "a tensor of rank 0 is split");
  set_list(call, 0, list_with(split_at(call, x, 0, call.build.integers(call.in(1))), {}));
}

// ONNX: parts of one length, of a list of lengths, or single slices.
void split_to_sequence(OpCall& call) {
  const Tensor& x = call.in(0);
  const int64_t axis = call.axis(0, x.rank());
  const int64_t size = x.dim(axis);
  std::vector<int64_t> lengths;
  const bool single = !call.has(1);
  if (call.has(1) && call.in(1).rank() > 0) {
    lengths = call.build.integers(call.in(1));
  } else {
    const int64_t each = single ? 1 : number(call, 1);
    if (each < 1) throw Error(Reason::invalid_param, text("parts of ", each, " slices"));
    for (int64_t from = 0; from < size; from += each)
      lengths.push_back(std::min(each, size - from));
  }
  std::vector<Tensor> parts = split_at(call, x, axis, lengths);
  if (single && call.integer("keepdims", 1) == 0) {
    Shape shape = x.shape;
    shape.erase(shape.begin() + axis);
    for (Tensor& each : parts) each = Build::reshaped(each, shape);
  }
  set_list(call, 0, list_with(std::move(parts), {}));
}

void sequence_empty(OpCall& call) { set_list(call, 0, empty_list(call)); }

void sequence_construct(OpCall& call) {
  std::vector<Tensor> items;
  for (size_t i = 0; i < call.size(); ++i) items.push_back(call.in(i));
  set_list(call, 0, list_with(std::move(items), {}));
}

void sequence_insert(OpCall& call) {
  TensorList list = list_of(call, 0);
  const auto length = static_cast<int64_t>(list.items.size());
  int64_t at = call.has(2) ? number(call, 2) : length;
  if (at < 0) at += length;
  if (at < 0 || at > length) {
    throw Error(Reason::invalid_param,
                text("position ", at, " is outside of a list of ", length, " items"));
  }
  list.type = call.in(1).type;
  list.items.insert(list.items.begin() + at, call.in(1));
  set_list(call, 0, std::move(list));
}

void sequence_erase(OpCall& call) {
  TensorList list = list_of(call, 0);
  const size_t at = position(call.has(1) ? number(call, 1) : -1, list.items.size());
  list.items.erase(list.items.begin() + static_cast<long>(at));
  set_list(call, 0, std::move(list));
}

void concat_from_sequence(OpCall& call) {
  const TensorList& list = list_of(call, 0);
  std::vector<Tensor> parts;
  for (size_t i = 0; i < list.items.size(); ++i) parts.push_back(item(call, list, i));
  if (parts.empty()) throw Error(Reason::invalid_param, "an empty list is joined");
  call.set(
      0, joined(call, std::move(parts), call.integer("axis", 0), call.integer("new_axis", 0) != 0));
}

}  // namespace

Operators list_operators() {
  return {
      {"ConcatFromSequence", concat_from_sequence},
      {"ListConcat", concat_items},
      {"ListFromTensor", from_tensor},
      {"ListGather", gather_items},
      {"ListGet", get},
      {"ListLength", length},
      {"ListPop", pop},
      {"ListPush", push},
      {"ListReserve", reserve},
      {"ListScatter", scatter},
      {"ListSet", set},
      {"ListSplit", split_items},
      {"ListStack", stack},
      {"SequenceAt", get},
      {"SequenceConstruct", sequence_construct},
      {"SequenceEmpty", sequence_empty},
      {"SequenceErase", sequence_erase},
      {"SequenceInsert", sequence_insert},
      {"SequenceLength", length},
      {"SplitToSequence", split_to_sequence},
  };
}

}  // namespace dala::model
