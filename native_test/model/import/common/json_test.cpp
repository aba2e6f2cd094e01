// The JSON parser: values of every type, and the errors for invalid text.
#include "model/import/common/json.hpp"

#include <doctest/doctest.h>

#include "support/engine_fixture.hpp"

namespace dala::test {
namespace {

using model::Json;

std::string problem_of(const std::string& text) {
  return failure([&] { Json::parse(text); });
}

std::string text_of(const std::string& quoted) { return Json::parse(quoted).text("it"); }

}  // namespace

TEST_CASE("JSON values of every type") {
  const Json json = Json::parse(
      " {\"list\": [1, -2.5e1, 0, 1E+2, 0.5e-1],\t\"yes\":true,\"no\":false,\r\n\"none\":null,"
      "\"\":{}, \"empty\" : [ ]} ");
  const Json::List& list = json.find("list")->list("list");
  REQUIRE(list.size() == 5);
  CHECK(list[0].integer("it") == 1);
  CHECK(list[1].number("it") == -25);
  CHECK(list[2].integer("it") == 0);
  CHECK(list[3].number("it") == 100);
  CHECK(list[4].number("it") == 0.05);
  CHECK(json.find("yes")->boolean("it"));
  CHECK_FALSE(json.find("no")->boolean("it"));
  CHECK(json.find("none")->is_null());
  CHECK(json.find("")->object("it").empty());
  CHECK(json.find("empty")->list("it").empty());
  CHECK(json.find("other") == nullptr);
  CHECK(list[0].find("key") == nullptr);
  // Members keep their order.
  CHECK(json.object("it")[2].first == "no");
}

TEST_CASE("JSON strings with escapes and UTF-8 sequences of every length") {
  CHECK(text_of(R"("a\"\\\/\b\f\n\r\tz")") == "a\"\\/\b\f\n\r\tz");
  CHECK(text_of(R"("\u0041\u00e4\u20AC\ud83d\ude00")") == "A\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
  CHECK(text_of("\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"") ==
        "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
  CHECK(text_of(R"("\u0000")") == std::string(1, '\0'));
}

TEST_CASE("JSON integers are exact, and may be strings") {
  CHECK(Json::parse("\"9223372036854775807\"").integer("it") == INT64_MAX);
  CHECK(Json::parse("\"-12\"").integer("it") == -12);
  CHECK(failure([] { Json::parse("1.5").integer("a size"); }) ==
        "invalid_model: a size is not an integer");
  CHECK(failure([] { Json::parse("1e300").integer("a size"); }) ==
        "invalid_model: a size is not an integer");
  CHECK(failure([] { Json::parse("\"12x\"").integer("a size"); }) ==
        "invalid_model: a size is not an integer");
  CHECK(failure([] { Json::parse("\"99999999999999999999\"").integer("a size"); }) ==
        "invalid_model: a size is not an integer");
}

TEST_CASE("JSON values of an unexpected type") {
  const Json json = Json::parse("[]");
  CHECK(failure([&] { json.text("the name"); }) == "invalid_model: the name is not text");
  CHECK(failure([&] { json.number("it"); }) == "invalid_model: it is not a number");
  CHECK(failure([&] { json.boolean("it"); }) == "invalid_model: it is not true or false");
  CHECK(failure([&] { json.object("it"); }) == "invalid_model: it is not an object");
  CHECK(failure([] { Json().list("it"); }) == "invalid_model: it is not a list");
}

TEST_CASE("JSON errors have an offset") {
  const auto not_json = [](const std::string& problem) {
    return "invalid_model: this is not JSON: " + problem;
  };
  CHECK(problem_of("") == not_json("expected a value at byte 0"));
  CHECK(problem_of("[1, 2") == not_json("expected \",\" or \"]\" at byte 5"));
  CHECK(problem_of("[1,]") == not_json("expected a value at byte 3"));
  CHECK(problem_of("{\"a\":1") == not_json("expected \",\" or \"}\" at byte 6"));
  CHECK(problem_of("{a:1}") == not_json("expected a key at byte 1"));
  CHECK(problem_of("{\"a\" 1}") == not_json("expected \":\" at byte 5"));
  CHECK(problem_of("{\"a\":1,\"a\":2}") == not_json("duplicate key \"a\" at byte 13"));
  CHECK(problem_of("1 2") == not_json("unexpected text after the value at byte 2"));
  CHECK(problem_of("01") == not_json("unexpected text after the value at byte 1"));
  CHECK(problem_of("-") == not_json("expected a value at byte 1"));
  CHECK(problem_of("1.") == not_json("expected a value at byte 2"));
  CHECK(problem_of("1e") == not_json("expected a value at byte 2"));
  CHECK(problem_of("+1") == not_json("expected a value at byte 0"));
  CHECK(problem_of("NaN") == not_json("expected a value at byte 0"));
  CHECK(problem_of("nul") == not_json("expected a value at byte 0"));
  CHECK(problem_of("1e999") == not_json("a number is out of range at byte 5"));
  CHECK(problem_of("\"a") == not_json("unterminated string at byte 2"));
  CHECK(problem_of("\"a\n\"") == not_json("control character in a string at byte 2"));
  CHECK(problem_of(R"("\x")") == not_json("unknown escape in a string at byte 2"));
  CHECK(problem_of("\"\\") == not_json("unknown escape in a string at byte 2"));
  CHECK(problem_of(R"("\u12g4")") == not_json("unknown escape in a string at byte 3"));
  CHECK(problem_of(R"("\u-123")") == not_json("unknown escape in a string at byte 3"));
  CHECK(problem_of(R"("\ud800")") == not_json("unpaired surrogate in a string at byte 7"));
  CHECK(problem_of(R"("\ud800\u0041")") == not_json("unpaired surrogate in a string at byte 13"));
  CHECK(problem_of(R"("\udc00")") == not_json("unpaired surrogate in a string at byte 7"));
  // A truncated sequence, an overlong form, a surrogate, a code point beyond the last one.
  for (const char* bytes : {"\"\xe2\x82\"", "\"\xc0\xaf\"", "\"\xe0\x80\x80\"", "\"\xed\xa0\x80\"",
                            "\"\xf4\x90\x80\x80\"", "\"\x80\"", "\"\xff\"", "\"\xf0\x9f\x98"}) {
    CHECK(problem_of(bytes) == not_json("invalid UTF-8 in a string at byte 1"));
  }
}

TEST_CASE("JSON nesting is limited") {
  CHECK(Json::parse(std::string(64, '[') + std::string(64, ']')).is_list());
  CHECK(problem_of(std::string(66, '[')) ==
        "invalid_model: this is not JSON: nesting deeper than 64 at byte 65");
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
  CHECK(problem_of(objects).find("nesting deeper than 64") != std::string::npos);
}

}  // namespace dala::test
