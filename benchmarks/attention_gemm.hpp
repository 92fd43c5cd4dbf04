// SPDX-License-Identifier: BSD-3-Clause
// The peer: multi-head attention of a sequence to itself, by hand on a library's matrix products (gemm_libraries.hpp).
// Heads are columns of one matrix, as in most programs; exponentials are Eigen's where it is installed.
#pragma once

#if defined(STAGECRAFT_BENCHMARK_EIGEN)
#include <Eigen/Core>
#endif

#include <cmath>
#include <cstddef>
#include <vector>

#include "dense_gemm.hpp"
#include "sequence_layers.hpp"

namespace stagecraft::benchmarks {

template <class Library>
class attention_gemm {
  static constexpr int places = attention_places, features = attention_features, heads = attention_heads;
  static constexpr int rows = attention_batch * places, size = features / heads;

 public:
  /// `first`: where the layer's weights begin among these.
  explicit attention_gemm(layer_weights const& weights, bool /*trains*/ = true, std::size_t first = 0) {
    for (std::size_t i = 0; i < 4; ++i)
      products_[i] = {rows, features, features, weights[first + 2 * i], weights[first + 2 * i + 1]};
    scores_.resize(at(attention_batch * heads) * places * places);
    joined_.resize(at(rows) * features);
    of_joined_ = joined_;
    of_scores_.resize(at(places) * places);
    for (auto* one : {&dy_, &of_query_, &of_key_, &of_value_}) one->resize(at(rows) * features);
  }

  float const* predict_on_batch(float const* x) {
    for (auto* one : {&query(), &key(), &value()}) one->forward(x);
    for_each_head([&](std::size_t begin, float* scores) {
      float const *q = &query().y[begin], *k = &key().y[begin], *v = &value().y[begin];
      Library::multiply(false, true, places, places, size, q, features, k, features, 0.0F, scores);
      for (int row = 0; row < places; ++row) softmax(scores + row * places);
      Library::multiply(false, false, places, size, places, scores, places, v, features, 0.0F, &joined_[begin],
                        features);
    });
    output().forward(joined_.data());
    return output().y.data();
  }

  /// One step of stochastic gradient descent. Gives the mean squared error before it.
  float train_on_batch(float const* x, float const* target) {
    float const loss = squared_error(predict_on_batch(x), target, dy_.data(), rows, features);
    backward(x, dy_.data());
    return loss;
  }
  /// The gradients of a batch that has been predicted, and the update. `dx`: where that of x goes, if it is wanted.
  void backward(float const* x, float const* dy, float* dx = nullptr) {
    output().weight_gradient(joined_.data(), dy);
    output().input_gradient(dy, 0.0F, of_joined_.data());
    for_each_head([&](std::size_t begin, float const* scores) {
      float const *q = &query().y[begin], *k = &key().y[begin], *v = &value().y[begin], *d = &of_joined_[begin];
      float* const s = of_scores_.data();
      Library::multiply(true, false, places, size, places, scores, places, d, features, 0.0F, &of_value_[begin],
                        features);
      Library::multiply(false, true, places, places, size, d, features, v, features, 0.0F, s);
      for (int row = 0; row < places; ++row) softmax_gradient(scores + row * places, s + row * places);
      Library::multiply(false, false, places, size, places, s, places, k, features, 0.0F, &of_query_[begin], features);
      Library::multiply(true, false, places, size, places, s, places, q, features, 0.0F, &of_key_[begin], features);
    });
    query().weight_gradient(x, of_query_.data());
    key().weight_gradient(x, of_key_.data());
    value().weight_gradient(x, of_value_.data());
    if (dx != nullptr) {
      query().input_gradient(of_query_.data(), 0.0F, dx);
      key().input_gradient(of_key_.data(), 1.0F, dx);
      value().input_gradient(of_value_.data(), 1.0F, dx);
    }
    for (auto& one : products_) one.update();
  }

 private:
  static constexpr std::size_t at(int index) { return static_cast<std::size_t>(index); }
  static float scale() { return 1.0F / std::sqrt(static_cast<float>(size)); }

  using product = dense_gemm<Library>;
  product& query() { return products_[0]; }
  product& key() { return products_[1]; }
  product& value() { return products_[2]; }
  product& output() { return products_[3]; }

  /// `f(where a head begins in the products, its scores)`.
  template <class F>
  void for_each_head(F const& f) {
    for (int sample = 0; sample < attention_batch; ++sample)
      for (int head = 0; head < heads; ++head)
        f(at(sample * places) * features + at(head * size), &scores_[at(sample * heads + head) * places * places]);
  }
  static void softmax(float* row) {
    float largest = row[0];
    for (int i = 1; i < places; ++i) largest = row[i] > largest ? row[i] : largest;
#if defined(STAGECRAFT_BENCHMARK_EIGEN)
    Eigen::Map<Eigen::Array<float, places, 1>> all(row);
    all = ((all - largest) * scale()).exp();
    all *= 1.0F / all.sum();
#else
    float sum = 0;
    for (int i = 0; i < places; ++i) sum += row[i] = std::exp((row[i] - largest) * scale());
    for (int i = 0; i < places; ++i) row[i] *= 1.0F / sum;
#endif
  }
  /// d: the gradient of the row, and then that of its products.
  static void softmax_gradient(float const* row, float* d) {
    float sum = 0;
    for (int i = 0; i < places; ++i) sum += row[i] * d[i];
    for (int i = 0; i < places; ++i) d[i] = row[i] * (d[i] - sum) * scale();
  }

  product products_[4];
  std::vector<float> scores_, joined_, of_joined_, of_scores_, dy_, of_query_, of_key_, of_value_;
};

}  // namespace stagecraft::benchmarks
