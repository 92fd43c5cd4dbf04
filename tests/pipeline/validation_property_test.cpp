// SPDX-License-Identifier: BSD-3-Clause
// The rules of a stage assignment and the order of calls, on random small graphs, against oracles that know neither.
#include <stagecraft/graph/post_order.hpp>
#include <stagecraft/pipeline/validation.hpp>
#include <algorithm>
#include <cstddef>
#include <doctest/doctest.h>
#include <random>
#include <set>
#include <vector>

namespace sc = stagecraft;

namespace {

/// A graph made of vectors; inputs first.
struct random_graph {
  std::vector<sc::tracing::layer_info> layers;
  std::vector<sc::parameter> parameters;
  std::vector<sc::tracing::call_info> calls;
  std::vector<int> inputs;
  std::vector<sc::tracing::nested_model_info> models;
  std::vector<int> outputs;
  std::vector<int> order;

  [[nodiscard]] sc::tracing::graph_view view() const {
    return {.layers = layers,
            .parameters = parameters,
            .calls = calls,
            .inputs = inputs,
            .nested_models = models,
            .nested_inputs = {},
            .model_outputs = outputs,
            .ends = outputs,
            .output_shapes = {},
            .masks = {},
            .order = order};
  }
  [[nodiscard]] std::vector<int> inputs_of(int call) const {
    auto const& node = calls[static_cast<std::size_t>(call)];
    return {inputs.begin() + node.first_input, inputs.begin() + node.first_input + node.input_count};
  }
};

int pick(std::mt19937& random, int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); }

/// A chain for a sequential model; else a graph with shared layers, each call with one to three inputs.
random_graph make_graph(std::mt19937& random, bool sequential) {
  random_graph graph;
  int const input_count = sequential ? 1 : 1 + pick(random, 2);
  int const call_count = input_count + 1 + pick(random, 8);
  for (int i = 0; i < call_count; ++i) {
    sc::tracing::call_info call;
    call.is_input = i < input_count;
    call.first_input = static_cast<int>(graph.inputs.size());
    if (!call.is_input) {
      call.input_count = sequential ? 1 : 1 + pick(random, 3);
      for (int k = 0; k < call.input_count; ++k) graph.inputs.push_back(sequential ? i - 1 : pick(random, i));
    }
    bool const shares =
        !sequential && !call.is_input && static_cast<int>(graph.layers.size()) > input_count && pick(random, 3) == 0;
    if (shares) {
      call.layer = input_count + pick(random, static_cast<int>(graph.layers.size()) - input_count);
    } else {
      call.layer = static_cast<int>(graph.layers.size());
      sc::tracing::layer_info layer;
      layer.first_call = i;
      layer.parameter_count = call.is_input ? 0 : pick(random, 3);
      graph.layers.push_back(layer);
    }
    call.node_index = graph.layers[static_cast<std::size_t>(call.layer)].call_count++;
    graph.calls.push_back(call);
  }
  // What nothing uses is an output.
  for (int i = input_count; i < call_count; ++i)
    if (std::find(graph.inputs.begin(), graph.inputs.end(), i) == graph.inputs.end()) graph.outputs.push_back(i);
  sc::tracing::nested_model_info model;
  model.kind = sequential ? sc::tracing::model_kind::sequential : sc::tracing::model_kind::functional;
  model.output_count = static_cast<int>(graph.outputs.size());
  graph.models.push_back(model);
  auto const order = sc::detail::post_order({graph.calls, graph.inputs, graph.models, {}, graph.outputs}).calls();
  graph.order.assign(order.begin(), order.end());
  return graph;
}

/// What Graphcore's Keras does with an assignment, step by step; the code of the first thing that it refuses.
int oracle(random_graph const& graph, std::vector<int> const& stages, std::vector<int> const& devices) {
  std::vector<int> of_call;  // in the order of the assignment
  for (int const call : graph.order) of_call.push_back(stages[static_cast<std::size_t>(call)]);
  for (int const stage : of_call) {
    if (stage == sc::tracing::unassigned) return 2003;
    if (stage < 0) return 2012;
  }
  if (graph.models[0].kind == sc::tracing::model_kind::sequential) {
    if (of_call.front() != 0) return 2006;
    for (std::size_t i = 1; i < of_call.size(); ++i)
      if (of_call[i] != of_call[i - 1] && of_call[i] != of_call[i - 1] + 1) return 2007;
  }
  // Walk the stages, and inside a stage the list; what a call needs must be there.
  int const last = *std::max_element(of_call.begin(), of_call.end());
  std::set<int> computed;
  for (std::size_t i = 0; i < graph.calls.size(); ++i)
    if (graph.calls[i].is_input) computed.insert(static_cast<int>(i));
  for (int stage = 0; stage <= last; ++stage)
    for (int const call : graph.order) {
      if (stages[static_cast<std::size_t>(call)] != stage) continue;
      for (int const input : graph.inputs_of(call))
        if (computed.count(input) == 0) return 2004;
      computed.insert(call);
    }
  std::set<int> used(of_call.begin(), of_call.end());
  if (graph.models[0].kind != sc::tracing::model_kind::sequential) used.insert(0);  // that of the inputs
  if (static_cast<int>(used.size()) != last + 1) return 2005;
  if (last == 0) return 2008;
  if (!devices.empty() && static_cast<int>(devices.size()) != last + 1) return 2009;
  for (int const device : devices)
    if (device < 0) return 2014;
  auto const device_of = [&](int call) {
    int const stage = stages[static_cast<std::size_t>(call)];
    return devices.empty() ? stage : devices[static_cast<std::size_t>(stage)];
  };
  for (int const a : graph.order)
    for (int const b : graph.order) {
      int const layer = graph.calls[static_cast<std::size_t>(a)].layer;
      if (layer == graph.calls[static_cast<std::size_t>(b)].layer &&
          graph.layers[static_cast<std::size_t>(layer)].parameter_count > 0 && device_of(a) != device_of(b))
        return 2010;
    }
  return 0;
}

/// The longest way from a call to an output's end.
int depth_of(random_graph const& graph, int call) {
  int depth = 0;
  for (int consumer = 0; consumer < static_cast<int>(graph.calls.size()); ++consumer)
    for (int const input : graph.inputs_of(consumer))
      if (input == call) depth = std::max(depth, depth_of(graph, consumer) + 1);
  return depth;
}

}  // namespace

TEST_CASE("random assignments: the rules find what the oracle finds") {
  std::mt19937 random(20240229);
  std::vector<int> found(2100, 0);
  for (int round = 0; round < 60000; ++round) {
    auto const graph = make_graph(random, round % 4 == 0);
    // Some assignments anyhow, most along the calls so that later rules are reached, too.
    int const highest = 1 + pick(random, 3);
    std::vector<int> stages(graph.calls.size(), -1);
    bool const orderly = pick(random, 4) != 0;
    int const count = static_cast<int>(graph.calls.size());
    for (int i = 0; i < count; ++i) {
      if (graph.calls[static_cast<std::size_t>(i)].is_input) continue;
      stages[static_cast<std::size_t>(i)] = orderly ? i * (highest + 1) / count : pick(random, highest + 1);
    }
    if (orderly && pick(random, 2) == 0) {
      // from 0 on, without gaps
      std::set<int> const used(stages.begin(), stages.end());
      for (auto& stage : stages)
        if (stage >= 0) stage = static_cast<int>(std::distance(used.upper_bound(-1), used.find(stage)));
    }
    if (pick(random, 10) == 0)
      stages[static_cast<std::size_t>(
          graph.order[static_cast<std::size_t>(pick(random, static_cast<int>(graph.order.size())))])] =
          pick(random, 2) == 0 ? sc::tracing::unassigned : -1 - pick(random, 3);
    std::vector<int> devices;
    if (pick(random, 2) == 0) {
      int const mapped =
          pick(random, 8) == 0 ? 1 + pick(random, 4) : 1 + *std::max_element(stages.begin(), stages.end());
      for (int i = 0; i < mapped; ++i) devices.push_back(pick(random, 12) == 0 ? -1 : pick(random, 2));
    }
    auto const view = graph.view();
    auto const problem = sc::detail::validate_stages({view, stages, devices, {}});
    int const expected = oracle(graph, stages, devices);
    CAPTURE(round);
    REQUIRE(problem.code == expected);
    ++found[static_cast<std::size_t>(expected)];
  }
  // Every rule has been reached, and so have valid assignments.
  CHECK(found[0] > 1000);
  for (int const code : {2003, 2004, 2005, 2006, 2007, 2008, 2009, 2010, 2012, 2014}) {
    CAPTURE(code);
    CHECK(found[static_cast<std::size_t>(code)] > 50);
  }
}

TEST_CASE("random graphs: calls stand behind what they need, the deepest first") {
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    auto const graph = make_graph(random, false);
    CAPTURE(round);
    std::set<int> seen;
    for (int const call : graph.order) {
      for (int const input : graph.inputs_of(call))
        REQUIRE((graph.calls[static_cast<std::size_t>(input)].is_input || seen.count(input) == 1));
      REQUIRE(seen.insert(call).second);
    }
    std::size_t inputs = 0;
    for (auto const& call : graph.calls) inputs += call.is_input ? 1 : 0;
    REQUIRE(seen.size() + inputs == graph.calls.size());
    bool const shares = std::any_of(graph.layers.begin(), graph.layers.end(),
                                    [](sc::tracing::layer_info const& layer) { return layer.call_count > 1; });
    if (shares) continue;  // a layer's further calls are as deep as its deepest
    for (std::size_t i = 1; i < graph.order.size(); ++i)
      REQUIRE(depth_of(graph, graph.order[i - 1]) >= depth_of(graph, graph.order[i]));
  }
}
