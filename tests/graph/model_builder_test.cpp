// SPDX-License-Identifier: BSD-3-Clause
// What tracing records: names by Keras's rule, calls, node indices, weights once per layer, what the outputs need.
#include <stagecraft/pipeline.hpp>
#include <array>
#include <doctest/doctest.h>
#include <string_view>

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

/// A layer of any class name, to see its default name.
template <sc::fixed_name ClassName>
struct any_layer : sc::layer<any_layer<ClassName>> {
  static constexpr std::string_view class_name{ClassName.characters, ClassName.length};
  constexpr sc::shape output_shape(sc::layer_inputs const& in) const { return in[0]; }
};

template <sc::fixed_name ClassName>
constexpr std::string_view default_name = sc::graph_of<sc::sequential<input{1}, any_layer<ClassName>{}>>.layers[1].name;

static_assert(default_name<"Dense"> == "dense");
static_assert(default_name<"MaxPooling2D"> == "max_pooling2d");
static_assert(default_name<"BatchNormalization"> == "batch_normalization");
static_assert(default_name<"Conv2D"> == "conv2d");
static_assert(default_name<"Conv2DTranspose"> == "conv2d_transpose");
static_assert(default_name<"DepthwiseConv2D"> == "depthwise_conv2d");
static_assert(default_name<"GlobalAveragePooling1D"> == "global_average_pooling1d");
static_assert(default_name<"ZeroPadding2D"> == "zero_padding2d");
static_assert(default_name<"UpSampling2D"> == "up_sampling2d");
static_assert(default_name<"ReLU"> == "re_lu");
static_assert(default_name<"LeakyReLU"> == "leaky_re_lu");
static_assert(default_name<"PReLU"> == "p_re_lu");
static_assert(default_name<"ELU"> == "elu");
static_assert(default_name<"LSTM"> == "lstm");
static_assert(default_name<"ConvLSTM2D"> == "conv_lst_m2d");
static_assert(default_name<"GRU"> == "gru");
static_assert(default_name<"SimpleRNN"> == "simple_rnn");
static_assert(default_name<"LayerNormalization"> == "layer_normalization");
static_assert(default_name<"MultiHeadAttention"> == "multi_head_attention");
static_assert(default_name<"my_layer"> == "my_layer");
static_assert(default_name<"_Hidden"> == "private__hidden");

// The first of a class has no number, the further ones count from 1; a name of one's own takes no number.
using numbered = sc::sequential<input{4}, dense{4}, dense{4, {.name = "mine"}}, dense{4}, dropout{0.5}, dense{4}>;
static_assert(sc::graph_of<numbered>.layers[0].name == "input_1");
static_assert(sc::graph_of<numbered>.layers[1].name == "dense");
static_assert(sc::graph_of<numbered>.layers[2].name == "mine");
static_assert(sc::graph_of<numbered>.layers[3].name == "dense_1");
static_assert(sc::graph_of<numbered>.layers[4].name == "dropout");
static_assert(sc::graph_of<numbered>.layers[5].name == "dense_2");
static_assert(sc::graph_of<numbered>.name() == "sequential");

struct shared : sc::functional<shared> {
  static constexpr auto build(auto& model) {
    auto left = model.input(8);
    auto right = model.input(sc::shape(8), "right");
    dense encode{4};
    auto a = encode(left);
    dense{100}(a);  // needed by no output, as the next one
    encode(right);
    auto b = encode(right);
    return concatenate{}(a, b);
  }
};
constexpr auto const& graph = sc::graph_of<shared>;
// Keras drops what no output needs, weights and all.
static_assert(graph.calls.size() == 5 && graph.layers.size() == 4);
static_assert(graph.parameters.size() == 2 && sc::count_parameters<shared>() == 8 * 4 + 4);
static_assert(graph.layers[0].name == "input_1" && graph.layers[1].name == "right" && graph.layers[2].name == "dense");
static_assert(graph.name() == "model");
// Weights are the layer's, calls have node indices; a dropped call keeps its index, as in Keras.
static_assert(graph.layers[2].call_count == 2 && graph.layers[2].parameter_count == 2);
static_assert(graph.call(2).layer == graph.call(3).layer);
static_assert(graph.call(2).node_index == 0 && graph.call(3).node_index == 2);
static_assert(graph.inputs_of(4).size() == 2 && graph.inputs_of(4)[0] == 2 && graph.inputs_of(4)[1] == 3);
static_assert(graph.outputs_of(0).size() == 1 && graph.outputs_of(0)[0] == 4);
static_assert(graph.call(0).is_input && graph.call(0).input_count == 0);
static_assert(graph.call(2).flops == 2 * 8 * 4 + 4);

// A copy of a layer that has been called is the same layer, as a reference in Python is; a copy before is another one.
struct copies : sc::functional<copies> {
  static constexpr auto build(auto& model) {
    auto x = model.input(4);
    dense first{4};
    dense before = first;
    x = first(x);
    dense after = first;
    return before(after(x));
  }
};
static_assert(sc::graph_of<copies>.layers.size() == 3 && sc::graph_of<copies>.layers[1].call_count == 2);

// An input that nothing uses stays an input.
struct unused_input : sc::functional<unused_input> {
  static constexpr auto build(auto& model) {
    auto x = model.input(4);
    model.input(5);
    return dense{2}(x);
  }
};
static_assert(sc::graph_of<unused_input>.calls.size() == 3);
static_assert(sc::graph_of<unused_input>.order.size() == 1);

template <class M>
constexpr int code_of = sc::detail::frozen_graph<M>.problem.code;
template <class M>
constexpr std::string_view text_of = sc::detail::frozen_graph<M>.problem.text;

struct name_twice : sc::functional<name_twice> {
  static constexpr auto build(auto& model) {
    auto x = model.input(4);
    x = dense{4, {.name = "twice"}}(x);
    return dense{4, {.name = "twice"}}(x);
  }
};
static_assert(code_of<name_twice> == 1005);
static_assert(text_of<name_twice> ==
              "layer name 'twice' is used twice; each layer of a model needs a name of its own [E1005]");

struct empty_dimension : sc::functional<empty_dimension> {
  static constexpr auto build(auto& model) { return flatten{}(model.input(4, 0)); }
};
static_assert(code_of<empty_dimension> == 1003);
struct too_large : sc::functional<too_large> {
  static constexpr auto build(auto& model) { return flatten{}(model.input(2147483647, 2147483647)); }
};
static_assert(code_of<too_large> == 1003);
static_assert(text_of<too_large> ==
              "input has shape (2147483647, 2147483647), of more than 1073741823 elements [E1003]");
struct negative_dimension : sc::functional<negative_dimension> {
  static constexpr auto build(auto& model) { return flatten{}(model.input(-5, 2147483647, 2147483647)); }
};
static_assert(code_of<negative_dimension> == 1003);

struct shared_on_other_shape : sc::functional<shared_on_other_shape> {
  static constexpr auto build(auto& model) {
    dense layer{4};
    auto a = layer(model.input(8));
    return concatenate{}(a, layer(model.input(9)));
  }
};
static_assert(code_of<shared_on_other_shape> == 1008);

}  // namespace

TEST_CASE("names are found with their calls") {
  CHECK(sc::find_call<shared>("dense") == 2);
  CHECK(sc::find_call<shared>("dense", 2) == 3);
  CHECK(sc::find_call<shared>("dense", 1) == -1);
  CHECK(sc::find_call<shared>("nobody") == -1);
}
