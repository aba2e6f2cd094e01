#include "model/graph/epilogue.hpp"

namespace dala::model {

const char* to_string(Activation::Kind kind) {
  switch (kind) {
    case Activation::Kind::relu:
      return "relu";
    case Activation::Kind::relu6:
      return "relu6";
    case Activation::Kind::clamp:
      return "clamp";
    case Activation::Kind::leaky_relu:
      return "leaky_relu";
    case Activation::Kind::sigmoid:
      return "sigmoid";
    case Activation::Kind::silu:
      return "silu";
    case Activation::Kind::hardswish:
      return "hardswish";
    case Activation::Kind::none:
      break;
  }
  return "none";
}

}  // namespace dala::model
