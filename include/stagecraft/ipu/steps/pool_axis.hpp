// SPDX-License-Identifier: BSD-3-Clause
// Windows along one axis of a field, and places between its elements: which inputs an output needs, and the other way
// round.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/cycles/integers.hpp>
#include <cstdint>

namespace stagecraft::tiles {

/// Numbers from `first` to below `last`; none if `last` is not above `first`.
struct pool_range {
  std::int64_t first = 0;
  std::int64_t last = 0;

  [[nodiscard]] constexpr std::int64_t count() const noexcept { return larger(last - first, 0); }
};

/// Window i covers the inputs from i * stride - before on; those that are not there do not count.
/// Interpolation between `input` elements has stride times as many outputs, each between two of them.
struct pool_axis {
  std::int64_t input = 1;
  std::int64_t window = 1;
  std::int64_t stride = 1;
  std::int64_t before = 0;
  std::int64_t output = 1;

  /// An axis that is interpolated: it becomes longer by a whole factor.
  [[nodiscard]] static constexpr pool_axis interpolated(std::int64_t input, std::int64_t factor) noexcept {
    return {.input = input, .stride = factor, .output = input * factor};
  }

  /// The inputs that the windows of some outputs cover.
  [[nodiscard]] constexpr pool_range inputs_of(pool_range const& outputs) const noexcept {
    return {larger(outputs.first * stride - before, 0), smaller((outputs.last - 1) * stride - before + window, input)};
  }
  /// The windows that cover any of some inputs.
  [[nodiscard]] constexpr pool_range windows_of(pool_range const& inputs) const noexcept {
    std::int64_t const begin = inputs.first + before;
    return {begin < window ? 0 : (begin - window) / stride + 1,
            smaller((inputs.last - 1 + before) / stride + 1, output)};
  }
  /// At most so many windows cover an input.
  [[nodiscard]] constexpr std::int64_t windows_of_input() const noexcept { return ceil_div(window, stride); }

  /// Between which inputs an output lies, and how much of the upper one is in it. TensorFlow's half-pixel centres, in
  /// the same arithmetic as on the host.
  struct place {
    std::int64_t lower = 0;
    std::int64_t upper = 0;
    float weight = 0;

    /// How much of an input is in the output.
    [[nodiscard]] constexpr float share_of(std::int64_t index) const noexcept {
      return (lower == index ? 1.0F - weight : 0.0F) + (upper == index ? weight : 0.0F);
    }
  };
  [[nodiscard]] constexpr place place_of(std::int64_t index) const noexcept {
    float const scale = static_cast<float>(input) / static_cast<float>(output);
    float const at = (static_cast<float>(index) + 0.5F) * scale - 0.5F;
    std::int64_t const whole = at < 0 ? -1 : static_cast<std::int64_t>(at);  // rounded down: it is above -1
    std::int64_t const next = at > static_cast<float>(whole) ? whole + 1 : whole;
    return {larger(whole, 0), smaller(next, input - 1), at - static_cast<float>(whole)};
  }
  /// The inputs that some outputs lie between.
  [[nodiscard]] constexpr pool_range inputs_beside(pool_range const& outputs) const noexcept {
    return {place_of(outputs.first).lower, place_of(outputs.last - 1).upper + 1};
  }
  /// The outputs that lie beside any of some inputs; perhaps one more at each end where places are rounded.
  [[nodiscard]] constexpr pool_range outputs_beside(pool_range const& inputs) const noexcept {
    std::int64_t const more = (stride & (stride - 1)) == 0 ? 0 : 1;
    std::int64_t const begin = (2 * stride * inputs.first - stride + 1) / 2 - more;
    std::int64_t const end = (2 * stride * inputs.last + stride) / 2 + more;
    return {inputs.first == 0 ? 0 : larger(begin, 0), inputs.last == input ? output : smaller(end, output)};
  }
  /// At most so many outputs lie beside an input.
  [[nodiscard]] constexpr std::int64_t outputs_beside_input() const noexcept { return 2 * stride - stride % 2; }
};

}  // namespace stagecraft::tiles
