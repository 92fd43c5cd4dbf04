// SPDX-License-Identifier: BSD-3-Clause
// Options of Poplar's products and convolutions where they differ from the machine's: of stages of a pipeline, and of
// layers.
#pragma once

#include <stagecraft/graph/dtype.hpp>
#include <bit>

namespace stagecraft::tracing {

/// A number that is given, or not: then the machine's holds. It is one number, 0 if nothing is given, which keeps names
/// and what GCC prints of a layer short.
template <class T>
struct own_setting {
  unsigned bits_and_one = 0;  ///< the bits of the number, plus one

  constexpr own_setting() = default;
  constexpr own_setting(T number) : bits_and_one(bits_of(number) + 1) {}

  [[nodiscard]] constexpr T or_else(T other) const noexcept {
    if (bits_and_one == 0) return other;
    if constexpr (sizeof(T) == sizeof(unsigned))
      return std::bit_cast<T>(bits_and_one - 1);
    else
      return static_cast<T>(bits_and_one - 1);
  }
  friend constexpr bool operator==(own_setting const&, own_setting const&) = default;

 private:
  [[nodiscard]] static constexpr unsigned bits_of(T number) {
    if constexpr (sizeof(T) == sizeof(unsigned))
      return std::bit_cast<unsigned>(number);
    else
      return static_cast<unsigned>(number);
  }
};

}  // namespace stagecraft::tracing

namespace stagecraft {

/// Options of one stage, or of one recurrent layer, in place of the machine's `matmuls` or `convolutions`: an option
/// that is not given has the machine's value.
struct stage_poplar_options {
  using listed_options = stage_poplar_options;

  /// Poplar's availableMemoryProportion: plans take at most this part of a tile's memory for temporary data, where such
  /// a plan exists. From 0 to 1 (E3004).
  tracing::own_setting<float> available_memory_proportion = {};
  /// Poplar's partialsType: the type of partial sums, float32 or float16 (E3005). Products of float32 have float32
  /// partial sums in any case.
  tracing::own_setting<dtype> partials_type = {};
  /// Poplar's use128BitConvUnitLoad: weights are loaded into the units at twice the speed.
  tracing::own_setting<bool> use_128bit_conv_unit_load = {};

  /// True if anything is given.
  [[nodiscard]] constexpr bool given() const noexcept { return *this != stage_poplar_options{}; }
  friend constexpr bool operator==(stage_poplar_options const&, stage_poplar_options const&) = default;
};

}  // namespace stagecraft
