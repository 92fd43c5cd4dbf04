// SPDX-License-Identifier: BSD-3-Clause
// Long short-term memory whose products are convolutions: tf.keras.layers.ConvLSTM1D, ConvLSTM2D and ConvLSTM3D.
#pragma once

#include <stagecraft/initializers/constant.hpp>
#include <stagecraft/initializers/random.hpp>
#include <stagecraft/initializers/variance_scaling.hpp>
#include <stagecraft/layers/rnn/lstm.hpp>
#include <stagecraft/layers/rnn/recurrence.hpp>
#include <stagecraft/layers/rnn/recurrent_layer.hpp>
#include <stagecraft/layers/volume.hpp>
#include <stagecraft/layers/window_layer.hpp>
#include <array>

namespace stagecraft::layers {

/// Keras's keyword arguments of ConvLSTM1D (Size is int), ConvLSTM2D (size_2d) and ConvLSTM3D (size_3d).
template <class Size>
struct conv_lstm_options {
  Size strides = 1;  ///< the distance that the window over the inputs moves between outputs
  /// `valid`: windows lie inside the inputs; `same`: zeros are added around them. Windows over states are `same`.
  stagecraft::padding padding = stagecraft::padding::valid;
  Size dilation_rate = 1;                    ///< the distance between neighbouring elements of the window over inputs
  stagecraft::activation activation = tanh;  ///< the activation of new states
  stagecraft::activation recurrent_activation = hard_sigmoid;       ///< the activation of the gates
  bool use_bias = true;                                             ///< true if the layer has weights `bias`
  initializer kernel_initializer = initializers::glorot_uniform{};  ///< the values that the kernel begins with
  /// The values that the recurrent kernel begins with.
  initializer recurrent_initializer = initializers::orthogonal{};
  initializer bias_initializer = initializers::zeros{};  ///< the values that the bias begins with
  bool unit_forget_bias =
      true;  ///< true if the bias of the forget gate begins with ones, whatever bias_initializer says
  regularizer kernel_regularizer = {};     ///< a penalty on the kernel that is added to the loss
  regularizer recurrent_regularizer = {};  ///< a penalty on the recurrent kernel that is added to the loss
  regularizer bias_regularizer = {};       ///< a penalty on the bias that is added to the loss
  /// A penalty on the output that is added to the loss, divided by the batch size: l1, l2 or both.
  regularizer activity_regularizer = {};
  constraint kernel_constraint = {};     ///< the constraint on the kernel after each update
  constraint recurrent_constraint = {};  ///< the constraint on the recurrent kernel after each update
  constraint bias_constraint = {};       ///< the constraint on the bias after each update
  bool return_sequences = false;         ///< true if the result is the output of all steps, or of the last one
  bool return_state = false;  ///< true if the states after the last step are outputs as well, after the result
  bool go_backwards = false;  ///< true if to begin at the end; a sequence has the order of the steps that were made
  bool stateful = false;      ///< true if a batch begins with the states after the one before: see recurrent_layer
  float dropout = 0;  ///< the share of the inputs' elements that training sets to 0, the same ones in all steps of time
  float recurrent_dropout = 0;  ///< the share of the state's elements that training sets to 0
#include <stagecraft/layers/common_options.hpp>
};

/// Long short-term memory whose products are convolutions: see lstm for its formulas.
///
/// Shape: (steps, lengths..., channels) to (new lengths..., filters), or (steps, ...) with `return_sequences`; with
/// `return_state` h and c as well. Called on x, h and c, it begins with these. Weights: kernel (kernel_size...,
/// channels, 4 * filters), recurrent_kernel (kernel_size..., filters, 4 * filters), bias (4 * filters). Cost: two
/// convolutions for each step. Errors: those of window_layer; E1013 rates of dropout; E1034 a window that does not fit;
/// E1085 initial states that do not fit; E1087, E1088 of stateful layers. Definition: Keras API,
/// layers/recurrent_layers; Shi and others, 2015.
template <class Derived, class Size>
struct conv_lstm_layer : recurrent_layer<window_layer<Derived, Size, conv_lstm_options<Size>, false>, Derived, 2> {
  using base = window_layer<Derived, Size, conv_lstm_options<Size>, false>;
  using recurrent_layer<base, Derived, 2>::recurrent_layer;

  /// See recurrent_layer.
  constexpr detail::recurrent_result<2> run(operations::tracer& ops, operations::tensor x, operations::tensor mask,
                                            tensor_list initial) const {
    auto const& given = this->options;
    if (!base::check_options(ops, x, given.dilation_rate, 1)) return {x};
    if (!(given.dropout >= 0.0F && given.dropout < 1.0F && given.recurrent_dropout >= 0.0F &&
          given.recurrent_dropout < 1.0F))
      return ops.error(1013, "has a rate of dropout that is not at least 0 and below 1"),
             detail::recurrent_result<2>{x};
    int const batch = x.length(0), steps = x.length(1), outputs = this->filters;
    operations::extents at_once = x.shape(), of_mask = x.shape(), result;
    at_once.erase(0);
    at_once[0] = batch * steps;
    of_mask[1] = 1;
    auto const over = base::windows_of(at_once, given.dilation_rate);
    if (!over.out(at_once, 4 * outputs, result))
      return ops.error(1034, "has a kernel of ", this->kernel_size, ", which does not fit into ",
                       detail::sample_shape(x)),
             detail::recurrent_result<2>{x};
    auto const kernel = base::make_kernel(ops, base::kernel_shape(x.length(-1), 4 * outputs));
    auto const recurrent_kernel = ops.weight(
        parameter::with("recurrent_kernel", base::kernel_shape(outputs, 4 * outputs), given.recurrent_initializer,
                        given.recurrent_regularizer, given.recurrent_constraint));
    auto const images = ops.reshape(detail::call_dropout(ops, x, given.dropout, of_mask), at_once);
    auto projected = convolve(ops, images, kernel, over);
    if (given.use_bias) {
      initializer bias = given.bias_initializer;
      bias.unit_forget_bias = given.unit_forget_bias;
      projected +=
          ops.weight(parameter::with("bias", {4 * outputs}, bias, given.bias_regularizer, given.bias_constraint));
    }
    operations::extents state = result, sequence = result;
    state[0] = sequence[0] = batch;
    state[-1] = outputs;
    sequence.insert(1, steps);
    operations::windows around;
    for (int axis = 0; axis < base::places; ++axis)
      around.along[around.count++] = operations::window::same(state[axis + 1], base::along(this->kernel_size, axis));
    auto const rate = given.recurrent_dropout;
    auto const drops = ops.training() && rate != 0.0F;
    auto const drawn = drops ? ops.uniform(state) : x;
    auto const step = [&](auto z, auto const& before) {
      auto const h = drops ? where(drawn < rate, 0.0F, before[0] * (1.0F / (1.0F - rate))) : before[0];
      z += convolve(ops, h, recurrent_kernel, around);
      auto const gate = [&](int index) { return ops.slice(z, -1, index * outputs, outputs); };
      return detail::lstm_states(given.activation, given.recurrent_activation, gate, before[1]);
    };
    detail::first_states<2> const first(ops, initial, given.stateful, [&](std::size_t) { return state; });
    return detail::loop_over_steps(ops, ops.reshape(projected, sequence), mask, first, given, step);
  }

 private:
  static constexpr auto convolve(auto& ops, auto x, auto kernel, operations::windows const& over) {
    if constexpr (base::places == 3)
      return detail::convolve_volume(ops, x, kernel, over, 1);
    else
      return ops.conv(x, kernel, over);
  }
};

using conv_lstm1d_options = conv_lstm_options<int>;

/// Long short-term memory for sequences: tf.keras.layers.ConvLSTM1D.
/// See conv_lstm_layer. Shape of the input: (steps, length, channels).
/// Definition: Keras API, layers/recurrent_layers/conv_lstm1d.
struct conv_lstm1d : conv_lstm_layer<conv_lstm1d, int> {
  static constexpr std::string_view class_name = "ConvLSTM1D";
  static constexpr std::string_view usage =
      "conv_lstm1d{filters, kernel_size} or conv_lstm1d{filters, kernel_size, {.return_sequences = true, ...}}"sv;

  using conv_lstm_layer::conv_lstm_layer;
};

using conv_lstm2d_options = conv_lstm_options<size_2d>;

/// Long short-term memory for images: tf.keras.layers.ConvLSTM2D.
/// See conv_lstm_layer. Shape of the input: (steps, height, width, channels).
/// Definition: Keras API, layers/recurrent_layers/conv_lstm2d.
struct conv_lstm2d : conv_lstm_layer<conv_lstm2d, size_2d> {
  static constexpr std::string_view class_name = "ConvLSTM2D";
  static constexpr std::string_view usage =
      "conv_lstm2d{filters, kernel_size} or conv_lstm2d{filters, kernel_size, {.return_sequences = true, ...}}"sv;

  using conv_lstm_layer::conv_lstm_layer;
};

using conv_lstm3d_options = conv_lstm_options<size_3d>;

/// Long short-term memory for volumes: tf.keras.layers.ConvLSTM3D.
/// See conv_lstm_layer. Shape of the input: (steps, depth, height, width, channels).
/// Definition: Keras API, layers/recurrent_layers/conv_lstm3d.
struct conv_lstm3d : conv_lstm_layer<conv_lstm3d, size_3d> {
  static constexpr std::string_view class_name = "ConvLSTM3D";
  static constexpr std::string_view usage =
      "conv_lstm3d{filters, kernel_size} or conv_lstm3d{filters, kernel_size, {.return_sequences = true, ...}}"sv;

  using conv_lstm_layer::conv_lstm_layer;
};

}  // namespace stagecraft::layers
