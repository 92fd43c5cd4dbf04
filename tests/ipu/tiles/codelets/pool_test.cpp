// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/ipu/tasks/tasks.hpp>
#include <stagecraft/ipu/tiles/codelets/pool.hpp>
#include <stagecraft/ipu/tiles/codelets/run_task.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <doctest/doctest.h>
#include <limits>
#include <random>
#include <vector>
#include "step_on_tiles.hpp"

namespace sc = stagecraft;
using sc::tiles::pool_axis;
using sc::tiles::pool_function;
using sc::tiles::pool_shape;
using sc::tiles::tensor_role;

namespace {

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

struct random_pool {
  std::mt19937 random;
  tests::step_on_tiles tiles;
  sc::dtype type;
  pool_shape shape{};

  random_pool(unsigned seed, int tile_count)
      : random(seed), tiles(tile_count), type(below(2) == 0 ? sc::dtype::float32 : sc::dtype::float16) {
    shape.batch = 1 + below(4);
    shape.channels = 1 + below(11);
  }

  int below(int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random); }

  /// Windows with and without padding, overlaps and gaps.
  pool_axis windows() {
    pool_axis axis{.input = 1 + below(12), .stride = 1 + below(4)};
    if (below(2) == 0) {
      axis.window = 1 + below(static_cast<int>(axis.input));
      axis.output = (axis.input - axis.window) / axis.stride + 1;
    } else {
      axis.window = 1 + below(6);
      axis.output = (axis.input + axis.stride - 1) / axis.stride;
      std::int64_t const zeros = (axis.output - 1) * axis.stride + axis.window - axis.input;
      axis.before = zeros > 0 ? zeros / 2 : 0;
    }
    return axis;
  }
  void make_windows() {
    shape.rows = windows();
    shape.columns = windows();
  }
  void interpolate() {
    shape.rows = pool_axis::interpolated(1 + below(5), 1 + below(5));
    shape.columns = pool_axis::interpolated(1 + below(5), 1 + below(5));
  }

  int input(std::int64_t elements) {
    int const tensor = tiles.add(tensor_role::input, elements, type);
    tiles.fill(tensor, random);
    return tensor;
  }
  int output(std::int64_t elements) { return tiles.add(tensor_role::output, elements, type); }
  int positions() {
    return tiles.add(tensor_role::saved, shape.output_elements() * shape.position_bytes(), sc::dtype::uint8);
  }
  void run(pool_function function, std::initializer_list<int> inputs, std::initializer_list<int> outputs) {
    sc::tiles::append_pool(tiles.step, function, inputs, outputs, shape, tiles.target);
    tiles.run(sc::tiles::run_task, sc::tiles::cost_of(tiles.step, tiles.step.tasks[0], tiles.target));
  }
  void check(int tensor, std::vector<double> const& expected) {
    double const error = type == sc::dtype::float16 ? 1e-3 : 1e-5;
    for (std::size_t i = 0; i < expected.size(); ++i)
      CHECK(tiles[tensor][i] == doctest::Approx(expected[i]).epsilon(error).scale(8));
  }

  /// Calls visit(output, number of the cell, input) for each window and each of its cells inside the input.
  template <class Visit>
  void for_each_cell(Visit const& visit) const {
    auto const &r = shape.rows, &c = shape.columns;
    for (std::int64_t sample = 0; sample < shape.batch; ++sample)
      for (std::int64_t row = 0; row < r.output; ++row)
        for (std::int64_t column = 0; column < c.output; ++column)
          for (std::int64_t channel = 0; channel < shape.channels; ++channel)
            for (std::int64_t cell = 0; cell < shape.window_cells(); ++cell) {
              std::int64_t const y = row * r.stride - r.before + cell / c.window;
              std::int64_t const x = column * c.stride - c.before + cell % c.window;
              if (y >= 0 && y < r.input && x >= 0 && x < c.input)
                visit(at(((sample * r.output + row) * c.output + column) * shape.channels + channel), cell,
                      at(((sample * r.input + y) * c.input + x) * shape.channels + channel));
            }
  }
  /// Calls visit(output, input, share of the input in the output) for what bilinear interpolation needs.
  template <class Visit>
  void for_each_share(Visit const& visit) const {
    auto const share = [](pool_axis const& axis, std::int64_t output, std::int64_t input) {
      double const place = (static_cast<double>(output) + 0.5) / static_cast<double>(axis.stride) - 0.5;
      double const inside = std::fmin(std::fmax(place, 0), static_cast<double>(axis.input - 1));
      return std::fmax(0, 1 - std::fabs(inside - static_cast<double>(input)));
    };
    auto const &r = shape.rows, &c = shape.columns;
    for (std::int64_t sample = 0; sample < shape.batch; ++sample)
      for (std::int64_t row = 0; row < r.output; ++row)
        for (std::int64_t column = 0; column < c.output; ++column)
          for (std::int64_t y = 0; y < r.input; ++y)
            for (std::int64_t x = 0; x < c.input; ++x)
              for (std::int64_t channel = 0; channel < shape.channels; ++channel)
                visit(at(((sample * r.output + row) * c.output + column) * shape.channels + channel),
                      at(((sample * r.input + y) * c.input + x) * shape.channels + channel),
                      share(r, row, y) * share(c, column, x));
  }
};

template <class Body>
void on_many_tiles(Body const& body) {
  for (int const tiles : {1, 3, 8, 64})
    for (unsigned seed = 0; seed < 60; ++seed) {
      CAPTURE(tiles);
      CAPTURE(seed);
      random_pool test(seed, tiles);
      body(test);
    }
}

}  // namespace

TEST_CASE("the largest of windows, and its gradient") {
  on_many_tiles([](random_pool& test) {
    test.make_windows();
    bool const keeps = test.below(3) > 0;
    int const x = test.input(test.shape.input_elements()), y = test.output(test.shape.output_elements());
    std::vector<double> expected(test.tiles[y].size(), -100), numbers(test.tiles[y].size());
    std::vector<std::size_t> winners(test.tiles[y].size());
    test.for_each_cell([&](std::size_t output, std::int64_t cell, std::size_t input) {
      double const value = static_cast<double>(test.tiles[x][input]);
      if (value <= expected[output]) return;
      expected[output] = value;
      numbers[output] = static_cast<double>(cell);
      winners[output] = input;
    });
    if (!keeps) {
      test.run(pool_function::max, {x}, {y});
      test.check(y, expected);
      return;
    }
    int const saved = test.positions();
    test.run(pool_function::max, {x}, {y, saved});
    test.check(y, expected);
    test.check(saved, numbers);

    random_pool back(static_cast<unsigned>(test.below(1000)), test.tiles.target.tiles_per_ipu);
    back.shape = test.shape;
    int const positions = back.positions(), dy = back.input(back.shape.output_elements());
    int const dx = back.output(back.shape.input_elements());
    back.tiles[positions] = test.tiles[saved];
    std::vector<double> gradient(back.tiles[dx].size());
    for (std::size_t i = 0; i < winners.size(); ++i) gradient[winners[i]] += static_cast<double>(back.tiles[dy][i]);
    back.run(pool_function::max_gradient, {positions, dy}, {dx});
    back.check(dx, gradient);
  });
}

TEST_CASE("means and sums of windows") {
  for (auto const function : {pool_function::average, pool_function::sum})
    on_many_tiles([&](random_pool& test) {
      test.make_windows();
      int const x = test.input(test.shape.input_elements()), y = test.output(test.shape.output_elements());
      std::vector<double> expected(test.tiles[y].size()), counts(test.tiles[y].size());
      test.for_each_cell([&](std::size_t output, std::int64_t, std::size_t input) {
        expected[output] += static_cast<double>(test.tiles[x][input]);
        ++counts[output];
      });
      if (function == pool_function::average)
        for (std::size_t i = 0; i < expected.size(); ++i) expected[i] /= counts[i];
      test.run(function, {x}, {y});
      test.check(y, expected);
    });
}

TEST_CASE("gradients of means of windows") {
  on_many_tiles([](random_pool& test) {
    test.make_windows();
    int const dy = test.input(test.shape.output_elements()), dx = test.output(test.shape.input_elements());
    std::vector<double> expected(test.tiles[dx].size()), counts(test.tiles[dy].size());
    test.for_each_cell([&](std::size_t output, std::int64_t, std::size_t) { ++counts[output]; });
    test.for_each_cell([&](std::size_t output, std::int64_t, std::size_t input) {
      expected[input] += static_cast<double>(test.tiles[dy][output]) / counts[output];
    });
    test.run(pool_function::average_gradient, {dy}, {dx});
    test.check(dx, expected);
  });
}

TEST_CASE("interpolation") {
  on_many_tiles([](random_pool& test) {
    test.interpolate();
    int const x = test.input(test.shape.input_elements()), y = test.output(test.shape.output_elements());
    std::vector<double> expected(test.tiles[y].size());
    test.for_each_share([&](std::size_t output, std::size_t input, double share) {
      expected[output] += share * static_cast<double>(test.tiles[x][input]);
    });
    test.run(pool_function::bilinear, {x}, {y});
    test.check(y, expected);
  });
}

TEST_CASE("the gradient of interpolation") {
  on_many_tiles([](random_pool& test) {
    test.interpolate();
    int const dy = test.input(test.shape.output_elements()), dx = test.output(test.shape.input_elements());
    std::vector<double> expected(test.tiles[dx].size());
    test.for_each_share([&](std::size_t output, std::size_t input, double share) {
      expected[input] += share * static_cast<double>(test.tiles[dy][output]);
    });
    test.run(pool_function::bilinear_gradient, {dy}, {dx});
    test.check(dx, expected);
  });
}

TEST_CASE("numbers of cells take two bytes in windows of more than 256 cells") {
  random_pool test(1, 3);
  test.type = sc::dtype::float32;
  test.shape = {.batch = 1,
                .rows = {.input = 40, .window = 20, .stride = 20, .output = 2},
                .columns = {.input = 20, .window = 20, .stride = 20, .output = 1},
                .channels = 1};
  int const x = test.input(800), y = test.output(2), saved = test.positions();
  for (auto& value : test.tiles[x]) value = 0;
  test.tiles[x][19 * 20 + 7] = 3;
  test.tiles[x][400 + 300] = 2;
  test.run(pool_function::max, {x}, {y, saved});
  CHECK(test.tiles[y] == std::vector<float>{3, 2});
  CHECK(test.tiles[saved] == std::vector<float>{387 - 256, 1, 300 - 256, 1});
}

TEST_CASE("the first number that is none wins, and minus infinity stays") {
  float const nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  random_pool test(1, 1);
  test.type = sc::dtype::float32;
  test.shape = {.batch = 1, .rows = {}, .columns = {.input = 9, .window = 3, .stride = 3, .output = 3}, .channels = 1};
  int const x = test.input(9), y = test.output(3), saved = test.positions();
  test.tiles[x] = {nan, 1, 2, inf, nan, nan, -inf, -inf, -inf};
  test.run(pool_function::max, {x}, {y, saved});
  auto const& most = test.tiles[y];
  CHECK((most[0] != most[0] && most[1] != most[1] && most[2] == -inf));
  CHECK(test.tiles[saved] == std::vector<float>{0, 1, 0});
}
