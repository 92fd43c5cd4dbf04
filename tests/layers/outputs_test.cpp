// SPDX-License-Identifier: BSD-3-Clause
// Layers with several outputs, one of the program's own among them: what models, stages and summaries see of them.
#include <stagecraft/layers/layers.hpp>
#include <stagecraft/models/functional.hpp>
#include <stagecraft/models/queries.hpp>
#include <stagecraft/models/summary.hpp>
#include <stagecraft/pipeline/even_pipeline.hpp>
#include <stagecraft/pipeline/pipelined.hpp>
#include <stagecraft/pipeline/summary.hpp>
#include <doctest/doctest.h>
#include <type_traits>

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

/// The sum of both inputs, and their difference.
struct sum_and_difference : sc::layer<sum_and_difference> {
  static constexpr std::string_view class_name = "SumAndDifference";
  static constexpr int most_outputs = 2;
  [[nodiscard]] static constexpr int output_count() { return 2; }
  constexpr auto call(auto& ops, auto a, auto b) const { return ops.outputs({a + b, a - b}); }
};

struct translator : sc::functional<translator> {
  static constexpr auto build(auto& model) {
    auto source = model.input(4, 3), target = model.input(5, 3);
    auto [code, h, c] = lstm(6, {.return_state = true})(source);
    auto x = lstm(6, {.return_sequences = true, .return_state = true})(target, h, c);
    x = dense(6)(x);  // as if it gave one
    auto [sum, difference] = sum_and_difference{}(x, x);
    return sc::outputs(dense(3)(sum), difference, h);
  }
};

constexpr auto const& graph = sc::graph_of<translator>;
static_assert(graph.order.size() == 5, "two inputs and what stands for outputs need no stage");
static_assert(graph.calls.size() == 2 + (1 + 2) + (1 + 1) + 1 + (1 + 2) + 1, "outputs that nothing needs are dropped");

// The outputs are behind their call, have its name, and are parts of it.
static_assert(graph.call(2).output_count == 3 && graph.call(2).shape == sc::shape(18));
static_assert(graph.call(3).output_index == 1 && graph.call(3).shape == sc::shape(6) && graph.producer(4) == 2);
static_assert(graph.layer_of(3).name == "lstm" && sc::find_call<translator>("lstm") == 2);
static_assert(graph.call(5).output_count == 3 && graph.call(5).shape == sc::shape(5 * 6 + 6 + 6));
static_assert(graph.call(6).shape == sc::shape(5, 6) && graph.inputs_of(7)[0] == 6);
static_assert(sc::layer_of<translator, 4>.first == 12);

// Keras's names of outputs; summaries as Keras has them.
static_assert(sc::models::output_names<translator>[0] == "dense_1" &&
              sc::models::output_names<translator>[1] == "sum_and_difference");
static_assert(sc::models::output_names<translator>[2] == "lstm");
static_assert(sc::models::summary_rows<translator>.size() == 7);
static_assert(sc::models::summary_rows<translator>[2].output_shapes.size() == 3);
static_assert(sc::models::summary_rows<translator>[3].connected_to[2].name == "lstm");
static_assert(sc::models::summary_rows<translator>[3].connected_to[2].tensor_index == 2);

// A stage is that of the call; assignments have no entries for outputs.
using staged = sc::pipelined<translator, sc::stages<0, 1, 1, 2, 2>>;
static_assert(sc::stage_of<staged, 3> == 0 && sc::stage_of<staged, 6> == 1);
static_assert(sc::get_pipeline_stage_assignment<staged>().size() == 5);
static_assert(sc::pipeline::pipeline_summary_rows<staged>[1].input_layers[1] == "lstm");
static_assert(sc::pipeline_stages<sc::even_pipeline<translator, 2>> == 2);

// Called inside another model, twice.
struct twice : sc::functional<twice> {
  static constexpr auto build(auto& model) {
    auto a = model.input(4, 3), b = model.input(5, 3);
    staged inner;
    auto [y, z, h] = inner(a, b);
    auto [y2, z2, h2] = inner(a, b);
    return sc::outputs(y2, z, h2);
  }
};
static_assert(sc::graph_of<twice>.layers.size() == sc::graph_of<translator>.layers.size());
static_assert(sc::pipeline_stages<twice> == 3);

// Both directions merged: one output, then the states of each.
struct merged : sc::functional<merged> {
  static constexpr auto build(auto& model) {
    auto [y, h, c, h_backward, c_backward] = bidirectional(lstm(2, {.return_state = true}))(model.input(4, 3));
    return sc::outputs(y, h, c, h_backward, c_backward);
  }
};
static_assert(sc::graph_of<merged>.call(1).output_count == 5);

// Both directions apart: two outputs with the mask, then states without.
struct apart : sc::functional<apart> {
  static constexpr auto build(auto& model) {
    auto x = embedding(9, 3, {.mask_zero = true})(model.input(4));
    bidirectional both(gru(2, {.return_sequences = true, .return_state = true}), {.merge_mode = merge_mode::none});
    auto y = both(x);
    return sc::outputs(y.all[0], y.all[1], y.all[2], y.all[3]);
  }
};
constexpr auto const& of_apart = sc::graph_of<apart>;
static_assert(of_apart.call(2).output_count == 4 && of_apart.call(3).shape == sc::shape(4, 2));
static_assert(of_apart.call(4).shape == sc::shape(4, 2) && of_apart.call(6).shape == sc::shape(2));
static_assert(of_apart.mask_of(3) != nullptr && of_apart.mask_of(4) != nullptr && of_apart.mask_of(5) == nullptr);

TEST_CASE("outputs of a layer") {}

}  // namespace
