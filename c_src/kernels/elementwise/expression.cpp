#include "kernels/elementwise/expression.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "kernels/checks.hpp"
#include "kernels/element.hpp"
#include "kernels/elementwise/pointwise.hpp"

namespace dala {
namespace {

constexpr const char* kInputNames[] = {"x", "y", "z", "w"};

// Compilers recurse into an expression, so each level of nesting takes stack, and the size of the
// generated code grows with the length of the text.
constexpr size_t kMaxCharacters = 4096;
constexpr int kMaxNesting = 64;  // of parentheses
constexpr int kMaxPrefix = 16;   // consecutive prefix operators

[[noreturn]] void reject(const std::string& kernel, const std::string& problem) {
  throw Error(Reason::invalid_param, text("the expression of ", kernel, " ", problem));
}

bool is_identifier(const std::string& name) {
  const auto plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
         std::all_of(name.begin(), name.end(), plain);
}

void check_nesting(const std::string& kernel, const std::string& expression) {
  int open = 0;
  int prefix = 0;
  for (char c : expression) {
    open += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (open < 0) break;
    if (open > kMaxNesting) {
      reject(kernel, text("nests parentheses more than ", kMaxNesting, " levels deep"));
    }
    if (c == ' ') continue;
    prefix = std::string_view("+-!~&*").find(c) == std::string_view::npos ? 0 : prefix + 1;
    if (prefix > kMaxPrefix) {
      reject(kernel, text("has more than ", kMaxPrefix, " prefix operators in a row"));
    }
  }
  if (open != 0) reject(kernel, "has unbalanced parentheses");
}

// Rejects statements, blocks, directives, strings, comments and pointers, as well as parentheses
// that close what the text did not open.
void check_expression(const std::string& kernel, const std::string& expression) {
  if (expression.size() > kMaxCharacters) {
    reject(kernel, text("has ", expression.size(), " characters, at most ", kMaxCharacters,
                        " are allowed"));
  }
  if (std::all_of(expression.begin(), expression.end(),
                  [](unsigned char c) { return std::isspace(c) != 0; })) {
    reject(kernel, "is empty");
  }
  for (unsigned char c : expression) {
    if (c < 0x20 || c > 0x7e) reject(kernel, "must be one line of plain ASCII");
    if (std::string(";{}[]#\"'\\@`$").find(static_cast<char>(c)) != std::string::npos) {
      reject(kernel, text("must not contain ", static_cast<char>(c)));
    }
  }
  // The last three are pointer casts and names reserved for the compiler; the others are comments
  // and alternative spellings of the characters above.
  for (const char* piece : {"//", "/*", "??", "%:", "<%", "%>", "<:", ":>", "*)", "* )", "__"}) {
    if (expression.find(piece) != std::string::npos) {
      reject(kernel, text("must not contain ", piece));
    }
  }
  check_nesting(kernel, expression);
}

void check_names(const std::string& kernel, const std::vector<std::string>& params) {
  for (size_t i = 0; i < params.size(); ++i) {
    const std::string& name = params[i];
    if (!is_identifier(name)) {
      throw Error(Reason::invalid_param,
                  text("parameter names of ", kernel, " must be C identifiers, got ", name));
    }
    const bool input =
        std::find(std::begin(kInputNames), std::end(kInputNames), name) != std::end(kInputNames);
    if (input || std::find(params.begin(), params.begin() + static_cast<std::ptrdiff_t>(i), name) !=
                     params.begin() + static_cast<std::ptrdiff_t>(i)) {
      throw Error(Reason::invalid_param, text("the parameter name ", name, " of ", kernel,
                                              " is taken by an input or another parameter"));
    }
  }
}

// Whether a name is followed by a parenthesis.
bool calls_function(const std::string& expression) {
  char before = ' ';
  for (unsigned char c : expression) {
    if (c == '(' && (std::isalnum(static_cast<unsigned char>(before)) != 0 || before == '_')) {
      return true;
    }
    if (std::isspace(c) == 0) before = static_cast<char>(c);
  }
  return false;
}

// static inline T NAME(T x, T scale) { return (T)(x * scale); }
std::string function_source(const std::string& expression, int inputs,
                            const std::vector<std::string>& params) {
  std::vector<std::string> arguments;
  for (int i = 0; i < inputs; ++i) arguments.push_back(text("T ", kInputNames[i]));
  for (const std::string& param : params) arguments.push_back("T " + param);
  return text("static inline T NAME(", join(arguments, ", "), ") {\n  return (T)(", expression,
              ");\n}\n");
}

// Several expressions may be fused into one kernel, so the name of each contains a hash of its
// source.
std::string function_name(const std::string& source, DType dtype) {
  uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (unsigned char c : source) hash = (hash ^ c) * 1099511628211u;
  return text("expression_", hash, "_", to_string(dtype));
}

// The function of a type by its name, and for f16 and bf16 the one of floats that it calls.
std::vector<Part> function_parts(const std::string& source, size_t arguments, DType dtype) {
  const DType computed = computed_type(dtype);
  Part part{"", element_defines(computed), source, true};
  part.defines.emplace_back("NAME", function_name(source, computed));
  if (!is_narrow_float(dtype)) return {part};
  return {part, narrow_function(function_name(source, dtype), function_name(source, computed),
                                static_cast<int>(arguments), false, dtype)};
}

// Literals such as 0.5 have the precision of the kernel.
std::string options_for(DType dtype) {
  return dtype == DType::f64 ? "" : "-cl-single-precision-constant";
}

std::vector<Value> values_of(const Call& call, const std::vector<std::string>& params) {
  std::vector<Value> values;
  for (const std::string& param : params) values.push_back(call.element(param, call.output.dtype));
  return values;
}

}  // namespace

Descriptor make_pointwise_expression(const std::string& name, const std::string& expression,
                                     int inputs, const std::vector<std::string>& params) {
  check_expression(name, expression);
  check_names(name, params);
  if (inputs < 1 || inputs > kMaxInputs) {
    throw Error(Reason::invalid_param,
                text(name, " takes 1 to ", kMaxInputs, " inputs, got ", inputs));
  }
  if (params.size() > 4) {
    throw Error(Reason::invalid_param,
                text(name, " takes at most 4 parameters, got ", params.size()));
  }

  Descriptor descriptor;
  descriptor.name = name;
  descriptor.summary = expression;
  descriptor.inputs = inputs;
  descriptor.dtypes = kAllFloatDTypes;
  descriptor.output_rule = "the inputs' element type, a shape that they broadcast to";
  for (const std::string& param : params) {
    ParamSpec spec;
    spec.name = param;
    spec.kind = ParamSpec::Kind::element;
    spec.required = true;
    descriptor.params.push_back(std::move(spec));
  }
  descriptor.custom = true;
  descriptor.check = [name](const Call& call) {
    need_same_inputs(name, call);
    need_output_dtype(name, call, {call.inputs[0].dtype});
    need_broadcast(name, call);
  };
  const std::string source = function_source(expression, inputs, params);
  descriptor.plan = [name, params, source](const Call& call, Planner& planner) {
    planner.need_arithmetic(name, call);
    const DType dtype = call.output.dtype;
    const auto program_source = [&] {
      const std::vector<DType> types(call.inputs.size(), dtype);
      ProgramSource result{{}, {{"common/fp_contract_off.h"}}};
      for (Part& part : function_parts(source, types.size() + params.size(), dtype)) {
        result.parts.push_back(std::move(part));
      }
      result.parts.push_back(pointwise_part(planner, "run_expression", function_name(source, dtype),
                                            types, dtype, static_cast<int>(params.size())));
      return result;
    };
    const Entry entry{planner.program(text("expression ", to_string(dtype), "\n", source),
                                      program_source, options_for(dtype)),
                      "run_expression"};
    return pointwise_launch(planner, entry, call,
                            broadcast_layout(name, call.inputs, call.output.shape),
                            values_of(call, params));
  };
  descriptor.body = [params, source, heavy = calls_function(expression)](const Call& call,
                                                                         const Planner&) {
    const DType dtype = call.output.dtype;
    Body body = pointwise_body(call, function_name(source, dtype),
                               function_parts(source, call.inputs.size() + params.size(), dtype),
                               values_of(call, params));
    body.heavy = heavy;
    body.options = options_for(dtype);
    return body;
  };
  return descriptor;
}

}  // namespace dala
