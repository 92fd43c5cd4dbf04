// SPDX-License-Identifier: BSD-3-Clause
// Summaries are Keras's, to the letter; their rows are constants.
#include "../golden/golden.hpp"
#include "golden_models.hpp"

#include <stagecraft/models/summary.hpp>
#include <doctest/doctest.h>
#include <string>

using namespace golden_models;

namespace {

template <class M>
std::string summary_of(int line_length = 0) {
  std::string text;
  sc::summary<M>({.line_length = line_length, .print_fn = [&](std::string_view line) { text.append(line) += '\n'; }});
  return text;
}

static_assert(sc::models::summary_rows<mlp>.size() == 4);
static_assert(sc::models::summary_rows<mlp>[1].name == "dense");
static_assert(sc::models::summary_rows<mlp>[1].class_name == "Dense");
static_assert(sc::models::summary_rows<mlp>[1].output_shape() == sc::shape(256));
static_assert(sc::models::summary_rows<mlp>[1].parameter_count == 200'960);
static_assert(sc::models::is_sequential_like<mlp> && sc::models::is_sequential_like<chain> &&
              sc::models::is_sequential_like<subclass>);
static_assert(!sc::models::is_sequential_like<branches> && !sc::models::is_sequential_like<several_shapes>);

// Inputs are rows of a functional model, and have no connections.
static_assert(sc::models::summary_rows<branches>.size() == 8);
static_assert(sc::models::summary_rows<branches>[0].is_input &&
              sc::models::summary_rows<branches>[0].connected_to.empty());
// A shared layer is one row that lists the inputs of all its calls.
static_assert(sc::models::summary_rows<branches>[2].name == "shared");
static_assert(sc::models::summary_rows<branches>[2].connected_to.size() == 2);
static_assert(sc::models::summary_rows<branches>[2].connected_to[1].name == "input_b");
static_assert(sc::models::summary_rows<branches>[3].connected_to[1].name == "shared");
static_assert(sc::models::summary_rows<branches>[3].connected_to[1].node_index == 1);

static_assert(sc::models::summary_rows<several_shapes>[2].has_several_shapes);

// A nested model is one row with all its weights.
static_assert(sc::models::summary_rows<nested>[2].name == "block" && sc::models::summary_rows<nested>[2].is_model);
static_assert(sc::models::summary_rows<nested>[2].class_name == "Functional");
static_assert(sc::models::summary_rows<nested>[2].parameter_count == 272);
static_assert(sc::count_parameters<nested>() == 1242 && sc::count_trainable_parameters<nested>() == 1242);

// What Keras prints as "multiple" is known here.
static_assert(sc::models::summary_rows<subclass>[2].output_shape() == sc::shape(16));

struct two_heads : sc::functional<two_heads> {
  static constexpr std::string_view name = "two_heads";
  static constexpr auto build(auto& model) {
    auto x = model.input(8);
    return sc::outputs(dense{3, {.name = "left"}}(x), dense{5, {.name = "right"}}(x));
  }
};
struct uses_heads : sc::functional<uses_heads> {
  static constexpr auto build(auto& model) {
    auto const [left, right] = two_heads{}(model.input(8));
    return concatenate{}(right, left);
  }
};
static_assert(sc::models::summary_rows<uses_heads>[1].output_shapes.size() == 2);
static_assert(sc::models::summary_rows<uses_heads>[2].connected_to[0].tensor_index == 1);
static_assert(sc::models::summary_rows<uses_heads>[2].connected_to[1].tensor_index == 0);

struct frozen_scale : sc::layer<frozen_scale> {
  static constexpr std::string_view class_name = "FrozenScale";
  constexpr sc::shape output_shape(sc::layer_inputs const& in) const { return in[0]; }
  constexpr void parameters(sc::layer_inputs const& in, sc::parameter_list& weights) const {
    weights.add({.name = "factor", .shape = in[0], .trainable = false});
  }
};
using partly_frozen = sc::sequential<input{1000}, dense{2}, frozen_scale{}>;

std::string printed;
void print_to_string(std::string_view line) { printed.append(line) += '\n'; }

}  // namespace

TEST_CASE("summaries are Keras's") {
  CHECK(summary_of<mlp>() == golden::read_text("summary_sequential.txt"));
  CHECK(summary_of<mlp>(80) == golden::read_text("summary_sequential_80.txt"));
  CHECK(summary_of<long_names>() == golden::read_text("summary_long_names.txt"));
  CHECK(summary_of<branches>() == golden::read_text("summary_functional.txt"));
  CHECK(summary_of<branches>(120) == golden::read_text("summary_functional_120.txt"));
  CHECK(summary_of<chain>() == golden::read_text("summary_functional_chain.txt"));
  CHECK(summary_of<several_shapes>() == golden::read_text("summary_several_shapes.txt"));
  CHECK(summary_of<nested>() == golden::read_text("summary_nested.txt"));
  CHECK(summary_of<nested_sequential>() == golden::read_text("summary_nested_sequential.txt"));
  CHECK(summary_of<subclass>() == golden::read_text("summary_subclass.txt"));
}

TEST_CASE("a nested model with several outputs has a list of shapes, and says which one is used") {
  auto const text = summary_of<uses_heads>(120);
  CHECK(text.find("two_heads (Functional)                 [(None, 3), (None, 5)]     72") != std::string::npos);
  CHECK(text.find("concatenate (Concatenate)              (None, 8)                  0             two_heads[0][1]") !=
        std::string::npos);
  CHECK(text.find("two_heads[0][0]") > text.find("two_heads[0][1]"));
}

TEST_CASE("weights that training does not change are counted apart") {
  auto const text = summary_of<partly_frozen>();
  CHECK(text.find("Total params: 2,004\nTrainable params: 2,002\nNon-trainable params: 2\n") != std::string::npos);
}

TEST_CASE("print_fn may be a function") {
  printed.clear();
  sc::summary<mlp>({.print_fn = print_to_string});
  CHECK(printed == summary_of<mlp>());
  printed.clear();
  sc::summary<mlp>({.print_fn = &print_to_string});
  CHECK(printed == summary_of<mlp>());
}

TEST_CASE("a staged model has the summary of its model") {
  CHECK(summary_of<sc::pipelined<mlp, sc::stages<0, 0, 1, 1>>>() == summary_of<mlp>());
}
