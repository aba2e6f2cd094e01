// Shared by all NIFs: the caller's environment for sending, messages, and small term helpers.
// NIFs decode, call the engine, and encode; none of them waits.
#pragma once

#include <atomic>
#include <exception>
#include <fine.hpp>
#include <initializer_list>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/error.hpp"

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
Term tuple(ErlNifEnv* env, std::initializer_list<Term> items);

// Bounds of what one call may have. A NIF goes through all of it in one go, so they are far beyond
// any use and take well below a millisecond.
inline constexpr size_t kMostInputs = 1024;
inline constexpr size_t kMostParams = 256;
inline constexpr size_t kMostNumbers = 1024;  // in a list that is a parameter
inline constexpr size_t kMostText = 1024;     // bytes of a name

// The term for a message. Only the kind of one that may be large: formatting a list of a million
// numbers, or an integer of a million digits, holds a scheduler.
std::string shown(ErlNifEnv* env, ERL_NIF_TERM term);

std::string atom_name(ErlNifEnv* env, ERL_NIF_TERM term);  // "" when it is not an atom
// A message in the making: `{ref, result}`, or `{:dala_gpu, id, result}` without a ref; of a lost
// device `{:dala_gpu_lost, result}`, of a note for the log `{:dala_gpu_note, text}`. Owns its
// environment, so it can be kept by a listener and sent from any thread.
class Message {
 public:
  static std::shared_ptr<Message> reply(ErlNifPid pid, ERL_NIF_TERM ref);
  static std::shared_ptr<Message> notification(ErlNifPid pid);
  static std::shared_ptr<Message> lost(ErlNifPid pid);
  static std::shared_ptr<Message> note(ErlNifPid pid);
  ~Message();
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;

  ErlNifEnv* env() const { return env_; }
  ERL_NIF_TERM ref() const { return ref_; }
  // {ref, result}. The result is one of terms of `env()`, or a value to encode.
  void send(Term result);
  template <typename T>
  void send_value(const T& result) {
    send(fine::encode(env_, result));
  }
  void send_result(uint64_t id, const Error* error);

  // Takes the message back. `revoked`: it will never be sent; `sending`: it will be in the mailbox
  // in a moment; `sent`: it is there, unless it has been received.
  enum class State { unsent, sending, sent, revoked };
  State revoke();

 private:
  explicit Message(ErlNifPid pid);
  static std::shared_ptr<Message> tagged(ErlNifPid pid, std::string_view tag);
  void deliver(Term content);

  ErlNifPid pid_;
  ErlNifEnv* env_;
  ERL_NIF_TERM ref_ = 0;
  bool has_ref_ = false;
  std::atomic<State> state_{State::unsent};
};

// Runs the body of a job and sends how it ended: `{ref, :ok | {:error, e}}`.
template <typename Body>
void answer(Message& message, Body body) {
  ErrorPtr problem;
  try {
    body();
  } catch (...) {
    problem = current_error();
  }
  message.send_result(0, problem.get());
}

ErlNifPid self(ErlNifEnv* env);

}  // namespace dala::nif
