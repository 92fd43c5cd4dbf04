// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/pipeline.hpp>
#include <doctest/doctest.h>

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
static_assert(sc::same_type(sc::graph_of<spelled>.layers[0].type, sc::no_type) &&
              sc::graph_of<spelled>.call(0).is_input);

TEST_CASE("inputs have no weights") { CHECK(sc::count_parameters<spelled>() == 0); }
