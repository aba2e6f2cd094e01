// ONNX Runtime, in a process of node's with the package onnxruntime-node, which `bin/setup bench`
// installs. Its threads have a CPU each, as those of the device and of the other peers.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace dala::bench {

class OnnxRuntime {
 public:
  // Null when node or the package is not there.
  static std::shared_ptr<OnnxRuntime> start();

  OnnxRuntime(int pid, int to, int from);
  ~OnnxRuntime();
  OnnxRuntime(const OnnxRuntime&) = delete;
  OnnxRuntime& operator=(const OnnxRuntime&) = delete;

  // Throws what it says when it cannot.
  void load(const std::string& model, const std::string& input, const std::vector<int64_t>& shape);
  // Nanoseconds per call, measured there.
  double time_of(int calls);
  // The outputs of the latest run, one after the other.
  std::vector<float> outputs(const std::string& scratch_file);

 private:
  std::string ask(const std::string& line);
  std::string read_line();

  const int pid_;
  const int to_;
  const int from_;
};

}  // namespace dala::bench
