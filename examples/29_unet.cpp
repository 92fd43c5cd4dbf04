// SPDX-License-Identifier: BSD-3-Clause
// A U-Net: which pixels of a noisy image belong to a disc, a square or a triangle. On the way down, images become
// smaller and hold more; on the way up they become large again, beside what the way down has kept. Fails if the mean
// over the classes of intersection over union stays below 0.85 on images that it has not seen.
#include <stagecraft/stagecraft.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <random>

#include "command_line/command_line.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

constexpr int side = 24, classes = 4;  // 0 is the background

struct unet : sc::functional<unet> {
  static constexpr std::string_view name = "unet";

  static constexpr auto twice(auto x, int filters) {
    for (int i = 0; i < 2; ++i) {
      x = conv2d{filters, 3, {.padding = sc::padding::same, .use_bias = false}}(x);
      x = re_lu{}(batch_normalization{{.momentum = 0.9F}}(x));
    }
    return x;
  }
  static constexpr auto up(auto x, auto kept, int filters) {
    return twice(concatenate{}(kept, conv2d_transpose{filters, 2, {.strides = 2}}(x)), filters);
  }

  static constexpr auto build(auto& model) {
    auto const whole = twice(model.input(side, side, 1), 8);
    auto const half = twice(max_pooling2d{}(whole), 16);
    auto const quarter = twice(max_pooling2d{}(half), 32);
    return conv2d{classes, 1}(up(up(quarter, half, 16), whole, 8));
  }
};

constexpr int drawn_images = 1536, epochs_meant = 6, images_per_step = 8;

// The learning rate falls to nothing in the last epoch.
inline constexpr auto training = sc::training{
    .optimizer = sc::optimizers::adam{.learning_rate =
                                          sc::optimizers::schedules::cosine_decay{
                                              .initial_learning_rate = 0.01F,
                                              .decay_steps = epochs_meant * drawn_images / images_per_step}},
    .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
    .metrics = sc::metrics::mean_io_u{.num_classes = classes},
    .batch_size = images_per_step};

struct scenes {
  xt::xtensor<float, 3> images;
  xt::xtensor<std::uint8_t, 3> masks;  ///< the class of each pixel
};

/// True if a point is part of the shape of this class whose centre is (0, 0); about a radius of 1.
bool is_inside(int shape, float x, float y) {
  if (shape == 1) return x * x + y * y < 1;
  if (shape == 2) return std::max(std::abs(x), std::abs(y)) < 0.85F;
  return y < 0.75F && std::abs(x) < (y + 1.1F) * 0.55F;
}

/// One or two shapes for each image, turned and of any brightness, the later one in front, and noise.
scenes draw(std::size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  auto const between = [&](float low, float high) {
    return low + (high - low) * static_cast<float>(engine() % 4096) / 4096;
  };
  scenes drawn{xt::zeros<float>({count, std::size_t{side}, std::size_t{side}}),
               xt::zeros<std::uint8_t>({count, std::size_t{side}, std::size_t{side}})};
  for (std::size_t image = 0; image < count; ++image) {
    float const slope_x = between(-0.01F, 0.01F), slope_y = between(-0.01F, 0.01F);
    for (std::size_t row = 0; row < side; ++row)
      for (std::size_t column = 0; column < side; ++column)
        drawn.images(image, row, column) = slope_x * static_cast<float>(column) + slope_y * static_cast<float>(row);
    auto const shapes = 1 + engine() % 2;
    for (std::size_t i = 0; i < shapes; ++i) {
      auto const shape = static_cast<std::uint8_t>(1 + engine() % 3);
      float const radius = between(4, 7), angle = between(0, 6.28F), light = between(0.6F, 1.4F);
      float const x = between(5, side - 5), y = between(5, side - 5);
      for (std::size_t row = 0; row < side; ++row)
        for (std::size_t column = 0; column < side; ++column) {
          float const dx = (static_cast<float>(column) - x) / radius, dy = (static_cast<float>(row) - y) / radius;
          if (!is_inside(shape, dx * std::cos(angle) + dy * std::sin(angle),
                         dy * std::cos(angle) - dx * std::sin(angle)))
            continue;
          drawn.images(image, row, column) = light;
          drawn.masks(image, row, column) = shape;
        }
    }
    for (std::size_t pixel = 0; pixel < side * side; ++pixel)
      drawn.images.data()[image * side * side + pixel] += between(-0.2F, 0.2F);
  }
  return drawn;
}

int main(int argc, char** argv) {
  auto const given = read_arguments(argc, argv, "Trains a U-Net on shapes that it draws.", epochs_meant,
                                    "not used: the images are drawn");
  auto const train = draw(drawn_images, 1), test = draw(256, 2);
  sc::trainer<unet, training> model;
  model.fit(train.images, train.masks, {.epochs = given.epochs, .validation_data = {test.images, test.masks}});
  auto const [loss, overlap] = model.evaluate(test.images, test.masks, {.verbose = 0});

  auto const one = draw(1, 3);
  xt::xtensor<float, 4> const logits = model.predict(one.images);
  for (std::size_t row = 0; row < side; row += 2) {
    for (std::size_t column = 0; column < side; ++column) std::putchar(".o#^"[one.masks(0, row, column)]);
    std::fputs("   ", stdout);
    for (std::size_t column = 0; column < side; ++column) {
      float const* const first = &logits(0, row, column, 0);
      std::putchar(".o#^"[std::max_element(first, first + classes) - first]);
    }
    std::putchar('\n');
  }
  std::printf("test loss %.4f, mean intersection over union %.4f\n", loss, overlap);
  return overlap >= 0.85 ? 0 : 1;
}
