// SPDX-License-Identifier: BSD-3-Clause
// A predictor as a program calls it: one batch at a time, at once.
#pragma once

#include <stagecraft/training/predictor.hpp>
#include <array>
#include <cstddef>
#include <utility>

#include "first_weights.hpp"

namespace stagecraft::benchmarks {

template <Model M, auto Inference, class Machine = host<>>
class predictor_steps {
 public:
  explicit predictor_steps(network_weights const& weights) {
    [&]<std::size_t... Parameter>(std::index_sequence<Parameter...>) {
      (model_.session().template write_weight<Parameter>(
           (Parameter % 2 == 0 ? weights[Parameter / 2].kernel : weights[Parameter / 2].bias).data()),
       ...);
    }(std::make_index_sequence<graph_of<M>.parameters.size()>{});
    model_.session().begin_run();
  }

  /// The logits of a batch, with all that `model(x)` does: checks, the copy of its samples, if it needs one, a view of
  /// the result.
  float const* predict_on_batch(float const* x) {
    constexpr auto const& sample = model_type::session_type::input_shape(0);
    std::array<std::size_t, static_cast<std::size_t>(sample.rank()) + 1> extents{
        static_cast<std::size_t>(Inference.batch_size)};
    for (std::size_t axis = 1; axis < extents.size(); ++axis)
      extents[axis] = static_cast<std::size_t>(sample[static_cast<int>(axis) - 1]);
    auto const samples =
        xt::adapt(x, extents[0] * static_cast<std::size_t>(sample.size()), xt::no_ownership(), extents);
    return &model_(samples)(0, 0);
  }

 private:
  using model_type = predictor<M, Inference, Machine>;
  model_type model_;
};

}  // namespace stagecraft::benchmarks
