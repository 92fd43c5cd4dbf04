// SPDX-License-Identifier: BSD-3-Clause
// The law that a model's gradients are the derivatives of its loss, checked through a whole training step: forward,
// loss, backward, weight update. With sgd and a learning rate of 1, a step changes each weight by its gradient.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "../session_steps.hpp"

namespace laws {

using values = std::vector<std::vector<float>>;  ///< of each weight, row by row

/// Numbers in (-1, 1), the same in each run.
class numbers {
 public:
  explicit numbers(std::uint32_t seed) : state_(seed * 2654435761U + 12345U) {}
  float next() {
    state_ = state_ * 1664525U + 1013904223U;
    return static_cast<float>(static_cast<std::int32_t>(state_ >> 8U) - (1 << 23)) / static_cast<float>(1 << 23);
  }

 private:
  std::uint32_t state_;
};

/// What comparing found.
struct findings {
  int compared = 0;
  int at_kinks = 0;  ///< not compared: the loss has a kink within the steps of the differences
  double worst = 0;  ///< largest deviation, as a multiple of what is tolerated
  std::string where;
};

/// Compares gradients with central differences, extrapolated from two steps (error h^4). The loss is a float32 of about
/// 1: its rounding gives up to 2e-5, so 1e-4 + 1e-3 |gradient| is tolerated. Where the two steps disagree by more than
/// twenty times that, there is a kink between them.
template <class Loss>
findings compare(values weights, values const& gradients, Loss const& loss) {
  constexpr double step = 1.0 / 64;
  findings result;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    for (std::size_t k = 0; k < gradients[i].size(); ++k) {
      float const kept = weights[i][k];
      auto const difference = [&](double h) {
        float const above = kept + static_cast<float>(h), below = kept - static_cast<float>(h);
        weights[i][k] = above;
        double const high = loss(weights);
        weights[i][k] = below;
        double const low = loss(weights);
        weights[i][k] = kept;
        return (high - low) / (static_cast<double>(above) - static_cast<double>(below));
      };
      double const coarse = difference(step), fine = difference(step / 2);
      double const expected = (4 * fine - coarse) / 3;
      double const found = static_cast<double>(gradients[i][k]);
      double const tolerated = 1e-4 + 1e-3 * std::abs(expected);
      if (std::abs(coarse - fine) > 20 * tolerated) {
        ++result.at_kinks;
        continue;
      }
      ++result.compared;
      double const deviation = std::abs(found - expected) / tolerated;
      if (!(deviation <= result.worst)) {
        result.worst = deviation;
        char text[120];
        std::snprintf(text, sizeof(text), "weight %zu, element %zu: gradient %.7g, difference %.7g", i, k, found,
                      expected);
        result.where = text;
      }
    }
  }
  return result;
}

template <class M>
class call_check;

/// One model with sgd, a learning rate of 1 and a loss, on made-up data.
template <class M, auto Training>
class gradient_check {
 public:
  using session = session_steps<M, Training, sc::host<>>;

  static void run() {
    static_assert(Training.optimizer == sc::optimizers::sgd{.learning_rate = 1});
    session first;
    auto const weights = initial(first);
    write(first, weights);
    fill(first);
    first.train_step([] {});
    auto const after = read(first);
    // A weight that is not trained, such as a moving mean, has no gradient.
    values gradients(weights.size());
    for (std::size_t i = 0; i < weights.size(); ++i)
      if (session::graph.parameters[i].trainable) gradients[i] = weights[i];
    for (std::size_t i = 0; i < weights.size(); ++i)
      for (std::size_t k = 0; k < gradients[i].size(); ++k) gradients[i][k] = weights[i][k] - after[i][k];

    CHECK(loss_of(weights) == static_cast<double>(first.total_loss()));
    auto const found = compare(weights, gradients, &loss_of);
    CAPTURE(found.where);
    CHECK(found.worst <= 1);
    CHECK(found.compared > 0);
    CHECK(found.at_kinks * 10 <= found.compared);
    check_shapes(weights);
  }

 private:
  template <class>
  friend class call_check;

  // A new session has the same seed and step, so dropout draws the same mask.
  static double loss_of(values const& weights) {
    session s;
    write(s, weights);
    fill(s);
    s.train_step([] {});
    return static_cast<double>(s.total_loss());
  }

  // What comes out has the inferred shape: each of its elements is written.
  static void check_shapes(values const& weights) {
    session s;
    write(s, weights);
    fill(s);
    for (std::size_t output = 0; output < session::output_count; ++output) {
      auto const size = static_cast<std::size_t>(session::batch * session::output_shape(output).size());
      s.predict_step();
      auto* const memory = const_cast<float*>(s.prediction(output));
      constexpr auto const& model_plan =
          sc::plan::model_plan_for<sc::jobs::job<M, Training, sc::execution_mode::inference>>;
      bool const is_view_of_input = model_plan.calls[session::outputs[output]].root == 0;
      if (is_view_of_input) continue;
      for (std::size_t i = 0; i < size; ++i) memory[i] = 12345.0F;
      fill(s);
      s.predict_step();
      int untouched = 0;
      for (std::size_t i = 0; i < size; ++i) untouched += memory[i] == 12345.0F ? 1 : 0;
      CHECK(untouched == 0);
    }
  }

  template <class Visit>
  static void for_each_weight(Visit const& visit) {
    [&]<std::size_t... Weight>(std::index_sequence<Weight...>) {
      (visit.template operator()<Weight>(), ...);
    }(std::make_index_sequence<session::graph.parameters.size()>{});
  }
  static values read(session const& s) {
    values result;
    for_each_weight([&]<std::size_t Weight>() {
      result.emplace_back(static_cast<std::size_t>(session::graph.parameters[Weight].size()));
      s.template read_weight<Weight>(result.back().data());
    });
    return result;
  }
  static void write(session& s, values const& weights) {
    for_each_weight([&]<std::size_t Weight>() { s.template write_weight<Weight>(weights[Weight].data()); });
  }
  static values initial(session const& s) {
    values result = read(s);
    numbers draw(7);
    for (auto& weight : result)
      for (auto& value : weight) value = 0.8F * draw.next();
    for (std::size_t i = 0; i < result.size(); ++i)  // a frozen layer divides by its root
      if (session::graph.parameters[i].name == "moving_variance")
        for (auto& value : result[i]) value = value * value + 0.3F;
    return result;
  }

  static void fill(session& s) {
    numbers draw(3);
    for (int i = 0; i < session::input_count(); ++i)
      for (int k = 0; k < session::batch * session::input_shape(i).size(); ++k) s.input(i)[k] = draw.next();
    [&]<std::size_t... Output>(std::index_sequence<Output...>) {
      (fill_targets<Output>(s, draw), ...);
    }(std::make_index_sequence<session::output_count>{});
  }
  // Targets are distributions over the last axis, which suits every loss; rows have different weights.
  template <std::size_t Output>
  static void fill_targets(session& s, numbers& draw) {
    constexpr int columns = session::output_shape(Output).back();
    constexpr int rows = session::batch * session::rows_per_sample(Output);
    auto* const target = s.template target<Output>();
    for (int row = 0; row < rows; ++row) {
      s.scale(Output)[row] = (1.0F + 0.3F * static_cast<float>(row % 3)) / static_cast<float>(rows);
      if constexpr (session::sparse_targets(Output)) {
        target[row] = row % columns;
      } else {
        float sum = 0;
        for (int column = 0; column < columns; ++column) sum += target[row * columns + column] = draw.next() + 1.1F;
        for (int column = 0; column < columns; ++column) target[row * columns + column] /= columns == 1 ? 2.2F : sum;
      }
    }
  }
};

/// How models are trained here: with each weight's gradient as its change.
template <auto Loss = sc::losses::mean_squared_error{}>
inline constexpr auto by_gradient =
    sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = 1}, .loss = Loss, .batch_size = 3};

template <class M, auto Loss = sc::losses::mean_squared_error{}>
void check_gradients() {
  gradient_check<M, by_gradient<Loss>>::run();
}

}  // namespace laws
