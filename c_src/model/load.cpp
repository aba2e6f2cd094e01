#include "model/load.hpp"

#include <filesystem>
#include <vector>

#include "model/graph/problem.hpp"
#include "model/import/common/folder.hpp"
#include "model/import/common/foreign.hpp"
#include "model/import/onnx/import.hpp"
#include "model/import/tfjs/import.hpp"
#include "model/import/tflite/import.hpp"

namespace dala::model {

void rethrow_as_invalid(const Error& problem) {
  switch (problem.reason) {
    case Reason::shape_mismatch:
    case Reason::dtype_mismatch:
    case Reason::invalid_param:
    case Reason::arity_mismatch:
      throw Error(Reason::invalid_model, problem.message, problem.details);
    default:
      throw problem;
  }
}

Graph load_graph(std::span<const std::byte> file, const std::string& folder) {
  try {
    if (tflite::is_tflite(file)) return tflite::import(file);
    if (tfjs::is_json(file)) return tfjs::import(file, folder);
    refuse_foreign(file);
    return onnx::import(file, folder);
  } catch (const Error& problem) {
    rethrow_as_invalid(problem);
  }
}

Graph load_graph_file(const std::string& path) {
  const std::vector<std::byte> bytes = read_model_file(path);
  const std::filesystem::path place(path);
  // Without the identifier of its format, it would be taken for an ONNX file.
  if (place.extension() == ".tflite" && !tflite::is_tflite(bytes)) {
    reject("this is not a TFLite file");
  }
  const std::string folder = place.parent_path().string();
  return load_graph(bytes, folder.empty() ? "." : folder);
}

}  // namespace dala::model
