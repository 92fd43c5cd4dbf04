// SPDX-License-Identifier: BSD-3-Clause
// Cycles of adding a multiple of one tensor to another, as optimizers do: popops' ScaledAddSupervisor.
#pragma once

#include <stagecraft/ipu/cycles/elementwise.hpp>
#include <stagecraft/ipu/cycles/integers.hpp>
#include <stagecraft/machines/ipu_target.hpp>
#include <cstdint>

namespace stagecraft::vertices {

/// The formula of scaled_add: a + s b, a - s b, or r a + s b.
enum class scaled_operation : unsigned char { add, subtract, ax_plus_by };

/// Replaces a by a + s b, or the like, for `elements` elements, which all workers of a tile share.
///
/// Source: poplibs, lib/popops/PerformanceEstimation.cpp, getScaledArithmeticSupervisorCycleEstimate, where pointers
/// need no unpacking. (In two of three cases the source counts the vector that is left over for no worker; so does
/// this.)
struct scaled_add {
  scaled_operation operation = scaled_operation::add;
  dtype type = dtype::float32;        ///< type of a: float32 or float16
  dtype other_type = dtype::float32;  ///< type of b: float32 or float16
  std::int64_t elements = 0;
  bool mem_constrained = false;  ///< a and b lie where they can be loaded at the same time

  /// Tile cycles of the vertex.
  [[nodiscard]] constexpr std::int64_t cycles(ipu_target const& target) const noexcept {
    int const workers = target.num_worker_contexts;
    std::int64_t const vectors = elements / target.vector_width(type);
    std::int64_t const rest = elements % target.vector_width(type);
    bool const is_half_and_float = type == dtype::float16 && other_type != dtype::float16;
    std::int64_t supervisor = 21 + detail::elementwise_supervisor_cycles + (rest == 0 ? 7 : 13) + 12 + 6;
    if (operation == scaled_operation::ax_plus_by) supervisor += 12;
    if (operation == scaled_operation::subtract) supervisor += is_half_and_float ? 8 : 7;
    std::int64_t const each = vectors / workers;
    std::int64_t const left = vectors % workers;
    // One worker computes the elements that are left over. For half and float it is the first without an additional
    // vector.
    std::int64_t worker;
    if (is_half_and_float) {
      auto const of = [](std::int64_t count) { return 16 + (count == 0 ? 0 : 9 + 5 * (count - 1)) + 2; };
      worker = detail::larger(left > 0 ? of(each + 1) : 0, of(each) + half_rest_of_float(rest)) + 1;
    } else if (type != dtype::float16 && operation == scaled_operation::ax_plus_by) {
      worker = 16 + (each == 0 ? 0 : 6 + 3 * (each - 1)) + 1 + (rest != 0 ? 5 : 0) + 1;
    } else {
      int const per_vector = mem_constrained ? (each >= 16 ? 1 : 2) : type == other_type ? 3 : 4;
      worker = 15 + (each == 0 ? 0 : 6 + per_vector * (each - 1)) + 2 + 1 + rest_cycles(rest) + 1;
    }
    return supervisor + worker * workers;
  }
  [[nodiscard]] constexpr std::int64_t flops() const noexcept {
    return (operation == scaled_operation::ax_plus_by ? 3 : 2) * elements;
  }

 private:
  [[nodiscard]] static constexpr std::int64_t half_rest_of_float(std::int64_t rest) noexcept {
    if (rest == 0) return 1;
    return 1 + 2 + (rest >= 2 ? 5 : 0) + 2 + (rest % 2 != 0 ? 6 : 0);
  }
  [[nodiscard]] constexpr std::int64_t rest_cycles(std::int64_t rest) const noexcept {
    if (rest == 0) return 0;
    if (type != dtype::float16) return 8;
    return 5 + (rest >= 2 ? 7 : 0) + (rest == 3 ? 6 : 0);
  }
};

}  // namespace stagecraft::vertices
