#include "nif/resource/prediction.hpp"

#include "nif/codec/codec.hpp"

namespace dala::nif {

std::vector<BufferPtr> snapshots_of(const Inputs& inputs) {
  Scheduler& scheduler = engine()->runtime().scheduler();
  std::vector<BufferPtr> snapshots;
  for (const BufferPtr& buffer : inputs.buffers) {
    snapshots.push_back(scheduler.snapshot(*buffer, text("input ", snapshots.size())));
  }
  return snapshots;
}

void cancel_command(PredictionResource& prediction) {
  const CommandId id = prediction.command.exchange(0);
  if (id != 0) engine()->runtime().scheduler().cancel(id);
}

Request::Request(ErlNifEnv* env, const Inputs& inputs, Term ref)
    : message(Message::reply(self(env), ref)),
      prediction(fine::make_resource<PredictionResource>(message)),
      caller(waiting_client(env)),
      inputs(snapshots_of(inputs)) {}

void Request::run(const model::PredictionQueue::Ticket& ticket, const Predict& predict,
                  const Finish& finish) const {
  if (prediction->given_up || !caller->wants_result()) return;
  run_job(*message, [&] {
    const auto done = [message = message, ticket, finish](const std::vector<BufferPtr>& outputs,
                                                          const Error* problem) {
      if (problem != nullptr) {
        message->send_result(0, problem);
      } else {
        message->send_value(ok(outputs_of(finish(outputs))));
      }
    };
    prediction->command = predict(*this, done).value_or(0);
  });
  // It may have been given up while its command was being submitted.
  if (prediction->given_up) cancel_command(*prediction);
}

}  // namespace dala::nif
