// SPDX-License-Identifier: BSD-3-Clause
// Every rule of a stage assignment: its code and its text.
#include <stagecraft/pipeline.hpp>
#include <array>
#include <doctest/doctest.h>

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

template <class M, auto Assignment, auto Devices = sc::device_mapping<>>
constexpr auto const& problem_of = sc::detail::stage_problem<sc::pipeline::pipelined_model<M, Assignment, Devices>>;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{256}, dense{128}, dense{10}>;

struct branched : sc::functional<branched> {
  static constexpr auto build(auto& model) {
    auto x = model.input(8);
    auto trunk = dense{8, {.name = "trunk"}}(x);
    dense shared{8, {.name = "shared"}};
    activation both{sc::relu};
    auto left = both(shared(trunk));
    auto right = both(shared(dense{8, {.name = "before"}}(trunk)));
    return add{}.named("join")(left, right);
  }
};
// trunk, before, shared, shared, activation, activation, join

static_assert(!problem_of<mlp, sc::stages<0, 0, 1, 1>>.failed());
static_assert(!problem_of<mlp, sc::stages<0, 1, 2, 3>>.failed());

// E2001: the length.
static_assert(
    problem_of<mlp, sc::stages<0, 1, 1>>.text ==
    "the stage assignment of model 'sequential' has 3 entries, but 4 layers need one (inputs are not counted) "
    "[E2001]");
static_assert(problem_of<mlp, sc::stages<0, 0, 1, 1, 1>>.code == 2001);
static_assert(problem_of<mlp, sc::stages<>>.code == 2001);
static_assert(
    problem_of<mlp, std::array{0, 1}>.text ==
    "the stage assignment of model 'sequential' has 2 entries, but 4 calls of layers need one (inputs are not "
    "counted) [E2001]");
static_assert(
    problem_of<branched, sc::stages<0, 1>>.text ==
    "the stage assignment of model 'model' has 2 entries, but 7 calls of layers need one (inputs are not counted) "
    "[E2001]");

// E2002: the order.
constexpr auto swapped = [] {
  auto assignment = sc::get_pipeline_stage_assignment<sc::pipelined<mlp, sc::stages<0, 0, 1, 1>>>();
  auto const first = assignment[0];
  assignment[0] = assignment[1];
  assignment[1] = first;
  return assignment;
}();
static_assert(
    problem_of<mlp, swapped>.text ==
    "entry 0 of the stage assignment is for layer 'dense' (node index 0), but in this model layer 'flatten' (node "
    "index 0) stands there; an assignment has the model's post-order [E2002]");

// E2057: an entry of no model.
constexpr auto empties_one = [](auto& assignment) { assignment[2] = {}; };
static_assert(problem_of<mlp, empties_one>.text ==
              "entry 2 of the stage assignment of model 'sequential' is empty; an assignment is got from a model, "
              "get_pipeline_stage_assignment<model>(), and only pipeline_stage is changed in it [E2057]");
static_assert(problem_of<mlp, std::array<sc::layer_pipeline_stage_assignment, 4>{}>.code == 2057);

// E2003: all calls.
constexpr auto forgets_last = [](auto& assignment) {
  for (std::size_t i = 0; i + 1 < assignment.size(); ++i) assignment[i].pipeline_stage = i < 2 ? 0 : 1;
};
static_assert(problem_of<mlp, forgets_last>.text ==
              "layer 'dense_2' (node index 0) has no pipeline stage; all layers of a pipelined model need one [E2003]");
static_assert(problem_of<mlp, [](auto&) {}>.code == 2003);

// E2012: not negative.
static_assert(problem_of<mlp, sc::stages<0, -2, 0, 1>>.text ==
              "layer 'dense' is assigned to pipeline stage -2; stages are numbered from 0 [E2012]");
static_assert(problem_of<mlp, sc::stages<0, -1, 0, 1>>.text ==
              "layer 'dense' is assigned to pipeline stage -1; stages are numbered from 0 [E2012]");
static_assert(problem_of<mlp, sc::stages<0, -1000001, 0, -1000002>>.code == 2012);

// E2004: no output of a later stage.
constexpr auto join_too_early = [](auto& assignment) {
  for (auto& call : assignment) call.pipeline_stage = call.layer_name() == "before" ? 1 : 0;
};
static_assert(problem_of<branched, join_too_early>.text ==
              "layer 'shared' in pipeline stage 0 uses the output of layer 'before' in stage 1; a layer can only use "
              "outputs of its own or previous stages [E2004]");

// E2005: none left out. A far stage is said at once.
constexpr auto leaves_out = [](auto& assignment) {
  for (auto& call : assignment) call.pipeline_stage = call.layer_name() == "join" ? 2 : 0;
};
static_assert(problem_of<branched, leaves_out>.text ==
              "no layer is assigned to pipeline stage 1, but the highest stage is 2; stages leave none out [E2005]");
constexpr auto leaves_out_more = [](auto& assignment) {
  for (auto& call : assignment) call.pipeline_stage = call.layer_name() == "join" ? 5 : 2;
};
static_assert(problem_of<branched, leaves_out_more>.text ==
              "no layer is assigned to pipeline stages 1, 3 and 4, but the highest stage is 5; stages leave none out "
              "[E2005]");
// A functional model's inputs are in stage 0, perhaps alone.
constexpr auto begins_at_1 = [](auto& assignment) {
  for (auto& call : assignment) call.pipeline_stage = call.layer_name() == "join" ? 2 : 1;
};
static_assert(!problem_of<branched, begins_at_1>.failed());
constexpr auto far_away = [](auto& assignment) {
  for (auto& call : assignment) call.pipeline_stage = call.layer_name() == "join" ? 2147483647 : 0;
};
static_assert(problem_of<branched, far_away>.text ==
              "no layer is assigned to pipeline stages 1, 2, 3, 4, 5, 6, 7, 8 and more, but the highest stage is "
              "2147483647; stages leave none out [E2005]");

// E2006 and E2007: a sequential model's stages follow each other.
static_assert(
    problem_of<mlp, sc::stages<1, 1, 2, 2>>.text ==
    "the first layer 'flatten' is assigned to pipeline stage 1; a sequential model begins in stage 0 [E2006]");
static_assert(
    problem_of<mlp, sc::stages<0, 2, 2, 2>>.text ==
    "layer 'dense' is assigned to pipeline stage 2, but layer 'flatten' before it to stage 0; in a sequential "
    "model each layer is in the same stage or in the next [E2007]");
static_assert(problem_of<mlp, sc::stages<0, 1, 0, 1>>.code == 2007);
static_assert(problem_of<mlp, sc::stages<0, 2147483647, 0, 1>>.code == 2007);
// With nested models, the rules of graphs are asked.
using with_nested = sc::sequential<input{4}, dense{4}, sc::models::sequential_model<dense{4}, dense{4}>{}, dense{4}>;
static_assert(problem_of<with_nested, sc::stages<0, 2, 2>>.code == 2005);
static_assert(problem_of<with_nested, sc::stages<0, sc::stages<1, 0>, 1>>.code == 2004);

// E2008: at least two.
static_assert(problem_of<mlp, sc::stages<0, 0, 0, 0>>.text ==
              "all layers are in pipeline stage 0; a pipeline has at least two stages [E2008]");

// E2009, E2014: devices.
static_assert(problem_of<mlp, sc::stages<0, 0, 1, 1>, sc::device_mapping<0, 1, 0>>.text ==
              "the device mapping has 3 entries, but the model has 2 pipeline stages; each stage is mapped to a device "
              "[E2009]");
static_assert(problem_of<mlp, sc::stages<0, 0, 1, 1>, sc::device_mapping<0>>.code == 2009);
static_assert(problem_of<mlp, sc::stages<0, 0, 1, 1>, sc::device_mapping<0, -1>>.text ==
              "the device mapping contains device -1; devices are numbered from 0 [E2014]");
static_assert(!problem_of<mlp, sc::stages<0, 0, 1, 1>, sc::device_mapping<0, 0>>.failed());

// E2018: numbers.
static_assert(problem_of<mlp, sc::stages<0, 0, 1, 1>, sc::device_mapping<0, 1.0>>.text ==
              "the device mapping has an entry of type 'double'; write sc::device_mapping<0, 1, 0>, with one whole "
              "number for each stage [E2018]");
static_assert(!problem_of<mlp, sc::stages<0, 0, 1, 1>, sc::device_mapping<0U, 1L>>.failed());

// E2010: shared weights on one device; an activation without weights may be anywhere.
constexpr auto right_later = [](auto& assignment) {
  for (auto& call : assignment)
    call.pipeline_stage =
        call.layer_name() == "join" || call.layer_name() == "before" || call.node_index() == 1 ? 1 : 0;
};
static_assert(
    problem_of<branched, right_later>.text ==
    "layer 'shared' is called in pipeline stages 0 and 1, which are on devices 0 and 1; calls that share weights "
    "need their stages on one device, see device_mapping [E2010]");
static_assert(!problem_of<branched, right_later, sc::device_mapping<1, 1>>.failed());
constexpr auto shared_in_one = [](auto& assignment) {
  for (auto& call : assignment)
    call.pipeline_stage = call.layer_name() == "join" || call.class_name() == "Activation" ? call.node_index() : 0;
  assignment.back().pipeline_stage = 1;
};
static_assert(!problem_of<branched, shared_in_one>.failed());

// E2013: a stage of an entry, which its list of stages would contradict.
static_assert(
    sc::detail::frozen_graph<sc::models::sequential_model<input{4}, dense{4}.in_pipeline_stage(0)>>.problem.code ==
    2013);

}  // namespace

TEST_CASE("the first broken rule is the one that is reported") {
  // too short, and begins at 1
  CHECK(problem_of<mlp, sc::stages<1, 1>>.code == 2001);
  // a stage left out, and a wrong device mapping
  CHECK(problem_of<branched, leaves_out, sc::device_mapping<0>>.code == 2005);
}
