// SPDX-License-Identifier: BSD-3-Clause
// What the tests of trainers share: a small model, data, a callback that writes down what is called.
#pragma once

#include <stagecraft/description/training.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/callbacks/callbacks.hpp>
#include <stagecraft/training/trainer.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

namespace cases {

using classifier = sc::sequential<input{4}, dense{8, sc::relu}, dense{3}>;

inline constexpr auto training = sc::training{.optimizer = sc::optimizers::adam{.learning_rate = 0.01F},
                                              .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .metrics = sc::metrics::accuracy{},
                                              .batch_size = 8};
using trainer = sc::trainer<classifier, training>;

/// Samples of three classes that can be told apart.
struct samples {
  xt::xtensor<float, 2> x;
  std::vector<int> y;

  explicit samples(std::size_t count, std::uint32_t seed = 1)
      : x(xt::xtensor<float, 2>::from_shape({count, 4})), y(count) {
    std::uint32_t state = seed;
    for (std::size_t i = 0; i < count; ++i) {
      y[i] = static_cast<int>(i * 7 % 3);
      for (std::size_t k = 0; k < 4; ++k) {
        state = state * 1664525U + 1013904223U;
        x(i, k) = static_cast<float>(state >> 16U) / 65536.0F + (static_cast<int>(k) == y[i] ? 1.0F : 0.0F);
      }
    }
  }
};

/// Writes down each hook, with the numbers of epochs and batches.
class recorder : public sc::callback {
 public:
  std::string text;

  void on_train_begin(sc::logs&) override { text += "T( "; }
  void on_train_end(sc::logs&) override { text += ")T "; }
  void on_epoch_begin(int epoch, sc::logs&) override { text += "e" + std::to_string(epoch) + "( "; }
  void on_epoch_end(int epoch, sc::logs&) override { text += ")e" + std::to_string(epoch) + " "; }
  void on_train_batch_begin(int batch, sc::logs&) override { text += "b" + std::to_string(batch); }
  void on_train_batch_end(int batch, sc::logs&) override { text += "-" + std::to_string(batch) + " "; }
  void on_test_begin(sc::logs&) override { text += "V( "; }
  void on_test_end(sc::logs&) override { text += ")V "; }
  void on_test_batch_begin(int batch, sc::logs&) override { text += "v" + std::to_string(batch); }
  void on_test_batch_end(int batch, sc::logs&) override { text += "-" + std::to_string(batch) + " "; }
  void on_predict_begin(sc::logs&) override { text += "P( "; }
  void on_predict_end(sc::logs&) override { text += ")P "; }
  void on_predict_batch_begin(int batch, sc::logs&) override { text += "p" + std::to_string(batch); }
  void on_predict_batch_end(int batch, sc::logs&) override { text += "-" + std::to_string(batch) + " "; }
};

}  // namespace cases
