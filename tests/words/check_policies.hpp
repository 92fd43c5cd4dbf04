// SPDX-License-Identifier: BSD-3-Clause
// What models of the words do in stages, with the bits of no stages, and on tiles as on the host.
#pragma once

#include "../laws/policies.hpp"
#include "../pipelined/random_stages.hpp"
#include "models.hpp"

namespace words {

inline constexpr auto staged_training =
    sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = 0.02F},
                 .loss = sc::losses::mean_squared_error{},
                 .batch_size = 3,
                 .steps_per_execution = 8,
                 .pipeline = {.gradient_accumulation_steps_per_replica = 4, .schedule = sc::interleaved}};

template <class M>
void check_policies() {
  using staged = typename random_runs::with_random_stages<M, 2, 7, random_runs::devices_drawn::one_each>::type;
  auto const expected = laws::groups_of<M, staged_training, sc::host<>>();
  CHECK(laws::different_bits(expected, laws::groups_of<staged, staged_training, sc::host<2>>()) == "");
  auto const on_tiles = laws::largest_deviation(expected, laws::groups_of<M, staged_training, laws::tiles>());
  CAPTURE(on_tiles.where);
  CHECK(on_tiles.relative <= 1e-5);
}

}  // namespace words
