// What every NIF shares: the caller's environment for sending, errors as Elixir exceptions, and
// small term helpers. NIFs here decode, call the engine, and encode; none of them waits.
#pragma once

#include <exception>
#include <fine.hpp>
#include <initializer_list>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/descriptor.hpp"
#include "runtime/error.hpp"
#include "runtime/tensor_type.hpp"

namespace dala::nif {

using fine::Term;

// The environment of the NIF call this thread is in, if any. A message that is sent from inside
// a call must name it; one that is sent from a driver's thread must not.
ErlNifEnv* calling_env();

class Caller {
 public:
  explicit Caller(ErlNifEnv* env);
  ~Caller();
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;
};

Term atom(ErlNifEnv* env, std::string_view name);
Term string(ErlNifEnv* env, std::string_view text);  // a binary
Term integer(ErlNifEnv* env, int64_t number);
Term unsigned_integer(ErlNifEnv* env, uint64_t number);
Term number(ErlNifEnv* env, double number);  // non-finite ones as :nan, :infinity, :neg_infinity
Term boolean(ErlNifEnv* env, bool flag);
Term list(ErlNifEnv* env, const std::vector<Term>& items);
Term tuple(ErlNifEnv* env, std::initializer_list<Term> items);
Term map(ErlNifEnv* env, std::initializer_list<std::pair<std::string_view, Term>> fields);
Term ok(ErlNifEnv* env, Term value);             // {:ok, value}
Term error(ErlNifEnv* env, const Error& error);  // {:error, %Dala.Gpu.Compute.Error{}}

std::string atom_name(ErlNifEnv* env, ERL_NIF_TERM term);  // "" when it is not an atom
DType decode_dtype(ErlNifEnv* env, ERL_NIF_TERM term);
TensorType decode_type(ErlNifEnv* env, ERL_NIF_TERM shape, ERL_NIF_TERM dtype);
Params decode_params(ErlNifEnv* env, ERL_NIF_TERM term);
Term encode_shape(ErlNifEnv* env, const Shape& shape);

// Runs the body of a NIF: its errors become `{:error, e}`; a malformed term
// (std::invalid_argument) raises ArgumentError in the caller.
template <typename Body>
Term guarded(ErlNifEnv* env, Body body) {
  const Caller caller(env);
  try {
    return body();
  } catch (const Error& problem) {
    return error(env, problem);
  } catch (const std::bad_alloc&) {
    return error(env, Error(Reason::out_of_memory, "the system has no memory left"));
  }
}

// A message in the making: `{ref, result}`, or `{:dala_gpu, id, result}` without a ref. Owns its
// environment, so it can be kept by a listener and sent from any thread.
class Message {
 public:
  static std::shared_ptr<Message> reply(ErlNifPid pid, ERL_NIF_TERM ref);
  static std::shared_ptr<Message> notification(ErlNifPid pid);
  ~Message();
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;

  ErlNifEnv* env() const { return env_; }
  ERL_NIF_TERM ref() const { return ref_; }
  void send(Term result);  // {ref, result}
  void send_result(uint64_t id, const Error* error);

 private:
  explicit Message(ErlNifPid pid);

  ErlNifPid pid_;
  ErlNifEnv* env_;
  ERL_NIF_TERM ref_ = 0;
  bool has_ref_ = false;
};

// Runs the body of a job and sends how it ended: `{ref, :ok | {:error, e}}`.
template <typename Body>
void answer(Message& message, Body body) {
  try {
    body();
    message.send_result(0, nullptr);
  } catch (const Error& problem) {
    message.send_result(0, &problem);
  } catch (const std::exception& problem) {
    const Error unexpected(Reason::device_error, problem.what());
    message.send_result(0, &unexpected);
  }
}

ErlNifPid self(ErlNifEnv* env);

}  // namespace dala::nif
