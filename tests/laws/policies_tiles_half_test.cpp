// SPDX-License-Identifier: BSD-3-Clause
// Tile by tile: half precision is close to float32, stages are close to the host, and the tiles' own rounding is the
// IPU's.
#include "policies.hpp"
#include "policies_models.hpp"

namespace {

using namespace laws;  // NOLINT: the tests' own

using chain = sc::sequential<input{6}, dense{8, sc::tanh}, batch_normalization{}, dense{7, sc::swish}, dense{5}>;
using staged = sc::pipelined<chain, sc::stages<0, 0, 1, 1>>;
inline constexpr auto accumulating =
    sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = 0.05F, .momentum = 0.5F},
                 .loss = sc::losses::mean_squared_error{},
                 .batch_size = 4,
                 .steps_per_execution = 8,
                 .pipeline = {.gradient_accumulation_steps_per_replica = 4}};

template <int Threads, sc::floating_point_behaviour_options Behaviour = {}>
using two_ipus = sc::ipu<sc::ipu_config{.auto_select_ipus = 2,
                                        .ipu_model = {.tiles_per_ipu = 8, .checked = true},
                                        .floating_point_behaviour = Behaviour},
                         Threads>;

inline constexpr auto too_fast = [] {
  auto result = accumulating;
  result.optimizer.learning_rate = 1e6F;
  result.dtype_policy = sc::dtype_policies::mixed_float16;
  return result;
}();

}  // namespace

TEST_CASE("networks in half precision") { check_half<network_model, plain_training, tiles>(0.02, 0.01); }

TEST_CASE("stages") {
  auto const expected = groups_of<chain, accumulating, sc::host<>>();
  auto const found = groups_of<staged, accumulating, two_ipus<1>>();
  auto const worst = largest_deviation(expected, found);
  CAPTURE(worst.where);
  CHECK(worst.relative <= 1e-5);
  CHECK(worst.relative > 0);
  CHECK(different_bits(found, groups_of<staged, accumulating, two_ipus<2>>()) == "");
}

TEST_CASE("random rounding, and what is too large") {
  constexpr auto mixed = with_dtypes<accumulating, sc::dtype_policies::mixed_float16>;
  constexpr sc::floating_point_behaviour_options at_random{.esr = sc::stochastic_rounding_behaviour::on};
  auto const expected = groups_of<staged, mixed, two_ipus<1, at_random>>();
  CHECK(different_bits(expected, groups_of<staged, mixed, two_ipus<2, at_random>>()) == "");
  CHECK(different_bits(expected, groups_of<staged, mixed, two_ipus<1>>()) != "");

  static constexpr sc::floating_point_behaviour_options stops{.oflo = true};
  CHECK_THROWS_AS(static_cast<void>(groups_of<staged, too_fast, two_ipus<2, stops>>()), sc::floating_point_error);
}
