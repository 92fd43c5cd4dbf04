// SPDX-License-Identifier: BSD-3-Clause
// The profile of ResNet-50 against its published throughput on real IPUs: rows of docs/ipu.md, which must stand there
// as they are computed here. As in tests/ipu/convolution/published_measurements_test.cpp, nothing is fitted to them.
#include <stagecraft/description/training.hpp>
#include <stagecraft/ipu/profile/profile.hpp>
#include <stagecraft/machines/ipu_devices.hpp>
#include <stagecraft/pipeline.hpp>

#include <doctest/doctest.h>

#include <string_view>
#include "../documented_rows.hpp"

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it
using sc::dtype;

namespace {

constexpr sc::fixed_name name_of(int group, int block, std::string_view rest) {
  return sc::fixed_name("conv").append(group).append("_block").append(block).append(rest);
}

/// Of version 1.5, whose 3 x 3 convolutions have the strides.
constexpr auto bottleneck(auto x, int group, int block, int filters, int stride, bool project) {
  auto const name = [&](std::string_view rest) { return name_of(group, block, rest); };
  auto shortcut = x;
  if (project) {
    shortcut = conv2d{4 * filters, 1, {.strides = stride, .use_bias = false}}.named(name("_0_conv"))(x);
    shortcut = batch_normalization{{.epsilon = 1.001e-5F}}.named(name("_0_bn"))(shortcut);
  }
  x = conv2d{filters, 1, {.use_bias = false}}.named(name("_1_conv"))(x);
  x = batch_normalization{{.epsilon = 1.001e-5F}}.named(name("_1_bn"))(x);
  x = activation{sc::relu}.named(name("_1_relu"))(x);
  x = conv2d{filters, 3, {.strides = stride, .padding = sc::padding::same, .use_bias = false}}.named(name("_2_conv"))(
      x);
  x = batch_normalization{{.epsilon = 1.001e-5F}}.named(name("_2_bn"))(x);
  x = activation{sc::relu}.named(name("_2_relu"))(x);
  x = conv2d{4 * filters, 1, {.use_bias = false}}.named(name("_3_conv"))(x);
  x = batch_normalization{{.epsilon = 1.001e-5F}}.named(name("_3_bn"))(x);
  x = add{}.named(name("_add"))(shortcut, x);
  return activation{sc::relu}.named(name("_out"))(x);
}

struct resnet50 : sc::functional<resnet50> {
  static constexpr std::string_view name = "resnet50";

  static constexpr auto build(auto& model) {
    auto x = model.input(224, 224, 3);
    x = conv2d{64, 7, {.strides = 2, .padding = sc::padding::same, .use_bias = false}}.named("conv1_conv")(x);
    x = batch_normalization{{.epsilon = 1.001e-5F}}.named("conv1_bn")(x);
    x = activation{sc::relu}.named("conv1_relu")(x);
    x = max_pooling2d{3, {.strides = 2, .padding = sc::padding::same}}.named("pool1_pool")(x);
    constexpr int blocks[]{3, 4, 6, 3};
    for (int group = 0; group < 4; ++group)
      for (int block = 0; block < blocks[group]; ++block)
        x = bottleneck(x, group + 2, block + 1, 64 << group, group > 0 && block == 0 ? 2 : 1, block == 0);
    x = global_average_pooling2d{}.named("avg_pool")(x);
    return dense{1000}.named("predictions")(x);
  }
};

// MLPerf Training v1.1, Graphcore's implementation of ResNet for 16 GC200 (configs.yml,
// mk2_resnet50_mlperf_pod16_lars): each IPU is a replica, and has seven stages for the sake of recomputation alone; 20
// images, 10 micro-batches.
using seven_stages =
    sc::pipelined<resnet50,
                  [](auto& assignment) {
                    int stage = 0;
                    for (auto& call : assignment) {
                      call.pipeline_stage = stage;
                      for (std::string_view const last : {"conv2_block1_out", "conv2_block3_out", "conv3_block1_out",
                                                          "conv3_block3_out", "conv4_block1_out", "conv4_block4_out"})
                        if (call.layer_name() == last) ++stage;
                    }
                  },
                  sc::device_mapping<0, 0, 0, 0, 0, 0, 0>>;
inline constexpr auto training = sc::training{.optimizer = sc::optimizers::sgd{.momentum = 0.9F},
                                              .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .batch_size = 20,
                                              .steps_per_execution = 10,
                                              .pipeline = {.gradient_accumulation_steps_per_replica = 10,
                                                           .schedule = sc::schedule::sequential,
                                                           .recomputation_mode = sc::recomputation_mode::automatic},
                                              .num_replicas = 16,
                                              .dtype_policy = sc::dtype_policies::float16};
constexpr sc::poplar_options little_memory{.available_memory_proportion = 0.15F, .partials_type = dtype::float16};
using pod16 =
    sc::ipu_devices<sc::ipu_config{.auto_select_ipus = 16, .matmuls = little_memory, .convolutions = little_memory}>;

// ByteMLPerf's run on a C600, with 64 I/O tiles.
template <int Batch>
inline constexpr auto predicting =
    sc::training{.loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                 .batch_size = Batch,
                 .steps_per_execution = 128,
                 .dtype_policy = sc::dtype_policies::float16};
constexpr sc::poplar_options half_partials{.partials_type = dtype::float16};
using c600 = sc::ipu_devices<sc::ipu_config{.ipu_model = {.version = sc::ipu_targets::ipu21},
                                            .matmuls = half_partials,
                                            .convolutions = half_partials,
                                            .io_tiles = {.num_io_tiles = 64, .place_ops_on_io_tiles = true}}>;

void check_images_per_second(char const* ipu, char const* what, double predicted, double measured, double least,
                             double most, int source) {
  double const ratio = ratio_within(predicted, measured, least, most);
  check_documented(formatted("| %s | ResNet-50 %s, images/s | %.0f | %.0f | %.2f | %.1f to %.1f | [%d] |", ipu, what,
                             measured, predicted, ratio, least, most, source));
}

}  // namespace

TEST_CASE("training ResNet-50 on 16 GC200") {
  constexpr auto const& profile_of_training = sc::profile<seven_stages, training, pod16>;
  check_images_per_second("16 GC200", "training, batch 20", profile_of_training.samples_per_second(),
                          1'281'167 / 43.4755, 0.8, 1.2, 4);
}

TEST_CASE("predictions of ResNet-50 on a C600") {
  using enum sc::execution_mode;
  check_images_per_second("C600", "inference, batch 4",
                          sc::profile<resnet50, predicting<4>, c600, inference>.samples_per_second(), 7062, 0.7, 1.0,
                          6);
  check_images_per_second("C600", "inference, batch 32",
                          sc::profile<resnet50, predicting<32>, c600, inference>.samples_per_second(), 13542, 0.7, 1.0,
                          6);
}
