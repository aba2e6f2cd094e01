#include "kernels/compose.hpp"

#include <algorithm>

#include "kernels/narrow.hpp"

namespace dala {

Operand add_scratch(Launch& launch, const TensorType& type) {
  launch.scratch.push_back(std::max<size_t>(1, type.bytes()));
  return scratch(static_cast<int>(launch.scratch.size()) - 1);
}

void append_call(Launch& launch, Planner& planner, const Descriptor& kernel,
                 const std::vector<TensorType>& inputs, const TensorType& output,
                 const Params& params, const std::vector<Operand>& sources, Operand target) {
  const Call call = validate(kernel, inputs, output, params);
  const int first = static_cast<int>(launch.scratch.size());
  Launch inner =
      with_operands(kernel.plan(call, planner), [sources, target, first](Operand operand) {
        if (operand.kind == Operand::Kind::input)
          return sources[static_cast<size_t>(operand.index)];
        return operand.kind == Operand::Kind::output ? target : scratch(first + operand.index);
      });
  launch.scratch.insert(launch.scratch.end(), inner.scratch.begin(), inner.scratch.end());
  for (Step& step : inner.steps) launch.steps.push_back(std::move(step));
  launch.work += inner.work;
}

}  // namespace dala
