#include "kernels/program_source.hpp"

#include <algorithm>
#include <stdexcept>

namespace dala {
namespace {

constexpr std::string_view kRoot = "kernels/";  // prefix of #include paths
constexpr int kDeepest = 32;                    // nested files; a deeper nesting is a cycle

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  return first == std::string_view::npos ? std::string_view{} : text.substr(first);
}

// A preprocessor line: its name ("include", "if", ...) and the rest; empty for other lines.
struct Directive {
  std::string_view name;
  std::string_view rest;
};

Directive directive_of(std::string_view line) {
  line = trimmed(line);
  if (line.empty() || line.front() != '#') return {};
  line = trimmed(line.substr(1));
  const size_t end = std::min(line.find_first_of(" \t\"("), line.size());
  return {line.substr(0, end), trimmed(line.substr(end))};
}

// Calls `visit` with each line, without its end.
template <typename Visit>
void each_line(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    visit(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

bool says_once(std::string_view text) {
  bool once = false;
  each_line(text, [&once](std::string_view line) {
    const Directive directive = directive_of(line);
    once = once || (directive.name == "pragma" && directive.rest == "once");
  });
  return once;
}

class Assembler {
 public:
  explicit Assembler(const SourceFiles& files) : files_(files) {}

  // Adds generated text. At the start of a program it keeps the driver's own numbering.
  void code(const std::string& text) {
    if (!result_.empty()) result_ += "#line 1 \"generated\"\n";
    result_ += text + "\n";
  }

  void macros(const std::string& text) { result_ += text; }

  void file(std::string_view path) {
    const auto found = files_.find(path);
    if (found == files_.end()) throw std::logic_error("no kernel source " + std::string(path));
    if (++depth_ > kDeepest) throw std::logic_error(std::string(path) + " includes itself");
    if (says_once(found->second)) {
      expand_once(path, found->second);
    } else {
      expand(path, found->second);
    }
    --depth_;
  }

  std::string take() { return std::move(result_); }

 private:
  // The #if, #elif and #else branches around a position, outermost first, each with a unique
  // number.
  using Branches = std::vector<int>;

  // A position inside the branches of an earlier include is compiled only if that include was, so
  // the file is not needed again. Elsewhere the preprocessor has to decide, by an include guard.
  void expand_once(std::string_view path, std::string_view text) {
    std::vector<Branches>& places = included_[path];
    for (const Branches& place : places) {
      if (place.size() <= branches_.size() &&
          std::equal(place.begin(), place.end(), branches_.begin())) {
        return;
      }
    }
    const bool guarded = !branches_.empty() || !places.empty();
    places.push_back(branches_);
    if (!guarded) {
      expand(path, text);
      return;
    }
    const std::string guard = guard_of(path);
    result_ += "#ifndef " + guard + "\n#define " + guard + "\n";
    expand(path, text);
    result_ += "#endif\n";
  }

  static std::string guard_of(std::string_view path) {
    std::string guard = "INCLUDED_" + std::string(path);
    std::replace_if(
        guard.begin(), guard.end(), [](char c) { return c == '/' || c == '.'; }, '_');
    return guard;
  }

  void expand(std::string_view path, std::string_view text) {
    const size_t outside = branches_.size();
    int number = 0;
    say_line(path, 1);
    each_line(text, [&](std::string_view line) {
      ++number;
      const Directive directive = directive_of(line);
      if (directive.name == "include" && directive.rest.starts_with('"')) {
        file(included_path(path, directive.rest));
        say_line(path, number + 1);
        return;
      }
      follow(directive.name);
      const bool once = directive.name == "pragma" && directive.rest == "once";
      if (!once) result_ += line;
      result_ += '\n';
    });
    if (branches_.size() != outside) {
      throw std::logic_error(std::string(path) + " has #if and #endif that do not match");
    }
  }

  // Converts "kernels/nn/window.cl", in quotes, to the key of the embedded file.
  static std::string_view included_path(std::string_view includer, std::string_view quoted) {
    const size_t end = quoted.find('"', 1);
    if (end == std::string_view::npos || !quoted.substr(1).starts_with(kRoot)) {
      throw std::logic_error(std::string(includer) + " includes " + std::string(quoted) +
                             ", expected a path that begins with " + std::string(kRoot));
    }
    return quoted.substr(1 + kRoot.size(), end - 1 - kRoot.size());
  }

  void follow(std::string_view directive) {
    if (directive == "if" || directive == "ifdef" || directive == "ifndef") {
      branches_.push_back(++last_branch_);
    } else if (directive == "elif" || directive == "else") {
      if (!branches_.empty()) branches_.back() = ++last_branch_;
    } else if (directive == "endif") {
      if (!branches_.empty()) branches_.pop_back();
    }
  }

  void say_line(std::string_view path, int number) {
    result_ +=
        "#line " + std::to_string(number) + " \"" + std::string(kRoot) + std::string(path) + "\"\n";
  }

  const SourceFiles& files_;
  std::string result_;
  int depth_ = 0;
  Branches branches_;
  int last_branch_ = 0;
  std::map<std::string_view, std::vector<Branches>> included_;
};

}  // namespace

std::string lines(const Defines& defines) {
  std::string result;
  for (const auto& [name, value] : defines) {
    result.append("#define ").append(name).append(" ").append(value).append("\n");
  }
  return result;
}

std::string assemble(const ProgramSource& source, const SourceFiles& files) {
  Assembler assembler(files);
  assembler.macros(lines(source.defines));
  for (const Part& part : source.parts) {
    assembler.macros(lines(part.defines));
    if (!part.code.empty()) assembler.code(part.code);
    if (!part.file.empty()) assembler.file(part.file);
    for (const auto& [name, value] : part.defines) {
      assembler.macros("#undef " + name.substr(0, name.find('(')) + "\n");
    }
  }
  return assembler.take();
}

}  // namespace dala
