// SPDX-License-Identifier: BSD-3-Clause
// What tiles count in trainings of the examples is what the profile said before: images, also in half precision, and a
// layer of one's own.
#include <stagecraft/description/training.hpp>
#include <stagecraft/machines/ipu_devices.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/report/profile_data_of.hpp>
#include <stagecraft/report/report.hpp>
#include <stagecraft/stagecraft.hpp>

#include <doctest/doctest.h>

#include "../../../examples/command_line/command_line.hpp"
#include "counting.hpp"

// The programs' main functions become templates that nobody instantiates: without that, each would compile a trainer
// for the host.
#define main(count, values) main_of_example(auto argc, auto argv)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wreturn-type"  // only main may end without a return
namespace example_02 {
#include "../../../examples/02_cnn.cpp"
}
namespace example_06 {
#include "../../../examples/06_own_layer.cpp"
}
namespace example_20 {
#include "../../../examples/20_profile_report.cpp"
}
#pragma GCC diagnostic pop
#undef main

using namespace counting;  // NOLINT: the tests' own

// With an evaluation.
TEST_CASE("02_cnn") { check_counts<example_02::cnn, example_02::training, checked_ipus<1, 128>, 1, 1>(); }

TEST_CASE("06_own_layer") { check_training<example_06::mlp, example_06::training, 1>(); }

// One weight update is 32 micro-batches.
TEST_CASE("20_profile_report") { check_training<example_20::two_stages, example_20::training, 2, 64, 1>(); }
