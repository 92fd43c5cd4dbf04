// SPDX-License-Identifier: BSD-3-Clause
// An optimizer's learning rate: a number, or a schedule of the updates; and the rate that falls with each update.
// Keras counterpart: the arguments `learning_rate` and `decay` of optimizers, and
// tf.keras.optimizers.schedules.LearningRateSchedule.
#pragma once

#include <stagecraft/operations/tensor.hpp>
#include <concepts>

namespace stagecraft {

class update_tracer;

/// A schedule's function: the rate of an update, from the initial rate and the schedule's numbers.
struct rate_rule {
  operations::tensor (*call)(update_tracer& ops, operations::tensor initial, float const* numbers);
};

/// An optimizer's learning rate: a number, or a schedule: `.learning_rate = 0.1F`, or `.learning_rate =
/// schedules::cosine_decay{.initial_learning_rate = 0.1F, .decay_steps = 1000}`. The rate of an update is computed once
/// for all weights, in double. The trainer's `learning_rate()`, which callbacks may change, is the initial one: the
/// schedule begins there, and its later rates are scaled with it.
struct learning_rate {
  /// Most numbers that a schedule keeps.
  static constexpr int most_numbers = 18;
  float initial = 0;                    ///< the rate of the first update
  rate_rule const* schedule = nullptr;  ///< null: always the initial rate
  float numbers[most_numbers]{};        ///< numbers of the schedule
  float warmup_steps = 0;               ///< number of updates in which the rate rises from 0

  constexpr learning_rate() = default;
  constexpr learning_rate(float rate) : initial(rate) {}  // NOLINT(google-explicit-constructor): a rate is a number
  /// A schedule of your own, of up to eighteen numbers: a lambda that captures nothing,
  ///
  ///     .learning_rate = {0.1F, [](auto& ops, auto initial, float const* numbers) {
  ///                         return initial * rsqrt(ops.step() / numbers[0]);
  ///                       }, 50}
  template <class Rule, class... Numbers>
    requires(sizeof...(Numbers) <= most_numbers) &&
                requires(Rule const& rule, update_tracer& ops, operations::tensor first, float const* others) {
                  { rule(ops, first, others) } -> std::convertible_to<operations::tensor>;
                }
  constexpr learning_rate(float rate, Rule, Numbers... number)
      : initial(rate), schedule(&rule_of<Rule>), numbers{static_cast<float>(number)...} {}

  constexpr operator float() const noexcept { return initial; }  // NOLINT(google-explicit-constructor)

  friend constexpr bool operator==(learning_rate const&, learning_rate const&) = default;
  friend constexpr bool operator==(learning_rate const& a, float b) { return a.initial == b; }

 private:
  template <class Rule>
  static constexpr rate_rule rule_of{[](update_tracer& ops, operations::tensor initial, float const* numbers) {
    return operations::tensor(Rule{}(ops, initial, numbers));
  }};
};

}  // namespace stagecraft

namespace stagecraft::optimizers {

/// The learning rate of an update that decays: learning_rate / (1 + decay (step - 1)).
/// Definition: OptimizerV2._decayed_lr.
[[nodiscard]] constexpr auto decayed_rate(auto& ops, float decay) {
  auto const rate = ops.learning_rate();
  return decay == 0 ? rate : rate / ((ops.step() - 1) * decay + 1);
}

}  // namespace stagecraft::optimizers
