// SPDX-License-Identifier: BSD-3-Clause
// A trainer's steps as its `fit` and `predict` run them for each batch, for a benchmark to call one at a time.
#pragma once

#include <stagecraft/training/trainer.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "first_weights.hpp"

namespace stagecraft::benchmarks {

template <Model M, auto Training, class Machine>
class trainer_steps {
 public:
  explicit trainer_steps(network_weights const& weights) {
    write_weights(weights, std::make_index_sequence<graph_of<M>.parameters.size()>{});
  }

  /// One step on a batch of samples and their labels, with the copy of both and the accuracy. Gives the mean loss
  /// before it.
  float train_on_batch(float const* x, std::int32_t const* labels) {
    float loss = 0;
    auto const feed = [&](auto const& to, int, int) {
      copy_samples(x, to);
      std::copy_n(labels, batch, to.template target<0>());
      std::fill_n(to.scale(0), batch, 1.0F / batch);
    };
    trainer_.session().train(1, feed, [&](auto const& step) {
      results_.add(step);
      loss = step.total_loss();
    });
    return loss;
  }

  /// The logits of a batch, with the copy of its samples, where the model's first layer needs one.
  float const* predict_on_batch(float const* x) {
    float const* result = nullptr;
    trainer_.session().predict(
        1,
        [&](auto const& to, int, int) {
          if (to.takes_loans())
            to.lend(x);
          else
            copy_samples(x, to);
        },
        [&](auto const& step) { result = step.prediction(0); });
    return result;
  }

 private:
  using trainer_type = trainer<M, Training, Machine>;
  static constexpr int batch = Training.batch_size;

  static void copy_samples(float const* x, auto const& to) {
    std::copy_n(x, batch * trainer_type::session_type::input_shape(0).size(), to.input(0));
  }
  template <std::size_t... Parameter>
  void write_weights(network_weights const& weights, std::index_sequence<Parameter...>) {
    (trainer_.session().template write_weight<Parameter>(
         (Parameter % 2 == 0 ? weights[Parameter / 2].kernel : weights[Parameter / 2].bias).data()),
     ...);
  }

  trainer_type trainer_;
  typename trainer_type::template results<trainers::run_kind::training>::results_of_one results_;
};

}  // namespace stagecraft::benchmarks
