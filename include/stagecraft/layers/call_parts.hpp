// SPDX-License-Identifier: BSD-3-Clause
// What stands behind a call that a model has just got: its outputs, if there are several, and what it adds to the loss.
#pragma once

#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/graph/model_builder.hpp>
#include <stagecraft/graph/symbolic_tensor.hpp>
#include <stagecraft/regularizers/regularizer.hpp>

namespace stagecraft {

namespace layers {
struct output_part;       // layers/output_part.hpp
struct activity_penalty;  // layers/activity_penalty.hpp
}  // namespace layers

}  // namespace stagecraft

namespace stagecraft::layers::detail {

/// The penalty that a layer's options put on its outputs.
template <class L>
constexpr regularizer activity_regularizer_of([[maybe_unused]] L const& layer) {
  if constexpr (requires { layer.options.activity_regularizer; })
    return layer.options.activity_regularizer;
  else if constexpr (requires { layer.activity_regularizer(); })
    return layer.activity_regularizer();
  else
    return {};
}

/// Makes the parts of the call that a model has just got: `outputs` of them are the layer's, which `all` gets, and
/// `masked` of these have its mask; the others are added to the loss.
template <class Part>
constexpr void split_call(symbolic_tensor packed, int outputs, int masked, int stage, source_line const& where,
                          symbolic_tensor* all) {
  auto& model = *packed.model;
  growing_array<shape> shapes;
  shapes.swap(model.parts_of_call);  // other calls come
  int const main = packed.call, mask = model.calls[main].mask;
  int const count = outputs + model.calls[main].loss_count;
  for (int i = 0, first = 0; i < count; ++i) {
    bool const is_known = shapes.empty();  // it is traced again, and knows the shapes of all calls
    shape const of = is_known ? *model.known_shape() : shapes[static_cast<std::size_t>(i)];
    Part part(i, first, of, i >= outputs);
    part.layer_name = model.name_of(model.calls[main].layer);
    part.pipeline_stage = stage;
    symbolic_tensor const made = part(first_tensor(packed, where.file, where.line));
    model.calls[made.call].mask = i < masked ? mask : 0;
    model.calls[made.call].node_index = model.calls[main].node_index;
    if (i < outputs) all[i] = made;
    first += of.size();
  }
}

/// Adds the penalty on an output of a call to the loss. E1100 for one of the user's own.
template <class Penalty>
constexpr void penalize(symbolic_tensor output, regularizer const& rule, int stage, source_line const& where) {
  auto& model = *output.model;
  auto const& main = model.calls[output.call];
  if (rule.is_own())
    model.problem.report(1100, "layer '", model.name_of(main.layer),
                         "' has an activity_regularizer of your own, but one of the library's is expected, such as "
                         "sc::regularizers::l1; a layer of your own says any other penalty with ops.add_loss");
  Penalty penalty(rule.l1, rule.l2);
  penalty.layer_name = model.name_of(main.layer);
  penalty.pipeline_stage = stage;
  int const node = main.node_index;
  symbolic_tensor const made = penalty(first_tensor(output, where.file, where.line));
  model.calls[made.call].mask = 0;
  model.calls[made.call].node_index = node;
}

}  // namespace stagecraft::layers::detail
