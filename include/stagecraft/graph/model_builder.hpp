// SPDX-License-Identifier: BSD-3-Clause
// Records a model while its `build` or `call` runs in constant evaluation: each call of a layer appends a node. This is
// what a functional model's `build(auto& model)` gets. Level 1.
#pragma once

#include <stagecraft/diagnostics/diagnostic.hpp>
#include <stagecraft/graph/layer_base.hpp>
#include <stagecraft/graph/layer_inputs.hpp>
#include <stagecraft/graph/node.hpp>
#include <stagecraft/graph/symbolic_tensor.hpp>
#include <concepts>
#include <span>
#include <string_view>
#include <vector>

namespace stagecraft {

namespace detail {

/// Collects the layers of one type while a model is traced once more.
struct layer_collector {
  type_tag const* wanted = no_type;
  constexpr virtual void take(layer_base const& layer) = 0;

 protected:
  constexpr ~layer_collector() = default;
};

/// What a layer says of a call, gathered by layer<Derived>.
struct call_record {
  layer_base* layer;
  std::string_view class_name;
  type_tag const* type;
  std::span<symbolic_tensor const> inputs;
  stagecraft::shape shape;
  dtype type_of_output = dtype::float32;
  long long flops = 0;
  parameter_list const* parameters;
};

/// What is known of a model before it is traced.
struct model_description {
  model_kind kind;
  std::string_view class_name;
  std::string_view name;  // empty: made from the class name
};

/// A nested model while its layers are being traced.
struct nested_frame {
  int model = 0;                           // index of nested_models
  std::span<symbolic_tensor const> bound;  // what its inputs are given
  std::size_t next_bound = 0;
  int instance = 0;
  bool replay = false;  // a further call of the same instance: layers are taken in their first order
  std::size_t next_layer = 0;
};

}  // namespace detail

/// A model under construction.
class model_builder {
 public:
  constexpr explicit model_builder(detail::layer_collector* collector = nullptr) : collector_(collector) {}
  model_builder(model_builder const&) = delete;
  model_builder& operator=(model_builder const&) = delete;

  /// A new input of the model: Keras's `Input`, without the batch dimension.
  template <std::integral... Dimensions>
  constexpr symbolic_tensor input(Dimensions... dimension) {
    return input(shape(dimension...));
  }
  constexpr symbolic_tensor input(shape const& dimensions, std::string_view name = {}, dtype type = dtype::float32) {
    for (int const dimension : dimensions)
      if (dimension < 1)
        problem.report(1003, "input ", name, name.empty() ? "" : " ", "has shape ", dimensions,
                       ", but each dimension must be at least 1");
    if (auto* frame = bound_frame()) return next_bound_input(*frame, dimensions, name);
    auto const index = add_layer(name.empty() ? unique_name("input") : fixed_name(name), "InputLayer", no_type);
    call_info call;
    call.layer = index;
    call.is_input = true;
    call.type = type;
    call.shape = dimensions;
    call.nested_model = current_model();
    return append(call);
  }

  /// A layer constructed here: it remembers the stage of the scope that is open, for all its calls.
  template <class Layer>
  constexpr Layer layer(Layer value) const {
    if (open_stage != unassigned) value.pipeline_stage = open_stage;
    return value;
  }

  // What layers, models and scopes call while they are traced.
  constexpr int layer_of(detail::call_record const& record);
  constexpr symbolic_tensor add_call(detail::call_record const& record);
  constexpr int enter(detail::model_description const& model, int instance, std::span<symbolic_tensor const> bound);
  constexpr void leave(std::span<symbolic_tensor const> outputs);
  /// The next tensor that the model being traced is called with.
  constexpr symbolic_tensor take_input() {
    auto& frame = frames_.back();
    if (frame.next_bound < frame.bound.size()) return frame.bound[frame.next_bound++];
    problem.report(1001, "model '", nested_models[static_cast<std::size_t>(frame.model)].name,
                   "' has more inputs than the ", static_cast<int>(frame.bound.size()), " that it is called with");
    return frame.bound.empty() ? symbolic_tensor{this, 0} : frame.bound[0];
  }
  [[nodiscard]] constexpr std::string_view name_of(int layer) const {
    return layers[static_cast<std::size_t>(layer)].name;
  }
  [[nodiscard]] constexpr int current_model() const { return frames_.empty() ? 0 : frames_.back().model; }

  diagnostic problem;
  int open_stage = unassigned;
  bool uses_stages = false;

  std::vector<layer_info> layers;
  std::vector<parameter> parameters;
  std::vector<call_info> calls;
  std::vector<int> inputs;                       // of the calls
  std::vector<nested_model_info> nested_models;  // [0] is the model itself
  std::vector<nested_input_info> nested_inputs;  // of the nested models
  std::vector<int> model_outputs;                // of the nested models

 private:
  struct name_counter {
    fixed_name base;
    int used;
  };

  struct type_counter {
    type_tag const* type;
    int layers;
    int name;  // its class's place in name_counters_, or -1
  };
  struct known_name {
    unsigned hash;
    int layer;
  };

  constexpr int add_layer(fixed_name const& name, std::string_view class_name, type_tag const* type);
  constexpr type_counter& counter_of(type_tag const* type);
  constexpr int name_counter_of(std::string_view class_name);
  constexpr fixed_name next_name(int counter);
  constexpr fixed_name unique_name(std::string_view class_name) { return next_name(name_counter_of(class_name)); }
  constexpr void check_name_is_new(fixed_name const& name);
  constexpr void check_shared_weights(int layer, parameter_list const& weights);

  constexpr detail::nested_frame* bound_frame() {
    return frames_.empty() || frames_.back().model == 0 ? nullptr : &frames_.back();
  }

  constexpr symbolic_tensor next_bound_input(detail::nested_frame& frame, shape const& dimensions,
                                             std::string_view name) {
    auto const position = frame.next_bound;
    auto const given = take_input();
    auto const& model = nested_models[static_cast<std::size_t>(frame.model)];
    if (!(given.shape() == dimensions))
      problem.report(1004, "model '", model.name, "' has an input of shape ", dimensions, ", but is called with ",
                     given.shape());
    auto& names = instance_inputs_[static_cast<std::size_t>(frame.instance)];
    if (position >= names.size()) names.push_back(name.empty() ? unique_name("input") : fixed_name(name));
    if (position < static_cast<std::size_t>(model.input_count) && position < names.size())
      nested_inputs[static_cast<std::size_t>(model.first_input) + position].name = names[position];
    return given;
  }

  constexpr symbolic_tensor append(call_info const& call) {
    auto& layer = layers[static_cast<std::size_t>(call.layer)];
    if (layer.call_count++ == 0) layer.first_call = static_cast<int>(calls.size());
    calls.push_back(call);
    return {this, static_cast<int>(calls.size()) - 1};
  }

  detail::layer_collector* collector_;
  std::vector<detail::nested_frame> frames_;
  std::vector<std::vector<int>> instance_layers_;
  std::vector<int> instance_calls_;
  std::vector<fixed_name> instance_names_;
  std::vector<std::vector<fixed_name>> instance_inputs_;
  std::vector<name_counter> name_counters_;
  std::vector<type_counter> type_counters_;
  std::vector<std::vector<known_name>> layers_by_name_;  // by a hash of their names
};

namespace detail {

inline constexpr shape no_shape{};

}  // namespace detail

constexpr shape const& symbolic_tensor::shape() const {
  return model == nullptr ? detail::no_shape : model->calls[static_cast<std::size_t>(call)].shape;
}
constexpr dtype symbolic_tensor::type() const {
  return model == nullptr ? dtype::float32 : model->calls[static_cast<std::size_t>(call)].type;
}

namespace detail {

/// Keras's `to_snake_case`, its two substitutions in turn: "(.)([A-Z][a-z0-9]+)", then "([a-z])([A-Z])".
constexpr fixed_name snake_case(std::string_view class_name) {
  auto const upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  auto const lower = [](char c) { return c >= 'a' && c <= 'z'; };
  auto const tail = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  fixed_name words;
  std::size_t const size = class_name.size();
  for (std::size_t i = 0; i < size;) {
    words.append(class_name[i++]);
    if (i + 1 >= size || !upper(class_name[i]) || !tail(class_name[i + 1])) continue;
    words.append('_').append(class_name[i++]);
    while (i < size && tail(class_name[i])) words.append(class_name[i++]);
  }
  fixed_name name(words.length > 0 && words.characters[0] == '_' ? "private" : "");
  for (std::size_t i = 0; i < words.length; ++i) {
    char const c = words.characters[i];
    if (i > 0 && upper(c) && lower(words.characters[i - 1])) name.append('_');
    name.append(upper(c) ? static_cast<char>(c - 'A' + 'a') : c);
  }
  return name;
}

}  // namespace detail

constexpr int model_builder::name_counter_of(std::string_view class_name) {
  auto const base = detail::snake_case(class_name);
  for (std::size_t i = 0; i < name_counters_.size(); ++i)
    if (name_counters_[i].base == base) return static_cast<int>(i);
  // The first input of Keras is input_1, the first of any other class has no number.
  name_counters_.push_back({base, base == "input" ? 1 : 0});
  return static_cast<int>(name_counters_.size()) - 1;
}

/// Keras's rule: the class name in snake case, with a number from its second use on.
constexpr fixed_name model_builder::next_name(int index) {
  auto& counter = name_counters_[static_cast<std::size_t>(index)];
  auto name = counter.base;
  if (counter.used > 0) name.append('_').append(counter.used);
  ++counter.used;
  return name;
}

constexpr model_builder::type_counter& model_builder::counter_of(type_tag const* type) {
  for (auto& counter : type_counters_)
    if (same_type(counter.type, type)) return counter;
  type_counters_.push_back({type, 0, -1});
  return type_counters_.back();
}

// By hash, since every pair of layers compared would cost large models most of the compilers' limits of steps.
constexpr void model_builder::check_name_is_new(fixed_name const& name) {
  if (name.is_cut)
    problem.report(1026, "layer name '", name, "...' has more than ", static_cast<int>(max_name_length),
                   " characters; give the layer a shorter name");
  constexpr std::size_t buckets = 64;
  if (layers_by_name_.empty()) layers_by_name_.resize(buckets);
  unsigned hash = 0;
  for (std::size_t i = 0; i < name.length; ++i) hash = hash * 31 + static_cast<unsigned char>(name.characters[i]);
  auto& bucket = layers_by_name_[hash % buckets];
  for (auto const& other : bucket)
    if (other.hash == hash && layers[static_cast<std::size_t>(other.layer)].name == name)
      problem.report(1005, "layer name '", name, "' is used twice; each layer of a model needs a name of its own");
  bucket.push_back({hash, static_cast<int>(layers.size())});
}

constexpr int model_builder::add_layer(fixed_name const& name, std::string_view class_name, type_tag const* type) {
  check_name_is_new(name);
  layer_info info;
  info.name = name;
  info.class_name = class_name;
  info.type = type;
  info.index_in_type = counter_of(type).layers++;
  layers.push_back(info);
  return static_cast<int>(layers.size()) - 1;
}

/// The layer that is called: the one it was at its first call, or a new one.
constexpr int model_builder::layer_of(detail::call_record const& record) {
  auto& layer = *record.layer;
  if (layer.layer_id >= 0) return layer.layer_id;
  auto* frame = bound_frame();
  if (frame != nullptr && frame->replay) {
    auto const& known = instance_layers_[static_cast<std::size_t>(frame->instance)];
    if (frame->next_layer < known.size()) return layer.layer_id = known[frame->next_layer++];
  }
  if (layer.layer_name.empty()) {
    auto& counter = counter_of(record.type);
    if (counter.name < 0) counter.name = name_counter_of(record.class_name);
    layer.layer_id = add_layer(next_name(counter.name), record.class_name, record.type);
  } else {
    layer.layer_id = add_layer(layer.layer_name, record.class_name, record.type);
  }
  layers.back().pipeline_stage = layer.pipeline_stage;
  if (collector_ != nullptr && same_type(collector_->wanted, record.type)) collector_->take(layer);
  if (frame != nullptr) instance_layers_[static_cast<std::size_t>(frame->instance)].push_back(layer.layer_id);
  return layer.layer_id;
}

constexpr symbolic_tensor model_builder::add_call(detail::call_record const& record) {
  auto const index = record.layer->layer_id;
  auto& layer = layers[static_cast<std::size_t>(index)];
  if (layer.call_count == 0) {
    layer.first_parameter = static_cast<int>(parameters.size());
    layer.parameter_count = record.parameters->count;
    for (int i = 0; i < record.parameters->count; ++i) parameters.push_back(record.parameters->entries[i]);
  } else {
    check_shared_weights(index, *record.parameters);
  }
  call_info call;
  call.layer = index;
  call.node_index = layer.call_count;
  call.first_input = static_cast<int>(inputs.size());
  call.input_count = static_cast<int>(record.inputs.size());
  for (auto const& input : record.inputs) inputs.push_back(input.call);
  call.pipeline_stage = open_stage != unassigned ? open_stage : layer.pipeline_stage;
  if (call.pipeline_stage != unassigned) uses_stages = true;
  call.nested_model = current_model();
  call.type = record.type_of_output;
  call.shape = record.shape;
  call.flops = record.flops;
  return append(call);
}

constexpr void model_builder::check_shared_weights(int index, parameter_list const& weights) {
  auto const& layer = layers[static_cast<std::size_t>(index)];
  for (int i = 0; i < layer.parameter_count && i < weights.count; ++i) {
    auto const& known = parameters[static_cast<std::size_t>(layer.first_parameter + i)];
    if (!(known.shape == weights.entries[i].shape))
      problem.report(1008, "layer '", layer.name, "' is called again with inputs for which its weight '", known.name,
                     "' would have shape ", weights.entries[i].shape, ", but it was made with ", known.shape);
  }
}

/// Begins a call of a nested model (or, with no model open yet, of the outermost one).
/// Gives the instance, which the model object keeps for its next call.
constexpr int model_builder::enter(detail::model_description const& model, int instance,
                                   std::span<symbolic_tensor const> bound) {
  detail::nested_frame frame;
  frame.model = static_cast<int>(nested_models.size());
  frame.bound = bound;
  frame.replay = instance >= 0;
  if (!frame.replay) {
    instance = static_cast<int>(instance_layers_.size());
    instance_layers_.emplace_back();
    instance_inputs_.emplace_back();
    instance_calls_.push_back(0);
    auto const default_name = model.kind == model_kind::functional ? std::string_view("Model") : model.class_name;
    instance_names_.push_back(model.name.empty() ? unique_name(default_name) : fixed_name(model.name));
  }
  frame.instance = instance;
  nested_model_info info;
  info.name = instance_names_[static_cast<std::size_t>(instance)];
  info.class_name = model.class_name;
  info.kind = model.kind;
  info.parent = frames_.empty() ? -1 : frames_.back().model;
  info.instance = instance;
  info.node_index = instance_calls_[static_cast<std::size_t>(instance)]++;
  info.first_input = static_cast<int>(nested_inputs.size());
  info.input_count = static_cast<int>(bound.size());
  for (auto const& tensor : bound) nested_inputs.push_back({{}, tensor.call});
  nested_models.push_back(info);
  frames_.push_back(frame);
  return instance;
}

constexpr void model_builder::leave(std::span<symbolic_tensor const> outputs) {
  auto const frame = frames_.back();
  auto& model = nested_models[static_cast<std::size_t>(frame.model)];
  if (frame.model != 0 && frame.next_bound < frame.bound.size())
    problem.report(1001, "model '", model.name, "' takes ", static_cast<int>(frame.next_bound),
                   frame.next_bound == 1 ? " input" : " inputs", ", but is called with ",
                   static_cast<int>(frame.bound.size()));
  model.first_output = static_cast<int>(model_outputs.size());
  model.output_count = static_cast<int>(outputs.size());
  for (auto const& output : outputs) {
    if (output.model == nullptr) problem.already_reported();
    model_outputs.push_back(output.model == nullptr ? 0 : output.call);
  }
  frames_.pop_back();
}

}  // namespace stagecraft
