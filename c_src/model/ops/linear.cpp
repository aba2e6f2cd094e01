// Matrix products and Einsum.
#include <algorithm>
#include <map>

#include "kernels/elementwise/broadcast.hpp"
#include "model/ops/families.hpp"

namespace dala::model {
namespace {

// The optimizer adds a bias row as input 2, and an activation as attribute.
void matmul_op(OpCall& call) {
  const std::optional<Tensor> row = call.has(2) ? call.inputs[2] : std::nullopt;
  call.set(0, matmul(call.build, call.in(0), call.in(1), row, call.text("activation", "none")));
}

void gemm(OpCall& call) {
  Build& build = call.build;
  const Tensor& a = call.in(0);
  const Tensor& b = call.in(1);
  const bool turn_a = call.integer("transA", 0) != 0;
  const bool turn_b = call.integer("transB", 0) != 0;
  if (a.rank() != 2 || b.rank() != 2 || a.dim(turn_a ? 0 : 1) != b.dim(turn_b ? 1 : 0)) {
    throw Error(
        Reason::shape_mismatch,
        text("matrices of shape ", to_string(a.shape), turn_a ? " (transposed)" : "", " and ",
             to_string(b.shape), turn_b ? " (transposed)" : "", " cannot be multiplied"));
  }
  const Shape shape{a.dim(turn_a ? 1 : 0), b.dim(turn_b ? 0 : 1)};
  const std::string activation = call.text("activation", "none");  // set by the optimizer
  Params params{{"transpose_a", turn_a}, {"transpose_b", turn_b}};
  const double alpha = call.real("alpha", 1);
  const double beta = call.real("beta", 1);
  // A bias of one row is fused into the matmul kernel.
  if (alpha == 1 && beta == 1 && call.has(2) && call.in(2).count() == shape[1] &&
      (call.in(2).rank() == 1 || call.in(2).shape == Shape{1, shape[1]})) {
    const Tensor row = Build::reshaped(call.in(2), {shape[1]});
    params["activation"] = activation;
    call.set(0, build.kernel("matmul", {a, b, row}, a.type, shape, params));
    return;
  }
  Tensor result = build.kernel("matmul", {a, b}, a.type, shape, params);
  if (alpha != 1) result = pointwise(build, OP_MUL, {result, scalar(build, result.type, alpha)});
  if (call.has(2) && beta != 0) {
    Tensor c = call.in(2);
    if (beta != 1) c = pointwise(build, OP_MUL, {c, scalar(build, c.type, beta)});
    if (broadcast_shape({result.shape, c.shape}) != result.shape) {
      throw Error(Reason::shape_mismatch, text("input 2 of shape ", to_string(c.shape),
                                               " does not broadcast to ", to_string(result.shape)));
    }
    result = pointwise(build, OP_ADD, {result, c});
  }
  if (activation != "none") result = pointwise(build, OP_RELU, {result});
  if (activation == "relu6") {
    result = pointwise(build, OP_MIN, {result, scalar(build, result.type, 6)});
  }
  call.set(0, result);
}

// An equation such as "bij,bjk->bik": letters per operand and for the result.
struct Equation {
  std::vector<std::string> inputs;
  std::string output;
};

// The first of the MODEL_RANK letters that stand for the dimensions of "..."; control characters,
// which no equation contains.
constexpr char kEllipsis = '\x01';

std::string spelled(const std::string& term, int64_t rank) {
  const size_t dots = term.find("...");
  if (dots == std::string::npos) return term;
  const auto named = static_cast<int64_t>(term.size()) - 3;
  if (rank < named || rank - named > MODEL_RANK) {
    throw Error(Reason::shape_mismatch, text("term ", term, " does not fit ", rank, " dimensions"));
  }
  std::string letters;
  // Aligned from the right, as shapes broadcast.
  for (int64_t d = 0; d < rank - named; ++d) {
    letters += static_cast<char>(kEllipsis + (MODEL_RANK - (rank - named) + d));
  }
  return term.substr(0, dots) + letters + term.substr(dots + 3);
}

Equation parse(std::string equation, const OpCall& call) {
  std::erase(equation, ' ');
  Equation result;
  const size_t arrow = equation.find("->");
  std::string left = equation.substr(0, arrow);
  size_t begin = 0;
  std::string letters;
  std::string dots;
  for (size_t i = 0; i < call.size(); ++i) {
    const size_t end = std::min(left.find(',', begin), left.size());
    if (begin > left.size()) {
      throw Error(Reason::invalid_model,
                  text("equation ", equation, " has fewer terms than there are inputs"));
    }
    const std::string term = spelled(left.substr(begin, end - begin), call.in(i).rank());
    if (static_cast<int64_t>(term.size()) != call.in(i).rank()) {
      throw Error(Reason::shape_mismatch, text("term ", i, " of ", equation, " does not fit shape ",
                                               to_string(call.in(i).shape)));
    }
    for (char letter : term) {
      if (letter <= kEllipsis + MODEL_RANK && dots.find(letter) == std::string::npos) {
        dots += letter;
      }
    }
    letters += term;
    result.inputs.push_back(term);
    begin = end + 1;
  }
  std::sort(dots.begin(), dots.end());
  if (arrow == std::string::npos) {
    // Every letter that occurs once, in alphabetical order.
    std::string once;
    for (char letter : letters) {
      if (letter > kEllipsis + MODEL_RANK &&
          std::count(letters.begin(), letters.end(), letter) == 1) {
        once += letter;
      }
    }
    std::sort(once.begin(), once.end());
    result.output = dots + once;
  } else {
    result.output = equation.substr(arrow + 2);
    const size_t at = result.output.find("...");
    if (at != std::string::npos) result.output.replace(at, 3, dots);
  }
  return result;
}

// The product of two tensors, or one tensor if `b` is null, summed over all letters that are not in
// `to`.
Tensor contracted(Build& build, const Tensor& a, const std::string& a_letters, const Tensor* b,
                  const std::string& b_letters, const std::string& to) {
  std::map<char, int64_t> sizes;
  const auto learn = [&sizes](const Tensor& tensor, const std::string& letters) {
    for (size_t d = 0; d < letters.size(); ++d) {
      int64_t& size = sizes.emplace(letters[d], tensor.shape[d]).first->second;
      if (size == 1) size = tensor.shape[d];
      if (size != tensor.shape[d] && tensor.shape[d] != 1) {
        throw Error(Reason::shape_mismatch, text("a letter of the equation has the sizes ", size,
                                                 " and ", tensor.shape[d]));
      }
    }
  };
  learn(a, a_letters);
  if (b != nullptr) learn(*b, b_letters);
  const auto stride_of = [](const Tensor& tensor, const std::string& letters, char letter) {
    // A letter that occurs twice walks along the diagonal.
    const Shape strides = strides_of(tensor.shape);
    int64_t stride = 0;
    for (size_t d = 0; d < letters.size(); ++d) {
      if (letters[d] == letter && tensor.shape[d] != 1) stride += strides[d];
    }
    return stride;
  };
  Contraction view{};
  view.total = 1;
  Shape shape;
  for (char letter : to) {
    if (sizes.count(letter) == 0) {
      throw Error(Reason::invalid_model, "a letter of the result occurs in no input");
    }
    shape.push_back(sizes[letter]);
  }
  if (to.size() > MODEL_RANK || sizes.size() - to.size() > MODEL_RANK) {
    throw Error(Reason::unsupported_op,
                text("an equation of more than ", MODEL_RANK, " dimensions is not supported"));
  }
  const Tensor one = scalar(build, a.type, 1);
  for (size_t d = to.size(); d-- > 0;) {
    view.dims[view.rank] = sizes[to[d]];
    view.a[view.rank] = stride_of(a, a_letters, to[d]);
    view.b[view.rank] = b == nullptr ? 0 : stride_of(*b, b_letters, to[d]);
    ++view.rank;
  }
  for (const auto& [letter, size] : sizes) {
    if (to.find(letter) != std::string::npos) continue;
    view.sum_dims[view.sum_rank] = size;
    view.sum_a[view.sum_rank] = stride_of(a, a_letters, letter);
    view.sum_b[view.sum_rank] = b == nullptr ? 0 : stride_of(*b, b_letters, letter);
    view.total *= size;
    ++view.sum_rank;
  }
  const Tensor& second = b == nullptr ? one : *b;
  Tensor output = build.result({a, second}, a.type, shape, static_cast<double>(view.total));
  view.count = output.count();
  build.run(math_family(a.type), "contract", {a, second}, output, {}, view,
            2 * static_cast<double>(view.total));
  return output;
}

void einsum(OpCall& call) {
  const Equation equation = parse(call.text("equation", ""), call);
  Tensor result = call.in(0);
  std::string letters = equation.inputs[0];
  if (call.size() == 1) {
    call.set(0, contracted(call.build, result, letters, nullptr, "", equation.output));
    return;
  }
  for (size_t i = 1; i < call.size(); ++i) {
    // Sum over letters that neither the result nor a later operand has.
    std::string kept;
    for (char letter : letters + equation.inputs[i]) {
      bool later = equation.output.find(letter) != std::string::npos;
      for (size_t j = i + 1; j < call.size(); ++j) {
        later = later || equation.inputs[j].find(letter) != std::string::npos;
      }
      if (later && kept.find(letter) == std::string::npos) kept += letter;
    }
    if (i + 1 == call.size()) kept = equation.output;
    const Tensor& next = call.in(i);
    result = contracted(call.build, result, letters, &next, equation.inputs[i], kept);
    letters = kept;
  }
  call.set(0, result);
}

}  // namespace

Operators linear_operators() {
  return {
      {"Einsum", einsum},
      {"Gemm", gemm},
      {"MatMul", matmul_op},
  };
}

}  // namespace dala::model
