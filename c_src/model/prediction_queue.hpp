// Predictions that have not reached the scheduler yet. A prediction may have to plan, which takes
// long, so it runs on the threads for models. This queue lets client processes take turns there and
// bounds how many predictions of each are in flight.
//
// Thread-safe; one lock guards everything, and no callback runs while it is held. The queue owns a
// prediction until it starts; from then on its ticket does.
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
  // Held from the start of a prediction until its result is delivered. Releasing it lets the next
  // prediction of that client start.
  using Ticket = std::shared_ptr<void>;
  using Job = std::function<void(const Ticket& ticket)>;

  // `post` runs a function on one of the threads for models.
  explicit PredictionQueue(std::function<void(std::function<void()>)> post);

  // Queues a prediction of a client. If there is no memory, throws and queues nothing.
  void push(uint64_t client, Job job);

  // The same for predictions that must follow each other, such as those of one state: `line` stands
  // for a client, and a prediction starts after the ticket of the one before was released.
  void push_in_order(uint64_t line, Job job);

  // Back-pressure: `crowded` is true while too many predictions of the client have not started. The
  // client then waits: `hold_back` stores `room`, which is called once and from any thread, or
  // returns false if there is room already.
  bool crowded(uint64_t client);
  bool hold_back(uint64_t client, std::function<void()> room);

  // Drops the predictions that have not started.
  void clear();

 private:
  // A prediction, and its ticket once it has started. Starting and ending one allocates nothing.
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
    std::shared_ptr<Entry> self;  // set from posting until the job runs
  };
  struct Line {
    std::list<std::shared_ptr<Entry>> jobs;
    size_t started = 0;  // not finished yet
    size_t limit = 0;    // of those
    std::function<void()> room;
    std::list<uint64_t> turn;  // its place among `turns_`, while it is not there
    bool in_turn = false;
  };

  void push(uint64_t client, Job job, size_t limit);
  // Starts the jobs that may start. `lock` is released while jobs are posted and `room` is called.
  // A job that cannot be posted stays first in its line, and the exception is passed on.
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
