// SPDX-License-Identifier: BSD-3-Clause
// The golden files are whole, and their reader reads them.
#include "golden.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

TEST_CASE("activations.txt holds what std::exp and std::tanh give") {
  auto const file = golden::read("activations.txt");
  auto const& x = file["grid/x"];
  REQUIRE(x.shape == std::vector<std::size_t>{x.size()});
  for (std::size_t i = 0; i < x.size(); ++i) {
    CHECK(file["grid/linear/y"][i] == x[i]);
    CHECK(file["grid/exponential/y"][i] == doctest::Approx(std::exp(x[i])).epsilon(1e-6));
    CHECK(file["grid/tanh/dx"][i] / file["grid/dy"][i] ==
          doctest::Approx(1 - std::tanh(x[i]) * std::tanh(x[i])).epsilon(1e-5));
  }
  CHECK(std::isinf(file["far/exponential/y"].values.back()));
  auto const& softmax = file["softmax/y"];
  REQUIRE(softmax.shape == std::vector<std::size_t>{10, 7});
  for (std::size_t row = 0; row < 10; ++row) {
    float sum = 0;
    for (std::size_t i = 0; i < 7; ++i) sum += softmax[row * 7 + i];
    CHECK(sum == doctest::Approx(1));
  }
}

TEST_CASE("a missing file or tensor is an error that names it") {
  CHECK_THROWS_WITH_AS(golden::read("absent.txt"), doctest::Contains("absent.txt"), std::runtime_error);
  auto const file = golden::read("activations.txt");
  CHECK_THROWS_WITH_AS((void)file["absent"], doctest::Contains("'absent' in activations.txt"), std::runtime_error);
  CHECK(file.contains("softmax/x"));
  CHECK(file.names("softmax/") == std::vector<std::string>{"x", "dy", "y", "dx"});
}

TEST_CASE("losses.txt: the mean of the weighted rows is the loss") {
  auto const file = golden::read("losses.txt");
  for (auto const& name : file.names()) {
    auto const end = name.find("/rows");
    if (end == std::string::npos) continue;
    auto const loss = name.substr(0, end);
    CAPTURE(loss);
    auto const& rows = file[name];
    double sum = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      bool const weighted = file.contains(loss + "/sample_weight");
      auto const per_row = weighted ? rows.size() / file[loss + "/sample_weight"].size() : 1;
      sum += rows[i] * (weighted ? file[loss + "/sample_weight"][i / per_row] : 1);
    }
    CHECK(file[loss + "/loss"].scalar() == doctest::Approx(sum / static_cast<double>(rows.size())).epsilon(1e-6));
    CHECK(file[loss + "/gradient"].shape == file[loss + "/prediction"].shape);
  }
}

TEST_CASE("optimizers.txt: plain gradient descent") {
  auto const file = golden::read("optimizers.txt");
  auto const& gradients = file["gradients"];
  auto const& weights = file["sgd/weights"];
  REQUIRE(weights.shape == gradients.shape);
  auto expected = file["weights"].values;
  for (std::size_t step = 0; step < 10; ++step)
    for (std::size_t i = 0; i < 7; ++i) {
      expected[i] -= file["sgd/learning_rate"].scalar() * gradients[step * 7 + i];
      CHECK(weights[step * 7 + i] == doctest::Approx(expected[i]).epsilon(1e-6));
    }
}

TEST_CASE("perceptron*.txt: all runs start from the same weights, and differ after ten steps") {
  auto const file = golden::read("perceptron.txt");
  REQUIRE(file["x"].shape == std::vector<std::size_t>{80, 20});
  CHECK(file["y"].integers().size() == 80);
  float const first = file["adam/losses"][0];
  for (std::string const name : {"sgd_momentum", "sgd_nesterov", "rmsprop", "adam"}) {
    CAPTURE(name);
    CHECK(file[name + "/losses"].size() == 10);
    CHECK(file[name + "/losses"][0] == first);
    float moved = 0;
    for (std::string const weight : {"dense/kernel", "dense_1/bias", "dense_2/kernel"}) {
      auto const& before = file["initial/" + weight];
      auto const& after = file[name + "/" + weight];
      REQUIRE(after.shape == before.shape);
      for (std::size_t i = 0; i < after.size(); ++i) moved = std::max(moved, std::abs(after[i] - before[i]));
    }
    CHECK(moved > 0.05F);
  }
  auto const options = golden::read("perceptron_options.txt");
  CHECK(options["softmax/losses"][0] == doctest::Approx(first).epsilon(1e-6));
  CHECK(options["regularized/losses"][0] > first);

  auto const fit = golden::read("perceptron_fit.txt");
  CHECK(fit.names("plain/history/") == std::vector<std::string>{"loss", "accuracy"});
  CHECK(fit.names("validation_data/history/") ==
        std::vector<std::string>{"loss", "accuracy", "val_loss", "val_accuracy"});
  CHECK(fit.names("sample_weight/history/") == std::vector<std::string>{"loss", "accuracy", "weighted_accuracy"});
  CHECK(fit["plain/predict"].shape == std::vector<std::size_t>{20, 10});
}

TEST_CASE("layers.txt: a dense layer") {
  auto const file = golden::read("layers.txt");
  auto const& x = file["dense/input_0"];
  auto const& kernel = file["dense/kernel"];
  REQUIRE(kernel.shape == std::vector<std::size_t>{6, 5});
  for (std::size_t row = 0; row < 4; ++row)
    for (std::size_t unit = 0; unit < 5; ++unit) {
      float sum = file["dense/bias"][unit];
      for (std::size_t k = 0; k < 6; ++k) sum += x[row * 6 + k] * kernel[k * 5 + unit];
      CHECK(file["dense/output"][row * 5 + unit] == doctest::Approx(sum).epsilon(1e-5));
    }
  CHECK(file["concatenate_axis1_3/output"].shape == std::vector<std::size_t>{2, 9, 3});
  for (auto const& name : file.names())
    if (name.size() > 9 && name.substr(name.size() - 9) == "_gradient")
      CHECK(file[name].shape == file[name.substr(0, name.size() - 9)].shape);
}

TEST_CASE("functional.txt: Keras's names of losses and metrics") {
  auto const file = golden::read("functional.txt");
  CHECK(file.names("two_outputs/fit/history/") ==
        std::vector<std::string>{"loss", "a_loss", "b_loss", "a_accuracy", "b_mae", "val_loss", "val_a_loss",
                                 "val_b_loss", "val_a_accuracy", "val_b_mae"});
  CHECK(file["shared_model/losses"].size() == 5);
  for (std::size_t step = 0; step < 5; ++step) {
    auto const& losses = file["two_outputs_weighted/losses"];
    CHECK(losses[step * 3] == doctest::Approx(0.25F * losses[step * 3 + 1] + 2 * losses[step * 3 + 2]).epsilon(1e-6));
  }
  for (std::string const name : {"shared_model", "nested_model", "two_outputs"})
    for (auto const& weight : file.names(name + "/initial/"))
      CHECK(file[name + "/final/" + weight].shape == file[name + "/initial/" + weight].shape);
}

TEST_CASE("metrics.txt: classes that share the k-th place count as among the k") {
  auto const file = golden::read("metrics.txt");
  std::string const name = "sparse_top_k_categorical_accuracy_3";
  int hits = 0;
  int rows = 0;
  for (std::size_t batch = 0; batch < 3; ++batch) {
    auto const labels = file[name + "/target_" + std::to_string(batch)].integers();
    auto const& prediction = file[name + "/prediction_" + std::to_string(batch)];
    for (std::size_t row = 0; row < labels.size(); ++row, ++rows) {
      int larger = 0;
      for (std::size_t i = 0; i < 8; ++i)
        larger += prediction[row * 8 + i] > prediction[row * 8 + static_cast<std::size_t>(labels[row])];
      hits += larger < 3;
    }
    CHECK(file[name + "/results"][batch] == doctest::Approx(static_cast<double>(hits) / rows));
  }
}

TEST_CASE("summary texts: every line of a table is as long as its frame") {
  for (std::string const name : {"summary_sequential.txt", "summary_functional.txt", "summary_nested.txt",
                                 "pipeline_summary_sequential.txt", "pipeline_summary_nested.txt"}) {
    CAPTURE(name);
    std::istringstream text(golden::read_text(name));
    std::string title;
    std::string frame;
    std::getline(text, title);
    std::getline(text, frame);
    CHECK(title.substr(0, 8) == "Model: \"");
    CHECK(frame == std::string(frame.size(), '_'));
    for (std::string line; std::getline(text, line);)
      if (line.find("params: ") == std::string::npos && line.substr(0, 14) != "Nested Model: ")
        CHECK(line.size() == frame.size());
  }
}

TEST_CASE("initializers.txt: bounds of a uniform distribution and its deviation") {
  auto const file = golden::read("initializers.txt");
  for (std::string const shape : {"300x200", "64x400", "5x5x8x16"}) {
    auto const& fans = file["fans/" + shape];
    float const limit = std::sqrt(6 / (fans[0] + fans[1]));
    CHECK(file["glorot_uniform/" + shape + "/bounds"][1] == doctest::Approx(limit).epsilon(1e-6));
    CHECK(file["glorot_uniform/" + shape + "/moments"][1] == doctest::Approx(limit / std::sqrt(3.F)).epsilon(1e-6));
  }
  CHECK(std::isinf(file["random_normal/300x200/bounds"][0]));
  CHECK(file["identity/2x4/values"].values == std::vector<float>{1, 0, 0, 0, 0, 1, 0, 0});
}

namespace {

// How Keras orders the calls of a functional model, in as few lines as it takes: depth-first from the outputs, then,
// from the last finished call to the first, a call hands its depth plus one to its inputs. A layer that is called more
// than once keeps the largest depth seen so far. Within a depth, calls stand in the order in which they got a depth.
struct keras_order {
  std::vector<int> layers;
  std::vector<std::vector<int>> inputs;  // per call
  std::vector<int> finished;
  std::vector<int> reached;  // calls in the order in which they got a depth
  std::vector<int> depths;
  std::vector<bool> seen;

  void finish(int call) {
    if (seen[static_cast<std::size_t>(call)]) return;
    seen[static_cast<std::size_t>(call)] = true;
    for (int const input : inputs[static_cast<std::size_t>(call)]) finish(input);
    finished.push_back(call);
  }
  void reach(int call, int depth) {
    auto& known = depths[static_cast<std::size_t>(call)];
    if (known < 0) reached.push_back(call);
    known = std::max(known, depth);
  }
  keras_order(golden::file const& file, std::string const& name) : layers(file[name + "/layers"].integers()) {
    auto const counts = file[name + "/input_counts"].integers();
    auto const flat = file[name + "/inputs"].integers();
    auto next = flat.begin();
    for (int const count : counts) {
      inputs.emplace_back(next, next + count);
      next += count;
    }
    depths.assign(layers.size(), -1);
    seen.assign(layers.size(), false);
    for (int const output : file[name + "/outputs"].integers()) finish(output);
    std::vector<int> layer_depths(layers.size(), 0);
    for (auto each = finished.rbegin(); each != finished.rend(); ++each) {
      auto const call = static_cast<std::size_t>(*each);
      auto& layer_depth = layer_depths[static_cast<std::size_t>(layers[call])];
      reach(*each, layer_depth);
      layer_depth = depths[call];
      for (int const input : inputs[call]) reach(input, depths[call] + 1);
    }
  }
  [[nodiscard]] std::vector<int> order() const {
    std::vector<int> result;
    for (int depth = static_cast<int>(layers.size()); depth >= 0; --depth)
      for (int const call : reached)
        if (depths[static_cast<std::size_t>(call)] == depth && !inputs[static_cast<std::size_t>(call)].empty())
          result.push_back(call);
    return result;
  }
};

}  // namespace

TEST_CASE("depth_order.txt: the order of calls follows from the graph") {
  auto const file = golden::read("depth_order.txt");
  int cases = 0;
  for (auto const& name : file.names()) {
    auto const end = name.find("/order");
    if (end == std::string::npos) continue;
    ++cases;
    CAPTURE(name);
    keras_order const keras(file, name.substr(0, end));
    CHECK(keras.order() == file[name].integers());
    CHECK(keras.depths == file[name.substr(0, end) + "/depths"].integers());
  }
  CHECK(cases == 42);
}
