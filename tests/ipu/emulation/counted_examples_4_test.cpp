// SPDX-License-Identifier: BSD-3-Clause
// What tiles count in trainings of the examples is what the profile said before: the small residual network. The large
// one is not trained.
#include <stagecraft/stagecraft.hpp>

#include <doctest/doctest.h>

#include "../../../examples/command_line/command_line.hpp"
#include "counting.hpp"

// The programs' main functions become templates that nobody instantiates: without that, each would compile a trainer
// for the host.
#define main(count, values) main_of_example(auto argc, auto argv)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wreturn-type"  // only main may end without a return
namespace example_13 {
#include "../../../examples/13_existing_model.cpp"
}
#pragma GCC diagnostic pop
#undef main

using namespace counting;  // NOLINT: the tests' own

TEST_CASE("13_existing_model") { check_training<example_13::staged, example_13::training, 2>(); }
