// The tokens of OpenCL C as the preprocessor sees them before macro expansion: continued lines are
// joined, comments are removed, digraphs have their usual spelling.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace dala {

struct SourceToken {
  enum class Kind { word, number, text, punctuator };
  Kind kind = Kind::punctuator;
  std::string spelling;  // text includes its quotes; a punctuator is one character, or "##"
  int line = 1;
  bool first = false;  // of its line
  size_t begin = 0;    // offset in the source
  size_t end = 0;

  bool is(const char* other) const { return kind != Kind::text && spelling == other; }
};

std::vector<SourceToken> tokens_of(const std::string& source);

// The preprocessor directives, and all other tokens.
struct SourceLines {
  // Without the #, but the first token of each has the offset of the #.
  std::vector<std::vector<SourceToken>> directives;
  std::vector<SourceToken> code;
};

SourceLines lines_of(const std::vector<SourceToken>& tokens);

}  // namespace dala
