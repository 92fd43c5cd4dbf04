// SPDX-License-Identifier: BSD-3-Clause
// A call of a layer on its way into a model that is being traced.
#pragma once

#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/layer_base.hpp>
#include <stagecraft/graph/parameter.hpp>
#include <stagecraft/graph/step_mask.hpp>
#include <stagecraft/graph/symbolic_tensor.hpp>
#include <stagecraft/graph/type_tag.hpp>
#include <string_view>

namespace stagecraft::tracing {

/// The default names of layers inside a wrapper, from the innermost on.
struct wrapped_names {
  static constexpr int most = 4;

  std::string_view names[most];
  int count = 0;

  constexpr void add(std::string_view name) {
    if (count < most) names[count++] = name;
  }
};

/// What a layer says of a call, gathered by layer<Derived>.
struct call_record {
  layer_base* layer;
  std::string_view class_name;
  std::string_view default_name;  // what the default name of the layer is made from
  wrapped_names wrapped;          // those of the layers inside it, which have none of their own
  type_tag const* type;
  layer_kernel kernel = layer_kernel::none;
  tracing::array_view<symbolic_tensor const> inputs;
  stagecraft::shape shape;
  dtype type_of_output = dtype::float32;
  int output_index = -1;    // of an output among several, see call_info
  bool is_penalty = false;  // a part that is added to the loss
  int mask_inputs = 0;      // of the inputs
  traced_mask mask;         // of the output
  long long flops = 0;
  parameter_list const* parameters;

  /// What the layer's rules give. What only moves elements keeps their type.
  constexpr void take(stagecraft::shape const& output, long long cost, bool moves_only) {
    shape = output;
    flops = cost;
    if (!moves_only) type_of_output = dtype::float32;
  }
};

}  // namespace stagecraft::tracing
