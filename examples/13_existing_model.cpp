// SPDX-License-Identifier: BSD-3-Clause
// An existing model in two stages: one function edits the assignment of ResNet-50, which is checked here, and that of a
// small relative, which is trained.
#include <stagecraft/stagecraft.hpp>
#include <cstdio>

#include "command_line/command_line.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

/// The residual network of tf.keras.applications with its names, but without its layers of zero padding and its
/// softmax: so many blocks in the groups conv2, conv3... The small one is for images of 28 x 28; its groups are all
/// alike, where those of the large one halve the image and double the filters.
template <int Filters, int... Blocks>
struct resnet : sc::functional<resnet<Filters, Blocks...>> {
  static constexpr auto normalized(auto x, int filters, int size, int stride, sc::fixed_name name) {
    auto const part = [&](char const* rest) { return sc::fixed_name(name).append(rest); };
    x = conv2d{filters, size, {.strides = stride, .padding = sc::padding::same}}.named(part("_conv"))(x);
    return batch_normalization{{.momentum = Filters == 64 ? 0.99F : 0.9F, .epsilon = 1.001e-5F}}.named(part("_bn"))(x);
  }

  static constexpr auto block(auto x, int group, int index, int filters, int stride) {
    auto const name = [&](char const* rest) {
      return sc::fixed_name("conv").append(group).append("_block").append(index).append(rest);
    };
    auto shortcut = index == 1 ? normalized(x, 4 * filters, 1, stride, name("_0")) : x;
    x = activation{sc::relu}.named(name("_1_relu"))(normalized(x, filters, 1, stride, name("_1")));
    x = activation{sc::relu}.named(name("_2_relu"))(normalized(x, filters, 3, 1, name("_2")));
    x = add{}.named(name("_add"))(shortcut, normalized(x, 4 * filters, 1, 1, name("_3")));
    return activation{sc::relu}.named(name("_out"))(x);
  }

  static constexpr auto build(auto& model) {
    constexpr bool large = Filters == 64;
    constexpr int step = large ? 2 : 1;
    auto x = large ? model.input(224, 224, 3) : model.input(28, 28, 1);
    x = activation{sc::relu}.named("conv1_relu")(normalized(x, Filters, large ? 7 : 3, 2, "conv1"));
    x = max_pooling2d{3, {.strides = 2, .padding = sc::padding::same}}.named("pool1_pool")(x);
    int group = 2, filters = Filters;
    for (int const blocks : {Blocks...}) {
      for (int index = 1; index <= blocks; ++index)
        x = block(x, group, index, filters, group > 2 && index == 1 ? step : 1);
      ++group;
      filters *= step;
    }
    x = global_average_pooling2d{}.named("avg_pool")(x);
    return dense{large ? 1000 : 10}.named("predictions")(x);
  }
};
using resnet_50 = resnet<64, 3, 4, 6, 3>;
using small_resnet = resnet<8, 1, 1, 2, 1>;

/// Everything up to the second block of group conv4 is stage 0, the rest is stage 1.
inline constexpr auto split = [](auto& assignment) {
  int stage = 0;
  for (auto& call : assignment) {
    call.pipeline_stage = stage;
    if (call.layer_name() == "conv4_block2_add") stage = 1;
  }
};

// The large one, as the compiler sees it.
using staged_resnet_50 = sc::pipelined<resnet_50, split>;
static_assert(sc::pipeline_stages<staged_resnet_50> == 2);
static_assert(sc::stage_of<staged_resnet_50, sc::find_call<resnet_50>("conv4_block2_out")> == 1);

using staged = sc::pipelined<small_resnet, split>;
inline constexpr auto training = sc::training{.optimizer = sc::optimizers::adam{.learning_rate = 0.01F},
                                              .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .metrics = sc::metrics::accuracy{},
                                              .batch_size = 16,
                                              .steps_per_execution = 64,
                                              .pipeline = {.gradient_accumulation_steps_per_replica = 4}};

/// The work of one stage, in FLOPs per sample.
template <class Model, int Stage>
constexpr long long work = [] {
  long long sum = 0;
  for (int const call : sc::calls_of_stage<Model, Stage>) sum += sc::graph_of<Model>.call(call).flops;
  return sum;
}();

int main(int argc, char** argv) {
  auto const given = read_arguments(argc, argv, "Trains a small residual network in two pipeline stages.", 2);
  auto const [train, test] = load_data(given);

  std::printf("ResNet-50: %zu layers, stage 0 takes %.1f and stage 1 %.1f GFLOPs per image\n",
              sc::graph_of<resnet_50>.layers.size(), static_cast<double>(work<staged_resnet_50, 0>) * 1e-9,
              static_cast<double>(work<staged_resnet_50, 1>) * 1e-9);
  sc::print_pipeline_stage_assignment_summary<staged>();

  sc::trainer<staged, training, sc::host<2>> model;
  model.fit(train.x, train.y, {.epochs = given.epochs, .steps_per_epoch = 2 * training.steps_per_execution});
  auto const [loss, accuracy] = model.evaluate(test.x, test.y, {.verbose = 0, .steps = training.steps_per_execution});
  std::printf("test loss %.4f, test accuracy %.4f\n", loss, accuracy);
}
