// Who submits a command, and how the outcome is told.
#pragma once

#include "nif/resource/job.hpp"
#include "nif/resource/resources.hpp"

namespace dala::nif {

// `{:reply, ref}`, `{:notify, pid}` or `:async`.
struct Mode {
  bool reply = false;
  Listener listener;
  std::shared_ptr<Client> client;
};

}  // namespace dala::nif

template <>
struct fine::Decoder<dala::nif::Mode> {
  static dala::nif::Mode decode(ErlNifEnv* env, const ERL_NIF_TERM& term);
};
