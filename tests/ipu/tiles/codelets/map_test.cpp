// SPDX-License-Identifier: BSD-3-Clause
// Elementwise operations on the tiles of small IPUs: values as in plain loops, cycles and memory as the cost says.
#include "run_on_tiles.hpp"

#include <stagecraft/ipu/tasks/tasks.hpp>
#include <stagecraft/ipu/tiles/codelets/map.hpp>
#include <stagecraft/ipu/tiles/codelets/run_task.hpp>
#include <stagecraft/kernels/elementwise/activation.hpp>
#include <stagecraft/kernels/random/random.hpp>
#include <stagecraft/kernels/update/accumulate.hpp>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <doctest/doctest.h>
#include <random>
#include <vector>

namespace {

namespace sc = stagecraft;
using sc::tiles::map_function;
using floats = std::vector<float>;

class numbers {
 public:
  explicit numbers(unsigned seed) : engine_(seed) {}
  [[nodiscard]] int between(int low, int high) {
    return low + static_cast<int>(engine_() % static_cast<unsigned>(high - low + 1));
  }
  /// Those that a half holds exactly, too: sixteenths up to 4, without 0.
  [[nodiscard]] floats some(std::int64_t count, bool positive = false) {
    floats result(static_cast<std::size_t>(count));
    for (auto& x : result)
      x = static_cast<float>(between(1, 64)) / 16 * (positive || between(0, 1) == 0 ? 1.0F : -1.0F);
    return result;
  }

 private:
  std::mt19937 engine_;
};

float rounded(float value, sc::dtype type) {
  return type == sc::dtype::float16 ? sc::half_number::value(sc::half_number::nearest(value)) : value;
}

/// Runs it, and compares what was counted with the cost.
tests::run_result run(sc::tiles::lowered_step const& step, int tiles, std::vector<floats> const& values,
                      sc::tiles::step_values const& at_run_time = {}) {
  auto const target = tests::target_of(tiles);
  auto result = tests::run_on_tiles(step, target, values, sc::tiles::run_task, at_run_time);
  sc::tiles::operation_cost cost;
  for (int i = 0; i < step.task_count; ++i) cost += sc::tiles::cost_of(step, step.tasks[i], target);
  auto const temporary_bytes = cost.temporary_bytes;
  cost.temporary_bytes = 0;
  CHECK(result.counted == cost);
  CHECK(sc::tiles::rounded_bytes(result.high_water_mark) <= result.tensor_bytes + temporary_bytes);
  if (temporary_bytes > 0)
    CHECK(sc::tiles::rounded_bytes(result.high_water_mark) == result.tensor_bytes + temporary_bytes);
  return result;
}

constexpr int tile_counts[]{1, 3, 8, 64, 1472};

float combined(map_function function, float a, float b) {
  switch (function) {
    case map_function::add: return a + b;
    case map_function::subtract: return a - b;
    case map_function::multiply: return a * b;
    case map_function::scaled_add: return a + 0.5F * b;
    default: break;
  }
  if (function == sc::tiles::map_function_of(sc::operations::function::divide)) return a / b;
  return (function == sc::tiles::map_function_of(sc::operations::function::maximum)) == (a > b) ? a : b;
}

TEST_CASE("operands may be read in any way") {
  numbers random(1);
  constexpr map_function functions[]{map_function::add,
                                     map_function::subtract,
                                     map_function::multiply,
                                     map_function::scaled_add,
                                     sc::tiles::map_function_of(sc::operations::function::divide),
                                     sc::tiles::map_function_of(sc::operations::function::maximum),
                                     sc::tiles::map_function_of(sc::operations::function::minimum)};
  for (int const tiles : tile_counts)
    for (int trial = 0; trial < 60; ++trial) {
      std::int64_t const inner = random.between(1, 3) == 1 ? 1 : random.between(1, 40);
      std::int64_t const count = random.between(1, 50);
      std::int64_t const outer = random.between(1, 9);
      auto const elements = outer * count * inner;
      auto const function = functions[random.between(0, 6)];
      auto const type = random.between(0, 1) == 0 ? sc::dtype::float32 : sc::dtype::float16;
      auto const other = random.between(0, 3) == 0 ? sc::dtype::float32 : type;
      bool const whole = random.between(0, 3) == 0, in_place = random.between(0, 1) == 0;
      CAPTURE(tiles);
      CAPTURE(trial);
      CAPTURE(static_cast<int>(function));
      sc::tiles::lowered_step step;
      int const a = step.tensor(sc::tiles::tensor_role::input, 0, type, elements);
      int const b = step.tensor(sc::tiles::tensor_role::input, 1, other, whole ? elements : count);
      int const y = in_place ? a : step.tensor(sc::tiles::tensor_role::output, 0, type, elements);
      sc::tiles::append_map(step, function, y,
                            {{a}, whole ? sc::tiles::map_operand{b} : sc::tiles::map_operand{b, {inner, count}}},
                            {0.5F});
      auto const x = random.some(elements), z = random.some(whole ? elements : count);
      auto const result = run(step, tiles, {x, z});
      bool all = true;
      for (std::int64_t e = 0; e < elements; ++e) {
        auto const expected = combined(function, x[static_cast<std::size_t>(e)],
                                       z[static_cast<std::size_t>(whole ? e : e / inner % count)]);
        all =
            all && result.tensors[static_cast<std::size_t>(y)][static_cast<std::size_t>(e)] == rounded(expected, type);
      }
      CHECK(all);
    }
}

TEST_CASE("the first operand may be one for many, too") {
  for (int const tiles : tile_counts) {
    sc::tiles::lowered_step step;
    int const a = step.tensor(sc::tiles::tensor_role::input, 0, sc::dtype::float32, 5);
    int const b = step.tensor(sc::tiles::tensor_role::input, 1, sc::dtype::float32, 30);
    int const c = step.tensor(sc::tiles::tensor_role::input, 2, sc::dtype::float32, 3);
    int const y = step.tensor(sc::tiles::tensor_role::output, 0, sc::dtype::float32, 30);
    sc::tiles::append_map(step, map_function::multiply_add, y, {{a, {1, 5}}, {b}, {c, {10, 3}}});
    numbers random(2);
    auto const u = random.some(5), v = random.some(30), w = random.some(3);
    auto const result = run(step, tiles, {u, v, w});
    for (std::size_t e = 0; e < 30; ++e) CHECK(result.tensors[3][e] == u[e % 5] * v[e] + w[e / 10]);
  }
}

TEST_CASE("functions of one operand") {
  numbers random(3);
  auto const x = random.some(100, true);
  struct one {
    map_function function;
    float scalar;
    float (*expected)(float);
  };
  one const functions[]{
      {map_function::copy, 0, [](float a) { return a; }},
      {sc::tiles::map_function_of(sc::operations::function::negative), 0, [](float a) { return -a; }},
      {sc::tiles::map_function_of(sc::operations::function::sqrt), 0, [](float a) { return std::sqrt(a); }},
      {map_function::rsqrt, 0, [](float a) { return 1 / std::sqrt(a); }},
      {map_function::rsqrt, 0.5F, [](float a) { return 1 / std::sqrt(a + 0.5F); }},
      {sc::tiles::map_function_of(sc::operations::function::exp), 0, [](float a) { return std::exp(a); }},
      {sc::tiles::map_function_of(sc::operations::function::log), 0, [](float a) { return std::log(a); }},
  };
  for (int const tiles : tile_counts)
    for (auto const& function : functions)
      for (auto const from : {sc::dtype::float32, sc::dtype::float16})
        for (auto const to : {sc::dtype::float32, sc::dtype::float16}) {
          sc::tiles::lowered_step step;
          int const a = step.tensor(sc::tiles::tensor_role::input, 0, from, 100);
          int const y = step.tensor(sc::tiles::tensor_role::output, 0, to, 100);
          sc::tiles::append_map(step, function.function, y, {{a}}, {function.scalar});
          auto const result = run(step, tiles, {x});
          bool all = true;
          for (std::size_t i = 0; i < 100; ++i)
            all = all && result.tensors[1][i] == doctest::Approx(rounded(function.expected(x[i]), to)).epsilon(1e-3);
          CHECK(all);
        }
}

TEST_CASE("fill") {
  sc::tiles::lowered_step step;
  int const y = step.tensor(sc::tiles::tensor_role::output, 0, sc::dtype::float32, 7);
  sc::tiles::append_map(step, map_function::fill, y, {}, {2.5F});
  CHECK(run(step, 3, {}).tensors[0] == floats(7, 2.5F));
}

template <sc::activation Act>
void compare_activation() {
  numbers random(4);
  auto const x = random.some(77);
  auto const dy = random.some(77);
  floats y(77 + 64), dx(77 + 64), saved(77 + 64), gradient(77 + 64);
  std::copy(x.begin(), x.end(), saved.begin());
  sc::kernels::activation_forward<Act>(saved.data(), y.data(), 77);
  if (!Act.gradient_needs_input()) saved = y;
  std::copy(dy.begin(), dy.end(), gradient.begin());
  sc::kernels::activation_backward<Act>(saved.data(), gradient.data(), dx.data(), 77);
  for (int const tiles : {1, 3, 64})
    for (auto const type : {sc::dtype::float32, sc::dtype::float16}) {
      double const error = type == sc::dtype::float32 ? 1e-6 : 2e-3;
      CAPTURE(static_cast<int>(Act.kind));
      {
        sc::tiles::lowered_step step;
        int const from = step.tensor(sc::tiles::tensor_role::input, 0, type, 77);
        int const to = step.tensor(sc::tiles::tensor_role::output, 0, type, 77);
        sc::tiles::append_activation_map(step, Act, from, to);
        auto const result = run(step, tiles, {x});
        for (std::size_t i = 0; i < 77; ++i)
          CHECK(std::fabs(result.tensors[1][i] - y[i]) <= error * (1 + std::fabs(y[i])));
      }
      {
        sc::tiles::lowered_step step;
        int const from = step.tensor(sc::tiles::tensor_role::output_gradient, 0, type, 77);
        int const kept = step.tensor(sc::tiles::tensor_role::output, 0, type, 77);
        sc::tiles::append_activation_gradient_map(step, Act, from, kept, from);
        saved.resize(77);
        auto const result = run(step, tiles, {dy, saved});
        for (std::size_t i = 0; i < 77; ++i)
          CHECK(std::fabs(result.tensors[0][i] - dx[i]) <= 2 * error * (1 + std::fabs(dx[i])));
      }
    }
}

TEST_CASE("activations are those of the host") {
  compare_activation<sc::linear>();
  compare_activation<sc::relu>();
  compare_activation<sc::sigmoid>();
  compare_activation<sc::tanh>();
  compare_activation<sc::gelu>();
  compare_activation<sc::activations::gelu(true)>();
  compare_activation<sc::swish>();
  compare_activation<sc::selu>();
  compare_activation<sc::elu>();
  compare_activation<sc::activations::elu(-0.5F)>();
  compare_activation<sc::exponential>();
  compare_activation<sc::softplus>();
  compare_activation<sc::softsign>();
  compare_activation<sc::hard_sigmoid>();
  compare_activation<sc::activations::relu(0.25F)>();
  compare_activation<sc::activations::relu(0, 6)>();
  compare_activation<sc::activations::relu(0.5F, 2, 1)>();
  compare_activation<sc::activations::relu(-0.5F)>();
}

TEST_CASE("dropout draws the host's numbers") {
  constexpr std::int64_t elements = 6 * 5 * 7;
  numbers random(5);
  auto x = random.some(elements);
  for (int const tiles : tile_counts)
    for (std::uint64_t const seed : {std::uint64_t{0}, std::uint64_t{99}})
      for (bool const spatial : {false, true}) {
        sc::tiles::lowered_step step;
        int const from = step.tensor(sc::tiles::tensor_role::input, 0, sc::dtype::float32, elements);
        int const to = step.tensor(sc::tiles::tensor_role::output, 0, sc::dtype::float32, elements);
        sc::tiles::append_dropout(step, from, to, 0.3F, seed, tiles % 2 == 0, spatial ? 5 : 0, spatial ? 7 : 0);
        auto const result = run(step, tiles, {x}, {.seed = 5, .step = 12, .call = 3});
        sc::kernels::random_key const key{seed == 0 ? 5U : seed, ~((std::uint64_t{12} << 16U) + 3U)};
        floats expected(elements);
        for (std::int64_t i = 0; i < elements; ++i) {
          auto const number = static_cast<std::uint64_t>(spatial ? i / 35 * 7 + i % 7 : i);
          bool const stays = sc::kernels::random_uniform(key, number) >= 0.3F;
          expected[static_cast<std::size_t>(i)] = stays ? x[static_cast<std::size_t>(i)] * (1.0F / (1.0F - 0.3F)) : 0;
        }
        CHECK(result.tensors[1] == expected);
      }
}

TEST_CASE("accumulators take what the host's take") {
  using enum sc::gradient_accumulation_reduction_method;
  numbers random(6);
  for (int const tiles : {1, 3, 8})
    for (auto const stored : {sc::dtype::float32, sc::dtype::float16})
      for (auto const type : {sc::dtype::float32, sc::dtype::float16})
        for (bool const running : {false, true})
          for (int n = 0; n < 4; ++n) {
            sc::tiles::lowered_step step;
            int const sum = step.tensor(sc::tiles::tensor_role::accumulator, 0, stored, 37);
            int const gradient = step.tensor(sc::tiles::tensor_role::input, 0, type, 37);
            sc::tiles::append_accumulate(step, sum, gradient, running);
            auto const before = random.some(37), g = random.some(37);
            auto const result = run(step, tiles, {before, g}, {.accumulated = n});
            auto const factors = sc::kernels::accumulation_factors_of(
                running ? running_mean : sc::gradient_accumulation_reduction_method::sum, n, 4);
            for (std::size_t i = 0; i < 37; ++i) {
              float const kept = std::fma(factors.accumulated, before[i], 0.0F);
              CHECK(result.tensors[0][i] == rounded(kept + g[i], stored));
            }
          }
}

}  // namespace
