// SPDX-License-Identifier: BSD-3-Clause
// The peer: the training program of a perceptron, 784 -> 256 relu -> 128 relu -> 10, softmax cross-entropy, as somebody
// who knows Eigen well writes it. Buffers are allocated once, products use noalias(), the optimizer is one fused pass.
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <cstdint>
#include <random>

namespace stagecraft::benchmarks {

/// The sizes of the perceptron of both programs.
inline constexpr int mlp_inputs = 784;
inline constexpr int mlp_first = 256;
inline constexpr int mlp_second = 128;
inline constexpr int mlp_classes = 10;

enum class mlp_optimizer { sgd, rmsprop };

template <int Batch, mlp_optimizer Optimizer>
class mlp_eigen {
 public:
  using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using row = Eigen::RowVectorXf;

  explicit mlp_eigen(unsigned seed = 1) {
    Eigen::setNbThreads(1);
    std::mt19937 generator(seed);
    auto const initialize = [&](layer& l, int inputs, int units) {
      float const limit = std::sqrt(6.0F / static_cast<float>(inputs + units));  // glorot_uniform
      std::uniform_real_distribution<float> uniform(-limit, limit);
      l.w = matrix::NullaryExpr(inputs, units, [&] { return uniform(generator); });
      l.b = row::Zero(units);
      l.dw = l.vw = matrix::Zero(inputs, units);
      l.db = l.vb = row::Zero(units);
      l.y = l.dy = matrix::Zero(Batch, units);
    };
    initialize(first_, mlp_inputs, mlp_first);
    initialize(second_, mlp_first, mlp_second);
    initialize(third_, mlp_second, mlp_classes);
  }

  /// One step on Batch x 784 floats and their labels. Gives the mean loss before it.
  float train_on_batch(float const* pixels, std::uint8_t const* labels) {
    Eigen::Map<matrix const> const x(pixels, Batch, mlp_inputs);
    first_.y.noalias() = x * first_.w;
    first_.y = (first_.y.rowwise() + first_.b).cwiseMax(0.0F);
    second_.y.noalias() = first_.y * second_.w;
    second_.y = (second_.y.rowwise() + second_.b).cwiseMax(0.0F);
    third_.y.noalias() = second_.y * third_.w;
    third_.y.rowwise() += third_.b;

    float const loss = softmax_cross_entropy(labels);

    third_.dw.noalias() = second_.y.transpose() * third_.dy;
    third_.db = third_.dy.colwise().sum();
    second_.dy.noalias() = third_.dy * third_.w.transpose();
    second_.dy.array() *= (second_.y.array() > 0.0F).template cast<float>();
    second_.dw.noalias() = first_.y.transpose() * second_.dy;
    second_.db = second_.dy.colwise().sum();
    first_.dy.noalias() = second_.dy * second_.w.transpose();
    first_.dy.array() *= (first_.y.array() > 0.0F).template cast<float>();
    first_.dw.noalias() = x.transpose() * first_.dy;
    first_.db = first_.dy.colwise().sum();

    for (layer* l : {&first_, &second_, &third_}) {
      update(l->w, l->dw, l->vw);
      update(l->b, l->db, l->vb);
    }
    return loss;
  }

 private:
  struct layer {
    matrix w, dw, vw, y, dy;
    row b, db, vb;
  };

  /// The loss of third_.y, and its gradient in third_.dy.
  float softmax_cross_entropy(std::uint8_t const* labels) {
    float loss = 0;
    for (int i = 0; i < Batch; ++i) {
      auto const logits = third_.y.row(i).array();
      auto gradient = third_.dy.row(i).array();
      float const largest = logits.maxCoeff();
      gradient = (logits - largest).exp();
      float const sum = gradient.sum();
      loss += std::log(sum) + largest - logits(labels[i]);
      gradient *= 1.0F / (sum * Batch);
      gradient(labels[i]) -= 1.0F / Batch;
    }
    return loss / Batch;
  }

  template <class Values>
  static void update(Values& w, Values& gradient, Values& v) {
    if constexpr (Optimizer == mlp_optimizer::sgd) {
      w.array() -= 0.01F * gradient.array();
    } else {
      v.array() = 0.9F * v.array() + 0.1F * gradient.array().square();
      w.array() -= 0.001F * gradient.array() / (v.array().sqrt() + 1e-7F);
    }
  }

  layer first_, second_, third_;
};

}  // namespace stagecraft::benchmarks
