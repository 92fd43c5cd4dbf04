// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/ipu/tasks/tasks.hpp>
#include <stagecraft/ipu/tiles/codelets/rearrange.hpp>
#include <stagecraft/ipu/tiles/codelets/run_task.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <doctest/doctest.h>
#include <random>
#include <vector>
#include "../../tasks/rearranging.hpp"
#include "step_on_tiles.hpp"

namespace sc = stagecraft;
using sc::tiles::box_axes;
using sc::tiles::tensor_role;

namespace {

/// Calls visit(number, axes) for the elements of a tensor, row by row.
template <class Visit>
void for_each_element(box_axes const& axes, Visit const& visit) {
  std::int64_t element = 0;
  for (std::int64_t a = 0; a < axes[0]; ++a)
    for (std::int64_t b = 0; b < axes[1]; ++b)
      for (std::int64_t c = 0; c < axes[2]; ++c)
        for (std::int64_t d = 0; d < axes[3]; ++d) visit(element++, box_axes(a, b, c, d));
}

std::size_t at(box_axes const& axes, box_axes const& place) {
  std::int64_t result = 0;
  for (int i = 0; i < 4; ++i) result = result * axes[i] + place[i];
  return static_cast<std::size_t>(result);
}

struct random_rearrangement {
  std::mt19937 random;
  tests::step_on_tiles tiles;
  sc::dtype type;
  int input = 0, result = 0;
  std::vector<float> before{};

  random_rearrangement(unsigned seed, int tile_count)
      : random(seed), tiles(tile_count), type(below(2) == 0 ? sc::dtype::float32 : sc::dtype::float16) {}

  int below(int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random); }
  box_axes axes() { return {1 + below(3), 1 + below(5), 1 + below(6), 1 + below(9)}; }

  void add(box_axes const& input_axes, box_axes const& result_axes) {
    input = tiles.add(tensor_role::input, input_axes.elements(), type);
    result = tiles.add(tensor_role::output, result_axes.elements(), type);
    tiles.fill(input, random, -1000, 1000);
    tiles.fill(result, random);
    before = tiles[result];
  }
  void run() { tiles.run(sc::tiles::run_task, sc::tiles::cost_of(tiles.step, tiles.step.tasks[0], tiles.target)); }
};

template <class Body>
void on_many_tiles(Body const& body) {
  for (int const tiles : {1, 3, 8, 64})
    for (unsigned seed = 0; seed < 40; ++seed) {
      CAPTURE(tiles);
      CAPTURE(seed);
      random_rearrangement test(seed, tiles);
      body(test);
    }
}

}  // namespace

TEST_CASE("slices") {
  on_many_tiles([](random_rearrangement& test) {
    auto const input = test.axes();
    box_axes first{0, 0, 0, 0}, result = input;
    for (int i = 0; i < 4; ++i) {
      first.of[i] = test.below(static_cast<int>(input[i]));
      result.of[i] = 1 + test.below(static_cast<int>(input[i] - first[i]));
    }
    test.add(input, result);
    tests::append_slice(test.tiles.step, test.input, test.result, input, first, result);
    test.run();
    for_each_element(result, [&](std::int64_t i, box_axes place) {
      for (int k = 0; k < 4; ++k) place.of[k] += first[k];
      CHECK(test.tiles[test.result][static_cast<std::size_t>(i)] == test.tiles[test.input][at(input, place)]);
    });
  });
}

TEST_CASE("parts of a result, with zeros around them or without") {
  for (bool const clears : {false, true})
    on_many_tiles([&](random_rearrangement& test) {
      auto const input = test.axes();
      box_axes first{0, 0, 0, 0}, result = input;
      for (int i = 0; i < 4; ++i) {
        first.of[i] = test.below(4);
        result.of[i] = first[i] + input[i] + test.below(4);
      }
      test.add(input, result);
      (clears ? sc::tiles::append_pad : tests::append_part)(test.tiles.step, test.input, test.result, input, first,
                                                            result);
      test.run();
      for_each_element(result, [&](std::int64_t i, box_axes place) {
        bool inside = true;
        for (int k = 0; k < 4; ++k) {
          place.of[k] -= first[k];
          inside = inside && place[k] >= 0 && place[k] < input[k];
        }
        float const expected = inside   ? test.tiles[test.input][at(input, place)]
                               : clears ? 0.0F
                                        : test.before[static_cast<std::size_t>(i)];
        CHECK(test.tiles[test.result][static_cast<std::size_t>(i)] == expected);
      });
    });
}

TEST_CASE("repetitions of pixels") {
  on_many_tiles([](random_rearrangement& test) {
    auto const input = test.axes();
    int const down = 1 + test.below(3), across = 1 + test.below(3);
    box_axes const result(input[0], input[1] * down, input[2] * across, input[3]);
    test.add(input, result);
    sc::tiles::append_repeat(test.tiles.step, test.input, test.result,
                             {input[0], input[1], input[2], input[3], down, across});
    test.run();
    for_each_element(result, [&](std::int64_t i, box_axes const& place) {
      box_axes const from(place[0], place[1] / down, place[2] / across, place[3]);
      CHECK(test.tiles[test.result][static_cast<std::size_t>(i)] == test.tiles[test.input][at(input, from)]);
    });
  });
}

TEST_CASE("transpositions") {
  on_many_tiles([](random_rearrangement& test) {
    auto const input = test.axes();
    int order[]{0, 1, 2, 3};
    std::shuffle(order, order + 4, test.random);
    box_axes const result(input[order[0]], input[order[1]], input[order[2]], input[order[3]]);
    test.add(input, result);
    tests::append_transpose(test.tiles.step, test.input, test.result, input, {order[0], order[1], order[2], order[3]});
    test.run();
    for_each_element(result, [&](std::int64_t i, box_axes const& place) {
      box_axes from{0, 0, 0, 0};
      for (int k = 0; k < 4; ++k) from.of[order[k]] = place[k];
      CHECK(test.tiles[test.result][static_cast<std::size_t>(i)] == test.tiles[test.input][at(input, from)]);
    });
  });
}
