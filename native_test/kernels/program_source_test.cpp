#include "kernels/program_source.hpp"

#include <doctest/doctest.h>

#include <stdexcept>

#include "kernels/embedded_sources.hpp"
#include "support/engine_fixture.hpp"

namespace dala {
namespace {

std::string assembled(const SourceFiles& files, const std::vector<Part>& parts,
                      const Defines& defines = {}) {
  return assemble({defines, parts}, files);
}

TEST_CASE("an included file stands in place of its line, and #line says where from") {
  const SourceFiles files{{"a.cl", "// a\n#include \"kernels/b.h\"\nint a;\n"},
                          {"b.h", "// b\n#pragma once\n\nint b;"}};
  CHECK(assembled(files, {{"a.cl"}}) ==
        "#line 1 \"kernels/a.cl\"\n"
        "// a\n"
        "#line 1 \"kernels/b.h\"\n"
        "// b\n"
        "\n"
        "\n"
        "int b;\n"
        "#line 3 \"kernels/a.cl\"\n"
        "int a;\n");
}

TEST_CASE("a file that says #pragma once is in a program once, a template as often as included") {
  const SourceFiles files{{"once.h", "#pragma once\nint once;\n"},
                          {"template.cl", "#include \"kernels/once.h\"\nint NAME;\n"}};
  const std::string source = assembled(
      files, {{"template.cl", {{"NAME", "x"}}}, {"template.cl", {{"NAME", "y"}}}}, {{"T", "int"}});
  CHECK(source ==
        "#define T int\n"
        "#define NAME x\n"
        "#line 1 \"kernels/template.cl\"\n"
        "#line 1 \"kernels/once.h\"\n"
        "\n"
        "int once;\n"
        "#line 2 \"kernels/template.cl\"\n"
        "int NAME;\n"
        "#undef NAME\n"
        "#define NAME y\n"
        "#line 1 \"kernels/template.cl\"\n"
        "#line 2 \"kernels/template.cl\"\n"
        "int NAME;\n"
        "#undef NAME\n");
}

TEST_CASE("a file that was included under a condition is guarded where it comes again") {
  const SourceFiles files{{"once.h", "#pragma once\nint once;\n"},
                          {"a.cl",
                           "#if A\n"
                           "#include \"kernels/once.h\"\n"
                           "#if B\n"
                           "#include \"kernels/once.h\"\n"
                           "#endif\n"
                           "#else\n"
                           "#include \"kernels/once.h\"\n"
                           "#endif\n"
                           "#include \"kernels/once.h\"\n"
                           "#include \"kernels/once.h\"\n"}};
  const std::string guarded =
      "#ifndef INCLUDED_once_h\n"
      "#define INCLUDED_once_h\n"
      "#line 1 \"kernels/once.h\"\n"
      "\n"
      "int once;\n"
      "#endif\n";
  CHECK(assembled(files, {{"a.cl"}}) ==
        "#line 1 \"kernels/a.cl\"\n"
        "#if A\n" +
            guarded +
            "#line 3 \"kernels/a.cl\"\n"
            "#if B\n"
            "#line 5 \"kernels/a.cl\"\n"
            "#endif\n"
            "#else\n" +
            guarded +
            "#line 8 \"kernels/a.cl\"\n"
            "#endif\n" +
            guarded +
            "#line 10 \"kernels/a.cl\"\n"
            "#line 11 \"kernels/a.cl\"\n");
}

TEST_CASE("headers in angle brackets are left to the preprocessor") {
  const SourceFiles files{{"a.h", "#ifdef __cplusplus\n#include <array>\n#endif\n"}};
  CHECK(assembled(files, {{"a.h"}}) ==
        "#line 1 \"kernels/a.h\"\n"
        "#ifdef __cplusplus\n"
        "#include <array>\n"
        "#endif\n");
}

TEST_CASE("generated code is left as it is, its #include lines included") {
  CHECK(assembled({}, {{"", {}, "#include \"mine.h\""}}) == "#include \"mine.h\"\n");
  CHECK(assembled({}, {{"", {{"A", "1"}}, "int a;"}}) ==
        "#define A 1\n"
        "#line 1 \"generated\"\n"
        "int a;\n"
        "#undef A\n");
}

TEST_CASE("what no program can be made of is a mistake in this library") {
  const SourceFiles files{{"missing.cl", "#include \"kernels/nowhere.h\"\n"},
                          {"elsewhere.cl", "#include \"missing.cl\"\n"},
                          {"itself.cl", "#include \"kernels/itself.cl\"\n"},
                          {"open.cl", "#if A\n"}};
  const auto problem = [&files](const char* file) -> std::string {
    try {
      assembled(files, {{file}});
    } catch (const std::logic_error& error) {
      return error.what();
    }
    return "";
  };
  CHECK(problem("nowhere.cl") == "no kernel source nowhere.cl");
  CHECK(problem("missing.cl") == "no kernel source nowhere.h");
  CHECK(problem("elsewhere.cl") ==
        "elsewhere.cl includes \"missing.cl\", expected a path that begins with kernels/");
  CHECK(problem("itself.cl") == "itself.cl includes itself");
  CHECK(problem("open.cl") == "open.cl has #if and #endif that do not match");
}

// Templates do not compile alone, but every include in them has to lead somewhere.
TEST_CASE("every embedded file can be assembled") {
  CHECK(embedded_sources().size() > 100);
  for (const auto& source : embedded_sources()) {
    const std::string path(source.first);
    CAPTURE(path);
    CHECK_NOTHROW(assembled(embedded_sources(), {{path}}));
  }
}

TEST_CASE("the driver's messages name our files and lines") {
  const SourceFiles files{
      {"good.h", "#pragma once\n\n\nfloat half_of(float x) { return x / 2; }\n"},
      {"bad.cl",
       "#include \"kernels/good.h\"\n\n__kernel void bad(__global float* x) { *x = half_of(y); "
       "}\n"}};
  const auto program =
      test::engine().runtime().programs().get(assembled(files, {{"bad.cl"}}), "-cl-std=CL1.2");
  std::string log;
  try {
    program->build();
  } catch (const Error& error) {
    log = error.what();
  }
  CHECK(log.find("kernels/bad.cl:3:") != std::string::npos);
}

}  // namespace
}  // namespace dala
