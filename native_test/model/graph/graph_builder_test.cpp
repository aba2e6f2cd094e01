// Errors of graphs that importers build.
#include "model/graph/graph_builder.hpp"

#include <doctest/doctest.h>

#include "model/model.hpp"
#include "support/engine_fixture.hpp"

namespace dala::test {

using model::GraphBuilder;

TEST_CASE("nodes can only use tensors that exist") {
  GraphBuilder builder("test", "tests");
  builder.set_layer("here");
  CHECK(failure([&] { builder.add("Abs", {7}); }) ==
        "invalid_model: here needs a tensor that does not exist");
  CHECK(failure([&] { builder.named("z"); }) ==
        "invalid_model: here needs \"z\", which no earlier node computes");
  CHECK(failure([&] { builder.finish(); }) == "invalid_model: the graph has no outputs");

  model::Port output;
  output.name = "y";
  output.tensor = builder.add_unsupported("LSTM", {builder.scalar(1)}, 1)[0];
  builder.output(output);
  output.tensor = builder.add_unsupported("CONV", {output.tensor}, 1, "five axes")[0];
  builder.output(output);
  CHECK(failure([&] { model::Model::from_graph(engine(), builder.finish()); }) ==
        "unsupported_op: the model uses operators that are not supported: test.CONV with five axes "
        "(here); test.LSTM (here)");
}

}  // namespace dala::test
