#include "kernels/nn/activation/activation.hpp"

#include <algorithm>
#include <limits>

#include "runtime/error.hpp"

namespace dala {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The order of the curves in activation.cl, after the activations that only have bounds.
const std::vector<std::string> kCurves{"leaky_relu", "sigmoid", "silu", "hardswish"};

}  // namespace

std::vector<ParamSpec> activation_params() {
  ParamSpec activation;
  activation.name = "activation";
  activation.kind = ParamSpec::Kind::choice;
  activation.fallback = std::string("none");
  activation.choices = {"none", "relu", "relu6", "clamp"};
  activation.choices.insert(activation.choices.end(), kCurves.begin(), kCurves.end());
  activation.summary =
      "applied to each result: max(x, 0) for relu, min(max(x, 0), 6) for relu6; limited to low and "
      "high for clamp; slope * x below 0 for leaky_relu; x * sigmoid(x) for silu; x * min(max(x / "
      "6 + 0.5, 0), 1) for hardswish";
  ParamSpec slope;
  slope.name = "slope";
  slope.fallback = 0.01;
  slope.summary = "of leaky_relu";
  ParamSpec low;
  low.name = "low";
  low.fallback = 0.0;
  low.summary = "of clamp";
  ParamSpec high;
  high.name = "high";
  high.fallback = 1.0;
  high.summary = "of clamp, at least low";
  return {activation, slope, low, high};
}

void check_activation(const std::string& kernel, const Call& call) {
  if (call.choice("activation") != "clamp" || call.number("low") <= call.number("high")) return;
  throw Error(Reason::invalid_param,
              text("low of ", kernel, " must be at most high, got ",
                   to_string(call.params.at("low")), " and ", to_string(call.params.at("high"))));
}

Activation activation_of(const Call& call) {
  const std::string name = call.choice("activation");
  if (name == "relu") return {0, kInfinity};
  if (name == "relu6") return {0, 6};
  if (name == "clamp") return {call.number("low"), call.number("high")};
  const auto curve = std::find(kCurves.begin(), kCurves.end(), name);
  return {-kInfinity, kInfinity, call.number("slope"),
          curve == kCurves.end() ? 0 : curve - kCurves.begin() + 1};
}

}  // namespace dala
