// SPDX-License-Identifier: BSD-3-Clause
// Losses and optimizers on emulated IPUs: the bits of the host.
#include "policies.hpp"
#include "policies_trainings.hpp"

static constexpr auto check = []<class M, auto Training>() { laws::check_fast<M, Training>(); };

TEST_CASE("losses and optimizers") { laws::with_all_losses_and_optimizers(check); }
