// A peer in a process of its own: ONNX Runtime in node, with the package onnxruntime-node, and
// torch-jit in Python, which run models, and numpy, which draws random numbers. `bin/setup bench`
// installs them. Their threads have a CPU each, as those of the device and of the other peers.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace dala::bench {

class PeerProcess {
 public:
  // Null when one of them, or what it needs, is not there.
  static std::shared_ptr<PeerProcess> onnx_runtime();
  static std::shared_ptr<PeerProcess> torch_jit();
  static std::shared_ptr<PeerProcess> numpy();

  PeerProcess(std::string name, int pid, int to, int from);
  ~PeerProcess();
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;

  // With its version.
  const std::string& name() const { return name_; }

  // Throws what it says when it cannot.
  void load(const std::string& model, const std::string& input, const std::vector<int64_t>& shape);
  // Nanoseconds per call, measured there.
  double time_of(int calls);
  // The outputs of the latest run, one after the other.
  std::vector<float> outputs(const std::string& scratch_file);

 private:
  static std::shared_ptr<PeerProcess> start(const std::string& name, const std::string& program,
                                            const std::string& script, const std::string& variable);
  std::string ask(const std::string& line);
  std::string read_line();

  std::string name_;
  const int pid_;
  const int to_;
  const int from_;
};

}  // namespace dala::bench
