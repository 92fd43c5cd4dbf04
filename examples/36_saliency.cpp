// SPDX-License-Identifier: BSD-3-Clause
// Which pixels a prediction depends on: a saliency map, the gradient of the largest score with respect to the image. A
// classifier of drawn bars is trained; a predictor with its weights gives the slopes, and bars are found in them. With
// libpng, a picture and its map become saliency.png, beside each other.
#include <stagecraft/stagecraft.hpp>
#include <cstddef>
#include <cstdio>
#include <random>

#include "command_line/command_line.hpp"
#ifdef STAGECRAFT_EXAMPLES_WITH_PNG
#include "images/png_file.hpp"
#endif

namespace sc = stagecraft;
using namespace sc::layers;

inline constexpr int side = 12;

/// Scores of two classes or, with `slopes`, the size of the slope of the largest score by each pixel.
struct classifier : sc::layer<classifier> {
  static constexpr std::string_view class_name = "Classifier";
  bool slopes = false;
  constexpr explicit classifier(bool slopes_ = false) : slopes(slopes_) {}

  constexpr auto call(auto& ops, auto image) const {
    auto const seen = max_pooling2d{2}.call(ops, conv2d{8, 3, sc::gelu}.call(ops, image));
    int const batch = image.length(0), features = seen.length(1) * seen.length(2) * seen.length(3);
    auto const scores = dense{2}.call(ops, ops.reshape(seen, {batch, features}));
    return slopes ? abs(ops.gradient(ops.max(scores, -1), image)) : scores;
  }
};
using network = sc::sequential<input{side, side, 1}, classifier{}>;
using saliency = sc::sequential<input{side, side, 1}, classifier{true}>;

inline constexpr auto training = sc::training{.optimizer = sc::optimizers::adam{.learning_rate = 0.005F},
                                              .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .metrics = sc::metrics::accuracy{},
                                              .batch_size = 16};
inline constexpr auto inference = sc::inference{.batch_size = 16};

int main(int argc, char** argv) {
  auto const given = read_arguments(argc, argv, "Shows which pixels the class of a picture depends on.", 10);
  constexpr std::size_t count = 256, pixels = side, length = 7;
  std::mt19937 engine(1);
  std::uniform_real_distribution<float> noise(0, 0.4F);
  std::uniform_int_distribution<std::size_t> place(1, pixels - 2), begin(0, pixels - length);
  xt::xtensor<float, 4> images = xt::zeros<float>({count, pixels, pixels, std::size_t{1}});
  xt::xtensor<float, 4> bars = images;
  xt::xtensor<int, 1> classes = xt::zeros<int>({count});
  for (std::size_t i = 0; i < count; ++i) {  // a bar, upright in every other picture, with noise around it
    for (std::size_t row = 0; row < pixels; ++row)
      for (std::size_t column = 0; column < pixels; ++column) images(i, row, column, 0) = noise(engine);
    classes(i) = static_cast<int>(i % 2);
    std::size_t const line = place(engine), first = begin(engine);
    for (std::size_t k = first; k < first + length; ++k) {
      std::size_t const row = i % 2 == 1 ? k : line, column = i % 2 == 1 ? line : k;
      images(i, row, column, 0) = bars(i, row, column, 0) = 1;
    }
  }

  sc::trainer<network, training> model;
  model.fit(images, classes, {.epochs = given.epochs, .verbose = 0});
  auto const accuracy = model.evaluate(images, classes, {.verbose = 0})[1];

  sc::predictor<saliency, inference> map;
  map.set_weights(model.get_weights());
  xt::xtensor<float, 4> const slopes = map.predict(images);

  double near = 0, all = 0, area = 0;  // the slopes of pixels of bars and beside them
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t row = 1; row + 1 < pixels; ++row)
      for (std::size_t column = 1; column + 1 < pixels; ++column) {
        auto const at = [&](std::size_t r, std::size_t c) { return bars(i, r, c, 0) > 0; };
        bool const is_near =
            at(row, column) || at(row - 1, column) || at(row + 1, column) || at(row, column - 1) || at(row, column + 1);
        auto const slope = static_cast<double>(slopes(i, row, column, 0));
        all += slope;
        near += is_near ? slope : 0;
        area += is_near ? 1 : 0;
      }
  area /= static_cast<double>(count * (pixels - 2) * (pixels - 2));
  float largest = 0;
  for (std::size_t row = 0; row < pixels; ++row)
    for (std::size_t column = 0; column < pixels; ++column)
      if (slopes(1, row, column, 0) > largest) largest = slopes(1, row, column, 0);
  for (std::size_t row = 0; row < pixels; ++row) {  // the picture, and the slopes of its score
    for (std::size_t column = 0; column < pixels; ++column) std::putchar(bars(1, row, column, 0) > 0 ? '#' : '.');
    std::fputs("   ", stdout);
    for (std::size_t column = 0; column < pixels; ++column)
      std::putchar(" .:-=+*#%@"[static_cast<int>(slopes(1, row, column, 0) / largest * 9.0F)]);
    std::putchar('\n');
  }
#ifdef STAGECRAFT_EXAMPLES_WITH_PNG
  xt::xtensor<float, 2> both = xt::ones<float>({pixels, 2 * pixels + 1});  // what the classifier sees, and its slopes
  for (std::size_t row = 0; row < pixels; ++row)
    for (std::size_t column = 0; column < pixels; ++column) {
      both(row, column) = images(1, row, column, 0);
      both(row, pixels + 1 + column) = slopes(1, row, column, 0) / largest;
    }
  write_png("saliency.png", both, 16);
  std::puts("saliency.png has the picture and its map");
#endif
  std::printf("accuracy %.3f; bars and their neighbours, %.0f %% of the pixels, have %.0f %% of the slopes\n",
              static_cast<double>(accuracy), area * 100, near / all * 100);
  return accuracy > 0.95F && near / all > 1.2 * area ? 0 : 1;
}
