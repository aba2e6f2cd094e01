#include "kernels/linalg/clblast.hpp"

#include <clblast_c.h>
#include <dlfcn.h>

#include "runtime/error.hpp"

namespace dala {
namespace {

struct ClBlast {
  decltype(&CLBlastSgemm) sgemm = nullptr;
  decltype(&CLBlastDgemm) dgemm = nullptr;
  decltype(&CLBlastSgemmStridedBatched) sgemm_batched = nullptr;
  decltype(&CLBlastDgemmStridedBatched) dgemm_batched = nullptr;
  std::string problem;

  ClBlast() {
    // Its static state must outlive every caller, so it is never unmapped.
    void* library = dlopen("libclblast.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == nullptr) {
      const char* reason = dlerror();
      problem = reason != nullptr ? reason : "libclblast.so.1 cannot be opened";
      return;
    }
    find(library, "CLBlastSgemm", sgemm);
    find(library, "CLBlastDgemm", dgemm);
    find(library, "CLBlastSgemmStridedBatched", sgemm_batched);
    find(library, "CLBlastDgemmStridedBatched", dgemm_batched);
  }

 private:
  template <typename Function>
  void find(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (function == nullptr && problem.empty()) {
      problem = text("libclblast.so.1 has no function ", name);
    }
  }
};

const ClBlast& clblast() {
  static const ClBlast library;
  return library;
}

template <typename T, typename Gemm, typename BatchedGemm>
void multiply(const MatmulExtent& extent, cl_mem a, cl_mem b, cl_mem out, cl_command_queue queue,
              Gemm gemm, BatchedGemm batched_gemm) {
  const auto m = static_cast<size_t>(extent.m);
  const auto n = static_cast<size_t>(extent.n);
  const auto k = static_cast<size_t>(extent.k);
  const CLBlastStatusCode status =
      extent.batch == 1
          ? gemm(CLBlastLayoutRowMajor, CLBlastTransposeNo, CLBlastTransposeNo, m, n, k, T{1}, a, 0,
                 k, b, 0, n, T{0}, out, 0, n, &queue, nullptr)
          : batched_gemm(CLBlastLayoutRowMajor, CLBlastTransposeNo, CLBlastTransposeNo, m, n, k,
                         T{1}, a, 0, k, m * k, b, 0, n, k * n, T{0}, out, 0, n, m * n,
                         static_cast<size_t>(extent.batch), &queue, nullptr);
  if (status != CLBlastSuccess) {
    throw Error(Reason::device_error,
                text("CLBlast failed with status ", static_cast<int>(status), " on a product of {",
                     m, ", ", k, "} and {", k, ", ", n, "}"));
  }
}

}  // namespace

const std::string& load_clblast() { return clblast().problem; }

CallStep clblast_gemm(const MatmulExtent& extent, DType dtype) {
  return {[extent, dtype](cl_command_queue queue, const std::function<cl_mem(Operand)>& memory) {
    const ClBlast& library = clblast();
    const cl_mem a = memory(input(0));
    const cl_mem b = memory(input(1));
    const cl_mem out = memory(output());
    if (dtype == DType::f32) {
      multiply<float>(extent, a, b, out, queue, library.sgemm, library.sgemm_batched);
    } else {
      multiply<double>(extent, a, b, out, queue, library.dgemm, library.dgemm_batched);
    }
  }};
}

}  // namespace dala
