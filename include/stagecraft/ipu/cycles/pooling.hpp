// SPDX-License-Identifier: BSD-3-Clause
// Cycles of pooling: popnn's MaxPooling, SumPooling and MaxPoolingGrad.
#pragma once

#include <stagecraft/ipu/cycles/field_share.hpp>
#include <stagecraft/ipu/cycles/integers.hpp>
#include <stagecraft/machines/ipu_target.hpp>
#include <cstdint>

namespace stagecraft::vertices {

/// The result of a pooling vertex: the largest element of each window, the sum (which the average is made from), or
/// the gradient of the largest.
enum class pooling_type : unsigned char { max, sum, max_gradient };

/// Pools a tile's part, channels in groups side by side: for each element of the window, runs of outputs in a row. The
/// workers share the rows of outputs; outputs are set to their first value before.
///
/// Source: poplibs, lib/popnn/PerformanceEstimation.hpp, getPoolingCycles, with the costs that its planner assumes for
/// unpacking pointers (2 each). A worker has its share of the rows as runs, one for each element of the window; all
/// workers are taken to set as many outputs to their first value as the one with most.
struct pooling {
  pooling_type type = pooling_type::max;
  dtype data = dtype::float32;    ///< float32 or float16
  std::int64_t field_rows = 0;    ///< batch x rows of outputs
  std::int64_t row_elements = 0;  ///< outputs in a row
  std::int64_t window_elements = 1;
  std::int64_t chan_groups = 1;
  std::int64_t chans_per_group = 2;  ///< a multiple of ipu_target::vector_width

  /// Tile cycles of the vertex.
  [[nodiscard]] constexpr std::int64_t cycles(ipu_target const& target) const noexcept {
    int const workers = target.num_worker_contexts;
    std::int64_t longest = 0;
    for (int worker = 0; worker < workers; ++worker) longest = detail::larger(longest, worker_cycles(target, worker));
    return 7 + 6 * longest + 6;
  }

  /// Floating point operations: one for each element of each window; sums have one more for each output, to scale it.
  [[nodiscard]] constexpr std::int64_t flops() const noexcept {
    std::int64_t const outputs = field_rows * row_elements * chan_groups * chans_per_group;
    return outputs * (window_elements + (type == pooling_type::sum ? 1 : 0));
  }

 private:
  [[nodiscard]] constexpr std::int64_t worker_cycles(ipu_target const& target, int worker) const noexcept {
    constexpr int unpack = 2;
    int const workers = target.num_worker_contexts;
    bool const is_gradient = type == pooling_type::max_gradient;
    std::int64_t const vectors = detail::ceil_div(chans_per_group, target.vector_width(data));
    std::int64_t const first_values = detail::ceil_div(field_rows * row_elements * vectors, workers);
    std::int64_t cycles = 17 + unpack + (4 + first_values) * chan_groups + 6 + unpack;
    auto const share = share_of_worker(field_rows, row_elements, workers, worker);
    if (share.elements() == 0) return cycles + 1;
    cycles += 2 + (type == pooling_type::sum ? 2 : 1) + (is_gradient ? 6 + 2 * unpack : 0) + 3 + 2 + 2 * unpack + 1;
    auto const of_run = [&](std::int64_t size) -> std::int64_t {
      std::int64_t const loop = is_gradient ? 7 + 5 * size : type == pooling_type::max ? 4 + 3 * size : 5 + 3 * size;
      std::int64_t const of_group = 1 + vectors * (2 + loop + 1) + 1;
      return 20 + chan_groups * of_group + (chan_groups - 1) * (is_gradient ? 6 : 4) + 3;
    };
    return cycles + share.sum([&](std::int64_t size) { return 13 + window_elements * of_run(size) + 2; }) + 1;
  }
};

}  // namespace stagecraft::vertices
