#include "model/prediction_queue.hpp"

#include <doctest/doctest.h>

#include <new>
#include <vector>

using dala::model::PredictionQueue;

namespace {

// Jobs that were posted run when the test says so.
struct Posted {
  std::vector<std::function<void()>> jobs;
  int refused = 0;  // jobs to come
  PredictionQueue queue{[this](std::function<void()> job) {
    if (refused > 0 && refused-- > 0) throw std::bad_alloc();
    jobs.push_back(std::move(job));
  }};
  std::vector<int> order;
  std::vector<PredictionQueue::Ticket> tickets;

  // A prediction that was posted keeps itself until it runs, so all of them do.
  ~Posted() {
    queue.clear();
    for (run(); !tickets.empty(); run()) finish();
  }

  void push(uint64_t client) {
    queue.push(client, [this, client](const PredictionQueue::Ticket& ticket) {
      order.push_back(static_cast<int>(client));
      tickets.push_back(ticket);
    });
  }
  void run() {
    while (!jobs.empty()) {
      const auto job = std::move(jobs.front());
      jobs.erase(jobs.begin());
      job();
    }
  }
  // Ends the prediction that started first.
  void finish() {
    const auto ticket = std::move(tickets.front());
    tickets.erase(tickets.begin());
  }
};

}  // namespace

TEST_CASE("predictions in a line of their own start one after the other") {
  Posted posted;
  for (int i = 0; i < 3; ++i) {
    posted.queue.push_in_order(2, [&posted, i](const PredictionQueue::Ticket& ticket) {
      posted.order.push_back(i);
      posted.tickets.push_back(ticket);
    });
  }
  posted.run();
  CHECK(posted.order == std::vector<int>{0});
  posted.finish();
  posted.run();
  CHECK(posted.order == std::vector<int>{0, 1});
  posted.finish();
  posted.run();
  CHECK(posted.order == std::vector<int>{0, 1, 2});
}

TEST_CASE("all who wait for room in one line are told") {
  Posted posted;
  for (int i = 0; i < 100; ++i) posted.push(1);
  int told = 0;
  for (int i = 0; i < 3; ++i) CHECK(posted.queue.hold_back(1, [&told] { ++told; }));
  for (posted.run(); !posted.tickets.empty(); posted.run()) posted.finish();
  CHECK(told == 3);
}

TEST_CASE("a client has few predictions in flight, and does not hold up another one") {
  Posted posted;
  for (int i = 0; i < 20; ++i) posted.push(1);
  posted.run();
  CHECK(posted.order == std::vector<int>(4, 1));
  posted.push(2);
  posted.run();
  CHECK(posted.order == std::vector<int>{1, 1, 1, 1, 2});
  posted.finish();
  posted.run();
  CHECK(posted.order == std::vector<int>{1, 1, 1, 1, 2, 1});
}

TEST_CASE("clients take turns") {
  Posted posted;
  // Other clients use up all that may be started.
  for (uint64_t client = 100; client < 116; ++client) {
    for (int i = 0; i < 4; ++i) posted.push(client);
  }
  posted.run();
  REQUIRE(posted.order.size() == 64);
  for (int i = 0; i < 3; ++i) posted.push(1);
  for (int i = 0; i < 3; ++i) posted.push(2);
  posted.run();
  REQUIRE(posted.order.size() == 64);
  posted.order.clear();
  for (int i = 0; i < 6; ++i) posted.finish();
  posted.run();
  CHECK(posted.order == std::vector<int>{1, 2, 1, 2, 1, 2});
}

TEST_CASE("a client with many predictions waiting is told when there is room") {
  Posted posted;
  int told = 0;
  for (int i = 0; i < 67; ++i) posted.push(1);
  CHECK_FALSE(posted.queue.crowded(1));
  CHECK_FALSE(posted.queue.hold_back(1, [] {}));
  // Four have started.
  posted.push(1);
  CHECK(posted.queue.crowded(1));
  CHECK_FALSE(posted.queue.crowded(2));
  CHECK(posted.queue.hold_back(1, [&told] { ++told; }));
  posted.run();
  while (told == 0 && !posted.tickets.empty()) {
    posted.finish();
    posted.run();
  }
  CHECK(told == 1);
  CHECK(posted.order.size() == 36);
  posted.push(1);
  while (!posted.tickets.empty()) {
    posted.finish();
    posted.run();
  }
  CHECK(posted.order.size() == 69);
  CHECK(told == 1);
}

TEST_CASE("predictions that have not started can be dropped") {
  Posted posted;
  for (int i = 0; i < 10; ++i) posted.push(1);
  posted.queue.clear();
  posted.run();
  CHECK(posted.order.size() == 4);
  posted.tickets.clear();
  posted.run();
  CHECK(posted.order.size() == 4);
  posted.push(1);
  posted.run();
  CHECK(posted.order.size() == 5);
}

TEST_CASE("a prediction that cannot be started for lack of memory is refused, or starts later") {
  Posted posted;
  posted.refused = 1;
  CHECK_THROWS_AS(posted.push(1), std::bad_alloc);
  posted.run();
  CHECK(posted.order.empty());
  for (int i = 0; i < 6; ++i) posted.push(1);
  posted.run();
  CHECK(posted.order.size() == 4);
  // The end of one starts the next, which is not the caller's: it stays in line until another ends.
  posted.refused = 1;
  posted.finish();
  posted.run();
  CHECK(posted.order.size() == 4);
  posted.finish();
  posted.run();
  CHECK(posted.order.size() == 6);
  while (!posted.tickets.empty()) posted.finish();
  // With none in flight, no ticket would start it later.
  posted.order.clear();
  for (int i = 0; i < 5; ++i) posted.push(2);
  posted.run();
  CHECK(posted.order.size() == 4);
  posted.refused = 4;
  for (int i = 0; i < 4; ++i) posted.finish();
  posted.run();
  CHECK(posted.order == std::vector<int>(5, 2));
}
