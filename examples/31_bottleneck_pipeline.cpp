// SPDX-License-Identifier: BSD-3-Clause
// ResNet-50's bottleneck blocks, two of them, on digits, in four pipeline stages on four emulated IPUs: the compiler
// says how long a weight update takes there and how much memory is left; then the same pipeline is trained by two
// threads of the host. Fails if fewer than 97 % of the test's digits are read.
#include <stagecraft/ipu.hpp>
#include <cstdio>

#include "command_line/command_line.hpp"
#include "models/resnet50.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

struct small_resnet : sc::functional<small_resnet> {
  static constexpr std::string_view name = "small_resnet";

  static constexpr auto build(auto& model) {
    auto x = model.input(28, 28, 1);
    {
      sc::pipeline_stage stage(model, 0);
      x = conv2d{16, 5, {.strides = 2}}.named("conv1_conv")(x);
      x = batch_normalization{}.named("conv1_bn")(x);
      x = activation{sc::relu}.named("conv1_relu")(x);
      x = max_pooling2d{2}.named("pool1_pool")(x);
    }
    {
      sc::pipeline_stage stage(model, 1);
      x = resnet::bottleneck(x, 2, 1, 8, 1, true);
    }
    {
      sc::pipeline_stage stage(model, 2);
      x = resnet::bottleneck(x, 2, 2, 8, 1, false);
    }
    sc::pipeline_stage stage(model, 3);
    x = global_average_pooling2d{}.named("avg_pool")(x);
    return dense{10}.named("predictions")(x);
  }
};
static_assert(sc::pipeline_stages<small_resnet> == 4);

// 128 weight updates in an epoch. The rate falls to nothing in the fourth: at a fixed one, the accuracy of a test
// depends on the last few batches, and on roundings.
inline constexpr auto training = sc::training{
    .optimizer =
        sc::optimizers::adam{.learning_rate = sc::optimizers::schedules::cosine_decay{.initial_learning_rate = 0.01F,
                                                                                      .decay_steps = 4 * 128}},
    .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
    .metrics = sc::metrics::accuracy{},
    .batch_size = 8,
    .steps_per_execution = 128,
    .pipeline = {.gradient_accumulation_steps_per_replica = 8}};

// Four IPUs, of which the host needs nothing but a description.
using ipus = sc::ipu_devices<sc::ipu_config{.auto_select_ipus = 4}>;
inline constexpr auto profile = sc::profile<small_resnet, training, ipus>;
static_assert(profile.fits());
static_assert(profile.bubble() < 0.5);

int main(int argc, char** argv) {
  auto const given = read_arguments(argc, argv, "Trains two of ResNet-50's blocks in four pipeline stages.", 4);
  auto const [train, test] = load_data(given);
  sc::print_pipeline_stage_assignment_summary<small_resnet>();
  std::printf("on four IPUs: %.0f samples/s, bubble %.1f %%\n", profile.samples_per_second(), 100 * profile.bubble());
  for (int stage = 0; stage < 4; ++stage)
    std::printf("stage %d: %.1f KiB of a tile's memory\n", stage,
                static_cast<double>(profile.memory(stage).peak()) / 1024);

  sc::trainer<small_resnet, training, sc::host<2>> model;
  model.fit(train.x, train.y, {.epochs = given.epochs, .steps_per_epoch = 1024});
  auto const [loss, accuracy] = model.evaluate(test.x, test.y, {.verbose = 0});
  std::printf("test loss %.4f, test accuracy %.4f\n", loss, accuracy);
  return accuracy >= 0.97 ? 0 : 1;
}
