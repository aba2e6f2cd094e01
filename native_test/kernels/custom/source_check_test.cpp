#include "kernels/custom/source_check.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "kernels/custom/source_lexer.hpp"
#include "support/engine_fixture.hpp"

using namespace dala;

namespace {

std::string checked(const std::string& source, const Headers& headers = {}) {
  return checked_source("k", source, headers).text;
}

std::string refusal_of(const std::string& source, const Headers& headers = {}) {
  const Error error = test::must_fail([&] { checked(source, headers); });
  CHECK(error.reason == Reason::invalid_param);
  return error.message;
}

std::string spelled(const std::string& source) {
  std::string result;
  for (const SourceToken& token : tokens_of(source)) result += token.spelling + "|";
  return result;
}

}  // namespace

TEST_CASE("tokens: comments, texts, continued lines, digraphs, numbers") {
  CHECK(spelled("a/* b */c// d\ne") == "a|c|e|");
  CHECK(spelled("\"a // \\\" b\" 'c'") == "\"a // \\\" b\"|'c'|");
  CHECK(spelled("__a\\\nsm__ b") == "__asm__|b|");
  CHECK(spelled("__a\\ \t\nsm__") == "__asm__|");
  CHECK(spelled("%:define a%:%:b<:0:>") == "#|define|a|##|b|[|0|]|");
  CHECK(spelled("1.5e-3f+.5") == "1.5e-3f|+|.5|");
  CHECK(spelled("/* open") == "");
  const auto tokens = tokens_of("a\n\\\n\nb");
  CHECK(tokens[1].line == 4);
  CHECK(tokens[1].first);
}

TEST_CASE("usual constructs of kernels pass") {
  // NOLINTNEXTLINE(bugprone-suspicious-missing-comma): sources of several lines
  const std::vector<std::string> sources = {
      "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
      "__attribute__((reqd_work_group_size(8, 8, 1))) __kernel void k(__global int* output) {}",
      "#define MAKE(T) T twice_##T(T x) { return x + x; }\nMAKE(float) MAKE(int)\n"
      "float twice_float(float x);",
      "float f(float x);\nfloat g(float x) { return f(x); }\nfloat f(float x) { return x; }",
      "typedef float real;\n__constant float pi = sqrt(9.0f);\nstruct p { float x; } ;",
      "void k(void) {\n#pragma unroll 4\nfor (int i = 0; i < 4; ++i) { int asmx = i; } }",
      "typedef uchar b16 __attribute__((ext_vector_type(16), aligned(1)));",
      "// asm and #include \"x.h\"\n/* __attribute__((constructor)) */ __constant char s[] = "
      "\"asm\";",
      "__attribute__((overloadable)) float f(float x) __attribute__((always_inline)) { return x; }",
      "int bits(int x) { return __builtin_popcount(x); }",
  };
  for (const std::string& source : sources) {
    CAPTURE(source);
    CHECK(checked(source) == source);
  }
}

TEST_CASE("constructs that a kernel does not need are refused with their line") {
  CHECK(refusal_of("int a;\n  __asm__(\"nop\");") ==
        "line 2 of the source of k has __asm__, which is not allowed");
  CHECK(refusal_of("__attribute__((constructor)) void f(void) {}") ==
        "line 1 of the source of k has the attribute constructor, which is not allowed");
  CHECK(refusal_of("#pragma clang attribute push") ==
        "line 1 of the source of k has #pragma clang attribute, which is not allowed");
  CHECK(refusal_of("\n#embed \"/etc/passwd\"") ==
        "line 2 of the source of k has the directive #embed, which is not allowed");
  CHECK(refusal_of("int system(__constant char* command);") ==
        "line 1 of the source of k declares system, which the source does not define");
  CHECK(refusal_of(std::string("int a;\0int b;", 13)) ==
        "line 1 of the source of k has a zero byte, at which compilers stop");
  CHECK(refusal_of("int a;\n?\?=include \"x\"") ==
        "line 2 of the source of k has the trigraph ?\?=");
  CHECK(refusal_of(std::string((1 << 20) + 1, ' ')) ==
        "the source of k has 1048577 bytes, at most 1048576 are allowed");
}

TEST_CASE("refused constructs are found in every spelling") {
  const std::vector<std::string> sources = {
      "__as\\\nm__(\"nop\");",
      "#define A __asm__\nA(\"nop\");",
      "#define A(x, y) x ## y\nA(__as, m__)(\"nop\");",
      "#define A(x, y, z) x ## y ## z\nA(__a, s, m)(\"nop\");",
      "#define A __attribute__\nA((constructor)) void f(void) {}",
      "#define A(x) __attribute__((x))\nA(constructor) void f(void) {}",
      "#define aligned constructor\n__attribute__((aligned)) void f(void) {}",
      "__attribute__((aligned(4), __destructor__)) void f(void) {}",
      "__attribute__((aligned(4))) __attribute__((section(\".init_array\"))) int x;",
      "[[gnu::constructor]] void f(void) {}",
      "<:<:gnu::constructor:>:> void f(void) {}",
      "_Pragma(\"clang attribute push\")",
      "#if __has_include(\"/etc/passwd\")\n#endif",
      "%:import \"x\"",
      "#include_next <stdio.h>",
      "#/* */include\\\n MACRO",
      "void f(void) { __builtin_trap(); }",
      "#define A(x) __builtin_##x\nvoid f(void) { A(trap)(); }",
      "# 1 \"/etc/passwd\" 3",
      "int f(int) __attribute__((overloadable));",
      "#define A __attribute__((aligned(\n__attribute__((constructor)) void f(void) {}",
  };
  for (const std::string& source : sources) {
    CAPTURE(source);
    refusal_of(source);
  }
}

TEST_CASE("the cost of the check is bounded") {
  std::string many;
  for (int i = 0; i < 60'000; ++i) many += "__attribute__((a(";
  CHECK(refusal_of(many) == "line 1 of the source of k has the attribute a, which is not allowed");
  std::string unclosed;
  for (int i = 0; i < 60'000; ++i) unclosed += "__attribute__((";
  CHECK(refusal_of(unclosed).find("attribute") != std::string::npos);
  std::string letters = "#define A a##b\n";
  for (int i = 1; i < 200; ++i) letters += std::string(static_cast<size_t>(i), 'a') + " ";
  refusal_of(letters + "int " + std::string(200, 'a') + "c(int);");
  Headers headers;
  for (int i = 0; i < 15; ++i) {
    std::string& header = headers["h" + std::to_string(i)];
    for (int k = 0; k < 100; ++k) header += "#include <h" + std::to_string(i + 1) + ">\n";
  }
  headers["h15"] = "";
  CHECK(refusal_of("#include <h0>", headers).find("includes more than 1000 headers") !=
        std::string::npos);
}

TEST_CASE("headers are inserted where they are included, and files are not read") {
  const Headers headers = {{"a.h", "#include <b.h>\nint a;"},
                           {"b.h", "#pragma once\nint b;"},
                           {"loop.h", "#include \"loop.h\"\n"}};
  const std::string whole =
      checked("#include \"a.h\"\n%:  include /* too */ \"b.h\" // here\nint c;", headers);
  CHECK(spelled(whole) == "#|pragma|once|int|b|;|int|a|;|int|c|;|");
  CHECK(refusal_of("#include \"c.h\"", headers) ==
        "line 1 of the source of k includes c.h, which is not one of its headers: files are not "
        "read; pass its text with headers: %{\"c.h\" => text}");
  CHECK(refusal_of("#define H \"a.h\"\n#include H", headers) ==
        "line 2 of the source of k includes H, which is not the name of a header");
  CHECK(refusal_of("#include \"loop.h\"", headers) ==
        "line 1 of the header loop.h of k includes loop.h more than 16 levels deep");
  CHECK(refusal_of("#include \"bad.h\"", {{"bad.h", "__asm__(\"nop\");"}}) ==
        "line 1 of the header bad.h of k has __asm__, which is not allowed");
}
