// SPDX-License-Identifier: BSD-3-Clause
// Summaries of stage assignments are laid out as in Graphcore's Keras, to the letter; their rows are constants.
#include "../golden/golden.hpp"
#include "../models/golden_models.hpp"

#include <stagecraft/pipeline/summary.hpp>
#include <doctest/doctest.h>
#include <string>

using namespace golden_models;

namespace {

template <class M>
std::string stages_of(int line_length = 0) {
  std::string text;
  sc::print_pipeline_stage_assignment_summary<M>(
      {.line_length = line_length, .print_fn = [&](std::string_view line) { text.append(line) += '\n'; }});
  return text;
}

using staged_mlp = sc::pipelined<mlp, sc::stages<0, 0, 1, 1>>;
using staged_branches = sc::pipelined<branches, sc::stages<0, 0, 0, 1, 1, 1, 2>, sc::device_mapping<0, 1, 2>>;
using staged_nested =
    sc::pipelined<nested, sc::stages<0, sc::stages<0, 0>, 1, sc::stages<1, 2>, 2, 3>, sc::device_mapping<0, 0, 1, 1>>;

static_assert(sc::pipeline::pipeline_summary_rows<staged_mlp>.size() == 4);
static_assert(sc::pipeline::pipeline_summary_rows<staged_mlp>[2].name == "dense_1");
static_assert(sc::pipeline::pipeline_summary_rows<staged_mlp>[2].class_name == "Dense");
static_assert(sc::pipeline::pipeline_summary_rows<staged_mlp>[2].pipeline_stage == 1);
static_assert(sc::pipeline::pipeline_summary_rows<mlp>[2].pipeline_stage == sc::tracing::unassigned);
static_assert(sc::pipeline::pipeline_summary_rows<staged_branches>[1].node_index == 1);
static_assert(sc::pipeline::pipeline_summary_rows<staged_branches>[4].input_layers.size() == 3);
static_assert(sc::pipeline::pipeline_summary_rows<staged_nested>[1].nested_model_name == "block");
static_assert(sc::pipeline::pipeline_summary_rows<staged_nested>[1].input_layers[0] == "block_input");
static_assert(sc::pipeline::pipeline_summary_rows<staged_nested>[3].input_layers[0] == "block");
static_assert(sc::pipeline::pipeline_summary_rows<staged_nested>[3].nested_model_name.empty());

struct outer_of_sequential : sc::functional<outer_of_sequential> {
  static constexpr auto build(auto& model) {
    auto x = model.input(8);
    x = sc::sequential<dense{4, {.name = "first"}}, dense{4, {.name = "second"}}>{}.named("stack")(x);
    return dense{2, {.name = "head"}}(x);
  }
};

}  // namespace

TEST_CASE("summaries of stages are those of Graphcore's Keras") {
  CHECK(stages_of<staged_mlp>() == golden::read_text("pipeline_summary_sequential.txt"));
  CHECK(stages_of<mlp>(65) == golden::read_text("pipeline_summary_sequential_unassigned_65.txt"));
  CHECK(stages_of<sc::pipelined<long_names, sc::stages<0, 0, 1, 1, 2, 3>>>() ==
        golden::read_text("pipeline_summary_long_names.txt"));
  CHECK(stages_of<sc::pipelined<nested_sequential, sc::stages<0, sc::stages<0, 1>, 1>>>() ==
        golden::read_text("pipeline_summary_nested_sequential.txt"));
  CHECK(stages_of<staged_branches>() == golden::read_text("pipeline_summary_functional.txt"));
  CHECK(stages_of<staged_branches>(85) == golden::read_text("pipeline_summary_functional_85.txt"));
  CHECK(stages_of<branches>() == golden::read_text("pipeline_summary_functional_unassigned.txt"));
  CHECK(stages_of<staged_nested>() == golden::read_text("pipeline_summary_nested.txt"));
}

TEST_CASE("a subclass is printed as a functional model is") {
  CHECK(stages_of<sc::pipelined<subclass, sc::stages<0, 0, 1, 1>>>() ==
        "Model: \"my_model\"\n"
        "_________________________________________________________________________________________\n"
        "Layer (type) (node index)          Input Layers                        Pipeline Stage    \n"
        "=========================================================================================\n"
        "dense (Dense) (0)                  input_1                             0                 \n"
        "_________________________________________________________________________________________\n"
        "dense_1 (Dense) (0)                input_1                             0                 \n"
        "_________________________________________________________________________________________\n"
        "concatenate (Concatenate) (0)      dense                               1                 \n"
        "                                   dense_1                                               \n"
        "_________________________________________________________________________________________\n"
        "dense_2 (Dense) (0)                concatenate                         1                 \n"
        "=========================================================================================\n");
}

TEST_CASE("the input of a sequential model that has none of its own is named after its first layer") {
  CHECK(stages_of<sc::pipelined<outer_of_sequential, sc::stages<0, 1>>>() ==
        "Model: \"model\"\n"
        "_________________________________________________________________________________________\n"
        "Layer (type) (node index)          Input Layers                        Pipeline Stage    \n"
        "=========================================================================================\n"
        "Nested Model: \"stack\"\n"
        "-----------------------------------------------------------------------------------------\n"
        "first (Dense) (0)                  first_input                         0                 \n"
        "_________________________________________________________________________________________\n"
        "second (Dense) (0)                 first                               0                 \n"
        "=========================================================================================\n"
        "head (Dense) (0)                   stack                               1                 \n"
        "=========================================================================================\n");
}
