#include "model/import/common/foreign.hpp"

#include <string_view>

#include "runtime/error.hpp"

namespace dala::model {
namespace {

using namespace std::string_view_literals;

// The bytes by which a format is recognised.
struct Foreign {
  size_t offset;
  std::string_view mark;
  const char* text;
};

constexpr Foreign kForeign[] = {
    {0, "PK\x03\x04"sv,
     "the file is a zip archive, such as a .task bundle of MediaPipe, a .keras file or a PyTorch "
     "checkpoint; unpack a bundle and load the .tflite file inside, or export the model to ONNX"},
    {4, "ORTM"sv,
     "the file is in ONNX Runtime's own format (.ort); load the .onnx file that it was made from"},
    {0, "\x89HDF\r\n\x1a\n"sv,
     "the file is an HDF5 file, such as a Keras model (.h5); convert the model to ONNX, TFLite or "
     "TF.js"},
    {0, "GGUF"sv, "the file is in the GGUF format of llama.cpp; use an ONNX export of the model"},
    {8, "{\""sv,
     "the file looks like weights in the safetensors format, which hold no graph; export the model "
     "to ONNX"},
};

}  // namespace

void refuse_foreign(std::span<const std::byte> file) {
  const std::string_view text{reinterpret_cast<const char*>(file.data()), file.size()};
  const auto refuse = [](const char* why) { throw Error(Reason::unsupported, why); };
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && text[first] == '[') {
    refuse(
        "the file is a list in JSON, such as the weights manifest of an older TF.js model; load "
        "the model.json that goes with it");
  }
  for (const Foreign& each : kForeign) {
    if (text.size() < each.offset + each.mark.size() ||
        text.substr(each.offset, each.mark.size()) != each.mark) {
      continue;
    }
    // Safetensors begin with the size of the JSON text that follows.
    if (each.offset == 8 && text.substr(4, 4) != "\0\0\0\0"sv) continue;
    refuse(each.text);
  }
}

}  // namespace dala::model
