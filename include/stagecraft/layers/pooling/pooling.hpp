// SPDX-License-Identifier: BSD-3-Clause
// Layers that reduce a window which slides over a sequence, an image or a volume: tf.keras.layers.MaxPooling2D and its
// like. Keras counterpart of what they share: the base classes Pooling1D, Pooling2D and Pooling3D.
#pragma once

#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/layers/kept_steps.hpp>
#include <stagecraft/layers/layer.hpp>
#include <stagecraft/layers/option_layer.hpp>
#include <stagecraft/layers/padding.hpp>
#include <stagecraft/layers/sizes.hpp>
#include <stagecraft/layers/volume.hpp>
#include <concepts>

namespace stagecraft::layers {

/// Keras's keyword arguments of the pooling layers after `pool_size`. Size is size_2d, or int along one axis.
template <class Size>
struct pooling_options {
  Size strides = 0;  ///< 0, like Keras's None: the size of the pool
  /// `valid`: windows lie inside the input; `same`: zeros are added around it, so that stride 1 keeps its size.
  stagecraft::padding padding = padding::valid;
  /// True if a layer along one axis keeps the steps before the next call's: see max_pooling1d.
  bool stateful = false;
#include <stagecraft/layers/common_options.hpp>
};

/// Base of max_pooling1d, max_pooling2d, average_pooling1d and average_pooling2d. Size is size_2d, or int for a
/// sequence, which counts as an image of height 1. Channels are the last axis (`data_format="channels_last"`).
///
/// Errors: E1001; E1040 for a pool size or stride below 1; E1041 for an input of another number of axes; E1042 if the
/// window does not fit into the input; E1043 for causal padding; E1150 for a stateful layer along two axes, E1153 for
/// other strides and padding of a stateful one.
template <class Derived, class Size>
struct pooling_layer : layer<Derived> {
  static constexpr bool is_2d = std::same_as<Size, size_2d>;
  static constexpr bool follows_shapes = true;  ///< its rules are found by shapes alone
  /// Axes of one sample.
  static constexpr int axes = is_2d ? 3 : 2;

  Size pool_size = 2;
  Size strides = 2;
  stagecraft::padding padding = stagecraft::padding::valid;
  bool stateful = false;
  using arguments = argument_list<&pooling_layer::pool_size, &pooling_layer::strides, &pooling_layer::padding,
                                  &pooling_layer::stateful>;

  constexpr pooling_layer() : pooling_layer(Size(2)) {}
  constexpr explicit(false) pooling_layer(Size pool_size_) : pooling_layer(pool_size_, pooling_options<Size>{}) {}
  // GCC 12 finds the conversion of an int to a size_2d and the constructor for any argument ambiguous.
  template <std::same_as<int> Both>
    requires is_2d
  constexpr explicit(false) pooling_layer(Both both) : pooling_layer(Size(both)) {}
  // In parentheses, `max_pooling2d({2, 3})`, braces could also mean a copied layer.
  constexpr explicit pooling_layer(int const (&each)[2])
    requires is_2d
      : pooling_layer(Size(each[0], each[1])) {}
  constexpr pooling_layer(Size pool_size_, pooling_options<Size> const& options)
      : pool_size(pool_size_),
        strides(options.strides == Size(0) ? pool_size_ : options.strides),
        padding(options.padding),
        stateful(options.stateful) {
    this->take_base_options(options);
  }
  /// Keras's positional spelling: `max_pooling2d{3, 2}` is a pool of 3 by 3 with strides of 2.
  template <class Strides>
    requires(std::same_as<Strides, int> || std::same_as<Strides, Size>)
  constexpr pooling_layer(Size pool_size_, Strides strides_, pooling_options<Size> const& options = {})
      : pooling_layer(pool_size_, with_strides(options, strides_)) {}

  /// Any other argument: E1025.
  using layer<Derived>::layer;
  template <class L = Derived>
  constexpr explicit pooling_layer(detail::wrong_options, detail::wrong_options = {}, detail::wrong_options = {},
                                   detail::wrong_options = {})
      : pooling_layer(Size(2)) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  /// The steps of the window along the height of an input of this shape; a sequence has height 1.
  [[nodiscard]] constexpr sliding_window rows(shape const& in) const {
    if constexpr (is_2d)
      return {.input = in[0], .window = pool_size.height, .stride = strides.height, .padding = padding};
    else
      return {};
  }
  /// The steps of the window along the width of an image, or the steps of a sequence.
  [[nodiscard]] constexpr sliding_window columns(shape const& in) const {
    if constexpr (is_2d)
      return {.input = in[1], .window = pool_size.width, .stride = strides.width, .padding = padding};
    else
      return {.input = in[0], .window = pool_size, .stride = strides, .padding = padding};
  }

  [[nodiscard]] constexpr bool runs_by_operations() const { return stateful; }

  constexpr auto call(auto& ops, auto x) const {
    shape const in = detail::sample_shape(x);
    if (smallest(pool_size) < 1)
      ops.error(1040, "has a pool size of ", pool_size, "; each number must be at least 1");
    else if (smallest(strides) < 1)
      ops.error(1040, "has strides of ", strides, "; each number must be at least 1");
    else if (!sliding_window::is_short(largest(pool_size), largest(strides), 1))
      ops.error(1040, "has a pool size of ", pool_size, " and strides of ", strides, "; each number is at most ",
                sliding_window::longest);
    else if (padding == padding::causal)
      ops.error(1043, "has causal padding; a pooling layer has valid or same");
    else if (in.rank() != axes)
      ops.error(1041, "expects an input of shape ", is_2d ? "(height, width, channels)" : "(steps, channels)",
                ", but got ", in);
    else if (is_2d && stateful)
      ops.error(1150, detail::stateful_along_many_axes);
    else if (stateful && (strides != Size(1) || padding != padding::valid))
      ops.error(1153, "is stateful; its strides are 1 and its padding is valid, so write .strides = 1");
    else if (rows(in).output() < 1 || columns(with_kept(in)).output() < 1)
      ops.error(1042, "has a pool size of ", pool_size, ", which does not fit into an input of shape ", in);
    else if constexpr (is_2d)
      return Derived::pool(ops, x, {window_of(rows(in)), window_of(columns(in))});
    else
      return Derived::pool(ops, stateful ? detail::with_kept_steps(ops, x, pool_size - 1) : x,
                           {window_of(columns(with_kept(in)))});
    return x;
  }

 private:
  static constexpr pooling_options<Size> with_strides(pooling_options<Size> options, Size const& strides) {
    options.strides = strides;
    return options;
  }
  /// The steps that are kept, and those of an input.
  [[nodiscard]] constexpr shape with_kept(shape in) const {
    if constexpr (!is_2d)
      if (stateful) in[0] += pool_size - 1;
    return in;
  }
  static constexpr operations::window window_of(sliding_window const& along) {
    return {along.window, along.stride, 1, along.before(), along.after()};
  }
  static constexpr int largest(int size) { return size; }
  static constexpr int largest(size_2d const& size) { return size.height > size.width ? size.height : size.width; }
  static constexpr int smallest(int size) { return size; }
  static constexpr int smallest(size_2d const& size) { return size.height < size.width ? size.height : size.width; }
};

/// The largest value of a window that slides over a sequence: tf.keras.layers.MaxPooling1D.
/// The largest value of each window, channel by channel.
///
/// Shape: (steps, channels) to (new steps, channels). Defaults: pool_size 2, strides as the
/// pool_size, padding valid. No weights. Errors: see pooling_layer.
///
/// With `stateful` (and strides of 1), calls go on where the one before ended, as those of a stateful conv1d do: the
/// layer keeps the last pool_size - 1 steps of its input, which are zeros at first, and has as many outputs as steps.
/// E1087. Definition: Keras API, layers/pooling_layers/max_pooling1d.
struct max_pooling1d : pooling_layer<max_pooling1d, int> {
  static constexpr std::string_view class_name = "MaxPooling1D";
  static constexpr std::string_view usage =
      "max_pooling1d{pool_size} or max_pooling1d{pool_size, {.strides = 1, .padding = sc::padding::same, "
      ".name = ...}}"sv;
  static constexpr auto steps_by = layer_kernel::max_pooling;

  using pooling_layer<max_pooling1d, int>::pooling_layer;

  static constexpr auto pool(auto& ops, auto x, operations::windows const& over) { return ops.max_pool(x, over); }
};

/// The largest value of a window that slides over an image: tf.keras.layers.MaxPooling2D.
/// The largest value of each window, channel by channel.
///
/// Shape: (height, width, channels) to (new height, new width, channels). Defaults: pool_size 2, strides as the
/// pool_size, padding valid. No weights. Errors: see pooling_layer.
/// Definition: Keras API, layers/pooling_layers/max_pooling2d.
struct max_pooling2d : pooling_layer<max_pooling2d, size_2d> {
  static constexpr std::string_view class_name = "MaxPooling2D";
  static constexpr std::string_view usage =
      "max_pooling2d{pool_size} or max_pooling2d{pool_size, {.strides = 1, .padding = sc::padding::same, "
      ".name = ...}}"sv;
  static constexpr auto steps_by = layer_kernel::max_pooling;

  using pooling_layer<max_pooling2d, size_2d>::pooling_layer;

  static constexpr auto pool(auto& ops, auto x, operations::windows const& over) { return ops.max_pool(x, over); }
};

/// The mean of a window that slides over a sequence: tf.keras.layers.AveragePooling1D.
/// The mean of each window, channel by channel; cells that `same` padding adds do not count.
///
/// Shape: (steps, channels) to (new steps, channels). Defaults: pool_size 2, strides as the
/// pool_size, padding valid. No weights. `stateful` as in max_pooling1d. Errors: see pooling_layer.
/// Definition: Keras API, layers/pooling_layers/average_pooling1d.
struct average_pooling1d : pooling_layer<average_pooling1d, int> {
  static constexpr std::string_view class_name = "AveragePooling1D";
  static constexpr std::string_view usage =
      "average_pooling1d{pool_size} or average_pooling1d{pool_size, {.strides = 1, .padding = sc::padding::same, .name "
      "= ...}}"sv;
  static constexpr auto steps_by = layer_kernel::average_pooling;

  using pooling_layer<average_pooling1d, int>::pooling_layer;

  static constexpr auto pool(auto& ops, auto x, operations::windows const& over) { return ops.average_pool(x, over); }
};

/// The mean of a window that slides over an image: tf.keras.layers.AveragePooling2D.
/// The mean of each window, channel by channel; cells that `same` padding adds do not count.
///
/// Shape: (height, width, channels) to (new height, new width, channels). Defaults: pool_size 2, strides as the
/// pool_size, padding valid. No weights. Errors: see pooling_layer.
/// Definition: Keras API, layers/pooling_layers/average_pooling2d.
struct average_pooling2d : pooling_layer<average_pooling2d, size_2d> {
  static constexpr std::string_view class_name = "AveragePooling2D";
  static constexpr std::string_view usage =
      "average_pooling2d{pool_size} or average_pooling2d{pool_size, {.strides = 1, .padding = sc::padding::same, .name "
      "= ...}}"sv;
  static constexpr auto steps_by = layer_kernel::average_pooling;

  using pooling_layer<average_pooling2d, size_2d>::pooling_layer;

  static constexpr auto pool(auto& ops, auto x, operations::windows const& over) { return ops.average_pool(x, over); }
};

/// `Derived::pool` of each window of a volume, channel by channel. Channels are the last axis.
///
/// Shape: (depth, height, width, channels) to (new depth, new height, new width, channels). Defaults: pool_size 2,
/// strides as the pool_size, padding valid. No weights. Errors: E1001; E1040 for a pool size or stride below 1; E1041
/// for an input of another number of axes; E1042 if the window does not fit into the input; E1043 for causal padding.
template <class Derived>
struct pooling3d_layer : option_layer<Derived, pooling_options<size_3d>> {
  using base = option_layer<Derived, pooling_options<size_3d>>;
  using base::base;

  size_3d pool_size = 2;
  using arguments = argument_list<&pooling3d_layer::pool_size>;

  constexpr explicit(false) pooling3d_layer(size_3d const& pool_size_, pooling_options<size_3d> const& options_ = {})
      : base(options_), pool_size(pool_size_) {}
  constexpr explicit(false) pooling3d_layer(int all) : pooling3d_layer(size_3d(all)) {}
  constexpr explicit pooling3d_layer(int const (&each)[3]) : pooling3d_layer(size_3d(each[0], each[1], each[2])) {}

  constexpr auto call(auto& ops, auto x) const {
    if (this->options.stateful) return ops.error(1150, detail::stateful_along_many_axes), x;
    size_3d const strides = this->options.strides == size_3d(0) ? pool_size : this->options.strides;
    bool is_valid = true;
    for (int axis = 0; axis < 3; ++axis) is_valid = is_valid && pool_size[axis] > 0 && strides[axis] > 0;
    if (!is_valid)
      return ops.error(1040, "has a pool size of ", pool_size, " and strides of ", strides,
                       "; each number must be at least 1"),
             x;
    for (int axis = 0; axis < 3; ++axis)
      if (!sliding_window::is_short(pool_size[axis], strides[axis], 1))
        return ops.error(1040, "has a pool size of ", pool_size, " and strides of ", strides,
                         "; each number is at most ", sliding_window::longest),
               x;
    if (this->options.padding == padding::causal)
      return ops.error(1043, "has causal padding; a pooling layer has valid or same"), x;
    if (x.rank() != 5)
      return ops.error(1041, "expects an input of shape (depth, height, width, channels), but got ",
                       detail::sample_shape(x)),
             x;
    operations::windows over;
    for (int axis = 0; axis < 3; ++axis) {
      sliding_window const w{x.length(axis + 1), pool_size[axis], strides[axis], 1, this->options.padding};
      if (w.output() < 1)
        return ops.error(1042, "has a pool size of ", pool_size, ", which does not fit into an input of shape ",
                         detail::sample_shape(x)),
               x;
      over.along[over.count++] = {w.window, w.stride, 1, w.before(), w.after()};
    }
    return detail::pool_volume(ops, x, over, [&](auto images, operations::windows const& windows) {
      return Derived::pool(ops, images, windows);
    });
  }
};

/// The largest value of a window that slides over a volume: tf.keras.layers.MaxPooling3D.
/// The largest value of each window, channel by channel; see pooling3d_layer.
/// Definition: Keras API, layers/pooling_layers/max_pooling3d.
struct max_pooling3d : pooling3d_layer<max_pooling3d> {
  static constexpr std::string_view class_name = "MaxPooling3D";
  static constexpr std::string_view usage =
      "max_pooling3d{pool_size} or max_pooling3d{pool_size, {.strides = 1, .padding = sc::padding::same, "
      ".name = ...}}"sv;

  using pooling3d_layer::pooling3d_layer;

  static constexpr auto pool(auto& ops, auto x, operations::windows const& over) { return ops.max_pool(x, over); }
};

/// The mean of a window that slides over a volume: tf.keras.layers.AveragePooling3D.
/// The mean of each window, channel by channel; see pooling3d_layer.
/// Definition: Keras API, layers/pooling_layers/average_pooling3d.
struct average_pooling3d : pooling3d_layer<average_pooling3d> {
  static constexpr std::string_view class_name = "AveragePooling3D";
  static constexpr std::string_view usage =
      "average_pooling3d{pool_size} or average_pooling3d{pool_size, {.strides = 1, .padding = sc::padding::same, .name "
      "= ...}}"sv;

  using pooling3d_layer::pooling3d_layer;

  static constexpr auto pool(auto& ops, auto x, operations::windows const& over) { return ops.average_pool(x, over); }
};

}  // namespace stagecraft::layers
