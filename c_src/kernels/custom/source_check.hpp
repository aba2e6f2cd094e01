// Refuses sources with constructs that a kernel does not need, before a compiler sees them: files
// of the host, inline assembly, code that runs at load time, functions of the host. This is a
// safeguard and not a sandbox: compiled code runs with the rights of the process.
#pragma once

#include <map>
#include <string>

namespace dala {

// The texts of headers that the source may include, by name.
using Headers = std::map<std::string, std::string>;

// The source with the text of its headers inserted. Throws `invalid_param` with the line.
std::string checked_source(const std::string& kernel, const std::string& source,
                           const Headers& headers);

}  // namespace dala
