// Matrix products beside OpenBLAS.
#include <dlfcn.h>

#include <thread>

#include "bench/bench.hpp"
#include "bench/peers.hpp"
#include "bench/workload.hpp"

namespace dala::bench {
namespace {

constexpr int kRowMajor = 101;  // of CBLAS
constexpr int kAsItIs = 111;

template <typename T>
using Gemm = void (*)(int order, int transpose_a, int transpose_b, int m, int n, int k, T alpha,
                      const T* a, int lda, const T* b, int ldb, T beta, T* c, int ldc);

// Opened where its threads are seen to start. Null when it is not installed.
void* blas() {
  static void* library = [] {
    void* opened = nullptr;
    on_peer_thread_with_helpers([&] {
      opened = dlopen("libopenblas.so.0", RTLD_NOW);
      if (opened == nullptr) return;
      const auto set_threads =
          reinterpret_cast<void (*)(int)>(dlsym(opened, "openblas_set_num_threads"));
      set_threads(static_cast<int>(std::thread::hardware_concurrency()));
    });
    return opened;
  }();
  return library;
}

template <typename T>
Gemm<T> gemm() {
  const char* name = std::is_same_v<T, float> ? "cblas_sgemm" : "cblas_dgemm";
  return blas() == nullptr ? nullptr : reinterpret_cast<Gemm<T>>(dlsym(blas(), name));
}

struct Product {
  int64_t m;
  int64_t k;
  int64_t n;
  int64_t batch = 1;
  double at_least = 0.85;
  bool quick = false;
};

template <typename T>
Trial prepare(Bench& bench, const Product& product) {
  const auto [m, k, n, batch, at_least, quick] = product;
  const auto a = random_array<T>(static_cast<size_t>(batch * m * k));
  const auto b = random_array<T>(static_cast<size_t>(batch * k * n));
  const auto c = array<T>(static_cast<size_t>(batch * m * n));
  const auto shape = [batch = batch](int64_t rows, int64_t columns) {
    return batch == 1 ? Shape{rows, columns} : Shape{batch, rows, columns};
  };
  const BufferPtr out = bench.output<T>(shape(m, n));

  Trial trial;
  trial.ours =
      bench.call("matmul", {bench.input(a, shape(m, k)), bench.input(b, shape(k, n))}, out);
  Peer peer{"OpenBLAS", at_least, {}};
  if (const Gemm<T> multiply = gemm<T>()) {
    peer.run = [=, m = static_cast<int>(m), k = static_cast<int>(k), n = static_cast<int>(n),
                batch = batch] {
      for (int64_t i = 0; i < batch; ++i) {
        multiply(kRowMajor, kAsItIs, kAsItIs, m, n, k, 1, a->data() + i * m * k, k,
                 b->data() + i * k * n, n, 0, c->data() + i * m * n, n);
      }
    };
  }
  trial.peers = {peer};
  trial.difference = bench.compare(out, c);
  return trial;
}

template <typename T>
Workload workload(const Product& product) {
  std::string name = std::is_same_v<T, float> ? "f32" : "f64";
  if (product.batch > 1) name += " " + std::to_string(product.batch) + " of";
  name += " " + std::to_string(product.m) + "x" + std::to_string(product.k) + "x" +
          std::to_string(product.n);
  return {name, [product](Bench& bench) { return prepare<T>(bench, product); }, product.quick};
}

}  // namespace

Family matmul_family() {
  return {"matmul",
          {
              workload<float>({512, 512, 512, 1, 0.95, true}),
              workload<float>({1024, 1024, 1024, 1, 0.95, true}),
              workload<float>({2048, 2048, 2048, 1, 0.95}),
              workload<double>({512, 512, 512, 1, 0.95, true}),
              workload<double>({1024, 1024, 1024, 1, 0.95}),
              workload<double>({2048, 2048, 2048, 1, 0.95}),
              workload<float>({128, 128, 128, 1, 0.85, true}),
              workload<float>({256, 256, 256}),
              workload<float>({1000, 1000, 1000}),
              workload<float>({4096, 64, 4096}),
              workload<float>({64, 4096, 64, 1, 0.85, true}),
              workload<float>({64, 64, 64, 64, 0.85, true}),
          }};
}

}  // namespace dala::bench
