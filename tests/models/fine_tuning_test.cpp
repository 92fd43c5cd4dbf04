// SPDX-License-Identifier: BSD-3-Clause
// Models made of others: which layers are frozen, where shortened models end, and ten steps of fine-tuning beside
// Keras's.
#include <stagecraft/applications/resnet50.hpp>
#include <stagecraft/models/fine_tuning.hpp>
#include <stagecraft/stagecraft.hpp>
#include <cmath>
#include <cstddef>
#include <doctest/doctest.h>
#include <string>
#include <string_view>
#include <vector>

#include "../golden/golden.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

struct base : sc::functional<base> {
  static constexpr std::string_view name = "base";

  static constexpr auto build(auto& model) {
    auto x = model.input(6, 6, 2);
    for (int block = 1; block <= 2; ++block) {
      auto const named = [&](std::string_view rest) { return sc::fixed_name("block").append(block).append(rest); };
      x = conv2d(3, 3, {.padding = sc::padding::same, .use_bias = false}).named(named("_conv"))(x);
      x = batch_normalization().named(named("_bn"))(x);
      x = activation(sc::tanh).named(named("_tanh"))(x);
    }
    return dense(5, {.name = "predictions"})(global_average_pooling2d({.name = "pool"})(x));
  }
};
using part = sc::frozen<sc::without_top<base, 1>, "block1_.*">;
using tuned = sc::sequential<input{6, 6, 2}, part{}, dense{3, {.name = "classes"}}>;

// Where models end ----------------------------------------------------------------------------------------------------

template <class M>
constexpr std::string_view last_layer_of() {
  auto const& graph = sc::graph_of<M>;
  return graph.layer_of(graph.model_outputs[graph.nested_models[0].first_output]).name;
}
template <class M>
constexpr sc::shape output_shape() {
  auto const& graph = sc::graph_of<M>;
  return graph.call(graph.model_outputs[graph.nested_models[0].first_output]).shape;
}
static_assert(last_layer_of<base>() == "predictions");
static_assert(last_layer_of<sc::without_top<base>>() == "pool");
static_assert(last_layer_of<sc::without_top<base, 2>>() == "block2_tanh");
static_assert(last_layer_of<sc::layer_output<base, "block1_bn">>() == "block1_bn");
static_assert(sc::call_count<sc::layer_output<base, "block1_bn">> == 3, "what nothing needs is gone");
static_assert(sc::graph_of<part>.name() == "base");

using resnet = sc::applications::resnet50<sc::applications::application_options{.height = 32, .width = 32}>;
static_assert(last_layer_of<sc::without_top<resnet, 2>>() == "conv5_block3_out");
static_assert(output_shape<sc::layer_output<resnet, "conv4_block6_out">>() == sc::shape(2, 2, 1024));

/// Default names count on where a model is called, also those of layers that are gone; patterns and names are those of
/// the model alone.
using stack = sc::sequential<input{4}, dense{8}, dense{6}, dropout{0.5F}, dense{2}>;
using first_frozen = sc::frozen<sc::layer_output<stack, "dense_1">, "dense$">;
using around = sc::sequential<input{4}, dense{4}, first_frozen{}, dense{1}>;
static_assert(last_layer_of<sc::without_top<stack, 1>>() == "dropout");

/// A nested model is one of the layers, as in Keras.
struct outer : sc::functional<outer> {
  static constexpr auto build(auto& model) { return dense(2)(stack{}.named("stack")(dense(4)(model.input(3)))); }
};
static_assert(output_shape<sc::without_top<outer, 1>>() == sc::shape(2));
static_assert(output_shape<sc::layer_output<outer, "stack">>() == sc::shape(2));
static_assert(output_shape<sc::without_top<outer, 2>>() == sc::shape(4));

// Which weights are frozen --------------------------------------------------------------------------------------------

template <class M>
inline constexpr auto trained_text = [] {
  sc::fixed_text<1000> result;
  auto const& graph = sc::graph_of<M>;
  for (auto const& layer : graph.layers) {
    bool trains = false;
    for (int i = 0; i < layer.parameter_count; ++i)
      trains = trains || graph.parameters[layer.first_parameter + i].trainable;
    if (trains) result.append(layer.name.view()).append(' ');
  }
  return result;
}();
template <class M>
constexpr std::string_view trained_layers() {
  return trained_text<M>.view();
}
static_assert(trained_layers<base>() == "block1_conv block1_bn block2_conv block2_bn predictions ");
static_assert(trained_layers<part>() == "block2_conv block2_bn ");
static_assert(trained_layers<tuned>() == "block2_conv block2_bn classes ");
static_assert(trained_layers<sc::frozen<base>>() == "");
static_assert(trained_layers<sc::frozen<sc::frozen<base, "block1">, ".*_bn">>() == "block2_conv predictions ");
constexpr auto trained_of_resnet = trained_layers<sc::frozen<resnet, "conv[1-4]_.*">>();
static_assert(trained_of_resnet.find("conv4_") == std::string_view::npos);
static_assert(trained_of_resnet.find("conv5_block3_3_bn ") != std::string_view::npos);
static_assert(trained_layers<around>() == "dense dense_2 dense_4 ");

template <class Array, class Values>
Array filled(Array array, Values const& tensor) {
  for (std::size_t i = 0; i < array.size(); ++i)
    array.flat(i) = static_cast<typename Array::value_type>(tensor.values[i]);
  return array;
}
std::vector<sc::weight_array> weights_of_file(golden::file const& file, std::string const& when) {
  std::vector<sc::weight_array> result;
  for (int i = 0; file.contains(when + std::to_string(i)); ++i) {
    auto const& tensor = file[when + std::to_string(i)];
    result.push_back({{}, {tensor.shape.begin(), tensor.shape.end()}, tensor.values});
  }
  return result;
}
double largest_difference(std::vector<float> const& a, std::vector<float> const& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    REQUIRE(std::isfinite(a[i]));
    largest = std::max(largest, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  }
  return largest;
}

inline constexpr auto training =
    sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = 0.05F, .momentum = 0.9F},
                 .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                 .batch_size = 8};

}  // namespace

TEST_CASE("ten steps of fine-tuning have Keras's losses and weights") {
  auto const file = golden::read("fine_tuning.txt");
  sc::trainer<tuned, training> model;
  auto const before = weights_of_file(file, "before/"), after = weights_of_file(file, "after/");
  model.set_weights(before);
  auto const pictures = [&](int i) {
    return filled(xt::xtensor<float, 4>(xt::zeros<float>({8, 6, 6, 2})), file["x/" + std::to_string(i)]);
  };
  auto const classes = [&](int i) {
    return filled(xt::xtensor<int, 1>(xt::zeros<int>({8})), file["y/" + std::to_string(i)]);
  };
  for (int step = 0; step < 10; ++step) {
    CAPTURE(step);
    CHECK(std::abs(model.train_on_batch(pictures(step % 2), classes(step % 2))[0] -
                   static_cast<double>(file["losses"][static_cast<std::size_t>(step)])) < 1e-5);
  }
  auto const found = model.get_weights();
  REQUIRE(found.size() == after.size());
  REQUIRE(found.size() == 12);
  for (std::size_t i = 0; i < found.size(); ++i) {
    CAPTURE(found[i].name);
    CHECK(largest_difference(found[i].values, after[i].values) < 1e-5);
    bool const frozen = i < 5;  // the first convolution, and its normalization with the moving statistics
    CHECK((largest_difference(found[i].values, before[i].values) == 0) == frozen);
  }
  xt::xtensor<float, 2> const predicted = model.predict(pictures(0));
  CHECK(largest_difference({predicted.begin(), predicted.end()}, file["predicted"].values) < 1e-5);
}

TEST_CASE("weights of a whole model go into the part that is left of it") {
  sc::trainer<base, training> whole;
  sc::trainer<tuned, training> model;
  auto weights = whole.get_weights();
  weights.resize(weights.size() - 2);
  model.set_weights<"base">(weights);
  auto const found = model.get_weights<"base">();
  REQUIRE(found.size() == 10);
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i].values == weights[i].values);
}
