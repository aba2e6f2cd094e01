#include "model/prediction_queue.hpp"

#include <chrono>
#include <thread>
#include <utility>

namespace dala::model {
namespace {

constexpr size_t kMaxWaiting = 64;  // per client, before it is held back
// Predictions in flight, per client and in total: enough to keep the device busy, and few, because
// each holds the memory of its outputs.
constexpr size_t kMaxStartedPerClient = 4;
constexpr size_t kMaxStarted = 64;

}  // namespace

PredictionQueue::PredictionQueue(std::function<void(std::function<void()>)> post)
    : post_(std::move(post)) {}

PredictionQueue::Entry::~Entry() {
  if (started) queue.finished(client);
}

void PredictionQueue::push(uint64_t client, Job job) {
  push(client, std::move(job), kMaxStartedPerClient);
}

void PredictionQueue::push_in_order(uint64_t line, Job job) { push(line, std::move(job), 1); }

void PredictionQueue::push(uint64_t client, Job job, size_t limit) {
  std::list<std::shared_ptr<Entry>> added;
  added.push_back(std::make_shared<Entry>(*this, client, std::move(job)));
  const std::shared_ptr<Entry> entry = added.front();
  std::list<uint64_t> turn{client};
  std::unique_lock lock(mutex_);
  Line& line = lines_[client];
  line.limit = limit;
  if (line.turn.empty() && !line.in_turn) line.turn.splice(line.turn.end(), turn);
  line.jobs.splice(line.jobs.end(), added);
  take_turn(line);
  try {
    advance(std::move(lock));
  } catch (...) {
    // A job of another client that could not be posted is not the caller's error.
    const std::lock_guard again(mutex_);
    const auto found = lines_.find(client);
    if (found != lines_.end() && found->second.jobs.remove(entry) > 0) {
      leave_if_idle(found);
      throw;
    }
  }
}

bool PredictionQueue::crowded(uint64_t client) {
  const std::lock_guard lock(mutex_);
  const auto found = lines_.find(client);
  return found != lines_.end() && found->second.jobs.size() >= kMaxWaiting;
}

bool PredictionQueue::hold_back(uint64_t client, std::function<void()> room) {
  const std::lock_guard lock(mutex_);
  const auto found = lines_.find(client);
  if (found == lines_.end() || found->second.jobs.size() < kMaxWaiting) return false;
  std::function<void()>& waiting = found->second.room;
  // Several processes may wait for the line of one state.
  if (waiting) {
    room = [first = std::move(waiting), then = std::move(room)] {
      first();
      then();
    };
  }
  waiting = std::move(room);
  return true;
}

// With the lock held.
void PredictionQueue::take_turn(Line& line) noexcept {
  if (line.in_turn || line.jobs.empty() || line.started >= line.limit) return;
  turns_.splice(turns_.end(), line.turn);
  line.in_turn = true;
}

// With the lock held.
void PredictionQueue::leave_if_idle(std::map<uint64_t, Line>::iterator place) noexcept {
  Line& line = place->second;
  if (line.in_turn && line.jobs.empty()) {
    turns_.remove(place->first);
    line.in_turn = false;
    line.turn.clear();
  }
  if (line.jobs.empty() && line.started == 0 && !line.room) lines_.erase(place);
}

void PredictionQueue::advance(std::unique_lock<std::mutex> lock) {
  while (!turns_.empty() && started_ < kMaxStarted) {
    Line& line = lines_.at(turns_.front());
    line.turn.splice(line.turn.end(), turns_, turns_.begin());
    line.in_turn = false;
    std::list<std::shared_ptr<Entry>> next;
    next.splice(next.end(), line.jobs, line.jobs.begin());
    ++line.started;
    ++started_;
    take_turn(line);
    std::function<void()> room;
    if (line.jobs.size() <= kMaxWaiting / 2) room = std::exchange(line.room, nullptr);
    Entry* entry = next.front().get();
    lock.unlock();
    // Until the job runs, the entry keeps itself, so that posting it copies an address only. The
    // queue outlives its jobs: the threads for models end before it does.
    entry->self = next.front();
    entry->started = true;
    try {
      post_([entry] {
        const Ticket ticket = std::move(entry->self);
        const Job job = std::move(entry->job);
        job(ticket);
      });
    } catch (...) {
      entry->started = false;
      entry->self.reset();
      lock.lock();
      Line& again = lines_.at(entry->client);  // it has a prediction that was started
      --started_;
      --again.started;
      again.jobs.splice(again.jobs.begin(), next);
      take_turn(again);
      if (room && !again.room) again.room = std::move(room);
      throw;
    }
    if (room) room();
    next.clear();  // the job may have ended, and the last reference to it calls `finished`
    lock.lock();
  }
}

void PredictionQueue::finished(uint64_t client) noexcept {
  std::unique_lock lock(mutex_);
  const auto found = lines_.find(client);
  --started_;
  --found->second.started;
  take_turn(found->second);
  leave_if_idle(found);
  for (;;) {
    try {
      advance(std::move(lock));
      return;
    } catch (const std::exception&) {
      // Without memory to start the next one. The end of one that has started comes here again.
      lock = std::unique_lock(mutex_);
      if (started_ > 0) return;
      lock.unlock();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      lock.lock();
    }
  }
}

void PredictionQueue::clear() {
  std::list<std::shared_ptr<Entry>> dropped;
  const std::lock_guard lock(mutex_);
  turns_.clear();
  for (auto& [client, line] : lines_) {
    dropped.splice(dropped.end(), line.jobs);
    line.room = nullptr;
    line.in_turn = false;
  }
}

}  // namespace dala::model
