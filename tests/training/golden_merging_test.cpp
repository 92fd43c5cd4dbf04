// SPDX-License-Identifier: BSD-3-Clause
// Layers of several inputs, shared layers and residual connections against real Keras.
#include "golden_layers.hpp"

namespace {

using golden::check_layer, golden::probe;

golden::file const& layers_file() {
  static auto const file = golden::read("layers.txt");
  return file;
}

template <int Batch, auto Layer, sc::shape... Shapes>
struct merged : sc::functional<merged<Batch, Layer, Shapes...>> {
  static constexpr auto build(auto& model) {
    // In braces, so that inputs and probes are made in order.
    std::array const inputs{model.input(Shapes)...};
    std::array<sc::symbolic_tensor, sizeof...(Shapes)> probed{};
    for (std::size_t i = 0; i < inputs.size(); ++i) probed[i] = probe(Batch)(inputs[i]);
    auto layer = Layer;
    return [&]<std::size_t... Input>(std::index_sequence<Input...>) {
      return layer(probed[Input]...);
    }(std::make_index_sequence<sizeof...(Shapes)>{});
  }
};

template <auto Layer>
void check_merge(std::string const& name) {
  constexpr sc::shape s{4};
  check_layer<merged<3, Layer, s, s>, 3>(layers_file(), name + "_2");
  if constexpr (Layer.most_inputs > 2) check_layer<merged<3, Layer, s, s, s>, 3>(layers_file(), name + "_3");
}

struct chain : sc::functional<chain> {
  static constexpr auto build(auto& model) {
    dense shared(4, sc::tanh);
    return shared(shared(probe(3)(model.input(4))));
  }
};

struct branches : sc::functional<branches> {
  static constexpr auto build(auto& model) {
    auto a = model.input(4), b = model.input(4);
    dense shared(5, sc::relu);
    auto first = probe(3)(a), second = probe(3)(b);
    return concatenate()(shared(first), shared(second));
  }
};

template <class Layer>
struct with_itself : sc::functional<with_itself<Layer>> {
  static constexpr auto build(auto& model) {
    auto x = probe(3)(model.input(4));
    return Layer{}(x, x);
  }
};

struct residual : sc::functional<residual> {
  static constexpr auto build(auto& model) {
    auto x = probe(3)(model.input(4));
    return add()(x, dense(4, {.name = "second"})(dense(4, sc::relu, {.name = "first"})(x)));
  }
};

}  // namespace

TEST_CASE("element by element") {
  check_merge<add{}>("add");
  check_merge<multiply{}>("multiply");
  check_merge<average{}>("average");
  check_merge<maximum{}>("maximum");
  check_merge<subtract{}>("subtract");
  check_layer<merged<2, add{}, sc::shape{3, 4}, sc::shape{3, 4}>, 2>(layers_file(), "add_rank3");
}

TEST_CASE("concatenate") {
  auto const& file = layers_file();
  using sc::shape;
  check_layer<merged<3, concatenate{}, shape{3}, shape{2}>, 3>(file, "concatenate_2");
  check_layer<merged<3, concatenate{}, shape{3}, shape{2}, shape{4}>, 3>(file, "concatenate_3");
  check_layer<merged<2, concatenate{1}, shape{3, 3}, shape{2, 3}>, 2>(file, "concatenate_axis1_2");
  check_layer<merged<2, concatenate{1}, shape{3, 3}, shape{2, 3}, shape{4, 3}>, 2>(file, "concatenate_axis1_3");
  check_layer<merged<2, concatenate{}, shape{3, 3}, shape{3, 2}>, 2>(file, "concatenate_rank3_2");
  check_layer<merged<2, concatenate{}, shape{3, 3}, shape{3, 2}, shape{3, 4}>, 2>(file, "concatenate_rank3_3");
}

TEST_CASE("shared layers, one tensor twice, residual connections") {
  auto const& file = layers_file();
  check_layer<chain, 3>(file, "shared_dense_chain");
  check_layer<branches, 3>(file, "shared_dense_branches");
  check_layer<with_itself<add>, 3>(file, "add_same_input");
  check_layer<with_itself<multiply>, 3>(file, "multiply_same_input");
  check_layer<residual, 3>(file, "residual");
}
