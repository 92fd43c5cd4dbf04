// SPDX-License-Identifier: BSD-3-Clause
// The base of conv3d, conv1d_transpose, conv3d_transpose and locally connected layers: a window along one to three
// axes, a bias and an activation. Keras counterpart: the base class of tf.keras.layers.Conv3D and its like.
#pragma once

#include <stagecraft/activations/activation.hpp>
#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/layers/count_limit.hpp>
#include <stagecraft/layers/layer.hpp>
#include <stagecraft/layers/option_layer.hpp>
#include <stagecraft/layers/padding.hpp>
#include <stagecraft/layers/sizes.hpp>
#include <concepts>

namespace stagecraft::layers {

/// Base of convolution layers whose steps are operations. Size is int, size_2d or size_3d. Channels are the last axis.
///
/// Errors: E1001; E1030 for filters below 1; E1031 for a kernel size, stride or dilation rate below 1; E1033 if strides
/// and dilation rates are both above 1; E1035 for an input of another number of axes; E1037 for causal padding.
template <class Derived, class Size, class Options, bool HasActivation = true>
struct window_layer : argument_layer<Derived, Options> {
  using base_type = argument_layer<Derived, Options>;

  /// Number of axes that the window moves along.
  static constexpr int places = std::same_as<Size, int> ? 1 : std::same_as<Size, size_2d> ? 2 : 3;

  int filters = 1;
  Size kernel_size = 1;
  stagecraft::activation activation = linear;

  using arguments = argument_list<&window_layer::filters, &window_layer::kernel_size, &window_layer::activation>;

  constexpr window_layer(detail::whole_number filters_, Size const& kernel_size_, Options const& options_ = {})
      : base_type(typename base_type::with{}, options_), filters(filters_), kernel_size(kernel_size_) {}
  template <std::convertible_to<stagecraft::activation> Activation>
    requires HasActivation
  constexpr window_layer(detail::whole_number filters_, Size const& kernel_size_, Activation activation_,
                         Options const& options_ = {})
      : base_type(typename base_type::with{}, options_),
        filters(filters_),
        kernel_size(kernel_size_),
        activation(activation_) {}

  using base_type::base_type;

 protected:
  [[nodiscard]] static constexpr int along(int size, int) { return size; }
  [[nodiscard]] static constexpr int along(size_2d const& size, int axis) {
    return axis == 0 ? size.height : size.width;
  }
  [[nodiscard]] static constexpr int along(size_3d const& size, int axis) { return size[axis]; }
  [[nodiscard]] static constexpr int least(Size const& size) {
    int result = along(size, 0);
    for (int axis = 1; axis < places; ++axis)
      if (along(size, axis) < result) result = along(size, axis);
    return result;
  }

  /// The longest kernel along an axis: some of these layers have operations for each of its places.
  static constexpr int longest_kernel = 4096;
  [[nodiscard]] constexpr bool is_short(Size const& dilation_rate) const {
    bool result = true;
    for (int axis = 0; axis < places; ++axis)
      result = result && along(kernel_size, axis) <= longest_kernel &&
               sliding_window::is_short(along(kernel_size, axis), along(this->options.strides, axis),
                                        along(dilation_rate, axis));
    return result;
  }
  /// True if the options and the number of axes are valid; `steps` is the number of axes between the batch and the
  /// window's axes.
  [[nodiscard]] constexpr bool check_options(auto& ops, auto x, Size const& dilation_rate, int steps = 0) const {
    auto const& given = this->options;
    if (!detail::are_counts(filters))
      ops.error(1030, "has ", filters, " filters; it needs ", detail::count_limit(filters));
    else if (least(kernel_size) < 1)
      ops.error(1031, "has a kernel of size ", kernel_size, "; each number must be at least 1");
    else if (least(given.strides) < 1)
      ops.error(1031, "has strides of ", given.strides, "; each number must be at least 1");
    else if (least(dilation_rate) < 1)
      ops.error(1031, "has a dilation rate of ", dilation_rate, "; each number must be at least 1");
    else if (!is_short(dilation_rate))
      ops.error(1031, "has a kernel of size ", kernel_size, " with strides of ", given.strides,
                " and a dilation rate of ", dilation_rate, "; a kernel is at most ", longest_kernel,
                ", a window and its strides ", sliding_window::longest);
    else if (given.strides != Size(1) && dilation_rate != Size(1))
      ops.error(1033, "has strides of ", given.strides, " and a dilation rate of ", dilation_rate,
                "; one of them must be 1");
    else if (given.padding == padding::causal)
      ops.error(1037, "has causal padding; only conv1d and its like have that");
    else if (x.rank() != places + steps + 2)
      ops.error(1035, "expects an input of ", places + steps + 1, " axes, the last of them its channels, but got ",
                detail::sample_shape(x));
    else
      return true;
    return false;
  }
  /// The steps of the window along an axis of length `length`.
  [[nodiscard]] constexpr sliding_window way(int axis, int length, Size const& dilation_rate) const {
    auto const& given = this->options;
    return {length, along(kernel_size, axis), along(given.strides, axis), along(dilation_rate, axis), given.padding};
  }
  /// The windows over an input (batch, lengths..., channels).
  [[nodiscard]] constexpr operations::windows windows_of(operations::extents const& in,
                                                         Size const& dilation_rate) const {
    operations::windows result;
    for (int axis = 0; axis < places; ++axis) {
      auto const w = way(axis, in[axis + 1], dilation_rate);
      result.along[result.count++] = {w.window, w.stride, w.dilation, w.before(), w.after()};
    }
    return result;
  }
  /// (kernel_size..., inputs, outputs)
  [[nodiscard]] constexpr shape kernel_shape(int inputs, int outputs) const {
    shape result;
    for (int axis = 0; axis < places; ++axis) result.push_back(along(kernel_size, axis));
    result.push_back(inputs);
    result.push_back(outputs);
    return result;
  }
  constexpr auto make_kernel(auto& ops, shape const& of) const {
    auto const& given = this->options;
    return ops.weight(
        parameter::with("kernel", of, given.kernel_initializer, given.kernel_regularizer, given.kernel_constraint));
  }
  /// activation(sums + bias), with a bias of this shape.
  constexpr auto with_bias_and_activation(auto& ops, auto sums, shape const& of_bias) const {
    auto const& given = this->options;
    if (given.use_bias)
      sums += ops.weight(
          parameter::with("bias", of_bias, given.bias_initializer, given.bias_regularizer, given.bias_constraint));
    return activation(sums);
  }
};

}  // namespace stagecraft::layers
