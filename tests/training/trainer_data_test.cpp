// SPDX-License-Identifier: BSD-3-Clause
// Data of every kind trains a model in the same way.
#include "trainer_cases.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

using cases::samples, cases::trainer;

namespace {

std::vector<sc::weight_array> trained(sc::sample_set const& x, sc::sample_set const& y) {
  trainer model;
  model.fit(x, y, {.epochs = 2, .verbose = 0});
  return model.get_weights();
}

/// Has no finite value at zero.
struct logarithm : sc::layer<logarithm> {
  static constexpr std::string_view class_name = "Logarithm";
  [[nodiscard]] constexpr sc::shape output_shape(sc::layer_inputs const& in) const { return in[0]; }
  void forward(auto const& call) const {
    for (std::size_t i = 0; i < call.output().size(); ++i) call.output()[i] = std::log(call.input()[i]);
  }
  void backward(auto const& call) const {
    for (std::size_t i = 0; i < call.output().size(); ++i)
      call.input_gradient()[i] += call.output_gradient()[i] / call.input()[i];
  }
};

}  // namespace

TEST_CASE("containers, views and lazy expressions of any number type") {
  samples data(20);
  for (float& value : data.x)
    value = static_cast<float>(static_cast<int>(4 * value));  // whole, so that all types hold it
  auto const expected = trained(data.x, data.y);
  xt::xarray<double> const doubles = data.x;
  xt::xtensor<std::uint8_t, 2> const bytes = data.x;
  xt::xtensor<float, 2, xt::layout_type::column_major> const columns = data.x;
  CHECK(trained(doubles, data.y) == expected);
  CHECK(trained(bytes, data.y) == expected);
  CHECK(trained(columns, data.y) == expected);
  CHECK(trained(data.x / 1.0F, data.y) == expected);
  CHECK(trained(xt::view(data.x, xt::range(0, 20)), data.y) == expected);

  CHECK(trained(data.x, std::vector<std::uint8_t>(data.y.begin(), data.y.end())) == expected);
  CHECK(trained(data.x, std::vector<double>(data.y.begin(), data.y.end())) == expected);
  CHECK(trained(data.x, std::span<int const>(data.y)) == expected);
  xt::xtensor<int, 2> const column = xt::adapt(data.y, std::vector<std::size_t>{20, 1});
  CHECK(trained(data.x, column) == expected);
}

TEST_CASE("samples of another rank are refused, unless a last axis of one is missing or too many") {
  using one_number = sc::sequential<input{1}, dense{1}>;
  static constexpr auto regression = sc::training{.batch_size = 8};
  sc::trainer<one_number, regression> model;
  std::vector<float> const x{1, 2, 3}, y{2, 4, 6};
  model.fit(x, y, {.verbose = 0});
  xt::xtensor<float, 3> const cube({3, 1, 1}, 1.0F);
  model.fit(cube, y, {.verbose = 0});
  CHECK(model.predict(x).shape()[1] == 1);
}

TEST_CASE("many arrays") {
  std::vector<float> const a{1}, b{2}, c{3};
  for (sc::sample_set const& set : {sc::inputs(a, b, c), sc::inputs(a, b, c, a, b, c, a)}) {
    int index = 0;
    for (auto const& array : set) CHECK(array.at(0) == 1 + index++ % 3);
    CHECK(index == set.size());
    auto const copy = set.slice(0, 1);
    CHECK(copy[set.size() - 1].at(0) == set[set.size() - 1].at(0));
  }
}

TEST_CASE("a partial batch does not bring values that are not in the data") {
  using of_logarithms = sc::sequential<input{4}, logarithm{}, dense{3}>;
  samples data(11);
  for (float& value : data.x) value += 0.5F;
  sc::trainer<of_logarithms, cases::training> model;
  model.fit(data.x, data.y, {.verbose = 0});
  CHECK(std::isfinite(model.evaluate(data.x, data.y, {.verbose = 0})[0]));
}

// As in Keras, 0 times NaN is NaN; rows that only fill the last batch are no samples.
TEST_CASE("a sample with weight 0 counts for nothing, unless its target is NaN") {
  using line = sc::sequential<input{1}, dense{1}>;
  static constexpr auto of_line = sc::training{.batch_size = 4};
  std::vector<float> const x(6, 1.0F), weights{1, 1, 0, 1, 1, 0};
  auto const loss = [&](float target) {
    std::vector<float> const y{0, 1, target, 1, 0, target};
    sc::trainer<line, of_line> model(1);
    return std::array{model.evaluate(x, y, {.verbose = 0, .sample_weight = weights})[0],
                      model.train_on_batch(std::vector<float>(3, 1.0F), std::vector<float>{0, 1, target},
                                           std::vector<float>{1, 1, 0})[0],
                      static_cast<double>(model.weight<"dense/bias">()(0))};
  };
  CHECK(loss(3) == loss(-100));
  for (double const each : loss(3)) CHECK(std::isfinite(each));
  for (double const each : loss(std::numeric_limits<float>::quiet_NaN())) CHECK(std::isnan(each));
}
