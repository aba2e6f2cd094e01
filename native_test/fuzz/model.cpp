// Model files: they are read, checked, optimized and planned.
#include "model/model.hpp"

#include <algorithm>
#include <fstream>

#include "fuzz/targets.hpp"
#include "support/engine_fixture.hpp"
#include "support/tfjs_writer.hpp"

namespace dala::test::fuzz {
namespace {

// Loads a model, and checks that nothing of it remains.
void load(Input file, const std::string& folder) {
  MemoryPool& memory = engine().runtime().memory();
  const uint64_t before = memory.info().in_use;
  try {
    model::Model::load(engine(), file, folder);
  } catch (const Error&) {
    // The file is refused, with a reason.
  }
  // Uploads and packed weights belong to commands until these end.
  engine().runtime().scheduler().alone([] {});
  if (memory.info().in_use != before) finding("memory of a model that is gone is still in use");
}

}  // namespace

void run_model(Input file) { load(file, ""); }

void run_tfjs(Input input) {
  static const TemporaryFolder folder;
  const auto end = std::find(input.begin(), input.end(), std::byte{0});
  const auto json = static_cast<size_t>(end - input.begin());
  const Input weights = input.subspan(std::min(json + 1, input.size()));
  std::ofstream(folder / "weights.bin", std::ios::binary)
      .write(reinterpret_cast<const char*>(weights.data()),
             static_cast<std::streamsize>(weights.size()));
  // Without the brace, another importer would read it.
  if (json == 0 || input[0] != std::byte{'{'}) return;
  load(input.first(json), folder.str());
}

}  // namespace dala::test::fuzz
