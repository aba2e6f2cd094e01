// Elementwise arithmetic and activations.
#include "model/import/tflite/schema.hpp"
#include "model/import/tflite/table.hpp"

namespace dala::model::tflite {
namespace {

using channels_last::Activation;
using channels_last::with_epilogue;

// The equivalent ONNX operator.
template <auto& kName>
void same(OpCall& call) {
  std::vector<TensorId> inputs;
  for (size_t i = 0; i < call.op.inputs.size(); ++i) inputs.push_back(call.in(i));
  call.set(0, call.builder.add(kName, std::move(inputs)));
}

// The equivalent binary ONNX operator, followed by an activation.
template <auto& kName>
void with_activation(OpCall& call) {
  const TensorId y = call.builder.add(kName, {call.in(0), call.in(1)});
  call.set(0, with_epilogue(call.builder, y, call.epilogue(option::kArithmeticActivation)));
}

template <Activation kActivation>
void activation(OpCall& call) {
  channels_last::Epilogue epilogue = call.epilogue(option::kAbsent);
  epilogue.activation = kActivation;
  if (!is_float(call.in_info(0).type) && !call.in_info(0).quantized()) {
    unsupported("an activation on integers");
  }
  call.set(0, with_epilogue(call.builder, call.in(0), epilogue));
}

void add_n(OpCall& call) { call.set(0, call.builder.add("Sum", call.inputs)); }

void square(OpCall& call) { call.set(0, call.builder.add("Mul", {call.in(0), call.in(0)})); }

void squared_difference(OpCall& call) {
  const TensorId difference = call.builder.add("Sub", {call.in(0), call.in(1)});
  call.set(0, call.builder.add("Mul", {difference, difference}));
}

void reciprocal_square_root(OpCall& call) {
  call.set(0, call.builder.add("Reciprocal", {call.builder.add("Sqrt", {call.in(0)})}));
}

bool floats(const OpCall& call) {
  return is_float(call.in_info(0).type) || call.in_info(0).quantized();
}

// Integers are not supported: Div of ONNX rounds them towards 0.
void floor_divide(OpCall& call) {
  if (!floats(call)) unsupported("integers");
  call.set(0, call.builder.add("Floor", {call.builder.add("Div", {call.in(0), call.in(1)})}));
}

// The result has the sign of the divisor.
void floor_modulo(OpCall& call) {
  GraphBuilder& builder = call.builder;
  if (!floats(call)) {
    call.set(0, builder.add("Mod", {call.in(0), call.in(1)}));
    return;
  }
  const TensorId whole = builder.add("Floor", {builder.add("Div", {call.in(0), call.in(1)})});
  call.set(0, builder.add("Sub", {call.in(0), builder.add("Mul", {whole, call.in(1)})}));
}

void leaky_relu(OpCall& call) {
  call.set(0, call.builder.add("LeakyRelu", {call.in(0)},
                               {{"alpha", attr::real(call.real(option::kLeakyReluAlpha))}}));
}

void gelu(OpCall& call) {
  call.set(
      0, call.builder.add(
             "Gelu", {call.in(0)},
             {{"approximate", attr::text(call.flag(option::kGeluApproximate) ? "tanh" : "none")}}));
}

void elu(OpCall& call) { call.set(0, call.builder.add("Elu", {call.in(0)})); }

constexpr char kAbs[] = "Abs";
constexpr char kAdd[] = "Add";
constexpr char kCeil[] = "Ceil";
constexpr char kCos[] = "Cos";
constexpr char kDiv[] = "Div";
constexpr char kExp[] = "Exp";
constexpr char kFloor[] = "Floor";
constexpr char kHardSwish[] = "HardSwish";
constexpr char kLog[] = "Log";
constexpr char kMax[] = "Max";
constexpr char kMin[] = "Min";
constexpr char kMul[] = "Mul";
constexpr char kNeg[] = "Neg";
constexpr char kPRelu[] = "PRelu";
constexpr char kPow[] = "Pow";
constexpr char kRound[] = "Round";
constexpr char kSigmoid[] = "Sigmoid";
constexpr char kSign[] = "Sign";
constexpr char kSin[] = "Sin";
constexpr char kSqrt[] = "Sqrt";
constexpr char kSub[] = "Sub";
constexpr char kTanh[] = "Tanh";

}  // namespace

Operators arithmetic_operators() {
  return {
      {"ABS", same<kAbs>},
      {"ADD", with_activation<kAdd>, Keeps::itself},
      {"ADD_N", add_n},
      {"CEIL", same<kCeil>},
      {"COS", same<kCos>},
      {"DIV", with_activation<kDiv>, Keeps::itself},
      {"ELU", elu},
      {"EXP", same<kExp>},
      {"FLOOR", same<kFloor>},
      {"FLOOR_DIV", floor_divide},
      {"FLOOR_MOD", floor_modulo},
      {"GELU", gelu},
      {"HARD_SWISH", same<kHardSwish>},
      {"LEAKY_RELU", leaky_relu},
      {"LOG", same<kLog>},
      {"LOGISTIC", same<kSigmoid>, Keeps::bounds},
      {"MAXIMUM", same<kMax>, Keeps::values},
      {"MINIMUM", same<kMin>, Keeps::values},
      {"MUL", with_activation<kMul>, Keeps::itself},
      {"NEG", same<kNeg>},
      {"POW", same<kPow>},
      {"PRELU", same<kPRelu>},
      {"RELU", activation<Activation::relu>, Keeps::itself},
      {"RELU6", activation<Activation::relu6>, Keeps::itself},
      {"RELU_0_TO_1", activation<Activation::relu_0_to_1>, Keeps::itself},
      {"RELU_N1_TO_1", activation<Activation::relu_n1_to_1>, Keeps::itself},
      {"ROUND", same<kRound>},
      {"RSQRT", reciprocal_square_root},
      {"SIGN", same<kSign>},
      {"SIN", same<kSin>},
      {"SQRT", same<kSqrt>},
      {"SQUARE", square},
      {"SQUARED_DIFFERENCE", squared_difference},
      {"SUB", with_activation<kSub>, Keeps::itself},
      {"TANH", same<kTanh>, Keeps::bounds},
  };
}

}  // namespace dala::model::tflite
