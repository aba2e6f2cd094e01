// The native part of `make bench`: every workload beside its peers, one line each (see
// harness.hpp). `bench/run.exs` starts it and judges the lines; by hand it is
//
//   _build/bench/dala_bench [--quick] [--only <part of a name>]
//   _build/bench/dala_bench --serve-calls    (see call_cost.cpp)
//   _build/bench/dala_bench --serve-frames   (see frame_chain.cpp)
//   _build/bench/dala_bench --write-models   (see models.hpp)
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "bench/call_cost.hpp"
#include "bench/frame_chain.hpp"
#include "bench/harness.hpp"
#include "bench/models.hpp"

namespace {

const char* blas_core() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512bw")) return "SkylakeX";
  if (__builtin_cpu_supports("avx2")) return "Haswell";
#endif
  return nullptr;
}

// Libraries read these when they are loaded, so they are set for a process that starts anew. There
// is a thread per CPU; OpenBLAS gets its own later, when somebody is there to place them. Idle
// threads go to sleep within a millisecond or so, instead of taking the time of whoever is next.
void settle_environment(char** argv) {
  if (std::getenv("DALA_BENCH_SETTLED") != nullptr) return;
  const std::string threads = std::to_string(std::thread::hardware_concurrency());
  setenv("DALA_BENCH_SETTLED", "1", 1);
  setenv("OMP_NUM_THREADS", threads.c_str(), 1);
  setenv("OPENBLAS_NUM_THREADS", "1", 1);
  // A CPU newer than the library is taken for one of 2004; these are the kernels it should have.
  if (const char* core = blas_core()) setenv("OPENBLAS_CORETYPE", core, 0);
  setenv("GOMP_SPINCOUNT", "20000", 1);
  setenv("OPENBLAS_THREAD_TIMEOUT", "20", 1);
  execv("/proc/self/exe", argv);
}

}  // namespace

int main(int argc, char** argv) {
  settle_environment(argv);
  dala::bench::Options options;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--quick") == 0) {
      options.quick = true;
    } else if (std::strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
      options.only = argv[++i];
    } else if (std::strcmp(argv[i], "--serve-calls") == 0) {
      dala::bench::serve_calls();
      return 0;
    } else if (std::strcmp(argv[i], "--serve-frames") == 0) {
      dala::bench::serve_frames();
      return 0;
    } else if (std::strcmp(argv[i], "--write-models") == 0) {
      dala::bench::write_models();
      return 0;
    } else {
      std::fprintf(stderr, "usage: dala_bench [--quick] [--only <part of a name>]\n");
      return 2;
    }
  }
  using dala::bench::measure;
  measure(dala::bench::matmul_family(), options);
  measure(dala::bench::elementwise_family(), options);
  measure(dala::bench::reduce_family(), options);
  measure(dala::bench::transpose_family(), options);
  measure(dala::bench::numeric_family(), options);
  measure(dala::bench::conv_family(), options);
  measure(dala::bench::image_family(), options);
  measure(dala::bench::model_family(), options);
  return 0;
}
