// SPDX-License-Identifier: BSD-3-Clause
// The part of a layer that does not depend on its type.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/diagnostics/text.hpp>
#include <stagecraft/graph/dtype.hpp>
#include <stagecraft/graph/node.hpp>

namespace stagecraft::tracing {

/// The members of all layers: a name (empty: made from the class name), the stage of the scope they were made in, and
/// Keras's `trainable`, which a layer that is a value may be given before its first call as well.
/// `layer_id` is given at the first call; copies made later share the weights, as Python's references do.
struct layer_base {
  fixed_name layer_name;
  int pipeline_stage = unassigned;
  int layer_id = -1;
  bool trainable = true;  ///< false: training changes no weight of it, and batch normalization does not look at batches
  /// Keras's `dtype` of a layer: the type of its weights, and of what it computes.
  dtype layer_dtype = dtype::of_policy;
  /// True if the host carries the layer out, where the machine has IPUs.
  bool is_on_host = false;

 protected:
  /// Takes the options that all layers have.
  constexpr void take_base_options(auto const& options) {
    layer_name = options.name;
    if constexpr (requires { options.trainable; }) trainable = options.trainable;
    if constexpr (requires { options.dtype; }) layer_dtype = options.dtype;
  }
};

/// A model's input as one value: layers::input, which only the room of layers knows.
template <class T>
concept DescribedInput = requires(T const& given) {
  given.dimensions;
  given.batch_size;
  given.of_batch_size(1);
};

}  // namespace stagecraft::tracing
