// Invariants that must hold after every fault.
#pragma once

#include <doctest/doctest.h>

#include "faults/scenario.hpp"

namespace dala::test {

// Settings of the environment.
Config config_with(bool zero_copy);

// Runs a part with a fault: it may succeed or fail, but never return a wrong result.
void run_faulted(const Part& part);

// Whether the memory of everything that has ended is released.
bool all_given_back();

// Checks that nothing leaks, and that the same work succeeds.
void check_recovered(const Part& part);

// Whether to try all faults instead of a sample.
bool thorough();

// A sample of 1..count: all if there are few, otherwise the first ones and others evenly spaced.
std::vector<long> some_of(long count, long few);

}  // namespace dala::test
