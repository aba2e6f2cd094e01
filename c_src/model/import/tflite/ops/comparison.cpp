// Comparisons, logic and selection.
#include "model/import/tflite/table.hpp"

namespace dala::model::tflite {
namespace {

template <auto& kName>
void of_two(OpCall& call) {
  call.set(0, call.builder.add(kName, {call.in(0), call.in(1)}));
}

void not_equal(OpCall& call) {
  call.set(0, call.builder.add("Not", {call.builder.add("Equal", {call.in(0), call.in(1)})}));
}

void logical_not(OpCall& call) { call.set(0, call.builder.add("Not", {call.in(0)})); }

void select(OpCall& call) {
  call.set(0, call.builder.add("Where", {call.in(0), call.in(1), call.in(2)}));
}

// A condition of rank 1 selects along the first axis.
void select_rows(OpCall& call) {
  const size_t rank = call.in_info(1).shape.size();
  TensorId condition = call.in(0);
  if (call.in_info(0).shape.size() == 1 && rank > 1) {
    std::vector<int64_t> shape(rank, 1);
    shape[0] = -1;
    condition = call.builder.reshape(condition, shape);
  }
  call.set(0, call.builder.add("Where", {condition, call.in(1), call.in(2)}));
}

// The indices of true elements, one row each.
void where(OpCall& call) {
  TensorId x = call.in(0);
  call.set(0, call.builder.transpose(call.builder.add("NonZero", {x}), {1, 0}));
}

constexpr char kAnd[] = "And";
constexpr char kEqual[] = "Equal";
constexpr char kGreater[] = "Greater";
constexpr char kGreaterOrEqual[] = "GreaterOrEqual";
constexpr char kLess[] = "Less";
constexpr char kLessOrEqual[] = "LessOrEqual";
constexpr char kOr[] = "Or";

}  // namespace

Operators comparison_operators() {
  return {
      {"EQUAL", of_two<kEqual>},
      {"GREATER", of_two<kGreater>},
      {"GREATER_EQUAL", of_two<kGreaterOrEqual>},
      {"LESS", of_two<kLess>},
      {"LESS_EQUAL", of_two<kLessOrEqual>},
      {"LOGICAL_AND", of_two<kAnd>},
      {"LOGICAL_NOT", logical_not},
      {"LOGICAL_OR", of_two<kOr>},
      {"NOT_EQUAL", not_equal},
      {"SELECT", select_rows, Keeps::values},
      {"SELECT_V2", select, Keeps::values},
      {"WHERE", where},
  };
}

}  // namespace dala::model::tflite
