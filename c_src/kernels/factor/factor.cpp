#include "kernels/factor/factor.hpp"

#include <algorithm>

#include "kernels/checks.hpp"
#include "kernels/element.hpp"
#include "kernels/factor/factor_args.h"
#include "kernels/reduce/axis.hpp"

namespace dala {
namespace {

const std::vector<DType> kFloats{DType::f32, DType::f64};

constexpr int64_t kLargest = 1 << 20;     // rows or columns
constexpr int64_t kGroupElements = 4096;  // elements that amortise the start of a group
constexpr int64_t kSolveBlock = 32;       // BLOCK in triangular.cl
constexpr size_t kItems = 64;             // of a group (GPU class)

// A batch of matrices: the last two dimensions, and the leading ones.
struct Matrices {
  int64_t batch = 1;
  int64_t rows = 1;
  int64_t columns = 1;
  Shape leading;

  int64_t least() const { return std::min(rows, columns); }
  // The leading dimensions, followed by `last`.
  Shape with(std::initializer_list<int64_t> last) const {
    Shape shape = leading;
    shape.insert(shape.end(), last);
    return shape;
  }
};

Matrices matrices_of(const std::string& kernel, const Call& call, size_t index) {
  const Shape& shape = call.inputs[index].shape;
  if (shape.size() < 2) {
    throw Error(Reason::shape_mismatch,
                text("input ", index, " of ", kernel, " has shape ", to_string(shape),
                     ", expected matrices: at least two dimensions"));
  }
  Matrices matrices;
  matrices.leading.assign(shape.begin(), shape.end() - 2);
  matrices.rows = shape[shape.size() - 2];
  matrices.columns = shape.back();
  for (int64_t extent : matrices.leading) matrices.batch *= extent;
  if (std::max(matrices.rows, matrices.columns) > kLargest) {
    throw Error(Reason::unsupported, text(kernel, " of matrices with more than ", kLargest,
                                          " rows or columns is not supported"));
  }
  return matrices;
}

void need_square(const std::string& kernel, const Call& call, const Matrices& matrices) {
  if (matrices.rows == matrices.columns) return;
  throw Error(Reason::shape_mismatch,
              text("input 0 of ", kernel, " has shape ", to_string(call.inputs[0].shape),
                   ", expected square matrices"));
}

// The type in which a file's kernels compute: rotations accumulate many rounding errors, and on
// CPUs reflections in f64 cost little more.
DType worked_type(const Planner& planner, DType dtype, const std::string& file) {
  const bool wide = file == "jacobi" || (file == "qr" && planner.cpu_class());
  return wide && planner.fp64() ? DType::f64 : dtype;
}

std::shared_ptr<Program> program_for(Planner& planner, DType dtype, const std::string& file) {
  return planner.program(text("factor ", file, " ", to_string(dtype)), [&] {
    Defines defines = element_defines(worked_type(planner, dtype, file));
    defines.emplace_back("IO", cl_name(dtype));
    return ProgramSource{defines, {{"factor/" + file + ".cl"}}};
  });
}

// A choice of the parameter `result`: its number, element type, allowed shapes, operations and
// scratch.
struct Result {
  int number = FACTOR_FIRST;
  std::vector<Shape> shapes;
  bool indices = false;
};

using ResultOf = std::function<Result(const Matrices&, const std::string& result)>;

struct Factorization {
  std::string name;
  std::string file;
  bool square = false;
  ResultOf result;
  // Elements of scratch per matrix, and which dimension of the result is its extent.
  std::function<int64_t(const Matrices&, int64_t extent)> work = {};
  std::function<int64_t(const Shape& output, int number)> extent = {};
  double operations = 1;  // per element and row
};

std::string result_of(const Call& call) { return call.has("result") ? call.choice("result") : ""; }

void check_factorization(const Factorization& kind, const Call& call) {
  const Matrices matrices = matrices_of(kind.name, call, 0);
  if (kind.square) need_square(kind.name, call, matrices);
  Result result = kind.result(matrices, result_of(call));
  if (result.shapes.size() == 2 && result.shapes[0] == result.shapes[1]) result.shapes.pop_back();
  need_output_dtype(kind.name, call, {result.indices ? DType::s32 : call.inputs[0].dtype});
  need_output_shape(kind.name, call, result.shapes);
}

Launch plan_factorization(const Factorization& kind, const Call& call, Planner& planner) {
  planner.need_arithmetic(kind.name, call);
  Launch launch;
  if (call.output.count() == 0) return launch;
  const DType dtype = call.inputs[0].dtype;
  const Matrices matrices = matrices_of(kind.name, call, 0);
  const Result result = kind.result(matrices, result_of(call));
  FactorView view;
  view.batch = matrices.batch;
  view.rows = static_cast<cl_int>(matrices.rows);
  view.columns = static_cast<cl_int>(matrices.columns);
  view.result = result.number;
  if (kind.extent) {
    view.extent = static_cast<cl_int>(kind.extent(call.output.shape, result.number));
  }
  KernelStep step{program_for(planner, dtype, kind.file), kind.name, {input(0), output()}, {}};
  if (kind.name == "lu") step.arguments.push_back(output());
  if (kind.work) {
    view.work = kind.work(matrices, view.extent);
    const DType worked = worked_type(planner, dtype, kind.file);
    launch.scratch = {static_cast<size_t>(view.work * view.batch) * size_of(worked)};
    step.arguments.push_back(scratch(0));
  }
  const int64_t elements = std::max<int64_t>(1, matrices.rows * matrices.columns);
  if (planner.cpu_class()) {
    const int64_t enough = std::max<int64_t>(1, kGroupElements / elements);
    const int64_t fair = std::max<int64_t>(1, view.batch / planner.busy_groups());
    view.units = std::min(enough, fair);
    step.range.global[0] = static_cast<size_t>(ceil_div(view.batch, view.units));
  } else {
    step.range = group_per_result(view.batch, planner.group_items(kItems));
  }
  step.arguments.push_back(value(view));
  launch.steps.push_back(std::move(step));
  launch.work = static_cast<double>(call.inputs[0].bytes() + call.output.bytes()) +
                kind.operations * static_cast<double>(call.inputs[0].count()) *
                    static_cast<double>(matrices.least()) / 8;
  return launch;
}

Descriptor descriptor_of(const Factorization& kind, const std::string& summary,
                         const std::string& output_rule, const std::vector<std::string>& results,
                         const std::string& results_summary) {
  Descriptor factor;
  factor.name = kind.name;
  factor.summary = summary;
  factor.dtypes = kFloats;
  factor.output_rule = output_rule;
  if (!results.empty()) factor.params = {choice_param("result", results, results_summary)};
  factor.check = [kind](const Call& call) { check_factorization(kind, call); };
  factor.plan = [kind](const Call& call, Planner& planner) {
    return plan_factorization(kind, call, planner);
  };
  const bool vector = kind.name == "eigh" || kind.name == "svd";
  factor.sample = [vector](DType dtype) {
    return Call{{{dtype, {1, 1}}}, {dtype, vector ? Shape{1} : Shape{1, 1}}, {}};
  };
  return factor;
}

Descriptor cholesky_kernel() {
  Factorization cholesky{"cholesky", "direct", true, [](const Matrices& a, const std::string&) {
                           return Result{FACTOR_FIRST, {a.with({a.rows, a.rows})}};
                         }};
  cholesky.operations = 1.0 / 3;
  return descriptor_of(cholesky,
                       "The lower triangular l with l l^T = a, for symmetric positive definite "
                       "matrices a {n, n}, whose lower triangle is read; NaN for others. Leading "
                       "dimensions are batches.",
                       "the input's element type and shape", {}, "");
}

Descriptor lu_kernel() {
  Factorization lu{"lu", "direct", false, [](const Matrices& a, const std::string& result) {
                     return result == "permutation"
                                ? Result{FACTOR_SECOND, {a.with({a.rows})}, true}
                                : Result{FACTOR_FIRST, {a.with({a.rows, a.columns})}};
                   }};
  lu.work = [](const Matrices& a, int64_t) { return a.rows * a.columns + a.rows; };
  lu.operations = 2.0 / 3;
  return descriptor_of(
      lu,
      "The factors l and u of a {m, n} with its rows exchanged, l having ones on its diagonal, by "
      "elimination with the largest element of a column as the pivot. Leading dimensions are "
      "batches.",
      "packed: the input's element type and shape; permutation: s32, without the last dimension",
      {"packed", "permutation"},
      "u on and above the diagonal with l below it, or the rows of a in their new order");
}

Descriptor qr_kernel() {
  Factorization qr{
      "qr", "qr", false, [](const Matrices& a, const std::string& result) {
        const int64_t least = a.least();
        if (result == "r") {
          return Result{FACTOR_SECOND, {a.with({least, a.columns}), a.with({a.rows, a.columns})}};
        }
        return Result{FACTOR_FIRST, {a.with({a.rows, least}), a.with({a.rows, a.rows})}};
      }};
  qr.extent = [](const Shape& output, int number) {
    return number == FACTOR_SECOND ? output[output.size() - 2] : output.back();
  };
  qr.work = [](const Matrices& a, int64_t extent) {
    return a.rows * a.columns + a.least() + extent * a.rows;
  };
  qr.operations = 4;
  return descriptor_of(
      qr,
      "The factors of a {m, n} = q r, the columns of q being orthogonal unit vectors and r upper "
      "triangular, by Householder's reflections. The diagonal of r is not negative, except where a "
      "column is zero below it and needs no reflection. Leading dimensions are batches.",
      "the input's element type; with k = min(m, n), q: {m, k} or {m, m}; r: {k, n} or {m, n}",
      {"q", "r"}, "the factor");
}

Descriptor eigh_kernel() {
  Factorization eigh{"eigh", "jacobi", true, [](const Matrices& a, const std::string& result) {
                       if (result == "vectors") {
                         return Result{FACTOR_SECOND, {a.with({a.rows, a.rows})}};
                       }
                       if (result == "both") {
                         return Result{FACTOR_THIRD, {a.with({a.rows + 1, a.rows})}};
                       }
                       return Result{FACTOR_FIRST, {a.with({a.rows})}};
                     }};
  eigh.work = [](const Matrices& a, int64_t) { return 2 * a.rows * a.rows + 4 * a.rows; };
  eigh.operations = 60;
  return descriptor_of(
      eigh,
      "The eigenvalues of symmetric matrices {n, n}, ascending, and their eigenvectors, by "
      "Jacobi's "
      "rotations. Leading dimensions are batches.",
      "the input's element type; values: {n}, vectors: {n, n}, a vector in each column, both: "
      "{n + 1, n}, the values in front",
      {"values", "vectors", "both"}, "what is written");
}

Descriptor svd_kernel() {
  Factorization svd{
      "svd", "jacobi", false, [](const Matrices& a, const std::string& result) {
        const int64_t least = a.least();
        if (result == "u") {
          return Result{FACTOR_SECOND, {a.with({a.rows, least}), a.with({a.rows, a.rows})}};
        }
        if (result == "vt") {
          return Result{FACTOR_THIRD, {a.with({least, a.columns}), a.with({a.columns, a.columns})}};
        }
        return Result{FACTOR_FIRST, {a.with({least})}};
      }};
  svd.extent = [](const Shape& output, int number) {
    return number == FACTOR_THIRD ? output[output.size() - 2] : output.back();
  };
  svd.work = [](const Matrices& a, int64_t extent) {
    const int64_t least = a.least();
    const int64_t most = std::max(a.rows, a.columns);
    return least * most + least * least + least + std::max(extent, least) * most + least * least +
           least;
  };
  svd.operations = 60;
  return descriptor_of(
      svd,
      "The singular values of matrices a {m, n} = u diag(values) vt, descending, and their "
      "vectors, "
      "by Jacobi's rotations of columns. Leading dimensions are batches.",
      "the input's element type; with k = min(m, n), values: {k}; u: {m, k} or {m, m}; vt: {k, n} "
      "or {n, n}",
      {"values", "u", "vt"}, "what is written");
}

// b as a set of systems: {.., n, k}, or {.., n} for one; from the right {.., k, n}, or {.., n}.
struct Systems {
  SolveView view;
  Shape shape;  // expected of b
};

Systems systems_of(const Call& call) {
  const Matrices a = matrices_of("triangular_solve", call, 0);
  need_square("triangular_solve", call, a);
  const bool right = call.flag("right");
  const Shape& b = call.inputs[1].shape;
  Systems systems;
  SolveView& view = systems.view;
  view.batch = a.batch;
  view.size = a.rows;
  view.upper = call.choice("triangle") == "upper" ? 1 : 0;
  view.transposed = call.flag("transpose") ? 1 : 0;
  view.unit = call.flag("unit") ? 1 : 0;
  const bool vectors = b.size() + 1 == call.inputs[0].shape.size();
  view.systems = vectors || b.size() < 2 ? 1 : b[b.size() - (right ? 2 : 1)];
  systems.shape = vectors ? a.with({a.rows})
                  : right ? a.with({view.systems, a.rows})
                          : a.with({a.rows, view.systems});
  // A system from the right is one of the transposed matrix, stored in rows.
  if (right) view.transposed = 1 - view.transposed;
  view.step = right ? 1 : view.systems;
  view.across = right ? view.size : 1;
  // The transpose of a lower triangle is an upper one.
  if (view.transposed != 0) view.upper = 1 - view.upper;
  return systems;
}

Launch plan_triangular(const Call& call, Planner& planner) {
  planner.need_arithmetic("triangular_solve", call);
  Launch launch;
  if (call.output.count() == 0) return launch;
  SolveView view = systems_of(call).view;
  KernelStep step{
      program_for(planner, call.output.dtype, "triangular"), "triangular_solve", {}, {}};
  if (planner.cpu_class()) {
    const int64_t wanted = ceil_div(view.systems * view.batch, planner.busy_groups());
    view.block = static_cast<cl_int>(std::clamp<int64_t>(wanted, 1, kSolveBlock));
    step.range.global[0] =
        static_cast<size_t>(view.batch * ceil_div(view.systems, int64_t{view.block}));
  } else {
    step.range = item_per_result(planner, view.batch * view.systems);
  }
  step.arguments = {input(0), input(1), output(), value(view)};
  launch.steps.push_back(std::move(step));
  launch.work = static_cast<double>(call.inputs[0].bytes() + 2 * call.output.bytes()) +
                static_cast<double>(call.output.count()) * static_cast<double>(view.size) / 8;
  return launch;
}

Descriptor triangular_kernel() {
  const ParamSpec triangle =
      choice_param("triangle", {"lower", "upper"},
                   "which triangle of a is read, the other one being taken as zeros");
  Descriptor solve;
  solve.name = "triangular_solve";
  solve.summary =
      "The solutions x of a x = b, a {n, n} being triangular and b {n, k}, or {n}. Leading "
      "dimensions are batches. A 0 on the diagonal gives infinities or NaN.";
  solve.inputs = 2;
  solve.dtypes = kFloats;
  solve.output_rule = "the inputs' element type, the shape of input 1";
  solve.params = {triangle, flag_param("transpose", "whether it is a^T x = b"),
                  flag_param("unit", "whether the diagonal is taken as ones"),
                  flag_param("right", "whether it is x a = b, with b {k, n}")};
  solve.check = [](const Call& call) {
    need_same_inputs("triangular_solve", call);
    const Systems systems = systems_of(call);
    if (call.inputs[1].shape != systems.shape) {
      throw Error(Reason::shape_mismatch,
                  text("input 1 of triangular_solve has shape ", to_string(call.inputs[1].shape),
                       ", expected ", to_string(systems.shape)));
    }
    need_output_dtype("triangular_solve", call, {call.inputs[0].dtype});
    need_output_shape("triangular_solve", call, {call.inputs[1].shape});
  };
  solve.plan = plan_triangular;
  solve.sample = [](DType dtype) {
    return Call{{{dtype, {1, 1}}, {dtype, {1, 1}}}, {dtype, {1, 1}}, {}};
  };
  return solve;
}

}  // namespace

Descriptors factor_kernels() {
  return {cholesky_kernel(), lu_kernel(),  qr_kernel(),
          eigh_kernel(),     svd_kernel(), triangular_kernel()};
}

}  // namespace dala
