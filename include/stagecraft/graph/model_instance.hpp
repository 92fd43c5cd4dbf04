// SPDX-License-Identifier: BSD-3-Clause
// What the calls of one nested model share, so that a model inside a model is the same one in each call.
#pragma once

#include <stagecraft/diagnostics/text.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/graph/node.hpp>
#include <stagecraft/graph/symbolic_tensor.hpp>
#include <stagecraft/graph/type_tag.hpp>
#include <cstddef>
#include <string_view>

namespace stagecraft::tracing {

/// A model as Keras's object.
struct model_instance {
  fixed_name name;
  int name_counter = -1;  // of its default name, which it has not got yet; `name` is a guess until then
  std::string_view class_name;
  growing_array<int> layers;  // those directly in it, in the order of their first calls
  growing_array<int> models;  // the same for the instances inside it
  growing_array<fixed_name> inputs;
  int calls = 0;
};

/// Layers and models that are made anew are those that an instance already has, in their order, as far as it has them:
/// this says which comes next. The code of a functional or sequential model runs once for each of its calls, where
/// Keras's runs once: each call has a scope of its own. A subclass is an object whose members know themselves what they
/// are: it has one scope for all its calls, and only further ones if the object is made anew by such a code.
struct instance_scope {
  int instance = 0;
  std::size_t next_layer = 0, next_model = 0;
};

/// What is known of a model before it is traced.
struct model_description {
  model_kind kind;
  std::string_view class_name;
  std::string_view name;  // empty: made from the class name
};

/// A model while its layers are being traced.
struct nested_frame {
  int model = 0;                                     // index of nested_models
  tracing::array_view<symbolic_tensor const> bound;  // what its inputs are given
  std::size_t next_bound = 0;
  int scope = 0;
};

/// How many layers of a type there are.
struct type_counter {
  type_tag const* type = nullptr;
  int layers = 0;
  int name = -1;  // its class's counter of names, or -1
};

}  // namespace stagecraft::tracing
