#include "kernels/custom/build_error.hpp"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <string_view>

namespace dala {
namespace {

constexpr size_t kMaxShown = 200;  // characters of a line

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// Parses the number at `at` and moves `at` past it; 0 if there is none, or it is too large.
int number_at(std::string_view text, size_t& at) {
  int number = 0;
  const size_t begin = at;
  while (at < text.size() && is_digit(text[at]) && at - begin < 8) {
    number = 10 * number + (text[at++] - '0');
  }
  return number;
}

// Drivers write `file:3:14: error: message`, `3:14: error: message` and `error: file:3:14:
// message`. Reads the numbers, and leaves the rest in `text`.
bool read_place(std::string_view& text, BuildError& error) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (!is_digit(text[i]) || (i > 0 && text[i - 1] != ':' && text[i - 1] != ' ')) continue;
    size_t at = i;
    const int line = number_at(text, at);
    if (line == 0 || at >= text.size() || text[at] != ':') continue;
    size_t column_at = at + 1;
    const int column = number_at(text, column_at);
    if (column == 0 || column_at >= text.size() || text[column_at] != ':') continue;
    error.line = line;
    error.column = column;
    text.remove_prefix(column_at + 1);
    return true;
  }
  return false;
}

std::string trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) {
    text.remove_prefix(1);
  }
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) {
    text.remove_suffix(1);
  }
  return std::string(text);
}

std::string line_of(const std::string& text, int number) {
  std::istringstream stream(text);
  std::string line;
  for (int i = 0; i < number; ++i) {
    if (!std::getline(stream, line)) return "";
  }
  return line;
}

const std::string* log_of(const Error& error) {
  if (error.reason != Reason::build_failed) return nullptr;
  for (const auto& [name, detail] : error.details) {
    if (name == "log") return std::get_if<std::string>(&detail);
  }
  return nullptr;
}

// The line with a mark below the column, as compilers show it; tabs are kept, so that both lines
// are indented alike.
std::string shown(const std::string& line, int column) {
  const auto at = static_cast<size_t>(std::max(column - 1, 0));
  if (line.empty() || line.size() > kMaxShown || at > line.size()) return "";
  std::string mark;
  for (size_t i = 0; i < at; ++i) mark += line[i] == '\t' ? '\t' : ' ';
  return text("\n    ", line, "\n    ", mark, "^");
}

Error told(const Error& error, const std::string& where, const BuildError& first,
           const std::string& line, int number, int column) {
  std::string message = text(where, " does not compile: ", first.message, shown(line, column));
  if (first.more > 0) {
    message += text("\n", first.more, first.more == 1 ? " more error is" : " more errors are",
                    " in details.log");
  }
  Details details = error.details;
  details.emplace_back("line", int64_t{number});
  details.emplace_back("column", int64_t{column});
  return {error.reason, message, std::move(details)};
}

}  // namespace

BuildError first_error(const std::string& log) {
  BuildError found;
  int errors = 0;
  std::istringstream stream(log);
  for (std::string line; std::getline(stream, line);) {
    std::string_view rest = line;
    const size_t word = rest.find("error: ");
    if (word == std::string_view::npos) continue;
    BuildError error;
    // The location precedes the word, or follows it.
    std::string_view before = rest.substr(0, word);
    rest.remove_prefix(word + std::string_view("error: ").size());
    if (!read_place(before, error) && !read_place(rest, error)) continue;
    error.message = trimmed(rest);
    if (errors++ == 0) found = error;
  }
  found.more = std::max(errors - 1, 0);
  return found;
}

Error located(const Error& error, const std::string& kernel, const CheckedSource& source) {
  const std::string* log = log_of(error);
  if (log == nullptr) return error;
  const BuildError first = first_error(*log);
  if (first.line == 0 || static_cast<size_t>(first.line) > source.lines.size()) return error;
  const SourceOrigin& origin = source.lines[static_cast<size_t>(first.line - 1)];
  const std::string file =
      origin.header.empty() ? "the source" : text("the header ", origin.header);
  return told(error, text("line ", origin.line, " of ", file, " of ", kernel), first,
              line_of(source.text, first.line), origin.line, first.column);
}

Error located_in_expression(const Error& error, const std::string& kernel,
                            const std::string& expression, int first_column) {
  const std::string* log = log_of(error);
  if (log == nullptr) return error;
  const BuildError first = first_error(*log);
  const int column = first.column - first_column + 1;
  // A location outside of the expression is in a generated file.
  if (first.line == 0 || column < 1 || static_cast<size_t>(column) > expression.size() + 1) {
    return error;
  }
  return told(error, text("the expression of ", kernel), first, expression, 1, column);
}

}  // namespace dala
