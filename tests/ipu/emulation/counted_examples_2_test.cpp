// SPDX-License-Identifier: BSD-3-Clause
// What tiles count in trainings of the examples is what the profile said before: functional models and subclasses.
#include <stagecraft/stagecraft.hpp>

#include <doctest/doctest.h>

#include "../../../examples/command_line/command_line.hpp"
#include "counting.hpp"

// The programs' main functions become templates that nobody instantiates: without that, each would compile a trainer
// for the host.
#define main(count, values) main_of_example(auto argc, auto argv)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wreturn-type"  // only main may end without a return
namespace example_04 {
#include "../../../examples/04_functional.cpp"
}
namespace example_05 {
#include "../../../examples/05_subclass.cpp"
}
namespace example_08 {
#include "../../../examples/08_training.cpp"
}
namespace example_12 {
#include "../../../examples/12_functional_stages.cpp"
}
namespace example_14 {
#include "../../../examples/14_subclass_stages.cpp"
}
#pragma GCC diagnostic pop
#undef main

using namespace counting;  // NOLINT: the tests' own

TEST_CASE("04_functional") { check_training<example_04::plain, example_04::training, 1>(); }

TEST_CASE("05_subclass") { check_training<example_05::network, example_05::training, 1>(); }

TEST_CASE("08_training") { check_training<example_08::digit_and_ink, example_08::training, 1>(); }

TEST_CASE("12_functional_stages") { check_training<example_12::ink_of_rows, example_12::training, 2>(); }

// Devices 0 to 2, of the four that a replica gets. `staged` has the same stages and is not trained.
TEST_CASE("14_subclass_stages") { check_training<example_14::assigned, example_14::training, 4>(); }
