# Tests of Nx and Axon that may fail on Dala.Nx.Backend: part of the name, and the reason.

out_of_bounds = "an index out of bounds is not an error on the device, see guides/nx.md"
not_an_error = "has a result on the device, see guides/kernels.md"
nan = "NaN counts as the largest element, or the smallest, wherever it is"
other_backend = "is about Nx.BinaryBackend or a backend of the test, not the default one"

[
  nx: [
    {"NxTest test indexed_add raises when out of bounds", out_of_bounds},
    {"NxTest test indexed_put raises when out of bounds", out_of_bounds},
    {"NxTest test gather raises when out of bounds", out_of_bounds},
    {"NxTest test bitshift raises for negative numbers", not_an_error},
    {"Nx.NonFiniteTest test binary operations remainder", not_an_error},
    {"NxTest test argmax works with non finites", nan},
    {"NxTest test argmin/2 works with non finites", nan},
    {"Nx.LinAlgTest test svd finds the singular values of tall matrices",
     "another basis of the null space, which is as good"},
    {"Nx.Defn.ExprTest", other_backend},
    {"Nx.Defn.TreeTest test apply_args", other_backend},
    {"Nx.OptionalTest", other_backend},
    {"Nx.Defn.StreamTest test uses the default backend on iota", other_backend},
    {"Nx.Defn.StreamTest test runs elixir stream",
     "expects Nx.Defn.Evaluator to be the compiler"},
    {"Nx.ServingTest", "expects that defn has no options, one of which is the compiler"}
  ],
  axon: []
]
