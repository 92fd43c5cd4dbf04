// SPDX-License-Identifier: BSD-3-Clause
// Lowered losses and updates of whole trainings: what they read, and what comes out.
#include <stagecraft/description/job_on.hpp>
#include <stagecraft/description/training.hpp>
#include <stagecraft/ipu/lowering/lowered_steps.hpp>
#include <stagecraft/ipu/lowering/update.hpp>
#include <stagecraft/ipu/tasks/tasks.hpp>
#include <stagecraft/ipu/tiles/codelets/run_task.hpp>
#include <stagecraft/pipeline.hpp>

#include <doctest/doctest.h>
#include <vector>
#include "call_on_tiles.hpp"

namespace sc = stagecraft;
using sc::dtype, sc::tiles::tensor_role;
using enum sc::execution_mode;

namespace {

/// A layer that is called three times; and one that reads an output, so that its gradient comes from two places.
struct shared_layer : sc::functional<shared_layer> {
  static constexpr auto build(auto& model) {
    sc::layers::dense shared(
        3, {.use_bias = false, .kernel_regularizer = sc::regularizers::l1_l2{.l1 = 0.25F, .l2 = 0.5F}});
    auto b = shared(shared(shared(model.input(3))));
    return sc::outputs(b, b);
  }
};

constexpr auto plain = sc::training{.optimizer = sc::optimizers::sgd{.momentum = 0.5F},
                                    .loss = sc::losses::mean_squared_error{},
                                    .loss_weights = {1, 3},
                                    .batch_size = 2};
constexpr auto accumulates = [] {
  auto training = plain;
  training.gradient_accumulation = {.gradient_accumulation_steps_per_replica = 4};
  return training;
}();

template <class Step>
int count(Step const& step, tensor_role role) {
  int result = 0;
  for (int i = 0; i < step.tensor_count; ++i) result += step.tensors[i].role == role ? 1 : 0;
  return result;
}

using machine = tests::few_tiles<3>;

tests::run_result run(sc::tiles::lowered_step const& step, std::vector<std::vector<float>> const& values,
                      sc::tiles::step_values const& at_run_time) {
  auto const result = tests::run_on_tiles(step, machine::target, values, sc::tiles::run_task, at_run_time);
  sc::tiles::step_cost const foretold(step, machine::target);
  auto cost = foretold.cost;
  cost.temporary_bytes = 0;
  CHECK(result.counted == cost);
  CHECK(sc::tiles::rounded_bytes(result.high_water_mark) == result.tensor_bytes + foretold.temporary_bytes);
  return result;
}

}  // namespace

TEST_CASE("the gradients of all calls of a layer move its weight") {
  constexpr auto step = sc::tiles::lower_update<sc::jobs::job_on<shared_layer, plain, machine>, 0>();
  static_assert(step.tensor_count == 6);  // the weight, three accumulators, the momentum, the penalty
  CHECK(count(step, tensor_role::accumulator) == 3);
  std::vector<std::vector<float>> values;
  for (int i = 0; i < step.tensor_count; ++i) {
    auto const& tensor = step.tensors[i];
    float const value = tensor.role == tensor_role::accumulator ? static_cast<float>(1 << tensor.index) : 2;
    values.emplace_back(static_cast<std::size_t>(tensor.elements), value);
  }
  auto const result = run(step, values, {.learning_rate = 0.5F});
  // Gradient 1 + 2 + 4 + 0.25 + 2 * 0.5 * 2, momentum 0.5 * 2 - 0.5 * that.
  for (int i = 0; i < step.tensor_count; ++i)
    for (float const value : result.tensors[static_cast<std::size_t>(i)]) {
      if (step.tensors[i].role == tensor_role::weight) CHECK(value == 2 - 3.625F);
      if (step.tensors[i].role == tensor_role::optimizer_state) CHECK(value == -3.625F);
    }
}

TEST_CASE("half precision accumulators are added up in float32") {
  static constexpr auto halves = [] {
    auto training = accumulates;
    training.gradient_accumulation.gradient_accumulation_dtype = dtype::float16;
    training.optimizer.momentum = 0;
    return training;
  }();
  constexpr auto step = sc::tiles::lower_update<sc::jobs::job_on<shared_layer, halves, machine>, 0>();
  std::vector<std::vector<float>> values;
  for (int i = 0; i < step.tensor_count; ++i) {
    auto const& tensor = step.tensors[i];
    if (tensor.role == tensor_role::accumulator) CHECK(tensor.type == dtype::float16);
    values.emplace_back(static_cast<std::size_t>(tensor.elements), tensor.role == tensor_role::weight ? 0.0F
                                                                   : tensor.index == 0                ? 2048.0F
                                                                                                      : 1.0F);
  }
  // 2050, which would be 2048 in halves; a weight of 0 has no penalty.
  auto const result = run(step, values, {.learning_rate = 1});
  for (float const value : result.tensors[0]) CHECK(value == -2050);
}

TEST_CASE("the penalty counts once for each micro-batch where gradients are added up") {
  constexpr auto once = sc::tiles::lower_update<sc::jobs::job_on<shared_layer, plain, machine>, 0>();
  constexpr auto four_times = sc::tiles::lower_update<sc::jobs::job_on<shared_layer, accumulates, machine>, 0>();
  auto const l2 = [](sc::tiles::lowered_step const& step) {
    return step.tasks[step.task_count - 2].what.as<sc::tiles::update_task>().l2;
  };
  CHECK(l2(four_times) == 4 * l2(once));
  // Behind the update, the penalty itself; without a gradient and a rate the weight stays.
  int const result = once.tasks[once.task_count - 1].outputs[0];
  std::vector<std::vector<float>> values;
  for (int i = 0; i < once.tensor_count; ++i)
    values.emplace_back(static_cast<std::size_t>(once.tensors[i].elements), i == 0 ? -2.0F : 0.0F);
  CHECK(run(once, values, {.learning_rate = 0}).tensors[static_cast<std::size_t>(result)] ==
        std::vector<float>{9 * (0.5F + 2.0F)});
}

TEST_CASE("the second loss of an output adds to its gradient") {
  constexpr auto first = sc::tiles::lower_loss<sc::jobs::job<shared_layer, plain, training, machine>, 0>();
  constexpr auto second = sc::tiles::lower_loss<sc::jobs::job<shared_layer, plain, training, machine>, 1>();
  CHECK(count(first, tensor_role::temporary) == 0);
  CHECK(count(second, tensor_role::temporary) == 1);
  std::vector<std::vector<float>> const values{
      {1, 2, 3, 4, 5, 6}, {0, 0, 0, 0, 0, 0}, {0.5F, 0.5F}, {}, std::vector<float>(6, 10)};
  auto const alone = run(first, values, {.valid_samples = 2}).tensors;
  CHECK(alone[3][0] == doctest::Approx(91.0 / 6));
  for (std::size_t i = 0; i < 6; ++i) CHECK(alone[4][i] == doctest::Approx(values[0][i] / 3));
  auto const added = run(second, values, {.valid_samples = 2}).tensors;
  CHECK(added[3][0] == alone[3][0]);
  for (std::size_t i = 0; i < 6; ++i) CHECK(added[4][i] == doctest::Approx(10 + values[0][i]));  // weight 3
}

TEST_CASE("without training there is no gradient, and a running mean takes its share") {
  constexpr auto step = sc::tiles::lower_loss<sc::jobs::job<shared_layer, plain, inference, machine>, 0>();
  CHECK(step.tensor_count == 4);
  static constexpr auto running = [] {
    auto training = accumulates;
    training.gradient_accumulation.reduction_method = sc::gradient_accumulation_reduction_method::running_mean;
    return training;
  }();
  constexpr auto of_running_mean = sc::tiles::lower_loss<sc::jobs::job<shared_layer, running, training, machine>, 0>();
  std::vector<std::vector<float>> const values{{1, 2, 3, 4, 5, 6}, {0, 0, 0, 0, 0, 0}, {0.5F, 0.5F}, {}, {}};
  auto const third = run(of_running_mean, values, {.valid_samples = 2, .accumulated = 2}).tensors;
  for (std::size_t i = 0; i < 6; ++i) CHECK(third[4][i] == doctest::Approx(values[0][i] / 9));
}
