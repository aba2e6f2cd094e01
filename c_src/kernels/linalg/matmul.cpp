#include "kernels/linalg/matmul.hpp"

#include <utility>

#include "kernels/checks.hpp"
#include "kernels/linalg/clblast.hpp"
#include "kernels/linalg/product.hpp"
#include "kernels/narrow.hpp"

namespace dala {
namespace {

// The shape of an input with its transposition applied.
Shape operand_shape(const Call& call, size_t index) {
  Shape shape = call.inputs[index].shape;
  if (call.flag(index == 0 ? "transpose_a" : "transpose_b")) {
    std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  }
  return shape;
}

Shape batch_shape(const Shape& shape) { return {shape.begin(), shape.end() - 2}; }

// "{2, 3} and {3, 2} transposed"
std::string operands_text(const Call& call) {
  const auto one = [&](size_t index, const char* flag) {
    return to_string(call.inputs[index].shape) + (call.flag(flag) ? " transposed" : "");
  };
  return one(0, "transpose_a") + " and " + one(1, "transpose_b");
}

// The leading dimensions to which those of both operands broadcast. Throws when they do not.
Shape common_batch(const Call& call) {
  Shape wide = batch_shape(call.inputs[0].shape);
  Shape narrow = batch_shape(call.inputs[1].shape);
  if (wide.size() < narrow.size()) std::swap(wide, narrow);
  const size_t missing = wide.size() - narrow.size();
  for (size_t d = 0; d < narrow.size(); ++d) {
    int64_t& extent = wide[missing + d];
    if (extent == 1) extent = narrow[d];
    if (narrow[d] == 1 || narrow[d] == extent) continue;
    throw Error(Reason::shape_mismatch,
                text("matmul needs inputs whose leading dimensions are equal or 1, got ",
                     operands_text(call)));
  }
  return wide;
}

void check_matmul(const Call& call) {
  need_same_inputs("matmul", call);
  need_output_dtype("matmul", call, {call.inputs[0].dtype});
  for (size_t i = 0; i < 2; ++i) {
    if (call.inputs[i].shape.size() >= 2) continue;
    throw Error(Reason::shape_mismatch,
                text("input ", i, " of matmul has shape ", to_string(call.inputs[i].shape),
                     ", expected at least 2 dimensions"));
  }
  Shape expected = common_batch(call);
  const Shape a = operand_shape(call, 0);
  const Shape b = operand_shape(call, 1);
  if (a.back() != b[b.size() - 2]) {
    throw Error(Reason::shape_mismatch,
                text("matmul needs as many rows in input 1 as columns in input 0, got ",
                     operands_text(call)));
  }
  const int64_t n = b.back();
  if (call.inputs.size() > 2 && call.inputs[2].shape != Shape{n}) {
    throw Error(Reason::shape_mismatch,
                text("input 2 of matmul has shape ", to_string(call.inputs[2].shape), ", expected ",
                     to_string(Shape{n})));
  }
  expected.push_back(a[a.size() - 2]);
  expected.push_back(n);
  need_output_shape("matmul", call, {expected});
}

// The strides between the matrices of a batch. Precondition: the output has elements.
void set_batch(Product& product, const Call& call) {
  const Shape out = batch_shape(call.output.shape);
  std::vector<TensorType> matrices;  // one element represents a matrix
  for (size_t i = 0; i < 2; ++i) {
    matrices.push_back({call.inputs[i].dtype, batch_shape(call.inputs[i].shape)});
  }
  const PointwiseLayout layout = broadcast_layout("matmul", matrices, out);
  product.batch = layout.count;
  product.batch_rank = layout.rank;
  product.batch_dims = layout.dims;
  for (size_t d = 0; d < kMaxRank; ++d) {
    product.a_steps[d] = layout.strides[d] * product.m * product.k;
    product.b_steps[d] = layout.strides[kMaxRank + d] * product.k * product.n;
  }
}

Product product_of(const Call& call) {
  const Shape a = operand_shape(call, 0);
  const Shape b = operand_shape(call, 1);
  Product product;
  product.m = a[a.size() - 2];
  product.k = a.back();
  product.n = b.back();
  product.transpose_a = call.flag("transpose_a") ? 1 : 0;
  product.transpose_b = call.flag("transpose_b") ? 1 : 0;
  product.a_pitch = call.inputs[0].shape.back();
  product.b_pitch = call.inputs[1].shape.back();
  product.has_bias = call.inputs.size() > 2 ? 1 : 0;
  set_batch(product, call);
  // A batch of matrices a that all multiply one b is one a with more rows.
  const bool one_b = TensorType{DType::u8, batch_shape(call.inputs[1].shape)}.count() == 1;
  if (one_b && product.transpose_a == 0) {
    product.m *= product.batch;
    product.batch = 1;
    product.batch_rank = 0;
  }
  // The transpose of a single row has the same memory layout; likewise a single column of b.
  if (product.m == 1 && product.transpose_a != 0) {
    product.transpose_a = 0;
    product.a_pitch = product.k;
  }
  if (product.n == 1 && product.transpose_b == 0) {
    product.transpose_b = 1;
    product.b_pitch = product.k;
  }
  product.split = product.k;
  return product;
}

// Whether CLBlast computes this product. It supports floats only. On CPUs its kernels compile
// slowly and run slowly, so there it runs only if configured.
bool use_clblast(const Planner& planner, DType dtype) {
  if (!is_float(dtype)) return false;
  const std::string& backend = planner.matmul_backend();
  if (backend == "clblast") {
    if (load_clblast().empty()) return true;
    throw Error(Reason::unsupported,
                text("matmul is set to clblast, but CLBlast cannot be loaded: ", load_clblast()));
  }
  return backend == "auto" && !planner.cpu_class() && planner.device().info().type != "cpu" &&
         load_clblast().empty();
}

Launch plan_matmul(const Call& call, Planner& planner) {
  planner.need_arithmetic("matmul", call);
  const DType dtype = call.output.dtype;
  Launch launch;
  if (call.output.count() == 0) return launch;
  const Product product = product_of(call);
  const bool plain = product.has_bias == 0 && call.choice("activation") == "none";
  if (product.k == 0) {
    launch.steps.push_back(FillStep{output(), value(uint8_t{0}), call.output.bytes()});
    if (!plain) launch.steps.push_back(finish_step(planner, call, product, output(), 1));
  } else if (use_clblast(planner, dtype)) {
    launch.steps.push_back(clblast_gemm(product, dtype));
    if (!plain) launch.steps.push_back(finish_step(planner, call, product, output(), 1));
  } else if (planner.cpu_class()) {
    plan_cpu_matmul(planner, call, product, launch);
  } else {
    plan_gpu_matmul(planner, call, product, launch);
  }
  const double operations =
      2.0 * static_cast<double>(call.output.count()) * static_cast<double>(product.k);
  launch.work = static_cast<double>(call.output.bytes()) + operations / 8;
  for (const TensorType& type : call.inputs) launch.work += static_cast<double>(type.bytes());
  return launch;
}

}  // namespace

Descriptors linalg_kernels() {
  ParamSpec activation;
  activation.name = "activation";
  activation.kind = ParamSpec::Kind::choice;
  activation.fallback = std::string("none");
  activation.choices = {"none", "relu", "relu6"};
  activation.summary = "applied to each result: max(x, 0) for relu, min(max(x, 0), 6) for relu6";

  Descriptor matmul;
  matmul.name = "matmul";
  matmul.summary =
      "The matrix product of a {m, k} and b {k, n}, plus a bias {n} if given as input 2; leading "
      "dimensions are batches, and broadcast.";
  matmul.inputs = 2;
  matmul.optional_inputs = 1;
  matmul.dtypes = kPlainDTypes;
  matmul.output_rule = "the inputs' element type, their leading dimensions, then {m, n}";
  matmul.params = {flag_param("transpose_a", "whether a is stored as {k, m}"),
                   flag_param("transpose_b", "whether b is stored as {n, k}"), activation};
  matmul.check = check_matmul;
  matmul.plan = plan_matmul;
  return {with_narrow_floats(matmul), dot_kernel(matmul)};
}

}  // namespace dala
