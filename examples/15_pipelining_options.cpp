// SPDX-License-Identifier: BSD-3-Clause
// Options of a pipeline: when each device works, what it keeps meanwhile and where. The compiler knows what they cost;
// the weights do not depend on them, bit for bit.
#include <stagecraft/stagecraft.hpp>
#include <cstdio>

#include "command_line/command_line.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{256, sc::relu}, dense{128, sc::relu}, dense{10}>;
using two_stages = sc::pipelined<mlp, sc::stages<0, 0, 1, 1>>;

/// The options that all have: sixteen micro-batches per weight update.
constexpr auto with(sc::pipelining_options options) {
  options.gradient_accumulation_steps_per_replica = 16;
  return sc::training{.optimizer = sc::optimizers::rmsprop{},
                      .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                      .metrics = sc::metrics::accuracy{},
                      .batch_size = 32,
                      .steps_per_execution = 128,
                      .pipeline = options};
}
inline constexpr auto grouped = with({});
inline constexpr auto interleaved = with({.schedule = sc::interleaved});
inline constexpr auto recomputing = with({.recomputation_mode = sc::recomputation_mode::automatic,
                                          .offload_activations = sc::offload::remote,
                                          .offload_weight_update_variables = sc::offload::remote});

// While one micro-batch is on its way to the last stage and back, the first stage begins with others, and keeps what
// their backward passes need.
static_assert(sc::pipeline_activations_alive<two_stages, grouped, 0> == 3);
static_assert(sc::pipeline_activations_alive<two_stages, interleaved, 0> == 2);
static_assert(sc::pipeline_slots<two_stages, grouped> < sc::pipeline_slots<two_stages, interleaved>);

/// The memory of the first device and, where that is asked for, remote memory beside it.
template <auto const& Training>
constexpr sc::device_memory held = sc::device_memory_of<two_stages, Training, 0>;
static_assert(held<interleaved>.activations.on_device < held<grouped>.activations.on_device);
static_assert(held<recomputing>.on_device() < held<interleaved>.on_device());
static_assert(held<recomputing>.remote() > 0 && held<grouped>.remote() == 0);

template <auto const& Training>
auto train(char const* name, sc::datasets::labelled_split const& data, int epochs) {
  sc::trainer<two_stages, Training, sc::host<2>> model;
  int const executions = static_cast<int>(data.train.y.size()) / (Training.batch_size * Training.steps_per_execution);
  model.fit(data.train.x, data.train.y,
            {.epochs = epochs, .verbose = 0, .steps_per_epoch = executions * Training.steps_per_execution});
  auto const [loss, accuracy] = model.evaluate(data.test.x, data.test.y, {.verbose = 0});
  std::printf("%-11s: %d slots per weight update, %lld KB on the first device; test loss %.4f, test accuracy %.4f\n",
              name, static_cast<int>(sc::pipeline_slots<two_stages, Training>), held<Training>.on_device() / 1024, loss,
              accuracy);
  return model.get_weights();
}

int main(int argc, char** argv) {
  auto const given = read_arguments(argc, argv, "Trains a pipeline with different options.", 2);
  auto const data = load_data(given);

  auto const weights = train<grouped>("grouped", data, given.epochs);
  bool const same = train<interleaved>("interleaved", data, given.epochs) == weights &&
                    train<recomputing>("recomputing", data, given.epochs) == weights;
  std::printf("the weights are %s\n", same ? "the same" : "different");
}
