#include "runtime/program/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

extern char** environ;

namespace dala {
namespace {

using Clock = std::chrono::steady_clock;
using End = ChildOutcome::End;

constexpr size_t kMostOutput = 4 << 20;
constexpr size_t kMostLastWords = 4096;
constexpr int kGlance = 50;  // milliseconds between two checks of `stop`

// A pair of connected sockets. Unlike a pipe, a socket can be written to without SIGPIPE after the
// reader has closed it. Close-on-exec: only the child that they are duplicated for inherits them.
class Channel {
 public:
  Channel() {
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends_.data()) != 0) ends_ = {-1, -1};
    for (int end : ends_) ::fcntl(end, F_SETFD, FD_CLOEXEC);
    ::fcntl(ends_[0], F_SETFL, O_NONBLOCK);
  }
  ~Channel() {
    close_mine();
    close_theirs();
  }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  int mine() const { return ends_[0]; }
  int theirs() const { return ends_[1]; }
  void close_mine() { close_end(ends_[0]); }
  void close_theirs() { close_end(ends_[1]); }

 private:
  static void close_end(int& end) {
    if (const int open = std::exchange(end, -1); open >= 0) ::close(open);
  }

  std::array<int, 2> ends_{-1, -1};
};

struct Channels {
  Channel input;
  Channel output;
  Channel error;
};

bool try_later() { return errno == EINTR || errno == EAGAIN; }

// Appends the available bytes; closes the channel at end of file.
void read_from(Channel& channel, std::string& to) {
  std::array<char, 16384> bytes;
  const ssize_t count = ::read(channel.mine(), bytes.data(), bytes.size());
  if (count > 0) {
    to.append(bytes.data(), static_cast<size_t>(count));
  } else if (count == 0 || !try_later()) {
    channel.close_mine();
  }
}

// Writes as much as fits without blocking; closes the channel when everything is written.
void write_to(Channel& channel, const std::string& bytes, size_t& written) {
#if defined(MSG_NOSIGNAL)
  constexpr int kFlags = MSG_NOSIGNAL;
#else
  constexpr int kFlags = 0;
#endif
  const ssize_t count =
      ::send(channel.mine(), bytes.data() + written, bytes.size() - written, kFlags);
  if (count > 0) written += static_cast<size_t>(count);
  if (written == bytes.size() || (count < 0 && !try_later())) channel.close_mine();
}

pid_t start(const std::string& program, const Channels& channels, int& problem) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, channels.input.theirs(), 0);
  posix_spawn_file_actions_adddup2(&actions, channels.output.theirs(), 1);
  posix_spawn_file_actions_adddup2(&actions, channels.error.theirs(), 2);

  // The child does not inherit the host's signal dispositions, nor this thread's mask.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  sigset_t all;
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  char* const arguments[] = {const_cast<char*>(program.c_str()), nullptr};
  pid_t pid = 0;
  problem = posix_spawn(&pid, program.c_str(), &actions, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return problem == 0 ? pid : 0;
}

// Exchanges data until the child has closed its ends. Returns false if the child must be killed,
// for the reason in `outcome.end`.
bool exchange_with(Channels& channels, const std::string& input, std::chrono::milliseconds limit,
                   const std::atomic<bool>& stop, ChildOutcome& outcome) {
  const auto deadline = Clock::now() + limit;
  size_t written = 0;
  while (channels.output.mine() >= 0 || channels.error.mine() >= 0) {
    const bool late = Clock::now() >= deadline || outcome.output.size() > kMostOutput;
    if (late || stop.load()) {
      outcome.end = late ? End::timed_out : End::stopped;
      return false;
    }
    // poll skips closed channels, whose descriptors are negative.
    pollfd watched[] = {{channels.input.mine(), POLLOUT, 0},
                        {channels.output.mine(), POLLIN, 0},
                        {channels.error.mine(), POLLIN, 0}};
    if (::poll(watched, 3, kGlance) <= 0) continue;
    if (watched[0].revents != 0) write_to(channels.input, input, written);
    if (watched[1].revents != 0) read_from(channels.output, outcome.output);
    if (watched[2].revents != 0) read_from(channels.error, outcome.last_words);
    if (outcome.last_words.size() > 2 * kMostLastWords) {
      outcome.last_words.erase(0, outcome.last_words.size() - kMostLastWords);
    }
  }
  return true;
}

}  // namespace

ChildOutcome run_child(const std::string& program, const std::string& input,
                       std::chrono::milliseconds limit, const std::atomic<bool>& stop) {
  ChildOutcome outcome;
  Channels channels;
  if (channels.input.mine() < 0 || channels.output.mine() < 0 || channels.error.mine() < 0) {
    outcome.code = EMFILE;
    return outcome;
  }
  const pid_t pid = start(program, channels, outcome.code);
  if (pid == 0) return outcome;
  channels.input.close_theirs();
  channels.output.close_theirs();
  channels.error.close_theirs();
  const bool ended = exchange_with(channels, input, limit, stop, outcome);
  // The whole process group, since a compiler may have started a linker.
  if (!ended) ::kill(-pid, SIGKILL);

  int status = 0;
  pid_t reaped = 0;
  do {
    reaped = ::waitpid(pid, &status, 0);
  } while (reaped < 0 && errno == EINTR);
  if (!ended) return outcome;
  // If the host ignores SIGCHLD, the exit status is lost; the output shows how far the child got.
  const bool signalled = reaped == pid && WIFSIGNALED(status);
  outcome.end = signalled ? End::signalled : End::exited;
  if (reaped == pid) outcome.code = signalled ? WTERMSIG(status) : WEXITSTATUS(status);
  return outcome;
}

}  // namespace dala
