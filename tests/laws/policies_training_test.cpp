// SPDX-License-Identifier: BSD-3-Clause
// Ways to accumulate gradients on emulated IPUs: the bits of the host. Tile by tile, losses and optimizers, too, are in
// policies_tiles_training_test.cpp.
#include "policies.hpp"
#include "policies_trainings.hpp"

namespace sc = stagecraft;

namespace {

using regularized =
    sc::sequential<sc::layers::input{6},
                   sc::layers::dense{8, sc::tanh, {.kernel_regularizer = sc::regularizers::l1_l2{0.01F, 0.02F}}},
                   sc::layers::dense{5}>;
template <auto Optimizer>
constexpr auto accumulated = sc::training{.optimizer = Optimizer,
                                          .loss = sc::losses::huber{.delta = 0.5F},
                                          .batch_size = 4,
                                          .gradient_accumulation = {.gradient_accumulation_steps_per_replica = 2}};

using words = sc::sequential<sc::layers::input{4}, sc::layers::embedding{5, 4}, sc::layers::flatten{},
                             sc::layers::dense{8, sc::tanh}, sc::layers::dense{5}>;
template <auto Optimizer>
constexpr auto at_once =
    sc::training{.optimizer = Optimizer, .loss = sc::losses::huber{.delta = 0.5F}, .batch_size = 4};

}  // namespace

TEST_CASE("rows of tables and kernels that are updated where their gradients are found") {
  laws::check_fast<words, at_once<sc::optimizers::sgd{.learning_rate = 0.02F}>>();
  laws::check_fast<words, at_once<sc::optimizers::rmsprop{}>>();
}

TEST_CASE("a loss that is scaled by a power of two, penalties and all, gives the same weights") {
  using namespace sc::optimizers;
  constexpr sgd plain{.learning_rate = 0.02F};
  auto const expected = laws::groups_of<regularized, accumulated<plain>, sc::host<>>();
  auto const found = laws::groups_of<regularized, accumulated<loss_scale_optimizer{plain, false, 1024}>, laws::fast>();
  CHECK(laws::different_bits(expected, found) == "");
}

static constexpr auto check = []<class M, auto Training>() { laws::check_fast<M, Training>(); };

TEST_CASE("accumulated gradients, replicas, offloaded and sharded state") { laws::with_all_accumulations(check); }
