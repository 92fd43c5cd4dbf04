// SPDX-License-Identifier: BSD-3-Clause
// Records a model while its `build` or `call` runs in constant evaluation: each call of a layer appends a node. This is
// what a functional model's `build(auto& model)` gets.
#pragma once

#include <stagecraft/diagnostics/diagnostic.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/builder_parts.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/graph/layer_base.hpp>
#include <stagecraft/graph/layer_inputs.hpp>
#include <stagecraft/graph/layer_names.hpp>
#include <stagecraft/graph/node.hpp>
#include <stagecraft/graph/symbolic_tensor.hpp>
#include <concepts>
#include <string_view>

namespace stagecraft::layers {

struct activity_penalty;  // layers/regularization/activity_regularization.hpp

}  // namespace stagecraft::layers

namespace stagecraft::tracing {

/// A model under construction.
class model_builder {
 public:
  /// `known`: all calls, from a trace before this one.
  constexpr explicit model_builder(layer_collector* collector = nullptr,
                                   tracing::array_view<known_call const> known = {})
      : collector_(collector), known_(known) {}
  model_builder(model_builder const&) = delete;
  model_builder& operator=(model_builder const&) = delete;

  /// A new input of the model: Keras's `Input`, without the batch dimension.
  template <std::integral... Dimensions>
  constexpr symbolic_tensor input(Dimensions... dimension) {
    return input(shape(dimension...));
  }
  /// \param batch_size what the training's must be; 0: any
  constexpr symbolic_tensor input(shape const& dimensions, std::string_view name = {}, dtype type = dtype::float32,
                                  int batch_size = 0) {
    for (int const dimension : dimensions)
      if (dimension < 1)
        problem.report(1003, "input ", name, name.empty() ? "" : " ", "has shape ", dimensions,
                       ", but each dimension must be at least 1");
    if (dimensions.is_too_large() || dimensions.already_reported())
      problem.report(1003, "input ", name, name.empty() ? "" : " ", "has shape ", dimensions, ", of more than ",
                     shape::most_elements, " elements");
    if (batch_size != 0) fix_batch_size(batch_size);
    ++made_in_scopes;
    if (!frames_.empty() && frames_.back().model != 0) return next_bound_input(frames_.back(), dimensions, name);
    auto const index = add_layer(name.empty() ? names_.next("input") : fixed_name(name), "InputLayer", no_type);
    call_info call;
    call.layer = index;
    call.is_input = true;
    call.type = type;
    call.shape = dimensions;
    call.shape.is_whole = type == dtype::int32;
    call.nested_model = current_model();
    return append(call);
  }

  /// Adds an input as it stands in a `sequential`: `model.input(input{4}.of_batch_size(1).named("image"))`.
  template <DescribedInput Input>
  constexpr symbolic_tensor input(Input const& given) {
    return input(given.dimensions, given.layer_name, given.type, given.batch_size);
  }

  /// A layer constructed here: it remembers the stage of the scope that is open, for all its calls.
  template <class Layer>
  constexpr Layer layer(Layer value) {
    if (open_stage == unassigned) return value;
    value.pipeline_stage = open_stage;
    ++made_in_scopes;
    return value;
  }

  /// Adds the mean of a tensor, over its elements and the batch, to the loss: Keras's `add_loss` of a model.
  template <class Penalty = layers::activity_penalty>
  constexpr void add_loss(symbolic_tensor value, char const* file = __builtin_FILE(), int line = __builtin_LINE()) {
    if (value.model == nullptr) return;
    Penalty mean;
    mean.layer_name = name_of(calls[value.call].layer);
    own_losses.push_back(mean(first_tensor(value, file, line)).call);
  }

  // Functions that layers, models and scopes call while they are traced.
  constexpr int layer_of(call_record const& record);
  constexpr symbolic_tensor add_call(call_record const& record);
  constexpr int enter(model_description const& model, int scope, tracing::array_view<symbolic_tensor const> bound);
  constexpr void leave(tracing::array_view<symbolic_tensor const> outputs);
  /// The next tensor that the model being traced is called with.
  constexpr symbolic_tensor take_input() {
    auto& frame = frames_.back();
    if (frame.next_bound < frame.bound.size()) return frame.bound[frame.next_bound++];
    problem.report(1001, "model '", nested_models[frame.model].name, "' has more inputs than the ",
                   static_cast<int>(frame.bound.size()), " that it is called with");
    return frame.bound.empty() ? symbolic_tensor{this, 0} : frame.bound[0];
  }
  /// The shape of the next call's output, if it is known: then nobody asks for weights or costs, either.
  [[nodiscard]] constexpr shape const* known_shape() const {
    return calls.size() < known_.size() ? &known_[calls.size()].shape : nullptr;
  }
  [[nodiscard]] constexpr std::string_view name_of(int layer) const { return layers[layer].name; }
  /// The mask of the tensors that a layer combines: what counts for all of them, or for each input by itself.
  [[nodiscard]] constexpr traced_mask mask_of(tracing::array_view<symbolic_tensor const> tensors,
                                              bool by_input = false) const {
    traced_mask result;
    int input = 0;
    for (auto const& tensor : tensors) result.add(masks[calls[tensor.call].mask], by_input ? input++ : 0);
    return result;
  }
  [[nodiscard]] constexpr int current_model() const { return frames_.empty() ? 0 : frames_.back().model; }
  freezing_rule* freezing = nullptr;  ///< rules for layers that are made now

  diagnostic problem;
  masks_of_calls masks{problem};
  known_rules rules;
  parameter_list weights_of_call;      // one for all calls, since compilers take long to make another
  growing_array<shape> parts_of_call;  // the shapes of several outputs, then of losses; none: there is one output
  int losses_of_call = 0;
  int open_stage = unassigned;
  bool uses_stages = false;
  int made_in_scopes = 0;  ///< calls, inputs and layers that a scope has seen

  growing_array<layer_info> layers;
  growing_array<parameter> parameters;
  growing_array<call_info> calls;
  growing_array<int> inputs;                       // of the calls
  growing_array<nested_model_info> nested_models;  // [0] is the model itself
  growing_array<nested_input_info> nested_inputs;  // of the nested models
  growing_array<int> model_outputs;                // of the nested models
  growing_array<shape> output_shapes;              // of the calls with several outputs
  growing_array<int> penalties;                    // calls that are added to the loss
  growing_array<int> own_losses;                   // those of them that the model's code adds

 private:
  constexpr int add_layer(fixed_name const& name, std::string_view class_name, type_tag const* type,
                          bool is_part = false);
  constexpr type_counter& counter_of(type_tag const* type);
  constexpr void take_name(std::string_view what, fixed_name const& name);
  constexpr int instance_of(model_description const& model);
  constexpr bool is_layer_again(int known, call_record const& record);
  constexpr void check_shared_weights(int layer, parameter_list const& weights);

  constexpr symbolic_tensor next_bound_input(nested_frame& frame, shape const& dimensions, std::string_view name) {
    auto const position = frame.next_bound;
    auto const given = take_input();
    auto const& model = nested_models[frame.model];
    if (!(given.shape() == dimensions))
      problem.report(1004, "model '", model.name, "' has an input of shape ", dimensions, ", but is called with ",
                     given.shape());
    auto& names = instances_[model.instance].inputs;
    if (position >= names.size()) names.push_back(name.empty() ? names_.next("input") : fixed_name(name));
    if (position < static_cast<std::size_t>(model.input_count) && position < names.size())
      nested_inputs[static_cast<std::size_t>(model.first_input) + position].name = names[position];
    return given;
  }

  constexpr void fix_batch_size(int size) {
    int& fixed = nested_models[0].batch_size;
    if (size < 1 || (fixed != 0 && fixed != size))
      problem.report(1029, "an input has batch_size ", size, size < 1 ? "" : ", but another one has ",
                     size < 1 ? fixed_name() : fixed_name().append(fixed), "; all have one, of at least 1, or none");
    fixed = size;
  }

  constexpr symbolic_tensor append(call_info const& call) {
    auto& layer = layers[call.layer];
    if (layer.call_count++ == 0) layer.first_call = static_cast<int>(calls.size());
    calls.push_back(call);
    return {this, static_cast<int>(calls.size()) - 1};
  }

  layer_collector* collector_;
  tracing::array_view<known_call const> known_;
  growing_array<nested_frame> frames_;
  growing_array<model_instance> instances_;
  growing_array<instance_scope> scopes_;
  layer_names names_;
  growing_array<type_counter> type_counters_;
};

constexpr type_counter& model_builder::counter_of(type_tag const* type) {
  for (auto& counter : type_counters_)
    if (same_type(counter.type, type)) return counter;
  type_counters_.push_back({type, 0, -1});
  return type_counters_.back();
}

/// E1026 a name too long, E1005 one that something else in the same model has.
constexpr void model_builder::take_name(std::string_view what, fixed_name const& name) {
  if (name.is_cut())
    problem.report(1026, what, " name '", name, "...' has more than ", static_cast<int>(max_name_length),
                   " characters; give the ", what, " a shorter name");
  if (!names_.take(name, scopes_[frames_.back().scope].instance))
    problem.report(1005, what, " name '", name, "' is used twice; each layer of a model needs a name of its own");
}

constexpr int model_builder::add_layer(fixed_name const& name, std::string_view class_name, type_tag const* type,
                                       bool is_part) {
  if (!is_part) take_name("layer", name);  // an output has the name of its layer
  layer_info info;
  info.name = name;
  info.class_name = class_name;
  info.type = type;
  info.index_in_type = counter_of(type).layers++;
  layers.push_back(info);
  return static_cast<int>(layers.size()) - 1;
}

/// True if a layer made anew can be one that the instance has; E1063 otherwise.
constexpr bool model_builder::is_layer_again(int known, call_record const& record) {
  auto const& layer = layers[known];
  if (same_type(layer.type, record.type) &&
      (record.layer->layer_name.empty() || layer.name == record.layer->layer_name))
    return true;
  problem.report(1063, "model '", nested_models[current_model()].name, "' is called again, but makes a layer ",
                 record.class_name, " where its first call made '", layer.name, "' (", layer.class_name,
                 "); a model's code must make the same layers in each call");
  return false;
}

/// The layer that is called: the one it was at its first call, or a new one.
constexpr int model_builder::layer_of(call_record const& record) {
  auto& layer = *record.layer;
  if (layer.layer_id >= 0) return layer.layer_id;
  auto& scope = scopes_[frames_.back().scope];
  auto& known = instances_[scope.instance].layers;
  if (scope.next_layer < known.size() && is_layer_again(known[scope.next_layer], record))
    return layer.layer_id = known[scope.next_layer++];
  for (int i = 0; i < record.wrapped.count; ++i) names_.next(record.wrapped.names[i]);  // Keras makes them first
  if (layer.layer_name.empty()) {
    auto& counter = counter_of(record.type);
    if (counter.name < 0) counter.name = names_.counter_of(record.default_name);
    layer.layer_id = add_layer(names_.next(counter.name), record.class_name, record.type);
  } else {
    layer.layer_id = add_layer(layer.layer_name, record.class_name, record.type, record.output_index >= 0);
  }
  layers.back().take(record);
  for (auto* rule = freezing; rule != nullptr; rule = rule->outer)
    if (rule->freezes(rule->made++)) layer.trainable = false;
  if (collector_ != nullptr && same_type(collector_->wanted, record.type)) collector_->take(layer);
  known.push_back(layer.layer_id);
  ++scope.next_layer;
  return layer.layer_id;
}

constexpr symbolic_tensor model_builder::add_call(call_record const& record) {
  auto const index = record.layer->layer_id;
  auto& layer = layers[index];
  if (layer.call_count == 0) {
    layer.first_parameter = static_cast<int>(parameters.size());
    layer.parameter_count = record.parameters->count;
    for (int i = 0; i < record.parameters->count; ++i) {
      parameters.push_back(whole_weight(record.parameters->entries[i], nested_models[0], layer.name, problem));
      if (!record.layer->trainable) parameters.back().freeze();
    }
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
  ++made_in_scopes;
  call.nested_model = current_model();
  call.type = record.type_of_output;
  call.shape = record.shape;
  call.flops = record.flops;
  call.output_index = record.output_index;
  call.is_penalty = record.is_penalty;
  call.loss_count = calls.size() < known_.size() ? known_[calls.size()].loss_count : losses_of_call;
  if (!parts_of_call.empty()) {
    call.output_count = static_cast<int>(parts_of_call.size()) - losses_of_call;
    call.first_output = static_cast<int>(output_shapes.size());
    output_shapes.append(parts_of_call.begin(), parts_of_call.begin() + call.output_count);
  }
  if (call.is_penalty) penalties.push_back(static_cast<int>(calls.size()));
  call.mask_inputs = record.mask_inputs;
  call.mask = masks.number_of(record.mask);
  return append(call);
}

constexpr void model_builder::check_shared_weights(int index, parameter_list const& weights) {
  auto const& layer = layers[index];
  for (int i = 0; i < layer.parameter_count && i < weights.count; ++i) {
    auto const known = parameters[layer.first_parameter + i],
               again = whole_weight(weights.entries[i], nested_models[0], layer.name, problem);
    if (!(known.shape == again.shape))
      problem.report(1008, "layer '", layer.name, "' is called again with inputs for which its weight '", known.name,
                     "' would have shape ", again.shape, ", but it was made with ", known.shape);
  }
}

/// The instance of a model made anew: one that the model around it has from its first call, or a new one.
constexpr int model_builder::instance_of(model_description const& model) {
  if (!frames_.empty()) {
    auto& scope = scopes_[frames_.back().scope];
    auto const& known = instances_[scope.instance].models;
    if (scope.next_model < known.size()) {
      int const again = known[scope.next_model++];
      auto const& instance = instances_[again];
      if (instance.class_name != model.class_name || (!model.name.empty() && instance.name != model.name))
        problem.report(1063, "model '", nested_models[current_model()].name, "' is called again, but makes a model ",
                       model.class_name, " where its first call made '", instance.name, "' (", instance.class_name,
                       "); a model's code must make the same layers in each call");
      return again;
    }
  }
  auto const default_name = model.kind == model_kind::functional ? std::string_view("Model") : model.class_name;
  // A model without a name of its own gets it when it is complete, as in Keras: after the models inside it.
  int const counter = model.name.empty() ? names_.counter_of(default_name) : -1;
  auto const name = counter < 0 ? fixed_name(model.name) : names_.peek(counter);
  int const made = static_cast<int>(instances_.size());
  if (!frames_.empty()) {
    // Members of a subclass may be called alike.
    if (counter < 0 && nested_models[current_model()].kind != model_kind::subclass) take_name("model", name);
    auto& scope = scopes_[frames_.back().scope];
    instances_[scope.instance].models.push_back(made);
    ++scope.next_model;
  }
  auto& instance = instances_.emplace_back();
  instance.name = name, instance.name_counter = counter, instance.class_name = model.class_name;
  return made;
}

/// Begins a call of a nested model, or of the outermost one. Gives its scope, which the model object keeps.
constexpr int model_builder::enter(model_description const& model, int scope,
                                   tracing::array_view<symbolic_tensor const> bound) {
  bool const again = scope >= 0;
  int const number = again ? scopes_[scope].instance : instance_of(model);
  nested_frame frame;
  frame.model = static_cast<int>(nested_models.size());
  frame.bound = bound;
  frame.scope = scope;
  if (!again || model.kind != model_kind::subclass) {
    frame.scope = static_cast<int>(scopes_.size());
    scopes_.push_back({number});
  }
  auto& instance = instances_[number];
  nested_model_info info;
  info.name = instance.name;
  info.class_name = model.class_name;
  info.kind = model.kind;
  info.parent = frames_.empty() ? -1 : frames_.back().model;
  info.instance = number;
  info.node_index = instance.calls++;
  info.first_input = static_cast<int>(nested_inputs.size());
  info.input_count = static_cast<int>(bound.size());
  for (auto const& tensor : bound) nested_inputs.push_back({{}, tensor.call});
  nested_models.push_back(info);
  frames_.push_back(frame);
  return again ? scope : frame.scope;
}

constexpr void model_builder::leave(tracing::array_view<symbolic_tensor const> outputs) {
  auto const frame = frames_.back();
  auto& model = nested_models[frame.model];
  auto& instance = instances_[model.instance];
  bool const is_named_now = instance.name_counter >= 0;
  if (is_named_now) {
    model.name = instance.name = names_.next(instance.name_counter);
    instance.name_counter = -1;
  }
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
  if (is_named_now && !frames_.empty() && nested_models[current_model()].kind != model_kind::subclass)
    take_name("model", instance.name);
}

}  // namespace stagecraft::tracing

namespace stagecraft {

constexpr shape const& symbolic_tensor::shape() const {
  return model == nullptr ? detail::no_shape : model->calls[call].shape;
}
constexpr dtype symbolic_tensor::type() const { return model == nullptr ? dtype::float32 : model->calls[call].type; }

}  // namespace stagecraft
