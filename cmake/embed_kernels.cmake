# Turns the OpenCL sources into one C++ file that defines dala::embedded_sources().
#
#   cmake -DROOT=<c_src/kernels> -DLIST=<file> -DOUTPUT=<file.cpp> -P embed_kernels.cmake
#
# LIST names one source per line, relative to ROOT. Every byte is written as a
# hex escape, in many short adjacent literals: no byte sequence in a kernel can
# end the literal, and no compiler's limit on the length of one is met.

file(STRINGS "${LIST}" names)

set(entries "")
foreach(name IN LISTS names)
  file(READ "${ROOT}/${name}" hex HEX)
  string(LENGTH "${hex}" digits)
  math(EXPR size "${digits} / 2")

  # CMake's regular expressions have no counted repetition, hence the 64 dots.
  string(REPEAT "." 64 line)
  string(REGEX REPLACE "(${line})" "\\1\n" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" text "${hex}")
  string(REGEX REPLACE "\n$" "" text "${text}")
  string(REPLACE "\n" "\"\n     \"" text "${text}")

  # The size is given because a zero byte would otherwise end the view.
  string(APPEND entries "    {\"${name}\",\n     {\"${text}\",\n      ${size}}},\n")
endforeach()

set(content "// Generated from the .cl and .h files under c_src/kernels. Do not edit.
#include \"kernels/embedded_sources.hpp\"

namespace dala {

const SourceFiles& embedded_sources() {
  static const SourceFiles sources = {
${entries}  };
  return sources;
}

}  // namespace dala
")

file(WRITE "${OUTPUT}" "${content}")
