// SPDX-License-Identifier: BSD-3-Clause
// A classifier of sequences in two pipeline stages: an embedding and an LSTM that reads it, then what it says.
// Gradients of 16 micro-batches are added up for each weight update, 384 steps at a time. The sequences are drawn: each
// holds some words of praise and of blame, and the last one counts.
#include <stagecraft/stagecraft.hpp>
#include <cstdint>
#include <cstdio>
#include <random>

#include "command_line/command_line.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

constexpr int vocabulary = 50, words = 12;

using classifier =
    sc::sequential<input{words}, embedding{vocabulary, 16}, lstm{24}, dense{16, sc::relu}, dense{1, sc::sigmoid}>;
using two_stages = sc::pipelined<classifier, sc::stages<0, 0, 1, 1>>;
static_assert(sc::pipeline_stages<two_stages> == 2);
static_assert(sc::stage_of<two_stages, sc::find_call<two_stages>("lstm")> == 0);

inline constexpr auto training =
    sc::training{.optimizer = sc::optimizers::adam{.learning_rate = 0.01F},
                 .loss = sc::losses::binary_crossentropy{},
                 .metrics = sc::metrics::accuracy{},
                 .batch_size = 8,
                 .steps_per_execution = 384,
                 .pipeline = {.gradient_accumulation_steps_per_replica = 16, .schedule = sc::grouped}};

struct reviews {
  xt::xtensor<std::uint8_t, 2> x;
  xt::xtensor<float, 2> y;  ///< 1: the last word that matters is praise
};

/// Words from 10 on mean nothing; those below 5 are praise, the others blame.
reviews draw(std::size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  reviews drawn{xt::zeros<std::uint8_t>({count, std::size_t{words}}), xt::zeros<float>({count, std::size_t{1}})};
  for (std::size_t row = 0; row < count; ++row) {
    auto const say = [&](std::size_t at, bool matters) {
      auto const word = static_cast<std::uint8_t>(matters ? engine() % 10 : 10 + engine() % (vocabulary - 10));
      drawn.x(row, at) = word;
      if (matters) drawn.y(row, 0) = word < 5 ? 1.0F : 0.0F;
    };
    for (std::size_t at = 0; at < words; ++at) say(at, engine() % 4 == 0 || at == 0);
  }
  return drawn;
}

int main(int argc, char** argv) {
  auto const given = read_arguments(argc, argv, "Trains an LSTM in two pipeline stages on sequences that it draws.", 3,
                                    "not used: the sequences are drawn");
  auto const train = draw(4 * 384 * 8, 1), test = draw(384 * 8, 2);
  sc::print_pipeline_stage_assignment_summary<two_stages>();
  sc::trainer<two_stages, training, sc::host<2>> model;
  model.fit(train.x, train.y, {.epochs = given.epochs, .validation_data = {test.x, test.y}});
  auto const [loss, accuracy] = model.evaluate(test.x, test.y, {.verbose = 0});
  std::printf("test loss %.4f, test accuracy %.4f\n", loss, accuracy);
}
