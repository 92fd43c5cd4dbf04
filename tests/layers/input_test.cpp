// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/pipeline.hpp>
#include <doctest/doctest.h>

#include <string>
#include <string_view>

namespace sc = stagecraft;
using namespace sc::layers;

static_assert(input{28, 28}.dimensions == sc::shape(28, 28) && input{28, 28}.type == sc::dtype::float32);
static_assert(input{28}.named("pixels").layer_name == "pixels");
static_assert(input{28}.of_type(sc::dtype::uint8).type == sc::dtype::uint8);
static_assert(input{28}.named("pixels").of_type(sc::dtype::uint8).layer_name == "pixels");

using named = sc::sequential<input{8}.named("pixels").of_type(sc::dtype::uint8), dense{2}>;
static_assert(sc::graph_of<named>.layers[0].name == "pixels");
static_assert(sc::graph_of<named>.call(0).type == sc::dtype::uint8);
static_assert(sc::layer_of<named, 0>.dimensions == sc::shape(8) && sc::layer_of<named, 0>.layer_name == "pixels");

struct spelled : sc::functional<spelled> {
  static constexpr auto build(auto& model) {
    auto a = input{8}(model);
    auto b = model.input(8);
    auto c = model.input(sc::shape(8), "third");
    return add{}({a, b, c});
  }
};
static_assert(sc::graph_of<spelled>.layers[0].name == "input_1");
static_assert(sc::graph_of<spelled>.layers[1].name == "input_2");
static_assert(sc::graph_of<spelled>.layers[2].name == "third");
static_assert(sc::graph_of<spelled>.layers[0].class_name == "InputLayer");
static_assert(sc::tracing::same_type(sc::graph_of<spelled>.layers[0].type, sc::tracing::no_type) &&
              sc::graph_of<spelled>.call(0).is_input);

// One input's batch size is the model's, wherever that input is.
static_assert(input{28}.of_batch_size(8).of_type(sc::dtype::uint8).named("pixels").batch_size == 8);
using fixed = sc::sequential<input{8}.of_batch_size(4), dense{2}>;
static_assert(sc::graph_of<named>.batch_size() == 0 && sc::graph_of<fixed>.batch_size() == 4);
struct outer : sc::functional<outer> {
  static constexpr auto build(auto& model) { return fixed{}(model.input(8)); }
};
static_assert(sc::graph_of<outer>.batch_size() == 4);
struct described : sc::functional<described> {
  static constexpr auto build(auto& model) {
    return dense{2}(model.input(input{8}.of_batch_size(4).of_type(sc::dtype::uint8).named("pixels")));
  }
};
static_assert(sc::graph_of<described>.batch_size() == 4 && sc::graph_of<described>.layers[0].name == "pixels");
static_assert(sc::graph_of<described>.call(0).type == sc::dtype::uint8);
struct parts : sc::model<parts> {
  dense head{2};
  constexpr auto call(auto&, auto x) { return head(x); }
};
static_assert(sc::graph_of<sc::build<parts, input{8}.of_batch_size(6)>>.batch_size() == 6);
using two_stages = sc::pipelined<sc::sequential<input{8}.of_batch_size(4), dense{2}, dense{3}>, sc::stages<0, 1>>;
static_assert(sc::graph_of<two_stages>.batch_size() == 4);

TEST_CASE("summaries show the batch size of inputs") {
  std::string text;
  sc::summary<fixed>({.print_fn = [&](std::string_view line) { text += line; }});
  CHECK(text.find("(4, 2)") != std::string::npos);
  CHECK(text.find("None") == std::string::npos);
}

TEST_CASE("inputs have no weights") { CHECK(sc::count_parameters<spelled>() == 0); }
