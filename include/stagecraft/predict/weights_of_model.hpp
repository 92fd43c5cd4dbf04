// SPDX-License-Identifier: BSD-3-Clause
// Which constant array is which weight of a model.
#pragma once

#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/models/queries.hpp>
#include <stagecraft/predict/constant_weight.hpp>
#include <stagecraft/predict/loops.hpp>
#include <array>
#include <cstddef>
#include <string_view>

namespace stagecraft::predictors {

/// The numbers of a weight that come from an array: states stand in the predictor.
constexpr bool is_constant(parameter const& weight) { return !weight.between_batches; }

/// The arrays of the weights: found by their names, or by their places if they have none.
template <class M, auto const& Weights>
struct weights_of_model {
  static constexpr auto const& graph = graph_of<M>;
  static constexpr int given = static_cast<int>(std::size(Weights));

  static constexpr bool have_names = !Weights[0].name.empty();

  /// The array of a weight; -1 if no array, or more than one, has its name.
  static constexpr int find_entry(int parameter) {
    int entry = have_names ? -1 : 0;
    if (!have_names) {
      for (int i = 0; i < parameter; ++i) entry += is_constant(graph.parameters[i]) ? 1 : 0;
      return entry;
    }
    std::string_view const layer = graph.layer(graph.layer_of_parameter(parameter)).name;
    for (int i = 0; i < given; ++i)
      if (Weights[i].is_named(layer, graph.parameters[parameter].name)) {
        if (entry >= 0) return -1;
        entry = i;
      }
    return entry;
  }
  static constexpr auto entries = [] {
    std::array<int, graph.parameters.size()> result{};
    for (int i = 0; i < static_cast<int>(result.size()); ++i)
      if (is_constant(graph.parameters[i])) result[i] = find_entry(i);
    return result;
  }();
  static constexpr int entry_of(int parameter) { return entries[parameter]; }
  static constexpr std::size_t bytes() {
    std::size_t sum = 0;
    for (constant_weight const& each : Weights) sum += each.size_in_bytes();
    return sum;
  }
  static constexpr diagnostic find_problem() {
    diagnostic problem;
    int all = 0;
    for (parameter const& each : graph.parameters) all += is_constant(each) ? 1 : 0;
    if (given != all) {
      problem.report(4185, "model '", graph.name(), "' has ", all, " weights, but ", given, " arrays are given");
      return problem;
    }
    for (int i = 0; i < static_cast<int>(graph.parameters.size()); ++i) {
      auto const& weight = graph.parameters[i];
      if (!is_constant(weight)) continue;
      if (entry_of(i) < 0) {
        problem.report(4185, "weight '", weight.name, "' of layer '", graph.layer(graph.layer_of_parameter(i)).name,
                       "' needs an array of its own with its name, '<layer>/<weight>:0'");
        return problem;
      }
      constant_weight const& array = Weights[entry_of(i)];
      if (array.count == static_cast<std::size_t>(weight.size()) &&
          (array.bytes == nullptr || array.columns == static_cast<std::size_t>(weight.shape.back())))
        continue;
      problem.report(4185, "weight '", weight.name, "' of layer '", graph.layer(graph.layer_of_parameter(i)).name,
                     "' has ", weight.size(), " numbers in ", weight.shape.back(), " columns, but its array has ",
                     static_cast<long long>(array.count),
                     array.bytes == nullptr ? "" : ", or another number of scales");
      return problem;
    }
    return problem;
  }
};

/// The weights of one layer.
template <class All, auto const& Weights, int Layer, bool WithWholeNumbers = false>
struct weights_of_layer {
  static constexpr bool with_whole_numbers = WithWholeNumbers;
  static constexpr int first = All::graph.layer(Layer).first_parameter;

  static constexpr bool is_state(int index) { return All::graph.parameters[first + index].between_batches; }
  static constexpr constant_weight of(int index) { return Weights[All::entry_of(first + index)]; }
  static constexpr int columns_of(int index) { return static_cast<int>(of(index).columns); }
  static constexpr bool has_bytes(int index) { return !is_state(index) && of(index).bytes != nullptr; }
};

}  // namespace stagecraft::predictors
