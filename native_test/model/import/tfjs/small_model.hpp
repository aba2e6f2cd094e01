// A small TF.js model for tests, and the errors of loading one.
#pragma once

#include "model/model.hpp"
#include "support/engine_fixture.hpp"
#include "support/tfjs_writer.hpp"

namespace dala::test::tfjs {

inline std::span<const std::byte> bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

// y = x * two.
inline TfjsWriter small_model() {
  TfjsWriter writer;
  writer.placeholder("x", {-1, 3});
  writer.weight<float>("two", {1}, {2});
  writer.node("Mul", "y", {"x", "two"}, {kind("T", "DT_FLOAT")});
  return writer;
}

inline std::string problem_of(const std::string& json, const std::string& folder) {
  return failure([&] { model::Model::load(engine(), bytes_of(json), folder); });
}

inline std::string problem_of(const TfjsWriter& writer) {
  const TemporaryFolder folder;
  return failure([&] { model::Model::load_file(engine(), writer.write(folder)); });
}

}  // namespace dala::test::tfjs
