// SPDX-License-Identifier: BSD-3-Clause
// Epilogues: functions that products and convolutions apply to their sums in registers, and their composition.
//
// An epilogue is called as `epilogue(sum, column, element)`: `sum` holds the sums of `lanes` neighbouring columns
// (units or channels) of one row of the result y, the first of which is number `column` of its row and is stored at
// y[element]. It returns the values to be stored. Lanes after the last column of a row are unspecified and not stored.
#pragma once

#include <stagecraft/kernels/simd/simd.hpp>
#include <concepts>
#include <cstdint>

namespace stagecraft::kernels {

/// Leaves the sums as they are.
struct no_epilogue {
  template <class Batch>
  [[nodiscard, gnu::always_inline]] inline Batch operator()(Batch const& sum, int /*column*/,
                                                            std::int64_t /*element*/) const noexcept {
    return sum;
  }
};

/// Adds bias[column]. The bias is padded to whole registers.
struct bias_epilogue {
  float const* bias;

  template <class Batch>
  [[nodiscard, gnu::always_inline]] inline Batch operator()(Batch const& sum, int column,
                                                            std::int64_t /*element*/) const noexcept {
    return sum + Batch::load_unaligned(bias + column);
  }
};

/// Adds residual[element]: the same place of another tensor with the result's shape, of which up to a register after
/// its end may be read. It may be the result itself, if nothing is stored there before the sums are complete.
struct residual_epilogue {
  float const* residual;

  template <class Batch>
  [[nodiscard, gnu::always_inline]] inline Batch operator()(Batch const& sum, int /*column*/,
                                                            std::int64_t element) const noexcept {
    return sum + Batch::load_unaligned(residual + element);
  }
};

/// (sum - mean[column]) * scale[column] + offset[column]: batch normalization with statistics that are known. The
/// arrays are padded to whole registers.
struct normalization_epilogue {
  float const *mean, *scale, *offset;

  template <class Batch>
  [[nodiscard, gnu::always_inline]] inline Batch operator()(Batch const& sum, int column,
                                                            std::int64_t /*element*/) const {
    return fused_multiply_add(sum - Batch::load_unaligned(mean + column), Batch::load_unaligned(scale + column),
                              Batch::load_unaligned(offset + column));
  }
};

/// An epilogue and then another one, which has the bits of a step of its own, or a function of the batch alone, such as
/// an activation. For three parts: `epilogue_then{epilogue_then{first, second}, third}`.
template <class Epilogue, class Then>
struct epilogue_then {
  Epilogue epilogue;
  Then then;

  template <class Batch>
  [[nodiscard, gnu::always_inline]] inline Batch operator()(Batch const& sum, int column, std::int64_t element) const {
    Batch const value = epilogue(sum, column, element);
    if constexpr (std::invocable<Then const&, Batch const&, int, std::int64_t>)
      return then(rounded(value), column, element);
    else
      return then(value);
  }
};

template <class Epilogue, class Then>
epilogue_then(Epilogue, Then) -> epilogue_then<Epilogue, Then>;

/// `epilogue_then`, where either may be `no_epilogue`.
template <class Epilogue, class Then>
[[nodiscard]] auto join_epilogues(Epilogue const& epilogue, Then const& then) {
  if constexpr (std::same_as<Then, no_epilogue>)
    return epilogue;
  else if constexpr (std::same_as<Epilogue, no_epilogue>)
    return then;
  else
    return epilogue_then{epilogue, then};
}

}  // namespace stagecraft::kernels
