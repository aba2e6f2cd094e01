// Predictions that have not reached the scheduler yet. A prediction may have to plan, which takes
// long, so it happens on the threads for models; this queue lets processes take turns there and
// bounds what each of them holds. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace dala::model {

class PredictionQueue {
 public:
  // Held from the start of a prediction until its result has been handed over; letting go of it
  // lets the next one of that client start.
  using Ticket = std::shared_ptr<void>;
  using Job = std::function<void(const Ticket& ticket)>;

  // `post` runs a function on one of the threads for models.
  explicit PredictionQueue(std::function<void(std::function<void()>)> post);

  // Takes a prediction of a client. Throws, and has taken nothing, when there is no memory.
  void push(uint64_t client, Job job);

  // Back-pressure: whether many predictions of the client have not started. It is then to wait
  // until `room` is called, once and from any thread; false: there is room by now.
  bool crowded(uint64_t client);
  bool hold_back(uint64_t client, std::function<void()> room);

  // Drops the predictions that have not started.
  void clear();

 private:
  // A prediction, and the ticket of one that has started. Starting and ending one takes no memory.
  struct Entry {
    Entry(PredictionQueue& queue, uint64_t client, Job job)
        : queue(queue), client(client), job(std::move(job)) {}
    ~Entry();
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

    PredictionQueue& queue;
    const uint64_t client;
    Job job;
    bool started = false;
    std::shared_ptr<Entry> self;  // from being posted until it runs
  };
  struct Line {
    std::list<std::shared_ptr<Entry>> jobs;
    size_t started = 0;  // not finished yet
    std::function<void()> room;
    std::list<uint64_t> turn;  // its place among `turns_`, while it is not there
    bool in_turn = false;
  };

  // Starts what may start. `lock` is released while jobs are posted and callers told. What cannot
  // be posted stays first in its line, and the exception is passed on.
  void advance(std::unique_lock<std::mutex> lock);
  void finished(uint64_t client) noexcept;
  void take_turn(Line& line) noexcept;
  void leave_if_idle(std::map<uint64_t, Line>::iterator place) noexcept;

  const std::function<void(std::function<void()>)> post_;
  std::mutex mutex_;
  std::map<uint64_t, Line> lines_;
  std::list<uint64_t> turns_;  // clients with a job that may start, next in turn first
  size_t started_ = 0;
};

}  // namespace dala::model
