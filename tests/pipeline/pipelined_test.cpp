// SPDX-License-Identifier: BSD-3-Clause
// Assignments as lists, functions and values: get, edit, set, reset; device mappings.
#include "../../examples/models/resnet50.hpp"

#include <stagecraft/pipeline.hpp>
#include <array>
#include <doctest/doctest.h>
#include <string>
#include <vector>

namespace sc = stagecraft;
using sc::detail::stage_problem;
using sc::pipeline::pipelined_model;
using namespace sc::layers;

namespace {

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{256, sc::relu}, dense{128, sc::relu}, dense{10}>;

// Lists.
using two = sc::pipelined<mlp, sc::stages<0, 0, 1, 1>>;
static_assert(sc::Model<two> && sc::is_pipelined<two> && !sc::is_pipelined<mlp>);
static_assert(sc::pipeline_stages<two> == 2 && sc::pipeline_stages<mlp> == 0);
static_assert(sc::stage_of<two, 2> == 0 && sc::stage_of<two, 3> == 1 &&
              sc::stage_of<mlp, 3> == sc::tracing::unassigned);
static_assert(sc::device_of<two, 1> == 1);
static_assert(sc::count_parameters<two>() == sc::count_parameters<mlp>());
static_assert(&sc::graph_of<two>.calls[0] == &sc::graph_of<mlp>.calls[0]);

// Stages in parallel: branches on devices of their own, between a first and a last stage.
struct branches : sc::functional<branches> {
  static constexpr auto build(auto& model) {
    auto const x = dense{8}(model.input(4));
    return dense{2}(add{}(dense{8}(x), dense{8}(x)));
  }
};
template <auto Devices>
using forked = pipelined_model<branches, sc::stages<0, 1, 2, 3, 3>, Devices>;
using in_parallel = forked<sc::device_mapping<0, sc::parallel<2, 1>, 0>>;
static_assert(!stage_problem<in_parallel>.failed() && sc::pipeline_stages<in_parallel> == 4);
static_assert(sc::device_of<in_parallel, 1> == 2 && sc::device_of<in_parallel, 2> == 1 &&
              sc::device_of<in_parallel, 3> == 0);
static_assert(sc::detail::checked_stages<in_parallel>.is_beside(2) &&
              !sc::detail::checked_stages<in_parallel>.is_beside(3));
static_assert(stage_problem<forked<sc::device_mapping<0, sc::parallel<1, 2>>>>.code == 2009, "an entry is missing");
static_assert(stage_problem<forked<sc::device_mapping<0, sc::parallel<1, -2>, 3>>>.code == 2014);
static_assert(stage_problem<forked<sc::device_mapping<0, sc::parallel<1, 1>, 3>>>.code == 2067);
static_assert(stage_problem<forked<sc::device_mapping<sc::parallel<0, 1>, 2, 3>>>.code == 2066,
              "the inputs are in stage 0");
static_assert(stage_problem<forked<sc::device_mapping<0, 1, sc::parallel<2, 3>>>>.code == 2066);
static_assert(stage_problem<forked<sc::device_mapping<0, sc::parallel<1, sc::parallel<2, 3>>>>>.code == 2018,
              "lists are not nested");
static_assert(stage_problem<forked<sc::device_mapping<0, sc::parallel<>, 1, 2, 3>>>.code == 2018);
static_assert(stage_problem<forked<sc::parallel<0, 1>>>.code == 2018);

// Nested models: one entry each, a stage or a list; or all calls written out.
struct nested : sc::functional<nested> {
  static constexpr auto build(auto& model) {
    auto x = model.input(8);
    x = dense{8}(x);
    x = sc::sequential<dense{8}, sc::models::sequential_model<dense{8}, dense{8}>{}>{}(x);
    return dense{2}(x);
  }
};
static_assert(sc::graph_of<nested>.order.size() == 5);
constexpr auto all_stages = []<class M>(std::type_identity<M>) {
  std::array<int, sc::graph_of<M>.order.size()> result{};
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = sc::get_pipeline_stage_assignment<M>()[i].pipeline_stage;
  return result;
};
template <auto Stages>
constexpr auto stages_as = all_stages(std::type_identity<sc::pipelined<nested, Stages>>{});
static_assert(stages_as<sc::stages<0, 1, 1>> == std::array{0, 1, 1, 1, 1});
static_assert(stages_as<sc::stages<0, sc::stages<0, 1>, 2>> == std::array{0, 0, 1, 1, 2});
static_assert(stages_as<sc::stages<0, sc::stages<1, sc::stages<1, 2>>, 3>> == std::array{0, 1, 1, 2, 3});
static_assert(stages_as<sc::stages<0, sc::stages<0, 1, 1>, 2>> == std::array{0, 0, 1, 1, 2});
static_assert(stages_as<sc::stages<0, 1, 2, 3, 4>> == std::array{0, 1, 2, 3, 4});
static_assert(stage_problem<pipelined_model<nested, sc::stages<0, 1, 1, 1>, sc::device_mapping<>>>.code == 2001);
static_assert(
    stage_problem<pipelined_model<nested, sc::stages<0, sc::stages<0, 0, 1, 1>, 1>, sc::device_mapping<>>>.code ==
    2001);
static_assert(stage_problem<pipelined_model<nested, sc::stages<sc::stages<0>, 0, 1>, sc::device_mapping<>>>.code ==
              2001);

// A function edits the present assignment: the ResNet-50 of the guide.
static_assert(sc::pipeline_stages<resnet::two_stages> == 2);
static_assert(sc::calls_of_stage<resnet::two_stages, 0>.size() + sc::calls_of_stage<resnet::two_stages, 1>.size() ==
              176);
static_assert(sc::stage_of<resnet::two_stages, sc::find_call<resnet::resnet50>("conv4_block2_out")> == 1);

// On what an entry knows.
using at_activations = sc::pipelined<mlp, [](auto& assignment) {
  int stage = 0;
  for (auto& call : assignment) {
    call.pipeline_stage = stage;
    if (call.class_name() == "Dense" && call.output_shape() == sc::shape(256)) stage = 1;
  }
}>;
static_assert(sc::stage_of<at_activations, 2> == 0 && sc::stage_of<at_activations, 3> == 1);

// A pipelined model is edited from its own stages on.
using three = sc::pipelined<two, [](auto& assignment) { assignment.back().pipeline_stage = 2; }>;
static_assert(sc::pipeline_stages<three> == 3 && sc::stage_of<three, 3> == 1 && sc::pipeline_stages<two> == 2);

// Get, edit, set: a copy, as a value.
constexpr auto edited = [] {
  auto assignment = sc::get_pipeline_stage_assignment<two>();
  assignment[1].pipeline_stage = 1;
  return assignment;
}();
static_assert(edited[1].layer_name() == "dense" && edited[1].node_index() == 0 && edited[1].class_name() == "Dense");
static_assert(edited[1].inbound_layer_count() == 1 && edited[1].inbound_layer(0) == "flatten");
static_assert(edited[1].nested_model().empty());
using set_again = sc::pipelined<mlp, edited>;

// An assignment is written, too: names of layers, numbers of calls and stages.
using sequential_entry = sc::sequential_layer_pipeline_stage_assignment;
constexpr std::array written{sequential_entry("flatten", 0), sequential_entry("dense", 0),
                             sequential_entry("dense_1", 1), sequential_entry("dense_2", 1)};
using set_by_hand = sc::pipelined<mlp, written>;
static_assert(sc::calls_of_stage<set_by_hand, 1> == sc::calls_of_stage<sc::pipelined<mlp, sc::stages<0, 0, 1, 1>>, 1>);
template <class Entry>
constexpr std::array two_written{Entry("dense", 0, 0), Entry("dense", 1, 1)};
struct calls_twice : sc::functional<calls_twice> {
  static constexpr auto build(auto& model) {
    dense shared{4};
    return shared(shared(model.input(4)));
  }
};
template <auto Assignment, class M = calls_twice>
constexpr int code_of_written =
    sc::detail::stage_problem<pipelined_model<M, Assignment, sc::device_mapping<0, 0>>>.code;
static_assert(code_of_written<two_written<sc::functional_layer_pipeline_stage_assignment>> == 0);
static_assert(code_of_written<two_written<sc::model_layer_pipeline_stage_assignment>> == 2016);
static_assert(code_of_written<std::array{sc::functional_layer_pipeline_stage_assignment("dense", 1, 0),
                                         sc::functional_layer_pipeline_stage_assignment("dense", 0, 1)}> == 2002);
static_assert(code_of_written<std::array{sc::functional_layer_pipeline_stage_assignment("dense", 0, 0),
                                         sc::functional_layer_pipeline_stage_assignment("dense", 1)}> == 2003);
static_assert(sc::stage_of<set_again, 2> == 1 && sc::stage_of<two, 2> == 0);
static_assert(sc::get_pipeline_stage_assignment<mlp>()[0].pipeline_stage == sc::tracing::unassigned);

// An array of numbers.
using of_array = sc::pipelined<mlp, std::array{0, 1, 2, 3}>;
static_assert(sc::pipeline_stages<of_array> == 4);

// Reset.
static_assert(!sc::is_pipelined<sc::unpipelined<three>> && sc::pipeline_stages<sc::unpipelined<three>> == 0);
static_assert(sc::stage_of<sc::unpipelined<three>, 3> == sc::tracing::unassigned);

// Devices.
using mapped = sc::pipelined<mlp, sc::stages<0, 1, 2, 2>, sc::device_mapping<0, 1, 0>>;
static_assert(sc::device_of<mapped, 0> == 0 && sc::device_of<mapped, 1> == 1 && sc::device_of<mapped, 2> == 0);

}  // namespace

TEST_CASE("the assignment of ResNet-50 stands in the order of its layers") {
  auto const assignment = sc::get_pipeline_stage_assignment<resnet::two_stages>();
  REQUIRE(assignment.size() == 176);
  CHECK(assignment.front().layer_name() == "conv1_pad");
  CHECK(assignment.back().layer_name() == "predictions");
  int changes = 0;
  for (std::size_t i = 1; i < assignment.size(); ++i)
    changes += assignment[i].pipeline_stage != assignment[i - 1].pipeline_stage ? 1 : 0;
  CHECK(changes == 1);
}
