// SPDX-License-Identifier: BSD-3-Clause
// The same perceptron as mlp_eigen.hpp, written by hand on the library's kernels: what the kernels alone allow, for the
// trainer to be held against. Activations are applied, and weights updated, before the sums leave their registers.
#pragma once

#include <stagecraft/kernels/elementwise/activation.hpp>
#include <stagecraft/kernels/loss/loss.hpp>
#include <stagecraft/kernels/product/matmul_gradient.hpp>
#include <stagecraft/kernels/update/update.hpp>

#include <algorithm>
#include <cstdint>

#include "aligned_floats.hpp"
#include "mlp_network.hpp"

namespace stagecraft::benchmarks {

template <int Batch, auto Optimizer>
class mlp_kernels {
 public:
  explicit mlp_kernels(network_weights const& weights) {
    first_.initialize(weights[0]);
    second_.initialize(weights[1]);
    third_.initialize(weights[2]);
  }

  /// One step on Batch x 784 floats and their classes. Gives the mean loss before it.
  float train_on_batch(float const* x, std::int32_t const* classes) {
    using rectifier = kernels::activation_function<activations::relu()>;
    auto const rectify = [](auto const& sum) { return rectifier::forward(sum); };
    first_.forward(x, rectify);
    second_.forward(first_.y.data(), rectify);
    third_.forward(second_.y.data(), [](auto const& sum) { return sum; });

    float const loss = kernels::loss<losses::sparse_categorical_crossentropy{.from_logits = true}, Batch, 10>(
        classes, third_.y.data(), scale_.data(), third_.dy.data());

    ++step_;
    third_.input_gradient(second_.dy.data(), second_.y.data(), workspace_.data());
    third_.update(second_.y.data(), step_);
    second_.input_gradient(first_.dy.data(), first_.y.data(), workspace_.data());
    second_.update(first_.y.data(), step_);
    first_.update(x, step_);
    return loss;
  }

 private:
  static constexpr int slot_count = stagecraft::detail::slots_of<Optimizer>;

  template <int Inputs, int Units>
  struct layer {
    using layout = kernels::packed_matrix<Inputs, Units>;
    static constexpr int padded_units = (Units + 63) / 64 * 64;

    aligned_floats w{layout::size, 0.0F}, b{padded_units, 0.0F}, db{padded_units, 0.0F};
    aligned_floats slots{static_cast<std::size_t>(layout::size * slot_count), 0.0F};
    aligned_floats bias_slots{static_cast<std::size_t>(padded_units * slot_count), 0.0F};
    aligned_floats y{Batch * Units, 0.0F}, dy{Batch * Units, 0.0F};

    void initialize(first_weights const& weights) {
      layout::pack(weights.kernel.data(), w.data());
      std::copy(weights.bias.begin(), weights.bias.end(), b.data());
    }

    template <class Function>
    void forward(float const* x, Function const& function) {
      kernels::matmul<Batch, Inputs, Units>(x, w.data(), y.data(),
                                            kernels::epilogue_then{kernels::bias_epilogue{b.data()}, function});
    }

    /// The gradient of the relu layer below, whose output is x.
    void input_gradient(float* dx, float const* x, float* workspace) {
      using rectifier = kernels::activation_function<activations::relu()>;
      kernels::matmul_input_gradient<Batch, Inputs, Units>(dy.data(), w.data(), workspace, dx);
      for (int i = 0; i < Batch * Inputs; i += kernels::lanes<>)
        rectifier::gradient(kernels::batch<>::load_aligned(x + i), kernels::batch<>::load_aligned(dx + i))
            .store_aligned(dx + i);
    }

    void update(float const* x, std::int64_t step) {
      kernels::update_function<Optimizer> const function(Optimizer.learning_rate, step);
      float* const weights = w.data();
      float* const state = slots.data();
      kernels::matmul_weight_gradient<Batch, Inputs, Units, false>(
          x, dy.data(), nullptr, [=](kernels::batch<> const& gradient, int offset) {
            kernels::batch<> values[slot_count + 1];
            kernels::batch<> weight = kernels::batch<>::load_aligned(weights + offset);
            for (int slot = 0; slot < slot_count; ++slot)
              values[slot] = kernels::batch<>::load_aligned(state + slot * layout::size + offset);
            function(weight, gradient, values);
            weight.store_aligned(weights + offset);
            for (int slot = 0; slot < slot_count; ++slot)
              values[slot].store_aligned(state + slot * layout::size + offset);
          });
      kernels::bias_gradient<Batch, Units>(dy.data(), db.data());
      kernels::update<Optimizer>(Optimizer.learning_rate, step, b.data(), db.data(), bias_slots.data(), padded_units,
                                 padded_units);
    }
  };

  layer<784, 256> first_;
  layer<256, 128> second_;
  layer<128, 10> third_;
  aligned_floats scale_{Batch, 1.0F / Batch};
  aligned_floats workspace_{kernels::input_gradient_workspace<256, 128>};
  std::int64_t step_ = 0;
};

}  // namespace stagecraft::benchmarks
