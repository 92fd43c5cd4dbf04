// SPDX-License-Identifier: BSD-3-Clause
// The peer: a transformer's block by hand on a library's matrix products: normalization, attention and a residual;
// normalization, two dense layers and a residual.
#pragma once

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "attention_gemm.hpp"
#include "dense_gemm.hpp"
#include "sequence_layers.hpp"

namespace stagecraft::benchmarks {

template <class Library>
class transformer_gemm {
  static constexpr int rows = attention_batch * attention_places, features = attention_features, inner = block_units;
  static constexpr std::size_t floats = std::size_t{rows} * features;

 public:
  transformer_gemm(layer_weights const& weights, bool /*trains*/)
      : first_(weights[0], weights[1]),
        attention_(weights, true, 2),
        second_(weights[10], weights[11]),
        wide_(rows, features, inner, weights[12], weights[13]),
        narrow_(rows, inner, features, weights[14], weights[15]) {}

  float const* predict_on_batch(float const* x) {
    first_.forward(x);
    float const* const seen = attention_.predict_on_batch(first_.y.data());
    for (std::size_t i = 0; i < floats; ++i) sum_[i] = x[i] + seen[i];
    second_.forward(sum_.data());
    wide_.forward(second_.y.data());
    for (float& one : wide_.y) one = one > 0 ? one : 0;
    narrow_.forward(wide_.y.data());
    for (std::size_t i = 0; i < floats; ++i) narrow_.y[i] += sum_[i];
    return narrow_.y.data();
  }
  /// One step of stochastic gradient descent. Gives the mean squared error before it.
  float train_on_batch(float const* x, float const* target) {
    float const loss = squared_error(predict_on_batch(x), target, dy_.data(), rows, features);
    narrow_.weight_gradient(wide_.y.data(), dy_.data());
    narrow_.input_gradient(dy_.data(), 0.0F, of_wide_.data());
    for (std::size_t i = 0; i < of_wide_.size(); ++i) of_wide_[i] = wide_.y[i] > 0 ? of_wide_[i] : 0;
    wide_.weight_gradient(second_.y.data(), of_wide_.data());
    wide_.input_gradient(of_wide_.data(), 0.0F, d_.data());
    second_.backward(d_.data(), dy_.data());  // the residual's gradient is there
    attention_.backward(first_.y.data(), dy_.data(), d_.data());
    first_.backward(d_.data(), nullptr);
    narrow_.update();
    wide_.update();
    return loss;
  }

 private:
  /// Layer normalization of each row.
  class normalization {
   public:
    std::vector<float> y = std::vector<float>(floats);

    normalization(std::vector<float> gamma, std::vector<float> beta)
        : gamma_(std::move(gamma)), beta_(std::move(beta)) {}

    void forward(float const* x) {
      float const *gamma = gamma_.data(), *beta = beta_.data();
      for (int row = 0; row < rows; ++row, x += features) {
        float const mean = sum([x](int i) { return x[i]; }) / features;
        float const squares = sum([x, mean](int i) { return (x[i] - mean) * (x[i] - mean); });
        float const factor = factors_[at(row)] = 1.0F / std::sqrt(squares / features + 1e-3F);
        float *const to = &y[at(row) * features], *const normal = &normal_[at(row) * features];
        for (int i = 0; i < features; ++i) {
          normal[i] = (x[i] - mean) * factor;
          to[i] = normal[i] * gamma[i] + beta[i];
        }
      }
    }
    /// The gradient of x is added to `dx` if there is one; then the weights are updated.
    void backward(float const* dy, float* dx) {
      of_gamma_.assign(features, 0.0F);
      of_beta_.assign(features, 0.0F);
      float *const dg = of_gamma_.data(), *const db = of_beta_.data();
      float const* const gamma = gamma_.data();
      for (int row = 0; row < rows; ++row, dy += features) {
        float const *const normal = &normal_[at(row) * features], factor = factors_[at(row)];
        for (int i = 0; i < features; ++i) {
          dg[i] += dy[i] * normal[i];
          db[i] += dy[i];
        }
        if (dx == nullptr) continue;
        float const plain = sum([dy, gamma](int i) { return dy[i] * gamma[i]; });
        float const along = sum([dy, gamma, normal](int i) { return dy[i] * gamma[i] * normal[i]; });
        float* const to = dx + at(row) * features;
        for (int i = 0; i < features; ++i)
          to[i] += factor * (dy[i] * gamma[i] - (plain + normal[i] * along) / features);
      }
      sgd_pass(gamma_.data(), dg, features);
      sgd_pass(beta_.data(), db, features);
    }

   private:
    /// The sum of `term(i)` in several sums at once: compilers keep the order of additions.
    template <class Term>
    static float sum(Term const& term) {
      constexpr int at_once = 64;
      static_assert(features % at_once == 0);
      float sums[at_once]{};
      for (int begin = 0; begin < features; begin += at_once)
        for (int i = 0; i < at_once; ++i) sums[i] += term(begin + i);
      for (int width = at_once / 2; width > 0; width /= 2)
        for (int i = 0; i < width; ++i) sums[i] += sums[i + width];
      return sums[0];
    }

    std::vector<float> gamma_, beta_, of_gamma_, of_beta_, normal_ = std::vector<float>(floats),
                                                           factors_ = std::vector<float>(rows);
  };
  static constexpr std::size_t at(int index) { return static_cast<std::size_t>(index); }

  normalization first_;
  attention_gemm<Library> attention_;
  normalization second_;
  dense_gemm<Library> wide_, narrow_;
  std::vector<float> sum_ = std::vector<float>(floats), dy_ = sum_, d_ = sum_,
                     of_wide_ = std::vector<float>(std::size_t{rows} * inner);
};

}  // namespace stagecraft::benchmarks
