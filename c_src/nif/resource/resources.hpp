// Resources: objects that Elixir holds by reference.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "nif/codec/codec.hpp"
#include "nif/instance.hpp"

namespace dala::model {
class Model;
class State;
}  // namespace dala::model

namespace dala::nif {

// Letting go of a buffer only counts and queues: memory goes to the pool, and what the pool does
// not keep to its reaper thread.
struct BufferResource {
  explicit BufferResource(BufferPtr buffer) : buffer(std::move(buffer)) {}

  BufferPtr buffer;
};

// Keeps the bytes of a binary alive.
struct ReadbackResource {
  explicit ReadbackResource(std::shared_ptr<Readback> readback, bool shown = false)
      : readback(std::move(readback)), shown(shown) {}

  std::shared_ptr<Readback> readback;
  const bool shown;  // a binary shows it: noted for `shown_around`
  // Unmapping a large host copy takes a while, so it is left to another thread.
  void destructor(ErlNifEnv*);
};

// The size of the binary of ours that these bytes are in, or 0. The VM does not tell it.
size_t shown_around(const unsigned char* data);
void add_shown(const std::byte* data, size_t bytes);
void remove_shown(const std::byte* data);

// A message that tells a process, when this resource has been collected, `{:dala_gpu_released,
// tag}`.
struct Farewell {
  ErlNifPid pid{};
  uint64_t tag = 0;
  void send(ErlNifEnv* env) const;
};

// Stands for something that another process keeps while anybody here refers to this.
struct TokenResource {
  explicit TokenResource(Farewell farewell) : farewell(farewell) {}

  const Farewell farewell;
  void destructor(ErlNifEnv* env) { farewell.send(env); }
};

// The memory of a binary that is shared with another process.
struct SegmentResource {
  SegmentResource(std::shared_ptr<void> memory, const std::byte* data,
                  std::optional<Farewell> farewell)
      : memory(std::move(memory)), data(data), farewell(farewell) {}

  std::shared_ptr<void> memory;
  const std::byte* const data;
  const std::optional<Farewell> farewell;
  // Unmapping takes a while, so it is left to another thread.
  void destructor(ErlNifEnv* env);
};

// Counts while it lives.
struct ProfileResource {
  explicit ProfileResource(std::shared_ptr<Profile> profile) : profile(std::move(profile)) {}

  std::shared_ptr<Profile> profile;
};

// A loaded model. Its weights and plans are much memory, which goes on another thread.
struct ModelResource {
  explicit ModelResource(std::shared_ptr<model::Model> model) : model(std::move(model)) {}

  std::shared_ptr<model::Model> model;
  void destructor(ErlNifEnv*);
};

// The state of a model between predictions. It may be the last owner of its model.
struct StateResource {
  explicit StateResource(std::shared_ptr<model::State> state) : state(std::move(state)) {}

  std::shared_ptr<model::State> state;
  void destructor(ErlNifEnv*);
};

// A prediction that its process may give up.
struct PredictionResource {
  explicit PredictionResource(std::shared_ptr<Message> answer) : answer(std::move(answer)) {}

  const std::shared_ptr<Message> answer;
  std::atomic<bool> given_up{false};
  std::atomic<CommandId> command{0};  // once it has reached the scheduler
};

// The inputs of a call.
struct Inputs {
  std::vector<BufferPtr> buffers;
};

// The outputs of a call: one buffer, or a list of one or more.
struct Outputs {
  BufferPtr first;
  std::vector<BufferPtr> more;
};

// That copy_buffer has one input and one output.
void check_copy(const std::vector<BufferPtr>& inputs, const Outputs& outputs);

// A binary that is kept alive in an environment of its own, for as long as something owns it.
struct Pinned {
  std::shared_ptr<void> owner;
  const std::byte* data = nullptr;
  size_t bytes = 0;
};

// The bytes of a readback as a binary, which keeps it.
struct ReadbackBinary {
  std::shared_ptr<Readback> readback;
};

// With content that is undefined until the first command, which `fills`, has written all of it.
BufferPtr undefined_buffer(Runtime& runtime, const TensorType& type);

// The calling process as the scheduler sees it. The first kind waits for the result: once the
// process has ended, its command is dropped. A command of the second kind outlives a process that
// ends by itself; `Scheduler::drop_client` takes back those of a process that was killed, except
// for `shared` ones, of which another process is told.
std::shared_ptr<Client> waiting_client(ErlNifEnv* env);
std::shared_ptr<Client> submitting_client(ErlNifEnv* env, bool shared);

}  // namespace dala::nif

namespace fine {

// A reference that is no buffer of this node is a `freed` error, since that is what a collected one
// looks like; any other term is malformed.
template <>
struct Decoder<dala::BufferPtr> {
  static dala::BufferPtr decode(ErlNifEnv* env, const ERL_NIF_TERM& term);
};
template <>
struct Encoder<dala::BufferPtr> {
  static ERL_NIF_TERM encode(ErlNifEnv* env, const dala::BufferPtr& buffer);
};
template <>
struct Decoder<dala::nif::Inputs> {
  static dala::nif::Inputs decode(ErlNifEnv* env, const ERL_NIF_TERM& term);
};
template <>
struct Decoder<dala::nif::Outputs> {
  static dala::nif::Outputs decode(ErlNifEnv* env, const ERL_NIF_TERM& term);
};
template <>
struct Decoder<dala::nif::Pinned> {
  static dala::nif::Pinned decode(ErlNifEnv* env, const ERL_NIF_TERM& term);
};
template <>
struct Encoder<dala::nif::ReadbackBinary> {
  static ERL_NIF_TERM encode(ErlNifEnv* env, const dala::nif::ReadbackBinary& bytes);
};

}  // namespace fine
