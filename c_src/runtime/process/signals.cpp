#include "runtime/process/signals.hpp"

#include <csignal>
#include <mutex>

namespace dala {
namespace {

constexpr int kGuarded[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGILL,    SIGTRAP, SIGABRT,
                            SIGBUS,  SIGUSR1, SIGSEGV, SIGUSR2,   SIGPIPE, SIGALRM,
                            SIGTERM, SIGXCPU, SIGXFSZ, SIGVTALRM, SIGPROF, SIGSYS};
constexpr int kCount = sizeof(kGuarded) / sizeof(kGuarded[0]);

struct Remembered {
  std::once_flag once;
  struct sigaction actions[kCount];
  bool known[kCount] = {};
};

Remembered& remembered() {
  static Remembered instance;
  return instance;
}

}  // namespace

void allow_child_processes() {
  struct sigaction action {};
  if (sigaction(SIGCHLD, nullptr, &action) != 0) return;
  if ((action.sa_flags & SA_SIGINFO) != 0 || action.sa_handler != SIG_IGN) return;
  action.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &action, nullptr);
}

void remember_signal_handlers() {
  Remembered& all = remembered();
  std::call_once(all.once, [&all] {
    for (int i = 0; i < kCount; ++i) {
      all.known[i] = sigaction(kGuarded[i], nullptr, &all.actions[i]) == 0;
    }
  });
}

void restore_signal_handlers() {
  const Remembered& all = remembered();
  for (int i = 0; i < kCount; ++i) {
    if (all.known[i]) sigaction(kGuarded[i], &all.actions[i], nullptr);
  }
}

void block_asynchronous_signals() {
  sigset_t mask;
  sigfillset(&mask);
  for (int fault : {SIGFPE, SIGSEGV, SIGBUS, SIGILL, SIGABRT, SIGTRAP, SIGSYS}) {
    sigdelset(&mask, fault);
  }
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
}

}  // namespace dala
