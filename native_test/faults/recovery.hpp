// What has to hold after every fault.
#pragma once

#include <doctest/doctest.h>

#include "faults/scenario.hpp"

namespace dala::test {

// Settings of the environment.
Config config_with(bool zero_copy);

// Runs a part in which something fails: success or an error, and never a wrong result.
void run_faulted(const Part& part);

// The memory of everything that has ended is given back.
bool all_given_back();

// Nothing is leaked, and the same work succeeds.
void check_recovered(const Part& part);

// All faults instead of some of them.
bool thorough();

// Some of the numbers 1..count: all where they are few, and otherwise the first ones and others
// evenly apart.
std::vector<long> some_of(long count, long few);

}  // namespace dala::test
