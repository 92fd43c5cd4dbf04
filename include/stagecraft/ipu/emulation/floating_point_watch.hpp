// SPDX-License-Identifier: BSD-3-Clause
// Finds the step in which a number becomes infinite or NaN, where ipu_config::floating_point_behaviour asks for it.
// Keras counterpart: IPUConfig.floating_point_behaviour's inv, div0 and oflo.
#pragma once

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/kernels/simd/special_values.hpp>
#include <stagecraft/machines/ipu_config.hpp>
#include <cfenv>
#include <cstdint>
#include <string>
#include <string_view>

namespace stagecraft::tiles {

/// The name and number of a step, for the text of an error.
struct watched_step {
  std::string_view kind;         ///< "layer", "weight" or "loss of output"
  std::string_view layer;        ///< its name
  std::string_view weight = {};  ///< its name, of a weight
  std::string_view step;         ///< such as "the forward step of micro-batch"
  std::int64_t number = 0;
};

/// Watches a step: it is constructed before the step runs, and looks at the results afterwards. An operation is to
/// blame for what its operands did not have: NaN is an invalid operation, infinity a division by zero, if the processor
/// has noticed one, or else an overflow. So lanes of a register that nobody reads raise no alarm, and infinities and
/// NaN that data bring along neither: a tensor with one of them among a step's operands is an excuse for all of the
/// step's results. (NaN that becomes of infinities, as by inf - inf, is an invalid operation.)
template <floating_point_behaviour_options Behaviour, class Arch>
class floating_point_watch {
 public:
  static constexpr bool is_on = Behaviour.inv || Behaviour.div0 || Behaviour.oflo;

  floating_point_watch() {
    if constexpr (is_on) std::feclearexcept(FE_DIVBYZERO | FE_OVERFLOW);
  }
  /// The step's arithmetic is done.
  void end() {
    if constexpr (is_on) {
      divided_ = std::fetestexcept(FE_DIVBYZERO) != 0;
      overflowed_ = !divided_ || std::fetestexcept(FE_OVERFLOW) != 0;
    }
  }
  void look_at_result(float const* x, std::int64_t n) {
    if constexpr (is_on) results_ = results_ | kernels::find_special_values<Arch>(x, n);
  }
  /// Operands need to be looked at only if this is so, but for those that the step changes: before it begins.
  [[nodiscard]] bool suspects(bool half_overflowed = false) const {
    return is_on && (results_.nan || results_.infinity || (Behaviour.oflo && half_overflowed));
  }
  void look_at_operand(float const* x, std::int64_t n) {
    if constexpr (is_on) operands_ = operands_ | kernels::find_special_values<Arch>(x, n);
  }

  /// Errors: floating_point_error E4103 invalid operation, E4104 division by zero, E4105 overflow.
  void check(bool half_overflowed, watched_step const& where) const {
    if constexpr (is_on) {
      bool const infinite = results_.infinity && !operands_.infinity;
      // Infinities lead to NaN, but NaN to no infinity.
      if (Behaviour.inv && results_.nan && !operands_.nan) fail("E4103", "an invalid operation", where);
      if (Behaviour.div0 && infinite && divided_) fail("E4104", "a division by zero", where);
      if (Behaviour.oflo && ((infinite && overflowed_) || (half_overflowed && !operands_.infinity)))
        fail("E4105", "an overflow", where);
    }
  }

 private:
  [[noreturn, gnu::cold, gnu::noinline]] static void fail(char const* code, char const* what,
                                                          watched_step const& where) {
    std::string text(where.kind);
    text.append(" '").append(where.layer);
    if (!where.weight.empty()) text.append("/").append(where.weight);
    text.append("': ").append(what).append(" in ").append(where.step).append(" ").append(std::to_string(where.number));
    throw floating_point_error(code, text + ", which ipu_config::floating_point_behaviour does not let pass");
  }

  kernels::special_values results_, operands_;
  bool divided_ = false, overflowed_ = false;
};

}  // namespace stagecraft::tiles
