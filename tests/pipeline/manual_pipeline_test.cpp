// SPDX-License-Identifier: BSD-3-Clause
// Stages by patterns of names: which pattern counts, devices, several patterns, what is done with the result; errors.
// Stages by solution files, which are made of these.
#include "../../examples/models/resnet50.hpp"

#include <stagecraft/pipeline/manual_pipeline.hpp>
#include <stagecraft/pipeline/pipeline_sequential.hpp>
#include <stagecraft/pipeline/solution_file.hpp>
#include <array>
#include <cstddef>
#include <doctest/doctest.h>
#include <string_view>

namespace sc = stagecraft;
using sc::detail::stage_problem;
using sc::pipeline::pipelined_model;
using namespace sc::layers;

namespace {

template <class M>
constexpr int stage_at(std::string_view layer, int node_index = 0) {
  int const call = sc::find_call<M>(layer, node_index);
  return sc::detail::checked_stages<M>.stage(call);
}

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{256, sc::relu}, dense{128, sc::relu}, dense{10}>;

// The stages are those of a list.
using two = sc::manual_pipeline<mlp, "flatten|dense$", "dense_[12]">;
using by_list = sc::pipelined<mlp, sc::stages<0, 0, 1, 1>>;
static_assert(sc::Model<two> && sc::is_pipelined<two> && sc::pipeline_stages<two> == 2);
static_assert(sc::calls_of_stage<two, 0> == sc::calls_of_stage<by_list, 0>);
static_assert(sc::calls_of_stage<two, 1> == sc::calls_of_stage<by_list, 1>);

// The last pattern that matches counts, and a pattern need not match all of a name.
using rest_first = sc::manual_pipeline<mlp, ".*", "dense_1$", "dense_2">;
static_assert(sc::pipeline_stages<rest_first> == 3);
static_assert(stage_at<rest_first>("dense") == 0 && stage_at<rest_first>("dense_1") == 1 &&
              stage_at<rest_first>("dense_2") == 2);
using overlapping = sc::manual_pipeline<mlp, "f", "d", "dense_1", "dense_2">;
static_assert(stage_at<overlapping>("dense") == 1 && stage_at<overlapping>("dense_2") == 3);

// Several patterns of a stage; the device of each.
using mapped = sc::manual_pipeline<mlp, sc::name_patterns<"flatten", "dense$">, "dense_1", sc::name_patterns<"dense_2">,
                                   sc::device_mapping<0, 1, 0>>;
static_assert(sc::pipeline_stages<mapped> == 3 && sc::device_of<mapped, 1> == 1 && sc::device_of<mapped, 2> == 0);
static_assert(sc::device_of<rest_first, 2> == 2);

// Layers that no pattern matches are where they are told to be, in any stage, before or after a device mapping.
using others_first = sc::manual_pipeline<mlp, "flatten", "dense_[12]", sc::unmatched_in_stage<0>>;
static_assert(sc::pipeline_stages<others_first> == 2 && stage_at<others_first>("dense") == 0 &&
              stage_at<others_first>("dense_1") == 1);
using others_last = sc::manual_pipeline<mlp, "flatten|dense$", sc::device_mapping<0, 0>, sc::unmatched_in_stage<1>>;
static_assert(sc::pipeline_stages<others_last> == 2 && stage_at<others_last>("dense_2") == 1 &&
              sc::device_of<others_last, 1> == 0);
using third = sc::manual_pipeline<mlp, "flatten", "dense", sc::unmatched_in_stage<2>, sc::device_mapping<1, 0>>;
static_assert(sc::device_of<third, 0> == 1 && sc::device_of<third, 1> == 0);

// The result is an assignment: got, edited and set again; edited in place; reset; staged anew.
constexpr auto edited = [] {
  auto assignment = sc::get_pipeline_stage_assignment<two>();
  assignment[1].pipeline_stage = 1;
  return assignment;
}();
static_assert(edited[0].pipeline_stage == 0 && edited[2].pipeline_stage == 1);
static_assert(stage_at<sc::pipelined<mlp, edited>>("dense") == 1 && stage_at<two>("dense") == 0);
using three = sc::pipelined<two, [](auto& assignment) { assignment.back().pipeline_stage = 2; }>;
static_assert(sc::pipeline_stages<three> == 3);
static_assert(!sc::is_pipelined<sc::unpipelined<two>>);
static_assert(sc::pipeline_stages<sc::manual_pipeline<three, ".*", "dense_2">> == 2);

// Stages that are written as lists of layers: a nested model is one of these.
using nested_head = sc::models::sequential_model<dense{4}, dense{2}>;
using by_lists = sc::pipeline_sequential<sc::stage{input{8}, dense{8}}, sc::stage{dense{4}, nested_head{}},
                                         sc::stage{dense{3}}, sc::device_mapping<0, 1, 0>>;
static_assert(sc::pipeline_stages<by_lists> == 3 && sc::device_of<by_lists, 2> == 0);
static_assert(sc::calls_of_stage<by_lists, 1>.size() == 3 && stage_at<by_lists>("dense_1") == 1);
static_assert(sc::detail::problem_of_stage_lists<sc::stage{dense{1}}, sc::device_mapping<0>, sc::stage{}>.code == 2081);
static_assert(sc::detail::problem_of_stage_lists<>.code == 2081);

// Calls of one layer are in one stage.
struct shared : sc::functional<shared> {
  static constexpr auto build(auto& model) {
    auto const x = model.input(8);
    auto twice = dense{8}.named("twice");
    return dense{2}.named("head")(twice(twice(x)));
  }
};
using of_shared = sc::manual_pipeline<shared, "twice", "head">;
static_assert(stage_at<of_shared>("twice", 0) == 0 && stage_at<of_shared>("twice", 1) == 0);

// ResNet-50, as in the tool's own example.
using resnet_stages =
    sc::manual_pipeline<resnet::resnet50, "^(conv1|pool1|conv2)_", "^conv3_", "^conv4_.*", "^(conv5_|avg_pool$|pred)">;
static_assert(sc::pipeline_stages<resnet_stages> == 4);
static_assert(stage_at<resnet_stages>("pool1_pool") == 0 && stage_at<resnet_stages>("conv3_block1_0_conv") == 1 &&
              stage_at<resnet_stages>("conv4_block6_out") == 2 && stage_at<resnet_stages>("predictions") == 3);

// Errors.
template <class M, sc::detail::stage_argument... Argument>
constexpr int code_of =
    stage_problem<pipelined_model<M, sc::detail::stages_by_name<Argument...>{}, sc::device_mapping<>>>.code;
static_assert(code_of<mlp, ".*", "dense_1", "dense_2"> == 0);
static_assert(code_of<mlp, "flatten", "dense_"> == 2050);
static_assert(code_of<mlp, ".*", "conv1"> == 2051);
static_assert(code_of<mlp, ".*", "ense"> == 2051);
static_assert(code_of<mlp, ".*", sc::name_patterns<"dense_1", "dense_3">> == 2051);
static_assert(code_of<mlp, ".*", "dense_[12"> == 2052);
static_assert(code_of<mlp> == 2053);
static_assert(code_of<mlp, ".*", 1> == 2053);
static_assert(code_of<mlp, ".*", sc::name_patterns<>> == 2053);
static_assert(code_of<mlp, ".*", sc::device_mapping<0, 0>, "dense_2"> == 2053);
static_assert(code_of<mlp, sc::device_mapping<0, 0>> == 2053);
static_assert(code_of<mlp, sc::unmatched_in_stage<0>> == 2053);
static_assert(code_of<mlp, "flatten", sc::unmatched_in_stage<0>, "dense_[12]"> == 2053);
static_assert(code_of<mlp, "flatten", "dense_[12]", sc::unmatched_in_stage<3>> == 2007);
// Those of any assignment.
static_assert(code_of<resnet::resnet50, "conv[45]_", "(conv[1-3]|pool1|avg_pool|pred)"> == 2004);
static_assert(code_of<mlp, ".*", "dense_", "dense_1", "dense_2"> == 2005);
static_assert(code_of<mlp, "dense_2", "flatten|dense$|dense_1"> == 2006);
static_assert(code_of<mlp, ".*"> == 2008);

// Solution files.
template <auto const& Text, class M = mlp,
          auto Devices = sc::detail::devices_with<sc::detail::stages_of_solution<Text>>>
constexpr int code_of_file = stage_problem<pipelined_model<M, sc::pipeline::solution_file<Text>, Devices>>.code;

inline constexpr char in_any_order[] = R"(/* of a tool */ {"pipeline_mapping":
  {"dense_2": 1, "dense" : 0, "dense_1": 1, // the others
   "flatten": 0, "input_1": 0}, "device_maping": [ 1,0 ]}
)";
using of_file = sc::pipelined<mlp, sc::pipeline::solution_file<in_any_order>>;
static_assert(sc::calls_of_stage<of_file, 0> == sc::calls_of_stage<two, 0>);
static_assert(sc::device_of<of_file, 0> == 1 && sc::device_of<of_file, 1> == 0);
using elsewhere = sc::pipelined<mlp, sc::pipeline::solution_file<in_any_order>, sc::device_mapping<0, 0>>;
static_assert(sc::device_of<elsewhere, 0> == 0);

struct nested : sc::functional<nested> {
  static constexpr auto build(auto& model) {
    auto x = nested_head{}(model.input(8));
    auto again = re_lu{}.named("again");
    return again(dense{2}(again(x)));
  }
};
inline constexpr char of_nested[] = R"({"pipeline_mapping": {"sequential/dense": 0, "sequential/dense_1": 1, "again": 1,
                                                            "again[1]": 2, "dense_2": 1}})";
using nested_stages = sc::pipelined<nested, sc::pipeline::solution_file<of_nested>>;
static_assert(sc::pipeline_stages<nested_stages> == 3 && sc::device_of<nested_stages, 2> == 2);
static_assert(sc::calls_of_stage<nested_stages, 1>.size() == 3 && stage_at<nested_stages>("again", 1) == 2);

inline constexpr char with_one_more[] =
    R"({"pipeline_mapping": {"flatten": 0, "dense": 0, "dense_1": 0, "dense_2": 2}})";
inline constexpr char on_no_ipu[] = R"({"pipeline_mapping": {"flatten": 0, "dense": -1, "dense_1": 0, "dense_2": 1}})";
inline constexpr char too_large[] = R"({"pipeline_mapping": {"flatten": 0, "dense": 99999999999999999999}})";
inline constexpr char unclosed[] = "{\"pipeline_mapping\": {}} /* and";
inline constexpr char escaped[] = R"({"pipeline_mapping": {"de\u006ese": 0}})";
inline constexpr char one_device[] = R"({"pipeline_mapping": {"flatten": 0, "dense": 0, "dense_1": 0, "dense_2": 1},
                                         "device_mapping": [0]})";
inline constexpr char negative_device[] =
    R"({"pipeline_mapping": {"flatten": 0, "dense": 0, "dense_1": 0, "dense_2": 1},
                                              "device_mapping": [0, -1]})";
inline constexpr char of_no_call[] = R"({"pipeline_mapping": {"dense[1]": 0}})";
inline constexpr char empty_text[] = "";
inline constexpr char twice_a_key[] = R"({"device_maping": [], "device_mapping": []})";
inline constexpr int no_text = 1;
static_assert(code_of_file<with_one_more> == 2007 && code_of_file<on_no_ipu> == 3043);
static_assert(code_of_file<too_large> == 3041 && code_of_file<unclosed> == 3040 && code_of_file<escaped> == 3040);
static_assert(code_of_file<one_device> == 3044 && code_of_file<negative_device> == 2014);
static_assert(code_of_file<of_no_call> == 3042 && code_of_file<in_any_order, resnet::resnet50> == 3042);
static_assert(code_of_file<empty_text> == 3040 && code_of_file<twice_a_key> == 3041 && code_of_file<no_text> == 3041);

/// A solution file of the stages of ResNet-50, in the model's order, or from its end.
template <bool Backwards>
constexpr auto resnet_text = [] {
  sc::fixed_text<8192> text("{\"pipeline_mapping\": {");
  auto const assignment = sc::get_pipeline_stage_assignment<resnet_stages>();
  for (std::size_t i = 0; i < assignment.size(); ++i) {
    auto const& call = assignment[Backwards ? assignment.size() - 1 - i : i];
    text.append(i == 0 ? "\"" : ",\n \"").append(call.layer_name()).append("\": ").append(call.pipeline_stage);
  }
  return text.append("},\n\"device_mapping\": [0, 1, 2, 3]}");
}();
static_assert(sc::calls_of_stage<sc::pipelined<resnet::resnet50, sc::pipeline::solution_file<resnet_text<false>>>, 2> ==
              sc::calls_of_stage<resnet_stages, 2>);
static_assert(sc::calls_of_stage<sc::pipelined<resnet::resnet50, sc::pipeline::solution_file<resnet_text<true>>>, 1> ==
              sc::calls_of_stage<resnet_stages, 1>);

}  // namespace

TEST_CASE("stages by name of ResNet-50 are those that a loop over its calls gives") {
  auto const assignment = sc::get_pipeline_stage_assignment<resnet_stages>();
  REQUIRE(assignment.size() == 176);
  for (auto const& call : assignment) {
    auto const name = call.layer_name();
    int const expected = name.starts_with("conv3_")                                                  ? 1
                         : name.starts_with("conv4_")                                                ? 2
                         : name.starts_with("conv5_") || name == "avg_pool" || name == "predictions" ? 3
                                                                                                     : 0;
    CAPTURE(name);
    CHECK(call.pipeline_stage == expected);
  }
}

TEST_CASE("messages show the pattern, the stage and the layer") {
  auto const text = [](auto const& problem) { return problem.text.view(); };
  using unmatched = pipelined_model<mlp, sc::detail::stages_by_name<"flatten", "dense_">{}, sc::device_mapping<>>;
  CHECK(text(stage_problem<unmatched>) ==
        "layer 'dense' is matched by no pattern of manual_pipeline; each layer needs a stage "
        "(sc::unmatched_in_stage<0>, after the patterns, is that of all others) [E2050]");
  using unread = pipelined_model<mlp, sc::detail::stages_by_name<".*", "dense_[12">{}, sc::device_mapping<>>;
  CHECK(text(stage_problem<unread>) ==
        "the pattern 'dense_[12' of pipeline stage 1 cannot be read as a regular expression: a '[' has no ']' "
        "(character 7) [E2052]");
  using empty =
      pipelined_model<mlp, sc::detail::stages_by_name<".*", "dense_", "dense_1", "dense_2">{}, sc::device_mapping<>>;
  CHECK(text(stage_problem<empty>) ==
        "no layer is left in pipeline stage 1: what its pattern 'dense_' matches, later patterns match, too, such as "
        "layer 'dense_1', which is in stage 2; the last pattern that matches counts [E2005]");

  using twice_sent = pipelined_model<mlp, sc::pipeline::solution_file<too_large>, sc::device_mapping<>>;
  CHECK(text(stage_problem<twice_sent>) ==
        "the solution file has '99999999999999999999' as the stage of layer 'dense'; it is a whole number [E3041]");
}
