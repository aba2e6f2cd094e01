// Jobs on threads of the library, whose outcome the caller gets as a message.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "nif/boundary.hpp"
#include "nif/instance.hpp"

namespace dala::nif {

// Sends how a command has ended: `{ref, :ok | {:error, e}}`, or as the message has it.
inline Listener tell(std::shared_ptr<Message> message) {
  return [message = std::move(message)](CommandId id, const Error* error) {
    message->send_result(id, error);
  };
}

// Runs a job that sends its own result; an error that it ends with is sent here.
template <typename Job>
void run_job(Message& message, Job job) {
  try {
    job();
  } catch (...) {
    const ErrorPtr problem = current_error();
    message.send_result(0, problem.get());
  }
}

// The same on the threads for models.
inline void post_job(const std::shared_ptr<Message>& message, std::function<void()> job) {
  Instance::get().post_model([message, job = std::move(job)] { run_job(*message, job); });
}

}  // namespace dala::nif
