// What Elixir holds by reference.
#pragma once

#include "nif/boundary.hpp"
#include "nif/instance.hpp"

namespace dala::model {
class Model;
}

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

// The bytes as a binary, which keeps the readback.
Term encode_binary(ErlNifEnv* env, const std::shared_ptr<Readback>& readback);

// The size of the binary of ours that these bytes are in, or 0. The VM does not tell it.
size_t shown_around(const unsigned char* data);

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

// A prediction that its process may give up.
struct PredictionResource {
  explicit PredictionResource(std::shared_ptr<Message> answer) : answer(std::move(answer)) {}

  const std::shared_ptr<Message> answer;
  std::atomic<bool> given_up{false};
  std::atomic<CommandId> command{0};  // once it has reached the scheduler
};

// The buffer behind a term. A reference that is no buffer of this node is a `freed` error, since
// that is what a collected one looks like; any other term is malformed. `what` names it.
BufferPtr decode_buffer(ErlNifEnv* env, ERL_NIF_TERM term, const std::string& what);
std::vector<BufferPtr> decode_buffers(ErlNifEnv* env, ERL_NIF_TERM term);
// `{:ok, reference}`.
Term new_buffer(ErlNifEnv* env, BufferPtr buffer);
// With content that is undefined until the first command, which `fills`, has written all of it.
BufferPtr undefined_buffer(Runtime& runtime, const TensorType& type);

// The calling process as the scheduler sees it. The first kind waits for the result: once the
// process has ended, its command is dropped. A command of the second kind outlives a process that
// ends by itself; `Scheduler::drop_client` takes back those of a process that was killed, except
// for `shared` ones, of which another process is told.
std::shared_ptr<Client> waiting_client(ErlNifEnv* env);
std::shared_ptr<Client> submitting_client(ErlNifEnv* env, bool shared);

}  // namespace dala::nif
