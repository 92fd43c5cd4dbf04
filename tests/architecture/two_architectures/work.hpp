// SPDX-License-Identifier: BSD-3-Clause
// The same work in two translation units that are compiled for different processors.
#pragma once

#include <stagecraft/stagecraft.hpp>
#include <cstdint>
#include <vector>

namespace shared {

namespace sc = stagecraft;
using namespace sc::layers;

struct network : sc::functional<network> {
  static constexpr auto build(auto& model) {
    auto const x = model.input(28, 28);
    auto const c = batch_normalization()(conv2d(6, 5, sc::relu, {.strides = 3})(reshape(28, 28, 1)(x)));
    auto const a = dense(37, sc::gelu)(flatten()(conv2d(9, 3)(c)));
    return dense(10)(dropout(0.25F)(concatenate()(a, dense(13, sc::tanh)(a), lstm(7)(group_normalization(7)(x)))));
  }
};

inline constexpr auto training = sc::training{.optimizer = sc::optimizers::adam{},
                                              .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .metrics = sc::metrics::accuracy{},
                                              .batch_size = 16};

/// What a unit computes: products, elementwise kernels, and a training with all that belongs to it.
struct findings {
  int lanes = 0;
  std::vector<float> values;
};

namespace {

findings find_out() {
  namespace kernels = sc::kernels;
  findings found{kernels::lanes<>, {}};

  constexpr int rows = 5, inner = 19, columns = 33;
  using layout = kernels::packed_matrix<inner, columns>;
  sc::engine::aligned_block x(rows * inner), plain(inner * columns), packed(layout::size), y(rows * columns);
  for (int i = 0; i < rows * inner; ++i) x.data()[i] = static_cast<float>(i % 7) / 8;
  for (int i = 0; i < inner * columns; ++i) plain.data()[i] = static_cast<float>(i % 11) / 16;
  layout::pack(plain.data(), packed.data());
  kernels::matmul<rows, inner, columns>(x.data(), packed.data(), y.data());
  kernels::scaled_add<true>(0.5F, plain.data(), y.data(), rows * columns);
  found.values.assign(y.data(), y.data() + rows * columns);

  auto const [train, test] = sc::datasets::digits({.train = 96, .test = 32});
  sc::trainer<network, training> trainer(1);
  auto const history = trainer.fit(train.x, train.y, {.epochs = 2, .verbose = 0, .validation_data = test});
  for (auto const& [name, values] : history.history)
    for (double const value : values) found.values.push_back(static_cast<float>(value));
  xt::xtensor<float, 2> const logits = trainer.predict(test.x);
  found.values.insert(found.values.end(), logits.begin(), logits.end());
  return found;
}

}  // namespace
}  // namespace shared

shared::findings findings_of_older();
shared::findings findings_of_newer();
