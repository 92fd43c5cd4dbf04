// SPDX-License-Identifier: BSD-3-Clause
// What tiles count in trainings of the examples is what the profile said before, for every pass and every weight
// update, and they use as much memory. Each example's model and training are those of its file, on as few tiles as hold
// them. Here and in counted_examples_5_test.cpp: perceptrons; counted_examples_2_test.cpp: functional models and
// subclasses; counted_examples_3_test.cpp: images and a layer of one's own; counted_examples_4_test.cpp: the residual
// network.
//
// Not here are 07_stage_check, 09_schedules and 22_resnet50_on_ipus, which only ask the compiler and train nothing.
// (09's three schedules are in counted_sessions_test.cpp and counted_images_test.cpp.)
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
namespace example_01 {
#include "../../../examples/01_mnist.cpp"
}
namespace example_03 {
#include "../../../examples/03_two_stages.cpp"
}
namespace example_15 {
#include "../../../examples/15_pipelining_options.cpp"
}
namespace example_18 {
#include "../../../examples/18_replicas.cpp"
}
namespace example_19 {
#include "../../../examples/19_porting.cpp"
}
#pragma GCC diagnostic pop
#undef main

using namespace counting;  // NOLINT: the tests' own

TEST_CASE("01_mnist") { check_training<example_01::mlp, example_01::training, 1>(); }

TEST_CASE("15_pipelining_options, 19_porting") {
  check_training<example_15::two_stages, example_15::grouped, 2>();
  check_training<example_15::two_stages, example_15::recomputing, 2>();
  // The third one is that of 03_two_stages.
  static_assert(std::is_same_v<example_15::two_stages, example_03::two_stages>);
  static_assert(same_for_devices<example_15::interleaved, example_03::training>);
  // And this is the first one.
  static_assert(std::is_same_v<example_15::two_stages, example_19::model_in_stages>);
  static_assert(same_for_devices<example_15::grouped, example_19::training>);
}

TEST_CASE("18_replicas") {
  check_training<example_18::two_stages, example_18::training, 4>();
  static_assert(sc::replicas_of<example_18::two_stages, example_18::training, checked_ipus<4, 64>> == 2);
}
