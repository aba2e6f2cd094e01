// Calls that may need something first which takes long, such as a model planned for shapes that it
// has not seen.
#pragma once

#include "kernels/descriptor.hpp"
#include "nif/boundary.hpp"

namespace dala::nif {

// Begins with it, on the threads for models. Gives `{:wait, ref}`; when it is done the caller gets
// `{ref, :ok | {:error, e}}`.
Term prepare(ErlNifEnv* env, const NotReady& missing);

// As `guarded`; the caller of what is not ready waits for the message, and calls again.
template <typename Body>
Term when_ready(ErlNifEnv* env, Body body) {
  return guarded(env, [&]() -> Term {
    try {
      return body();
    } catch (const NotReady& missing) {
      return prepare(env, missing);
    }
  });
}

}  // namespace dala::nif
