// Matrix products and Einsum.
#include <algorithm>
#include <map>
#include <set>

#include "kernels/elementwise/broadcast.hpp"
#include "model/ops/families.hpp"

namespace dala::model {
namespace {

void matmul_op(OpCall& call) {
  call.set(0, matmul(call.build, call.in(0), call.in(1), call.bias(),
                     call.node.epilogue.activation.kind));
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
  const Activation::Kind activation = call.node.epilogue.activation.kind;  // relu, relu6 or none
  Params params{{"transpose_a", turn_a}, {"transpose_b", turn_b}};
  const double alpha = call.real("alpha", 1);
  const double beta = call.real("beta", 1);
  // A bias of one row is fused into the matmul kernel.
  if (alpha == 1 && beta == 1 && call.has(2) && call.in(2).count() == shape[1] &&
      (call.in(2).rank() == 1 || call.in(2).shape == Shape{1, shape[1]})) {
    const Tensor row = Build::reshaped(call.in(2), {shape[1]});
    params["activation"] = std::string(to_string(activation));
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
  if (activation != Activation::Kind::none) result = pointwise(build, OP_RELU, {result});
  if (activation == Activation::Kind::relu6) {
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
      reject(text("equation ", equation, " has fewer terms than there are inputs"));
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
      reject("a letter of the result occurs in no input");
    }
    shape.push_back(sizes[letter]);
  }
  if (to.size() > MODEL_RANK || sizes.size() - to.size() > MODEL_RANK) {
    unsupported(text("an equation of more than ", MODEL_RANK, " dimensions is not supported"));
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

bool has_letter(const std::string& letters, char letter) {
  return letters.find(letter) != std::string::npos;
}

// The letters of `from` that are, or are not, in each of two other terms.
std::string letters_in(const std::string& from, const std::string& one, bool in_one,
                       const std::string& other, bool in_other) {
  std::string result;
  for (char letter : from) {
    if (has_letter(one, letter) == in_one && has_letter(other, letter) == in_other) {
      result += letter;
    }
  }
  return result;
}

bool all_different(const std::string& letters) {
  return std::set<char>(letters.begin(), letters.end()).size() == letters.size();
}

// A tensor with a letter for each dimension.
struct Lettered {
  Tensor tensor;
  std::string letters;

  int64_t size_of(char letter) const {
    return tensor.dim(static_cast<int64_t>(letters.find(letter)));
  }
  int64_t size_of_all(const std::string& some) const {
    int64_t size = 1;
    for (char letter : some) size *= size_of(letter);
    return size;
  }
};

// Sums over the letters that are in neither of the others.
Lettered without_own(Build& build, const Lettered& x, const std::string& other,
                     const std::string& to) {
  std::vector<int64_t> axes;
  for (size_t d = 0; d < x.letters.size(); ++d) {
    if (!has_letter(other, x.letters[d]) && !has_letter(to, x.letters[d])) {
      axes.push_back(static_cast<int64_t>(d));
    }
  }
  if (axes.empty()) return x;
  Lettered result;
  result.tensor = reduce(build, REDUCE_SUM, x.tensor, axes, false);
  for (char letter : x.letters) {
    if (has_letter(other, letter) || has_letter(to, letter)) result.letters += letter;
  }
  return result;
}

Lettered in_order(Build& build, const Lettered& x, const std::string& letters) {
  if (x.letters == letters) return x;
  std::vector<int64_t> order;
  for (char letter : letters) order.push_back(static_cast<int64_t>(x.letters.find(letter)));
  return {transpose(build, x.tensor, order), letters};
}

// The contraction of two tensors as a batched matrix product. The letters of both and of the result
// are the batch, those of one and the result its rows or columns, and those of both alone are
// summed over. Nullopt if it is no such product.
std::optional<Tensor> batched_product(Build& build, Lettered a, Lettered b, const std::string& to) {
  if (!is_float(a.tensor.type) || a.tensor.type != b.tensor.type || !all_different(a.letters) ||
      !all_different(b.letters) || !all_different(to)) {
    return std::nullopt;
  }
  for (char letter : a.letters) {
    if (has_letter(b.letters, letter) && a.size_of(letter) != b.size_of(letter)) {
      return std::nullopt;
    }
  }
  const std::string summed = letters_in(a.letters, b.letters, true, to, false);
  if (summed.empty()) return std::nullopt;
  for (char letter : to) {
    if (!has_letter(a.letters, letter) && !has_letter(b.letters, letter)) return std::nullopt;
  }
  a = without_own(build, a, b.letters, to);
  b = without_own(build, b, a.letters, to);
  const std::string batch = letters_in(to, a.letters, true, b.letters, true);
  const std::string rows = letters_in(a.letters, b.letters, false, to, true);
  const std::string columns = letters_in(b.letters, a.letters, false, to, true);
  // The kernel takes either operand transposed, which may spare moving it.
  const bool turn_a = a.letters == batch + summed + rows && !rows.empty();
  const bool turn_b = b.letters == batch + columns + summed && !columns.empty();
  if (!turn_a) a = in_order(build, a, batch + rows + summed);
  if (!turn_b) b = in_order(build, b, batch + summed + columns);
  Shape lead;
  Shape shape;
  for (char letter : batch) lead.push_back(a.size_of(letter));
  const int64_t m = a.size_of_all(rows);
  const int64_t k = a.size_of_all(summed);
  const int64_t n = b.size_of_all(columns);
  const auto matrices = [&lead](const Tensor& x, int64_t first, int64_t second) {
    Shape whole = lead;
    whole.insert(whole.end(), {first, second});
    return Build::reshaped(x, whole);
  };
  Shape product_shape = lead;
  product_shape.insert(product_shape.end(), {m, n});
  const Tensor product = build.kernel(
      "matmul",
      {turn_a ? matrices(a.tensor, k, m) : matrices(a.tensor, m, k),
       turn_b ? matrices(b.tensor, n, k) : matrices(b.tensor, k, n)},
      a.tensor.type, product_shape, {{"transpose_a", turn_a}, {"transpose_b", turn_b}});
  for (char letter : batch + rows) shape.push_back(a.size_of(letter));
  for (char letter : columns) shape.push_back(b.size_of(letter));
  return in_order(build, {Build::reshaped(product, shape), batch + rows + columns}, to).tensor;
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
    const auto product =
        batched_product(call.build, {result, letters}, {next, equation.inputs[i]}, kept);
    result = product ? *product
                     : contracted(call.build, result, letters, &next, equation.inputs[i], kept);
    letters = kept;
  }
  call.set(0, result);
}

// alpha * A x B, with the last two dimensions of either swapped.
void fused_matmul(OpCall& call) {
  Build& build = call.build;
  const Tensor& a = call.in(0);
  const Tensor& b = call.in(1);
  if (call.integer("transBatchA", 0) != 0 || call.integer("transBatchB", 0) != 0) {
    unsupported("FusedMatMul with transBatchA or transBatchB is not supported");
  }
  // A vector has no dimensions to swap.
  const bool turn_a = call.integer("transA", 0) != 0 && a.rank() > 1;
  const bool turn_b = call.integer("transB", 0) != 0 && b.rank() > 1;
  Tensor product;
  if (a.rank() < 2 || b.rank() < 2) {
    const auto turned = [&build](const Tensor& x) {
      std::vector<int64_t> order;
      for (int64_t d = 0; d < x.rank(); ++d) order.push_back(d);
      std::swap(order[order.size() - 1], order[order.size() - 2]);
      return transpose(build, x, order);
    };
    product = matmul(build, turn_a ? turned(a) : a, turn_b ? turned(b) : b);
  } else {
    Shape shape = broadcast_shape(
        {Shape(a.shape.begin(), a.shape.end() - 2), Shape(b.shape.begin(), b.shape.end() - 2)});
    shape.push_back(a.dim(a.rank() - (turn_a ? 1 : 2)));
    shape.push_back(b.dim(b.rank() - (turn_b ? 2 : 1)));
    product = build.kernel("matmul", {a, b}, a.type, shape,
                           {{"transpose_a", turn_a}, {"transpose_b", turn_b}});
  }
  const double alpha = call.real("alpha", 1);
  if (alpha != 1) product = pointwise(build, OP_AFFINE, {product}, alpha, 0);
  call.set(0, product);
}

}  // namespace

Operators linear_operators() {
  return {
      {"Einsum", einsum},    {"FusedMatMul", fused_matmul},     {"Gemm", gemm},
      {"MatMul", matmul_op}, {"TransposeMatMul", fused_matmul},
  };
}

}  // namespace dala::model
