#include "model/import/common/json.hpp"

#include <charconv>
#include <cmath>
#include <unordered_set>

#include "model/graph/problem.hpp"

namespace dala::model {
namespace {

constexpr int kMaxDepth = 64;

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Json run() {
    Json value = read_value(0);
    skip_space();
    if (at_ < text_.size()) fail("unexpected text after the value");
    return value;
  }

 private:
  [[noreturn]] void fail(std::string_view problem) const {
    reject(dala::text("this is not JSON: ", problem, " at byte ", at_));
  }

  // The next byte, or 0, which never occurs in JSON, at the end.
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void skip_space() {
    while (peek() == ' ' || peek() == '\n' || peek() == '\r' || peek() == '\t') ++at_;
  }

  bool take(char wanted) {
    if (peek() != wanted) return false;
    ++at_;
    return true;
  }

  bool take(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  Json read_value(int depth) {
    if (depth > kMaxDepth) fail(dala::text("nesting deeper than ", kMaxDepth));
    skip_space();
    if (take('{')) return Json(read_object(depth));
    if (take('[')) return Json(read_list(depth));
    if (take('"')) return Json(read_text());
    if (take("true")) return Json(true);
    if (take("false")) return Json(false);
    if (take("null")) return {};
    return Json(read_number());
  }

  Json::List read_list(int depth) {
    Json::List list;
    skip_space();
    if (take(']')) return list;
    do {
      list.push_back(read_value(depth + 1));
      skip_space();
    } while (take(','));
    if (!take(']')) fail("expected \",\" or \"]\"");
    return list;
  }

  Json::Object read_object(int depth) {
    Json::Object object;
    skip_space();
    if (take('}')) return object;
    do {
      skip_space();
      if (!take('"')) fail("expected a key");
      std::string key = read_text();
      skip_space();
      if (!take(':')) fail("expected \":\"");
      object.emplace_back(std::move(key), read_value(depth + 1));
      skip_space();
    } while (take(','));
    if (!take('}')) fail("expected \",\" or \"}\"");
    std::unordered_set<std::string_view> keys;
    for (const auto& [key, value] : object) {
      if (!keys.insert(key).second) fail(dala::text("duplicate key \"", key, "\""));
    }
    return object;
  }

  // One or more digits.
  void skip_digits() {
    if (peek() < '0' || peek() > '9') fail("expected a value");
    while (peek() >= '0' && peek() <= '9') ++at_;
  }

  double read_number() {
    const size_t start = at_;
    take('-');
    if (!take('0')) skip_digits();
    if (take('.')) skip_digits();
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      skip_digits();
    }
    double value = 0;
    const char* const end = text_.data() + at_;
    const auto [stop, problem] = std::from_chars(text_.data() + start, end, value);
    if (problem == std::errc::invalid_argument || stop != end) fail("expected a number");
    // from_chars reports overflow and underflow alike.
    if (problem == std::errc::result_out_of_range) fail("a number is out of range");
    return value;
  }

  std::string read_text() {
    std::string result;
    while (true) {
      if (at_ >= text_.size()) fail("unterminated string");
      const auto byte = static_cast<unsigned char>(text_[at_]);
      if (byte == '"') {
        ++at_;
        return result;
      }
      if (byte < 0x20) fail("control character in a string");
      if (byte == '\\') {
        ++at_;
        read_escape(result);
      } else if (byte < 0x80) {
        result += text_[at_++];
      } else {
        copy_wide(byte, result);
      }
    }
  }

  void read_escape(std::string& result) {
    static constexpr std::string_view kNames = "\"\\/bfnrt";
    static constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    const size_t which = at_ < text_.size() ? kNames.find(text_[at_]) : std::string_view::npos;
    if (which != std::string_view::npos) {
      ++at_;
      result += kMeanings[which];
      return;
    }
    if (!take('u')) fail("unknown escape in a string");
    uint32_t code = read_hex();
    if (code >= 0xdc00 && code < 0xe000) fail("unpaired surrogate in a string");
    if (code >= 0xd800 && code < 0xdc00) {
      const uint32_t low = take("\\u") ? read_hex() : 0;
      if (low < 0xdc00 || low >= 0xe000) fail("unpaired surrogate in a string");
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    append_utf8(code, result);
  }

  uint32_t read_hex() {
    const std::string_view digits = text_.substr(at_, 4);
    uint32_t code = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stop, problem] = std::from_chars(digits.data(), end, code, 16);
    if (digits.size() < 4 || stop != end || problem != std::errc()) {
      fail("unknown escape in a string");
    }
    at_ += 4;
    return code;
  }

  static void append_utf8(uint32_t code, std::string& result) {
    const auto tail = [&](int shift) {
      result += static_cast<char>(0x80 | ((code >> shift) & 0x3f));
    };
    if (code < 0x80) {
      result += static_cast<char>(code);
    } else if (code < 0x800) {
      result += static_cast<char>(0xc0 | (code >> 6));
      tail(0);
    } else if (code < 0x10000) {
      result += static_cast<char>(0xe0 | (code >> 12));
      tail(6);
      tail(0);
    } else {
      result += static_cast<char>(0xf0 | (code >> 18));
      tail(12);
      tail(6);
      tail(0);
    }
  }

  // A multi-byte UTF-8 sequence. Overlong forms and surrogates are rejected.
  void copy_wide(unsigned char first, std::string& result) {
    const size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    const std::string_view bytes = text_.substr(at_, size);
    bool valid = first >= 0xc2 && first <= 0xf4 && bytes.size() == size;
    for (size_t i = 1; valid && i < size; ++i) {
      const auto byte = static_cast<unsigned char>(bytes[i]);
      const unsigned lowest = i > 1 ? 0x80 : first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
      const unsigned highest = i > 1 ? 0xbf : first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
      valid = byte >= lowest && byte <= highest;
    }
    if (!valid) fail("invalid UTF-8 in a string");
    result += bytes;
    at_ += size;
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

Json Json::parse(std::string_view text) { return Parser(text).run(); }

template <typename T>
const T& Json::as(std::string_view what, std::string_view kind) const {
  if (const T* value = std::get_if<T>(&value_)) return *value;
  reject(dala::text(what, " is not ", kind));
}

bool Json::boolean(std::string_view what) const { return as<bool>(what, "true or false"); }

double Json::number(std::string_view what) const { return as<double>(what, "a number"); }

int64_t Json::integer(std::string_view what) const {
  if (const auto* written = std::get_if<std::string>(&value_)) {
    int64_t value = 0;
    const char* const end = written->data() + written->size();
    const auto [stop, problem] = std::from_chars(written->data(), end, value);
    if (stop == end && problem == std::errc()) return value;
  }
  constexpr double kExact = 9007199254740992;  // 2^53
  const double* value = std::get_if<double>(&value_);
  if (value == nullptr || *value != std::trunc(*value) || std::fabs(*value) > kExact) {
    reject(dala::text(what, " is not an integer"));
  }
  return static_cast<int64_t>(*value);
}

const std::string& Json::text(std::string_view what) const { return as<std::string>(what, "text"); }

const Json::List& Json::list(std::string_view what) const { return as<List>(what, "a list"); }

const Json::Object& Json::object(std::string_view what) const {
  return as<Object>(what, "an object");
}

const Json* Json::find(std::string_view key) const {
  const auto* members = std::get_if<Object>(&value_);
  if (members == nullptr) return nullptr;
  for (const auto& [name, value] : *members) {
    if (name == key) return &value;
  }
  return nullptr;
}

const Json& Json::at(std::string_view key, std::string_view owner) const {
  if (const Json* found = find(key)) return *found;
  reject(dala::text(owner, " has no \"", key, "\""));
}

}  // namespace dala::model
