// SPDX-License-Identifier: BSD-3-Clause
// A formula at the elements of a tile: the host's, batch by batch.
#pragma once

#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/ipu/cycles/integers.hpp>
#include <stagecraft/ipu/steps/lowered_step.hpp>
#include <stagecraft/ipu/tiles/tile_view.hpp>
#include <stagecraft/kernels/elementwise/formula.hpp>
#include <array>
#include <cstddef>
#include <cstdint>

namespace stagecraft::tiles {

/// `everywhere`: what the formula is given for all elements.
class formula_codelet {
 public:
  formula_codelet(operations::formula_view const& formula, tracing::array_view<double const> everywhere)
      : formula_(formula) {
    kernels::formula_constants(formula, everywhere, constants_);
  }

  /// Results may be operands. `read(i, k)` returns operand i at element k; `change(numbers, count)` may change them.
  template <class Read, class Change>
  void run(std::size_t operands, Read const& read, tracing::array_view<tile_view const> results,
           Change const& change) const {
    constexpr std::int64_t most_places = 256;
    std::array<std::array<float, most_places>, task::most_inputs> numbers;
    std::array<std::array<float, most_places>, task::most_outputs> found;
    std::array<float const*, numbers.size()> given{};
    std::array<float*, found.size()> to{};
    for (std::size_t i = 0; i < operands; ++i) given[i] = numbers[i].data();
    for (std::size_t i = 0; i < results.size(); ++i) to[i] = found[i].data();
    for (std::int64_t first = 0; first < results[0].size(); first += most_places) {
      auto const count = smaller(most_places, results[0].size() - first);
      for (std::size_t i = 0; i < operands; ++i)
        for (std::int64_t k = 0; k < count; ++k) numbers[i][k] = read(i, first + k);
      change(numbers, static_cast<std::size_t>(count));
      kernels::formula_places(formula_, constants_, given, tracing::array_view<float*>(to).first(results.size()),
                              count);
      for (std::size_t i = 0; i < results.size(); ++i)
        for (std::int64_t k = 0; k < count; ++k) results[i].set(first + k, found[i][k]);
    }
  }
  template <class Read>
  void run(std::size_t operands, Read const& read, tracing::array_view<tile_view const> results) const {
    run(operands, read, results, [](auto&, std::size_t) {});
  }

 private:
  operations::formula_view const& formula_;
  std::array<float, operations::formula_view::most_steps> constants_{};
};

}  // namespace stagecraft::tiles
