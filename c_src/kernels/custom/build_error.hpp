// A compiler's errors in terms of the user's source: the line number, the line, and a mark below
// the column.
#pragma once

#include <string>

#include "kernels/custom/source_check.hpp"
#include "runtime/error.hpp"

namespace dala {

// The first error in the log of a build.
struct BuildError {
  int line = 0;  // 0 if the log has none
  int column = 0;
  std::string message;
  int more = 0;  // errors that follow
};

BuildError first_error(const std::string& log);

// `error` with a message about the kernel's source, and `line` and `column` in its details. An
// error without a log, or whose log has no line number, is returned unchanged.
Error located(const Error& error, const std::string& kernel, const CheckedSource& source);

// The same for an expression, whose first character is in this column of a generated function.
Error located_in_expression(const Error& error, const std::string& kernel,
                            const std::string& expression, int first_column);

}  // namespace dala
