// SPDX-License-Identifier: BSD-3-Clause
// The loss of an output, and its gradient, on an emulated IPU; and what becomes of logits afterwards.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/host/loss_step.hpp>
#include <stagecraft/ipu/emulation/tile_step.hpp>
#include <stagecraft/ipu/placement/tile_places.hpp>
#include <stagecraft/plan/session_shape.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace stagecraft::tiles {

/// The step of a loss on emulated IPUs. Its cost is added to `emulated_device::counted`.
template <class Plan, std::size_t Output>
class ipu_loss {
  using model = typename Plan::model;
  using machine = typename Plan::machine;
  using shape = session_shape<typename Plan::job::described>;
  static constexpr lowered_step const& step = lowered_loss_of<typename Plan::job, Output>;

 public:
  template <class HostLoss>
  static float run(pass_memory const& memory, float const* prediction, void const* targets, float const* scales,
                   loss_gradient const& gradient, HostLoss const& host_loss) {
    if constexpr (Plan::machine::checked) {
      using places = tile_places<typename Plan::job>;
      auto const offsets = offsets_of(step, [&](tile_tensor const& tensor) {
        return places::template of_loss<Output>(tensor, memory.micro_batch);
      });
      float result = 0;
      step_values const values{.seed = memory.seed,
                               .step = memory.step,
                               .valid_samples = memory.valid_samples,
                               .accumulated = memory.accumulated,
                               .loss_scale = memory.loss_scale};
      *emulated_device_of(memory).counted += run_step(
          *emulated_device_of(memory).tiles, step, offsets.data(), places::end_of_losses(), values,
          [&](tile_tensor const& tensor, float* to) {
            switch (tensor.role) {
              case tensor_role::input: std::copy_n(prediction, tensor.elements, to); return true;
              case tensor_role::target:
                std::copy_n(static_cast<typename shape::template target_type<Output> const*>(targets), tensor.elements,
                            to);
                return true;
              case tensor_role::sample_scale: std::copy_n(scales, tensor.elements, to); return true;
              case tensor_role::output_gradient:
                if (gradient.scratch == nullptr) return false;
                std::copy_n(gradient.to, tensor.elements, to);
                return true;
              default: return false;
            }
          },
          [&](tile_tensor const& tensor, float const* from) {
            if (tensor.role == tensor_role::loss) result = *from;
            if (tensor.role == tensor_role::output_gradient) std::copy_n(from, tensor.elements, gradient.to);
          },
          [](task const&) {});
      return result;
    } else {
      *emulated_device_of(memory).counted += loss_cost_of<typename Plan::job, Output>.cost;
      return host_loss();
    }
  }
};

/// The logits that a loss has taken become the output, on an emulated IPU.
template <class Plan, std::size_t Output>
class ipu_output {
  using model = typename Plan::model;
  using machine = typename Plan::machine;

 public:
  template <class HostStep>
  static void run(pass_memory const& memory, [[maybe_unused]] float* value, HostStep const& host_step) {
    if constexpr (Plan::machine::checked) {
      static constexpr lowered_step const& step = lowered_output_of<typename Plan::job, Output>;
      using places = tile_places<typename Plan::job>;
      auto const offsets = offsets_of(step, [&](tile_tensor const& tensor) {
        return places::template of_loss<Output>(tensor, memory.micro_batch);
      });
      step_values const values{.seed = memory.seed, .step = memory.step, .valid_samples = memory.valid_samples};
      *emulated_device_of(memory).counted += run_step(
          *emulated_device_of(memory).tiles, step, offsets.data(), places::end_of_losses(), values,
          [&](tile_tensor const& tensor, float* to) {
            std::copy_n(value, tensor.elements, to);
            return true;
          },
          [&](tile_tensor const& tensor, float const* from) { std::copy_n(from, tensor.elements, value); },
          [](task const&) {});
    } else {
      *emulated_device_of(memory).counted += output_cost_of<typename Plan::job, Output>.cost;
      host_step();
    }
  }
};

}  // namespace stagecraft::tiles
