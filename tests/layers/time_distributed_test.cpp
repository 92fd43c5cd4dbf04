// SPDX-License-Identifier: BSD-3-Clause
// What time_distributed computes is compared with Keras in training/golden_time_distributed_test.cpp.
#include <stagecraft/layers/layers.hpp>
#include <stagecraft/models/queries.hpp>
#include <stagecraft/models/sequential.hpp>
#include <doctest/doctest.h>

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

using frames = sc::sequential<input{5, 8, 8, 1}, time_distributed{conv2d{4, 3}}, time_distributed{flatten{}},
                              time_distributed{dense{6}, {.name = "head"}},
                              time_distributed{lambda{[](auto x) { return square(x); }}}>;

}  // namespace

// Each step of a sequence has the shape that the layer gives, and all have the same weights, under the layer's names.
static_assert(sc::graph_of<frames>.call(1).shape == sc::shape(5, 6, 6, 4));
static_assert(sc::graph_of<frames>.call(2).shape == sc::shape(5, 144));
static_assert(sc::graph_of<frames>.call(4).shape == sc::shape(5, 6));
static_assert(sc::graph_of<frames>.parameters.size() == 4);
static_assert(sc::graph_of<frames>.parameters[2].shape == sc::shape(144, 6));
static_assert(sc::graph_of<frames>.layer(1).name == "time_distributed");
static_assert(sc::graph_of<frames>.layer(2).name == "time_distributed_1");
static_assert(sc::graph_of<frames>.layer(3).name == "head");
static_assert(sc::graph_of<frames>.parameters[0].name == "kernel");

// What it costs is what its layer costs for each step.
static_assert(sc::graph_of<frames>.call(3).flops == 5 * (2 * 144 * 6 + 6));
static_assert(sc::graph_of<frames>.call(4).flops == 5 * 6);

// As in Keras, the layers inside take names, too.
using named =
    sc::sequential<input{5, 4}, time_distributed{dense{6}}, bidirectional{lstm{2, {.return_sequences = true}}},
                   time_distributed{dense{3, {.name = "mine"}}}, lstm{2}, dense{2}>;
static_assert(sc::graph_of<named>.layer(4).name == "lstm_1");
static_assert(sc::graph_of<named>.layer(5).name == "dense_1");

namespace {

template <class Layer>
constexpr sc::diagnostics::diagnostic problem_of(Layer const& layer, sc::shape const& in) {
  sc::diagnostics::diagnostic problem;
  static_cast<void>(layer.output_shape(sc::layer_inputs(&in, 1, "name", problem)));
  return problem;
}

}  // namespace

static_assert(problem_of(time_distributed{dense{6}}, sc::shape(5)).text.view() ==
              "layer 'name' expects an input of shape (steps, ...), but got (5,) [E1041]");
static_assert(problem_of(time_distributed{conv2d{6, 3}}, sc::shape(5, 8, 8)).text.view().starts_with("layer 'name' "));
static_assert(!time_distributed{dense{6, {.trainable = false}}}.trainable);
static_assert(!time_distributed{batch_normalization{}, {.trainable = false}}.each.trainable);  // nor is what is inside
static_assert(time_distributed{dense{6}.on_host()}.is_on_host && bidirectional{lstm{2}.on_host()}.is_on_host);

TEST_CASE("time_distributed") {}
