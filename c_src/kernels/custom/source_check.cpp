#include "kernels/custom/source_check.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/custom/source_lexer.hpp"
#include "runtime/error.hpp"

namespace dala {
namespace {

using Kind = SourceToken::Kind;
using Tokens = std::vector<SourceToken>;

constexpr size_t kMaxBytes = 1 << 20;
constexpr int kMaxDepth = 16;  // of headers that include each other
constexpr int kMaxIncludes = 1000;
constexpr size_t kMaxAttributes = 1000;  // tokens of one attribute list
constexpr size_t kMaxPasted = 256;       // characters

constexpr std::string_view kRefusedWords[] = {"asm",
                                              "__asm",
                                              "__asm__",
                                              "_Pragma",
                                              "__pragma",
                                              "__has_include",
                                              "__has_include_next",
                                              "__has_embed",
                                              "__declspec"};

constexpr std::string_view kAttributes[] = {"address_space",
                                            "aligned",
                                            "always_inline",
                                            "cold",
                                            "const",
                                            "convergent",
                                            "deprecated",
                                            "endian",
                                            "ext_vector_type",
                                            "fallthrough",
                                            "flatten",
                                            "hot",
                                            "intel_reqd_sub_group_size",
                                            "may_alias",
                                            "maybe_unused",
                                            "noduplicate",
                                            "noinline",
                                            "nothrow",
                                            "opencl_unroll_hint",
                                            "overloadable",
                                            "packed",
                                            "pure",
                                            "reqd_work_group_size",
                                            "unused",
                                            "vec_type_hint",
                                            "vector_size",
                                            "warn_unused_result",
                                            "work_group_size_hint"};

constexpr std::string_view kDirectives[] = {"define", "elif",   "else",  "endif",
                                            "error",  "if",     "ifdef", "ifndef",
                                            "line",   "pragma", "undef", "warning"};

// Prefixes of compiler builtins that only compute.
constexpr std::string_view kBuiltins[] = {
    "astype",        "assume",       "bitreverse", "bswap",
    "choose_expr",   "clz",          "constant_p", "convertvector",
    "ctz",           "elementwise_", "expect",     "fabs",
    "ffs",           "fma",          "huge_val",   "inf",
    "isfinite",      "isinf",        "isnan",      "nan",
    "nontemporal_",  "offsetof",     "parity",     "popcount",
    "prefetch",      "reduce_",      "rotateleft", "rotateright",
    "shufflevector", "signbit",      "sqrt",       "types_compatible_p",
    "unpredictable"};

template <size_t kCount>
bool one_of(const std::string_view (&names)[kCount], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

class Check {
 public:
  Check(const std::string& kernel, const Headers& headers) : kernel_(kernel), headers_(headers) {}

  CheckedSource run(const std::string& source) {
    check_bytes(source);
    whole_ = with_headers(source, "", 0);
    const Tokens tokens = tokens_of(whole_.text);
    const SourceLines lines = lines_of(tokens);
    for (const Tokens& directive : lines.directives) check_directive(directive);
    check_words(tokens);
    check_attributes(tokens);
    check_pasted(tokens);
    check_declared(lines);
    return std::move(whole_);
  }

 private:
  // `line` refers to the assembled source, or to the current file while that is being assembled.
  [[noreturn]] void refuse(int line, const std::string& problem) const {
    const auto index = static_cast<size_t>(line - 1);
    SourceOrigin origin{file_, line};
    if (index < whole_.lines.size()) origin = whole_.lines[index];
    const std::string file =
        origin.header.empty() ? "the source" : text("the header ", origin.header);
    throw Error(Reason::invalid_param,
                text("line ", origin.line, " of ", file, " of ", kernel_, " ", problem),
                {{"line", int64_t{origin.line}}});
  }

  void check_bytes(const std::string& source) const {
    if (source.size() > kMaxBytes) {
      throw Error(Reason::invalid_param, text("the source of ", kernel_, " has ", source.size(),
                                              " bytes, at most ", kMaxBytes, " are allowed"));
    }
    int line = 1;
    for (size_t i = 0; i < source.size(); ++i) {
      if (source[i] == '\n') ++line;
      if (source[i] == '\0') refuse(line, "has a zero byte, at which compilers stop");
      const bool trigraph =
          source.compare(i, 2, "??") == 0 && i + 2 < source.size() &&
          std::string_view("=/'()!<>-").find(source[i + 2]) != std::string_view::npos;
      if (trigraph) refuse(line, text("has the trigraph ", source.substr(i, 3)));
    }
  }

  // Appends text that starts in this line of a file.
  static void append(CheckedSource& whole, const std::string& piece, const std::string& file,
                     int line) {
    whole.text += piece;
    for (char c : piece) {
      if (c == '\n') whole.lines.push_back({file, ++line});
    }
  }

  // Appends a header, which starts in the line of its #include.
  static void append(CheckedSource& whole, const CheckedSource& header) {
    whole.text += header.text;
    whole.lines.back() = header.lines.front();
    whole.lines.insert(whole.lines.end(), header.lines.begin() + 1, header.lines.end());
  }

  // Replaces each #include by the text of its header. The compiler never opens a file.
  CheckedSource with_headers(const std::string& source, const std::string& file, int depth) {
    CheckedSource result{"", {{file, 1}}};
    size_t copied = 0;
    int line = 1;
    for (const Tokens& directive : lines_of(tokens_of(source)).directives) {
      if (directive.empty() || !directive.front().is("include")) continue;
      file_ = file;
      append(result, source.substr(copied, directive.front().begin - copied), file, line);
      line = directive.front().line;
      const CheckedSource header = header_of(directive, depth);
      // The text after the directive is on the directive's line.
      append(result, header);
      result.lines.back() = {file, line};
      copied = directive.back().end;
      file_ = file;
      if (result.text.size() > kMaxBytes)
        refuse(line, text("includes more than ", kMaxBytes, " bytes"));
    }
    append(result, source.substr(copied), file, line);
    return result;
  }

  CheckedSource header_of(const Tokens& directive, int depth) {
    const int line = directive.front().line;
    std::string name;
    for (size_t i = 1; i < directive.size(); ++i) name += directive[i].spelling;
    const bool quoted = name.size() > 2 && ((name.front() == '"' && name.back() == '"') ||
                                            (name.front() == '<' && name.back() == '>'));
    if (!quoted) refuse(line, text("includes ", name, ", which is not the name of a header"));
    name = name.substr(1, name.size() - 2);
    const auto header = headers_.find(name);
    if (header == headers_.end()) {
      refuse(line, text("includes ", name,
                        ", which is not one of its headers: files are not read; "
                        "pass its text with headers: %{\"",
                        name, "\" => text}"));
    }
    if (++included_ > kMaxIncludes) {
      refuse(line, text("includes more than ", kMaxIncludes, " headers"));
    }
    if (depth >= kMaxDepth) {
      refuse(line, text("includes ", name, " more than ", kMaxDepth, " levels deep"));
    }
    file_ = name;
    check_bytes(header->second);
    if (once_.contains(name)) return {"", {{name, 1}}};
    if (has_pragma_once(header->second)) once_.insert(name);
    CheckedSource content = with_headers(header->second, name, depth + 1);
    append(content, "\n", name, 0);
    return content;
  }

  static bool has_pragma_once(const std::string& source) {
    const auto directives = lines_of(tokens_of(source)).directives;
    return std::any_of(directives.begin(), directives.end(), [](const Tokens& directive) {
      return directive.size() == 2 && directive[0].is("pragma") && directive[1].is("once");
    });
  }

  void check_directive(const Tokens& directive) {
    if (directive.empty()) return;
    const SourceToken& name = directive.front();
    if (!one_of(kDirectives, name.spelling)) {
      refuse(name.line, text("has the directive #", name.spelling, ", which is not allowed"));
    }
    if (name.is("pragma")) check_pragma(directive);
    if (name.is("define") && directive.size() > 1) {
      macros_.insert(directive[1].spelling);
      if (one_of(kAttributes, directive[1].spelling)) {
        refuse(name.line, text("defines ", directive[1].spelling, ", the name of an attribute"));
      }
    }
  }

  void check_pragma(const Tokens& pragma) const {
    const auto word = [&pragma](size_t i) {
      return i < pragma.size() ? pragma[i].spelling : std::string();
    };
    static constexpr std::string_view kPragmas[] = {"OPENCL", "STDC", "nounroll", "once", "unroll"};
    const bool loop =
        (word(1) == "clang" && word(2) == "loop") || (word(1) == "GCC" && word(2) == "unroll");
    if (loop || one_of(kPragmas, word(1))) return;
    refuse(pragma.front().line,
           text("has #pragma ", word(1), " ", word(2), ", which is not allowed"));
  }

  void check_words(const Tokens& tokens) const {
    for (const SourceToken& token : tokens) {
      if (token.kind == Kind::word) check_word(token.spelling, token.line);
    }
  }

  void check_word(const std::string& word, int line) const {
    if (one_of(kRefusedWords, word)) refuse(line, text("has ", word, ", which is not allowed"));
    constexpr std::string_view kPrefix = "__builtin_";
    if (!word.starts_with(kPrefix)) return;
    const std::string_view rest = std::string_view(word).substr(kPrefix.size());
    const bool fine = std::any_of(std::begin(kBuiltins), std::end(kBuiltins),
                                  [rest](std::string_view each) { return rest.starts_with(each); });
    if (!fine) refuse(line, text("has ", word, ", which is not allowed"));
  }

  // Every attribute must be spelled out and on the list.
  void check_attributes(const Tokens& tokens) const {
    for (size_t i = 0; i < tokens.size(); ++i) {
      const int line = tokens[i].line;
      const auto at = [&tokens](size_t k) {
        return k < tokens.size() ? tokens[k].spelling : std::string();
      };
      if (tokens[i].is("[") && at(i + 1) == "[") refuse(line, "has [[, which is not allowed");
      if (!tokens[i].is("__attribute__") && !tokens[i].is("__attribute")) continue;
      if (at(i + 1) != "(" || at(i + 2) != "(") {
        refuse(line, text("has ", tokens[i].spelling, " without an attribute list"));
      }
      int depth = 2;
      bool expected = true;  // whether an attribute's name is next
      for (size_t k = i + 3; depth > 0; ++k) {
        if (k == tokens.size() || k > i + kMaxAttributes) {
          refuse(line, "has an attribute list that is too long or not closed");
        }
        const std::string& spelling = tokens[k].spelling;
        depth += spelling == "(" ? 1 : spelling == ")" ? -1 : 0;
        if (depth == 2 && expected && spelling != ",") check_attribute(spelling, line);
        expected = depth == 2 && spelling == ",";
      }
    }
  }

  void check_attribute(std::string name, int line) const {
    if (name.size() > 4 && name.starts_with("__") && name.ends_with("__")) {
      name = name.substr(2, name.size() - 4);
    }
    if (name == ")" || one_of(kAttributes, name)) return;
    refuse(line, text("has the attribute ", name, ", which is not allowed"));
  }

  // Token pasting must not be able to form a refused word from the words of the source.
  void check_pasted(const Tokens& tokens) {
    std::set<std::string> words;
    int line = 0;
    for (const SourceToken& token : tokens) {
      if (token.kind == Kind::word || token.kind == Kind::number) words.insert(token.spelling);
      if (line == 0 && token.is("##")) line = token.line;
    }
    if (line == 0) return;
    pasted_ = words;
    static constexpr std::string_view kHidden[] = {"__asm",         "__asm__",    "__attribute",
                                                   "__attribute__", "_Pragma",    "__has_include",
                                                   "__declspec",    "__has_embed"};
    for (std::string_view target : kHidden) {
      if (!can_paste(target, words)) continue;
      refuse(line, text("has ##, which could form ", target, " from its words"));
    }
    constexpr std::string_view kPrefix = "__builtin_";
    for (const std::string& start : words) {
      if (!kPrefix.starts_with(start)) continue;  // longer words have been checked
      for (const std::string& end : words) {
        if ((start + end).starts_with(kPrefix)) check_word(start + end, line);
      }
    }
  }

  // Whether the target is a concatenation of at least two of the words.
  static bool can_paste(std::string_view target, const std::set<std::string>& words) {
    if (target.size() > kMaxPasted) return false;
    std::vector<bool> reached(target.size() + 1, false);  // prefixes that can be formed, by length
    reached[0] = true;
    for (size_t begin = 0; begin < target.size(); ++begin) {
      if (!reached[begin]) continue;
      for (size_t end = begin + 1; end <= target.size(); ++end) {
        const bool whole = begin == 0 && end == target.size();
        if (!whole && words.contains(std::string(target.substr(begin, end - begin)))) {
          reached[end] = true;
        }
      }
    }
    return reached.back();
  }

  static size_t past_group(const Tokens& code, size_t open) {
    int depth = 0;
    for (size_t i = open; i < code.size(); ++i) {
      const std::string& spelling = code[i].spelling;
      if (code[i].kind != Kind::punctuator) continue;
      depth += spelling == "(" || spelling == "{" || spelling == "[" ? 1 : 0;
      depth -= spelling == ")" || spelling == "}" || spelling == "]" ? 1 : 0;
      if (depth <= 0) return i + 1;
    }
    return code.size();
  }

  static size_t past_semicolon(const Tokens& code, size_t at) {
    while (at < code.size() && !code[at].is(";")) {
      at = code[at].is("{") || code[at].is("(") ? past_group(code, at) : at + 1;
    }
    return at;
  }

  // A function that is declared and not defined would be linked to one of the host.
  void check_declared(const SourceLines& lines) const {
    const Tokens& code = lines.code;
    std::set<std::string> defined;
    std::vector<const SourceToken*> declared;
    for (size_t i = 0; i < code.size();) {
      const SourceToken& token = code[i];
      if (token.is("typedef") || token.is("=")) {
        i = past_semicolon(code, i);
      } else if (token.is("{") || token.is("(") || token.is("[")) {
        i = past_group(code, i);
      } else if (token.kind != Kind::word || i + 1 == code.size() || !code[i + 1].is("(")) {
        ++i;
      } else {
        size_t end = past_group(code, i + 1);
        while (end < code.size() && code[end].spelling.starts_with("__attribute")) {
          end = past_group(code, end + 1);
        }
        if (macros_.contains(token.spelling)) {
          // A macro may define functions whose names are its arguments.
          for (size_t k = i + 1; k < end; ++k) defined.insert(code[k].spelling);
        } else if (end < code.size() && code[end].is("{")) {
          defined.insert(token.spelling);
        } else if (end < code.size() && (code[end].is(";") || code[end].is(",")) &&
                   !token.spelling.starts_with("__attribute")) {
          declared.push_back(&token);
        }
        i = end;
      }
    }
    for (const SourceToken* token : declared) {
      if (defined.contains(token->spelling) || can_paste(token->spelling, pasted_)) continue;
      refuse(token->line, text("declares ", token->spelling, ", which the source does not define"));
    }
  }

  const std::string& kernel_;
  const Headers& headers_;
  CheckedSource whole_;  // empty until all headers are inserted
  std::string file_;     // the current header; "" for the source
  int included_ = 0;
  std::set<std::string> once_;    // headers with #pragma once that have been included
  std::set<std::string> macros_;  // that the source defines
  std::set<std::string> pasted_;  // operands of ##; empty if the source does not use it
};

}  // namespace

CheckedSource checked_source(const std::string& kernel, const std::string& source,
                             const Headers& headers) {
  return Check(kernel, headers).run(source);
}

}  // namespace dala
