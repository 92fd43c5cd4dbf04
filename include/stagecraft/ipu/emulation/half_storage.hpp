// SPDX-License-Identifier: BSD-3-Clause
// Which tensors of a plan an emulated IPU stores in half precision, which inputs it casts, and how it rounds. Values
// stay floats in the host's memory, but each is the value of a half.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/engine/policy/pass_memory.hpp>
#include <stagecraft/graph/dtype.hpp>
#include <stagecraft/host/steps/host_call.hpp>
#include <stagecraft/ipu/tiles/half_rounding.hpp>
#include <stagecraft/kernels/random/round_to_half.hpp>
#include <stagecraft/kernels/simd/narrow_floats.hpp>
#include <stagecraft/kernels/update/accumulate.hpp>
#include <stagecraft/machines/ipu_config.hpp>
#include <stagecraft/plan/value_types.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stagecraft::tiles {

/// The tensors that random numbers round. Each kind has a sequence of its own.
enum class rounded_value : unsigned char {
  output,
  input_gradient,
  saved,
  weight_gradient,
  weight,
  layer_state,
  loss_gradient,
  sum_of_gradients,
  model_input,
  tiles,
  accumulator,
  cast_input
};

/// Rounds to half precision as the options of a machine say.
template <ipu_config Config, class Arch>
struct half_storage {
  static constexpr floating_point_behaviour_options behaviour = Config.floating_point_behaviour;
  static constexpr bool at_random = behaviour.esr == stochastic_rounding_behaviour::on;
  /// All replicas do the same in weight updates.
  static constexpr bool at_random_in_updates = behaviour.esr != stochastic_rounding_behaviour::off;
  static constexpr auto overflow = behaviour.nanoo ? kernels::half_overflow::nan : kernels::half_overflow::largest;

  /// The random numbers of one tensor in a step. A step that is carried out again draws the same ones.
  [[nodiscard]] static kernels::random_key key(pass_memory const& memory, rounded_value what, int number, int index) {
    // Dropout counts steps from the other end, weights' first values have small numbers.
    auto const tensor = static_cast<std::uint64_t>(number) << 10U | static_cast<std::uint64_t>(index & 63) << 4U |
                        static_cast<std::uint64_t>(what);
    return {memory.seed, std::uint64_t{1} << 63U | memory.step << 26U | (tensor & 0x3FFFFFFU)};
  }
  /// The random numbers of a weight update, the same in all replicas.
  [[nodiscard]] static kernels::random_key key_of_update(pass_memory const& memory, int parameter, int slot) {
    auto const tensor = static_cast<std::uint64_t>(parameter) << 3U | static_cast<std::uint64_t>(slot);
    return {memory.seed,
            std::uint64_t{3} << 61U | static_cast<std::uint64_t>(memory.update) << 20U | (tensor & 0xFFFFFU)};
  }

  /// Rounds floats in place; returns whether one was too large.
  static bool round(float* x, long long count, kernels::random_key const& key) {
    if constexpr (at_random)
      return kernels::round_to_half_at_random<overflow, Arch>(x, count, key);
    else
      return kernels::round_to_half<overflow, Arch>(x, count);
  }
  /// Rounds floats of a weight in its update; they begin with number `first` of the weight.
  static bool round_in_update(float* x, long long count, kernels::random_key const& key, long long first) {
    if constexpr (at_random_in_updates)
      return kernels::round_to_half_at_random<overflow, Arch>(x, count, key, static_cast<std::uint64_t>(first));
    else
      return kernels::round_to_half<overflow, Arch>(x, count);
  }

  /// Adds floats to halves, which are rounded at random then; returns whether one was too large.
  static bool accumulate_at_random(kernels::accumulation_factors const& factors, float const* gradient,
                                   std::uint16_t* accumulator, long long count, kernels::random_key const& key) {
    std::array<float, 1024> sums;
    bool too_large = false;
    for (long long first = 0; first < count; first += static_cast<long long>(sums.size())) {
      auto const n = std::min(static_cast<long long>(sums.size()), count - first);
      if (factors.accumulated != 0) kernels::floats_of_halves<Arch>(accumulator + first, sums.data(), n);
      kernels::accumulate_gradient<Arch>(factors, gradient + first, sums.data(), n);
      too_large |=
          kernels::round_to_half_at_random<overflow, Arch>(sums.data(), n, key, static_cast<std::uint64_t>(first));
      kernels::halves_of_floats<Arch>(sums.data(), accumulator + first, n);
    }
    return too_large;
  }

  /// Halves that have been rounded without regard to what an IPU does with those that are too large.
  static bool limit(std::uint16_t* halves, long long count) {
    bool found = false;
    for (long long i = 0; i < count; ++i) {
      bool const infinite = half_number::is_infinite(halves[i]);
      found = found || infinite;
      halves[i] = half_number::without_infinity(halves[i], behaviour.nanoo);
    }
    return found;
  }

  [[nodiscard]] static half_rounding_rules rules(kernels::random_key const& key) {
    return {.nan_on_overflow = behaviour.nanoo, .at_random = at_random, .key = key};
  }
  [[nodiscard]] static half_rounding_rules rules_of_update(kernels::random_key const& key) {
    return {.nan_on_overflow = behaviour.nanoo, .at_random = at_random_in_updates, .key = key};
  }
};

/// `Plan` is that of a pass.
template <class Plan>
struct ipu_types {
  using job = typename Plan::job;

  template <int Call>
  static constexpr bool computes_halves = computed_type_of<job, Call> == dtype::float16;
  /// The value of a call, and its gradient.
  [[nodiscard]] static constexpr bool is_half(int call) { return value_types_of<job>[call] == dtype::float16; }
  [[nodiscard]] static constexpr bool is_half_weight(std::size_t weight) {
    return variable_types_of<job>[weight] == dtype::float16;
  }
  [[nodiscard]] static constexpr std::string_view layer_of_weight(int number) {
    return Plan::graph.layer(Plan::graph.layer_of_parameter(number)).name;
  }
  /// True if a pass's copy of a weight is of the policy's type.
  template <std::size_t Parameter>
  static constexpr bool rounds_copies =
      Plan::training.dtype_policy.compute_dtype == dtype::float16 && Plan::graph.parameters[Parameter].is_cast() &&
      own_type_of_weight(Plan::graph, static_cast<int>(Parameter)) == dtype::of_policy;

  /// True if what a call's backward step gives an input is rounded. A sum with other gradients is of their type.
  template <int Call>
  [[nodiscard]] static constexpr bool rounds_input_gradient(int index) {
    using call = host_call<Plan, Call>;
    return (computes_halves<Call> && !call::adds_input_gradient(index)) || is_half(call::input_call(index));
  }

  /// Rounds the inputs of a call that are of another type, for its steps; returns whether one was too large.
  template <int Call, class Halves>
  static bool cast_inputs([[maybe_unused]] pass_memory const& memory) {
    bool too_large = false;
    if constexpr (has_own_types<job>) {
      using call = host_call<Plan, Call>;
      for (int i = 0; i < call::input_count; ++i) {
        int const input = call::input_call(i);
        if (!casts_input<Plan, Call>(input)) continue;
        auto const floats = 1LL * Plan::model_plan.batch * Plan::graph.call(input).shape.size();
        float* const to = memory.widened + widened_step<Plan, Call>::input(i);
        std::copy_n(Plan::address(memory, Plan::value(input)), floats, to);
        too_large |= Halves::round(to, floats, Halves::key(memory, rounded_value::cast_input, Call, i));
      }
    }
    return too_large;
  }
};

}  // namespace stagecraft::tiles
