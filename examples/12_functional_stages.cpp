// SPDX-License-Identifier: BSD-3-Clause
// A functional model whose code says itself which call belongs to which stage. It learns how much ink there is in each
// row of an image.
#include <stagecraft/stagecraft.hpp>
#include <cstdio>

#include "command_line/command_line.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

struct ink_of_rows : sc::functional<ink_of_rows> {
  static constexpr std::string_view name = "ink_of_rows";

  static constexpr auto build(auto& model) {
    auto x = model.input(28, 28);
    {
      sc::pipeline_stage stage(model, 0);
      x = dense(8, sc::relu)(x);  // of each row
      x = dense(16, sc::relu)(x);
    }
    {
      sc::pipeline_stage stage(model, 1);
      x = dense(16, sc::relu)(x);
      x = dense(1)(x);
    }
    return x;
  }
};
static_assert(sc::pipeline_stages<ink_of_rows> == 2);
static_assert(sc::stage_of<ink_of_rows, sc::find_call<ink_of_rows>("dense_1")> == 0);
static_assert(sc::stage_of<ink_of_rows, sc::find_call<ink_of_rows>("dense_2")> == 1);

inline constexpr auto training = sc::training{.optimizer = sc::optimizers::adam{},
                                              .loss = sc::losses::mean_squared_error{},
                                              .metrics = sc::metrics::mean_absolute_error{},
                                              .batch_size = 32,
                                              .steps_per_execution = 64,
                                              .pipeline = {.gradient_accumulation_steps_per_replica = 4}};

int main(int argc, char** argv) {
  auto const given = read_arguments(argc, argv, "Trains a functional model in two pipeline stages.", 4);
  auto const [train, test] = load_data(given);
  auto const ink = [](auto const& images) -> xt::xtensor<float, 2> { return xt::sum(images, {2}); };

  sc::print_pipeline_stage_assignment_summary<ink_of_rows>();
  sc::trainer<ink_of_rows, training, sc::host<2>> model;
  int const executions = static_cast<int>(train.y.size()) / (training.batch_size * training.steps_per_execution);
  model.fit(train.x, ink(train.x),
            {.epochs = given.epochs, .steps_per_epoch = executions * training.steps_per_execution});
  auto const [loss, error] = model.evaluate(test.x, ink(test.x), {.verbose = 0});
  std::printf("test loss %.4f; on average, a row's ink is %.4f off\n", loss, error);
}
