// Formulas of elementwise kernels. One in many of those that pass the checks is also compiled and
// run: the driver's compiler takes a thousand times as long as everything else.
#include "kernels/elementwise/expression.hpp"

#include <string>

#include "fuzz/targets.hpp"
#include "support/engine_fixture.hpp"

namespace dala::test::fuzz {
namespace {

constexpr uint64_t kCompileOneIn = 512;

// An independent check: outside of parentheses, an accepted formula contains nothing that could end
// it or start something else.
void check_accepted(const std::string& formula) {
  int open = 0;
  for (unsigned char c : formula) {
    if (c < 0x20 || c > 0x7e) finding("a formula with more than plain characters is accepted");
    if (std::string(";{}[]#\"'\\@`$").find(static_cast<char>(c)) != std::string::npos) {
      finding("a formula that is more than an expression is accepted");
    }
    open += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (open < 0) finding("a formula that closes what it did not open is accepted");
  }
  if (open != 0) finding("a formula that does not close its parentheses is accepted");
}

uint64_t hash_of(const std::string& formula) {
  uint64_t hash = 14695981039346656037u;
  for (unsigned char c : formula) hash = (hash ^ c) * 1099511628211u;
  return hash >> 7;
}

void compile(const Descriptor& descriptor, int inputs, const std::vector<std::string>& names) {
  engine().registry().add(descriptor);
  const std::vector<BufferPtr> buffers(static_cast<size_t>(inputs), buffer<float>({0.5F, 2}));
  Params params;
  for (const std::string& name : names) params.emplace(name, 0.25);
  try {
    run(descriptor.name, buffers, zeros(DType::f32, {2}), params);
  } catch (const Error& error) {
    if (error.reason != Reason::build_failed) finding(error.what());
  }
  engine().registry().remove(descriptor.name);
}

}  // namespace

void run_expression(Input text) {
  if (text.empty()) return;
  const auto numbers = std::to_integer<unsigned>(text[0]);
  const int inputs = static_cast<int>(numbers % 6);
  std::vector<std::string> names;
  for (unsigned i = 0; i < numbers / 6 % 6; ++i)
    names.push_back(std::string("abcdef").substr(i, 1));
  const std::string formula(reinterpret_cast<const char*>(text.data()) + 1, text.size() - 1);
  try {
    const Descriptor descriptor = make_pointwise_expression("fuzzed", formula, inputs, names);
    check_accepted(formula);
    if (hash_of(formula) % kCompileOneIn == 0) compile(descriptor, inputs, names);
  } catch (const Error& error) {
    if (error.reason != Reason::invalid_param) finding(error.what());
  }
}

}  // namespace dala::test::fuzz
