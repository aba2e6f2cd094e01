// The source of an OpenCL program: files below c_src/kernels, embedded in this library, with their
// #include lines resolved here rather than by the driver, which has no folder to look into.
//
// Paths are those of C++, relative to c_src: `#include "kernels/common/paste.h"`. A file that says
// `#pragma once` is in a program once; any other file is a template, which stands wherever it is
// included, with the macros that are defined there. #line tells the driver which file and line a
// piece of source is from, so that its messages name ours. Headers in angle brackets are the
// host's: they stand under an #if that no driver takes.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dala {

using Defines = std::vector<std::pair<std::string, std::string>>;

// A piece of a program: generated code, then a file, under macros that end with it.
struct Part {
  std::string file;
  Defines defines = {};
  std::string code = {};  // in front of the file; its #include lines are left to the driver
  bool foreign = false;   // the code is a user's
  bool operator==(const Part&) const = default;
};

// Macros that hold to the program's end, and its parts in order.
struct ProgramSource {
  Defines defines;
  std::vector<Part> parts;
};

// Macros as text.
std::string lines(const Defines& defines);

// Sources by their path below c_src/kernels.
using SourceFiles = std::map<std::string_view, std::string_view>;

// The text that the driver compiles. Throws std::logic_error for a file that does not exist, which
// is a mistake in this library.
std::string assemble(const ProgramSource& source, const SourceFiles& files);

}  // namespace dala
