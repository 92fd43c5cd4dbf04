// SPDX-License-Identifier: BSD-3-Clause
// The outputs of a layer that has several. Keras counterpart: the list that a call of a layer returns.
#pragma once

#include <stagecraft/layers/layer.hpp>
#include <string_view>

namespace stagecraft {

namespace layers {

/// One of the outputs that a call has packed into one tensor (operations::tracer::outputs). Users do not write it: it
/// stands for an output of the call before it, has that layer's name, and neither a stage nor a line in summaries.
struct output_part : layer<output_part> {
  static constexpr std::string_view class_name = "OutputPart";

  int index = 0;              ///< number of the output
  int first = 0;              ///< offset of its elements in a sample
  shape of;                   ///< its shape, without the batch
  bool is_penalty = false;    ///< true if it is added to the loss, and no output (operations::tracer::add_loss)
  bool is_converted = false;  ///< true if it is an int32 output of the model, which users get as float32

  constexpr output_part(int index_, int first_, shape const& of_, bool is_penalty_ = false, bool is_converted_ = false)
      : index(index_), first(first_), of(of_), is_penalty(is_penalty_), is_converted(is_converted_) {}

  constexpr auto call(auto& ops, auto x) const {
    if (is_converted) return ops.cast(x, dtype::float32);
    return ops.reshape(ops.slice(x, 1, first, of.size()), operations::extents::of_batch(x.length(0), of));
  }
};

}  // namespace layers

}  // namespace stagecraft
