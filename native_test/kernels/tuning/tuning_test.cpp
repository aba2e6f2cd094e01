// Tile parameters: the table of vendors, the file of winners, and the search.
#include "kernels/tuning/tuning.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <set>

#include "kernels/tuning/search.hpp"
#include "runtime/program/disk_cache.hpp"
#include "support/engine_fixture.hpp"
#include "support/folder.hpp"

namespace dala::test {
namespace {

DeviceInfo device(const std::string& vendor, const std::string& name,
                  const std::string& type = "gpu") {
  DeviceInfo info;
  info.vendor = vendor;
  info.name = name;
  info.type = type;
  info.driver = "1.0";
  return info;
}

// {m, k} times {k, n} of small integers, whose products are exact in f32, and the expected result.
void check_product(int64_t m, int64_t k, int64_t n, bool transpose_b) {
  const auto at = [](int64_t i) { return static_cast<float>((i * 7 + i / 11) % 9 - 4); };
  std::vector<float> a(static_cast<size_t>(m * k));
  std::vector<float> b(static_cast<size_t>(k * n));
  std::vector<float> expected(static_cast<size_t>(m * n));
  for (size_t i = 0; i < a.size(); ++i) a[i] = at(static_cast<int64_t>(i));
  for (size_t i = 0; i < b.size(); ++i) b[i] = at(static_cast<int64_t>(i) + 3);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t l = 0; l < k; ++l) {
        expected[static_cast<size_t>(i * n + j)] +=
            a[static_cast<size_t>(i * k + l)] *
            b[static_cast<size_t>(transpose_b ? j * k + l : l * n + j)];
      }
    }
  }
  const BufferPtr out = zeros(DType::f32, {m, n});
  const Shape shape = transpose_b ? Shape{n, k} : Shape{k, n};
  run("matmul", {buffer(a, {m, k}), buffer(b, shape)}, out, {{"transpose_b", transpose_b}});
  CHECK(read<float>(out) == expected);
}

bool gpu_class() { return engine().runtime().device().device_class() == DeviceClass::gpu; }

}  // namespace

TEST_CASE("a device has the tiles of its vendor's family") {
  CHECK(vendor_family(device("NVIDIA Corporation", "NVIDIA GeForce RTX 3060")) == "NVIDIA");
  CHECK(vendor_family(device("Advanced Micro Devices, Inc.", "gfx1030")) == "AMD RDNA");
  CHECK(vendor_family(device("AMD", "AMD Radeon RX 6700 XT (gfx1031, LLVM 15)")) == "AMD RDNA");
  CHECK(vendor_family(device("Advanced Micro Devices, Inc.", "gfx90a")) == "AMD GCN/CDNA");
  CHECK(vendor_family(device("Intel(R) Corporation", "Intel(R) Arc(TM) A770 Graphics")) ==
        "Intel Xe");
  CHECK(vendor_family(device("ARM", "Mali-G78 r0p1")) == "ARM Mali");
  CHECK(vendor_family(device("QUALCOMM", "QUALCOMM Adreno(TM)")) == "Adreno");
  CHECK(vendor_family(device("Apple", "Apple M1")) == "Apple");
  CHECK(vendor_family(device("Imagination", "PowerVR")) == "other");
  CHECK(vendor_family(device("Intel(R) Corporation", "Graphics", "cpu")) == "other");
  CHECK(vendor_choice(device("Imagination", "PowerVR")) == TileChoice{16, 16, 8, 256});
  CHECK(vendor_choice(device("ARM", "Mali-G78 r0p1")) == TileChoice{8, 8, 4, 64});
}

TEST_CASE("winners are kept per device and driver, and a damaged file is ignored") {
  const Folder folder;
  DiskCache files(folder.path, 0);
  const DeviceInfo first = device("ARM", "Mali for tests");
  DeviceInfo updated = first;
  updated.driver = "1.1";
  const TileChoice winner{16, 32, 4, 128};
  set_winner(first, ShapeClass::matmul_large, winner);
  REQUIRE(save_winners(first, files));
  CHECK(tile_choice(first, ShapeClass::matmul_large) == winner);
  CHECK(tile_choice(first, ShapeClass::matmul_small) == vendor_choice(first));
  CHECK(tile_choice(updated, ShapeClass::matmul_large) == vendor_choice(updated));
  CHECK(winners_file(first) != winners_file(updated));

  // As at the next start: what is on disk replaces what is in memory.
  const auto reload = [&] {
    set_winner(first, ShapeClass::matmul_large, TileChoice{8, 8, 4, 256});
    load_winners(first, files);
    return tile_choice(first, ShapeClass::matmul_large);
  };
  CHECK(reload() == winner);
  {
    std::fstream file(folder.path + "/" + winners_file(first),
                      std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-3, std::ios::end);
    file.put('7');
  }
  CHECK(reload() == TileChoice{8, 8, 4, 256});
  CHECK(!files.read(winners_file(first)));  // removed
  REQUIRE(save_winners(first, files));
  CHECK(files.read(winners_file(first)));

  SUBCASE("parameters that no search tries") {
    std::string text = *files.read(winners_file(first));
    text.replace(text.find("8 8 4"), 5, "7 8 4");
    REQUIRE(files.write(winners_file(first), text));
    set_winner(first, ShapeClass::matmul_large, winner);
    load_winners(first, files);
    CHECK(tile_choice(first, ShapeClass::matmul_large) == winner);
  }
}

TEST_CASE("every candidate of a search gives the right products" * doctest::skip(quick())) {
  if (!gpu_class()) return;
  for (int64_t side : {8, 16}) {
    for (int64_t step : {8, 16, 32}) {
      for (int64_t edge : {4, 8}) {
        CAPTURE(side);
        CAPTURE(step);
        CAPTURE(edge);
        const TileTrial trial({side, step, edge, 256});
        check_product(3, 37, 130, false);
        check_product(131, 65, 70, true);
      }
    }
  }
  const TileTrial trial({16, 32, 8, 256});
  check_product(513, 33, 515, false);
}

TEST_CASE("a search measures every shape class and keeps the winners" * doctest::skip(quick())) {
  Engine& current = engine();
  std::set<std::string> told;
  const auto tell = [&](const TuneStep& step) { told.insert(step.name); };
  if (!gpu_class()) {
    CHECK(failure([&] {
            tune(current, std::chrono::seconds(1), tell);
          }).find("unsupported: tuning is for kernels of the GPU family; ") == 0);
    return;
  }
  const DeviceInfo& info = current.runtime().device().info();
  CHECK(tune(current, std::chrono::milliseconds(0), tell).empty());
  CHECK(tune(current, std::chrono::hours(1), tell, [] { return true; }).empty());
  told.clear();
  // Compiling all candidates takes minutes.
  const char* all = std::getenv("DALA_TEST_ALL");
  const bool whole = all != nullptr && std::string(all) == "1";
  const auto limit = whole ? std::chrono::minutes(20) : std::chrono::seconds(20);
  const std::vector<TuneResult> results = tune(current, limit, tell);
  CHECK(!told.empty());
  if (whole) {
    REQUIRE(results.size() == kShapeClasses.size());
    CHECK(told.size() == kShapeClasses.size());
  }
  DiskCache files(current.runtime().folders().store.folder, 0);
  for (const TuneResult& result : results) {
    CAPTURE(std::string(to_string(result.shape_class)));
    CHECK(result.rejected == 0);
    CHECK(result.tried >= 3);
    CHECK(result.after_us <= result.before_us);
    CHECK(tile_choice(info, result.shape_class) == result.after);
    MESSAGE(std::string(to_string(result.shape_class)), ": ", result.before_us, " us, ",
            result.after_us, " us with ", describe(result.shape_class, result.after));
  }
  CHECK(files.read(winners_file(info)).has_value() == !results.empty());
  check_product(131, 65, 70, false);
  // The other tests use the vendor's tiles.
  for (ShapeClass each : kShapeClasses) set_winner(info, each, vendor_choice(info));
  files.remove(winners_file(info));
}

}  // namespace dala::test
