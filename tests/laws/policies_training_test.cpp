// SPDX-License-Identifier: BSD-3-Clause
// Ways to accumulate gradients on emulated IPUs: the bits of the host. Tile by tile, losses and optimizers, too, are in
// policies_tiles_training_test.cpp.
#include "policies.hpp"
#include "policies_trainings.hpp"

static constexpr auto check = []<class M, auto Training>() { laws::check_fast<M, Training>(); };

TEST_CASE("accumulated gradients, replicas, offloaded and sharded state") { laws::with_all_accumulations(check); }
