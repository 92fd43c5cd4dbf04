// SPDX-License-Identifier: BSD-3-Clause
// The records of a model_builder: the call that a layer makes, masks of tensors, states of stateful layers, rules that
// are known from calls before, the layers of a nested model that is called again, and the collector of a model's
// layers.
#pragma once

#include <stagecraft/diagnostics/diagnostic.hpp>
#include <stagecraft/diagnostics/text.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/graph/layer_base.hpp>
#include <stagecraft/graph/layer_inputs.hpp>
#include <stagecraft/graph/node.hpp>
#include <stagecraft/graph/parameter.hpp>
#include <stagecraft/graph/shape.hpp>
#include <stagecraft/graph/step_mask.hpp>
#include <stagecraft/graph/symbolic_tensor.hpp>
#include <stagecraft/graph/type_tag.hpp>
#include <cstddef>
#include <string_view>

namespace stagecraft::tracing {

/// Collects the layers of one type while a model is traced once more.
struct layer_collector {
  type_tag const* wanted = no_type;
  constexpr virtual void take(layer_base const& layer) = 0;

 protected:
  constexpr ~layer_collector() = default;
};

/// The layers of a model that are not trainable, while it is traced.
struct freezing_rule {
  bool (*freezes)(int made) = nullptr;  ///< asked for each layer, numbered in the order in which they are made
  freezing_rule* outer = nullptr;       ///< the rule of a model around this one
  int made = 0;
};

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

/// Properties of a model that are known before it is traced.
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

/// Counts the layers of a type.
struct type_counter {
  type_tag const* type = nullptr;
  int layers = 0;
  int name = -1;  // its class's counter of names, or -1
};

/// The result of `rules_key()` of a layer without weights: layers of its type with the same key compute the same.
struct rules_key {
  unsigned words[4]{};
  bool is_known = true;

  friend constexpr bool operator==(rules_key const&, rules_key const&) = default;
};

struct known_rule {
  static constexpr int most_inputs = 2;

  type_tag const* type = nullptr;
  rules_key key;
  shape inputs[most_inputs]{};
  int input_count = 0;
  shape output;
  long long flops = 0;
  bool moves_only = false;
};

/// The rules of the calls so far, as many as there is room for.
class known_rules {
 public:
  [[nodiscard]] constexpr known_rule const* find(type_tag const* type, rules_key const& key,
                                                 layer_inputs const& in) const {
    if (!key.is_known || in.has_whole_numbers()) return nullptr;
    for (int i = 0; i < count_; ++i) {
      known_rule const& rule = rules_[i];
      if (rule.input_count == in.size() && rule.inputs[0] == in[0] && (in.size() == 1 || rule.inputs[1] == in[1]) &&
          rule.key == key && same_type(rule.type, type))
        return &rule;
    }
    return nullptr;
  }
  constexpr void add(known_rule rule, layer_inputs const& in) {
    if (count_ == capacity || in.size() > known_rule::most_inputs || !rule.key.is_known || in.has_whole_numbers())
      return;
    rule.input_count = in.size();
    for (int i = 0; i < in.size(); ++i) rule.inputs[i] = in[i];
    rules_[count_++] = rule;
  }

 private:
  static constexpr int capacity = 32;
  known_rule rules_[capacity]{};
  int count_ = 0;
};

/// A weight as it is; of what is kept between batches, which the layer was asked for with a few samples, that of the
/// model's batch. Errors: E1087 if the model has no batch size.
constexpr parameter whole_weight(parameter const& weight, nested_model_info const& model, fixed_name const& layer,
                                 diagnostic& problem) {
  parameter result = weight;
  result.choose_initializer();
  if (!weight.between_batches || problem.failed()) return result;
  if (model.batch_size < 1)
    problem.report(1087, "layer '", layer, "' keeps its state '", weight.name,
                   "' from batch to batch, but no input says how many samples a batch has; write "
                   "input{...}.of_batch_size(...)");
  else
    result.shape.dimensions[0] = model.batch_size;
  return result;
}

/// The masks that a model's tensors have; a call knows the number of its output's, 0 if there is none. Errors: E1073.
class masks_of_calls {
 public:
  static constexpr int most = 32;

  constexpr explicit masks_of_calls(diagnostic& problem) : problem_(&problem) {}

  constexpr traced_mask const& operator[](int number) const { return known_[number]; }
  /// The number of masks; number 0 stands for none.
  [[nodiscard]] constexpr int count() const noexcept { return count_; }

  /// The number of a mask.
  constexpr int number_of(traced_mask const& mask) {
    check_length(mask);
    for (int i = 0; i < count_; ++i)
      if (known_[i] == mask) return i;
    if (count_ == most) {
      problem_->report(1073, "the model has more than ", most - 1, " masks");
      return 0;
    }
    known_[count_] = mask;
    return count_++;
  }
  constexpr void check_length(traced_mask const& mask) const {
    if (mask.is_too_long) problem_->report(1073, "more than ", step_masks::most, " masks meet in one layer");
  }
  /// The mask of a layer that cannot leave steps out.
  constexpr void check_none(traced_mask const& mask, std::string_view class_name) const {
    if (mask.masks.count > 0)
      problem_->report(1073, "a layer ", class_name,
                       " is given a sequence some of whose steps are masked, and cannot leave them out");
  }
  /// The mask of a layer that is called again, and has the masks of its first call.
  constexpr void check_same(step_masks const& first, traced_mask const& now, std::string_view class_name) const {
    if (!(first == now.masks))
      problem_->report(1073, "a layer ", class_name,
                       " is called with other masks than at its first call; make a layer of its own for each");
  }

 private:
  diagnostic* problem_;
  traced_mask known_[most]{};  // the first one is none
  int count_ = 1;
};

/// The default names of layers inside a wrapper, from the innermost on.
struct wrapped_names {
  static constexpr int most = 4;

  std::string_view names[most];
  int count = 0;

  constexpr void add(std::string_view name) {
    if (count < most) names[count++] = name;
  }
};

/// A call as its layer describes it, gathered by layer<Derived>.
struct call_record {
  layer_base* layer;
  std::string_view class_name;
  std::string_view default_name;  // what the default name of the layer is made from
  wrapped_names wrapped;          // those of the layers inside it, which have none of their own
  type_tag const* type;
  layer_kernel kernel = layer_kernel::none;
  own_loops loops = own_loops::unneeded;
  bool has_own_activation = false;
  tracing::array_view<symbolic_tensor const> inputs;
  stagecraft::shape shape;
  dtype type_of_output = dtype::float32;
  int output_index = -1;    // of an output among several, see call_info
  bool is_penalty = false;  // a part that is added to the loss
  int mask_inputs = 0;      // of the inputs
  traced_mask mask;         // of the output
  long long flops = 0;
  parameter_list const* parameters;

  /// Takes the results of the layer's rules. A layer that only moves elements keeps their type.
  constexpr void take(stagecraft::shape const& output, long long cost, bool moves_only) {
    shape = output;
    flops = cost;
    if (!moves_only) type_of_output = output.is_whole ? dtype::int32 : dtype::float32;
  }
};

}  // namespace stagecraft::tracing
