// SPDX-License-Identifier: BSD-3-Clause
// The peer: the perceptron by hand on a library's matrix product. `Library` has
//   multiply(transposed_a, transposed_b, m, n, k, a, lda, b, ldb, beta, c)   c = a b + beta c, row-major
//   multiply_row(k, n, x, b, y)                                           y += x b for one row
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "hand_written.hpp"
#include "mlp_network.hpp"

namespace stagecraft::benchmarks {

template <class Library, int Batch, optimizer_kind Optimizer>
class mlp_gemm {
 public:
  explicit mlp_gemm(network_weights const& weights)
      : first_(mlp_inputs, weights[0]), second_(mlp_first, weights[1]), third_(mlp_second, weights[2]) {}

  /// One step on Batch x 784 floats and their labels. Gives the mean loss before it.
  float train_on_batch(float const* x, std::int32_t const* labels) {
    predict_on_batch(x);
    float const loss = softmax_cross_entropy<mlp_classes>(Batch, third_.y.data(), labels, third_.dy.data());
    third_.weight_gradient(second_.y.data());
    third_.input_gradient(second_);
    second_.weight_gradient(first_.y.data());
    second_.input_gradient(first_);
    first_.weight_gradient(x);
    for (layer* l : {&first_, &second_, &third_}) l->update();
    return loss;
  }

  /// The logits of a batch.
  float const* predict_on_batch(float const* x) {
    first_.forward(x);
    first_.rectify();
    second_.forward(first_.y.data());
    second_.rectify();
    third_.forward(second_.y.data());
    return third_.y.data();
  }

 private:
  struct layer {
    int inputs, units;
    std::vector<float> w, b, y, dw, db, dy;
    hand_written_optimizer<Optimizer> kernel_optimizer, bias_optimizer;

    layer(int rows, first_weights const& weights)
        : inputs(rows),
          units(static_cast<int>(weights.bias.size())),
          w(weights.kernel),
          b(weights.bias),
          y(Batch * b.size()),
          dw(w.size()),
          db(b.size()),
          dy(y.size()) {}

    void forward(float const* x) {
      for (int row = 0; row < Batch; ++row) std::copy(b.begin(), b.end(), y.begin() + row * units);
      if constexpr (Batch == 1)
        Library::multiply_row(inputs, units, x, w.data(), y.data());
      else
        Library::multiply(false, false, Batch, units, inputs, x, inputs, w.data(), units, 1.0F, y.data());
    }
    void rectify() {
      for (float& value : y) value = value > 0.0F ? value : 0.0F;
    }
    void weight_gradient(float const* x) {
      Library::multiply(true, false, inputs, units, Batch, x, inputs, dy.data(), units, 0.0F, dw.data());
      std::fill(db.begin(), db.end(), 0.0F);
      for (int row = 0; row < Batch; ++row)
        for (int unit = 0; unit < units; ++unit)
          db[static_cast<std::size_t>(unit)] += dy[static_cast<std::size_t>(row * units + unit)];
    }
    /// Into the gradient of the layer below, before its relu.
    void input_gradient(layer& below) const {
      Library::multiply(false, true, Batch, inputs, units, dy.data(), units, w.data(), units, 0.0F, below.dy.data());
      for (std::size_t i = 0; i < below.dy.size(); ++i) below.dy[i] = below.y[i] > 0.0F ? below.dy[i] : 0.0F;
    }
    void update() {
      kernel_optimizer.update(w.data(), dw.data(), static_cast<std::int64_t>(w.size()));
      bias_optimizer.update(b.data(), db.data(), static_cast<std::int64_t>(b.size()));
    }
  };

  layer first_, second_, third_;
};

}  // namespace stagecraft::benchmarks
