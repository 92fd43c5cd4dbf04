// SPDX-License-Identifier: BSD-3-Clause
// ONNX's nodes that contain graphs: a branch whose condition is known becomes its nodes, and a loop with a known number
// of trips becomes a scan, or the nodes of all trips.
#include "onnx/loops/known_trips.hpp"
#include "onnx/operator_table.hpp"

#include <algorithm>
#include <limits>

namespace stagecraft::tool {

namespace {

using trace = onnx_trace;
using names_list = std::vector<std::string>;

constexpr std::int64_t most_trips = 1024;         // those that are written one after the other
constexpr std::int64_t fewest_rolled_nodes = 64;  // nodes of all trips for which a scan is written

onnx_graph const& body_of(onnx_node const& node, char const* attribute) {
  auto const* const found = node.find(attribute);
  if (found == nullptr || !found->graph) throw unsupported("lacks its graph '" + std::string(attribute) + "'");
  return *found->graph;
}

bool truth_of(onnx_constant const& condition) {
  if (condition.values.size() != 1) throw unsupported("has a condition of several numbers");
  return condition.values[0] != 0;
}

void choose(trace& to, onnx_node const& node) {
  auto const& branch = body_of(node, truth_of(to.required(node, 0)) ? "then_branch" : "else_branch");
  auto const results = to.inline_graph(branch, {});
  if (results.size() < node.outputs.size()) throw unsupported("has more outputs than its branch");
  for (std::size_t i = 0; i < node.outputs.size(); ++i) to.set_alias(node, results[i], i);
}

/// The results of all trips along a new axis.
void stack(trace& to, onnx_node const& node, names_list parts, std::int64_t axis, std::size_t output) {
  if (output >= node.outputs.size() || !to.is_taken(node.outputs[output])) return;
  if (parts.empty()) throw unsupported("makes no trip, so that an output has no elements");
  onnx_node joined;
  joined.type = "Concat";
  auto& of = joined.attributes["axis"];
  of.kind = onnx_kind::integer, of.integer = axis;
  auto const axes = to.add_constant({{1}, {static_cast<double>(axis)}, true});
  for (auto const& each : parts) {
    onnx_node wider;
    wider.type = "Unsqueeze", wider.inputs = {each, axes};
    joined.inputs.push_back(to.convert_made(std::move(wider)));
  }
  to.set_alias(node, to.convert_made(std::move(joined)), output);
}

std::int64_t nodes_of(onnx_graph const& body) {
  auto count = static_cast<std::int64_t>(body.nodes.size());
  for (auto const& node : body.nodes)
    for (auto const& [name, value] : node.attributes)
      if (value.graph) count += nodes_of(*value.graph);
  return count;
}

bool is_worth_a_scan(onnx_graph const& body, std::int64_t trips) {
  return trips > 3 && trips * nodes_of(body) >= fewest_rolled_nodes;
}

/// Writes a loop as a scan. Returns why that was not possible; empty: it was.
std::string roll(trace& to, onnx_node const& node, known_loop const& as) {
  try {
    to.roll(node, as);
    return {};
  } catch (unsupported const& why) {
    if (as.trips > most_trips)
      throw unsupported("makes more than 1,024 trips, and is no scan, since it " + std::string(why.what()));
    return why.what();
  }
}

/// A Loop as a scan, whose trips are known. The values of known states are rows of a table, and so are the number of
/// the trip and the elements that it picks.
bool roll_loop(trace& to, onnx_node const& node, onnx_graph body, names_list const& states, known_trips const& known) {
  using input = known_loop::input;
  auto const row_input = [&](std::string const& name) -> input {
    auto table = known.table(name);
    if (name == body.inputs[0].name) {
      table = onnx_constant{{known.trips()}, {}, true};
      for (std::int64_t i = 0; i < known.trips(); ++i) table->values.push_back(static_cast<double>(i));
    }
    if (!table) throw unsupported("has a state whose shape changes");
    auto const made = to.add_constant(std::move(*table));
    for (std::size_t i = 0; i < states.size(); ++i)
      if (int const type = to.type_of(states[i]); type != 0 && name == body.inputs[i + 2].name)
        to.retype(made, type, to.range_of(made));
    return {input::kinds::table, made};
  };
  known_loop as{nullptr, known.trips()};
  try {
    as.inputs.push_back(row_input(body.inputs[0].name));
    as.inputs.push_back(
        {input::kinds::table,
         to.add_constant({{known.trips()}, std::vector<double>(static_cast<std::size_t>(known.trips()), 1), true})});
    for (std::size_t i = 0; i < states.size(); ++i)
      as.inputs.push_back(known.is_known(i) ? row_input(body.inputs[i + 2].name)
                                            : input{input::kinds::state, states[i]});
    for (auto& each : body.nodes) {
      if (!known.reads_known_place(each) || unread_part(each)) continue;  // what is not read is refused later
      auto places = known.table(each.inputs[1]);
      if (!places || places->shape.size() != 1) continue;
      as.inputs.push_back(
          {input::kinds::element, each.inputs[0], each.integer("axis", 0), false, to.add_constant(std::move(*places))});
      auto const name = each.outputs[0] + " of a trip";
      body.inputs.push_back({name, {}, {}, 1});
      each.type = "Identity", each.attributes.clear(), each.inputs = {name};
    }
  } catch (unsupported const&) {
    return false;
  }
  auto const result = [&](std::size_t i) { return i < node.outputs.size() ? static_cast<int>(i) : -1; };
  as.body = &body;
  as.outputs.push_back({-1, -1});
  for (std::size_t i = 0; i < states.size(); ++i)
    as.outputs.push_back(known.is_known(i) ? known_loop::output{}
                                           : known_loop::output{static_cast<int>(i) + 2, result(i)});
  for (std::size_t i = states.size() + 1; i < body.outputs.size(); ++i) as.outputs.push_back({-1, result(i - 1)});
  if (!roll(to, node, as).empty()) return false;
  for (std::size_t i = 0; i < states.size() && i < node.outputs.size(); ++i)
    if (known.is_known(i)) {
      auto const last = to.add_constant(known.last(i));
      if (int const type = to.type_of(states[i]); type != 0) to.retype(last, type, to.range_of(last));
      to.set_alias(node, last, i);
    }
  return true;
}

void loop(trace& to, onnx_node const& node) {
  auto const& body = body_of(node, "body");
  if (node.inputs.size() < 2 + node.captures || body.inputs.size() < 2 || body.outputs.empty())
    throw unsupported("has a body that does not fit it");
  auto const carried = body.inputs.size() - 2, given = node.inputs.size() - node.captures - 2;
  if (given != carried || body.outputs.size() < carried + 1) throw unsupported("has a body that does not fit it");
  auto const count = to.constant(node, 0), condition = to.constant(node, 1);
  if (count && count->values.size() != 1) throw unsupported("has several numbers of trips");
  auto const trips = count ? count->integers()[0] : most_trips + 1;
  bool goes_on = !condition || truth_of(*condition);
  names_list states(node.inputs.begin() + 2, node.inputs.begin() + 2 + static_cast<std::ptrdiff_t>(carried));
  known_trips const known(to, body, states, count ? trips : std::numeric_limits<std::int64_t>::max(), goes_on);
  if (known.is_counted() && is_worth_a_scan(body, known.trips()) && roll_loop(to, node, body, states, known)) return;
  std::vector<names_list> stacked(body.outputs.size() - 1 - carried);
  auto const yes = to.add_constant({{}, {1}, true});
  for (std::int64_t trip = 0; goes_on && trip < trips; ++trip) {
    if (trip == most_trips) throw unsupported("makes more than 1,024 trips");
    names_list inputs{to.add_constant({{}, {static_cast<double>(trip)}, true}), yes};
    inputs.insert(inputs.end(), states.begin(), states.end());
    auto const results = to.inline_graph(body, inputs);
    auto const next = to.constants().find(results[0]);
    if (!next) throw unsupported("ends when data says so, which is not known when the model is written");
    goes_on = truth_of(*next);
    for (std::size_t i = 0; i < carried; ++i) states[i] = results[i + 1];
    for (std::size_t i = 0; i < stacked.size(); ++i) stacked[i].push_back(results[i + 1 + carried]);
  }
  for (std::size_t i = 0; i < carried && i < node.outputs.size(); ++i) to.set_alias(node, states[i], i);
  for (std::size_t i = 0; i < stacked.size(); ++i) stack(to, node, stacked[i], 0, carried + i);
}

void scan(trace& to, onnx_node const& node) {
  if (to.graph().opset < 9) throw unsupported("is of an opset before 9, with samples of its own");
  auto const& body = body_of(node, "body");
  auto const read = node.integer("num_scan_inputs", 0);
  auto const given = node.inputs.size() - std::min(node.captures, node.inputs.size());
  if (read < 1 || static_cast<std::size_t>(read) > given || body.inputs.size() != given)
    throw unsupported("has a body that does not fit it");
  auto const scanned = static_cast<std::size_t>(read), carried = given - scanned;
  if (body.outputs.size() < carried) throw unsupported("has a body that does not fit it");
  auto const at = [&](char const* list, std::size_t i) {
    auto const values = node.integers(list, {});
    return i < values.size() ? values[i] : 0;
  };
  std::int64_t trips = -1;
  for (std::size_t i = 0; i < scanned; ++i) {
    auto const length = to.length_of(node, carried + i, at("scan_input_axes", i));
    if (trips >= 0 && length != trips) throw unsupported("has inputs of different lengths");
    trips = length;
  }
  if (trips > most_rolled) throw unsupported("makes more than 65,536 trips");
  if (is_worth_a_scan(body, trips)) {
    known_loop as{&body, trips};
    for (std::size_t i = 0; i < given; ++i)
      if (i < carried)
        as.inputs.push_back({known_loop::input::kinds::state, node.inputs[i]});
      else
        as.inputs.push_back({known_loop::input::kinds::element, node.inputs[i], at("scan_input_axes", i - carried),
                             at("scan_input_directions", i - carried) != 0});
    for (std::size_t i = 0; i < body.outputs.size(); ++i) {
      int const result = i < node.outputs.size() ? static_cast<int>(i) : -1;
      if (i < carried)
        as.outputs.push_back({static_cast<int>(i), result});
      else
        as.outputs.push_back(
            {-1, result, at("scan_output_axes", i - carried), at("scan_output_directions", i - carried) != 0});
    }
    if (roll(to, node, as).empty()) return;
  }
  if (trips > most_trips) throw unsupported("makes more than 1,024 trips");
  names_list states(node.inputs.begin(), node.inputs.begin() + static_cast<std::ptrdiff_t>(carried));
  std::vector<names_list> stacked(body.outputs.size() - carried);
  for (std::int64_t trip = 0; trip < trips; ++trip) {
    auto inputs = states;
    for (std::size_t i = 0; i < scanned; ++i) {
      bool const is_back = at("scan_input_directions", i) != 0;
      onnx_node element;
      element.type = "Gather";
      auto& axis = element.attributes["axis"];
      axis.kind = onnx_kind::integer, axis.integer = at("scan_input_axes", i);
      auto const place = static_cast<double>(is_back ? trips - 1 - trip : trip);
      element.inputs = {node.inputs[carried + i], to.add_constant({{}, {place}, true})};
      inputs.push_back(to.convert_made(std::move(element)));
    }
    auto const results = to.inline_graph(body, inputs);
    for (std::size_t i = 0; i < carried; ++i) states[i] = results[i];
    for (std::size_t i = 0; i < stacked.size(); ++i) stacked[i].push_back(results[i + carried]);
  }
  for (std::size_t i = 0; i < carried && i < node.outputs.size(); ++i) to.set_alias(node, states[i], i);
  for (std::size_t i = 0; i < stacked.size(); ++i) {
    if (at("scan_output_directions", i) != 0) std::reverse(stacked[i].begin(), stacked[i].end());
    stack(to, node, stacked[i], at("scan_output_axes", i), carried + i);
  }
}

}  // namespace

std::string onnx_trace::add_constant(onnx_constant value) {
  auto name = "made " + std::to_string(made_++);
  constexpr int float32 = 1, int64 = 7;
  types_.insert_or_assign(name, value.is_whole ? int64 : float32);
  constants_.set(name, std::move(value));
  return name;
}

void onnx_trace::convert_nodes(onnx_graph const& graph) {
  inlined_nodes_ += graph.nodes.size();
  constexpr std::size_t most_nodes = 20'000;
  if (inlined_nodes_ > most_nodes) throw unsupported("has more than 20,000 nodes in all trips");
  for (auto const& node : graph.nodes)
    for (auto const& input : node.inputs)
      if (!input.empty()) users_[input].push_back(&node);
  for (auto const& output : graph.outputs) given_.insert(output.name);
  auto const problems = problems_.size();
  for (auto const& node : graph.nodes)
    if (!skipped_.contains(&node)) convert(node);
  if (problems_.size() != problems) throw unknown_input();
}

std::vector<std::string> onnx_trace::inline_graph(onnx_graph const& body, std::vector<std::string> const& inputs) {
  auto copy = body;
  copy.opset = graph_.opset, copy.producer = graph_.producer;
  upgrade_nodes(copy);
  expand_microsoft_nodes(copy);
  std::map<std::string, std::string> names;
  for (std::size_t i = 0; i < body.inputs.size() && i < inputs.size(); ++i) names[body.inputs[i].name] = inputs[i];
  std::vector<std::string> results;
  inlined_.push_back(with_patterns(renamed(copy, names, "trip" + std::to_string(made_++) + "/"), options_.group_of));
  auto const& graph = inlined_.back();
  for (auto const& each : graph.outputs) results.push_back(each.name);
  constants_.add(graph), add_types(graph);
  for (auto const& each : graph.constants) weight_budget_ += static_cast<std::size_t>(each.size());
  for (auto const& node : graph.nodes)
    if (node.type == "Constant") weight_budget_ += elements_of(node);
  convert_nodes(graph);
  return results;
}

std::string onnx_trace::convert_made(onnx_node node) {
  auto name = "made " + std::to_string(made_++);
  node.outputs = {name};
  inlined_.push_back({});
  inlined_.back().nodes.push_back(std::move(node));
  inlined_.back().outputs.push_back({name, {}, {}, 1});
  convert_nodes(inlined_.back());
  return name;
}

void onnx_trace::set_alias(onnx_node const& node, std::string const& of, std::size_t output) {
  if (output >= node.outputs.size() || node.outputs[output].empty()) return;
  types_.insert_or_assign(node.outputs[output], type_of(of));
  ranges_.insert_or_assign(node.outputs[output], range_of(of));
  if (auto const value = constants_.find(of))
    constants_.set(node.outputs[output], *value);
  else if (auto const found = tensors_.find(of); found != tensors_.end())
    tensors_.insert_or_assign(node.outputs[output], traced_tensor(found->second));
  else
    throw unknown_input();
}

std::int64_t onnx_trace::length_of(onnx_node const& node, std::size_t input, std::int64_t axis) {
  if (!is_tensor(node, input)) {
    auto const value = required(node, input);
    return value.shape[static_cast<std::size_t>(axis_of(axis, static_cast<int>(value.shape.size())))];
  }
  auto const x = complete(tensor(node, input));
  auto const place = std::find(x.order.begin(), x.order.end(), axis_of(axis, x.rank)) - x.order.begin();
  if (place == 0) throw unsupported("is along samples, which stay apart here");
  return x.lengths[static_cast<std::size_t>(place) - 1];
}

void add_control_converters(std::map<std::string, onnx_converter>& to) {
  to["If"] = choose, to["Loop"] = loop, to["Scan"] = scan;
}

}  // namespace stagecraft::tool
