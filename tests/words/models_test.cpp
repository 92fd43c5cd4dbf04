// SPDX-License-Identifier: BSD-3-Clause
// Models of the words: in stages with the bits of no stages, and on tiles as on the host.
#include "models.hpp"
#include "../laws/policies.hpp"
#include "../pipelined/random_stages.hpp"

namespace {

namespace sc = stagecraft;

constexpr auto training =
    sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = 0.02F},
                 .loss = sc::losses::mean_squared_error{},
                 .batch_size = 3,
                 .steps_per_execution = 8,
                 .pipeline = {.gradient_accumulation_steps_per_replica = 4, .schedule = sc::interleaved}};

template <class M>
void check() {
  using staged = typename random_runs::with_random_stages<M, 2, 7, random_runs::devices_drawn::one_each>::type;
  auto const expected = laws::groups_of<M, training, sc::host<>>();
  CHECK(laws::different_bits(expected, laws::groups_of<staged, training, sc::host<2>>()) == "");
  auto const on_tiles = laws::largest_deviation(expected, laws::groups_of<M, training, laws::tiles>());
  CAPTURE(on_tiles.where);
  CHECK(on_tiles.relative <= 1e-5);
}

}  // namespace

TEST_CASE("merging, attention") { check<words::merging_model>(); }
TEST_CASE("regularization, scales") { check<words::regularization_model>(); }
TEST_CASE("preprocessing") { check<words::preprocessing_model>(); }
TEST_CASE("windows") { check<words::window_model>(); }
TEST_CASE("augmentation") { check<words::augmentation_model>(); }
TEST_CASE("recurrent") { check<words::recurrent_model>(); }
