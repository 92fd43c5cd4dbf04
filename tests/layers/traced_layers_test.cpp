// SPDX-License-Identifier: BSD-3-Clause
// Layers of the library that are written as a `call`: shapes, weights and mistakes. What they compute is compared with
// Keras in execution/traced/golden_test.cpp.
#include <stagecraft/layers/layers.hpp>
#include <array>
#include <doctest/doctest.h>
#include <utility>

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

/// What a layer says of inputs of these shapes.
struct said {
  sc::shape output;
  sc::parameter_list weights;
  sc::diagnostics::diagnostic problem;
};
template <class Layer, class... Shapes>
constexpr said said_by(Layer const& layer, Shapes const&... shapes) {
  std::array const all{shapes...};
  said result;
  sc::layer_inputs const in(all.data(), static_cast<int>(all.size()), "name", result.problem);
  sc::detail::rules_of_layer<Layer> const rules(layer, in, "name", result.weights, result.problem);
  result.output = rules.output;
  return result;
}
constexpr bool says(said const& found, int code, std::string_view text) {
  return found.problem.code == code && found.problem.text.view() == text;
}
constexpr sc::shape sequence{7, 3};

}  // namespace

static_assert(said_by(embedding{10, 4}, sc::shape(7)).output == sc::shape(7, 4));
static_assert(said_by(embedding{10, 4}, sc::shape(7, 2)).weights.entries[0].shape == sc::shape(10, 4));
static_assert(says(said_by(embedding{0, 4}, sc::shape(7)), 1012,
                   "layer 'name' has a table of 0 rows and 4 columns; both must be at least 1 [E1012]"));

static_assert(said_by(lstm{5}, sequence).output == sc::shape(5));
static_assert(said_by(lstm{5, {.return_sequences = true}}, sequence).output == sc::shape(7, 5));
static_assert(said_by(lstm{5}, sequence).weights.count == 3);
static_assert(said_by(lstm{5}, sequence).weights.entries[1].shape == sc::shape(5, 20));
static_assert(said_by(gru{5}, sequence).weights.entries[2].shape == sc::shape(2, 15));
static_assert(said_by(gru{5, {.reset_after = false}}, sequence).weights.entries[2].shape == sc::shape(15));
static_assert(said_by(simple_rnn{5, {.use_bias = false}}, sequence).weights.count == 2);
static_assert(says(said_by(lstm{0}, sequence), 1012, "layer 'name' has 0 units; it needs at least 1 [E1012]"));
static_assert(says(said_by(gru{5}, sc::shape(7)), 1041,
                   "layer 'name' expects an input of shape (steps, features), but got (7,) [E1041]"));
static_assert(says(said_by(simple_rnn{5, {.recurrent_dropout = 1}}, sequence), 1013,
                   "layer 'name' has a rate of dropout that is not at least 0 and below 1 [E1013]"));
static_assert(says(said_by(lstm{5}, sequence, sequence), 1085,
                   "layer 'name' has 2 states, but is called with 1 behind its input; give it all first states or none "
                   "[E1085]"));
static_assert(says(said_by(gru{5}, sequence, sc::shape(4)), 1085,
                   "layer 'name' has a state 0 of shape (5,), but is given (4,) [E1085]"));

static_assert(said_by(bidirectional{lstm{5}}, sequence).output == sc::shape(10));
static_assert(said_by(bidirectional{lstm{5}, {.merge_mode = merge_mode::ave}}, sequence).output == sc::shape(5));
static_assert(said_by(bidirectional{lstm{5}, lstm{4, {.go_backwards = true}}}, sequence).output == sc::shape(9));
static_assert(said_by(bidirectional{lstm{5}, lstm{4, {.return_sequences = true, .go_backwards = true}}}, sequence)
                  .problem.code == 1125);
static_assert(said_by(bidirectional{lstm{5}, gru{5, {.go_backwards = true}}}, sequence).problem.code == 1125);
static_assert(said_by(bidirectional{lstm{5}, lstm{5, {.go_backwards = true, .dtype = sc::dtype::float16}}}, sequence)
                  .problem.code == 1125);
static_assert(said_by(bidirectional{lstm{5}, lstm{5, {.go_backwards = true}}.on_host()}, sequence).problem.code ==
              1125);
static_assert(said_by(bidirectional{lstm{5}.named("memory")}, sequence).weights.entries[5].name ==
              "backward_memory/bias");

constexpr sc::shape places{7, 6}, others{9, 6};
static_assert(said_by(multi_head_attention{2, 3}, places).output == places);
static_assert(said_by(multi_head_attention{2, 3}, places, others).output == places);
static_assert(said_by(multi_head_attention{2, 3, {.output_shape = 5}}, places, others).output == sc::shape(7, 5));
static_assert(said_by(multi_head_attention{2, 3}, places, others, others).weights.count == 8);
static_assert(said_by(multi_head_attention{2, 3}, places).weights.entries[6].name == "attention_output/kernel");
static_assert(said_by(multi_head_attention{2, 3}, sc::shape(7)).problem.code == 1041);
static_assert(said_by(multi_head_attention{0, 3}, places).problem.code == 1012);
static_assert(said_by(multi_head_attention{2, 3, {.dropout = -1}}, places).problem.code == 1013);
static_assert(said_by(multi_head_attention{2, 3, {.attention_mask = true}}, places).problem.code == 1001);
static_assert(said_by(multi_head_attention{2, 3}, places, others, places).problem.code == 1070);  // keys, values
constexpr sc::shape images{2, 6, 4}, turned{6, 2, 4};
static_assert(said_by(multi_head_attention{2, 3, {.attention_axes = -2}}, images, sc::shape(2, 5, 4)).output == images);
static_assert(said_by(multi_head_attention{2, 3, {.attention_axes = {2, 1}}}, images).problem.code == 1061);
static_assert(said_by(multi_head_attention{2, 3, {.attention_axes = 3}}, images).problem.code == 1061);
static_assert(said_by(multi_head_attention{2, 3}, images, images, turned).problem.code == 1070);
static_assert(said_by(multi_head_attention{2, 3, {.attention_axes = 3}}, sc::shape(2, 6, 5, 4), sc::shape(6, 2, 5, 4))
                  .problem.code == 1070);
static_assert(said_by(multi_head_attention{2, 3}, sc::shape(1, 1, 1, 1, 1, 4)).problem.code == 1041);
static_assert(said_by(multi_head_attention{2, 3}, sc::shape(1, 1, 1, 1, 4)).problem.code == 1041);
// Of scores (batch, 2, heads, 6, 5) a mask has (batch, 6, 5), (batch, 2, 6, 5), or 1 in the place of a length.
template <class... Lengths>
constexpr int code_of_mask(Lengths... mask) {
  return said_by(multi_head_attention{2, 3, {.attention_axes = 2, .attention_mask = true}}, images, sc::shape(2, 5, 4),
                 sc::shape(mask...))
      .problem.code;
}
static_assert(code_of_mask(6, 5) == 0 && code_of_mask(2, 6, 5) == 0 && code_of_mask(1, 5) == 0);
static_assert(code_of_mask(5, 6) == 1070 && code_of_mask(5) == 1070 && code_of_mask(1, 2, 6, 5) == 1070);

constexpr int code_of_einsum(std::string_view equation, sc::shape const& output, std::string_view bias_axes = "") {
  return said_by(einsum_dense{equation, output, {.bias_axes = bias_axes}}, sc::shape(4, 3)).problem.code;
}
static_assert(code_of_einsum("abc,cd->abd", {-1, 2}, "bd") == 0 && code_of_einsum("abc,cd->abd", {5, 2}) == 1124);
static_assert(code_of_einsum("abc,cd->abd", 2) == 1124 && code_of_einsum("abc,cd->abd", {4, -1}) == 1124);
static_assert(code_of_einsum("abc,cd->abe", {4, 2}) == 1124 && code_of_einsum("abc,cde->abd", {4, 2}) == 1124);
static_assert(code_of_einsum("abb,bd->abd", {3, 2}) == 1124 && code_of_einsum("abc,ad->abd", {4, 2}) == 1124);
static_assert(code_of_einsum("abc,cd->abd", {4, 2}, "c") == 1124 && code_of_einsum("abc,cd->abd", {4, 2}, "a") == 1124);
static_assert(said_by(einsum_dense{"...ab,b->...", sc::shape{}}, sc::shape(3)).problem.code == 1124);

static_assert(said_by(group_normalization{3}, sc::shape(4, 4, 6)).output == sc::shape(4, 4, 6));
static_assert(said_by(group_normalization{}, sc::shape(64)).weights.count == 2);
static_assert(said_by(group_normalization{}, sc::shape(48)).problem.code == 1071);

static_assert(said_by(alpha_dropout{0.25, sc::shape{1, 3}}, sequence).output == sequence);
static_assert(said_by(alpha_dropout{0.25, sc::shape{2, 3}}, sequence).problem.code == 1013);
static_assert(said_by(alpha_dropout{0, sc::shape{2, 3}}, sequence).problem.code == 1013);  // where nothing is dropped

// More numbers than a layer has room for.
constexpr auto numbers = []<int... I>(std::integer_sequence<int, I...>) {
  return sc::number_list{I...};
}(std::make_integer_sequence<int, 33>{});
static_assert(says(said_by(discretization{{.bin_boundaries = numbers}}, sequence), 1075,
                   "layer 'name' has 33 bin_boundaries, which are at most 32 [E1075]"));
static_assert(says(said_by(normalization{{.mean = numbers, .variance = 1}}, sc::shape(33)), 1075,
                   "layer 'name' has a mean of 33 and a variance of 1 numbers, which are at most 32 [E1075]"));

static_assert(said_by(lambda{[](auto x) { return square(x); }}, sequence).output == sequence);
static_assert(said_by(lambda{[](auto& ops, auto x) { return ops.sum(x, -1); }}, sequence).output == sc::shape(7, 1));
static_assert(lambda{[](auto x) { return x; }, {.name = "same"}}.layer_name == "same");

// Layers that are made wrong have E1025, as all others.
static_assert(lstm::usage.starts_with("lstm{units}") && embedding::usage.starts_with("embedding{input_dim"));
