// SPDX-License-Identifier: BSD-3-Clause
// The base of convolution layers: a window that slides along one or two axes, a bias and an activation.
// Keras counterpart: the base class of tf.keras.layers.Conv1D and its like.
#pragma once

#include <stagecraft/activations/activation.hpp>
#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/layers/count_limit.hpp>
#include <stagecraft/layers/kept_steps.hpp>
#include <stagecraft/layers/layer.hpp>
#include <stagecraft/layers/padding.hpp>
#include <stagecraft/layers/sizes.hpp>
#include <concepts>

namespace stagecraft::layers {

/// Base of the convolution layers. Size is size_2d, or int for those with one axis, which count as images of height 1.
/// Channels are the last axis (Keras's `data_format="channels_last"`).
///
/// Errors: E1001; E1031 for a kernel size, stride or dilation rate below 1; E1033 if strides and dilation rates are
/// both above 1; E1035 for an input of another number of axes; E1037 for causal padding along two axes; E1150 for a
/// stateful layer along two axes, E1151 for one without causal padding, E1152 if its strides do not divide the steps.
template <class Derived, class Size, class Options>
struct convolution_layer : layer<Derived> {
  static constexpr bool is_2d = std::same_as<Size, size_2d>;
  /// Axes of one sample.
  static constexpr int axes = is_2d ? 3 : 2;

  static constexpr bool ends_with_activation = true;

  Size kernel_size = 1;
  stagecraft::activation activation = linear;
  Options options;

  /// The steps of the window along the width of an input.
  [[nodiscard]] constexpr sliding_window columns(int width) const {
    if constexpr (is_2d)
      return {width, kernel_size.width, options.strides.width, options.dilation_rate.width, options.padding};
    else
      return {width, kernel_size, options.strides, options.dilation_rate,
              is_stateful() ? padding::valid : options.padding};
  }
  /// The steps of the window along the height.
  [[nodiscard]] constexpr sliding_window rows(int height) const {
    if constexpr (is_2d)
      return {height, kernel_size.height, options.strides.height, options.dilation_rate.height, options.padding};
    else
      return {};
  }
  /// Width and height of an input.
  [[nodiscard]] static constexpr int width_of(shape const& in) { return in[in.rank() - 2]; }
  [[nodiscard]] static constexpr int height_of(shape const& in) { return is_2d ? in[in.rank() - 3] : 1; }

  /// True if the layer keeps steps of its input from call to call. Its windows then lie inside the input that
  /// follows them.
  [[nodiscard]] constexpr bool is_stateful() const {
    if constexpr (requires { options.stateful; })
      return options.stateful;
    else
      return false;
  }
  [[nodiscard]] constexpr bool runs_by_operations() const { return is_stateful(); }

  using layer<Derived>::layer;
  /// No argument: E1025.
  template <class L = Derived>
    requires detail::is_preferred<L>
  constexpr convolution_layer() {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

 protected:
  constexpr convolution_layer(Options const& options_, Size const& kernel_size_, stagecraft::activation activation_)
      : kernel_size(kernel_size_), activation(activation_), options(options_) {
    this->take_base_options(options);
  }

  /// True if the options and the number of axes are valid. With `more_axes`, axes before the image's count as batch.
  [[nodiscard]] constexpr bool check_options(auto& ops, auto x, bool more_axes = false) const {
    int const rank = x.rank() - 1;
    if (least(kernel_size) < 1)
      ops.error(1031, "has a kernel of size ", kernel_size, "; each number must be at least 1");
    else if (least(options.strides) < 1)
      ops.error(1031, "has strides of ", options.strides, "; each number must be at least 1");
    else if (least(options.dilation_rate) < 1)
      ops.error(1031, "has a dilation rate of ", options.dilation_rate, "; each number must be at least 1");
    else if (!is_short())
      ops.error(1031, "has a kernel of size ", kernel_size, " with strides of ", options.strides,
                " and a dilation rate of ", options.dilation_rate, "; a window and its strides are at most ",
                sliding_window::longest);
    else if (options.strides != Size(1) && options.dilation_rate != Size(1))
      ops.error(1033, "has strides of ", options.strides, " and a dilation rate of ", options.dilation_rate,
                "; one of them must be 1");
    else if (is_2d && options.padding == padding::causal)
      ops.error(1037, "has causal padding; only layers that convolve along one axis have that");
    else if (is_2d && is_stateful())
      ops.error(1150, detail::stateful_along_many_axes);
    else if (rank < axes || (rank > axes && !more_axes))
      ops.error(1035, "expects an input of ", more_axes ? "at least " : "", axes,
                is_2d ? " axes, (height, width, channels)" : " axes, (steps, channels)", ", but got ",
                detail::sample_shape(x));
    else
      return check_kept_steps(ops, x);
    return false;
  }
  /// The steps that a stateful layer has kept, then x.
  [[nodiscard]] constexpr auto with_kept_steps(auto& ops, auto x) const {
    if constexpr (is_2d)
      return x;
    else
      return is_stateful() ? detail::with_kept_steps(ops, x, columns(0).extent() - 1) : x;
  }
  /// The layout of a weight that the kernel multiplies by.
  [[nodiscard]] constexpr tracing::parameter_layout layout_of_matrix() const {
    return runs_by_operations() ? tracing::parameter_layout::plain : tracing::parameter_layout::matrix;
  }
  /// True if each channel can become `multiplier` channels: E1036.
  [[nodiscard]] static constexpr bool check_multiplier(auto& ops, auto x, int multiplier) {
    if (multiplier >= 1 && 1LL * multiplier * x.length(-1) <= shape::longest) return true;
    if (multiplier < 1)
      ops.error(1036, "has a depth multiplier of ", multiplier, "; it needs at least 1");
    else
      ops.error(1036, "has a depth multiplier of ", multiplier, ", which makes more than ", shape::longest,
                " channels");
    return false;
  }
  /// True if the window fits into the input: E1034.
  [[nodiscard]] constexpr bool check_window(auto& ops, shape const& in) const {
    auto const along = columns(width_of(in)), down = rows(height_of(in));
    if (along.output() > 0 && down.output() > 0) return true;
    if constexpr (is_2d)
      ops.error(1034, "has a window of ", size_2d(down.extent(), along.extent()),
                ", which does not fit into an input of ", in);
    else
      ops.error(1034, "has a window of ", along.extent(), " steps, which does not fit into an input of ", in);
    return false;
  }
  /// The shape of an output of `channels` channels.
  [[nodiscard]] constexpr shape output_of(shape const& in, int channels) const {
    auto result = in;
    int const rank = in.rank();
    result[rank - 1] = channels;
    result[rank - 2] = columns(width_of(in)).output();
    if constexpr (is_2d) result[rank - 3] = rows(height_of(in)).output();
    return result;
  }
  /// The windows of an input of this shape.
  [[nodiscard]] constexpr operations::windows windows_of(shape const& in) const {
    auto const along = [](sliding_window const& w) {
      return operations::window{w.window, w.stride, w.dilation, w.before(), w.after()};
    };
    if constexpr (is_2d)
      return {along(rows(height_of(in))), along(columns(width_of(in)))};
    else
      return {along(columns(width_of(in)))};
  }
  /// (kernel_size..., inputs, outputs)
  [[nodiscard]] constexpr shape kernel_shape(int inputs, int outputs) const {
    if constexpr (is_2d)
      return {kernel_size.height, kernel_size.width, inputs, outputs};
    else
      return {kernel_size, inputs, outputs};
  }
  /// Convolves each channel of x by itself, with its part of a kernel (kernel_size..., channels, outputs of each).
  constexpr auto convolve_channels(auto& ops, auto x, parameter const& kernel) const {
    auto filter = operations::extents::of(kernel.shape);
    filter[-1] *= filter[-2];
    filter[-2] = 1;
    return ops.conv(x, ops.reshape(ops.weight(kernel), filter), windows_of(detail::sample_shape(x)), x.length(-1));
  }
  /// activation(sums + bias)
  constexpr auto with_bias_and_activation(auto& ops, auto sums) const {
    if (options.use_bias)
      sums += ops.weight(parameter::with("bias", {sums.length(-1)}, options.bias_initializer, options.bias_regularizer,
                                         options.bias_constraint));
    return activation(sums);
  }

 private:
  [[nodiscard]] constexpr bool check_kept_steps(auto& ops, auto x) const {
    if constexpr (!is_2d) {
      if (is_stateful() && options.padding != padding::causal)
        return ops.error(1151, "is stateful, but its padding is not causal; write .padding = sc::padding::causal"),
               false;
      if (is_stateful() && x.length(-2) % options.strides != 0)
        return ops.error(1152, "is stateful and has strides of ", options.strides, ", which do not divide the ",
                         x.length(-2), " steps of its input"),
               false;
    }
    return true;
  }
  [[nodiscard]] constexpr bool is_short() const {
    if constexpr (is_2d)
      return sliding_window::is_short(kernel_size.height, options.strides.height, options.dilation_rate.height) &&
             sliding_window::is_short(kernel_size.width, options.strides.width, options.dilation_rate.width);
    else
      return sliding_window::is_short(kernel_size, options.strides, options.dilation_rate);
  }
  [[nodiscard]] static constexpr int least(int size) { return size; }
  [[nodiscard]] static constexpr int least(size_2d const& size) {
    return size.height < size.width ? size.height : size.width;
  }
};

}  // namespace stagecraft::layers
