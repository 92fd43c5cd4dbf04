// SPDX-License-Identifier: BSD-3-Clause
// Layers that are adapted to data learn and give what Keras's do.
#include <stagecraft/layers/layers.hpp>
#include <stagecraft/models/functional.hpp>
#include <stagecraft/training/predictor.hpp>
#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <string>
#include <tuple>

#include "../golden/golden.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

struct adapted : sc::functional<adapted> {
  static constexpr auto build(auto& model) {
    auto x = model.input(4, 3);
    return sc::outputs(normalization({.name = "features"})(x), normalization({.axis = {2, 1}, .name = "places"})(x),
                       normalization({.axis = sc::axis_list::none(), .name = "all"})(x),
                       discretization({.num_bins = 5, .name = "bins"})(x),
                       discretization({.num_bins = 3, .epsilon = 0.005F, .name = "exact_bins"})(x));
  }
};
constexpr auto single = sc::inference{.batch_size = 7};

void check(std::string const& name, auto const& found, golden::file const& file) {
  CAPTURE(name);
  auto const& expected = file[name].values;
  REQUIRE(found.size() == expected.size());
  double worst = 0;
  for (std::size_t i = 0; i < expected.size(); ++i)
    worst = std::max(worst, std::abs(static_cast<double>(found.data()[i]) - static_cast<double>(expected[i])));
  CHECK(worst <= 1e-5);
}

}  // namespace

TEST_CASE("adapt") {
  auto const file = golden::read("adapt.txt");
  auto const& data = file["data"].values;
  auto const samples = xt::adapt(data, std::array<std::size_t, 3>{150, 4, 3});
  sc::predictor<adapted, single> model;
  model.adapt<"features">(samples);
  model.adapt<"places">(samples);
  model.adapt<"all">(samples);
  model.adapt<"bins">(samples);
  model.adapt<"exact_bins">(samples);
  for (auto const& weight : model.get_weights()) {
    auto const name = weight.name.substr(0, weight.name.find(':'));
    if (name.ends_with("/count"))
      CHECK(weight.values[0] == (name == "places/count" ? 150 : name == "all/count" ? 1800 : 600));
    else
      check(name, weight.values, file);
  }
  auto const [features, places, all, bins, exact_bins] = model.predict(xt::eval(xt::view(samples, xt::range(0, 7))));
  check("features/output", features, file);
  check("places/output", places, file);
  check("all/output", all, file);
  check("bins/output", bins, file);
  check("exact_bins/output", exact_bins, file);

  CHECK_THROWS_WITH_AS(model.adapt<"all">(xt::xtensor<float, 2>(xt::zeros<float>({5, 4}))), doctest::Contains("E4001"),
                       sc::data_error);
  CHECK_THROWS_WITH_AS(model.adapt<"all">(xt::xtensor<float, 3>(xt::zeros<float>({0, 4, 3}))),
                       doctest::Contains("E4003"), sc::data_error);
}
