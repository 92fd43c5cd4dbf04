// SPDX-License-Identifier: BSD-3-Clause
// Weights are found by their layers, and in a layer by their order, whatever a file calls them: Keras 3's scopes of
// models, graphs of TensorFlow 1, Keras 1, names with slashes, nested models (weight_names.tar.xz, which
// tests/golden/make_weight_names.py makes: the n-th weight is full of n).
#include <stagecraft/io/keras_files.hpp>
#include <stagecraft/io/weights.hpp>
#include <stagecraft/stagecraft.hpp>
#include <algorithm>
#include <doctest/doctest.h>
#include <string>
#include <utility>
#include <vector>

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

using encoder =
    sc::named<"encoder",
              sc::sequential<input{2}, dense{2}.named("a"), batch_normalization{}.named("n"), dense{2}.named("c")>>;

struct nested : sc::functional<nested> {
  static constexpr auto build(auto& model) {
    auto x = model.input(2);
    auto y = encoder{}(x);
    return dense{1}.named("b")(y);
  }
};

std::string file(std::string const& name) { return std::string(STAGECRAFT_WEIGHT_NAMES_DIR) + "/" + name; }

constexpr auto options = sc::inference{.batch_size = 1};

/// The places of the weights of layers a, n and c, in a model of that name; none for the outermost one.
std::vector<sc::io::weight_place> places_in(std::string const& model, std::string const& a, std::string const& n) {
  std::vector<sc::io::weight_place> places;
  auto const inside = model.empty() ? model : model + "/";
  auto const add = [&](std::string const& layer, char const* weight, bool trainable, std::vector<std::int64_t> shape) {
    places.push_back({inside + layer + "/" + weight + ":0", model.empty() ? layer : model, inside + layer, trainable,
                      std::move(shape)});
  };
  for (auto const& each : {a, n, std::string("c")}) {
    if (each == n) {
      for (char const* const weight : {"gamma", "beta"}) add(n, weight, true, {2});
      for (char const* const weight : {"moving_mean", "moving_variance"}) add(n, weight, false, {2});
    } else {
      add(each, "kernel", true, {2, 2});
      add(each, "bias", true, {2});
    }
  }
  return places;
}

void check_order(sc::tensor_file found, std::vector<sc::io::weight_place> const& places) {
  sc::io::name_keras_weights(found, places);
  CHECK(found.tensors.size() == places.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    CAPTURE(places[i].path);
    auto const* const tensor = found.find(places[i].path);
    REQUIRE(tensor != nullptr);
    CHECK(sc::io::to_floats(*tensor).at(0) == static_cast<float>(i + 1));
  }
}

}  // namespace

TEST_CASE("Weights of layers are found whatever they are called there") {
  for (char const* const name : {"sequential.h5", "sequential.weights.h5", "subclassed.h5", "subclassed.weights.h5",
                                 "second_graph.h5", "scopes.h5", "keras_1.h5"}) {
    CAPTURE(name);
    check_order(sc::io::read_keras_h5(file(name)), places_in("", "a", "n"));
  }
  check_order(sc::io::read_keras_archive(file("sequential.keras")), places_in("", "a", "n"));
  check_order(sc::io::read_keras_h5(file("slashes.h5")), places_in("", "block/a", "block/n"));
}

TEST_CASE("Weights of layers in nested models are found whatever they are called there") {
  for (char const* const name : {"nested.h5", "nested.weights.h5", "nested_frozen.h5", "nested_subclassed.weights.h5",
                                 "nested_second_graph.h5", "nested_frozen_second_graph.h5", "nested.keras"}) {
    CAPTURE(name);
    sc::predictor<nested, options> net;
    CHECK(net.load_weights(file(name)).count == 10);
    auto const weights = net.get_weights();
    REQUIRE(weights.size() == 10);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      CAPTURE(weights[i].name);
      CHECK(weights[i].values.at(0) == static_cast<float>(i + 1));
    }
  }
}

TEST_CASE("Weights of several cells have the order of the cells") {
  std::vector<sc::io::weight_place> places;
  std::string const layer = "loop";
  for (int i = 0; i < 13; ++i) {
    int const number = i < 6 ? i : i - 1;  // the seventh cell is another one
    auto const cell = i == 6 ? std::string("gru_cell")
                             : "simple_rnn_cell" + (number > 0 ? "_" + std::to_string(number) : std::string());
    for (char const* const weight : {"kernel", "recurrent_kernel", "bias"})
      places.push_back({layer + "/" + cell + "/" + weight + ":0", layer, layer, true, {}});
  }
  check_order(sc::io::read_keras_h5(file("cells.h5")), places);
  check_order(sc::io::read_keras_h5(file("cells.weights.h5")), places);
  check_order(sc::io::read_keras_archive(file("cells.keras")), places);
  // A cell that the model does not have takes no other cell's place.
  auto found = sc::io::read_keras_archive(file("cells.keras"));
  std::erase_if(places, [](auto const& place) { return place.path.starts_with("loop/gru_cell/"); });
  sc::io::name_keras_weights(found, places);
  CHECK(found.find("loop/*cells/gru_cell/") != nullptr);
  CHECK(sc::io::to_floats(*found.find("loop/simple_rnn_cell_10/kernel:0")).at(0) == 34);
}

TEST_CASE("Kernels of Keras on Theano are turned, and not read") {
  std::string what;
  try {
    static_cast<void>(sc::io::read_keras_h5(file("theano.h5")));
  } catch (sc::file_error const& why) {
    what = why.what();
  }
  CHECK(what.find("'/a/a/kernel:0' is a kernel of Keras on Theano") != std::string::npos);
  CHECK(what.ends_with("[E5221]"));
}

TEST_CASE("What a group has and the model has not is said") {
  auto found = sc::io::read_keras_h5(file("nested.h5"));
  auto places = places_in("encoder", "a", "n");
  std::erase_if(places, [](auto const& place) { return place.layer == "encoder/n"; });
  sc::io::name_keras_weights(found, places);
  std::vector<std::string> names;
  for (auto const& each : found.tensors) names.push_back(each.name);
  CHECK(names == std::vector<std::string>{"encoder/a/kernel:0", "encoder/a/bias:0", "encoder/encoder/n/gamma",
                                          "encoder/encoder/n/beta", "encoder/c/kernel:0", "encoder/c/bias:0",
                                          "encoder/encoder/n/moving_mean", "encoder/encoder/n/moving_variance",
                                          "b/b/kernel", "b/b/bias"});
}
