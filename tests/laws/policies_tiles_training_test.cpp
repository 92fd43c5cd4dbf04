// SPDX-License-Identifier: BSD-3-Clause
// Losses, optimizers and the other options of a training, carried out tile by tile: close to the host.
#include "policies.hpp"
#include "policies_trainings.hpp"

static constexpr auto check = []<class M, auto Training>() { laws::check_tiles<M, Training>(); };

TEST_CASE("losses and optimizers") { laws::with_all_losses_and_optimizers(check); }
TEST_CASE("accumulated gradients, replicas, offloaded and sharded state") { laws::with_all_accumulations(check); }
