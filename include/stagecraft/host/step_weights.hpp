// SPDX-License-Identifier: BSD-3-Clause
// What the host's steps read in place of the stored weights, and besides them.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/host/steps/folded_normalization.hpp>
#include <stagecraft/host/steps/prepared_weights.hpp>

namespace stagecraft::cpu {

/// See ExecutionPolicy. Weights that contain batch normalizations replace the stored ones; packed weights of single
/// samples stand beside them.
template <class Plan, template <int> class PlanOfCall>
class step_weights {
  using prepared_type = prepared_weights<Plan>;

 public:
  using folded_type = folded_weights<typename Plan::model, Plan::training, typename Plan::architecture, PlanOfCall>;
  static constexpr bool replaces_weights = folded_type::count > 0;
  static constexpr bool prepares_weights = prepared_type::floats > 0;

  void derive(float* stored) {
    folded_.fold(stored);
    prepared_.prepare(replaces_weights ? folded_.data() : stored);
  }
  [[nodiscard]] float* weights() const noexcept { return folded_.data(); }
  [[nodiscard]] float const* prepared() const noexcept { return prepared_.data(); }

 private:
  folded_type folded_;
  prepared_type prepared_;
};

}  // namespace stagecraft::cpu
