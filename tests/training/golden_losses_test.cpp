// SPDX-License-Identifier: BSD-3-Clause
// Ten steps of a model with an output for each loss, with and without sample weights, against real Keras.
#include <stagecraft/ipu.hpp>

#include "../losses/output_for_each_loss.hpp"
#include "golden_trainer.hpp"

#include <cmath>
#include <cstddef>

namespace {

template <class Machine>
void check_losses() {
  auto const file = golden::read("losses_training.txt");
  for (std::string const run : {"plain", "weighted"}) {
    CAPTURE(run);
    sc::trainer<laws::output_for_each_loss, laws::loss_for_each_output, Machine> model;
    golden::set_weights(model, file, "initial");
    std::vector<double> losses;
    for (std::size_t step = 0; step < 10; ++step) {
      std::size_t const first = 4 * step;
      auto const y = golden::rows(file["y"], first, 4);
      std::vector<sc::trainers::sample_source> targets{xt::xtensor<float, 2>(y + 1)};
      for (int i = 1; i < 16; ++i) targets.emplace_back(y);
      xt::xtensor<float, 1> classes = xt::zeros<float>({std::size_t{4}});
      xt::xtensor<float, 3> rows = xt::zeros<float>({std::size_t{4}, std::size_t{3}, std::size_t{4}});
      for (std::size_t i = 0; i < 4; ++i) {
        while (y(i, static_cast<std::size_t>(classes(i))) == 0) ++classes(i);
        for (std::size_t k = 0; k < 12; ++k) rows(i, k / 4, k % 4) = k / 4 == 1 ? 1 - y(i, k % 4) : y(i, k % 4);
      }
      targets.emplace_back(std::move(classes));
      for (int i = 0; i < 3; ++i) targets.emplace_back(rows);
      targets.emplace_back(xt::xtensor<float, 2>(2 * y));
      auto const& given = file["sample_weight"].values;
      std::vector<float> weights;
      if (run == "weighted")
        weights.assign(&given[first], &given[first] + 4);
      else
        weights.assign(4, 1.0F);
      auto const values =
          model.train_on_batch(golden::rows(file["x"], first, 4), sc::sample_set(std::move(targets)), weights);
      losses.insert(losses.end(), values.begin(), values.end());
    }
    // The percentages are near 50.
    double const of_losses = golden::deviation(losses, file[run + "/losses"].values);
    double const of_weights = golden::weight_deviation(model, file, run);
    CHECK(of_losses < 10 * golden::loss_tolerance);
    CHECK(of_weights < golden::weight_tolerance);
  }
}

template <class Loss>
constexpr auto with_cosines(Loss const& loss) {
  constexpr auto along_first = sc::metrics::cosine_similarity{.axis = 1};
  return sc::training{.optimizer = sc::optimizers::sgd{},
                      .loss = loss,
                      .metrics = {along_first, sc::metrics::mean_squared_error{}},
                      .weighted_metrics = along_first,
                      .batch_size = 4};
}

}  // namespace

TEST_CASE_TEMPLATE("a metric along another axis, beside a loss along the last one and along its own", Loss,
                   sc::losses::mean_squared_error, sc::losses::cosine_similarity) {
  constexpr auto loss = [] {
    Loss result;
    if constexpr (requires { result.axis; }) result.axis = 1;
    return result;
  }();
  static constexpr auto training = with_cosines(loss);
  xt::xtensor<float, 2> x = xt::xtensor<float, 2>::from_shape({7, 6});
  xt::xtensor<float, 3> y = xt::xtensor<float, 3>::from_shape({7, 2, 3});
  float at = 0;
  for (float& value : x) value = std::sin(at += 1.37F);
  for (float& value : y) value = std::sin(at += 0.71F);
  xt::xtensor<float, 1> const weights{1, 2, 0, 3, 1, 0.5F, 1};
  double plain = 0, weighted = 0, squares = 0;
  for (std::size_t i = 0; i < 7; ++i)
    for (std::size_t k = 0; k < 3; ++k) {
      double product = 0, of_x = 0, of_y = 0;
      for (std::size_t j = 0; j < 2; ++j) {
        double const a = static_cast<double>(x(i, 3 * j + k)), b = static_cast<double>(y(i, j, k));
        product += a * b;
        of_x += a * a;
        of_y += b * b;
        squares += (a - b) * (a - b) / 42;
      }
      double const cosine = product / std::sqrt(of_x * of_y);
      plain += cosine / 21;
      weighted += static_cast<double>(weights(i)) * cosine / 25.5;
    }
  sc::trainer<sc::sequential<sc::layers::input{6}, sc::layers::reshape{2, 3}>, training> model;
  auto const found = model.evaluate(x, y, {.verbose = 0, .sample_weight = weights});
  CHECK(found[1] == doctest::Approx(plain).epsilon(1e-5));
  CHECK(found[2] == doctest::Approx(squares).epsilon(1e-5));
  CHECK(found[3] == doctest::Approx(weighted).epsilon(1e-5));
}
TEST_CASE("an output for each loss") { check_losses<sc::host<>>(); }
TEST_CASE("an output for each loss, on tiles") { check_losses<sc::ipu<>>(); }
