// Checks that the operator tables in the guides match the supported operators. With
// DALA_UPDATE_GUIDES=1 the tables are updated.
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "kernels/descriptor.hpp"
#include "model/import/tfjs/layers/table.hpp"
#include "model/import/tfjs/table.hpp"
#include "model/import/tflite/table.hpp"

namespace dala::test {
namespace {

const std::string kTableStarts =
    "<!-- The table is checked, and with DALA_UPDATE_GUIDES=1 renewed, by the native tests. -->\n";

void check_guide(const std::string& name, const std::string& table) {
  const std::string path = std::string(DALA_GUIDES) + "/" + name;
  std::ifstream file(path, std::ios::binary);
  const std::string guide{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const size_t start = guide.find(kTableStarts);
  REQUIRE(start != std::string::npos);
  const std::string renewed = guide.substr(0, start) + kTableStarts + table;
  const char* update = std::getenv("DALA_UPDATE_GUIDES");
  if (update != nullptr && std::string(update) == "1") {
    std::ofstream(path, std::ios::binary) << renewed;
  } else {
    CHECK(guide == renewed);
  }
}

template <typename Operators>
std::string row(const std::string& family, const Operators& operators) {
  std::vector<std::string> names;
  for (const auto& each : operators) names.push_back(each.name);
  return "| " + family + " | " + join(names, ", ") + " |\n";
}

}  // namespace

TEST_CASE("the guide lists the operators of TF.js") {
  namespace tfjs = model::tfjs;
  const std::string table =
      "| | |\n|---|---|\n" + row("Element by element", tfjs::arithmetic_operators()) +
      row("Pictures", tfjs::plane_operators()) + row("Matrices", tfjs::matrix_operators()) +
      row("Rearranging", tfjs::movement_operators()) +
      row("Looking up, and tensors from shapes", tfjs::indexing_operators()) +
      row("Reducing, and along one axis", tfjs::reduction_operators()) +
      row("Arrays and lists of tensors", tfjs::list_operators()) + "| Layers of layers models | " +
      join(tfjs::keras_layer_names(), ", ") + " |\n";
  for (const std::string& name : tfjs::operator_names()) {
    CAPTURE(name);
    CHECK(table.find(" " + name) != std::string::npos);
  }
  check_guide("tfjs.md", table);
}

TEST_CASE("the guide lists the operators of TFLite") {
  namespace tflite = model::tflite;
  const std::string table =
      "| | |\n|---|---|\n" + row("Element by element", tflite::arithmetic_operators()) +
      row("Comparing and choosing", tflite::comparison_operators()) +
      row("Pictures", tflite::plane_operators()) +
      row("Detections", tflite::detection_operators()) +
      row("Rearranging", tflite::movement_operators()) +
      row("Types, and tensors from shapes", tflite::shape_operators()) +
      row("Reducing, and products of matrices", tflite::reduction_operators()) +
      row("Recurrent layers", tflite::recurrent_operators()) +
      row("Control flow and variables", tflite::control_operators());
  for (const std::string& name : tflite::operator_names()) {
    CAPTURE(name);
    CHECK(table.find(" " + name) != std::string::npos);
  }
  check_guide("tflite.md", table);
}

}  // namespace dala::test
