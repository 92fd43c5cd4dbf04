// SPDX-License-Identifier: BSD-3-Clause
// A layer for each step of a sequence: tf.keras.layers.TimeDistributed.
#pragma once

#include <stagecraft/layers/layer.hpp>
#include <string_view>
#include <type_traits>

namespace stagecraft::layers {

/// Keras's keyword arguments of TimeDistributed.
struct time_distributed_options {
#include <stagecraft/layers/common_options.hpp>
};

/// Applies `each` to every step of its input, with the same weights: the steps of all samples are its samples, as in a
/// Keras model whose batch size is not fixed. It takes any layer of one input, one of your own as well; several layers
/// get a time_distributed each.
///
/// Shape: (steps, ...) to (steps, output shape of `each`). Weights: those of `each`, under its names. Cost: `each`, for
/// each step. Errors: those of `each`; E1072 if it is no layer; E1089 if it is stateful; E1101 if it adds to the loss;
/// E1041 without an axis after the steps. Definition: Keras API, layers/recurrent_layers/time_distributed.
template <class Each>
struct time_distributed : layer<time_distributed<Each>> {
  static constexpr bool supports_masking = true;
  static constexpr std::string_view class_name = "TimeDistributed";
  static constexpr std::string_view usage =
      "time_distributed{dense{units}} or time_distributed{dense{units}, {.name = ...}}"sv;
  static constexpr auto steps_by = layer_kernel::each_step;

  Each each;

  constexpr explicit time_distributed(Each const& each_, time_distributed_options const& options = {}) : each(each_) {
    this->layer_name = options.name;
    this->trainable = each.trainable = options.trainable && each.trainable;
    this->is_on_host = each.is_on_host;
    this->layer_dtype = options.dtype == dtype::of_policy ? each.layer_dtype : options.dtype;
  }

  /// Keras's `layer`.
  [[nodiscard]] constexpr Each const& wrapped() const { return each; }

  /// Makes the layer inside one that is not trained, as Keras's `trainable` of this layer does.
  constexpr void freeze_wrapped() {
    this->trainable = each.trainable = false;
    if constexpr (requires { each.freeze_wrapped(); }) each.freeze_wrapped();
  }

  [[nodiscard]] constexpr shape output_shape(layer_inputs const& in) const {
    if (!in.expect_count(1, 1)) return in[0];
    if (in[0].rank() < 2) return in.error(1041, "expects an input of shape (steps, ...), but got ", in[0]);
    parameter_list weights;
    auto const found = rules(in, weights);
    if (found.losses > 0 || !detail::activity_regularizer_of(each).empty())
      return in.error(1101,
                      "distributes a layer that adds to the loss; add a layer behind it that does so, such as "
                      "activity_regularization");
    shape result(in[0][0]);
    for (int i = 0; i < weights.count && i < parameter_list::most; ++i)
      if (weights.entries[i].between_batches)
        return in.error(1089,
                        "distributes a layer that is stateful over the steps of a sequence, which are samples to it");
    if (found.output.rank() == shape::max_rank)
      return in.error(1041, "gives more than ", shape::max_rank - 1, " axes for each step");
    for (int const length : found.output) result.push_back(length);
    return result;
  }
  constexpr void parameters(layer_inputs const& in, parameter_list& weights) const { rules(in, weights); }
  [[nodiscard]] constexpr long long flops(layer_inputs const& in) const {
    parameter_list weights;
    return in[0][0] * rules(in, weights).flops;
  }

  /// The shape of one step.
  [[nodiscard]] static constexpr shape of_step(shape const& sequence) {
    shape result;
    for (int axis = 1; axis < sequence.rank(); ++axis) result.push_back(sequence[axis]);
    return result;
  }

 private:
  constexpr auto rules(layer_inputs const& in, parameter_list& weights) const {
    shape const step = of_step(in[0]);
    return detail::rules_of_layer<Each>(each, in.with_shapes(&step, 1), in.layer_name(), weights, in.problem());
  }
};

/// E1072 for a type that is no layer.
template <class Other>
  requires(!Layer<Other>)
struct time_distributed<Other> : layer<time_distributed<Other>> {
  static constexpr std::string_view class_name = "TimeDistributed";

  constexpr explicit time_distributed(Other const&, time_distributed_options const& = {}) {
    static_assert(detail::report<problem<Other>>());
  }
  [[nodiscard]] static constexpr shape output_shape(layer_inputs const& in) { return in[0]; }

 private:
  template <class T>
  static constexpr diagnostics::diagnostic problem = [] {
    diagnostics::diagnostic found;
    found.report(1072, "time_distributed is given '", detail::type_name<T>(),
                 "', which is not a layer; of a model, give each layer a time_distributed of its own");
    return found;
  }();
};

template <class Each>
time_distributed(Each) -> time_distributed<Each>;
template <class Each>
time_distributed(Each, time_distributed_options) -> time_distributed<Each>;

}  // namespace stagecraft::layers
