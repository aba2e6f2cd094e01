#include <cstring>
#include <memory>

#include "bench/bench.hpp"
#include "bench/numeric_peers.hpp"

#ifdef DALA_BENCH_FFTW
#include <fftw3.h>
#include <omp.h>
#endif

namespace dala::bench {

#ifdef DALA_BENCH_FFTW

// It works on the threads of OpenMP, which have a CPU each; those are the calling thread's own, so
// it plans on the thread that runs the peers. Measuring writes to the arrays.
std::function<void()> fftw_transform(const std::vector<int>& dimensions, int batch, const float* x,
                                     float* out) {
  struct State {
    fftwf_plan plan = nullptr;
    ArrayPtr<float> input;
    ~State() {
      if (plan != nullptr) fftwf_destroy_plan(plan);
    }
  };
  const auto state = std::make_shared<State>();
  return [state, dimensions, batch, x, out] {
    if (state->plan == nullptr) {
      int points = 1;
      for (int dimension : dimensions) points *= dimension;
      const size_t count = 2 * static_cast<size_t>(points) * static_cast<size_t>(batch);
      state->input = array<float>(count);
      fftwf_init_threads();
      fftwf_plan_with_nthreads(omp_get_max_threads());
      auto* from = reinterpret_cast<fftwf_complex*>(state->input->data());
      auto* to = reinterpret_cast<fftwf_complex*>(out);
      state->plan = fftwf_plan_many_dft(static_cast<int>(dimensions.size()), dimensions.data(),
                                        batch, from, nullptr, 1, points, to, nullptr, 1, points,
                                        FFTW_FORWARD, FFTW_MEASURE);
      std::memcpy(state->input->data(), x, count * sizeof(float));
    }
    fftwf_execute(state->plan);
  };
}

#else

std::function<void()> fftw_transform(const std::vector<int>&, int, const float*, float*) {
  return {};
}

#endif

}  // namespace dala::bench
