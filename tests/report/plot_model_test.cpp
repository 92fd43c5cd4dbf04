// SPDX-License-Identifier: BSD-3-Clause
// Pictures of models: which boxes and arrows there are, and what stands in them.
#include "../models/golden_models.hpp"

#include <stagecraft/report/plot_model.hpp>
#include <cstddef>
#include <doctest/doctest.h>
#include <string>

#include "files.hpp"

using namespace golden_models;

namespace {

using staged_mlp = sc::pipelined<mlp, sc::stages<0, 0, 1, 1>>;
using staged_nested =
    sc::pipelined<nested, sc::stages<0, sc::stages<0, 0>, 1, sc::stages<1, 2>, 2, 3>, sc::device_mapping<0, 0, 1, 1>>;

struct two_heads : sc::functional<two_heads> {
  static constexpr std::string_view name = "two_heads";
  static constexpr auto build(auto& model) {
    auto x = model.input(sc::shape(8), "left_input");
    auto y = model.input(sc::shape(8), "right_input");
    auto both = add{}(x, y);
    return sc::outputs(dense{3, {.name = "left"}}(both), dense{5, {.name = "right"}}(x));
  }
};
struct uses_heads : sc::functional<uses_heads> {
  static constexpr auto build(auto& model) {
    auto const one = model.input(sc::shape(8), "one"), two = model.input(sc::shape(8), "two");
    auto const [left, right] = two_heads{}(two, one);
    return concatenate{}(right, left);
  }
};

/// A nested model in a nested model, and one that gives back what it takes.
struct inner : sc::functional<inner> {
  static constexpr std::string_view name = "inner";
  static constexpr auto build(auto& model) { return dense{4, {.name = "inner_dense"}}(model.input(4)); }
};
struct middle : sc::functional<middle> {
  static constexpr std::string_view name = "middle";
  static constexpr auto build(auto& model) {
    auto x = model.input(sc::shape(4), "middle_input");
    return sc::outputs(inner{}(x), x);
  }
};
struct outer : sc::functional<outer> {
  static constexpr std::string_view name = "outer";
  static constexpr auto build(auto& model) {
    auto const [changed, same] = middle{}(model.input(sc::shape(4), "x"));
    return add{}(changed, same);
  }
};

using odd_names =
    sc::sequential<input{2}, dense{2, {.name = "a<b> & \"c\""}}, dense{2, {.name = "\xc3\xa4\\\xe2\x86\x92"}}>;

std::size_t count(std::string const& text, std::string const& what) {
  std::size_t number = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++number;
  return number;
}

constexpr char const* head = R"( {
  rankdir=TB
  node [shape=box, style="rounded,filled", fillcolor="#ffffff", fontname="Helvetica", fontsize=11]
)";

}  // namespace

TEST_CASE("a model without stages") {
  CHECK(sc::model_to_dot<mlp>() == "digraph \"sequential\"" + std::string(head) + &R"dot(
  n0_0 [label="input_1: InputLayer"]
  n0_1 [label="flatten: Flatten"]
  n0_2 [label="dense: Dense"]
  n0_3 [label="dense_1: Dense"]
  n0_4 [label="dense_2: Dense"]
  n0_0 -> n0_1
  n0_1 -> n0_2
  n0_2 -> n0_3
  n0_3 -> n0_4
}
)dot"[1]);
}

TEST_CASE("stages have colours, and arrows between them are strong") {
  CHECK(sc::model_to_dot<staged_mlp>({.show_shapes = true, .show_dtype = true, .show_layer_names = false}) ==
        "digraph \"sequential\"" + std::string(head) + &R"dot(
  n0_0 [label="InputLayer\nfloat32  (None, 28, 28)"]
  n0_1 [label="Flatten\nstage 0\nfloat32  (None, 28, 28) → (None, 784)", fillcolor="#cfe3fb"]
  n0_2 [label="Dense\nstage 0\nfloat32  (None, 784) → (None, 256)", fillcolor="#cfe3fb"]
  n0_3 [label="Dense\nstage 1\nfloat32  (None, 256) → (None, 128)", fillcolor="#fde0c0"]
  n0_4 [label="Dense\nstage 1\nfloat32  (None, 128) → (None, 10)", fillcolor="#fde0c0"]
  n0_0 -> n0_1
  n0_1 -> n0_2
  n0_2 -> n0_3 [penwidth=2]
  n0_3 -> n0_4
}
)dot"[1]);
  auto const svg = sc::model_to_svg<staged_mlp>({.show_shapes = true});
  CHECK(count(svg, ">stage 1 on device 1<") == 1);
  CHECK(count(svg, "class=\"t0 s0-edge\"") == 2);
  CHECK(count(svg, "class=\"t1 s1-edge\"") == 2);
  CHECK(count(svg, "class=\"sheet line-edge\"") == 1);
  CHECK(count(svg, "class=\"ink-edge\"") == 1);
  CHECK(count(svg, "class=\"line-edge\"") == 3);
  CHECK(count(svg, ">(None, 784) → (None, 256)<") == 1);
  CHECK(count(svg, ">4 layers, 235,146 parameters<") == 1);
}

TEST_CASE("each call of a shared layer is a box") {
  auto const dot = sc::model_to_dot<branches>({.rankdir = sc::rankdir::lr});
  CHECK(dot.find("rankdir=LR") != std::string::npos);
  CHECK(count(dot, "\"shared[0]: Dense\"") == 1);
  CHECK(count(dot, "\"shared[1]: Dense\"") == 1);
  CHECK(count(dot, "->") == 10);
}

TEST_CASE("a nested model is one box") {
  auto const dot = sc::model_to_dot<staged_nested>();
  CHECK(count(dot, R"([label="block[0]: Functional\nstage 0", fillcolor="#cfe3fb"])") == 1);
  CHECK(count(dot, R"([label="block[1]: Functional\nstage 1-2", fillcolor="#fde0c0"])") == 1);
  CHECK(count(dot, "block_dense") == 0);
  CHECK(count(dot, "->") == 7);
}

TEST_CASE("an expanded nested model is a frame with its own inputs") {
  CHECK(sc::model_to_dot<staged_nested>({.expand_nested = true}) == "digraph \"nested\"" + std::string(head) + &R"dot(
  n0_0 [label="input_a: InputLayer"]
  n0_1 [label="dense: Dense\nstage 0", fillcolor="#cfe3fb"]
  subgraph cluster_1 {
    label="block[0] (Functional)"
    n1_0 [label="block_input: InputLayer"]
    n1_1 [label="block_dense[0]: Dense\nstage 0", fillcolor="#cfe3fb"]
    n1_2 [label="block_add[0]: Add\nstage 0", fillcolor="#cfe3fb"]
  }
  n0_3 [label="dense_1: Dense\nstage 1", fillcolor="#fde0c0"]
  subgraph cluster_2 {
    label="block[1] (Functional)"
    n2_0 [label="block_input: InputLayer"]
    n2_1 [label="block_dense[1]: Dense\nstage 1", fillcolor="#fde0c0"]
    n2_2 [label="block_add[1]: Add\nstage 2", fillcolor="#cdeeda"]
  }
  n0_5 [label="add: Add\nstage 2", fillcolor="#cdeeda"]
  n0_6 [label="dense_2: Dense\nstage 3", fillcolor="#e4d9fb"]
  n0_0 -> n0_1
  n0_1 -> n1_0
  n1_2 -> n0_3 [penwidth=2]
  n0_3 -> n2_0
  n1_2 -> n0_5 [penwidth=2]
  n2_2 -> n0_5
  n0_5 -> n0_6 [penwidth=2]
  n1_0 -> n1_1
  n1_0 -> n1_2
  n1_1 -> n1_2
  n2_0 -> n2_1
  n2_0 -> n2_2 [penwidth=2]
  n2_1 -> n2_2 [penwidth=2]
}
)dot"[1]);
  auto const svg = sc::model_to_svg<staged_nested>({.expand_nested = true});
  CHECK(count(svg, "class=\"panel line-edge\"") == 2);
  CHECK(count(svg, ">block_input<") == 2);
}

TEST_CASE("arrows lead to the right inputs and outputs of nested models") {
  auto const dot = sc::model_to_dot<uses_heads>({.expand_nested = true});
  CHECK(count(dot, "n0_0 [label=\"one: InputLayer\"]") == 1);
  CHECK(count(dot, "n1_0 [label=\"left_input: InputLayer\"]") == 1);
  CHECK(count(dot, "n1_3 [label=\"left: Dense\"]") == 1);
  CHECK(count(dot, "n0_0 -> n1_1\n") == 1);
  CHECK(count(dot, "n0_1 -> n1_0\n") == 1);
  CHECK(count(dot, "n1_3 -> n0_3\n") == 1);
  CHECK(count(dot, "n1_4 -> n0_3\n") == 1);
}

TEST_CASE("nested models in nested models") {
  auto const dot = sc::model_to_dot<outer>({.expand_nested = true});
  CHECK(count(dot, "subgraph cluster_2 {") == 1);
  CHECK(count(dot, "\n      n2_1 [label=\"inner_dense: Dense\"]") == 1);
  CHECK(count(dot, "n0_0 -> n1_0\n") == 1);
  CHECK(count(dot, "n1_0 -> n2_0\n") == 1);
  CHECK(count(dot, "n2_1 -> n0_2\n") == 1);
  CHECK(count(dot, "n0_0 -> n0_2\n") == 1);
  CHECK(count(sc::model_to_svg<outer>({.expand_nested = true}), "class=\"panel line-edge\"") == 2);
}

TEST_CASE("a range of layers is inclusive, in either order") {
  auto const dot = sc::model_to_dot<mlp>({.layer_range = {"dense", "dense_1"}});
  CHECK(count(dot, "label=") == 2);
  CHECK(count(dot, "n0_0 -> n0_1") == 1);
  CHECK(sc::model_to_dot<mlp>({.layer_range = {"dense_1", "dense"}}) == dot);
  CHECK(count(sc::model_to_dot<mlp>({.layer_range = {.first = "dense_1"}}), "label=") == 2);
  CHECK(count(sc::model_to_dot<nested>({.expand_nested = true, .layer_range = {.last = "block"}}), "label=") == 10);
  CHECK(error_of([] { (void)sc::model_to_dot<mlp>({.layer_range = {"dense", "dens"}}); }) ==
        "plot_model: model 'sequential' has no layer 'dens' that layer_range could begin or end with [E4080]");
}

TEST_CASE("names are escaped") {
  auto const svg = sc::model_to_svg<odd_names>();
  CHECK(count(svg, ">a&lt;b&gt; &amp; &quot;c&quot;<") == 1);
  auto const dot = sc::model_to_dot<odd_names>();
  CHECK(count(dot, R"("a<b> & \"c\": Dense")") == 1);
  CHECK(count(dot, "\"\xc3\xa4\\\\\xe2\x86\x92: Dense\"") == 1);
}

TEST_CASE("files get what their names say") {
  temporary_file const svg("model.svg"), dot("model.dot"), gv("model.gv");
  sc::plot_model<mlp>(svg.path());
  CHECK(svg.text() == sc::model_to_svg<mlp>());
  sc::plot_model<mlp>(dot.path(), {.show_shapes = true});
  CHECK(dot.text() == sc::model_to_dot<mlp>({.show_shapes = true}));
  sc::plot_model<mlp>(gv.path());
  CHECK(gv.text() == sc::model_to_dot<mlp>());
  CHECK(error_of([] { sc::plot_model<mlp>("model.png"); }) ==
        "plot_model: cannot tell from the name 'model.png' what to write; it ends in .svg, .dot or .gv [E5051]");
  CHECK(error_of([] { sc::plot_model<mlp>("no such folder/model.svg"); }) ==
        "plot_model: cannot open 'no such folder/model.svg': No such file or directory [E5050]");
}
