// SPDX-License-Identifier: BSD-3-Clause
// A functional model: ordinary constexpr code with a function for a block, a loop, a nested model and scopes of
// pipeline stages.
#include <stagecraft/stagecraft.hpp>
#include <cstdio>

#include "command_line/command_line.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

/// Two dense layers and a way around them.
constexpr auto residual(auto x, int units) {
  auto y = dense(units, sc::relu)(x);
  y = dense(units)(y);
  return activation(sc::relu)(add{}(x, y));
}

using head = sc::sequential<dropout{0.2F}, dense{10}>;

struct residual_mlp : sc::functional<residual_mlp> {
  static constexpr std::string_view name = "residual_mlp";

  static constexpr auto build(auto& model) {
    auto x = model.input(28, 28);
    {
      sc::pipeline_stage stage(model, 0);
      x = dense(128, sc::relu)(flatten{}(x));
      for (int block = 0; block < 2; ++block) x = residual(x, 128);
    }
    sc::pipeline_stage stage(model, 1);
    x = residual(x, 128);
    return head{}(x);
  }
};
static_assert(sc::pipeline_stages<residual_mlp> == 2);

// This is the model without stages, for a training without micro-batches.
using plain = sc::unpipelined<residual_mlp>;

inline constexpr auto training =
    sc::training{.optimizer = sc::optimizers::adam{},
                 .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                 .metrics = {sc::metrics::accuracy{}, sc::metrics::sparse_top_k_categorical_accuracy{.k = 3}},
                 .batch_size = 64};

int main(int argc, char** argv) {
  auto const given = read_arguments(argc, argv, "Trains a residual perceptron written as a function.", 3);
  auto const [train, test] = load_data(given);
  sc::summary<residual_mlp>();
  sc::print_pipeline_stage_assignment_summary<residual_mlp>();

  sc::trainer<plain, training> model;
  sc::callbacks::early_stopping stopping({.monitor = "val_loss", .patience = 2, .restore_best_weights = true});
  model.fit(train.x, train.y, {.epochs = given.epochs, .callbacks = {&stopping}, .validation_split = 0.1});
  auto const [loss, accuracy, in_top_3] = model.evaluate(test.x, test.y, {.verbose = 0});
  std::printf("test loss %.4f, accuracy %.4f, in the best three %.4f\n", loss, accuracy, in_top_3);
}
