// SPDX-License-Identifier: BSD-3-Clause
// Softmax and losses on the tiles of an emulated IPU: values, and that what is counted is what was foretold.
#include <stagecraft/ipu/tasks/tasks.hpp>
#include <stagecraft/ipu/tiles/codelets/rows.hpp>
#include <stagecraft/ipu/tiles/codelets/run_task.hpp>
#include <stagecraft/kernels/loss/loss.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <doctest/doctest.h>
#include <limits>
#include <vector>
#include "run_on_tiles.hpp"

namespace sc = stagecraft;
using sc::dtype;
using tests::run_on_tiles, tests::target_of;

namespace {

/// Numbers between -2 and 2 that a float16 holds.
std::vector<float> numbers(std::int64_t count, int seed) {
  std::vector<float> result;
  auto state = static_cast<std::uint32_t>(seed) * 2654435761U + 1;
  for (std::int64_t i = 0; i < count; ++i) {
    state = state * 1664525U + 1013904223U;
    result.push_back(static_cast<float>(static_cast<int>(state >> 24) - 128) / 64.0F);
  }
  return result;
}

void check_near(std::vector<float> const& actual, std::vector<float> const& expected, float tolerance) {
  REQUIRE(actual.size() == expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i)
    if (!(std::fabs(actual[i] - expected[i]) <= tolerance * (1 + std::fabs(expected[i]))) &&
        !(std::isnan(actual[i]) && std::isnan(expected[i])))
      FAIL_CHECK("element " << i << " is " << actual[i] << ", not " << expected[i]);
}

tests::run_result check_cost(sc::tiles::lowered_step const& step, sc::ipu_target const& target,
                             std::vector<std::vector<float>> const& values,
                             sc::tiles::step_values const& at_run_time = {}) {
  auto const result = run_on_tiles(step, target, values, sc::tiles::run_task, at_run_time);
  auto cost = cost_of(step, step.tasks[0], target);
  auto const copies = cost.temporary_bytes;
  cost.temporary_bytes = 0;
  CHECK(result.counted == cost);
  CHECK(sc::tiles::rounded_bytes(result.high_water_mark) == result.tensor_bytes + copies);
  return result;
}

struct softmax_shape {
  std::int64_t outer, columns, inner;
};

void check_softmax(softmax_shape const& shape, dtype type, int tiles) {
  auto const elements = shape.outer * shape.columns * shape.inner;
  auto const x = numbers(elements, 1), dy = numbers(elements, 2);
  std::vector<float> y(x.size()), dx(x.size());
  for (std::int64_t o = 0; o < shape.outer; ++o)
    for (std::int64_t i = 0; i < shape.inner; ++i) {
      auto const at = [&](std::int64_t c) {
        return static_cast<std::size_t>((o * shape.columns + c) * shape.inner + i);
      };
      double sum = 0, dot = 0;
      for (std::int64_t c = 0; c < shape.columns; ++c) sum += std::exp(double{x[at(c)]});
      for (std::int64_t c = 0; c < shape.columns; ++c) y[at(c)] = static_cast<float>(std::exp(double{x[at(c)]}) / sum);
      for (std::int64_t c = 0; c < shape.columns; ++c) dot += y[at(c)] * dy[at(c)];
      for (std::int64_t c = 0; c < shape.columns; ++c) dx[at(c)] = static_cast<float>(y[at(c)] * (dy[at(c)] - dot));
    }
  float const tolerance = type == dtype::float16 ? 2e-3F : 1e-6F;
  sc::tiles::lowered_step forward;
  int const in = forward.tensor(sc::tiles::tensor_role::input, 0, type, elements);
  int const out = forward.tensor(sc::tiles::tensor_role::output, 0, type, elements);
  append_softmax(forward, in, out, shape.outer, shape.columns, shape.inner);
  check_near(check_cost(forward, target_of(tiles), {x, {}}).tensors[1], y, tolerance);

  sc::tiles::lowered_step backward;
  int const gradient = backward.tensor(sc::tiles::tensor_role::output_gradient, 0, type, elements);
  int const output = backward.tensor(sc::tiles::tensor_role::output, 0, type, elements);
  append_softmax_gradient(backward, gradient, output, gradient, shape.outer, shape.columns, shape.inner);
  check_near(check_cost(backward, target_of(tiles), {dy, y}).tensors[0], dx, 2 * tolerance);
}

template <auto Loss, int Rows, int Columns>
void check_loss(dtype type, int tiles, bool with_gradient, sc::tiles::loss_scale const& scale = {},
                int accumulated = 0) {
  constexpr int target_columns = Loss.sparse_targets ? 1 : Columns;
  auto prediction = numbers(Rows * Columns, 3);
  // Probabilities, with some that are clipped and some that agree with the target.
  if constexpr (requires { Loss.from_logits; })
    if (!Loss.from_logits)
      for (auto& p : prediction) p = std::max(0.0F, std::min(1.0F, 0.5F + 0.3125F * p));
  auto target = numbers(Rows * target_columns, 4);
  for (auto& t : target) t = std::floor(2 * std::fabs(t)) / 4;
  auto scales = numbers(Rows, 5);
  if (Rows > 2) scales[2] = 0;
  std::vector<sc::kernels::target_type<Loss>> host_target;
  if (Loss.sparse_targets)
    for (int row = 0; row < Rows; ++row)
      target[static_cast<std::size_t>(row)] = static_cast<float>((7 * row) % Columns);
  if (Loss.sparse_targets && Rows > 3) target[3] = static_cast<float>(Columns);  // no class
  for (float const t : target) host_target.push_back(static_cast<sc::kernels::target_type<Loss>>(t));
  std::vector<float> padded = prediction, gradient(prediction.size());
  padded.resize(padded.size() + 64);
  host_target.resize(host_target.size() + 64);
  float const loss =
      sc::kernels::loss<Loss, Rows, Columns>(host_target.data(), padded.data(), scales.data(), gradient.data());
  float const factor = scale.factor / (scale.running_mean ? static_cast<float>(accumulated + 1) : 1.0F);
  for (auto& g : gradient) g *= factor;

  sc::tiles::lowered_step step;
  int const p = step.tensor(sc::tiles::tensor_role::input, 0, type, Rows * Columns);
  int const t = step.tensor(sc::tiles::tensor_role::target, 0, dtype::float32, Rows * target_columns);
  int const s = step.tensor(sc::tiles::tensor_role::sample_scale, 0, dtype::float32, Rows);
  int const l = step.tensor(sc::tiles::tensor_role::loss, 0, dtype::float32, 1);
  int const g = with_gradient ? step.tensor(sc::tiles::tensor_role::input_gradient, 0, type, Rows * Columns) : -1;
  append_loss(step, sc::tiles::rule_of_loss<Loss, Columns>(with_gradient), p, t, s, l, g, Rows, Columns, scale);
  auto const result =
      check_cost(step, target_of(tiles), {prediction, target, scales, {}, {}}, {.accumulated = accumulated});
  CHECK(result.tensors[0] == prediction);
  check_near(result.tensors[3], {loss}, 1e-5F);
  if (with_gradient) check_near(result.tensors[4], gradient, type == dtype::float16 ? 2e-3F : 2e-5F);
}

template <auto Loss>
void check_losses() {
  for (dtype const type : {dtype::float32, dtype::float16})
    for (int const tiles : {1, 3, 8, 64})
      for (bool const with_gradient : {true, false}) {
        check_loss<Loss, 10, 7>(type, tiles, with_gradient);
        check_loss<Loss, 1, 1>(type, tiles, with_gradient);
        check_loss<Loss, 65, 4>(type, tiles, with_gradient, {.factor = 0.5F});
      }
  check_loss<Loss, 10, 7>(dtype::float32, 3, true, {.factor = 0.5F, .running_mean = true}, 3);
}

}  // namespace

TEST_CASE("softmax and its gradient along any axis") {
  for (dtype const type : {dtype::float32, dtype::float16})
    for (int const tiles : {1, 3, 8, 64})
      for (auto const& shape : {softmax_shape{10, 7, 1}, {1, 1, 1}, {130, 10, 1}, {3, 5, 6}, {1, 33, 2}})
        check_softmax(shape, type, tiles);
}

TEST_CASE("losses and their gradients are those of the host") {
  using namespace sc::losses;
  check_losses<sparse_categorical_crossentropy{}>();
  check_losses<sparse_categorical_crossentropy{.from_logits = true}>();
  check_losses<categorical_crossentropy{}>();
  check_losses<categorical_crossentropy{.label_smoothing = 0.25F}>();
  check_losses<categorical_crossentropy{.from_logits = true, .label_smoothing = 0.25F}>();
  check_losses<binary_crossentropy{}>();
  check_losses<binary_crossentropy{.label_smoothing = 0.25F}>();
  check_losses<binary_crossentropy{.from_logits = true}>();
  check_losses<mean_squared_error{}>();
  check_losses<mean_absolute_error{}>();
  check_losses<huber{.delta = 0.75F}>();
}

TEST_CASE("a row that only fills the batch may hold anything, one with scale 0 gives NaN for NaN") {
  sc::tiles::lowered_step step;
  int const p = step.tensor(sc::tiles::tensor_role::input, 0, dtype::float32, 4);
  int const t = step.tensor(sc::tiles::tensor_role::target, 0, dtype::float32, 4);
  int const s = step.tensor(sc::tiles::tensor_role::sample_scale, 0, dtype::float32, 2);
  int const l = step.tensor(sc::tiles::tensor_role::loss, 0, dtype::float32, 1);
  int const g = step.tensor(sc::tiles::tensor_role::input_gradient, 0, dtype::float32, 4);
  append_loss(step, sc::tiles::rule_of_loss<sc::losses::mean_squared_error{}, 2>(true), p, t, s, l, g, 2, 2,
              {.rows_per_sample = 1});
  float const nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<std::vector<float>> const values{{1, 2, nan, nan}, {0, 0, nan, 0}, {2, 0}, {}, {}};
  auto const result = check_cost(step, target_of(2), values, {.valid_samples = 1});
  CHECK(result.tensors[3] == std::vector<float>{5});
  CHECK(result.tensors[4] == std::vector<float>{2, 4, 0, 0});
  auto const of_both = check_cost(step, target_of(2), values, {.valid_samples = 2});
  CHECK(std::isnan(of_both.tensors[3][0]));
  CHECK(std::isnan(of_both.tensors[4][2]));
}
