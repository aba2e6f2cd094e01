// Intercepts the allocator and makes one allocation fail.
#pragma once

namespace dala::test {

class AllocFaults {
 public:
  // From now on the nth allocation (1 is the next) of the library fails, once. Allocations of a
  // driver do not count.
  static void arm(long nth);
  // Removes the fault; returns whether it occurred.
  static bool disarm();

  // The number of allocations that the action makes.
  template <typename Action>
  static long count(Action action) {
    arm(kNever);
    action();
    return stop_counting();
  }

 private:
  static constexpr long kNever = 1L << 60;
  static long stop_counting();
};

}  // namespace dala::test
