# Tests of Nx and Axon that may fail on Dala.Nx: how their names begin, and the reason. Numbers that
# differ by rounding alone need no exception; suite.exs has the bounds.

nan = "NaN counts as the largest element, or the smallest, wherever it is, see guides/nx.md"

order =
  "eigenvalues are ordered by size, and the sign of an eigenvector is free, see guides/nx.md"

pivot = "rows are exchanged for the largest pivot of each step, see guides/nx.md"
basis = "singular vectors are unique up to their sign, and those of 0 up to a rotation"
singular = "a singular system has infinities as its solution, see guides/nx.md"
inexact = "the test expects results with errors of up to 1 %, from fewer iterations"

expression =
  "an expression takes constants of Nx.BinaryBackend alone, here they are of the default"

template = "the operation is the default backend's, not that of a template"
reference = "compares tensors by a pattern, which compares references to the device"
evaluator = "expects Nx.Defn.Evaluator to be the compiler, or its choice of backend"

[
  nx: [
    {"NxTest test argmax works with non finites", nan},
    {"NxTest test argmin/2 works with non finites", nan},
    {"Nx.LinAlgTest doctest Nx.LinAlg.eigh/2", order},
    {"Nx.LinAlgTest test eigh computes eigenvalues and eigenvectors", order},
    {"Nx.LinAlgTest doctest Nx.LinAlg.lu/2", pivot},
    {"Nx.LinAlgTest test svd finds the singular values of tall matrices", basis},
    {"Nx.LinAlgTest test svd finds the singular values triangular matrices", basis},
    {"Nx.Defn.GradTest test svd computes", basis},
    {"Nx.LinAlgTest doctest Nx.LinAlg.triangular_solve/3 (110)", singular},
    {"Nx.LinAlgTest doctest Nx.LinAlg.least_squares/2", inexact},
    {"Nx.LinAlgTest doctest Nx.LinAlg.matrix_power/2", inexact},
    {"Nx.LinAlgTest doctest Nx.LinAlg.pinv/2", inexact},
    {"Nx.Defn.ExprTest test constant optimizations preserves names", expression},
    {"Nx.Defn.ExprTest test inspect with", expression},
    {"Nx.Defn.TreeTest test apply_args handles", expression},
    {"Nx.Defn.EvaluatorTest test slice", template},
    {"Nx.ServingTest test run/2 with client pre/post", reference},
    {"Nx.Defn.StreamTest test runs elixir stream", evaluator},
    {"Nx.Defn.StreamTest test uses the default backend on iota", evaluator},
    {"Nx.OptionalTest test inspect works with defn call", evaluator},
    {"Nx.OptionalTest test optional callbacks", evaluator}
  ],
  axon: []
]
