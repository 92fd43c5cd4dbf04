// SPDX-License-Identifier: BSD-3-Clause
// What tiles count in trainings of the perceptrons that counted_examples_test.cpp leaves out is what the profile said.
#include <stagecraft/ipu.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <thread>
#include <type_traits>

#include "../../../examples/command_line/command_line.hpp"
#include "counting.hpp"

// The programs' main functions become templates that nobody instantiates: without that, each would compile a trainer
// for the host.
#define main(count, values) main_of_example(auto argc, auto argv)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wreturn-type"  // only main may end without a return
namespace example_03 {
#include "../../../examples/03_two_stages.cpp"
}
namespace example_10 {
#include "../../../examples/10_steps_per_execution.cpp"
}
namespace example_11 {
#include "../../../examples/11_gradient_accumulation.cpp"
}
namespace example_16 {
#include "../../../examples/16_queues.cpp"
}
namespace example_17 {
#include "../../../examples/17_asynchronous_callbacks.cpp"
}
namespace example_21 {
#include "../../../examples/21_emulated_ipus.cpp"
}
#pragma GCC diagnostic pop
#undef main

using namespace counting;  // NOLINT: the tests' own

TEST_CASE("03_two_stages") { check_training<example_03::two_stages, example_03::training, 2>(); }

TEST_CASE("10_steps_per_execution, 16_queues, 17_asynchronous_callbacks") {
  check_training<example_10::mlp, example_10::training<1>, 1>();
  // The others are the same for devices.
  static_assert(same_for_devices<example_10::training<1>, example_10::training<example_10::steps_of_epoch>>);
  static_assert(std::is_same_v<example_10::mlp, example_16::mlp> && std::is_same_v<example_10::mlp, example_17::mlp>);
  static_assert(same_for_devices<example_10::training<1>, example_16::plain>);
  static_assert(same_for_devices<example_10::training<1>, example_16::queued>);
  static_assert(same_for_devices<example_10::training<1>, example_17::training<false>>);
  static_assert(same_for_devices<example_10::training<1>, example_17::training<true>>);
}

TEST_CASE("11_gradient_accumulation") {
  check_training<example_11::mlp, example_11::training, 1>();
  check_training<example_11::mlp, example_11::large_batches, 1>();
}

// The stages are those that the compiler has chosen for all tiles of two IPUs.
TEST_CASE("21_emulated_ipus") { check_training<example_21::two_stages, example_21::training, 2>(); }
