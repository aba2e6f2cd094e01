#include "kernels/custom/source_lexer.hpp"

#include <cctype>
#include <string_view>
#include <utility>

namespace dala {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\r'; }

bool is_letter(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return std::isalnum(byte) != 0 || c == '_' || c == '$' || byte >= 0x80;
}

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

class Lexer {
 public:
  explicit Lexer(const std::string& source) {
    int line = 1;
    for (size_t i = 0; i < source.size();) {
      if (const size_t joined = continued(source, i); joined > 0) {
        i += joined;
        ++line;
        continue;
      }
      text_ += source[i];
      places_.emplace_back(i, line);
      if (source[i++] == '\n') ++line;
    }
    places_.emplace_back(source.size(), line);
  }

  std::vector<SourceToken> run() {
    bool first = true;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        first = true;
        ++at_;
      } else if (is_blank(c)) {
        ++at_;
      } else if (!skip_comment()) {
        take(first);
        first = false;
      }
    }
    return std::move(tokens_);
  }

 private:
  // The length of a line continuation at this position, 0 if there is none. Compilers accept blanks
  // between the backslash and the end of the line.
  static size_t continued(const std::string& source, size_t at) {
    if (source[at] != '\\') return 0;
    size_t end = at + 1;
    while (end < source.size() && is_blank(source[end])) ++end;
    return end < source.size() && source[end] == '\n' ? end + 1 - at : 0;
  }

  char peek(size_t ahead) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  bool skip_comment() {
    if (peek(0) != '/') return false;
    if (peek(1) == '/') {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      return true;
    }
    if (peek(1) != '*') return false;
    const size_t end = text_.find("*/", at_ + 2);
    at_ = end == std::string::npos ? text_.size() : end + 2;
    return true;
  }

  void take(bool first) {
    SourceToken token;
    token.line = places_[at_].second;
    token.first = first;
    token.begin = places_[at_].first;
    const size_t start = at_;
    const char c = text_[at_];
    if (c == '"' || c == '\'') {
      token.kind = SourceToken::Kind::text;
      take_text(c);
    } else if (is_digit(c) || (c == '.' && is_digit(peek(1)))) {
      token.kind = SourceToken::Kind::number;
      take_number();
    } else if (is_letter(c)) {
      token.kind = SourceToken::Kind::word;
      while (at_ < text_.size() && is_letter(text_[at_])) ++at_;
    } else {
      token.spelling = take_punctuator();
    }
    if (token.kind != SourceToken::Kind::punctuator)
      token.spelling = text_.substr(start, at_ - start);
    token.end = places_[at_].first;
    tokens_.push_back(std::move(token));
  }

  // Consumes up to the closing quote, or to the end of the line if the quote is missing.
  void take_text(char quote) {
    for (++at_; at_ < text_.size() && text_[at_] != '\n'; ++at_) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) {
        ++at_;
      } else if (text_[at_] == quote) {
        ++at_;
        return;
      }
    }
  }

  void take_number() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      const char before = at_ > 0 ? text_[at_ - 1] : ' ';
      const bool sign =
          (c == '+' || c == '-') && std::string_view("eEpP").find(before) != std::string_view::npos;
      if (!is_letter(c) && c != '.' && !sign) return;
      ++at_;
    }
  }

  std::string take_punctuator() {
    static constexpr std::pair<std::string_view, std::string_view> kSpellings[] = {
        {"%:%:", "##"}, {"##", "##"}, {"%:", "#"}, {"<:", "["},
        {":>", "]"},    {"<%", "{"},  {"%>", "}"}};
    const std::string_view rest = std::string_view(text_).substr(at_);
    for (const auto& [spelling, meaning] : kSpellings) {
      if (!rest.starts_with(spelling)) continue;
      at_ += spelling.size();
      return std::string(meaning);
    }
    return std::string(1, text_[at_++]);
  }

  std::string text_;                            // with continued lines joined
  std::vector<std::pair<size_t, int>> places_;  // offset and line of each character in the source
  size_t at_ = 0;
  std::vector<SourceToken> tokens_;
};

}  // namespace

std::vector<SourceToken> tokens_of(const std::string& source) { return Lexer(source).run(); }

SourceLines lines_of(const std::vector<SourceToken>& tokens) {
  SourceLines lines;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (!tokens[i].first || !tokens[i].is("#")) {
      lines.code.push_back(tokens[i]);
      continue;
    }
    const size_t begin = tokens[i].begin;
    std::vector<SourceToken>& directive = lines.directives.emplace_back();
    while (i + 1 < tokens.size() && !tokens[i + 1].first) directive.push_back(tokens[++i]);
    if (!directive.empty()) directive.front().begin = begin;
  }
  return lines;
}

}  // namespace dala
