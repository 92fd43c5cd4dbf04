// SPDX-License-Identifier: BSD-3-Clause
// Updates of weights on the tiles of an emulated IPU: values, and that what is counted is what was foretold.
#include <stagecraft/ipu/lowering/update.hpp>
#include <stagecraft/ipu/tasks/tasks.hpp>
#include <stagecraft/ipu/tiles/codelets/run_task.hpp>
#include <stagecraft/ipu/tiles/codelets/update.hpp>
#include <stagecraft/ipu/tiles/half_rounding.hpp>
#include <stagecraft/kernels/update/update.hpp>
#include <stagecraft/optimizers/optimizers.hpp>
#include <stagecraft/regularizers/regularizers.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <doctest/doctest.h>

#include <vector>
#include "../../../optimizers/norms_of_step.hpp"
#include "../../../optimizers/optimizer_table.hpp"
#include "run_on_tiles.hpp"

namespace sc = stagecraft;
using sc::dtype, sc::tiles::tensor_role;
using tests::run_on_tiles, tests::target_of;

namespace {

std::vector<float> numbers(std::int64_t count, int seed) {
  std::vector<float> result;
  auto state = static_cast<std::uint32_t>(seed) * 2654435761U + 1;
  for (std::int64_t i = 0; i < count; ++i) {
    state = state * 1664525U + 1013904223U;
    result.push_back(static_cast<float>(static_cast<int>(state >> 24) - 128) / 64.0F);
  }
  return result;
}

void check_near(std::vector<float> const& actual, std::vector<float> const& expected, float tolerance) {
  REQUIRE(actual.size() <= expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i)
    if (!(std::fabs(actual[i] - expected[i]) <= tolerance * (1 + std::fabs(expected[i]))))
      FAIL_CHECK("element " << i << " is " << actual[i] << ", not " << expected[i]);
}

tests::run_result check_cost(sc::tiles::lowered_step const& step, sc::ipu_target const& target,
                             std::vector<std::vector<float>> const& values, sc::tiles::step_values const& at_run_time) {
  auto const result = run_on_tiles(step, target, values, sc::tiles::run_task, at_run_time);
  sc::tiles::operation_cost cost;
  std::int64_t copies = 0;
  for (int i = 0; i < step.task_count; ++i) {
    auto own = cost_of(step, step.tasks[i], target);
    copies = std::max(copies, own.temporary_bytes);
    own.temporary_bytes = 0;
    cost += own;
  }
  CHECK(result.counted == cost);
  CHECK(sc::tiles::rounded_bytes(result.high_water_mark) == result.tensor_bytes + copies);
  return result;
}

struct types {
  dtype weight, gradient;
};

template <auto Optimizer>
void check_update(std::int64_t elements, types const& type, int tiles, sc::regularizer const& penalty = {}) {
  constexpr int slots = sc::detail::slots_of<Optimizer>;
  auto weight = numbers(elements, 1);
  auto const gradient = numbers(elements, 2);
  std::vector<std::vector<float>> values{weight, gradient};
  std::vector<float> state;
  for (int i = 0; i < slots; ++i) {
    auto one = numbers(elements, 3 + i);
    for (auto& number : one) number = std::fabs(number) + (i == 0 ? 16.0F : 1.0F);
    values.push_back(one);
    state.insert(state.end(), one.begin(), one.end());
  }
  // The host's, which reads whole registers.
  auto summed = gradient;
  weight.resize(weight.size() + 64);
  summed.resize(summed.size() + 64);
  state.resize(state.size() + 64);
  sc::kernels::add_regularization_gradient(penalty, weight.data(), summed.data(), elements);
  auto const norms = laws::norms_of_step<Optimizer>(0.125F, 3, weight.data(), summed.data(), state.data(),
                                                    static_cast<std::size_t>(elements));
  sc::kernels::update<Optimizer>(0.125F, 3, weight.data(), summed.data(), state.data(), elements, elements,
                                 norms.data());

  sc::tiles::lowered_step step;
  int const w = step.tensor(tensor_role::weight, 0, type.weight, elements);
  int const g = step.tensor(tensor_role::accumulator, 0, type.gradient, elements);
  int slot[4]{};
  for (int i = 0; i < slots; ++i) slot[i] = step.tensor(tensor_role::optimizer_state, i, type.weight, elements);
  // Each norm on the tiles, the places of all after the other tensors.
  std::vector<sc::tiles::given_norm> given;
  sc::detail::for_each_norm<Optimizer>([&]<int Norm>() {
    int const result = step.tensor(tensor_role::norm, Norm, dtype::float32, 1);
    append_norm(step, sc::detail::view_of_norms<Optimizer, 1U << Norm>, w, g, slot, slots, given, result);
    given.push_back({result, sc::update_tracer::first_norm + Norm});
    values.push_back({});
  });
  append_update(step, sc::detail::view_of_optimizer<Optimizer>, w, g, slot, penalty, given);
  auto const result = check_cost(step, target_of(tiles), values, {.update = 3, .learning_rate = 0.125F});
  // The host's steps: in float32 they have its bits.
  bool const has_same_bits = type.weight == dtype::float32 && type.gradient == dtype::float32 && given.empty();
  float const tolerance = type.weight == dtype::float16 ? 2e-3F : has_same_bits ? 0.0F : 2e-6F;
  check_near(result.tensors[0], weight, tolerance);
  CHECK(result.tensors[1] == gradient);
  for (int i = 0; i < slots; ++i)
    check_near(result.tensors[static_cast<std::size_t>(2 + i)],
               std::vector<float>(state.begin() + i * elements, state.end()), tolerance);
}

template <auto Optimizer>
void check_updates() {
  for (auto const& type : {types{dtype::float32, dtype::float32}, types{dtype::float16, dtype::float32},
                           types{dtype::float32, dtype::float16}, types{dtype::float16, dtype::float16}})
    for (int const tiles : {1, 3, 8, 64})
      for (std::int64_t const elements : {1, 12, 100, 1001}) {
        check_update<Optimizer>(elements, type, tiles);
        check_update<Optimizer>(elements, type, tiles, sc::regularizers::l1_l2{.l1 = 0.25F, .l2 = 0.125F});
      }
}

}  // namespace

TEST_CASE("all other optimizers do on tiles what they do on the host") {
  laws::with_optimizers([]<auto Optimizer>(char const* name) {
    CAPTURE(name);
    check_update<Optimizer>(101, {dtype::float32, dtype::float32}, 8);
    // Norms contain what penalties add to the gradient before the update.
    bool const has_norms = sc::detail::norms_of<Optimizer>.count > 0;
    check_update<Optimizer>(12, {dtype::float32, dtype::float16}, 3,
                            has_norms ? sc::regularizer{} : sc::regularizers::l1_l2{.l1 = 0.25F, .l2 = 0.125F});
  });
}
TEST_CASE("optimizers do on tiles what they do on the host") {
  using namespace sc::optimizers;
  check_updates<sgd{}>();
  check_updates<sgd{.momentum = 0.5F}>();
  check_updates<sgd{.momentum = 0.5F, .nesterov = true}>();
  check_updates<rmsprop{}>();
  check_updates<rmsprop{.momentum = 0.5F}>();
  check_updates<rmsprop{.rho = 0.5F, .centered = true}>();
  check_updates<rmsprop{.rho = 0.5F, .momentum = 0.5F, .centered = true}>();
  check_updates<adam{}>();
  check_updates<adam{.beta_1 = 0.5F, .beta_2 = 0.75F, .amsgrad = true}>();
}

TEST_CASE("penalties of weights") {
  for (dtype const type : {dtype::float32, dtype::float16})
    for (int const tiles : {1, 3, 8, 64})
      for (std::int64_t const elements : {1, 12, 1001})
        for (auto const& penalty :
             {sc::regularizers::l1_l2{.l1 = 0.5F, .l2 = 0}, {.l1 = 0, .l2 = 0.25F}, {.l1 = 0.5F, .l2 = 2}}) {
          auto weight = numbers(elements, 1);
          sc::tiles::lowered_step step;
          int const w = step.tensor(tensor_role::weight, 0, type, elements);
          int const sum = step.tensor(tensor_role::loss, 0, dtype::float32, 1);
          append_penalty(step, penalty, w, sum);
          auto const result = check_cost(step, target_of(tiles), {weight, {}}, {});
          weight.resize(weight.size() + 64);
          check_near(result.tensors[1], {sc::kernels::regularization_loss(penalty, weight.data(), elements)}, 1e-5F);
        }
}

TEST_CASE("moving statistics move by the samples that are valid") {
  for (dtype const type : {dtype::float32, dtype::float16})
    for (bool const unbiased : {false, true}) {
      sc::tiles::lowered_step step;
      int const moving = step.tensor(tensor_role::weight, 0, type, 3);
      int const statistic = step.tensor(tensor_role::saved, 0, dtype::float32, 3);
      append_move_statistic(step, moving, statistic, 0.75F, unbiased, 2);
      auto const result = check_cost(step, target_of(2), {{1, 2, 3}, {4, 8, -4}}, {.valid_samples = 4});
      float const correction = unbiased ? 8.0F / 7.0F : 1.0F;
      check_near(result.tensors[0], {0.75F + correction, 1.5F + 2 * correction, 2.25F - correction},
                 type == dtype::float16 ? 1e-3F : 1e-6F);
    }
}

TEST_CASE("a momentum close to 1 is taken from 1 in double, as in Keras") {
  sc::tiles::lowered_step step;
  int const moving = step.tensor(tensor_role::weight, 0, dtype::float32, 2);
  int const statistic = step.tensor(tensor_role::saved, 0, dtype::float32, 2);
  append_move_statistic(step, moving, statistic, 0.99999);
  auto const result = check_cost(step, target_of(2), {{0, 0}, {100000, -200000}}, {.valid_samples = 4});
  check_near(result.tensors[0], {1, -2}, 1e-6F);  // in float it would be 1.0014
}

TEST_CASE("means over the samples that are valid") {
  for (int const tiles : {1, 2, 8}) {
    sc::tiles::lowered_step step;
    int const sum = step.tensor(tensor_role::saved, 0, dtype::float32, 5);
    int const mean = step.tensor(tensor_role::saved, 16, dtype::float32, 5);
    append_valid_mean(step, sum, mean, 2);
    auto const result = check_cost(step, target_of(tiles), {{8, 16, 0, -8, 4}, {}}, {.valid_samples = 4});
    CHECK(result.tensors[1] == std::vector<float>{1, 2, 0, -1, 0.5F});
  }
}

TEST_CASE("what only fills a batch becomes 0") {
  for (dtype const type : {dtype::float32, dtype::float16})
    for (int const tiles : {1, 3, 8})
      for (int const valid : {1, 2, 5}) {
        sc::tiles::lowered_step step;
        int const tensor = step.tensor(tensor_role::input_gradient, 0, type, 5 * 7);
        append_clear_filling(step, tensor, 7);
        auto expected = numbers(5 * 7, 1);
        auto const result = check_cost(step, target_of(tiles), {expected}, {.valid_samples = valid});
        for (std::size_t i = static_cast<std::size_t>(7 * valid); i < expected.size(); ++i) expected[i] = 0;
        CHECK(result.tensors[0] == expected);
      }
}
