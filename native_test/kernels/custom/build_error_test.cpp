#include "kernels/custom/build_error.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

using namespace dala;

namespace {

Error failed(const std::string& log) {
  return {Reason::build_failed, "the OpenCL C source does not compile:\n" + log, {{"log", log}}};
}

int64_t number(const Error& error, const std::string& name) {
  for (const auto& [key, value] : error.details) {
    if (key == name) return std::get<int64_t>(value);
  }
  return -1;
}

}  // namespace

TEST_CASE("places of errors as drivers write them") {
  const auto first = [](const std::string& log) {
    const BuildError error = first_error(log);
    return std::to_string(error.line) + "," + std::to_string(error.column) + "," + error.message;
  };
  CHECK(first("error: /tmp/x-12:3/tempfile.cl:9:34: use of 'y'\n") == "9,34,use of 'y'");
  CHECK(first("<kernel>:4:2: error: expected ';'\n  x\n") == "4,2,expected ';'");
  CHECK(first("7:15: error: no: such: name") == "7,15,no: such: name");
  CHECK(first("input.cl:3:1: warning: unused\ninput.cl:8:2: error: broken\n") == "8,2,broken");
  CHECK(first("error: the device is gone") == "0,0,");
  CHECK(first("") == "0,0,");
  CHECK(first("x.cl:99999999999:1: error: far") == "0,0,");
  CHECK(first_error("a:1:1: error: x\na:2:1: error: y\na:3:1: error: z\n").more == 2);
}

TEST_CASE("an error has the line of the source, and a mark below its place") {
  const CheckedSource source = checked_source("k", "int a;\n\tint b = c;\n", {});
  const Error error = located(failed("x.cl:2:10: error: no c"), "k", source);
  CHECK(error.reason == Reason::build_failed);
  CHECK(error.message ==
        "line 2 of the source of k does not compile: no c\n"
        "    \tint b = c;\n"
        "    \t        ^");
  CHECK(number(error, "line") == 2);
  CHECK(number(error, "column") == 10);
  CHECK(located(failed("x:1:1: error: a\nx:2:1: error: b"), "k", source)
            .message.ends_with("\n1 more error is in details.log"));
}

TEST_CASE("lines are those that the user wrote, also with headers") {
  const Headers headers{{"a.h", "// first\n#include \"b.h\"\nint in_a;\n"}, {"b.h", "int in_b;"}};
  const CheckedSource source =
      checked_source("k", "int one;\n#include \"a.h\"\nint three;\n", headers);
  // The place of each name in the text that the compiler gets.
  const auto place = [&source](const std::string& name) {
    const size_t at = source.text.find(name);
    const auto line = 1 + std::count(source.text.begin(), source.text.begin() + at, '\n');
    return located(failed("x:" + std::to_string(line) + ":5: error: bad"), "k", source).message;
  };
  CHECK(place("one").starts_with("line 1 of the source of k does not compile: bad\n    int one;"));
  CHECK(place("three").starts_with("line 3 of the source of k does not compile"));
  CHECK(place("in_a").starts_with("line 3 of the header a.h of k does not compile"));
  CHECK(place("in_b").starts_with("line 1 of the header b.h of k does not compile"));
}

TEST_CASE("an error of an expression has the expression") {
  const Error error =
      located_in_expression(failed("error: generated:2:17: no foo"), "f", "x * foo", 13);
  CHECK(error.message ==
        "the expression of f does not compile: no foo\n"
        "    x * foo\n"
        "        ^");
}

TEST_CASE("an error without a place, or of another kind, stays as it is") {
  const CheckedSource source = checked_source("k", "int a;\n", {});
  CHECK(located(failed("the device is gone"), "k", source).message ==
        "the OpenCL C source does not compile:\nthe device is gone");
  CHECK(located(failed("x:99:1: error: far"), "k", source).message.starts_with("the OpenCL C"));
  CHECK(located({Reason::no_device, "none"}, "k", source).message == "none");
  CHECK(located_in_expression(failed("x:2:1: error: far"), "f", "x", 13)
            .message.starts_with("the OpenCL C"));
}
