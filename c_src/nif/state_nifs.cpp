// States of models. Uses of one state follow each other in the order of the calls: each has a line
// of its own in the queue of predictions.
#include "model/state.hpp"
#include "nif/codec/codec.hpp"
#include "nif/resource/prediction.hpp"

namespace dala::nif {
namespace {

using model::PredictionQueue;
using model::State;

using StatePtr = std::shared_ptr<State>;

// The lines of processes have odd numbers, the bits of their pids; an address is even.
uint64_t line_of(const StatePtr& state) { return reinterpret_cast<uintptr_t>(state.get()); }

std::vector<uint64_t> numbers_of(const std::vector<size_t>& indices) {
  return {indices.begin(), indices.end()};
}

}  // namespace

void StateResource::destructor(ErlNifEnv*) { Instance::get().let_go(std::move(state)); }

// `pairs` are the names of outputs and inputs, none for those of the file; `names` are the inputs
// whose first values are `values`. Gives `{:ok, state, given, returned}`, with the indices of the
// inputs that a prediction is given and of the outputs that it returns.
OkOrError<fine::ResourcePtr<StateResource>, std::vector<uint64_t>, std::vector<uint64_t>> state_new(
    ErlNifEnv* env, fine::ResourcePtr<ModelResource> model,
    std::vector<std::tuple<std::string, std::string>> pairs, std::vector<std::string> names,
    Given<Inputs> values) {
  return guarded(env, [&] {
    State::Pairs wanted;
    for (const auto& [output, input] : pairs) wanted.emplace_back(output, input);
    const std::vector<BufferPtr> buffers = snapshots_of(*values);
    std::map<std::string, BufferPtr> initial;
    for (size_t i = 0; i < std::min(names.size(), buffers.size()); ++i) {
      initial[names[i]] = buffers[i];
    }
    auto state = std::make_shared<State>(model->model, wanted, std::move(initial));
    const auto given = numbers_of(state->given());
    const auto returned = numbers_of(state->returned());
    return ok(fine::make_resource<StateResource>(std::move(state)), given, returned);
  });
}
FINE_NIF(state_new, 0);

// A prediction that reads the state and, if it succeeds, updates it. As model_predict.
OkOrError<fine::ResourcePtr<PredictionResource>> state_predict(
    ErlNifEnv* env, fine::ResourcePtr<StateResource> resource, Given<Inputs> inputs, Term ref) {
  return guarded(env, [&] {
    const StatePtr state = resource->state;
    const auto request = std::make_shared<const Request>(env, *inputs, ref);
    Instance::get().predictions().push_in_order(
        line_of(state), [state, request](const PredictionQueue::Ticket& ticket) {
          request->run(
              ticket,
              [&state](const Request& self, const model::Model::Done& done) {
                return state->model().predict(state->inputs(self.inputs), self.caller, done);
              },
              [state](const std::vector<BufferPtr>& outputs) { return state->keep(outputs); });
        });
    return ok(request->prediction);
  });
}
FINE_NIF(state_predict, 0);

// Back-pressure, as model_turn.
Result<fine::Atom> state_turn(ErlNifEnv* env, fine::ResourcePtr<StateResource> resource, Term ref) {
  return guarded(env, [&] {
    PredictionQueue& queue = Instance::get().predictions();
    const uint64_t line = line_of(resource->state);
    const auto held = [&] {
      const auto message = Message::reply(self(env), ref);
      return queue.hold_back(line, [message] { message->send_result(0, nullptr); });
    };
    return fine::Atom(queue.crowded(line) && held() ? "pending" : "ok");
  });
}
FINE_NIF(state_turn, 0);

// Back to the first values, after the predictions that were started before.
OkOrError<> state_reset(ErlNifEnv* env, fine::ResourcePtr<StateResource> resource) {
  return guarded(env, [&] {
    const StatePtr state = resource->state;
    Instance::get().predictions().push_in_order(
        line_of(state), [state](const PredictionQueue::Ticket&) { state->reset(); });
    return ok();
  });
}
FINE_NIF(state_reset, 0);

// The values after the predictions that were started before: the caller gets
// `{ref, {:ok, names, buffers}}`.
OkOrError<> state_values(ErlNifEnv* env, fine::ResourcePtr<StateResource> resource, Term ref) {
  return guarded(env, [&] {
    const StatePtr state = resource->state;
    const auto message = Message::reply(self(env), ref);
    const auto job = [state, message](const PredictionQueue::Ticket&) {
      run_job(*message, [&] {
        std::vector<std::string> names;
        Inputs values;
        for (auto& [name, value] : state->values()) {
          names.push_back(name);
          values.buffers.push_back(value);
        }
        message->send_value(ok(names, outputs_of(snapshots_of(values))));
      });
    };
    Instance::get().predictions().push_in_order(line_of(state), job);
    return ok();
  });
}
FINE_NIF(state_values, 0);

}  // namespace dala::nif
