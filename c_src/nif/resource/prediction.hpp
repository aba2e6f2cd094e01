// Predictions as NIFs start them: their inputs, their outputs, and their way into the queue.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "model/model.hpp"
#include "nif/resource/job.hpp"
#include "nif/resource/resources.hpp"

namespace dala::nif {

// An output of a prediction.
struct Output {
  BufferPtr buffer;
};

inline std::vector<Output> outputs_of(const std::vector<BufferPtr>& buffers) {
  return each(buffers, [](const BufferPtr& buffer) { return Output{buffer}; });
}

// The buffers as they are at this moment.
std::vector<BufferPtr> snapshots_of(const Inputs& inputs);

void cancel_command(PredictionResource& prediction);

// A prediction of the calling process, which gets `{ref, {:ok, outputs} | {:error, e}}`.
struct Request {
  Request(ErlNifEnv* env, const Inputs& inputs, Term ref);

  const std::shared_ptr<Message> message;
  const fine::ResourcePtr<PredictionResource> prediction;
  const std::shared_ptr<Client> caller;
  const std::vector<BufferPtr> inputs;

  // Runs `predict` unless the caller no longer waits. `finish` turns the outputs of the model into
  // those that the caller gets; `ticket` is held until then.
  using Predict =
      std::function<std::optional<CommandId>(const Request& request, model::Model::Done done)>;
  using Finish = std::function<std::vector<BufferPtr>(const std::vector<BufferPtr>& outputs)>;
  void run(const model::PredictionQueue::Ticket& ticket, const Predict& predict,
           const Finish& finish) const;
};

}  // namespace dala::nif

namespace fine {

// {buffer, dimensions, dtype}
template <>
struct Encoder<dala::nif::Output> {
  static ERL_NIF_TERM encode(ErlNifEnv* env, const dala::nif::Output& output) {
    const dala::TensorType& type = output.buffer->type();
    return fine::encode(env, std::tuple(output.buffer, type.shape, type.dtype));
  }
};

}  // namespace fine
