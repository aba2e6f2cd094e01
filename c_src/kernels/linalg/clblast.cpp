#include "kernels/linalg/clblast.hpp"

#include <clblast_c.h>
#include <dlfcn.h>

#include "runtime/error.hpp"

namespace dala {
namespace {

struct ClBlast {
  // Compiling a routine takes seconds, so a single product is a batch of one.
  decltype(&CLBlastSgemmStridedBatched) sgemm = nullptr;
  decltype(&CLBlastDgemmStridedBatched) dgemm = nullptr;
  std::string problem;

  ClBlast() {
    // Its static state must outlive every caller, so it is never unmapped.
    void* library = dlopen("libclblast.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == nullptr) {
      const char* reason = dlerror();
      problem = reason != nullptr ? reason : "libclblast.so.1 cannot be opened";
      return;
    }
    find(library, "CLBlastSgemmStridedBatched", sgemm);
    find(library, "CLBlastDgemmStridedBatched", dgemm);
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

// The whole batch: one call per slice of its innermost dimension.
template <typename T, typename Gemm>
void multiply(const Product& product, cl_mem a, cl_mem b, cl_mem out, cl_command_queue queue,
              Gemm gemm) {
  const auto size = [](int64_t number) { return static_cast<size_t>(number); };
  const auto transpose_flag = [](int64_t flag) {
    return flag != 0 ? CLBlastTransposeYes : CLBlastTransposeNo;
  };
  const int64_t inner = product.batch_rank > 0 ? product.batch_dims[0] : 1;
  for (int64_t first = 0; first < product.batch; first += inner) {
    int64_t a_at = 0;
    int64_t b_at = 0;
    int64_t rest = first / inner;
    for (size_t d = 1; d < size(product.batch_rank); ++d) {
      a_at += rest % product.batch_dims[d] * product.a_steps[d];
      b_at += rest % product.batch_dims[d] * product.b_steps[d];
      rest /= product.batch_dims[d];
    }
    const CLBlastStatusCode status =
        gemm(CLBlastLayoutRowMajor, transpose_flag(product.transpose_a),
             transpose_flag(product.transpose_b), size(product.m), size(product.n), size(product.k),
             T{1}, a, size(a_at), size(product.a_pitch), size(product.a_steps[0]), b, size(b_at),
             size(product.b_pitch), size(product.b_steps[0]), T{0}, out,
             size(first * product.m * product.n), size(product.n), size(product.m * product.n),
             size(inner), &queue, nullptr);
    if (status == CLBlastSuccess) continue;
    throw Error(Reason::device_error,
                text("CLBlast failed with status ", static_cast<int>(status), " on a product of {",
                     product.m, ", ", product.k, "} and {", product.k, ", ", product.n, "}"));
  }
}

}  // namespace

const std::string& load_clblast() { return clblast().problem; }

CallStep clblast_gemm(const Product& product, DType dtype) {
  return {[product, dtype](cl_command_queue queue, const std::function<cl_mem(Operand)>& memory) {
    const ClBlast& library = clblast();
    const cl_mem a = memory(input(0));
    const cl_mem b = memory(input(1));
    const cl_mem out = memory(output());
    if (dtype == DType::f32) {
      multiply<float>(product, a, b, out, queue, library.sgemm);
    } else {
      multiply<double>(product, a, b, out, queue, library.dgemm);
    }
  }};
}

}  // namespace dala
