// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/ipu/tasks/rearrange.hpp>
#include <stagecraft/ipu/tasks/tasks.hpp>
#include <cstdint>
#include <doctest/doctest.h>
#include <random>

#include "rearranging.hpp"

namespace sc = stagecraft;
using sc::dtype;
using sc::tiles::box_axes;
using sc::tiles::operation_cost;
using sc::tiles::tensor_role;

namespace {

constexpr sc::ipu_target few_tiles(int tiles) {
  auto target = sc::ipu_targets::ipu2;
  target.tiles_per_ipu = tiles;
  return target;
}

template <class Append>
constexpr operation_cost cost(sc::ipu_target const& target, dtype type, std::int64_t inputs, std::int64_t results,
                              Append const& append) {
  sc::tiles::lowered_step step;
  int const input = step.tensor(tensor_role::input, 0, type, inputs);
  int const result = step.tensor(tensor_role::output, 0, type, results);
  append(step, input, result);
  return sc::tiles::cost_of(step, step.tasks[0], target);
}

// 8 blocks of 3 in blocks of 8: each of 4 tiles has 2 blocks, and receives 6 floats, 4 bytes in a cycle. They are
// copied 8 bytes at a time.
static_assert(cost(few_tiles(4), dtype::float32, 24, 64,
                   [](auto& step, int input, int result) {
                     tests::append_part(step, input, result, {1, 1, 8, 3}, {0, 0, 0, 2}, {1, 1, 8, 8});
                   }) == operation_cost{.compute_cycles = 3,
                                        .exchange_cycles = 6,
                                        .sync_cycles = 126,
                                        .bytes_exchanged = 24,
                                        .exchanges = 1,
                                        .compute_sets = 1,
                                        .temporary_bytes = 24});
// 4 halves behind 10 zeros, 2 more behind them: tile 2 has 2 of them, tile 3 the others; each writes 4 elements.
static_assert(cost(few_tiles(4), dtype::float16, 4, 16,
                   [](auto& step, int input, int result) {
                     append_pad(step, input, result, {1, 1, 1, 4}, {0, 0, 0, 10}, {1, 1, 1, 16});
                   }) == operation_cost{.compute_cycles = 1,
                                        .exchange_cycles = 1,
                                        .sync_cycles = 126,
                                        .bytes_exchanged = 4,
                                        .exchanges = 1,
                                        .compute_sets = 1,
                                        .temporary_bytes = 8});
// 2 x 2 pixels, 2 times as wide and high: 2 of 8 pixels of the result's rows are different, and whole rows are received
// once. On 2 tiles each has a row of the input twice, on 16 tiles 1 pixel of 2 floats.
constexpr std::int64_t bytes_of_repetition(int tiles) {
  return cost(few_tiles(tiles), dtype::float32, 8, 32,
              [](auto& step, int input, int result) { append_repeat(step, input, result, {1, 2, 2, 2, 2, 2}); })
      .bytes_exchanged;
}
static_assert(bytes_of_repetition(1) == 8 * 4 && bytes_of_repetition(2) == 4 * 4 && bytes_of_repetition(4) == 4 * 4);
static_assert(bytes_of_repetition(8) == 2 * 4 && bytes_of_repetition(16) == 2 * 4);
static_assert(cost(few_tiles(1), dtype::float32, 6, 6, [](auto& step, int input, int result) {
                tests::append_transpose(step, input, result, {1, 1, 2, 3}, {0, 1, 3, 2});
              }).compute_cycles == 3);

// Element (1, 2) of a transposed matrix is element (2, 1).
constexpr sc::tiles::rearranged_box transposed{.extents{1, 1, 3, 4}, .counts{1, 1, 3, 4}, .source_stride{0, 0, 1, 3}};
static_assert(transposed.source_of(1 * 4 + 2) == 2 * 3 + 1);
static_assert(transposed.is_whole());
constexpr sc::tiles::rearranged_box middle{
    .extents{1, 1, 3, 4}, .first{0, 0, 1, 1}, .counts{1, 1, 2, 2}, .source_stride{0, 0, 2, 1}};
static_assert(middle.source_of(4) == -1 && middle.source_of(5) == 0 && middle.source_of(10) == 3);
static_assert(middle.elements_before(5) == 0 && middle.elements_before(10) == 3 && middle.elements_before(12) == 4);

// Rows of two pixels, twice each: elements 5, 6 and 7 are the second channel of pixel 1 and both again; 8 to 12 are in
// the next row, pixel 0 and the first channel of pixel 1.
constexpr sc::tiles::repeated_field twice{.rows = 2, .columns = 2, .channels = 2, .down = 2, .across = 2};
static_assert(twice.source_of(5) == 3 && twice.source_of(7) == 3 && twice.source_of(8) == 0);
static_assert(twice.received(5, 8) == 2 && twice.received(5, 13) == 2 + 3);

// A piece that ends within a repeated row receives that again.
constexpr sc::tiles::repeated_field rows{.rows = 2, .columns = 4, .down = 3};
static_assert(rows.received(0, 12) == 4 && rows.received(12, 24) == 4 && rows.received(12, 22) == 4 + 2);

}  // namespace

TEST_CASE("the tile with most of a box is found for any box and number of tiles") {
  std::mt19937 random(7);
  auto const below = [&](int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random); };
  for (int test = 0; test < 400; ++test) {
    CAPTURE(test);
    sc::tiles::rearranged_box box;
    for (int axis = 0; axis < 4; ++axis) {
      box.first.of[axis] = below(4);
      box.counts.of[axis] = 1 + below(axis == 3 ? 20 : 8);
      box.extents.of[axis] = box.first[axis] + box.counts[axis] + below(4);
    }
    for (int const tiles : {1, 3, 8, 64, 1472}) {
      sc::tile_mapping const mapping(box.extents.elements(), below(2) == 0 ? dtype::float32 : dtype::float16,
                                     few_tiles(tiles));
      std::int64_t most = 0, all = 0;
      for (int tile = 0; tile < tiles; ++tile) {
        std::int64_t count = 0;
        for (std::int64_t i = mapping.first(tile); i < mapping.last(tile); ++i) count += box.source_of(i) >= 0 ? 1 : 0;
        CHECK(count == box.elements_before(mapping.last(tile)) - box.elements_before(mapping.first(tile)));
        most = count > most ? count : most;
        all += count;
      }
      CHECK(all == box.counts.elements());
      CHECK(most == box.most_on_a_tile(mapping));
    }
  }
}

TEST_CASE("the tile that receives most of a repeated field is found") {
  std::mt19937 random(11);
  auto const below = [&](int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random); };
  for (int test = 0; test < 400; ++test) {
    CAPTURE(test);
    sc::tiles::repeated_field const field{1 + below(3), 1 + below(9), 1 + below(9),
                                          1 + below(9), 1 + below(4), 1 + below(4)};
    for (int const tiles : {1, 3, 8, 64, 1472}) {
      sc::tile_mapping const mapping(field.images * field.rows * field.down * field.row_length(),
                                     below(2) == 0 ? dtype::float32 : dtype::float16, few_tiles(tiles));
      std::int64_t most = 0;
      for (int tile = 0; tile < mapping.tiles_used(); ++tile) {
        auto const received = field.received(mapping.first(tile), mapping.last(tile));
        CHECK(received <= mapping.elements_of(tile));
        most = received > most ? received : most;
      }
      CHECK(most == field.most_received(mapping));
    }
  }
}
