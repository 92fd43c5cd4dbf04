// SPDX-License-Identifier: BSD-3-Clause
// What the layers have in common that reduce a window which slides over an image or a sequence. Keras counterpart: the
// base classes Pooling1D and Pooling2D of tf.keras.layers.MaxPooling2D and its like.
#pragma once

#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/layers/argument_list.hpp>
#include <stagecraft/layers/layer.hpp>
#include <stagecraft/layers/padding.hpp>
#include <stagecraft/layers/size_2d.hpp>
#include <concepts>

namespace stagecraft::layers {

/// Keras's keyword arguments of the pooling layers behind `pool_size`. Size is size_2d, or int along one axis.
template <class Size>
struct pooling_options {
  Size strides = 0;  ///< 0, like Keras's None: the size of the pool
  /// `valid`: windows lie inside the input; `same`: zeros are added around it, so that stride 1 keeps its size.
  stagecraft::padding padding = padding::valid;
  /// The layer's name in summaries, errors and names of weights; empty: made from the class, as in Keras ("dense_1").
  fixed_name name = {};
  bool trainable = true;  ///< false: a frozen layer, whose weights training does not change
  /// The type of the layer's weights and of what it computes, in place of the dtype_policy's.
  stagecraft::dtype dtype = stagecraft::dtype::of_policy;
};

/// Base of max_pooling1d, max_pooling2d, average_pooling1d and average_pooling2d. Size is size_2d, or int for a
/// sequence, which counts as an image of height 1. Channels are the last axis (`data_format="channels_last"`).
///
/// Errors: E1001; E1040 for a pool size or stride below 1; E1041 for an input of another number of axes; E1042 if the
/// window does not fit into the input; E1043 for causal padding.
template <class Derived, class Size>
struct pooling_layer : layer<Derived> {
  static constexpr bool is_2d = std::same_as<Size, size_2d>;
  static constexpr bool follows_shapes = true;  ///< its rules are found by shapes alone
  /// Axes of one sample.
  static constexpr int axes = is_2d ? 3 : 2;

  Size pool_size = 2;
  Size strides = 2;
  stagecraft::padding padding = stagecraft::padding::valid;
  using arguments = argument_list<&pooling_layer::pool_size, &pooling_layer::strides, &pooling_layer::padding>;

  constexpr pooling_layer() : pooling_layer(Size(2)) {}
  constexpr explicit(false) pooling_layer(Size pool_size_) : pooling_layer(pool_size_, pooling_options<Size>{}) {}
  // GCC 12 hesitates between the conversion of an int to a size_2d and the constructor that takes anything.
  template <std::same_as<int> Both>
    requires is_2d
  constexpr explicit(false) pooling_layer(Both both) : pooling_layer(Size(both)) {}
  // In parentheses, `max_pooling2d({2, 3})`, braces could stand for a copied layer as well.
  constexpr explicit pooling_layer(int const (&each)[2])
    requires is_2d
      : pooling_layer(Size(each[0], each[1])) {}
  constexpr pooling_layer(Size pool_size_, pooling_options<Size> const& options)
      : pool_size(pool_size_),
        strides(options.strides == Size(0) ? pool_size_ : options.strides),
        padding(options.padding) {
    this->layer_name = options.name;
    this->trainable = options.trainable;
    this->layer_dtype = options.dtype;
  }
  /// Keras's positional spelling: `max_pooling2d{3, 2}` is a pool of 3 by 3 with strides of 2.
  template <class Strides>
    requires(std::same_as<Strides, int> || std::same_as<Strides, Size>)
  constexpr pooling_layer(Size pool_size_, Strides strides_, pooling_options<Size> const& options = {})
      : pooling_layer(pool_size_, pooling_options<Size>{strides_, options.padding, options.name}) {}

  /// Anything else: E1025.
  using layer<Derived>::layer;
  template <class L = Derived>
  constexpr explicit pooling_layer(detail::wrong_options, ...) : pooling_layer(Size(2)) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  /// The window's way along the height of an input of this shape; along one step if it is a sequence.
  [[nodiscard]] constexpr sliding_window rows(shape const& in) const {
    if constexpr (is_2d)
      return {.input = in[0], .window = pool_size.height, .stride = strides.height, .padding = padding};
    else
      return {};
  }
  /// The same along the width of an image, or the steps of a sequence.
  [[nodiscard]] constexpr sliding_window columns(shape const& in) const {
    if constexpr (is_2d)
      return {.input = in[1], .window = pool_size.width, .stride = strides.width, .padding = padding};
    else
      return {.input = in[0], .window = pool_size, .stride = strides, .padding = padding};
  }

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
    else if (rows(in).output() < 1 || columns(in).output() < 1)
      ops.error(1042, "has a pool size of ", pool_size, ", which does not fit into an input of shape ", in);
    else if constexpr (is_2d)
      return Derived::pool(ops, x, {window_of(rows(in)), window_of(columns(in))});
    else
      return Derived::pool(ops, x, {window_of(columns(in))});
    return x;
  }

 private:
  static constexpr operations::window window_of(sliding_window const& along) {
    return {along.window, along.stride, 1, along.before(), along.after()};
  }
  static constexpr int largest(int size) { return size; }
  static constexpr int largest(size_2d const& size) { return size.height > size.width ? size.height : size.width; }
  static constexpr int smallest(int size) { return size; }
  static constexpr int smallest(size_2d const& size) { return size.height < size.width ? size.height : size.width; }
};

}  // namespace stagecraft::layers
