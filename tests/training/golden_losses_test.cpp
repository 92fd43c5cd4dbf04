// SPDX-License-Identifier: BSD-3-Clause
// Ten steps of a model with an output for each loss, with and without sample weights, against real Keras.
#include <stagecraft/ipu.hpp>

#include "../losses/output_for_each_loss.hpp"
#include "golden_trainer.hpp"

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

}  // namespace

TEST_CASE("an output for each loss") { check_losses<sc::host<>>(); }
TEST_CASE("an output for each loss, on tiles") { check_losses<sc::ipu<>>(); }
