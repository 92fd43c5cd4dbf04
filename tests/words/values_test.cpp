// SPDX-License-Identifier: BSD-3-Clause
// Every word of the tables against Keras and its laws, by the runners of the host and of tiles.
#include "check_word.hpp"
#include "table.hpp"

TEST_CASE("merging, attention") { words::check_words("words_merging.txt", words::merging_words()); }
TEST_CASE("regularization, scales") { words::check_words("words_regularization.txt", words::regularization_words()); }
TEST_CASE("preprocessing") { words::check_words("words_preprocessing.txt", words::preprocessing_words()); }
TEST_CASE("windows") { words::check_words("words_window.txt", words::window_words()); }
TEST_CASE("augmentation") { words::check_words("words_augmentation.txt", words::augmentation_words()); }
TEST_CASE("layers with kernels, and layers without numbers") {
  words::check_words("words_core.txt", words::core_words());
}
TEST_CASE("recurrent") { words::check_words("words_recurrent.txt", words::recurrent_words()); }

// The mean and the deviation of what is drawn, for inputs of mean 0 and variance 1.
TEST_CASE("noise") {
  auto const check = [](auto const& layer, double of_one, bool keeps_variance) {
    constexpr int count = 40000;
    words::sc::shape const shapes[]{{count}};
    words::sc::operations::traced_plan const plan(words::sc::detail::trace_layer(layer, shapes, 1, true), true);
    words::sc::operations::runs::numbers with;
    with.inputs.emplace_back(count, 1.0F);
    for (int i = 0; i < count; i += 2) with.inputs[0][static_cast<std::size_t>(i)] = -1;
    with.output_gradient.assign(count, 1.0F);
    words::sc::operations::runs::float_run const run(plan, with);
    double sum = 0, squares = 0, of_ones = 0;
    for (int i = 0; i < count; ++i) {
      auto const y = static_cast<double>(with.output[static_cast<std::size_t>(i)]);
      sum += y / count;
      squares += y * y / count;
      of_ones += i % 2 == 1 ? y / (count / 2) : 0;
    }
    CHECK(std::abs(sum) < 0.02);
    CHECK(std::abs(of_ones - of_one) < 0.02);
    if (keeps_variance) CHECK(std::abs(squares - 1) < 0.03);
    if (!keeps_variance) CHECK(std::abs(squares - 1.25) < 0.03);
  };
  check(words::gaussian_noise{0.5}, 1, false);
  check(words::gaussian_dropout{0.2}, 1, false);
  check(words::dropout{0.2}, 1, false);
  // Of a one that is kept with probability 0.8, and else is -1.758: shifted and scaled.
  check(words::alpha_dropout{0.2}, 0.8 / std::sqrt(0.8 * (1 + 0.2 * 1.7580993 * 1.7580993)), true);
}
