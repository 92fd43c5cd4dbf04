// SPDX-License-Identifier: BSD-3-Clause
// Fine-tuning: a network learns the digits 0 to 4; then its convolutions are frozen, it gets another last layer, and
// learns 5 to 9 from few pictures. Beside it a network of the same shape that knows nothing. Keras's example is
// mnist_transfer_cnn.
#include <stagecraft/models/fine_tuning.hpp>
#include <stagecraft/stagecraft.hpp>
#include <cstddef>
#include <cstdio>

#include "command_line/command_line.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

using first = sc::sequential<input{28, 28}, reshape{28, 28, 1}, conv2d{8, 3, sc::relu, {.strides = 2}},
                             batch_normalization{}, conv2d{16, 3, sc::relu, {.strides = 2}}, batch_normalization{},
                             flatten{}, dense{32, sc::relu}, dense{5}>;
using known = sc::named<"known", sc::frozen<sc::without_top<first, 1>, "conv|batch">>;
using tuned = sc::sequential<input{28, 28}, known{}, dense{5}>;

inline constexpr auto training = sc::training{.optimizer = sc::optimizers::adam{},
                                              .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .metrics = sc::metrics::accuracy{},
                                              .batch_size = 16};

struct samples {
  xt::xtensor<float, 3> x;
  xt::xtensor<int, 1> y;
};
/// The first pictures of five digits, at most `most` of them; classes count from 0.
template <class Data>
samples digits_from(Data const& data, int lowest, std::size_t most) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < data.y.shape(0); ++i)
    if (data.y(i) >= lowest && data.y(i) < lowest + 5 && count < most) ++count;
  samples result{xt::zeros<float>({count, data.x.shape(1), data.x.shape(2)}), xt::zeros<int>({count})};
  for (std::size_t i = 0, next = 0; next < count; ++i) {
    if (data.y(i) < lowest || data.y(i) >= lowest + 5) continue;
    xt::view(result.x, next) = xt::view(data.x, i);
    result.y(next++) = data.y(i) - lowest;
  }
  return result;
}

int main(int argc, char** argv) {
  auto const given = read_arguments(argc, argv, "Learns five digits, then five others from few pictures.", 3);
  auto const data = load_data(given);
  auto const many = digits_from(data.train, 0, 100000), few = digits_from(data.train, 5, 320),
             test = digits_from(data.test, 5, 100000);

  sc::trainer<first, training> teacher;
  teacher.fit(many.x, many.y, {.epochs = given.epochs, .verbose = 2});
  auto weights = teacher.get_weights();
  weights.resize(weights.size() - 2);  // without those of the last layer

  sc::trainer<tuned, training> model, ignorant;
  model.set_weights<"known">(weights);
  for (auto* const each : {&model, &ignorant}) each->fit(few.x, few.y, {.epochs = 20, .verbose = 0});
  auto const with = model.evaluate(test.x, test.y, {.verbose = 0})[1];
  auto const without = ignorant.evaluate(test.x, test.y, {.verbose = 0})[1];
  std::printf("accuracy of 5 to 9 after 320 pictures: %.3f; without what 0 to 4 have taught: %.3f\n", with, without);
  return with > 0.9 && with > without ? 0 : 1;
}
