// SPDX-License-Identifier: BSD-3-Clause
// Carries out one lowered step on the tiles of an emulated IPU: its tensors come from the device's block, as they lie
// in all tiles' memories together, and go back there.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/engine/policy/weight_storage.hpp>
#include <stagecraft/host/steps/host_call.hpp>
#include <stagecraft/ipu/emulation/emulated_device.hpp>
#include <stagecraft/ipu/lowering/lowered_steps.hpp>
#include <stagecraft/ipu/tiles/codelets/run_task.hpp>
#include <stagecraft/kernels/simd/narrow_floats.hpp>
#include <stagecraft/optimizers/learning_rate.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace stagecraft::tiles {

/// For each tensor of a step: true if its tasks write it.
constexpr auto written_tensors(lowered_step const& step) {
  std::array<bool, lowered_step::most_tensors> written{};
  for (int k = 0; k < step.task_count; ++k)
    for (int i = 0; i < step.tasks[k].output_count; ++i) written[step.tasks[k].outputs[i]] = true;
  return written;
}

constexpr bool runs_own_layer(lowered_step const& step) {
  for (int k = 0; k < step.task_count; ++k)
    if (step.tasks[k].what.is<own_layer_step>()) return true;
  return false;
}
/// Calls f<0>() ... f<Count - 1>() until one whose number is `index`.
template <int Count, class Function>
void with_constant(int index, Function const& function) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    [[maybe_unused]] int const done[] {
      0,
      (static_cast<int>(I) == index ? (function.template operator()<I>(), 0) : 0)...
    };
  }(std::make_index_sequence<Count>{});
}

/// The offsets of a step's tensors: `place(tensor)` of each but temporary ones.
template <class Place>
std::array<std::int64_t, lowered_step::most_tensors> offsets_of(lowered_step const& step, Place const& place) {
  std::array<std::int64_t, lowered_step::most_tensors> offsets{};
  for (int i = 0; i < step.tensor_count; ++i)
    if (step.tensors[i].role != tensor_role::temporary) offsets[i] = place(step.tensors[i]);
  return offsets;
}

/// Runs a lowered step whose tensors are loaded by `load(tensor, values)` and stored by `store(tensor, values)`, row by
/// row; `custom(task)` runs a layer of the user's own. Returns what was counted.
template <class Load, class Store, class Custom>
operation_cost run_step(tile_machine& machine, lowered_step const& step, std::int64_t const* offsets,
                        std::int64_t step_offset, step_values const& values, Load const& load, Store const& store,
                        Custom const& custom) {
  step_layout const layout(step, machine.target());
  auto const written = written_tensors(step);
  std::vector<float> elements;
  machine.begin_step(step, layout, offsets, step_offset, values);
  for (int tensor = 0; tensor < step.tensor_count; ++tensor) {
    if (step.tensors[tensor].role == tensor_role::temporary) continue;
    elements.assign(step.tensors[tensor].elements, 0.0F);
    if (load(step.tensors[tensor], elements.data())) machine.load(tensor, elements.data());
  }
  for (int k = 0; k < step.task_count; ++k) {
    machine.begin_task(step_offset + layout.copies[k]);
    if (step.tasks[k].what.is<own_layer_step>())
      custom(step.tasks[k]);
    else
      run_task(machine, step.tasks[k]);
  }
  for (int tensor = 0; tensor < step.tensor_count; ++tensor) {
    if (!written[tensor] || step.tensors[tensor].role == tensor_role::temporary) continue;
    elements.resize(step.tensors[tensor].elements);
    machine.store(tensor, elements.data());
    store(step.tensors[tensor], elements.data());
  }
  return machine.counted();
}

/// A layer's step. `Plan` is a step_plan; `cost` is what a run counts.
template <class Plan, int Call, bool Backward>
class tile_step {
  using call_type = host_call<Plan, Call>;
  using model = typename Plan::model;
  using layout = weight_layout<model, typename Plan::architecture>;
  /// Recomputed forward steps are those of the stage's forward pass.
  static constexpr int pass =
      Backward ? Plan::pass_number : planning_timetable<typename Plan::job>.stage_of_pass(Plan::pass_number);

 public:
  static constexpr lowered_step const& step = lowered_step_of<typename Plan::job, pass, Call, Backward>;
  static constexpr operation_cost cost = step_cost_of<typename Plan::job, pass, Call, Backward>.cost;

  static operation_cost run(pass_memory const& memory, tile_machine& machine, std::int64_t const* offsets,
                            std::int64_t step_offset) {
    call_type const call{memory};
    step_values const values{.seed = memory.seed,
                             .step = memory.step,
                             .call = Call,
                             .valid_samples = memory.valid_samples,
                             .accumulated = memory.accumulated,
                             .update = static_cast<std::int64_t>(memory.update),
                             .learning_rate = memory.learning_rate};
    return run_step(
        machine, step, offsets, step_offset, values,
        [&](tile_tensor const& tensor, float* to) { return load(call, tensor, to); },
        [&](tile_tensor const& tensor, float const* from) { store(call, tensor, from); },
        [&]([[maybe_unused]] task const& task) {
          if constexpr (runs_own_layer) run_custom<call_type>(machine, task, call);
        });
  }

 private:
  static constexpr bool runs_own_layer = detail::runs_own_layer(step);
  static bool load(call_type const& call, tile_tensor const& tensor, float* to) {
    auto const count = tensor.elements;
    switch (tensor.role) {
      case tensor_role::input:
        std::copy_n(Plan::address(call.memory, Plan::value(call.input_call(tensor.index))), count, to);
        return true;
      case tensor_role::output: std::copy_n(call.output(), Backward ? count : 0, to); return Backward;
      case tensor_role::saved: load_saved(call, tensor, to); return Backward;
      case tensor_role::output_gradient: std::copy_n(call.output_gradient(), count, to); return true;
      case tensor_role::input_gradient:
        if (!call_type::adds_input_gradient(tensor.index)) return false;
        std::copy_n(call.input_gradient(tensor.index), count, to);
        return true;
      case tensor_role::weight:
        with_constant<call_type::parameter_count>(
            tensor.index, [&]<std::size_t Index>() { layout::template read<first + Index>(call.memory.weights, to); });
        return true;
      case tensor_role::accumulator: load_accumulator(call, tensor.index, to); return true;
      default: return false;
    }
  }
  static void store(call_type const& call, tile_tensor const& tensor, float const* from) {
    auto const count = tensor.elements;
    switch (tensor.role) {
      case tensor_role::output: std::copy_n(from, count, call.output()); break;
      case tensor_role::saved: store_saved(call, tensor, from); break;
      case tensor_role::input_gradient: std::copy_n(from, count, call.input_gradient(tensor.index)); break;
      case tensor_role::weight:
        with_constant<call_type::parameter_count>(tensor.index, [&]<std::size_t Index>() {
          layout::template write<first + Index>(from, call.memory.weights);
        });
        break;
      case tensor_role::accumulator: store_accumulator(call, tensor.index, from); break;
      default: break;
    }
  }

  static constexpr auto first = static_cast<std::size_t>(call_type::first_parameter);

  // Small numbers stand four to a float.
  static void load_saved(call_type const& call, tile_tensor const& tensor, float* to) {
    float const* const from = call.saved() + tensor.index;
    if (tensor.type == dtype::uint8)
      std::copy_n(reinterpret_cast<std::uint8_t const*>(from), tensor.elements, to);
    else
      std::copy_n(from, tensor.elements, to);
  }
  static void store_saved(call_type const& call, tile_tensor const& tensor, float const* from) {
    float* const to = call.saved() + tensor.index;
    if (tensor.type == dtype::uint8)
      for (std::int64_t i = 0; i < tensor.elements; ++i)
        reinterpret_cast<std::uint8_t*>(to)[i] = static_cast<std::uint8_t>(from[i]);
    else
      std::copy_n(from, tensor.elements, to);
  }

  // The accumulator stands in the host's layout, whose offsets count floats, or halves.
  static void load_accumulator(call_type const& call, int index, float* to) {
    with_constant<call_type::parameter_count>(index, [&]<std::size_t Index>() {
      auto const offset = offset_of_accumulator<Index>();
      if constexpr (Plan::accumulates_halves) {
        auto stored = room_for<Index>();
        kernels::floats_of_halves(call.memory.halves + offset, stored.data(), Plan::weights.size[first + Index]);
        layout::template unpack<first + Index>(stored.data(), to);
      } else {
        layout::template unpack<first + Index>(call.memory.gradients + offset, to);
      }
    });
  }
  static void store_accumulator(call_type const& call, int index, float const* from) {
    with_constant<call_type::parameter_count>(index, [&]<std::size_t Index>() {
      auto const offset = offset_of_accumulator<Index>();
      if constexpr (Plan::accumulates_halves) {
        auto stored = room_for<Index>();
        layout::template pack<first + Index>(from, stored.data());
        kernels::halves_of_floats(stored.data(), call.memory.halves + offset, Plan::weights.size[first + Index]);
      } else {
        layout::template pack<first + Index>(from, call.memory.gradients + offset);
      }
    });
  }
  template <std::size_t Index>
  static constexpr long long offset_of_accumulator() {
    return Plan::weights.offset[first + Index] + Plan::gradients.shift[Call];
  }
  // Kernels may read a register beyond the end.
  template <std::size_t Index>
  static std::vector<float> room_for() {
    return std::vector<float>(static_cast<std::size_t>(Plan::weights.size[first + Index]) + 64);
  }
};

}  // namespace stagecraft::tiles
