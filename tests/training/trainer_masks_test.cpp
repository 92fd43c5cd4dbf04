// SPDX-License-Identifier: BSD-3-Clause
// Masked steps of outputs: as in Keras 2.6, their losses are multiplied by 0, and metrics are means over the others.
#include <stagecraft/ipu.hpp>
#include <stagecraft/stagecraft.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <vector>

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

constexpr std::size_t samples = 7, steps = 5, columns = 2;

using words = sc::sequential<input{5}, embedding{7, 4, {.mask_zero = true}}, lstm{3, {.return_sequences = true}},
                             dense{2, sc::tanh}>;
/// An output that has no mask beside one whose mask two inputs tell.
struct two_inputs : sc::functional<two_inputs> {
  static constexpr auto build(auto& model) {
    auto a = masking({.mask_value = -1})(model.input(5, 2));
    auto b = embedding(7, 2, {.mask_zero = true})(model.input(5));
    auto both = dense(2)(add()(a, b));
    return sc::outputs(both, dense(2)(lstm(3)(both)));
  }
};

inline constexpr auto training = sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = 0.5F},
                                              .loss = sc::losses::mean_squared_error{},
                                              .metrics = sc::metrics::mae{},
                                              .weighted_metrics = sc::metrics::mae{},
                                              .batch_size = 4};

xt::xtensor<float, 2> made_words() {
  xt::xtensor<float, 2> x = xt::zeros<float>({samples, steps});
  for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = static_cast<float>(i * i % 11 % 7);
  return x;
}
/// What stands at masked steps depends on `filling`.
xt::xtensor<float, 3> made_targets(xt::xtensor<float, 2> const& x, float filling) {
  xt::xtensor<float, 3> y = xt::zeros<float>({samples, steps, columns});
  for (std::size_t i = 0; i < y.size(); ++i)
    y.data()[i] = x.data()[i / columns] == 0 ? filling : std::sin(static_cast<float>(i));
  return y;
}

template <class Trainer>
void check_evaluation() {
  Trainer model;
  auto const x = made_words();
  auto const y = made_targets(x, 5);
  std::vector<float> const weights{1, 2, 0.5F, 0, 1, 3, 1};
  xt::xtensor<float, 3> const predicted = model.predict(x);
  double loss = 0, mae = 0, weighted = 0, count = 0, weight = 0;
  for (std::size_t first = 0; first < samples; first += 4) {  // a loss is the mean over its batch
    double of_batch = 0;
    std::size_t const end = std::min(first + 4, samples);
    for (std::size_t i = first; i < end; ++i)
      for (std::size_t t = 0; t < steps; ++t) {
        if (x(i, t) == 0) continue;
        double squares = 0, distances = 0;
        for (std::size_t k = 0; k < columns; ++k) {
          double const error = double{predicted(i, t, k)} - double{y(i, t, k)};
          squares += error * error / columns;
          distances += std::fabs(error) / columns;
        }
        of_batch += squares * double{weights[i]};
        mae += distances;
        count += 1;
        weighted += distances * double{weights[i]};
        weight += double{weights[i]};
      }
    loss += of_batch / static_cast<double>((end - first) * steps) * static_cast<double>(end - first) / samples;
  }
  auto const found = model.evaluate(x, y, {.verbose = 0, .sample_weight = weights});
  CHECK(found[0] == doctest::Approx(loss).epsilon(1e-5));
  CHECK(found[1] == doctest::Approx(mae / count).epsilon(1e-5));
  CHECK(found[2] == doctest::Approx(weighted / weight).epsilon(1e-5));
}

template <class Trainer>
auto trained(float filling) {
  Trainer model;
  auto const x = made_words();
  model.fit(x, made_targets(x, filling), {.epochs = 2, .verbose = 0});
  return xt::xtensor<float, 2>(model.template weight<"lstm/kernel">());
}

}  // namespace

TEST_CASE("losses and metrics of outputs with masked steps") { check_evaluation<sc::trainer<words, training>>(); }

TEST_CASE("what stands at masked steps does not matter, on any machine") {
  using host = sc::trainer<words, training>;
  auto const expected = trained<host>(0);
  CHECK(expected == trained<host>(100));
  using tiles = sc::trainer<words, training, sc::ipu<>>;
  check_evaluation<tiles>();
  auto const on_ipu = trained<tiles>(100);
  for (std::size_t i = 0; i < expected.size(); ++i)
    CHECK(on_ipu.data()[i] == doctest::Approx(expected.data()[i]).epsilon(1e-4));
}

TEST_CASE("a step counts if it does for all inputs; other outputs have all of theirs") {
  sc::trainer<two_inputs, training> model;
  auto const b = made_words();
  xt::xtensor<float, 3> a = xt::zeros<float>({samples, steps, std::size_t{2}});
  for (std::size_t i = 0; i < a.size(); ++i) a.data()[i] = i / 2 % 3 == 0 ? -1.0F : std::cos(static_cast<float>(i));
  xt::xtensor<float, 3> y = xt::zeros<float>({samples, steps, columns});
  xt::xtensor<float, 2> const z = xt::ones<float>({samples, columns});
  auto const inputs = sc::inputs(a, b);
  auto const before = model.evaluate(inputs, sc::targets(y, z), {.verbose = 0});
  for (std::size_t i = 0; i < samples; ++i)
    for (std::size_t t = 0; t < steps; ++t)
      if (b(i, t) == 0 || (i * steps + t) % 3 == 0) y(i, t, 0) = y(i, t, 1) = 50;
  CHECK(model.evaluate(inputs, sc::targets(y, z), {.verbose = 0}) == before);
  for (std::size_t i = 0; i < steps; ++i) y(0, i, 0) = 50;
  CHECK(model.evaluate(inputs, sc::targets(y, z), {.verbose = 0}) != before);
}
