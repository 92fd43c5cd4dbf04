// SPDX-License-Identifier: BSD-3-Clause
// IPUs with allow_recompute recompute activations where the training does not say anything of it; results stay.
#include "policies.hpp"
#include "policies_models.hpp"

namespace {

using namespace laws;  // NOLINT: the tests' own
using sc::jobs::job;

using chain =
    sc::sequential<input{6}, dense{8, sc::tanh}, dropout{0.25F}, dense{7, sc::swish}, dense{9, sc::relu}, dense{5}>;
using staged = sc::pipelined<chain, sc::stages<0, 0, 0, 1, 1>>;

constexpr auto training_of(sc::recomputation_mode mode) {
  return sc::training{.optimizer = sc::optimizers::adam{},
                      .loss = sc::losses::mean_squared_error{},
                      .batch_size = 4,
                      .steps_per_execution = 8,
                      .pipeline = {.gradient_accumulation_steps_per_replica = 4, .recomputation_mode = mode}};
}
inline constexpr auto plain = training_of(sc::recomputation_mode::none);
inline constexpr auto chosen = training_of(sc::recomputation_mode::recompute_and_backpropagate_interleaved);

using keeping = sc::ipu<sc::ipu_config{.auto_select_ipus = 2}>;
using recomputing = sc::ipu<sc::ipu_config{.auto_select_ipus = 2, .allow_recompute = true}, 2>;

static_assert(sc::training_on<plain, sc::host<>>.pipeline.recomputation_mode == sc::recomputation_mode::none);
static_assert(sc::training_on<plain, keeping>.pipeline.recomputation_mode == sc::recomputation_mode::none);
static_assert(sc::training_on<plain, recomputing>.pipeline.recomputation_mode == sc::recomputation_mode::automatic);
static_assert(sc::training_on<chosen, recomputing>.pipeline.recomputation_mode == chosen.pipeline.recomputation_mode);

/// Steps of the backward pass of the first stage.
template <class Machine>
inline constexpr std::size_t backward_steps =
    sc::plan::pass_plan_of<job<staged, sc::training_on<plain, Machine>, sc::execution_mode::training>, 3>.steps.size();
static_assert(backward_steps<recomputing> > backward_steps<keeping>);

}  // namespace

TEST_CASE("recomputed activations") {
  auto const expected = groups_of<chain, plain, sc::host<>>();
  CHECK(different_bits(expected, groups_of<staged, plain, keeping>()) == "");
  CHECK(different_bits(expected, groups_of<staged, plain, recomputing>()) == "");
}

TEST_CASE("random rounding is the same for any number of threads, and when steps are carried out again") {
  constexpr auto mixed = with_dtypes<plain, sc::dtype_policies::mixed_float16>;
  constexpr sc::ipu_config config{.auto_select_ipus = 2,
                                  .floating_point_behaviour = {.esr = sc::stochastic_rounding_behaviour::on}};
  constexpr auto allowing = [](sc::ipu_config result) {
    result.allow_recompute = true;
    return result;
  };
  auto const expected = groups_of<staged, mixed, sc::ipu<config>>();
  CHECK(different_bits(expected, groups_of<staged, mixed, sc::ipu<config, 2>>()) == "");
  CHECK(different_bits(expected, groups_of<staged, mixed, sc::ipu<allowing(config), 2>>()) == "");
  CHECK(different_bits(expected, groups_of<staged, mixed, keeping>()) != "");
}
