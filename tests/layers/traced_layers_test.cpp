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
static_assert(said_by(bidirectional{lstm{5}, lstm{5, {.go_backwards = true, .trainable = false}}}, sequence)
                  .problem.code == 1125);
static_assert(!bidirectional{lstm{5, {.trainable = false}}}.trainable);
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
constexpr sc::shape pictures{2, 6, 4}, turned{6, 2, 4};
static_assert(said_by(multi_head_attention{2, 3, {.attention_axes = -2}}, pictures, sc::shape(2, 5, 4)).output ==
              pictures);
static_assert(said_by(multi_head_attention{2, 3, {.attention_axes = {2, 1}}}, pictures).problem.code == 1061);
static_assert(said_by(multi_head_attention{2, 3, {.attention_axes = 3}}, pictures).problem.code == 1061);
static_assert(said_by(multi_head_attention{2, 3}, pictures, pictures, turned).problem.code == 1070);
static_assert(said_by(multi_head_attention{2, 3, {.attention_axes = 3}}, sc::shape(2, 6, 5, 4), sc::shape(6, 2, 5, 4))
                  .problem.code == 1070);
static_assert(said_by(multi_head_attention{2, 3}, sc::shape(1, 1, 1, 1, 1, 4)).problem.code == 1041);
static_assert(said_by(multi_head_attention{2, 3}, sc::shape(1, 1, 1, 1, 4)).problem.code == 1041);
// Of scores (batch, 2, heads, 6, 5) a mask has (batch, 6, 5), (batch, 2, 6, 5), or 1 in the place of a length.
template <class... Lengths>
constexpr int code_of_mask(Lengths... mask) {
  return said_by(multi_head_attention{2, 3, {.attention_axes = 2, .attention_mask = true}}, pictures,
                 sc::shape(2, 5, 4), sc::shape(mask...))
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

// Numbers that no int counts the results of: each option of each layer.
constexpr int most = 2147483647;
constexpr sc::shape image{8, 8, 3}, volume{8, 8, 8, 3}, film{4, 8, 8, 3};
constexpr bool all_are(int code, auto const&... found) { return ((found.problem.code == code) && ...); }
static_assert(all_are(1012, said_by(dense{most}, sequence), said_by(embedding{most, 4}, sc::shape(7)),
                      said_by(embedding{4, most}, sc::shape(7)), said_by(lstm{most}, sequence),
                      said_by(gru{most}, sequence), said_by(rnn{lstm_cell{most}}, sequence),
                      said_by(bidirectional{simple_rnn{most}}, sequence), said_by(repeat_vector{most}, sc::shape(5)),
                      said_by(multi_head_attention{most, 3}, sequence), said_by(category_encoding{most}, sc::shape(4)),
                      said_by(resizing{most, 4}, image), said_by(resizing{4, most}, image),
                      said_by(time_distributed{dense{most}}, sequence),
                      said_by(serial_dense{most, 1, sc::serialization_dimension::kernel_rows}, sequence)));
static_assert(says(said_by(dense{most}, sequence), 1012,
                   "layer 'name' has 2147483647 units; it needs at most 268435456 [E1012]"));
static_assert(says(said_by(multi_head_attention{2, 3, {.value_dim = most}}, sequence), 1012,
                   "layer 'name' has 2 heads of length 2147483647; all of them together are at most 268435456 long "
                   "[E1012]"));
static_assert(says(said_by(multi_head_attention{2, 3, {.output_shape = most}}, sequence), 1012,
                   "layer 'name' has an output_shape of 2147483647; it needs at most 268435456 [E1012]"));
static_assert(all_are(1017, said_by(reshape{most, most}, sequence), said_by(reshape{-1, most, most}, sequence)));
static_assert(all_are(1030, said_by(conv1d{most, 3}, sequence), said_by(separable_conv2d{most, 3}, image),
                      said_by(conv2d_transpose{most, 3}, image), said_by(conv3d{most, 3}, volume),
                      said_by(conv_lstm2d{most, 3}, film), said_by(locally_connected2d{most, 3}, image)));
template <class Layer, class Options>
constexpr bool has_short_windows(sc::shape const& in) {  // E1031
  Options strides, dilation, same;
  strides.strides = most;
  same.padding = sc::padding::same;
  bool dilated = true;
  if constexpr (requires { dilation.dilation_rate; }) {
    dilation.dilation_rate = most;
    dilated = said_by(Layer(4, 3, dilation), in).problem.code == 1031;
    dilation.padding = sc::padding::same;
    dilated = dilated && said_by(Layer(4, 3, dilation), in).problem.code == 1031;
  }
  return dilated && all_are(1031, said_by(Layer(4, 3, strides), in), said_by(Layer(4, most, same), in));
}
static_assert(has_short_windows<conv1d, conv1d_options>(sequence));
static_assert(has_short_windows<conv2d, conv2d_options>(image));
static_assert(has_short_windows<conv3d, conv3d_options>(volume));
static_assert(has_short_windows<conv1d_transpose, transposed_convolution_options<int>>(sequence));
static_assert(has_short_windows<conv2d_transpose, conv2d_transpose_options>(image));
static_assert(has_short_windows<conv3d_transpose, transposed_convolution_options<sc::size_3d>>(volume));
static_assert(has_short_windows<separable_conv2d, separable_convolution_options<sc::size_2d>>(image));
static_assert(has_short_windows<conv_lstm2d, conv_lstm_options<sc::size_2d>>(film));
static_assert(has_short_windows<locally_connected1d, locally_connected_options<int>>(sequence));
static_assert(all_are(1031, said_by(depthwise_conv2d{most, {.padding = sc::padding::same}}, image),
                      said_by(depthwise_conv2d{3, {.dilation_rate = most}}, image),
                      said_by(conv1d{4, 3, {.padding = sc::padding::causal, .dilation_rate = most}}, sequence)));
static_assert(all_are(1036, said_by(depthwise_conv2d{3, {.depth_multiplier = most}}, image),
                      said_by(separable_conv2d{4, 3, {.depth_multiplier = most}}, image)));
static_assert(all_are(1038, said_by(conv2d_transpose{4, 3, {.strides = 2, .output_padding = most}}, image),
                      said_by(conv1d_transpose{4, 3, {.strides = 2, .output_padding = most}}, sequence)));
static_assert(all_are(1040, said_by(max_pooling1d{most, {.padding = sc::padding::same}}, sequence),
                      said_by(average_pooling2d{2, {.strides = most, .padding = sc::padding::same}}, image),
                      said_by(max_pooling3d{2, {.strides = most, .padding = sc::padding::same}}, volume)));
// What stands in front of a pooling's options is its size, whatever their first one is.
static_assert(max_pooling3d{3, {.padding = sc::padding::same}}.pool_size == sc::size_3d(3) &&
              max_pooling3d{3, {.strides = 1}}.options.strides == sc::size_3d(1) &&
              average_pooling3d{3}.options.strides == sc::size_3d(0));
static_assert(all_are(1045, said_by(cropping1d{most}, sequence), said_by(cropping2d{most}, image),
                      said_by(cropping3d{most}, volume)));
static_assert(all_are(1070, said_by(zero_padding1d{most}, sequence), said_by(zero_padding2d{most}, image),
                      said_by(zero_padding3d{most}, volume), said_by(up_sampling1d{most}, sequence)));
// What Keras's models have is far below.
static_assert(all_are(0, said_by(conv1d_transpose{2, 4096, {.strides = 1024}}, sequence),
                      said_by(conv1d{2, 65536}, sc::shape(1 << 20, 2)),
                      said_by(max_pooling1d{1 << 20}, sc::shape(1 << 20, 2)),
                      said_by(embedding{1 << 20, 1000}, sc::shape(7))));
constexpr int wide = sc::shape::longest;
static_assert(said_by(dense{wide}, sc::shape(3)).problem.code == 0 && sc::shape(wide, 4).is_too_large() &&
              !sc::shape(wide, 3).is_too_large());
static_assert(all_are(1127, said_by(dense{wide}, sequence), said_by(lstm{wide}, sequence),
                      said_by(embedding{wide, 4}, sc::shape(7)), said_by(conv2d{wide, 3}, image),
                      said_by(conv3d_transpose{wide, 3}, volume), said_by(repeat_vector{wide}, sc::shape(5)),
                      said_by(time_distributed{dense{wide}}, sequence)));
// Of what a call makes in between, no length counts all elements: scores of 2^30 fit, of 2^31 not.
static_assert(all_are(0, said_by(multi_head_attention{1, 2}, sc::shape(1 << 15, 2)),
                      said_by(attention{}, sc::shape(1 << 15, 2), sc::shape(1 << 15, 2))));
static_assert(all_are(1127, said_by(multi_head_attention{2, 2}, sc::shape(1 << 15, 2)),
                      said_by(attention{}, sc::shape(1 << 15, 2), sc::shape(1 << 16, 2))));
static_assert(all_are(1124, said_by(einsum_dense{"abc,cde->abde", sc::shape{-1, most, most}}, sequence),
                      said_by(einsum_dense{"abc,cd->abd", sc::shape{-1, most}}, sequence)));
static_assert(said_by(serial_dense{8192, 8192, sc::serialization_dimension::kernel_rows}, sequence).problem.code ==
              1078);

// All samples of a batch together may have more elements than an int counts.
template <class Layer, class... Shapes>
constexpr bool takes_many_samples(Layer const& layer, Shapes const&... shapes) {
  std::array const all{shapes...};
  auto const traced = sc::detail::trace_layer(layer, all, 1 << 12, false);
  return !traced.outputs.empty() && !traced.list.problem.failed();
}
static_assert(takes_many_samples(dot{2}, sc::shape(1 << 20, 1), sc::shape(1, 1)) &&
              takes_many_samples(locally_connected1d{2, 1}, sc::shape(1 << 20, 1)) &&
              takes_many_samples(multi_head_attention{1, 2, {.attention_axes = 2}}, sc::shape(1 << 8, 8, 1 << 8)));

static_assert(said_by(permute{6, 1, 5, 2, 3, 4}, sc::shape(2, 3, 1, 5, 4, 7)).output == sc::shape(7, 2, 4, 3, 1, 5));

static_assert(said_by(lambda{[](auto x) { return square(x); }}, sequence).output == sequence);
static_assert(said_by(lambda{[](auto& ops, auto x) { return ops.sum(x, -1); }}, sequence).output == sc::shape(7, 1));
static_assert(lambda{[](auto x) { return x; }, {.name = "same"}}.layer_name == "same");

// Layers that are made wrong have E1025, as all others.
static_assert(lstm::usage.starts_with("lstm{units}") && embedding::usage.starts_with("embedding{input_dim"));
