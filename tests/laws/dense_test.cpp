// SPDX-License-Identifier: BSD-3-Clause
#include "model_laws.hpp"

#include "call_check.hpp"

namespace {

template <sc::layers::dense Layer>
using behind_dense = sc::sequential<input{5}, dense{4}, Layer>;

/// A layer made of the library's: their weights lie as its operations read them.
struct block : sc::layer<block> {
  static constexpr std::string_view class_name = "Block";
  constexpr auto call(auto& ops, auto x) const {
    auto const y = ops.name_scope("first", [&] { return dense{4, sc::tanh}.call(ops, x); });
    auto const z = ops.name_scope("second", [&] { return conv1d{4, 2, {.padding = sc::padding::same}}.call(ops, y); });
    return batch_normalization{}.call(ops, z);
  }
};

}  // namespace

TEST_CASE("dense") {
  laws::check_calls<behind_dense<dense{3}>>();
  laws::check_calls<behind_dense<dense{19}>>();
  laws::check_calls<behind_dense<dense{1}>>();
}

TEST_CASE("dense without bias") {
  laws::check_calls<behind_dense<dense{3, {.use_bias = false}}>>();
  laws::check_calls<behind_dense<dense{3, sc::swish, {.use_bias = false}}>>();
}

TEST_CASE("dense on inputs of higher rank") {
  laws::check_calls<sc::sequential<input{2, 5}, dense{3, sc::tanh}, dense{2}>>();
  laws::check_calls<sc::sequential<input{2, 3, 2}, dense{3, sc::softmax}, dense{2, sc::gelu}>>();
}

using of_integers = sc::sequential<input{{4}, sc::dtype::int32}, flatten{}, rescaling{1}, dense{3}>;
static_assert(sc::graph_of<of_integers>.calls[1].type == sc::dtype::int32);
static_assert(sc::graph_of<of_integers>.calls[2].type == sc::dtype::float32);

TEST_CASE("a layer made of others") {
  laws::check_calls<sc::sequential<input{3, 2}, dense{3}, block{}, dense{2}>>();
  using plain = sc::sequential<input{3, 2}, dense{4, sc::tanh}, conv1d{4, 2, {.padding = sc::padding::same}},
                               batch_normalization{}>;
  using whole = sc::sequential<input{3, 2}, block{}>;
  static_assert(sc::count_parameters<whole>() == sc::count_parameters<plain>());
  static_assert(sc::graph_of<whole>.parameters[2].name == "second/kernel");
}
