// Refuses sources with constructs that a kernel does not need, before a compiler sees them: files
// of the host, inline assembly, code that runs at load time, functions of the host. This is a
// safeguard and not a sandbox: compiled code runs with the rights of the process.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace dala {

// The texts of headers that the source may include, by name.
using Headers = std::map<std::string, std::string>;

// Where a line of a checked source was written.
struct SourceOrigin {
  std::string header;  // "" for the source itself
  int line = 1;
};

struct CheckedSource {
  std::string text;                 // the source with its headers inserted
  std::vector<SourceOrigin> lines;  // of each line of the text
};

// Throws `invalid_param` with the line.
CheckedSource checked_source(const std::string& kernel, const std::string& source,
                             const Headers& headers);

}  // namespace dala
