// The errors of a compiler, told in terms of what the user wrote: the line, the text of that line,
// and a mark below the place.
#pragma once

#include <string>

#include "kernels/custom/source_check.hpp"
#include "runtime/error.hpp"

namespace dala {

// The first error in the log of a build.
struct BuildError {
  int line = 0;  // 0 if the log does not tell
  int column = 0;
  std::string message;
  int more = 0;  // errors that follow
};

BuildError first_error(const std::string& log);

// `error` with a message about the source of a kernel, and `line` and `column` among its details.
// An error without a log, or whose log names no line, is given back as it is.
Error located(const Error& error, const std::string& kernel, const CheckedSource& source);

// The same for an expression, whose first character is in this column of a generated function.
Error located_in_expression(const Error& error, const std::string& kernel,
                            const std::string& expression, int first_column);

}  // namespace dala
