// SPDX-License-Identifier: BSD-3-Clause
// The loss of sequences: its rows and gradients against Keras's and finite differences, with lengths and other blanks.
#include <stagecraft/host/lists/traced_loss.hpp>
#include <stagecraft/kernels/loss/loss.hpp>
#include <stagecraft/losses/along_axis.hpp>
#include <stagecraft/losses/losses.hpp>
#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "../golden/golden.hpp"

namespace losses = stagecraft::losses;
namespace kernels = stagecraft::kernels;

static_assert(losses::detail::takes_samples(losses::ctc{}, {6, 4}));
static_assert(!losses::detail::takes_samples(losses::huber{}, {6, 4}));
static_assert(losses::ctc{}.of_sample({6, 4}).labels == 6 && losses::ctc{4}.of_sample({6, 4}).class_numbers() == 4);

namespace {

template <int Labels, int Steps, int Classes>
inline constexpr auto ctc_of = losses::ctc{.max_label_length = Labels}.of_sample({Steps, Classes});

/// `ops.ctc_loss` with lengths: targets are three labels, their number and that of the steps.
struct with_lengths : stagecraft::loss<with_lengths> {
  static constexpr std::string_view name = "with_lengths";
  static constexpr bool sparse_targets = true;
  int mask_index = -1;
  bool of_probabilities = false;

  constexpr auto call(auto& ops, auto target, auto output) const {
    auto const logits = ops.reshape(output, {1, 6, 4});
    auto const given = of_probabilities ? log(logits + 1e-7F) : logits;
    return ops.ctc_loss(ops.slice(target, 1, 0, 3), given, ops.slice(target, 1, 3, 1), ops.slice(target, 1, 4, 1),
                        mask_index);
  }
  [[nodiscard]] constexpr int class_numbers() const { return 5; }
};
constexpr auto named_from_the_end = [] {
  with_lengths loss;
  return loss;
}();
constexpr auto named_from_the_begin = [] {
  with_lengths loss;
  loss.mask_index = 3;
  return loss;
}();
constexpr auto of_probabilities = [] {
  with_lengths loss;
  loss.of_probabilities = true;
  return loss;
}();

bool near(float got, float expected) { return std::abs(got - expected) <= 4e-6F * std::abs(expected) + 2e-6F; }

template <auto Loss, int Rows, int Columns>
void check(golden::file const& file, std::string const& name, std::vector<std::int32_t> const& target) {
  CAPTURE(name);
  std::vector<float> gradient(Rows * Columns), rows(Rows), scale(Rows, 1.0F / Rows);
  if (file.contains(name + "/sample_weight"))
    for (std::size_t i = 0; i < Rows; ++i) scale[i] *= file[name + "/sample_weight"][i];
  float const loss = kernels::loss<Loss, Rows, Columns>(target.data(), file[name + "/prediction"].values.data(),
                                                        scale.data(), gradient.data(), rows.data());
  CHECK(near(loss, file[name + "/loss"].scalar()));
  for (std::size_t i = 0; i < Rows; ++i) CHECK(near(rows[i], file[name + "/rows"][i]));
  int wrong = 0;
  for (std::size_t i = 0; i < gradient.size(); ++i) wrong += !near(gradient[i], file[name + "/gradient"][i]);
  CHECK(wrong == 0);
}
std::vector<std::int32_t> labels_of(golden::file const& file, std::string const& name) {
  return file[name + "/target"].integers();
}

}  // namespace

TEST_CASE("labels without places: Keras's losses and gradients") {
  auto const file = golden::read("ctc.txt");
  check<ctc_of<4, 6, 4>, 5, 24>(file, "ctc", labels_of(file, "ctc"));
  check<ctc_of<4, 6, 4>, 5, 24>(file, "ctc_weighted", labels_of(file, "ctc_weighted"));
  check<ctc_of<12, 40, 8>, 2, 320>(file, "ctc_long", labels_of(file, "ctc_long"));
  check<ctc_of<2, 3, 4>, 5, 12>(file, "ctc_far", labels_of(file, "ctc_far"));
}

TEST_CASE("lengths of samples, and a blank that is the last class: ctc_loss and ctc_batch_cost") {
  auto const file = golden::read("ctc.txt");
  std::vector<std::int32_t> target;
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t k = 0; k < 3; ++k) target.push_back(static_cast<int>(file["lengths/target"][3 * i + k]));
    target.push_back(static_cast<int>(file["lengths/label_length"][i]));
    target.push_back(static_cast<int>(file["lengths/logit_length"][i]));
  }
  check<named_from_the_end, 3, 24>(file, "lengths", target);
  check<named_from_the_begin, 3, 24>(file, "lengths", target);
  check<of_probabilities, 3, 24>(file, "batch_cost", target);
}

TEST_CASE("the gradient is that of finite differences; labels that do not fit are infinite, and have none") {
  constexpr auto loss = ctc_of<3, 5, 4>;
  std::vector<std::int32_t> const target{2, 2, 1};
  std::vector<float> x(20), gradient(20);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 2 * std::sin(1.7F * static_cast<float>(i));
  float const one = 1;
  kernels::loss<loss, 1, 20>(target.data(), x.data(), &one, gradient.data());
  for (std::size_t i = 0; i < x.size(); ++i) {
    float const old = x[i], step = 1.0F / 64;
    x[i] = old + step;
    float const above = kernels::loss<loss, 1, 20>(target.data(), x.data(), &one, nullptr);
    x[i] = old - step;
    float const below = kernels::loss<loss, 1, 20>(target.data(), x.data(), &one, nullptr);
    x[i] = old;
    CHECK(std::abs((above - below) / (2 * step) - gradient[i]) < 2e-4F);
  }

  constexpr auto short_one = ctc_of<3, 3, 4>;
  CHECK(kernels::loss<short_one, 1, 12>(target.data(), x.data(), &one, gradient.data()) ==
        std::numeric_limits<float>::infinity());
  for (std::size_t i = 0; i < 12; ++i) CHECK(gradient[i] == 0);
  x[4] = std::numeric_limits<float>::quiet_NaN();
  CHECK(std::isnan(kernels::loss<loss, 1, 20>(target.data(), x.data(), &one, nullptr)));
}
