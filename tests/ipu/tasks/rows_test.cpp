// SPDX-License-Identifier: BSD-3-Clause
// What softmax and losses cost: the vertices' cycles worked out by hand.
#include <stagecraft/ipu/tasks/rows.hpp>
#include <stagecraft/ipu/tasks/tasks.hpp>
#include <doctest/doctest.h>

namespace sc = stagecraft;
using sc::dtype, sc::tiles::tensor_role;

namespace {

constexpr sc::ipu_target two_tiles = [] {
  auto target = sc::ipu_targets::ipu2;
  target.tiles_per_ipu = 2;
  return target;
}();

constexpr sc::tiles::operation_cost softmax_cost(bool gradient, dtype type) {
  sc::tiles::lowered_step step;
  int const x = step.tensor(tensor_role::input, 0, type, 12 * 8);
  int const y = step.tensor(tensor_role::output, 0, type, 12 * 8);
  if (gradient)
    append_softmax_gradient(step, x, y, x, 12, 8, 1);
  else
    append_softmax(step, x, y, 12, 8, 1);
  return cost_of(step, step.tasks[0], two_tiles);
}

// Each tile has 6 rows, each worker one: maximum 6 * (3 + 6 + 8 / 2 + 5 + 3), differences 6 * (15 + 7 + 9) + 11,
// exponents 6 * (55 + 4 * 6) + 20, sums 6 * (3 + 6 + 2 * 8 / 4 + 5 + 3), inverses 6 * (55 + 6) + 20, products as
// differences.
static_assert(softmax_cost(false, dtype::float32) ==
              sc::tiles::operation_cost{.compute_cycles = 126 + 197 + 494 + 126 + 386 + 197,
                                        .exchange_cycles = 48 + 48,
                                        .sync_cycles = 2 * 126,
                                        .flops = 2 * (42 + 48 + 48 + 42 + 6 + 48),
                                        .bytes_exchanged = 192 + 192,
                                        .exchanges = 2,
                                        .compute_sets = 1,
                                        .temporary_bytes = 192});
// Products 6 * (29 + 4 * 3) + 11, sums, products with these, differences in place 6 * (58 + 4 * 3) + 11.
static_assert(softmax_cost(true, dtype::float32) == sc::tiles::operation_cost{.compute_cycles = 257 + 126 + 197 + 431,
                                                                              .exchange_cycles = 96 + 48,
                                                                              .sync_cycles = 2 * 126,
                                                                              .flops = 2 * (48 + 42 + 48 + 48),
                                                                              .bytes_exchanged = 384 + 192,
                                                                              .exchanges = 2,
                                                                              .compute_sets = 1,
                                                                              .temporary_bytes = 384});
// In float16 with sums in float32, whose inverses are converted: 12 + 6 * (18 + 19 + 3 + 1).
static_assert(softmax_cost(false, dtype::float16).bytes_exchanged == 192);
static_assert(softmax_cost(false, dtype::float16).compute_cycles == 144 + 173 + 398 + 114 + 386 + 258 + 173);

template <auto Loss>
constexpr sc::tiles::operation_cost loss_cost(bool with_gradient) {
  sc::tiles::lowered_step step;
  int const prediction = step.tensor(tensor_role::input, 0, dtype::float32, 12 * 8);
  int const targets = step.tensor(tensor_role::target, 0, dtype::float32, Loss.sparse_targets ? 12 : 12 * 8);
  int const scales = step.tensor(tensor_role::sample_scale, 0, dtype::float32, 12);
  int const result = step.tensor(tensor_role::loss, 0, dtype::float32, 1);
  int const gradient = with_gradient ? step.tensor(tensor_role::output_gradient, 0, dtype::float32, 12 * 8) : -1;
  append_loss(step, sc::tiles::rule_of_loss<Loss, 8>(with_gradient), prediction, targets, scales, result, gradient, 12,
              8);
  return cost_of(step, step.tasks[0], two_tiles);
}

// Squares and gradients 6 * (18 + 4 * 8 + 1), sums of rows 126, times scales 6 * (58 + 3) + 11, gradients times scales
// 197, the tile's sum 6 * (18 + 22); on tile 0 6 * (3 + 6 + 1 + 5 + 2 + 3) for the sums of both.
static_assert(loss_cost<sc::losses::mean_squared_error{}>(true) ==
              sc::tiles::operation_cost{.compute_cycles = 306 + 126 + 377 + 197 + 240 + 120,
                                        .exchange_cycles = 102 + 50,
                                        .sync_cycles = 2 * 126,
                                        .flops = 2 * (144 + 42 + 6 + 48 + 5) + 1,
                                        .bytes_exchanged = 408 + 200,
                                        .exchanges = 2,
                                        .compute_sets = 2,
                                        .temporary_bytes = 192 + 192 + 24 + 8 + 8});
static_assert(loss_cost<sc::losses::mean_squared_error{}>(false) ==
              sc::tiles::operation_cost{.compute_cycles = 306 + 126 + 377 + 240 + 120,
                                        .exchange_cycles = 102 + 2,
                                        .sync_cycles = 2 * 126,
                                        .flops = 2 * (144 + 42 + 6 + 5) + 1,
                                        .bytes_exchanged = 408 + 8,
                                        .exchanges = 2,
                                        .compute_sets = 2,
                                        .temporary_bytes = 192 + 192 + 24 + 8 + 8});
// Softmax 1526, ones and zeros 6 * (23 + 8 / 2), cross entropy 6 * (19 + 9 * 8 + 1).
static_assert(loss_cost<sc::losses::sparse_categorical_crossentropy{.from_logits = true}>(true).compute_cycles ==
              1526 + 162 + 552 + 126 + 377 + 197 + 240 + 120);
// Clipping twice 6 * (20 + 4 * 3) + 11 instead of softmax, sums, inverses and products.
static_assert(loss_cost<sc::losses::categorical_crossentropy{}>(true).compute_cycles ==
              2 * 203 + 126 + 386 + 197 + 552 + 126 + 377 + 197 + 240 + 120);
// Smoothing: 6 * (20 + 4 * 2) + 11, twice.
static_assert(loss_cost<sc::losses::categorical_crossentropy{.label_smoothing = 0.1F}>(true).compute_cycles ==
              loss_cost<sc::losses::categorical_crossentropy{}>(true).compute_cycles + 2 * 179);
// Twice clipping, differences from 1 and cross entropy, and the sum of gradients 6 * (58 + 4 * 3) + 11.
static_assert(loss_cost<sc::losses::binary_crossentropy{}>(true).compute_cycles ==
              2 * (203 + 179 + 552) + 431 + 126 + 377 + 197 + 240 + 120);
// Differences 431, absolute values 6 * (55 + 5 * 9 / 2) + 20, signs 6 * (55 + 9 * 9 / 2) + 20.
static_assert(loss_cost<sc::losses::mean_absolute_error{}>(true).compute_cycles ==
              431 + 482 + 590 + 126 + 377 + 197 + 240 + 120);
// Differences, absolute values, two sides of the gradient, the smaller, 64 + 6 * 34 for e - m / 2, products.
static_assert(loss_cost<sc::losses::huber{}>(true).compute_cycles ==
              431 + 482 + 2 * 203 + 203 + 268 + 431 + 126 + 377 + 197 + 240 + 120);

// One row of 600: each worker adds up 100 elements, and one of them what all have found. The same with 6 rows, where
// each worker does one, takes 6 * (3 + 6 + 2 * 600 / 4 + 5 + 3).
constexpr auto sums_of_rows(std::int64_t rows) {
  return sc::detail::reduced_rows(sc::vertices::reduce_operation::add, dtype::float32, dtype::float32, rows, 600,
                                  two_tiles);
}
static_assert(sums_of_rows(1) == sc::tiles::vertex_work{6 * (67 + 22), 599});
static_assert(sums_of_rows(6) == sc::tiles::vertex_work{6 * 317, 6 * 599});

// 7 rows: 4 and 3. The rows of tile 0 decide about exchange.
constexpr sc::tiles::operation_cost uneven = [] {
  sc::tiles::lowered_step step;
  int const x = step.tensor(tensor_role::input, 0, dtype::float32, 7 * 8);
  append_softmax(step, x, x, 7, 8, 1);
  return cost_of(step, step.tasks[0], two_tiles);
}();
static_assert(uneven.bytes_exchanged == 4 * 32 + 28 * 4 && uneven.temporary_bytes == 128);
static_assert(uneven.flops == 7 * (7 + 8 + 8 + 7 + 1 + 8));

}  // namespace

TEST_CASE("every row of a batch is on some tile") {
  for (std::int64_t const rows : {1, 2, 3, 1000})
    for (int const tiles : {1, 2, 7, 1472}) {
      auto target = two_tiles;
      target.tiles_per_ipu = tiles;
      sc::detail::equal_shares const shares(rows, target);
      std::int64_t sum = 0;
      for (int tile = 0; tile < tiles; ++tile) {
        CHECK(shares.of(tile) <= shares.of(0));
        CHECK((shares.of(tile) > 0) == (tile < shares.tiles_used()));
        CHECK(shares.first(tile) == sum);
        sum += shares.of(tile);
      }
      CHECK(sum == rows);
    }
}
