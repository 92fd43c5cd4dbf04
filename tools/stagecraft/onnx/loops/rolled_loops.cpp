// SPDX-License-Identifier: BSD-3-Clause
// Loops with a known number of trips as scans: the body is converted once, on stand-ins for what differs from trip to
// trip, and what depends on these is written into the scan's step. What does not stays in front of it.
#include "onnx/loops/loop_text.hpp"
#include "onnx/onnx_folding.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace stagecraft::tool {

namespace {

using operands = std::vector<source_text>;
using kinds = known_loop::input::kinds;

constexpr int most_nested = 4;  // scans within each other that the library takes

/// Layers as operations, besides those that read better as such.
std::optional<traced_operation> step_of(traced_layer const& layer) {
  if (layer.operation) return *layer.operation;
  if (auto found = operation_of(layer)) return found;
  auto const& type = layer.class_name;
  auto const& config = layer.config;
  auto const weight = [](stored_array const& from) {
    return onnx_constant{from.shape, {from.values.begin(), from.values.end()}, false};
  };
  if (layer.is_affine) {
    if (layer.factors.size() == 1)
      return operation_of({"Rescaling", "", {{"scale", layer.factors[0]}, {"offset", layer.summands[0]}}});
    auto const row = [](std::vector<float> const& of) {
      return onnx_constant{{static_cast<std::int64_t>(of.size())}, {of.begin(), of.end()}, false};
    };
    bool const is_sum = std::all_of(layer.factors.begin(), layer.factors.end(), [](float each) { return each == 1; });
    bool const is_product =
        std::all_of(layer.summands.begin(), layer.summands.end(), [](float each) { return each == 0; });
    if (is_sum)
      return traced_operation{
          "sum", [](operands const& x) { return x[0] + " + " + x[1]; }, {row(layer.summands)}, {"summand"}};
    if (is_product)
      return traced_operation{
          "product", [](operands const& x) { return x[0] + " * " + x[1]; }, {row(layer.factors)}, {"factor"}};
    return traced_operation{"scaled",
                            [](operands const& x) { return x[0] + " * " + x[1] + " + " + x[2]; },
                            {row(layer.factors), row(layer.summands)},
                            {"factor", "summand"}};
  }
  if (type == "Dense" && !config.contains("input_bytes") && !config.contains("activation") && !layer.weights.empty()) {
    traced_operation made{"product", {}, {weight(layer.weights[0])}, {"kernel"}};
    bool const has_bias = layer.weights.size() > 1;
    if (has_bias) made.constants.push_back(weight(layer.weights[1])), made.names.emplace_back("bias");
    made.code = [=](operands const& x) {
      auto const product = "ops.matmul("_cpp + x[0] + ", " + x[1] + ")";
      return has_bias ? product + " + " + x[2] : product;
    };
    return made;
  }
  if (type == "Dot")
    return traced_operation{"product", [](operands const& x) { return "ops.matmul("_cpp + x[0] + ", " + x[1] + ")"; }};
  if (type == "Concatenate") {
    int const axis = config["axis"].get<int>();
    return traced_operation{"joined", [=](operands const& x) {
                              return "ops.concatenate({"_cpp + comma_list(x) + "}, " + number_text(axis) + ")";
                            }};
  }
  if (type == "Flatten") {
    auto const lengths = layer.lengths;
    return traced_operation{"shaped", [=](operands const& x) {
                              return "ops.reshape("_cpp + x[0] + ", " + shape_text(x[0], lengths) + ")";
                            }};
  }
  if (type == "Softmax" || (type == "Activation" && config["activation"] == "softmax")) {
    int const axis = type == "Softmax" ? config["axis"].get<int>() : -1;
    return traced_operation{
        "softmax", [=](operands const& x) { return "ops.softmax("_cpp + x[0] + ", " + number_text(axis) + ")"; }};
  }
  if (type == "Cropping1D") {
    int const begin = config["cropping"][0].get<int>(), count = layer.lengths[0];
    return traced_operation{"part", [=](operands const& x) {
                              return "ops.slice("_cpp + x[0] + ", 1, " + number_text(begin) + ", " +
                                     number_text(count) + ")";
                            }};
  }
  return std::nullopt;
}

/// A constant as that of one sample: (1, ...), and its lengths without the sample.
std::pair<onnx_constant, std::vector<int>> of_sample(onnx_constant constant, bool is_one_sample) {
  check_floats(constant);
  if (is_one_sample) {
    if (constant.shape.empty()) constant.shape.push_back(1);
    constant.shape.insert(constant.shape.begin(), 1);
  }
  if (constant.shape.size() < 2 || constant.shape[0] != 1)
    throw unsupported("begins a loop with a value for each sample");
  std::vector<int> lengths;
  for (std::size_t i = 1; i < constant.shape.size(); ++i) {
    if (constant.shape[i] < 1 || constant.shape[i] > (1 << 24)) throw unsupported("has a state without elements");
    lengths.push_back(static_cast<int>(constant.shape[i]));
  }
  return {std::move(constant), std::move(lengths)};
}

bool is_word_type(int type) { return element_kind_of(type) == element_kind::whole && !range_of_type(type).is_exact(); }

}  // namespace

void onnx_trace::roll(onnx_node const& node, known_loop const& loop) {
  auto const layers = static_cast<std::ptrdiff_t>(layers_.size()),
             problems = static_cast<std::ptrdiff_t>(problems_.size());
  auto const nodes = inlined_nodes_, budget = weight_budget_;
  auto const undo = [&] {
    layers_.erase(layers_.begin() + layers, layers_.end());
    inlined_nodes_ = nodes, weight_budget_ = budget, --loop_depth_;
  };
  if (++loop_depth_ > most_nested) throw --loop_depth_, unsupported("has loops more than 4 deep");
  try {
    roll_body(node, loop);
  } catch (unknown_input const&) {
    undo();
    if (problems_.begin() + problems == problems_.end()) throw;  // a node before the loop is not known
    auto const why = problems_[static_cast<std::size_t>(problems)];
    problems_.erase(problems_.begin() + problems, problems_.end());
    throw unsupported("has a body in which " + why);
  } catch (...) {
    undo();
    throw;
  }
  --loop_depth_;
}

void onnx_trace::roll_body(onnx_node const& node, known_loop const& loop) {
  int const before = is_one_sample_ ? 0 : 1;  // axes of samples in the graph
  auto const text = std::make_shared<loop_text>();
  text->letter = "kmnq"[at(loop_depth_ - 1)];
  text->trips = static_cast<int>(loop.trips);
  std::vector<onnx_constant> constants;
  std::vector<std::string> constant_names;
  std::vector<traced_tensor> tensors;
  auto const add_constant_operand = [&](onnx_constant value, std::string const& name) {
    constants.push_back(std::move(value)), constant_names.push_back(name);
    return outer_value{constants.size() - 1, true};
  };
  auto const operand_of = [&](int layer) {
    for (std::size_t i = 0; i < tensors.size(); ++i)
      if (tensors[i].layer == layer) return outer_value{i, false};
    tensors.push_back({layer});
    return outer_value{tensors.size() - 1, false};
  };
  auto const known = [&](std::string const& name) -> traced_tensor {
    if (unknown_.contains(name)) throw unknown_input();
    auto const found = tensors_.find(name);
    if (found == tensors_.end()) throw unsupported("takes '" + name + "', which no node before it gives");
    return complete_in_order(of_one_head(found->second));
  };
  // First what is outside, and the axes that each stand-in has.
  std::vector<traced_tensor> stand_ins;
  std::vector<loop_element> elements(loop.inputs.size());
  std::vector<loop_state> states(loop.inputs.size());
  std::vector<int> types;
  std::vector<onnx_constant> rows(loop.inputs.size());  // those of tables, which are operands if a trip reads them
  auto const add_stand_in = [&](int rank, std::vector<int> lengths, int type) {
    traced_tensor x{-1, rank};
    x.lengths = std::move(lengths);
    x.order.resize(x.lengths.size() + 1);
    std::iota(x.order.begin(), x.order.end(), is_one_sample_ ? no_axis : 0);
    if (rank == 0) x.order = {no_axis, unit_axis};
    x.elements = element_kind_of(type).value_or(element_kind::real);
    stand_ins.push_back(std::move(x)), types.push_back(type);
  };
  for (std::size_t i = 0; i < loop.inputs.size(); ++i) {
    auto input = loop.inputs[i];
    auto& element = elements[i];
    if (!input.places.empty()) {
      onnx_node picked;
      picked.type = "Gather", picked.inputs = {input.name, input.places};
      auto& along = picked.attributes["axis"];
      along.kind = onnx_kind::integer, along.integer = input.axis;
      input.name = convert_made(std::move(picked));
    }
    auto& state = states[i];
    int const type = type_of(input.name);
    if (auto value = constants_.find(input.name)) {
      if (std::any_of(value->values.begin(), value->values.end(), [](double each) { return is_of_samples(each); }))
        throw unsupported("computes with the number of samples, which is not known when the model is written");
      bool const is_row = input.kind != kinds::state;
      auto rank = static_cast<int>(value->shape.size()) - (is_row ? 1 : 0);
      if (is_row) {
        if (input.kind == kinds::element && (input.axis != 0 || !is_one_sample_))
          throw unsupported("reads a constant along another axis than its first, or where samples stay apart");
        check_floats(*value);
        auto lengths = std::vector<int>(value->shape.begin() + 1, value->shape.end());
        if (lengths.empty()) lengths.push_back(1), value->shape.push_back(1);
        value->shape.insert(value->shape.begin(), 1);
        element.flips = input.is_back, element.lengths = lengths, element.rank = lengths.size() + 2;
        rows[i] = std::move(*value);
        add_stand_in(rank, lengths, type);
      } else {
        auto [of_one, lengths] = of_sample(std::move(*value), is_one_sample_);
        state.first = add_constant_operand(std::move(of_one), "first");
        state.lengths = lengths, state.is_word = is_word_type(type);
        state.converts_first = state.is_word;
        add_stand_in(rank, lengths, type);
      }
      continue;
    }
    auto const x = known(input.name);
    if (input.kind == kinds::element) {
      int const axis = axis_of(input.axis, x.rank), place = axis + 1 - before;
      if (place < 1) throw unsupported("is along samples, which stay apart here");
      if (x.lengths[at(place) - 1] != loop.trips) throw unsupported("has inputs of different lengths");
      element.from = operand_of(x.layer), element.place = place, element.rank = x.lengths.size() + 1;
      element.flips = input.is_back, element.lengths = x.lengths;
      element.lengths.erase(element.lengths.begin() + place - 1);
      if (element.lengths.empty()) element.lengths.push_back(1), element.is_number = true;
      if (element.is_number && !is_one_sample_) throw unsupported("reads single numbers of samples");
      state.is_word = is_word(x);
      add_stand_in(x.rank - 1, element.lengths, type);
    } else {
      if (x.lengths.empty()) throw unsupported("has a state of one number for each sample");
      state.first = operand_of(x.layer), state.lengths = x.lengths;
      state.is_word = is_word(x) || is_word_type(type), state.converts_first = state.is_word && !is_word(x);
      add_stand_in(x.rank, x.lengths, type);
    }
  }
  // The body, on stand-ins.
  auto const first = static_cast<int>(layers_.size());
  std::vector<std::string> names;
  for (std::size_t i = 0; i < stand_ins.size(); ++i) {
    traced_layer made{"LoopInput", ""};
    made.lengths = stand_ins[i].lengths, made.is_word = states[i].is_word;
    stand_ins[i].layer = static_cast<int>(layers_.size());
    layers_.push_back(std::move(made));
    names.push_back("made " + std::to_string(made_++));
    types_.insert_or_assign(names.back(), types[i]);
    auto range = range_of_type(types[i]);
    if (loop.inputs[i].kind != kinds::state) range = range_of(loop.inputs[i].name);  // of all elements
    ranges_.insert_or_assign(names.back(), range);
    tensors_.insert_or_assign(names.back(), stand_ins[i]);
  }
  auto const results = inline_graph(*loop.body, names);
  if (results.size() < loop.outputs.size()) throw unsupported("has a body that does not fit it");
  std::vector<inner_value> values(loop.outputs.size());
  std::vector<traced_tensor> made(loop.outputs.size());
  auto const is_needed = [&](known_loop::output const& each) {
    return each.state >= 0 || (each.result >= 0 && is_taken(node.outputs[at(each.result)]));
  };
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!is_needed(loop.outputs[i])) continue;
    auto& value = values[i];
    if (auto constant = constants_.find(results[i])) {
      made[i].rank = static_cast<int>(constant->shape.size());
      auto [of_one, lengths] = of_sample(std::move(*constant), is_one_sample_);
      value.constant = add_constant_operand(std::move(of_one), "next"), value.lengths = lengths;
      made[i].lengths = std::move(lengths);
    } else {
      made[i] = known(results[i]);
      value.layer = made[i].layer, value.lengths = made[i].lengths, value.is_word = is_word(made[i]);
    }
    if (value.lengths.empty()) throw unsupported("has a state of one number for each sample");
  }
  // What depends on a stand-in belongs to the step.
  auto const end = static_cast<int>(layers_.size());
  std::vector<bool> depends(at(end)), is_read(at(end));
  for (auto const& each : stand_ins) depends[at(each.layer)] = true;
  for (int i = first; i < end; ++i)
    for (int const input : layers_[at(i)].inputs)
      depends[at(i)] = depends[at(i)] || (input >= first && depends[at(input)]);
  for (auto const& each : values)
    if (each.layer >= 0) is_read[at(each.layer)] = true;
  for (int i = end; i-- > first;)
    if (is_read[at(i)])
      for (int const input : layers_[at(i)].inputs) is_read[at(input)] = true;
  std::vector<std::size_t> place_of_state(loop.inputs.size());
  std::size_t back = 0;
  bool has_words = false, has_floats = false;
  for (std::size_t i = 0; i < loop.inputs.size(); ++i) {
    if (loop.inputs[i].kind == kinds::state || !is_read[at(stand_ins[i].layer)]) continue;
    if (loop.inputs[i].kind == kinds::table && !is_one_sample_)
      throw unsupported("computes with the number of a trip where samples stay apart");
    elements[i].layer = stand_ins[i].layer;
    if (!rows[i].shape.empty()) elements[i].from = add_constant_operand(std::move(rows[i]), "trips");
    back += elements[i].flips ? 1 : 0;
    (states[i].is_word ? has_words : has_floats) = true;
    text->elements.push_back(elements[i]);
  }
  if (has_words && has_floats) throw unsupported("reads whole numbers and others in one trip");
  text->is_back = back > 0 && back == text->elements.size();
  if (text->is_back)
    for (auto& each : text->elements) each.flips = false;
  for (int i = first; i < end; ++i) {
    auto const& layer = layers_[at(i)];
    bool const is_stand_in = i < first + static_cast<int>(stand_ins.size());
    if (!depends[at(i)] || !is_read[at(i)] || is_stand_in) continue;
    if (layer.half != 0) throw unsupported("computes in 16 bits in each trip");
    auto operation = step_of(layer);
    if (!operation) throw unsupported("has a " + layer.class_name + " in each trip, which is no operation");
    loop_step step{i, layer.inputs, std::move(operation->code), constants.size(), operation->constants.size()};
    for (std::size_t k = 0; k < operation->constants.size(); ++k) {
      weight_budget_ += operation->constants[k].values.size();
      add_constant_operand(std::move(operation->constants[k]), operation->names[k]);
    }
    for (int const input : layer.inputs)
      if (input < first || !depends[at(input)]) text->outer.emplace(input, operand_of(input).index);
    text->steps.push_back(std::move(step));
  }
  for (std::size_t i = 0; i < loop.outputs.size(); ++i) {
    auto const& output = loop.outputs[i];
    if (!is_needed(output)) continue;
    auto& value = values[i];
    if (value.layer >= 0 && (value.layer < first || !depends[at(value.layer)]))
      text->outer.emplace(value.layer, operand_of(value.layer).index);
    loop_state state;
    if (output.state >= 0) {
      state = states[at(output.state)];
      state.layer = stand_ins[at(output.state)].layer;
      if (state.lengths != value.lengths || stand_ins[at(output.state)].rank != made[i].rank)
        throw unsupported("has a state whose shape changes");
      if (!state.is_word && value.is_word) throw unsupported("has a state of whole numbers that float32 may not have");
      value.becomes_word = state.is_word && !value.is_word;
    } else {
      state.lengths = value.lengths, state.is_word = value.is_word, state.converts_first = value.is_word;
    }
    state.next = value;
    if (output.result >= 0 && is_taken(node.outputs[at(output.result)])) {
      loop_result result{text->states.size(), output.state < 0, false, value.lengths};
      // The trips are in the order in which they are made.
      result.flips = result.is_all && output.is_back;
      if (result.is_all) result.lengths.insert(result.lengths.begin(), text->trips);
      text->results.push_back(std::move(result));
    }
    text->states.push_back(std::move(state));
  }
  if (text->results.empty()) return;
  if (tensors.empty()) operand_of(inputs_.at(0));
  // Constants stand after the tensors.
  auto const shift = [&](outer_value& of) { of.index += of.is_constant ? tensors.size() : 0; };
  for (auto& each : text->elements) shift(each.from);
  for (auto& each : text->steps) each.first_constant += tensors.size();
  bool is_word_result = false, is_float_result = false;
  for (auto& each : text->states) {
    if (each.first) shift(*each.first);
    shift(each.next.constant);
  }
  for (auto const& each : text->results) (text->states[each.state].is_word ? is_word_result : is_float_result) = true;
  if (is_word_result && is_float_result) throw unsupported("gives whole numbers and others");
  for (int i = first; i < end; ++i)
    if (depends[at(i)]) layers_[at(i)] = traced_layer{};  // nothing reads it any more
  std::int64_t total = 0;
  for (auto const& each : text->results) {
    if (is_countable(each.lengths)) total += size_of(each.lengths);
    if (!is_countable(each.lengths) || total > 1 << 30) throw unsupported("gives more than 2^30 elements");
  }
  bool const is_alone = text->results.size() == 1;
  auto const whole =
      operate({"loop", [text](operands const& o) { return text->write(o); }, constants, constant_names, is_word_result},
              tensors, is_alone ? text->results[0].lengths : std::vector{static_cast<int>(total)});
  int offset = 0;
  std::size_t next = 0;
  for (std::size_t i = 0; i < loop.outputs.size(); ++i) {
    auto const& output = loop.outputs[i];
    if (output.result < 0 || !is_taken(node.outputs[at(output.result)])) continue;
    auto const lengths = text->results[next++].lengths;
    int const size = size_of(lengths), begin = offset;
    offset += size;
    auto y = is_alone ? whole
                      : operate({"part",
                                 [=](operands const& o) {
                                   return "ops.reshape(ops.slice("_cpp + o[0] + ", 1, " + number_text(begin) + ", " +
                                          number_text(size) + "), " + shape_text(o[0], lengths) + ")";
                                 }},
                                {whole}, lengths);
    auto const rank = made[i].rank;
    if (output.state >= 0) {
      y.rank = rank;
      if (rank == 0) y.order = {no_axis, unit_axis};
    } else {
      // The axis of the trips is a new one of the graph, and stands here after that of samples.
      int const axis = axis_of(output.axis, rank + 1);
      y.rank = rank + 1;
      y.order.assign(1, is_one_sample_ ? no_axis : axis > 0 ? 0 : 1);
      y.order.push_back(axis);
      for (int k = before; k < rank; ++k) y.order.push_back(k < axis ? k : k + 1);
      if (rank == 0) y.order.push_back(unit_axis);
    }
    auto const name = "made " + std::to_string(made_++);
    types_.insert_or_assign(name, type_of(results[i]));
    ranges_.insert_or_assign(name, output.state >= 0 ? range_of_type(type_of(results[i])) : range_of(results[i]));
    tensors_.insert_or_assign(name, y);
    set_alias(node, name, at(output.result));
  }
}

}  // namespace stagecraft::tool
