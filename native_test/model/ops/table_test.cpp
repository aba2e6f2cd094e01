// Operators that are not supported.
#include "model/ops/table.hpp"

#include "model/onnx_model.hpp"

namespace dala::test {

using model::ElementType;

TEST_CASE("all unsupported operators are reported together") {
  OnnxWriter writer;
  writer.input("x", {2}).output("y");
  writer.node("Fancy", {"x"}, {"a"}).node("Abs", {"a"}, {"b"}).node("Fancy", {"b"}, {"c"});
  writer.node("Gelu2", {"c"}, {"y"}, {}, "com.example");
  const Error error = must_fail([&] { load(writer); });
  CHECK(error.reason == Reason::unsupported_op);
  CHECK(error.message ==
        "the model uses operators that are not supported: Fancy (Fancy_1, Fancy_3); "
        "com.example.Gelu2 (Gelu2_4)");
}

TEST_CASE("one unsupported operator, and one inside of a branch") {
  OnnxWriter branch;
  branch.output("z").node("Fancy", {"x"}, {"z"});
  OnnxWriter writer;
  writer.input("x", {2}).input("c", {1}, ElementType::boolean).output("y");
  writer.node("If", {"c"}, {"y"},
              {attribute("then_branch", branch), attribute("else_branch", branch)});
  CHECK(failure([&] { load(writer); }) ==
        "unsupported_op: the model uses an operator that is not supported: Fancy (Fancy_1, "
        "Fancy_1)");
}

}  // namespace dala::test
