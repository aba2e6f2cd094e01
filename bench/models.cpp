// Whole networks, one picture at a time, beside ONNX Runtime, torch-jit and OpenCV's dnn module.
#include "bench/models.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "bench/bench.hpp"
#include "bench/model_opencv.hpp"
#include "bench/peer_process.hpp"
#include "bench/workload.hpp"
#include "model/model.hpp"
#include "model/networks/architectures.hpp"

namespace dala::bench {
namespace {

constexpr double kOfOnnxRuntime = 0.77;  // 1.3 times its time
constexpr double kOfOpenCv = 1.0;
constexpr double kOfTorch = 1.0;

std::filesystem::path folder() {
  const auto path = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "models";
  std::filesystem::create_directories(path);
  return path;
}

void write_file(const std::string& path, const char* data, size_t bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(data, static_cast<std::streamsize>(bytes));
  if (!file) throw std::runtime_error("cannot write " + path);
}

size_t count(const Shape& shape) {
  size_t product = 1;
  for (int64_t dim : shape) product *= static_cast<size_t>(dim);
  return product;
}

// All outputs, one after the other.
ArrayPtr<float> joined(const std::vector<float>& elements) {
  auto result = std::make_shared<Array<float>>(elements.size());
  std::copy(elements.begin(), elements.end(), result->data());
  return result;
}

// The largest difference, relative to the largest element of that output.
double apart(Bench& bench, const std::vector<BufferPtr>& ours, const std::vector<float>& theirs) {
  size_t at = 0;
  double worst = 0;
  for (const BufferPtr& output : ours) {
    const size_t elements = count(output->type().shape);
    if (at + elements > theirs.size()) throw std::runtime_error("the outputs differ in size");
    const auto start = theirs.begin() + static_cast<std::ptrdiff_t>(at);
    worst = std::max(
        worst,
        bench.compare(output, joined({start, start + static_cast<std::ptrdiff_t>(elements)}))());
    at += elements;
  }
  return worst;
}

Trial prepare(Bench& bench, const BenchModel& model) {
  const test::Net net = model.write();
  const std::string path = model_file(model.name, net);
  const auto data = random_array<float>(count(net.shape));
  const std::string input_path = path + ".input";
  write_file(input_path, reinterpret_cast<const char*>(data->data()), data->size() * sizeof(float));

  const auto loaded = model::Model::load_file(bench.engine(), path);
  const std::vector<BufferPtr> inputs{bench.input(data, net.shape)};
  const auto outputs = std::make_shared<std::vector<BufferPtr>>(loaded->predict_now(inputs));
  Trial trial;
  trial.ours = [loaded, inputs, outputs] {
    outputs->clear();  // so that their memory can be used again, as by callers that are done
    *outputs = loaded->predict_now(inputs);
  };

  std::vector<std::shared_ptr<PeerProcess>> processes;
  trial.peers.push_back({"ONNX Runtime", kOfOnnxRuntime, {}});
  processes.push_back(PeerProcess::onnx_runtime());
  if (model.torch) {
    trial.peers.push_back({"torch-jit", kOfTorch, {}});
    processes.push_back(PeerProcess::torch_jit());
  }
  for (size_t i = 0; i < processes.size(); ++i) {
    const std::shared_ptr<PeerProcess> process = processes[i];
    if (process == nullptr) continue;
    process->load(path, input_path, net.shape);
    trial.peers[i].name = process->name();
    trial.peers[i].timed = [process](int calls) { return process->time_of(calls); };
    trial.difference = [&bench, process, outputs, path, others = trial.difference] {
      const double own = apart(bench, *outputs, process->outputs(path + ".output"));
      return others ? std::max(own, others()) : own;
    };
  }
  trial.peers.push_back({"OpenCV", kOfOpenCv, opencv_model(net, model.name, data)});
  return trial;
}

}  // namespace

const std::vector<BenchModel>& bench_models() {
  static const std::vector<BenchModel> kModels{
      {"mobilenet_v2 224", [] { return test::mobilenet_v2({}); }, true, true},
      {"deeplab_v3 513", [] { return test::deeplab_v3({}); }, false, true},
      {"yolo_v5s 640", [] { return test::yolo_v5({}); }},
      {"blazeface 128", [] { return test::blazeface({}); }, true},
      {"posenet 257", [] { return test::posenet({}); }},
  };
  return kModels;
}

std::string model_file(const std::string& name, const test::Net& net) {
  const std::string path = (folder() / (name + ".onnx")).string();
  const std::string bytes = net.onnx();
  write_file(path, bytes.data(), bytes.size());
  return path;
}

void write_models() {
  for (const BenchModel& model : bench_models()) {
    const test::Net net = model.write();
    std::string dims;
    for (int64_t dim : net.shape) dims += (dims.empty() ? "" : "x") + std::to_string(dim);
    std::printf("%s\t%s\t%s\t%zu\t%zu\n", model.name.c_str(), model_file(model.name, net).c_str(),
                dims.c_str(), net.weight_bytes(), net.layer_bytes);
  }
}

Family model_family() {
  Family family{"model", {}};
  for (const BenchModel& model : bench_models()) {
    family.workloads.push_back(
        {model.name, [&model](Bench& bench) { return prepare(bench, model); }, model.quick});
  }
  return family;
}

}  // namespace dala::bench
