// Files of formats that are not models.
#include "model/import/common/foreign.hpp"

#include "model/onnx_model.hpp"

namespace dala::test {

using model::Model;

TEST_CASE("files of other formats are named") {
  const auto problem = [](const std::string& bytes) {
    return failure([&] { Model::load(engine(), as_bytes(bytes), ""); });
  };
  CHECK(problem(std::string("PK\x03\x04 and more"))
            .find("unsupported: the file is a zip archive, "
                  "such as a .task bundle") == 0);
  CHECK(problem(std::string("\x20\0\0\0ORTM", 8)) ==
        "unsupported: the file is in ONNX Runtime's own format (.ort); load the .onnx file that it "
        "was made from");
  CHECK(problem("[{\"paths\": []}]").find("unsupported: the file is a list in JSON") == 0);
  CHECK(problem("\x89HDF\r\n\x1a\n").find("unsupported: the file is an HDF5 file") == 0);
  CHECK(problem("GGUF....").find("unsupported: the file is in the GGUF format") == 0);
  CHECK(problem(std::string("\x20\0\0\0\0\0\0\0{\"w\": 1}", 16))
            .find("unsupported: the file looks like weights in the safetensors format") == 0);
}

}  // namespace dala::test
