#include "kernels/linalg/matmul.hpp"

#include <algorithm>

#include "kernels/checks.hpp"
#include "kernels/element.hpp"
#include "kernels/linalg/clblast.hpp"
#include "kernels/linalg/extent.hpp"

namespace dala {
namespace {

constexpr int64_t kTileRows = 6;  // TILE_ROWS in matmul_cpu.cl

[[noreturn]] void reject_shapes(const std::string& problem) {
  throw Error(Reason::shape_mismatch, problem);
}

void check_matmul(const Call& call) {
  need_same_inputs("matmul", call);
  need_output_dtype("matmul", call, {call.inputs[0].dtype});
  const Shape& a = call.inputs[0].shape;
  const Shape& b = call.inputs[1].shape;
  for (size_t i = 0; i < 2; ++i) {
    if (call.inputs[i].shape.size() >= 2) continue;
    reject_shapes(text("input ", i, " of matmul has shape ", to_string(call.inputs[i].shape),
                       ", expected at least 2 dimensions"));
  }
  const bool same_batch =
      a.size() == b.size() && std::equal(a.begin(), a.end() - 2, b.begin(), b.end() - 2);
  if (!same_batch) {
    reject_shapes(text("matmul needs inputs whose leading dimensions agree, got ", to_string(a),
                       " and ", to_string(b)));
  }
  if (a.back() != b[b.size() - 2]) {
    reject_shapes(text("matmul needs as many rows in input 1 as columns in input 0, got ",
                       to_string(a), " and ", to_string(b)));
  }
  Shape expected = a;
  expected.back() = b.back();
  need_output_shape("matmul", call, {expected});
}

MatmulExtent extent_of(const Call& call) {
  const Shape& a = call.inputs[0].shape;
  MatmulExtent extent;
  for (size_t d = 0; d + 2 < a.size(); ++d) extent.batch *= a[d];
  extent.m = a[a.size() - 2];
  extent.k = a.back();
  extent.n = call.inputs[1].shape.back();
  return extent;
}

// The type in which products are summed: unsigned for integers, so that they wrap.
struct Accumulator {
  const char* name;
  size_t bytes;
};

Accumulator accumulator_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return {"float", 4};
    case DType::f64:
      return {"double", 8};
    case DType::s64:
      return {"ulong", 8};
    default:
      return {"uint", 4};
  }
}

// How wide this device's vectors are, in elements of that size: registers of 512 bits where there
// are some, of 256 bits otherwise, which compilers split up for narrower devices.
int64_t vector_lanes(const Planner& planner, size_t bytes) {
  cl_uint floats = 0;
  const cl_int status =
      cl().clGetDeviceInfo(planner.device().info().id, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT,
                           sizeof(floats), &floats, nullptr);
  const int64_t register_bytes = status == CL_SUCCESS && floats >= 16 ? 64 : 32;
  return register_bytes / static_cast<int64_t>(bytes);
}

// How the work is cut for devices that are CPUs: see matmul_cpu.cl.
struct Strips {
  int64_t rows;
  int32_t columns;
  int32_t block;
};

Strips strips_of(const Planner& planner, const MatmulExtent& extent, int64_t tile_columns,
                 size_t bytes) {
  // Measured to be best on cores with 1 MiB of cache or more, within what the device gives a group
  // of local memory.
  int64_t columns = 8 * tile_columns;
  int64_t block = 256;
  const auto room = static_cast<int64_t>(planner.device().info().local_memory / bytes);
  while (columns * block > room && (columns > tile_columns || block > 1)) {
    if (columns > tile_columns && columns * 2 > block) {
      columns /= 2;
    } else {
      block /= 2;
    }
  }
  const int64_t across = ceil_div(extent.n, columns) * extent.batch;
  const int64_t wanted = ceil_div(planner.busy_groups(), across);
  // Fewer rows than this do not repay the packing of b a second time.
  const int64_t useful = std::max<int64_t>(1, extent.m / (8 * kTileRows));
  const int64_t down = std::clamp<int64_t>(wanted, 1, useful);
  const int64_t rows = ceil_div(ceil_div(extent.m, down), kTileRows) * kTileRows;
  return {rows, static_cast<int32_t>(columns), static_cast<int32_t>(block)};
}

KernelStep cpu_step(Planner& planner, const MatmulExtent& extent, DType dtype) {
  const Accumulator accumulator = accumulator_of(dtype);
  const int64_t lanes = vector_lanes(planner, accumulator.bytes);
  const Strips strips = strips_of(planner, extent, 2 * lanes, accumulator.bytes);
  Range range;
  range.dimensions = 3;
  range.global = {static_cast<size_t>(ceil_div(extent.n, strips.columns)),
                  static_cast<size_t>(ceil_div(extent.m, strips.rows)),
                  static_cast<size_t>(extent.batch)};
  Defines defines = element_defines(dtype);
  defines.emplace_back("ACC", accumulator.name);
  defines.emplace_back("LANES", std::to_string(lanes));
  defines.emplace_back("ROUND_TRIP", size_of(dtype) == accumulator.bytes ? "1" : "0");
  const size_t packed = static_cast<size_t>(strips.columns) * static_cast<size_t>(strips.block);
  return {planner.program({"linalg/matmul_cpu.cl"}, defines),
          "matmul",
          {input(0), input(1), output(), value(extent.m), value(extent.n), value(extent.k),
           value(strips.rows), value(strips.columns), value(strips.block),
           LocalMemory{packed * accumulator.bytes}},
          range};
}

KernelStep gpu_step(Planner& planner, const MatmulExtent& extent, DType dtype) {
  const Accumulator accumulator = accumulator_of(dtype);
  const size_t items = planner.group_items(256, 2 * accumulator.bytes);
  const int64_t tile = items >= 256 ? 16 : items >= 64 ? 8 : items >= 16 ? 4 : 1;
  const auto side = static_cast<size_t>(tile);
  Range range;
  range.dimensions = 3;
  range.local = {side, side, 1};
  range.global = {static_cast<size_t>(ceil_div(extent.n, tile)) * side,
                  static_cast<size_t>(ceil_div(extent.m, tile)) * side,
                  static_cast<size_t>(extent.batch)};
  Defines defines = element_defines(dtype);
  defines.emplace_back("ACC", accumulator.name);
  defines.emplace_back("TILE", std::to_string(tile));
  return {planner.program({"linalg/matmul_gpu.cl"}, defines),
          "matmul",
          {input(0), input(1), output(), value(extent.m), value(extent.n), value(extent.k)},
          range};
}

// Whether CLBlast is to serve this product. It computes in floats only, and on CPUs its kernels
// take long to compile and are slow, so there it runs only on demand.
bool use_clblast(const Planner& planner, DType dtype) {
  if (!is_float(dtype)) return false;
  const std::string& backend = planner.matmul_backend();
  if (backend == "clblast") {
    if (load_clblast().empty()) return true;
    throw Error(Reason::unsupported,
                text("matmul is set to clblast, but CLBlast is not there: ", load_clblast()));
  }
  return backend == "auto" && !planner.cpu_class() && planner.device().info().type != "cpu" &&
         load_clblast().empty();
}

Launch plan_matmul(const Call& call, Planner& planner) {
  planner.need_arithmetic("matmul", call);
  const MatmulExtent extent = extent_of(call);
  const DType dtype = call.output.dtype;
  Launch launch;
  if (call.output.count() == 0) return launch;
  if (extent.k == 0) {
    launch.steps.push_back(FillStep{output(), value(uint8_t{0}), call.output.bytes()});
    launch.work = static_cast<double>(call.output.bytes());
    return launch;
  }
  if (use_clblast(planner, dtype)) {
    launch.steps.push_back(clblast_gemm(extent, dtype));
  } else if (planner.cpu_class()) {
    launch.steps.push_back(cpu_step(planner, extent, dtype));
  } else {
    launch.steps.push_back(gpu_step(planner, extent, dtype));
  }
  const double operations =
      2.0 * static_cast<double>(call.output.count()) * static_cast<double>(extent.k);
  launch.work =
      static_cast<double>(call.inputs[0].bytes() + call.inputs[1].bytes() + call.output.bytes()) +
      operations / 8;
  return launch;
}

}  // namespace

Descriptors linalg_kernels() {
  Descriptor matmul;
  matmul.name = "matmul";
  matmul.summary = "The matrix product of a {m, k} and b {k, n}, batched over leading dimensions.";
  matmul.inputs = 2;
  matmul.dtypes = kEveryDType;
  matmul.output_rule = "the inputs' element type, their leading dimensions, then {m, n}";
  matmul.check = check_matmul;
  matmul.plan = plan_matmul;
  return {matmul};
}

}  // namespace dala
