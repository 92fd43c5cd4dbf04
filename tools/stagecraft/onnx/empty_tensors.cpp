// SPDX-License-Identifier: BSD-3-Clause
// Tensors without elements: inputs of which no number can be read, and reductions over no numbers.
#include "onnx_folding.hpp"
#include "onnx_trace.hpp"

#include <stagecraft/diagnostics/shown_text.hpp>
#include <algorithm>
#include <cstdio>
#include <limits>

namespace stagecraft::tool {

namespace {

/// True if the file fixes all lengths of an input, and one after the first is 0. A first length of 0 means any number
/// of samples here.
bool has_no_elements(onnx_value const& input) {
  constexpr std::size_t most_axes = 16;
  constexpr std::int64_t longest = 1 << 30;
  auto const is_known = [](std::int64_t length) { return length >= 0 && length <= longest; };
  return !input.shape.empty() && input.shape.size() <= most_axes && input.shape[0] > 0 &&
         std::all_of(input.shape.begin(), input.shape.end(), is_known) &&
         std::count(input.shape.begin(), input.shape.end(), 0) > 0 && stored_type_of(input.type);
}

/// A name that no node and no output of the graph has, made from another one.
std::string unused_name(onnx_graph const& graph, std::string name) {
  std::set<std::string> taken;
  for (auto const& node : graph.nodes) {
    taken.insert(node.inputs.begin(), node.inputs.end());
    taken.insert(node.outputs.begin(), node.outputs.end());
  }
  for (auto const& each : graph.constants) taken.insert(each.name);
  for (auto const& each : graph.outputs) taken.insert(each.name);
  do name += "_unread";
  while (taken.contains(name));
  return name;
}

/// What a reduction gives for no numbers.
double of_no_numbers(std::string const& reduction, int type) {
  constexpr auto infinity = std::numeric_limits<double>::infinity();
  auto const kind = element_kind_of(type);
  if (reduction == "ReduceSum" || reduction == "ReduceL1" || reduction == "ReduceL2" || reduction == "ReduceSumSquare")
    return 0;
  if (reduction == "ReduceProd") return 1;
  if (reduction == "ReduceMax" && kind == element_kind::truth) return 0;
  if (reduction == "ReduceMin" && kind == element_kind::truth) return 1;
  if (kind != element_kind::real) throw unsupported("reduces no whole numbers to one that depends on their type");
  if (reduction == "ReduceMin") return infinity;
  if (reduction == "ReduceMax" || reduction == "ReduceLogSum" || reduction == "ReduceLogSumExp") return -infinity;
  throw unsupported("is a mean of no numbers");
}

}  // namespace

empty_inputs take_empty_inputs(onnx_graph& graph) {
  empty_inputs found;
  std::vector<onnx_value> kept;
  for (auto& each : graph.inputs) {
    if (!has_no_elements(each)) {
      kept.push_back(std::move(each));
      continue;
    }
    stored_tensor none;
    none.name = each.name, none.shape = each.shape, none.type = *stored_type_of(each.type);
    graph.constants.push_back(std::move(none));
    found.names.push_back(each.name);
  }
  found.has_stand_in = kept.empty() && !found.names.empty();
  if (found.has_stand_in) kept.push_back({unused_name(graph, found.names[0]), {}});
  graph.inputs = std::move(kept);
  return found;
}

void tell_empty_inputs(empty_inputs const& found, std::string const& file) {
  for (auto const& each : found.names)
    std::fprintf(stderr, "WARNING: %s: input '%s' has no elements, and is left out\n",
                 diagnostics::shown_text(file).c_str(), diagnostics::shown_name(each).c_str());
  if (found.has_stand_in)
    std::fputs("WARNING: the model has no other input: it takes one number for each sample, which nothing reads\n",
               stderr);
}

bool folds_empty_reduction(onnx_trace& to, onnx_node const& node) {
  bool const is_reduction = node.domain.empty() && node.type.starts_with("Reduce") && !node.inputs.empty();
  if (!is_reduction || node.outputs.empty() || to.constants().size(node.inputs[0]) > 0) return false;
  auto const from = to.constants().find(node.inputs[0]);
  if (!from || count_of(from->shape) != 0 || from->samples_axis >= 0) return false;
  auto const given = to.constant(node, 1);
  auto const axes = given ? given->integers() : node.integers("axes", {});
  if (axes.empty() && node.integer("noop_with_empty_axes", 0) != 0) {
    to.set_constant(node, *from);
    return true;
  }
  auto const rank = static_cast<int>(from->shape.size());
  std::vector<bool> is_reduced(from->shape.size(), axes.empty());
  for (auto const axis : axes) is_reduced[static_cast<std::size_t>(axis_of(axis, rank))] = true;
  onnx_constant lengths{{}, {}, true};
  for (std::size_t i = 0; i < is_reduced.size(); ++i) {
    if (is_reduced[i] && node.integer("keepdims", 1) == 0) continue;
    lengths.values.push_back(is_reduced[i] ? 1 : static_cast<double>(from->shape[i]));
  }
  lengths.shape = {static_cast<std::int64_t>(lengths.values.size())};
  bool const has_elements = std::count(lengths.values.begin(), lengths.values.end(), 0) == 0;
  double const value = has_elements ? of_no_numbers(node.type, to.type_of(node.inputs[0])) : 0;
  onnx_node filled;
  filled.type = "Expand";
  filled.inputs = {to.add_constant({{}, {value}, from->is_whole, from->is_double}), to.add_constant(lengths)};
  auto result = to.constants().find(to.convert_made(std::move(filled)));
  if (!result) throw unsupported("gives a constant of too many elements");
  to.set_constant(node, *std::move(result));
  return true;
}

}  // namespace stagecraft::tool
