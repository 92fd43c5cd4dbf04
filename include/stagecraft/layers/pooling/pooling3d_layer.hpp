// SPDX-License-Identifier: BSD-3-Clause
// What max_pooling3d and average_pooling3d have in common. Keras counterpart: Pooling3D.
#pragma once

#include <stagecraft/layers/argument_list.hpp>
#include <stagecraft/layers/option_layer.hpp>
#include <stagecraft/layers/pooling/pooling_layer.hpp>
#include <stagecraft/layers/size_3d.hpp>
#include <stagecraft/layers/volume.hpp>

namespace stagecraft::layers {

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

}  // namespace stagecraft::layers
