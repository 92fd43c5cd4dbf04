// SPDX-License-Identifier: BSD-3-Clause
// What a training on emulated IPUs comes to, for tests that compare one process with several.
#pragma once

#include <stagecraft/ipu.hpp>
#include <stagecraft/mpi.hpp>
#include <cstddef>
#include <cstdint>
#include <doctest/doctest.h>
#include <vector>
#include <xtensor/xtensor.hpp>

namespace on_ipus {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

constexpr sc::ipu_config random_halves(int ipus) {
  return {.auto_select_ipus = ipus,
          .floating_point_behaviour = {.inv = true, .oflo = true, .esr = sc::stochastic_rounding_behaviour::on}};
}
// Four ranks of an IPU each are as many devices: so many replicas are trained, unless a description says it.
using four_ipus = sc::ipu<random_halves(4)>;
using four_ranks = sc::cluster<sc::ipu<random_halves(1)>, sc::ranks{4}>;
static_assert(four_ranks::devices == 4 && sc::cluster<four_ipus, sc::ranks{2}>::devices == 8);

struct outcome {
  std::vector<double> losses;
  std::vector<float> predictions;
  std::vector<sc::weight_array> weights;

  bool operator==(outcome const&) const = default;
};

template <class Trainer>
outcome train(Trainer& model) {
  std::size_t const count = 4 * 4 * 8;
  xt::xtensor<float, 2> x = xt::zeros<float>({count, std::size_t{12}});
  xt::xtensor<std::int32_t, 1> y = xt::zeros<std::int32_t>({count});
  for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = static_cast<float>(i * 2654435761U % 2003) / 1000.0F - 1;
  for (std::size_t i = 0; i < count; ++i) y.data()[i] = static_cast<std::int32_t>(i * 40503U % 7 % 3);
  outcome result;
  auto const history = model.fit(x, y, {.epochs = 2, .verbose = 0});
  result.losses = history.history.at("loss");
  auto const predicted = model.predict(x);
  result.predictions.assign(predicted.begin(), predicted.end());
  result.weights = model.get_weights();
  CHECK(result.losses.size() == 2);
  CHECK(result.losses[1] < result.losses[0]);
  return result;
}

using perceptron = sc::sequential<input{12}, dense{24, sc::relu}, dropout{0.2F}, dense{3}>;

}  // namespace on_ipus
