// SPDX-License-Identifier: BSD-3-Clause
// Stages and schedules tile by tile, with what they recompute, offload and replicate: close to the host without stages.
#include "policies.hpp"
#include "policies_models.hpp"

namespace {

using namespace laws;  // NOLINT: the tests' own

using chain =
    sc::sequential<input{6}, dense{8, sc::tanh}, dropout{0.25F}, batch_normalization{}, dense{7, sc::swish}, dense{5}>;
using staged_chain = sc::pipelined<chain, sc::stages<0, 0, 0, 1, 1>>;
using chain_on_one_ipu = sc::pipelined<chain, sc::stages<0, 0, 1, 1, 1>, sc::device_mapping<0, 0>>;

/// What the first stage makes goes to three layers in both stages, whose gradients are added.
struct branches : sc::functional<branches> {
  static constexpr auto build(auto& model) {
    auto x = dense(6, sc::tanh)(model.input(5));
    auto a = add()(dense(6, sc::relu)(x), x);
    return dense(4)(add()(dense(6, sc::swish)(a), x));
  }
};
using staged_branches = sc::pipelined<branches, sc::stages<0, 0, 0, 1, 1, 1>>;

struct image : sc::functional<image> {
  static constexpr auto build(auto& model) {
    auto x =
        max_pooling2d(2)(batch_normalization()(conv2d(4, 3, {.padding = sc::padding::same})(model.input(4, 4, 2))));
    return dense(3)(flatten()(conv2d(3, 2, sc::relu)(x)));
  }
};
using staged_image = sc::pipelined<image, sc::stages<0, 0, 0, 1, 1, 1>>;

constexpr auto training_with(sc::pipelining_options options, int replicas = 1) {
  options.gradient_accumulation_steps_per_replica = 4;
  return sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = 0.05F, .momentum = 0.5F},
                      .loss = sc::losses::mean_squared_error{},
                      .batch_size = 3,
                      .steps_per_execution = 8,
                      .pipeline = options,
                      .num_replicas = replicas};
}
inline constexpr auto plain = training_with({});
inline constexpr auto interleaved = training_with({.schedule = sc::schedule::interleaved});
inline constexpr auto sequential = training_with({.schedule = sc::schedule::sequential});
inline constexpr auto interleaved_recomputing =
    training_with({.schedule = sc::schedule::interleaved,
                   .recomputation_mode = sc::recomputation_mode::recompute_then_backpropagate});
inline constexpr auto sequential_recomputing =
    training_with({.schedule = sc::schedule::sequential,
                   .recomputation_mode = sc::recomputation_mode::recompute_and_backpropagate_interleaved});
constexpr auto offloading_all(sc::recomputation_mode mode) {
  return training_with({.recomputation_mode = mode,
                        .offload_activations = sc::offload::remote,
                        .offload_gradient_accumulation_buffers = sc::offload::remote,
                        .offload_weight_update_variables = sc::offload::remote,
                        .offload_weights = sc::offload::remote});
}
inline constexpr auto offloading = offloading_all(sc::recomputation_mode::none);
inline constexpr auto offloading_recomputing = offloading_all(sc::recomputation_mode::automatic);
inline constexpr auto replicated = training_with({}, 2);
inline constexpr auto replicated_interleaved =
    training_with({.schedule = sc::schedule::interleaved, .offload_weights = sc::offload::remote}, 2);

template <int Threads>
using few_tiles =
    sc::ipu<sc::ipu_config{.auto_select_ipus = 4, .ipu_model = {.tiles_per_ipu = 8, .checked = true}}, Threads>;

/// 1e-5 of the largest number of each prediction, loss and weight; not the same, since tiles add in another order.
/// Schedules, storage and threads do not change that order: `before`, if there is anything, are the same bits.
template <class Staged, auto Training, int Threads = 2>
void check_staged(std::vector<number_group> const& expected, std::vector<number_group>& before) {
  auto const found = groups_of<Staged, Training, few_tiles<Threads>>();
  auto const worst = largest_deviation(expected, found);
  CAPTURE(worst.where);
  CHECK(worst.relative <= 1e-5);
  CHECK(worst.relative > 0);
  if (!before.empty()) CHECK(different_bits(before, found) == "");
  before = found;
}

}  // namespace

TEST_CASE("a chain in each schedule, recomputed and offloaded") {
  auto const expected = groups_of<chain, plain, sc::host<>>();
  std::vector<number_group> found;
  check_staged<chain_on_one_ipu, sequential, 1>(expected, found);
  check_staged<staged_chain, sequential_recomputing>(expected, found);
  check_staged<staged_chain, interleaved_recomputing>(expected, found);
  check_staged<staged_chain, offloading_recomputing>(expected, found);
}

TEST_CASE("branches, whose gradients are added") {
  auto const expected = groups_of<branches, plain, sc::host<>>();
  std::vector<number_group> found;
  check_staged<staged_branches, interleaved>(expected, found);
  check_staged<staged_branches, sequential_recomputing, 1>(expected, found);
  check_staged<staged_branches, offloading>(expected, found);
}

TEST_CASE("images") {
  auto const expected = groups_of<image, plain, sc::host<>>();
  std::vector<number_group> found;
  check_staged<staged_image, offloading_recomputing>(expected, found);
}

TEST_CASE("replicas of two stages") {
  auto const expected = groups_of<chain, replicated, sc::host<>>();
  std::vector<number_group> found;
  check_staged<staged_chain, replicated, 4>(expected, found);
  check_staged<staged_chain, replicated_interleaved>(expected, found);
}
