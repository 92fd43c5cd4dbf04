// SPDX-License-Identifier: BSD-3-Clause
// A mask whose tokens are in another stage than the layers that look at it: the bits of the model without stages.
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>
#include <doctest/doctest.h>

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

using words = sc::sequential<input{7}, embedding{20, 4, {.mask_zero = true}}, dense{4},
                             lstm{5, {.return_sequences = true}}, bidirectional{gru{3}}, dense{2}>;
using staged = sc::pipelined<words, sc::stages<0, 1, 1, 2, 2>>;

inline constexpr auto training = sc::training{.optimizer = sc::optimizers::adam{},
                                              .loss = sc::losses::mean_squared_error{},
                                              .batch_size = 4,
                                              .steps_per_execution = 6,
                                              .pipeline = {.gradient_accumulation_steps_per_replica = 6}};

template <class M>
std::vector<double> losses(bool fills_up) {
  xt::xtensor<float, 2> x = xt::ones<float>({48, 7}), y = xt::zeros<float>({48, 2});
  for (std::size_t row = 0; row < 48; ++row) {
    std::size_t const length = 2 + row % 6;
    for (std::size_t step = 0; step < 7; ++step) {
      x(row, step) = static_cast<float>((row * 7 + step * 5) % 19 + 1);
      if (fills_up && step >= length) x(row, step) = 0;
    }
    y(row, row % 2) = 1;
  }
  sc::trainer<M, training> trainer;
  return trainer.fit(x, y, {.epochs = 3, .verbose = 0}).history.at("loss");
}

}  // namespace

TEST_CASE("a mask in another stage") {
  auto const expected = losses<words>(true);
  CHECK(losses<staged>(true) == expected);
  CHECK(losses<words>(false) != expected);
}
