// Whole networks for the bench: those of the tests, at the sizes they were made for.
#pragma once

#include <string>
#include <vector>

#include "model/networks/net.hpp"

namespace dala::bench {

struct BenchModel {
  std::string name;
  test::Net (*write)();
  bool quick = false;
  bool torch = false;  // torch_jit.py has its operators
};
const std::vector<BenchModel>& bench_models();

// Writes the network's file into the bench's folder and gives its path.
std::string model_file(const std::string& name, const test::Net& net);

// Writes the files of all models and prints a line for each, for the part of the bench that runs
// in the VM. Between tabs: name, path, dimensions of the input, bytes of the weights, bytes of the
// largest layer's input and output.
void write_models();

}  // namespace dala::bench
