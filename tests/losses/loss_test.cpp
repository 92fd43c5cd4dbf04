// SPDX-License-Identifier: BSD-3-Clause
// Losses: the vocabulary, and their kernels against the scalar formulas, Keras and finite differences.
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include <stagecraft/host/lists/traced_loss.hpp>
#include <stagecraft/kernels/loss/loss.hpp>
#include <stagecraft/losses/along_axis.hpp>
#include <stagecraft/losses/losses.hpp>
#include <doctest/doctest.h>

#include "../golden/golden.hpp"
#include "../kernels/reference_formulas.hpp"
#include "loss_table.hpp"

namespace losses = stagecraft::losses;
namespace kernels = stagecraft::kernels;
namespace reference = stagecraft::kernels::reference;

static_assert(losses::sparse_categorical_crossentropy::sparse_targets && !losses::huber::sparse_targets);
static_assert(losses::huber{}.delta == 1 && losses::binary_crossentropy::name == "binary_crossentropy");
static_assert(!losses::categorical_crossentropy{}.from_logits);
static_assert(std::is_same_v<kernels::target_type<losses::sparse_categorical_crossentropy{}>, std::int32_t>);

namespace {

bool near(double got, double expected, double relative, double absolute) {
  if (std::isnan(expected)) return std::isnan(got);
  if (std::isinf(expected)) return got == expected;
  return std::fabs(got - expected) <= relative * std::fabs(expected) + absolute;
}

template <auto Loss>
constexpr bool probabilities() {
  if constexpr (requires { Loss.from_logits; }) return !Loss.from_logits;
  return false;
}

template <auto Loss, int Columns>
void check_against_formula() {
  CAPTURE(Columns);
  CAPTURE(std::string(Loss.name));
  constexpr int rows = 5;
  constexpr int target_columns = Loss.sparse_targets ? 1 : Columns;
  std::vector<float> prediction(rows * Columns + 1, -77.0F);
  std::vector<kernels::target_type<Loss>> target(rows * target_columns);
  for (int row = 0; row < rows; ++row) {
    float total = 0;
    for (int i = 0; i < Columns; ++i) {
      auto const at = static_cast<std::size_t>(row * Columns + i);
      double const wave = std::sin(1.3 * static_cast<double>(at) + 0.5);
      prediction[at] = static_cast<float>(probabilities<Loss>() ? 0.5 + 0.48 * wave : 4 * wave);
      if constexpr (!Loss.sparse_targets)
        total += target[at] = static_cast<float>(0.5 + 0.4 * std::cos(2.2 * static_cast<double>(at)));
    }
    if constexpr (Loss.sparse_targets) target[static_cast<std::size_t>(row)] = (7 * row + 3) % Columns;
    if constexpr (std::is_same_v<std::remove_const_t<decltype(Loss)>, losses::categorical_crossentropy>)
      for (int i = 0; i < Columns; ++i) target[static_cast<std::size_t>(row * Columns + i)] /= total;
  }
  std::vector<float> const scale{0.2F, 0.7F, 0.0F, 1.0F, 0.05F};
  std::vector<float> gradient(prediction.size(), -77.0F);
  std::vector<float> row_loss(rows + 1, -77.0F);
  float const value = kernels::loss<Loss, rows, Columns>(target.data(), prediction.data(), scale.data(),
                                                         gradient.data(), row_loss.data());
  CHECK(gradient.back() == -77.0F);
  CHECK(row_loss.back() == -77.0F);
  CHECK(kernels::loss<Loss, rows, Columns>(target.data(), prediction.data(), scale.data(), nullptr) == value);

  double expected = 0;
  int wrong = 0;
  for (int row = 0; row < rows; ++row) {
    auto const r = static_cast<std::size_t>(row);
    float* const p = prediction.data() + row * Columns;
    auto const* const t = target.data() + row * target_columns;
    double const loss = reference::loss_row(Loss, t, p, Columns);
    expected += scale[r] * loss;
    CHECK(near(row_loss[r], loss, 2e-6, 1e-6));
    for (int i = 0; i < Columns; ++i) {
      float const old = p[i];
      p[i] = old + 1e-3F;
      double const high = p[i];
      double const above = reference::loss_row(Loss, t, p, Columns);
      p[i] = old - 1e-3F;
      double const low = p[i];
      double const slope = (above - reference::loss_row(Loss, t, p, Columns)) / (high - low);
      p[i] = old;
      wrong += !near(gradient[static_cast<std::size_t>(row * Columns + i)], scale[r] * slope, 2e-3, 3e-5);
    }
  }
  CHECK(near(value, expected, 2e-6, 1e-6));
  CHECK(wrong == 0);

  std::vector<float> in_place = prediction;
  CHECK(kernels::loss<Loss, rows, Columns>(target.data(), in_place.data(), scale.data(), in_place.data()) == value);
  CHECK(in_place == gradient);
}

template <auto Loss>
void check_sizes() {
  check_against_formula<Loss, 1>();
  check_against_formula<Loss, 7>();
  check_against_formula<Loss, 16>();
  check_against_formula<Loss, 17>();
  check_against_formula<Loss, 31>();
  check_against_formula<Loss, 64>();
}

/// A case of losses.txt with `Rows` losses of `Columns` predictions each. Sample weights may span several rows.
template <auto Loss, int Rows, int Columns>
void check_against_keras(golden::file const& file, std::string const& name) {
  CAPTURE(name);
  auto const& prediction = file[name + "/prediction"];
  REQUIRE(prediction.size() == Rows * Columns);
  auto const& values = file[name + "/target"].values;
  std::vector<kernels::target_type<Loss>> target;
  for (float const each : values) target.push_back(static_cast<kernels::target_type<Loss>>(each));
  std::vector<float> scale(Rows, 1.0F / Rows);
  if (file.contains(name + "/sample_weight")) {
    auto const& weights = file[name + "/sample_weight"];
    for (std::size_t row = 0; row < Rows; ++row) scale[row] *= weights[row * weights.size() / Rows];
  }
  std::vector<float> gradient(Rows * Columns);
  std::vector<float> rows(Rows);
  float const loss = kernels::loss<Loss, Rows, Columns>(target.data(), prediction.values.data(), scale.data(),
                                                        gradient.data(), rows.data());
  CHECK(near(loss, file[name + "/loss"].scalar(), 2e-6, 1e-6));
  for (std::size_t row = 0; row < Rows; ++row)
    if (scale[row] != 0) {
      CAPTURE(row);
      auto const& all = file[name + "/rows"];  // of a sample, if the loss is along another axis, several
      auto const each = all.size() / Rows;
      double mean = 0;
      for (std::size_t i = 0; i < each; ++i)
        mean += static_cast<double>(all[row * each + i]) / static_cast<double>(each);
      CHECK(near(rows[row], mean, 2e-6, 1e-6));
    }
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    CAPTURE(i);
    CAPTURE(gradient[i]);
    CAPTURE(file[name + "/gradient"][i]);
    CHECK(near(gradient[i], file[name + "/gradient"][i], 4e-6, 1e-6));
  }
}

constexpr losses::sparse_categorical_crossentropy sparse{};
constexpr losses::sparse_categorical_crossentropy sparse_logits{.from_logits = true};
constexpr losses::categorical_crossentropy categorical{};
constexpr losses::categorical_crossentropy categorical_logits{.from_logits = true};
constexpr losses::binary_crossentropy binary{};
constexpr losses::binary_crossentropy binary_logits{.from_logits = true};

template <auto Loss>
struct by_kernel {
  static constexpr auto loss = Loss;
};
/// A loss of the user's own, for which there is no kernel.
template <auto Loss>
struct own_loss : stagecraft::loss<own_loss<Loss>> {
  static constexpr bool sparse_targets = Loss.sparse_targets;
  constexpr auto call(auto& ops, auto target, auto output) const { return Loss.call(ops, target, output); }
};
template <auto Loss>
struct by_call {
  static constexpr own_loss<Loss> loss{};
};

/// By the kernels, or by what they compute as a `call`.
template <template <auto> class By>
void check_categorical_losses() {
  auto const file = golden::read("losses.txt");
  for (std::string const suffix : {"", "_weighted"}) {
    check_against_keras<By<sparse>::loss, 5, 4>(file, "sparse_categorical_crossentropy" + suffix);
    check_against_keras<By<sparse_logits>::loss, 5, 4>(file, "sparse_categorical_crossentropy_logits" + suffix);
    check_against_keras<By<categorical>::loss, 5, 4>(file, "categorical_crossentropy" + suffix);
    check_against_keras<By<categorical_logits>::loss, 5, 4>(file, "categorical_crossentropy_logits" + suffix);
  }
  for (std::string const suffix : {"_unnormalised", "_hard"}) {
    check_against_keras<By<sparse>::loss, 5, 4>(file, "sparse_categorical_crossentropy" + suffix);
    check_against_keras<By<categorical>::loss, 5, 4>(file, "categorical_crossentropy" + suffix);
  }
  check_against_keras<By<sparse_logits>::loss, 5, 4>(file, "sparse_categorical_crossentropy_far_logits");
  check_against_keras<By<sparse_logits>::loss, 5, 4>(file, "sparse_categorical_crossentropy_column");
  check_against_keras<By<sparse>::loss, 6, 4>(file, "sparse_categorical_crossentropy_rank3");
  check_against_keras<By<sparse_logits>::loss, 6, 4>(file, "sparse_categorical_crossentropy_logits_rank3");
  check_against_keras<By<categorical>::loss, 5, 4>(file, "categorical_crossentropy_soft");
  check_against_keras<By<categorical_logits>::loss, 5, 4>(file, "categorical_crossentropy_logits_soft");
  check_against_keras<By<categorical_logits>::loss, 5, 4>(file, "categorical_crossentropy_far_logits");
  check_against_keras<By<losses::categorical_crossentropy{.label_smoothing = 0.1F}>::loss, 5, 4>(
      file, "categorical_crossentropy_smoothing");
  check_against_keras<By<losses::categorical_crossentropy{.from_logits = true, .label_smoothing = 0.1F}>::loss, 5, 4>(
      file, "categorical_crossentropy_logits_smoothing");
  check_against_keras<By<categorical_logits>::loss, 4, 4>(file, "categorical_crossentropy_logits_rank3");
}

}  // namespace

TEST_CASE("losses agree with the scalar formulas and finite differences") {
  check_sizes<losses::mean_squared_error{}>();
  check_sizes<losses::mean_absolute_error{}>();
  check_sizes<losses::huber{.delta = 1.5F}>();
  check_sizes<binary>();
  check_sizes<binary_logits>();
  check_sizes<categorical>();
  check_sizes<categorical_logits>();
  check_sizes<sparse>();
  check_sizes<sparse_logits>();
  check_against_formula<losses::binary_crossentropy{.label_smoothing = 0.2F}, 17>();
  check_against_formula<losses::categorical_crossentropy{.label_smoothing = 0.1F}, 17>();
  check_against_formula<losses::categorical_crossentropy{.from_logits = true, .label_smoothing = 0.1F}, 17>();
}

TEST_CASE("categorical losses agree with Keras") {
  SUBCASE("kernels") { check_categorical_losses<by_kernel>(); }
  SUBCASE("calls") { check_categorical_losses<by_call>(); }
}

TEST_CASE("binary losses agree with Keras") {
  auto const file = golden::read("losses.txt");
  for (std::string const suffix : {"", "_weighted", "_soft"}) {
    check_against_keras<binary, 5, 3>(file, "binary_crossentropy" + suffix);
    check_against_keras<binary_logits, 5, 3>(file, "binary_crossentropy_logits" + suffix);
  }
  check_against_keras<binary, 5, 1>(file, "binary_crossentropy_one");
  check_against_keras<binary, 5, 3>(file, "binary_crossentropy_hard");
  check_against_keras<binary_logits, 5, 3>(file, "binary_crossentropy_far_logits");
  check_against_keras<losses::binary_crossentropy{.label_smoothing = 0.2F}, 5, 3>(file,
                                                                                  "binary_crossentropy_smoothing");
  check_against_keras<losses::binary_crossentropy{.from_logits = true, .label_smoothing = 0.2F}, 5, 3>(
      file, "binary_crossentropy_logits_smoothing");
}

namespace {

template <auto Loss>
void check_regression(golden::file const& file, std::string const& name) {
  check_against_keras<Loss, 5, 3>(file, name);
  check_against_keras<Loss, 5, 3>(file, name + "_weighted");
  check_against_keras<Loss, 5, 1>(file, name + "_one");
  check_against_keras<Loss, 6, 4>(file, name + "_rank3");
  check_against_keras<Loss, 6, 4>(file, name + "_rank3_weighted");
}

}  // namespace

TEST_CASE("regression losses agree with Keras") {
  auto const file = golden::read("losses.txt");
  check_regression<losses::mean_squared_error{}>(file, "mean_squared_error");
  check_regression<losses::mean_absolute_error{}>(file, "mean_absolute_error");
  check_regression<losses::huber{}>(file, "huber");
  check_regression<losses::huber{.delta = 0.5F}>(file, "huber_half");
  check_regression<losses::huber{.delta = 2}>(file, "huber_two");
}

TEST_CASE("the losses that are a call and nothing else agree with Keras") {
  auto const file = golden::read("losses.txt");
  laws::with_losses_of_calls([&]<auto Loss>(std::string const& name) {
    check_against_keras<Loss, 5, 4>(file, name);
    check_against_keras<Loss, 5, 4>(file, name + "_soft");
  });
}

TEST_CASE("losses along another axis agree with Keras") {
  auto const file = golden::read("losses.txt");
  auto const check = [&]<auto Loss>(std::string const& name) {
    using losses::detail::along_axis;
    check_against_keras<along_axis(Loss, {3, 2}, 1), 4, 6>(file, name + "_axis");
    check_against_keras<along_axis(Loss, {2, 3, 2}, 2), 4, 12>(file, name + "_axis2");
  };
  check.operator()<losses::categorical_crossentropy{.label_smoothing = 0.1F}>("categorical_crossentropy");
  check.operator()<categorical_logits>("categorical_crossentropy_logits");
  check.operator()<binary>("binary_crossentropy");
  check.operator()<losses::cosine_similarity{}>("cosine_similarity");
}

TEST_CASE("rows that only fill the batch give nothing, whatever they hold, those with scale 0 give NaN for NaN") {
  float const nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> const prediction{1, 2, 3, nan, nan, nan};
  std::vector<std::int32_t> const target{1, -1};
  std::vector<float> const scale{1, 0};
  std::vector<float> gradient(6, 9.0F);
  std::vector<float> rows(2, 9.0F);
  float const loss = kernels::loss<sparse_logits, 2, 3>(target.data(), prediction.data(), scale.data(), gradient.data(),
                                                        rows.data(), 1);
  CHECK(loss == doctest::Approx(1.4076059));
  CHECK(rows[1] == 0);
  for (std::size_t i = 3; i < 6; ++i) CHECK(gradient[i] == 0);

  std::vector<float> const values{1, nan, 5};
  constexpr losses::mean_squared_error squared{};
  for (std::size_t i = 0; i < 3; ++i) {
    std::vector<float> const zero{0}, one_target{values[i]}, one_prediction{0.5F};
    float const result =
        kernels::loss<squared, 1, 1>(one_target.data(), one_prediction.data(), zero.data(), gradient.data());
    CHECK(std::isnan(result) == (i == 1));
    CHECK(std::isnan(gradient[0]) == (i == 1));
    if (i != 1) CHECK(result == 0);
    if (i != 1) CHECK(gradient[0] == 0);
  }
}

TEST_CASE("rows of one column, computed many at a time, have the bits of each one alone") {
  constexpr losses::huber huber{.delta = 0.5F};
  constexpr int rows = 37, valid = 33;
  std::vector<float> target(rows), prediction(rows), scale(rows), gradient(rows, 9.0F), row_loss(rows, 9.0F);
  for (std::size_t i = 0; i < rows; ++i) {
    target[i] = std::sin(static_cast<float>(i));
    prediction[i] = std::cos(3 * static_cast<float>(i));
    scale[i] = static_cast<float>(i % 5) / 7;
  }
  double total = 0;
  float const loss = kernels::loss<huber, rows, 1>(target.data(), prediction.data(), scale.data(), gradient.data(),
                                                   row_loss.data(), valid);
  for (std::size_t i = 0; i < rows; ++i) {
    CAPTURE(i);
    float slope = 0, alone = 0;
    kernels::loss<huber, 1, 1>(&target[i], &prediction[i], &scale[i], &slope, &alone);
    if (i < valid) total += static_cast<double>(scale[i]) * static_cast<double>(alone);
    CHECK(row_loss[i] == (i < valid ? alone : 0));
    CHECK(gradient[i] == (i < valid ? slope : 0));
  }
  CHECK(loss == static_cast<float>(total));
}

TEST_CASE("large logits and converged classifiers keep their digits") {
  std::vector<float> const scale{1};
  std::int32_t const label = 1;
  std::vector<float> const one_hot{0, 1, 0};
  for (float const size : {1e5F, 1e8F, -1e8F}) {
    std::vector<float> const equal(3, size);
    CHECK(kernels::loss<sparse_logits, 1, 3>(&label, equal.data(), scale.data(), nullptr) ==
          doctest::Approx(1.0986123));
    CHECK(kernels::loss<categorical_logits, 1, 3>(one_hot.data(), equal.data(), scale.data(), nullptr) ==
          doctest::Approx(1.0986123));
  }
  // What is left of the loss of a classifier that is sure, in float32's steps near 1.
  std::vector<float> sure(3, 85.0F);
  sure[1] = 98.0F;
  double const expected = std::log1p(2 * std::exp(-13.0));
  CHECK(kernels::loss<sparse_logits, 1, 3>(&label, sure.data(), scale.data(), nullptr) ==
        doctest::Approx(expected).epsilon(0.03));
  std::vector<float> const probabilities{2e-6F, 1 - 4e-6F, 2e-6F};
  CHECK(kernels::loss<sparse, 1, 3>(&label, probabilities.data(), scale.data(), nullptr) ==
        doctest::Approx(4e-6).epsilon(0.03));
}

TEST_CASE("NaN in a prediction makes the loss NaN") {
  float const nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> const scale{1};
  std::vector<float> const target(20, 0.5F);
  std::int32_t const label = 2;
  for (std::size_t const place : {0U, 2U, 17U, 19U}) {
    CAPTURE(place);
    std::vector<float> prediction(20, 0.25F);
    prediction[place] = nan;
    CHECK(std::isnan(kernels::loss<sparse, 1, 20>(&label, prediction.data(), scale.data(), nullptr)));
    CHECK(std::isnan(kernels::loss<sparse_logits, 1, 20>(&label, prediction.data(), scale.data(), nullptr)));
    CHECK(std::isnan(kernels::loss<categorical, 1, 20>(target.data(), prediction.data(), scale.data(), nullptr)));
    CHECK(
        std::isnan(kernels::loss<categorical_logits, 1, 20>(target.data(), prediction.data(), scale.data(), nullptr)));
    CHECK(std::isnan(kernels::loss<binary, 1, 20>(target.data(), prediction.data(), scale.data(), nullptr)));
    CHECK(std::isnan(kernels::loss<binary_logits, 1, 20>(target.data(), prediction.data(), scale.data(), nullptr)));
    CHECK(std::isnan(
        kernels::loss<losses::mean_squared_error{}, 1, 20>(target.data(), prediction.data(), scale.data(), nullptr)));
    CHECK(std::isnan(kernels::loss<losses::huber{}, 1, 20>(target.data(), prediction.data(), scale.data(), nullptr)));
  }
}

TEST_CASE("a class number outside of the range gives NaN and reads nothing") {
  std::vector<float> const prediction{0.2F, 0.3F, 0.5F};
  std::vector<float> const scale{1};
  for (std::int32_t const label : {-1, 3, 1000000000}) {
    std::vector<float> gradient(3);
    CHECK(std::isnan(kernels::loss<sparse, 1, 3>(&label, prediction.data(), scale.data(), gradient.data())));
    for (float const value : gradient) CHECK(std::isnan(value));
    CHECK(std::isnan(
        kernels::loss<by_call<sparse>::loss, 1, 3>(&label, prediction.data(), scale.data(), gradient.data())));
    for (float const value : gradient) CHECK(std::isnan(value));
  }
}
