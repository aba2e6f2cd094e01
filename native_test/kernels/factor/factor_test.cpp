// References of the factorizations in long double, where results are unique; where they are not,
// the product of the factors is checked.
#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include "support/subject.hpp"

namespace dala::test {
namespace {

struct Matrix {
  size_t rows = 0;
  size_t columns = 0;
  std::vector<long double> x;

  Matrix(size_t m, size_t n) : rows(m), columns(n), x(m * n) {}
  long double& at(size_t i, size_t j) { return x[i * columns + j]; }
  long double at(size_t i, size_t j) const { return x[i * columns + j]; }
};

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix c(a.rows, b.columns);
  for (size_t i = 0; i < a.rows; ++i) {
    for (size_t k = 0; k < a.columns; ++k) {
      for (size_t j = 0; j < b.columns; ++j) c.at(i, j) += a.at(i, k) * b.at(k, j);
    }
  }
  return c;
}

Matrix transposed(const Matrix& a) {
  Matrix t(a.columns, a.rows);
  for (size_t i = 0; i < a.rows; ++i) {
    for (size_t j = 0; j < a.columns; ++j) t.at(j, i) = a.at(i, j);
  }
  return t;
}

long double norm_of(const Matrix& a) {
  long double sum = 0;
  for (long double x : a.x) sum += x * x;
  return std::sqrt(sum);
}

long double distance(const Matrix& a, const Matrix& b) {
  long double sum = 0;
  for (size_t i = 0; i < a.x.size(); ++i) sum += (a.x[i] - b.x[i]) * (a.x[i] - b.x[i]);
  return std::sqrt(sum);
}

long double from_identity(const Matrix& a) {
  Matrix one(a.rows, a.columns);
  for (size_t i = 0; i < a.rows; ++i) one.at(i, i) = 1;
  return distance(a, one);
}

// Matrix `index` of a batch.
Matrix matrix_of(const Tensor& tensor, size_t index) {
  const Shape& shape = tensor.type.shape;
  Matrix matrix(static_cast<size_t>(shape[shape.size() - 2]), static_cast<size_t>(shape.back()));
  for (size_t i = 0; i < matrix.x.size(); ++i) {
    matrix.x[i] = tensor.reals[index * matrix.x.size() + i];
  }
  return matrix;
}

size_t batch_of(const Shape& shape) {
  size_t batch = 1;
  for (size_t d = 0; d + 2 < shape.size(); ++d) batch *= static_cast<size_t>(shape[d]);
  return batch;
}

// Calls `compute` with each matrix and the start of its result; errors are relative to `scale`.
template <typename Compute>
Tensor each_matrix(const Case& example, const std::vector<Tensor>& inputs, Compute compute) {
  Tensor result(example.output);
  const size_t batch = batch_of(example.inputs[0].shape);
  if (result.is_real()) result.scales.resize(result.size());
  for (size_t b = 0; b < batch; ++b) {
    const size_t size = result.size() / batch;
    const Matrix a = matrix_of(inputs[0], b);
    const std::vector<long double> values = compute(a);
    for (size_t i = 0; i < size; ++i) {
      if (result.is_real()) {
        result.reals[b * size + i] = values[i];
        result.scales[b * size + i] = norm_of(a) + 1;
      } else {
        result.integers[b * size + i] = static_cast<int64_t>(values[i]);
      }
    }
  }
  return result;
}

std::vector<Shape> square_shapes() {
  std::vector<Shape> all{{1, 1},    {2, 2},    {3, 3},       {0, 0},
                         {0, 3, 3}, {2, 5, 5}, {3, 2, 4, 4}, {17, 17}};
  if (!quick()) {
    all.push_back({70, 70});
    all.push_back({500, 4, 4});
    all.push_back({33, 20, 20});
  }
  return all;
}

std::vector<Shape> all_shapes() {
  std::vector<Shape> all = square_shapes();
  for (const Shape& shape :
       {Shape{1, 4}, {4, 1}, {3, 7}, {7, 3}, {2, 6, 5}, {2, 0, 3}, {2, 3, 0}}) {
    all.push_back(shape);
  }
  if (!quick()) {
    all.push_back({60, 21});
    all.push_back({21, 60});
  }
  return all;
}

void positive_definite(const Case&, std::vector<Tensor>& inputs) {
  const Shape& shape = inputs[0].type.shape;
  const size_t size = static_cast<size_t>(shape.back() * shape.back());
  for (size_t b = 0; b < batch_of(shape); ++b) {
    const Matrix a = matrix_of(inputs[0], b);
    Matrix square = product(a, transposed(a));
    for (size_t i = 0; i < a.rows; ++i) square.at(i, i) += 1;
    for (size_t i = 0; i < size; ++i) {
      inputs[0].reals[b * size + i] = static_cast<float>(square.x[i]);
    }
  }
}

void symmetric(const Case&, std::vector<Tensor>& inputs) {
  const Shape& shape = inputs[0].type.shape;
  const size_t n = static_cast<size_t>(shape.back());
  for (size_t b = 0; b < batch_of(shape); ++b) {
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < i; ++j) {
        inputs[0].reals[(b * n + i) * n + j] = inputs[0].reals[(b * n + j) * n + i];
      }
    }
  }
}

std::vector<long double> cholesky(const Matrix& a) {
  Matrix l(a.rows, a.rows);
  for (size_t j = 0; j < a.rows; ++j) {
    for (size_t i = j; i < a.rows; ++i) {
      long double sum = a.at(i, j);
      for (size_t k = 0; k < j; ++k) sum -= l.at(i, k) * l.at(j, k);
      l.at(i, j) = i == j ? std::sqrt(sum) : sum / l.at(j, j);
    }
  }
  return l.x;
}

const SubjectOf kCholesky("cholesky", {[](DType dtype) {
                                         std::vector<Case> all;
                                         for (const Shape& shape : square_shapes()) {
                                           all.push_back({{{dtype, shape}}, {dtype, shape}});
                                         }
                                         return all;
                                       },
                                       [](const Case& example, const std::vector<Tensor>& inputs) {
                                         return each_matrix(example, inputs, cholesky);
                                       },
                                       1e-5L, 1e-13L, 0, positive_definite});

struct Eliminated {
  Matrix packed;
  std::vector<size_t> order;
};

Eliminated eliminate(const Matrix& a) {
  Eliminated result{a, std::vector<size_t>(a.rows)};
  Matrix& x = result.packed;
  std::iota(result.order.begin(), result.order.end(), size_t{0});
  for (size_t k = 0; k < std::min(a.rows, a.columns); ++k) {
    size_t pivot = k;
    for (size_t i = k + 1; i < a.rows; ++i) {
      if (std::fabs(x.at(i, k)) > std::fabs(x.at(pivot, k))) pivot = i;
    }
    std::swap(result.order[k], result.order[pivot]);
    for (size_t c = 0; c < a.columns; ++c) std::swap(x.at(k, c), x.at(pivot, c));
    for (size_t i = k + 1; i < a.rows; ++i) {
      x.at(i, k) = x.at(k, k) == 0 ? 0 : x.at(i, k) / x.at(k, k);
      for (size_t c = k + 1; c < a.columns; ++c) x.at(i, c) -= x.at(i, k) * x.at(k, c);
    }
  }
  return result;
}

const SubjectOf kLu("lu", {[](DType dtype) {
                             std::vector<Case> all;
                             for (const Shape& shape : all_shapes()) {
                               all.push_back({{{dtype, shape}}, {dtype, shape}});
                               all.push_back({{{dtype, shape}},
                                              {DType::s32, Shape(shape.begin(), shape.end() - 1)},
                                              {{"result", std::string("permutation")}}});
                             }
                             return all;
                           },
                           [](const Case& example, const std::vector<Tensor>& inputs) {
                             return each_matrix(example, inputs, [&](const Matrix& a) {
                               const Eliminated done = eliminate(a);
                               if (example.output.dtype != DType::s32) return done.packed.x;
                               return std::vector<long double>(done.order.begin(),
                                                               done.order.end());
                             });
                           },
                           3e-5L, 1e-12L});

struct Reflected {
  Matrix q;
  Matrix r;
};

// The complete factors, by reflections of whole matrices. A column that is zero below the diagonal
// is not reflected; any other has its norm on the diagonal.
Reflected reflect(const Matrix& a) {
  Reflected result{Matrix(a.rows, a.rows), a};
  for (size_t i = 0; i < a.rows; ++i) result.q.at(i, i) = 1;
  for (size_t k = 0; k < std::min(a.rows, a.columns); ++k) {
    std::vector<long double> v(a.rows);
    long double square = 0;
    for (size_t i = k; i < a.rows; ++i) {
      v[i] = result.r.at(i, k);
      square += v[i] * v[i];
    }
    if (square == v[k] * v[k]) continue;
    v[k] -= std::sqrt(square);
    long double size = 0;
    for (long double x : v) size += x * x;
    const auto apply = [&](Matrix& x, bool left) {
      const size_t others = left ? x.columns : x.rows;
      for (size_t c = 0; c < others; ++c) {
        long double sum = 0;
        for (size_t i = k; i < a.rows; ++i) sum += v[i] * (left ? x.at(i, c) : x.at(c, i));
        for (size_t i = k; i < a.rows; ++i) {
          (left ? x.at(i, c) : x.at(c, i)) -= 2 * sum / size * v[i];
        }
      }
    };
    apply(result.r, true);
    apply(result.q, false);
  }
  return result;
}

const SubjectOf kQr("qr", {[](DType dtype) {
                             std::vector<Case> all;
                             for (const Shape& shape : all_shapes()) {
                               const int64_t m = shape[shape.size() - 2];
                               const int64_t n = shape.back();
                               const auto shaped = [&](int64_t rows, int64_t columns) {
                                 Shape result = shape;
                                 result[shape.size() - 2] = rows;
                                 result.back() = columns;
                                 return TensorType{dtype, result};
                               };
                               const Params r{{"result", std::string("r")}};
                               all.push_back({{{dtype, shape}}, shaped(m, std::min(m, n))});
                               all.push_back({{{dtype, shape}}, shaped(m, m)});
                               all.push_back({{{dtype, shape}}, shaped(std::min(m, n), n), r});
                               all.push_back({{{dtype, shape}}, shaped(m, n), r});
                             }
                             return all;
                           },
                           [](const Case& example, const std::vector<Tensor>& inputs) {
                             return each_matrix(example, inputs, [&](const Matrix& a) {
                               const Reflected done = reflect(a);
                               const Shape& shape = example.output.shape;
                               const auto rows = static_cast<size_t>(shape[shape.size() - 2]);
                               const auto columns = static_cast<size_t>(shape.back());
                               const Matrix& whole = example.params.empty() ? done.q : done.r;
                               Matrix part(rows, columns);
                               for (size_t i = 0; i < rows; ++i) {
                                 for (size_t j = 0; j < columns; ++j) {
                                   const bool zero = !example.params.empty() && i > j;
                                   part.at(i, j) = zero ? 0 : whole.at(i, j);
                                 }
                               }
                               return part.x;
                             });
                           },
                           1e-4L, 1e-12L});

// Eigenvalues by rotating one element at a time, ascending.
std::vector<long double> eigenvalues(Matrix a) {
  const size_t n = a.rows;
  for (int sweep = 0; sweep < 60; ++sweep) {
    for (size_t p = 0; p < n; ++p) {
      for (size_t q = p + 1; q < n; ++q) {
        if (a.at(p, q) == 0) continue;
        const long double angle = 0.5L * std::atan2(2 * a.at(p, q), a.at(q, q) - a.at(p, p));
        const long double c = std::cos(angle);
        const long double s = std::sin(angle);
        for (size_t k = 0; k < n; ++k) {
          const long double x = a.at(p, k);
          const long double y = a.at(q, k);
          a.at(p, k) = c * x - s * y;
          a.at(q, k) = s * x + c * y;
        }
        for (size_t k = 0; k < n; ++k) {
          const long double x = a.at(k, p);
          const long double y = a.at(k, q);
          a.at(k, p) = c * x - s * y;
          a.at(k, q) = s * x + c * y;
        }
      }
    }
  }
  std::vector<long double> values(n);
  for (size_t i = 0; i < n; ++i) values[i] = a.at(i, i);
  std::sort(values.begin(), values.end());
  return values;
}

const SubjectOf kEigh(
    "eigh", {[](DType dtype) {
               std::vector<Case> all;
               for (const Shape& shape : square_shapes()) {
                 all.push_back({{{dtype, shape}}, {dtype, Shape(shape.begin(), shape.end() - 1)}});
               }
               return all;
             },
             [](const Case& example, const std::vector<Tensor>& inputs) {
               return each_matrix(example, inputs, eigenvalues);
             },
             2e-6L, 1e-14L, 0, symmetric});

const SubjectOf kSvd("svd", {[](DType dtype) {
                               std::vector<Case> all;
                               for (const Shape& shape : all_shapes()) {
                                 Shape values(shape.begin(), shape.end() - 1);
                                 values.back() = std::min(shape.back(), shape[shape.size() - 2]);
                                 all.push_back({{{dtype, shape}}, {dtype, values}});
                               }
                               return all;
                             },
                             [](const Case& example, const std::vector<Tensor>& inputs) {
                               return each_matrix(example, inputs, [](const Matrix& a) {
                                 const Matrix square = a.rows < a.columns
                                                           ? product(a, transposed(a))
                                                           : product(transposed(a), a);
                                 std::vector<long double> values = eigenvalues(square);
                                 for (long double& x : values) x = std::sqrt(std::max(x, 0.0L));
                                 std::reverse(values.begin(), values.end());
                                 return values;
                               });
                             },
                             2e-6L, 1e-13L});

// Diagonals away from zero, so that systems are well-conditioned.
void solvable(const Case&, std::vector<Tensor>& inputs) {
  const auto n = static_cast<size_t>(inputs[0].type.shape.back());
  for (size_t i = 0; i < inputs[0].size(); ++i) {
    long double& x = inputs[0].reals[i];
    x = static_cast<float>(i / n % n == i % n ? (x < 0 ? x - 2 : x + 2)
                                              : x / static_cast<long double>(n));
  }
}

Tensor solved(const Case& example, const std::vector<Tensor>& inputs) {
  Tensor result(example.output);
  const auto is = [&](const std::string& name) { return example.params.count(name) > 0; };
  const size_t batch = batch_of(example.inputs[0].shape);
  const auto n = static_cast<size_t>(example.inputs[0].shape.back());
  result.scales.assign(result.size(), 20);
  const size_t systems = batch * n == 0 ? 0 : result.size() / (batch * n);
  for (size_t b = 0; b < batch; ++b) {
    Matrix a = matrix_of(inputs[0], b);
    // The triangle that the call selects, as a lower or upper matrix.
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < n; ++j) {
        if (is("triangle") ? i > j : i < j) a.at(i, j) = 0;
      }
      if (is("unit")) a.at(i, i) = 1;
    }
    if (is("transpose") != is("right")) a = transposed(a);
    for (size_t c = 0; c < systems; ++c) {
      const auto place = [&](size_t i) {
        return b * n * systems + (is("right") ? c * n + i : i * systems + c);
      };
      // Gaussian elimination of the whole matrix, for either triangle.
      Matrix whole(n, n + 1);
      for (size_t i = 0; i < n; ++i) {
        for (size_t j = 0; j < n; ++j) whole.at(i, j) = a.at(i, j);
        whole.at(i, n) = inputs[1].reals[place(i)];
      }
      for (size_t k = 0; k < n; ++k) {
        for (size_t i = 0; i < n; ++i) {
          if (i == k) continue;
          const long double factor = whole.at(i, k) / whole.at(k, k);
          for (size_t j = k; j <= n; ++j) whole.at(i, j) -= factor * whole.at(k, j);
        }
      }
      for (size_t i = 0; i < n; ++i) result.reals[place(i)] = whole.at(i, n) / whole.at(i, i);
    }
  }
  return result;
}

const SubjectOf kTriangular(
    "triangular_solve",
    {[](DType dtype) {
       std::vector<Case> all;
       const std::vector<Params> ways{
           {},
           {{"triangle", std::string("upper")}},
           {{"transpose", true}},
           {{"unit", true}},
           {{"right", true}},
           {{"triangle", std::string("upper")}, {"transpose", true}, {"right", true}}};
       std::vector<std::pair<Shape, Shape>> shapes{{{1, 1}, {1, 1}},       {{3, 3}, {3, 3}},
                                                   {{2, 5, 5}, {2, 5, 5}}, {{4, 4}, {4}},
                                                   {{2, 3, 3}, {2, 3}},    {{0, 0}, {0, 0}}};
       if (!quick()) {
         shapes.push_back({{33, 33}, {33, 33}});
         shapes.push_back({{40, 6, 6}, {40, 6, 6}});
       }
       for (const auto& shape : shapes) {
         for (const Params& way : ways) {
           all.push_back(
               {{{dtype, shape.first}, {dtype, shape.second}}, {dtype, shape.second}, way});
         }
       }
       all.push_back({{{dtype, {3, 3}}, {dtype, {3, 70}}}, {dtype, {3, 70}}});
       all.push_back({{{dtype, {3, 3}}, {dtype, {70, 3}}}, {dtype, {70, 3}}, {{"right", true}}});
       return all;
     },
     solved, 2e-6L, 1e-14L, 0, solvable});

// A tensor of matrices whose rank is at most `rank`, times `scale`.
Tensor matrices_of_rank(DType dtype, const Shape& shape, size_t rank, long double scale,
                        uint64_t seed) {
  std::mt19937_64 random(seed);
  Tensor result({dtype, shape});
  const int64_t m = shape[shape.size() - 2];
  const int64_t n = shape.back();
  const auto k = static_cast<int64_t>(rank);
  for (size_t b = 0; b < batch_of(shape); ++b) {
    const Matrix left = matrix_of(random_tensor({dtype, {m, k}}, random), 0);
    const Matrix right = matrix_of(random_tensor({dtype, {k, n}}, random), 0);
    const Matrix all = product(left, right);
    for (size_t i = 0; i < all.x.size(); ++i) {
      const long double x = all.x[i] * scale;
      result.reals[b * all.x.size() + i] =
          dtype == DType::f32 ? static_cast<float>(x) : static_cast<double>(x);
    }
  }
  return result;
}

Tensor computed(const std::string& kernel, const Tensor& a, Shape output,
                const std::string& result) {
  const BufferPtr to = zeros(a.type.dtype, std::move(output));
  run(kernel, {buffer_of_bytes(a.type, to_bytes(a))}, to, {{"result", result}});
  return from_bytes(to->type(), engine().runtime().read_now(to));
}

std::vector<DType> float_types() {
  if (engine().runtime().device().info().fp64) return {DType::f32, DType::f64};
  return {DType::f32};
}

long double tolerance_of(DType dtype) { return dtype == DType::f32 ? 2e-6L : 4e-15L; }

}  // namespace

TEST_CASE("eigenvectors are orthogonal, and give their matrix back") {
  for (DType dtype : float_types()) {
    for (int64_t n : {1, 2, 3, 8, 25, quick() ? 9 : 80}) {
      for (size_t rank : {size_t{1}, static_cast<size_t>(n)}) {
        CAPTURE(n);
        CAPTURE(rank);
        Tensor a = matrices_of_rank(dtype, {2, n, n}, rank, 1, 3);
        std::vector<Tensor> one{a};
        symmetric({}, one);
        a = one[0];
        const Tensor values = computed("eigh", a, {2, n}, "values");
        const Tensor vectors = computed("eigh", a, {2, n, n}, "vectors");
        const Tensor both = computed("eigh", a, {2, n + 1, n}, "both");
        for (size_t b = 0; b < 2; ++b) {
          const Matrix v = matrix_of(vectors, b);
          Matrix scaled = v;
          for (size_t i = 0; i < v.rows; ++i) {
            for (size_t j = 0; j < v.rows; ++j) {
              scaled.at(i, j) *= values.reals[b * v.rows + j];
              CHECK(matrix_of(both, b).at(i + 1, j) == v.at(i, j));
            }
          }
          const Matrix given = matrix_of(a, b);
          const long double limit = tolerance_of(dtype) * std::sqrt(static_cast<long double>(n));
          CHECK(from_identity(product(transposed(v), v)) < 4 * limit);
          CHECK(distance(product(scaled, transposed(v)), given) < 4 * limit * norm_of(given));
        }
      }
    }
  }
}

TEST_CASE("singular vectors are orthogonal, and give their matrix back, at any rank and scale") {
  for (DType dtype : float_types()) {
    for (const Shape& shape : {Shape{1, 1}, {5, 5}, {9, 4}, {4, 9}, {3, 30, 7}, {7, 30}}) {
      const int64_t m = shape[shape.size() - 2];
      const int64_t n = shape.back();
      const int64_t k = std::min(m, n);
      for (size_t rank : {size_t{0}, size_t{1}, static_cast<size_t>(k)}) {
        for (long double scale : {1.0L, 1e-15L, 1e15L}) {
          CAPTURE(to_string(shape));
          CAPTURE(rank);
          const Tensor a = matrices_of_rank(dtype, shape, rank, scale, 5);
          const auto shaped = [&](std::initializer_list<int64_t> last) {
            Shape result(shape.begin(), shape.end() - 2);
            result.insert(result.end(), last);
            return result;
          };
          const Tensor values = computed("svd", a, shaped({k}), "values");
          for (bool full : {false, true}) {
            const Tensor u = computed("svd", a, shaped({m, full ? m : k}), "u");
            const Tensor vt = computed("svd", a, shaped({full ? n : k, n}), "vt");
            for (size_t b = 0; b < batch_of(shape); ++b) {
              const Matrix left = matrix_of(u, b);
              const Matrix right = matrix_of(vt, b);
              const long double limit = 20 * tolerance_of(dtype);
              CHECK(from_identity(product(transposed(left), left)) < limit);
              CHECK(from_identity(product(right, transposed(right))) < limit);
              Matrix scaled(left.rows, right.rows);
              for (size_t i = 0; i < left.rows; ++i) {
                for (size_t j = 0; j < static_cast<size_t>(k); ++j) {
                  scaled.at(i, j) = left.at(i, j) * values.reals[b * static_cast<size_t>(k) + j];
                }
              }
              const Matrix given = matrix_of(a, b);
              CHECK(distance(product(scaled, right), given) <= limit * norm_of(given));
            }
          }
        }
      }
    }
  }
}

TEST_CASE("matrices without full rank have orthogonal q and a product that is theirs") {
  for (DType dtype : float_types()) {
    for (const Shape& shape : {Shape{6, 6}, {9, 4}, {4, 9}}) {
      for (size_t rank : {size_t{0}, size_t{2}}) {
        CAPTURE(to_string(shape));
        const Tensor a = matrices_of_rank(dtype, shape, rank, 1, 11);
        const int64_t k = std::min(shape[0], shape[1]);
        const Matrix q = matrix_of(computed("qr", a, {shape[0], k}, "q"), 0);
        const Matrix r = matrix_of(computed("qr", a, {k, shape[1]}, "r"), 0);
        const Matrix given = matrix_of(a, 0);
        CHECK(from_identity(product(transposed(q), q)) < 10 * tolerance_of(dtype));
        CHECK(distance(product(q, r), given) <= 10 * tolerance_of(dtype) * norm_of(given));
      }
    }
  }
}

TEST_CASE("cholesky of what is not positive definite is NaN") {
  const BufferPtr output = zeros(DType::f32, {2, 2});
  run("cholesky", {buffer<float>({1, 2, 2, 1}, {2, 2})}, output);
  const std::vector<float> got = read<float>(output);
  CHECK(got[0] == 1);
  CHECK(got[1] == 0);
  CHECK(got[2] == 2);
  CHECK(std::isnan(got[3]));
}

TEST_CASE("NaN in a matrix ends in NaN, not in an endless loop") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const char* kernel : {"eigh", "svd"}) {
    const BufferPtr output = zeros(DType::f32, {3});
    run(kernel, {buffer<float>({1, nan, 2, nan, 3, 4, 2, 4, 5}, {3, 3})}, output);
    CHECK(std::isnan(read<float>(output)[0]));
  }
}

TEST_CASE("the factorizations say what does not fit") {
  const BufferPtr wide = zeros(DType::f32, {2, 3});
  CHECK(failure([&] { run("cholesky", {wide}, wide); }) ==
        "shape_mismatch: input 0 of cholesky has shape {2, 3}, expected square matrices");
  CHECK(failure([&] { run("qr", {zeros(DType::f32, {3})}, wide); }) ==
        "shape_mismatch: input 0 of qr has shape {3}, expected matrices: at least two dimensions");
  CHECK(failure([&] { run("svd", {wide}, wide); }) ==
        "shape_mismatch: the output of svd has shape {2, 3}, expected {2}");
  CHECK(failure([&] {
          run("svd", {wide}, wide, {{"result", std::string("u")}});
        }) == "shape_mismatch: the output of svd has shape {2, 3}, expected {2, 2}");
  CHECK(failure([&] {
          run("lu", {wide}, zeros(DType::f32, {2}), {{"result", std::string("permutation")}});
        }) == "dtype_mismatch: the output of lu is f32, expected s32");
  CHECK(failure([&] {
          run("triangular_solve", {zeros(DType::f32, {3, 3}), wide}, wide);
        }) == "shape_mismatch: input 1 of triangular_solve has shape {2, 3}, expected {3, 3}");
}

}  // namespace dala::test
