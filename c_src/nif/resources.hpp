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
  BufferPtr buffer;
};

// Keeps the bytes of a binary alive.
struct ReadbackResource {
  std::shared_ptr<Readback> readback;
  // Unmapping a large host copy takes a while, so it is left to another thread.
  void destructor(ErlNifEnv*);
};

// The bytes as a binary, which keeps the readback.
Term encode_binary(ErlNifEnv* env, const std::shared_ptr<Readback>& readback);

// Counts while it lives.
struct ProfileResource {
  std::shared_ptr<Profile> profile;
};

// A loaded model. Its weights and plans are much memory, which goes on another thread.
struct ModelResource {
  std::shared_ptr<model::Model> model;
  void destructor(ErlNifEnv*);
};

// The buffer behind a term. A reference that is no buffer of this node is a `freed` error, since
// that is what a collected one looks like; any other term is malformed. `what` names it.
BufferPtr decode_buffer(ErlNifEnv* env, ERL_NIF_TERM term, const std::string& what);
std::vector<BufferPtr> decode_buffers(ErlNifEnv* env, ERL_NIF_TERM term);

// The submitting process as the scheduler sees it.
std::shared_ptr<Client> client(ErlNifEnv* env);

}  // namespace dala::nif
