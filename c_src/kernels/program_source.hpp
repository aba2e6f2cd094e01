// The source of an OpenCL program: files below c_src/kernels, embedded in this library. Their
// #include lines are resolved here, since the driver has no include path.
//
// Paths are those of C++, relative to c_src: `#include "kernels/common/paste.h"`. A file with
// `#pragma once` is in a program once; any other file is a template, which is expanded wherever it
// is included, with the macros defined there. #line directives make the driver's messages refer to
// our files and lines. Headers in angle brackets are for the host: they are within an #if that is
// false on every device.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dala {

using Defines = std::vector<std::pair<std::string, std::string>>;

// A piece of a program: generated code, then a file. Its macros are undefined after it.
struct Part {
  std::string file;
  Defines defines = {};
  std::string code = {};  // precedes the file; its #include lines are left to the driver
  bool foreign = false;   // the code came from a user
  bool operator==(const Part&) const = default;
};

// Macros for the whole program, and its parts in order.
struct ProgramSource {
  Defines defines;
  std::vector<Part> parts;
};

// The macros as #define lines.
std::string lines(const Defines& defines);

// Sources by their path below c_src/kernels.
using SourceFiles = std::map<std::string_view, std::string_view>;

// The text that the driver compiles. Throws std::logic_error for a file that does not exist, which
// is a bug in this library.
std::string assemble(const ProgramSource& source, const SourceFiles& files);

}  // namespace dala
