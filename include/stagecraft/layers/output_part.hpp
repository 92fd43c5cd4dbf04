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

  int index = 0;  ///< which output
  int first = 0;  ///< where its elements begin in a sample
  shape of;       ///< its shape, without the batch

  constexpr output_part(int index_, int first_, shape const& of_) : index(index_), first(first_), of(of_) {}

  constexpr auto call(auto& ops, auto x) const {
    return ops.reshape(ops.slice(x, 1, first, of.size()), operations::extents::of_batch(x.length(0), of));
  }
};

}  // namespace layers

namespace detail {

/// Makes the outputs of a call that a model has just got.
template <class L>
constexpr layer_outputs<L::most_outputs> split_outputs(L const& self, symbolic_tensor packed,
                                                       source_line const& where) {
  layer_outputs<L::most_outputs> result(packed);
  if (packed.model == nullptr || self.output_count() == 1 || packed.model->problem.failed()) return result;
  auto& model = *packed.model;
  growing_array<shape> shapes;
  shapes.swap(model.parts_of_call);  // other calls come
  int const main = packed.call, mask = model.calls[main].mask;
  result.count = self.output_count();
  for (int i = 0, first = 0; i < result.count; ++i) {
    bool const is_known = shapes.empty();  // it is traced again, and knows the shapes of all calls
    shape const of = is_known ? *model.known_shape() : shapes[static_cast<std::size_t>(i)];
    layers::output_part part(i, first, of);
    part.layer_name = model.name_of(model.calls[main].layer);
    part.pipeline_stage = self.pipeline_stage;
    result.all[i] = part(first_tensor(packed, where.file, where.line));
    model.calls[result.all[i].call].mask = i == 0 ? mask : 0;
    model.calls[result.all[i].call].node_index = model.calls[main].node_index;
    first += of.size();
  }
  static_cast<symbolic_tensor&>(result) = result.all[0];
  return result;
}

}  // namespace detail

}  // namespace stagecraft
