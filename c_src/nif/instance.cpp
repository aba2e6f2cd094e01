#include "nif/instance.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <utility>

namespace dala::nif {
namespace {

// A thread that is compiling while exit() destroys the compiler's globals crashes the process at
// its very end, so a handler finishes what is being compiled first. Handlers run in the reverse
// order of registration, and a compiler registers more of them while it works: hence one after
// the start, and another one after every program that was compiled.
void keep_exit_handler_last(uint64_t compiled) {
  static std::atomic<uint64_t> covered{0};
  if (covered.exchange(compiled + 1) == compiled + 1) return;
#if defined(__GLIBC__)
  on_exit([](int status, void*) { Instance::get().abandon(status); }, nullptr);
#else
  std::atexit([] { Instance::get().abandon(std::nullopt); });
#endif
}

}  // namespace

Instance& Instance::get() {
  // Never destroyed: at exit there is no time to wait for the device, and `stop` is there for
  // everything else.
  static auto* instance = new Instance;
  return *instance;
}

void Instance::post(std::function<void()> job) {
  std::lock_guard lock(mutex_);
  if (starter_ == nullptr) starter_ = std::make_unique<Worker>("dala_starter", 1);
  starter_->post(std::move(job));
}

void Instance::post_model(std::function<void()> job) {
  std::lock_guard lock(mutex_);
  if (models_ == nullptr) models_ = std::make_unique<Worker>("dala_model", 2);
  models_->post(std::move(job));
}

void Instance::post_tuning(std::function<void()> job) {
  std::lock_guard lock(mutex_);
  if (tuner_ == nullptr) tuner_ = std::make_unique<Worker>("dala_tuner", 1);
  tuner_->post(std::move(job));
}

void Instance::start(const Config& config) {
  {
    std::lock_guard lock(mutex_);
    if (engine_ != nullptr) return;
    if (failure_) throw *failure_;
  }
  try {
    auto engine = std::make_shared<Engine>(with_environment(config), [this](const Error& error) {
      std::function<void(const Error&)> listener;
      {
        std::lock_guard lock(mutex_);
        listener = lost_listener_;
      }
      if (listener) listener(error);
    });
    tell(engine->runtime().folders().note());
    std::lock_guard lock(mutex_);
    engine_ = std::move(engine);
  } catch (const Error& error) {
    // Remembered: drivers that failed to start do not recover within a process.
    std::lock_guard lock(mutex_);
    failure_ = error;
    throw;
  }
}

void Instance::on_lost(std::function<void(const Error&)> listener) {
  std::lock_guard lock(mutex_);
  lost_listener_ = std::move(listener);
}

void Instance::on_note(std::function<void(const std::string&)> listener) {
  std::lock_guard lock(mutex_);
  note_listener_ = std::move(listener);
}

void Instance::tell(const std::string& note) {
  std::function<void(const std::string&)> listener;
  {
    std::lock_guard lock(mutex_);
    if (note.empty() || note == last_note_) return;
    last_note_ = note;
    listener = note_listener_;
  }
  if (listener) listener(note);
}

std::shared_ptr<Engine> Instance::engine() {
  std::lock_guard lock(mutex_);
  if (engine_ != nullptr) {
    keep_exit_handler_last(engine_->runtime().programs().compiled());
    return engine_;
  }
  if (failure_) throw *failure_;
  throw Error(Reason::no_device, "the runtime has not been started");
}

std::shared_ptr<Engine> Instance::running() {
  std::lock_guard lock(mutex_);
  return engine_;
}

void Instance::let_go_memory(std::shared_ptr<void> object) {
  std::lock_guard lock(mutex_);
  if (engine_ != nullptr) engine_->runtime().memory().let_go(std::move(object));
}

void Instance::let_go(std::shared_ptr<void> object) {
  std::lock_guard lock(mutex_);
  if (engine_ != nullptr) engine_->runtime().worker().post([object = std::move(object)] {});
}

void Instance::abandon(std::optional<int> status) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || engine_ == nullptr) return;
  // A compiler on a thread of the driver loses what it has kept in static variables since this
  // handler was registered, and cannot be waited for: the process ends before it notices.
  if (status && engine_->runtime().compiles()) _exit(*status);
  engine_->runtime().abandon();
}

void Instance::stop() {
  std::unique_ptr<Worker> starter;
  std::unique_ptr<Worker> models;
  std::unique_ptr<Worker> tuner;
  predictions_.clear();
  stopping_ = true;
  {
    std::lock_guard lock(mutex_);
    starter = std::move(starter_);
    models = std::move(models_);
    tuner = std::move(tuner_);
    if (engine_ != nullptr && engine_->runtime().scheduler().lost()) {
      // Kernels may still be running, and threads may wait for them: all of it stays for ever. The
      // code stays, too: the library is linked so that it is never unmapped.
      static_cast<void>(starter.release());
      static_cast<void>(models.release());
      static_cast<void>(tuner.release());
      new std::shared_ptr<Engine>(std::move(engine_));
      failure_.reset();
      stopping_ = false;
      return;
    }
  }
  starter.reset();  // joins; its jobs take the lock
  models.reset();   // its jobs need the engine
  tuner.reset();    // after the candidate that it measures
  stopping_ = false;
  std::shared_ptr<Engine> engine;
  std::lock_guard lock(mutex_);
  engine = std::move(engine_);
  failure_.reset();
}

}  // namespace dala::nif
