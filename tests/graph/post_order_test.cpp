// SPDX-License-Identifier: BSD-3-Clause
// Calls are ordered, and layers are listed, as real Keras does (tests/golden/depth_order.txt).
#include "../golden/golden.hpp"

#include <stagecraft/pipeline.hpp>
#include <doctest/doctest.h>
#include <string>
#include <vector>

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

/// A graph made of vectors, as the golden file describes it.
struct described_graph {
  std::vector<sc::tracing::call_info> calls;
  std::vector<int> inputs;
  std::vector<sc::tracing::nested_model_info> models;
  std::vector<int> outputs;

  described_graph(golden::file const& file, std::string const& name)
      : inputs(file[name + "/inputs"].integers()), models(1), outputs(file[name + "/outputs"].integers()) {
    auto const layers = file[name + "/layers"].integers();
    auto const counts = file[name + "/input_counts"].integers();
    int first = 0;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      sc::tracing::call_info call;
      call.layer = layers[i];
      call.first_input = first;
      call.input_count = counts[i];
      call.is_input = counts[i] == 0;
      first += counts[i];
      calls.push_back(call);
    }
    models[0].output_count = static_cast<int>(outputs.size());
    drop_unneeded();
  }

  [[nodiscard]] sc::detail::post_order order() const {
    return sc::detail::post_order({calls, inputs, models, {}, outputs});
  }
  /// The golden file's number of a call.
  std::vector<int> number;

 private:
  void drop_unneeded() {
    std::vector<int> place(calls.size(), -1);
    for (int const output : outputs) place[static_cast<std::size_t>(output)] = 0;
    for (std::size_t i = calls.size(); i-- > 0;) {
      if (calls[i].is_input) place[i] = 0;
      if (place[i] < 0) continue;
      for (int k = 0; k < calls[i].input_count; ++k)
        place[static_cast<std::size_t>(inputs[static_cast<std::size_t>(calls[i].first_input + k)])] = 0;
    }
    std::vector<sc::tracing::call_info> kept;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (place[i] < 0) continue;
      place[i] = static_cast<int>(kept.size());
      number.push_back(static_cast<int>(i));
      kept.push_back(calls[i]);
    }
    calls = kept;
    for (auto& input : inputs) input = place[static_cast<std::size_t>(input)];
    for (auto& output : outputs) output = place[static_cast<std::size_t>(output)];
  }
};

struct heads : sc::functional<heads> {
  static constexpr auto build(auto& model) {
    auto x = dense{2, {.name = "trunk"}}(model.input(2));
    auto first = dense{2, {.name = "first"}}(x);
    auto second = dense{2, {.name = "second"}}(x);
    return sc::outputs(first, second);
  }
};
// Keras's search meets the last output first.
static_assert(sc::graph_of<heads>.order.size() == 3);
static_assert(sc::graph_of<heads>.layer_of(sc::graph_of<heads>.order[0]).name == "trunk");
static_assert(sc::graph_of<heads>.layer_of(sc::graph_of<heads>.order[1]).name == "second");
static_assert(sc::graph_of<heads>.layer_of(sc::graph_of<heads>.order[2]).name == "first");

struct inner : sc::functional<inner> {
  static constexpr auto build(auto& model) {
    auto x = model.input(2);
    return dense{2, {.name = "inner_2"}}(dense{2, {.name = "inner_1"}}(x));
  }
};
struct outer : sc::functional<outer> {
  static constexpr auto build(auto& model) {
    auto x = model.input(2);
    auto long_way = dense{2, {.name = "way_2"}}(dense{2, {.name = "way_1"}}(x));
    auto nested = inner{}(x);
    return add{}(nested, long_way);
  }
};
}  // namespace

TEST_CASE("calls stand in the order of Keras") {
  auto const file = golden::read("depth_order.txt");
  int cases = 0;
  for (auto const& key : file.names()) {
    auto const end = key.find("/order");
    if (end == std::string::npos) continue;
    auto const name = key.substr(0, end);
    CAPTURE(name);
    described_graph const graph(file, name);
    std::vector<int> calls;
    for (int const call : graph.order().calls()) calls.push_back(graph.number[static_cast<std::size_t>(call)]);
    CHECK(calls == file[key].integers());
    std::vector<int> layers;
    for (int const call : graph.order().layers(0)) layers.push_back(graph.calls[static_cast<std::size_t>(call)].layer);
    CHECK(layers == file[name + "/layer_order"].integers());
    ++cases;
  }
  CHECK(cases == 42);
}

// Its two calls stay together, though its second one is as deep as the end of the other way.
TEST_CASE("a nested model is one node of its outer model") {
  std::vector<std::string> order;
  for (int const call : sc::graph_of<outer>.order) order.emplace_back(sc::graph_of<outer>.layer_of(call).name.view());
  CHECK(order == std::vector<std::string>{"way_1", "inner_1", "inner_2", "way_2", "add"});
}
