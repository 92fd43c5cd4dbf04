// SPDX-License-Identifier: BSD-3-Clause
// The peer: training and inference of the perceptron, as somebody who knows Eigen well writes them. Buffers are
// allocated once, products use noalias(), the optimizer is one fused pass.
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "hand_written.hpp"
#include "mlp_network.hpp"

namespace stagecraft::benchmarks {

template <int Batch, optimizer_kind Optimizer>
class mlp_eigen {
 public:
  using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using row = Eigen::RowVectorXf;
  /// One row has a type of its own: its product with a matrix is another function.
  using output = std::conditional_t<Batch == 1, row, matrix>;

  explicit mlp_eigen(network_weights const& weights) {
    Eigen::setNbThreads(1);
    first_.initialize(mlp_inputs, weights[0]);
    second_.initialize(mlp_first, weights[1]);
    third_.initialize(mlp_second, weights[2]);
  }

  /// One step on Batch x 784 floats and their labels. Gives the mean loss before it.
  float train_on_batch(float const* pixels, std::int32_t const* labels) {
    Eigen::Map<matrix const> const x(pixels, Batch, mlp_inputs);
    forward(x);
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

  /// The logits of a batch.
  float const* predict_on_batch(float const* pixels) {
    if constexpr (Batch == 1)
      forward(Eigen::Map<row const>(pixels, mlp_inputs));
    else
      forward(Eigen::Map<matrix const>(pixels, Batch, mlp_inputs));
    return third_.y.data();
  }

 private:
  struct layer {
    matrix w, dw, vw;
    output y, dy;
    row b, db, vb;

    void initialize(int inputs, first_weights const& weights) {
      auto const units = static_cast<Eigen::Index>(weights.bias.size());
      w = Eigen::Map<matrix const>(weights.kernel.data(), inputs, units);
      b = Eigen::Map<row const>(weights.bias.data(), units);
      dw = vw = matrix::Zero(inputs, units);
      db = vb = row::Zero(units);
      y = dy = output::Zero(Batch, units);
    }
  };

  template <class Samples>
  void forward(Samples const& x) {
    first_.y.noalias() = x * first_.w;
    first_.y = (first_.y.rowwise() + first_.b).cwiseMax(0.0F);
    second_.y.noalias() = first_.y * second_.w;
    second_.y = (second_.y.rowwise() + second_.b).cwiseMax(0.0F);
    third_.y.noalias() = second_.y * third_.w;
    third_.y.rowwise() += third_.b;
  }

  /// The loss of third_.y, and its gradient in third_.dy.
  float softmax_cross_entropy(std::int32_t const* labels) {
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
    if constexpr (Optimizer == optimizer_kind::sgd) {
      w.array() -= 0.01F * gradient.array();
    } else {
      v.array() = 0.9F * v.array() + 0.1F * gradient.array().square();
      w.array() -= 0.001F * gradient.array() / (v.array().sqrt() + 1e-7F);
    }
  }

  layer first_, second_, third_;
};

}  // namespace stagecraft::benchmarks
