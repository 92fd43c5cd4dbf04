// SPDX-License-Identifier: BSD-3-Clause
// What a graph knows at type level: users write their own concepts, overloads and static_asserts on it.
#include <stagecraft/models/last_activation.hpp>
#include <stagecraft/pipeline.hpp>
#include <array>
#include <concepts>
#include <doctest/doctest.h>
#include <string_view>
#include <utility>

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{256, sc::relu}, dropout{0.2}, dense{10}>;
using staged = sc::pipelined<mlp, sc::stages<0, 0, 1, 1>>;

static_assert(std::same_as<sc::layer_t<mlp, 0>, input>);
static_assert(std::same_as<sc::layer_t<mlp, 1>, flatten>);
static_assert(std::same_as<sc::layer_t<mlp, 2>, dense>);
static_assert(sc::layer_of<mlp, 2>.units == 256 && sc::layer_of<mlp, 3>.rate == 0.2F &&
              sc::layer_of<mlp, 4>.units == 10);
static_assert(sc::inputs_of<mlp, 2> == std::array{1} && sc::inputs_of<mlp, 0>.empty());
static_assert(sc::outputs_of<mlp> == std::array{4});
// The same of a staged model.
static_assert(std::same_as<sc::layer_t<staged, 2>, dense> && sc::layer_of<staged, 4>.units == 10);
static_assert(sc::calls_of_stage<staged, 0> == std::array{1, 2} && sc::calls_of_stage<staged, 1> == std::array{3, 4});

// What an output's last activation is: of a layer, a layer of its own, at the end of a nested model, or unknown.
template <class M>
constexpr auto last = sc::models::last_activations_of<M>[0];
using head = sc::sequential<input{4}, dense{3, sc::softmax}>;
using nested_head = sc::sequential<input{4}, dense{4}, head{}>;
static_assert(last<head>.has_logits() && last<head>.function == sc::softmax && last<head>.call == 1);
static_assert(last<nested_head>.has_logits() && !last<nested_head>.is_layer);
static_assert(last<sc::sequential<input{4}, dense{1}, activation{sc::sigmoid}>>.is_layer);
static_assert(last<sc::sequential<input{4}, dense{2}, softmax_layer{}>>.has_logits());
static_assert(!last<sc::sequential<input{4, 2}, softmax_layer{1}>>.is_known);
static_assert(!last<sc::sequential<input{4}, dense{2}, dropout{0.5}>>.is_known);
static_assert(last<mlp>.is_known && last<mlp>.function == sc::linear && !last<mlp>.has_logits());
static_assert(last<sc::sequential<input{4}, dense{4, sc::softmax}, reshape{2, 2}>> ==
              sc::last_activation{.function = sc::softmax, .is_known = true, .is_behind_views = true, .call = 1});

// A user's concept on the layer of a call.
template <class M, int Call>
concept HasRelu = std::same_as<sc::layer_t<M, Call>, dense> && sc::layer_of<M, Call>.activation == sc::relu;
static_assert(HasRelu<mlp, 2> && !HasRelu<mlp, 4> && !HasRelu<mlp, 1>);

// A user's concept on a whole model.
template <class M>
constexpr bool has_dropout = []<int... Call>(std::integer_sequence<int, Call...>) {
  return (std::same_as<sc::layer_t<M, Call>, dropout> || ...);
}(std::make_integer_sequence<int, sc::call_count<M>>{});
template <class M>
concept Regularized = sc::Model<M> && has_dropout<M>;
static_assert(Regularized<mlp> && !Regularized<sc::sequential<input{4}, dense{2}>>);

// A user's concept on a stage: it holds the weights of its calls.
template <class M, int Stage>
constexpr long long weights_of_stage = [] {
  long long count = 0;
  for (int const call : sc::calls_of_stage<M, Stage>)
    for (auto const& weight : sc::graph_of<M>.parameters_of(sc::graph_of<M>.call(call).layer)) count += weight.size();
  return count;
}();
template <class M>
concept FirstStageIsLargest = weights_of_stage<M, 0> > weights_of_stage<M, 1>;
static_assert(FirstStageIsLargest<staged>);
static_assert(weights_of_stage<staged, 0> + weights_of_stage<staged, 1> == sc::count_parameters<mlp>());

// Overloads on the type of a layer.
constexpr std::string_view kind(dense const&) { return "matrix product"; }
constexpr std::string_view kind(dropout const&) { return "random"; }
template <sc::Layer L>
constexpr std::string_view kind(L const&) {
  return "other";
}
static_assert(kind(sc::layer_of<mlp, 3>) == "random");
static_assert(kind(sc::layer_of<mlp, 1>) == "other" && kind(sc::layer_of<mlp, 2>) == "matrix product");

struct several : sc::functional<several> {
  static constexpr auto build(auto& model) {
    auto a = model.input(4);
    auto b = model.input(4);
    auto sum = add{}(a, b);
    return sc::outputs(dense{2}(sum), sum);
  }
};
static_assert(sc::inputs_of<several, 2> == std::array{0, 1});
static_assert(sc::outputs_of<several> == std::array{3, 2});
static_assert(sc::layer_of<several, 1>.dimensions == sc::shape(4));

}  // namespace

TEST_CASE("every call's layer is reached at type level") {
  auto const counted = []<int... Call>(std::integer_sequence<int, Call...>) {
    return (0 + ... + (std::same_as<sc::layer_t<mlp, Call>, dense> ? 1 : 0));
  }(std::make_integer_sequence<int, sc::call_count<mlp>>{});
  CHECK(counted == 2);
}
