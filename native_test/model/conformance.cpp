// Runs the conformance tests of ONNX, and tests in their form for other models: every folder below
// the given one that holds a model.onnx or a model.json with data sets of inputs and expected
// outputs. Prints per operator how many tests passed, failed
// or are not supported. Fails if a test that ran gave another result, or if fewer tests of a suite
// pass than required.
//
//   dala_onnx <folder> [--only part of a name] [--verbose] [--least suite=number]...
//             [--absolute error]   how far off an element may be, beside a thousandth of it
//             [--guide file]   fails if the table in the file differs, unless
//                              DALA_UPDATE_GUIDES=1 updates it
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>

#include "kernels/engine.hpp"
#include "model/import/onnx/weights.hpp"
#include "model/load.hpp"
#include "model/model.hpp"
#include "runtime/config.hpp"

namespace dala::model {
namespace {

namespace fs = std::filesystem;

// The tolerances of ONNX's own test runner.
constexpr double kRelative = 1e-3;
double absolute_tolerance = 1e-7;

enum class Outcome { passed, failed, unsupported };

struct Result {
  std::string suite;
  std::string name;
  std::string operators;  // of the model
  Outcome outcome = Outcome::failed;
  std::string why;
};

std::vector<std::byte> read_bytes(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}

// input_0.pb, input_1.pb, ... in order.
std::vector<onnx::NamedTensor> read_tensors(const fs::path& folder, const std::string& kind) {
  std::vector<onnx::NamedTensor> tensors;
  for (int i = 0;; ++i) {
    const fs::path path = folder / text(kind, "_", i, ".pb");
    if (!fs::exists(path)) return tensors;
    tensors.push_back(onnx::read_tensor(read_bytes(path), ""));
  }
}

// The data sets hold bfloat16 values as integers with the same bits.
HostTensorPtr as_declared(const HostTensorPtr& tensor, ElementType type) {
  if (type != ElementType::bf16 || tensor->type != ElementType::u16) return tensor;
  auto floats = std::make_shared<HostTensor>(type, tensor->shape);
  for (int64_t i = 0; i < tensor->count(); ++i) {
    floats->data<float>()[i] = from_brain_float(static_cast<uint16_t>(tensor->integer(i)));
  }
  return floats;
}

bool fits(const HostTensor& tensor, const Port& port) {
  if (!port.shape) return true;
  bool same = tensor.shape.size() == port.shape->size();
  for (size_t d = 0; same && d < tensor.shape.size(); ++d) {
    same = (*port.shape)[d].size.value_or(tensor.shape[d]) == tensor.shape[d];
  }
  return same;
}

std::string difference(const HostTensor& got, const HostTensor& expected) {
  if (got.shape != expected.shape) {
    return text("shape ", to_string(got.shape), " instead of ", to_string(expected.shape));
  }
  for (int64_t i = 0; i < got.count(); ++i) {
    if (!is_float(got.type)) {
      if (got.integer(i) == expected.integer(i)) continue;
      return text("element ", i, " is ", got.integer(i), " instead of ", expected.integer(i));
    }
    const double a = got.number(i);
    const double b = expected.number(i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    if (std::fabs(a - b) <= absolute_tolerance + kRelative * std::fabs(b)) continue;
    return text("element ", i, " is ", a, " instead of ", b);
  }
  return "";
}

// The data of a set in the order of the ports, matched by name if the data has names.
std::vector<HostTensorPtr> inputs_of(const std::vector<Port>& ports, const fs::path& folder) {
  const auto data = read_tensors(folder, "input");
  std::vector<HostTensorPtr> tensors;
  for (size_t i = 0; i < ports.size(); ++i) {
    const Port& port = ports[i];
    auto found = std::find_if(data.begin(), data.end(),
                              [&](const auto& each) { return each.name == port.name; });
    if (found == data.end()) {
      if (i >= data.size()) throw std::runtime_error("no data for input " + port.name);
      found = data.begin() + static_cast<long>(i);
    }
    tensors.push_back(as_declared(found->tensor, port.type));
    if (fits(*tensors.back(), port)) continue;
    throw Error(Reason::unsupported,
                text("the data for ", port.name, " has another shape, ",
                     to_string(tensors.back()->shape), ", than the model says"));
  }
  return tensors;
}

std::string check_outputs(Engine& engine, Model& model, const std::vector<BufferPtr>& results,
                          const fs::path& folder) {
  const auto outputs = read_tensors(folder, "output");
  for (size_t i = 0; i < std::min(outputs.size(), results.size()); ++i) {
    HostTensor got(model.outputs()[i].type, results[i]->type().shape);
    got.bytes = engine.runtime().read_now(results[i]);
    const auto named = std::find_if(outputs.begin(), outputs.end(), [&](const auto& each) {
      return each.name == model.outputs()[i].name;
    });
    const auto& wanted = named == outputs.end() ? outputs[i] : *named;
    const HostTensor expected = *as_declared(wanted.tensor, got.type);
    if (got.type != expected.type) {
      return text("output ", i, " is ", to_string(got.type), " instead of ",
                  to_string(expected.type));
    }
    const std::string problem = difference(got, expected);
    if (!problem.empty()) return text("output ", i, ": ", problem);
  }
  return "";
}

// Runs a data set twice: with its inputs as inputs, on the device, and with its inputs as constants
// of the graph, which are folded on the host where possible.
std::string run_data_set(Engine& engine, Model& model, const Graph& graph, const fs::path& folder) {
  const std::vector<HostTensorPtr> inputs = inputs_of(model.inputs(), folder);
  std::vector<BufferPtr> buffers;
  for (const HostTensorPtr& tensor : inputs) {
    buffers.push_back(engine.runtime().from_host(tensor->storage(), tensor->bytes.data(), nullptr));
  }
  const std::string problem = check_outputs(engine, model, model.predict_now(buffers), folder);
  if (!problem.empty()) return problem;

  Graph constant = graph;
  for (size_t i = 0; i < inputs.size(); ++i) {
    constant.constants[constant.inputs[i].tensor] = inputs[i];
  }
  constant.inputs.clear();
  const auto folded = Model::from_graph(engine, std::move(constant));
  const std::string other = check_outputs(engine, *folded, folded->predict_now({}), folder);
  return other.empty() ? "" : "as constants: " + other;
}

void run_test(Engine& engine, const fs::path& folder, Result& result) {
  try {
    const bool onnx = fs::exists(folder / "model.onnx");
    const Graph graph = load_graph_file((folder / (onnx ? "model.onnx" : "model.json")).string());
    std::set<std::string> operators;
    for (const Node& node : graph.nodes) operators.insert(operator_name(node));
    for (const std::string& each : operators) {
      result.operators += (result.operators.empty() ? "" : ", ") + each;
    }
    const auto model = Model::from_graph(engine, graph);
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (!entry.is_directory()) continue;
      result.why = run_data_set(engine, *model, graph, entry.path());
      if (!result.why.empty()) return;
    }
    result.outcome = Outcome::passed;
  } catch (const Error& problem) {
    const bool refused =
        problem.reason == Reason::unsupported_op || problem.reason == Reason::unsupported;
    result.outcome = refused ? Outcome::unsupported : Outcome::failed;
    result.why = text(to_string(problem.reason), ": ", problem.message);
  } catch (const std::exception& problem) {
    result.why = problem.what();
  }
}

struct Counts {
  int passed = 0;
  int failed = 0;
  int unsupported = 0;
  void add(Outcome outcome) {
    passed += outcome == Outcome::passed ? 1 : 0;
    failed += outcome == Outcome::failed ? 1 : 0;
    unsupported += outcome == Outcome::unsupported ? 1 : 0;
  }
};

// Counts per suite and, for the suite "node", per operator. Tests of several operators count as
// "(several)".
std::string table_of(const std::vector<Result>& results) {
  std::map<std::string, Counts> suites;
  std::map<std::string, Counts> operators;
  for (const Result& result : results) {
    suites[result.suite].add(result.outcome);
    if (result.suite != "node") continue;
    const bool several = result.operators.find(',') != std::string::npos;
    const std::string name = result.operators.empty() ? "(not readable)"
                             : several                ? "(several)"
                                                      : result.operators;
    operators[name].add(result.outcome);
  }
  const auto rows = [](const std::map<std::string, Counts>& counts) {
    std::string lines;
    for (const auto& [name, each] : counts) {
      lines +=
          text("| ", name, " | ", each.passed, " | ", each.failed, " | ", each.unsupported, " |\n");
    }
    return lines;
  };
  return text("| Suite | Passed | Failed | Not supported |\n|---|---|---|---|\n", rows(suites),
              "\n| Operator | Passed | Failed | Not supported |\n|---|---|---|---|\n",
              rows(operators));
}

// The text of a guide up to the line before the table.
constexpr const char* kTableStarts =
    "<!-- The tables are checked, and with DALA_UPDATE_GUIDES=1 renewed, by make test-onnx. -->\n";

bool guide_agrees(const std::string& path, const std::string& table) {
  const std::vector<std::byte> bytes = read_bytes(path);
  const std::string guide(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const size_t start = guide.find(kTableStarts);
  if (start == std::string::npos) {
    std::cout << path << " has no place for the tables\n";
    return false;
  }
  const std::string renewed = guide.substr(0, start) + kTableStarts + table;
  if (renewed == guide) return true;
  const char* update = std::getenv("DALA_UPDATE_GUIDES");
  if (update != nullptr && std::string(update) == "1") {
    std::ofstream(path, std::ios::binary) << renewed;
    return true;
  }
  std::cout << path << " is out of date; DALA_UPDATE_GUIDES=1 make test-onnx renews it\n";
  return false;
}

int run(const std::vector<std::string>& arguments) {
  std::string root;
  std::string only;
  std::string guide;
  std::map<std::string, int> least;
  bool verbose = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--only") {
      only = arguments.at(++i);
    } else if (arguments[i] == "--absolute") {
      absolute_tolerance = std::stod(arguments.at(++i));
    } else if (arguments[i] == "--guide") {
      guide = arguments.at(++i);
    } else if (arguments[i] == "--least") {
      const std::string given = arguments.at(++i);
      const size_t split = given.find('=');
      least[given.substr(0, split)] = std::stoi(given.substr(split + 1));
    } else if (arguments[i] == "--verbose") {
      verbose = true;
    } else {
      root = arguments[i];
    }
  }
  std::vector<fs::path> folders;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    const std::string name = entry.path().filename().string();
    if (name == "model.onnx" || name == "model.json") folders.push_back(entry.path().parent_path());
  }
  std::sort(folders.begin(), folders.end());

  Engine engine(with_environment(Config{}));
  std::vector<Result> results;
  for (const fs::path& folder : folders) {
    Result result;
    result.name = folder.filename().string();
    result.suite = folder.parent_path().filename().string();
    if (!only.empty() && result.name.find(only) == std::string::npos) continue;
    const auto start = std::chrono::steady_clock::now();
    run_test(engine, folder, result);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    if (result.outcome == Outcome::failed || verbose) {
      const char* word = result.outcome == Outcome::passed   ? "passed"
                         : result.outcome == Outcome::failed ? "FAILED"
                                                             : "not supported";
      std::cout << word << "  " << result.suite << "/" << result.name << "  " << result.why << "  "
                << took.count() << " s" << std::endl;
    }
    results.push_back(std::move(result));
  }
  const std::string rendered = table_of(results);
  std::cout << rendered;
  int status = 0;
  // Without double precision, tests of f64 are not supported, so the table would differ.
  const bool complete = only.empty() && engine.runtime().device().info().fp64;
  if (!guide.empty() && complete && !guide_agrees(guide, rendered)) status = 1;
  std::map<std::string, Counts> suites;
  for (const Result& result : results) suites[result.suite].add(result.outcome);
  for (const auto& [suite, counts] : suites) {
    if (counts.failed > 0) status = 1;
    if (least.count(suite) != 0 && counts.passed < least[suite]) {
      std::cout << suite << ": " << counts.passed << " passed, expected at least " << least[suite]
                << "\n";
      status = 1;
    }
  }
  return status;
}

}  // namespace
}  // namespace dala::model

int main(int argc, char** argv) {
  return dala::model::run(std::vector<std::string>(argv + 1, argv + argc));
}
