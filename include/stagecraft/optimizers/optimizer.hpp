// SPDX-License-Identifier: BSD-3-Clause
// What makes a struct an optimizer: its step, in operations on one weight. Keras counterpart:
// tf.keras.optimizers.Optimizer and its `_resource_apply_dense`.
#pragma once

#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/operations/formula.hpp>
#include <stagecraft/operations/tensor.hpp>
#include <stagecraft/optimizers/learning_rate.hpp>
#include <concepts>
#include <string_view>

namespace stagecraft {

/// What an optimizer's `update` is given beside the weight and its gradient. Each number stands for one weight; numbers
/// that are the same for all weights (the learning rate, the step, constants, and what is computed of these) are
/// computed once per update, in double.
class update_tracer {
 public:
  using tensor = operations::tensor;

  constexpr update_tracer(operations::operation_list& list, int* slots, stagecraft::learning_rate const& rate)
      : list_(&list), slots_(slots), rate_(rate) {}

  /// A number that is kept with each weight from update to update, and begins with 0: Keras's `add_slot`. `name` is for
  /// readers; slots are told apart by the order of the calls. E4089 for more than `most_slots`.
  constexpr tensor slot([[maybe_unused]] std::string_view name) {
    return {list_, list_->append(operations::input{first_slot + (*slots_)++}, {}, {})};
  }
  /// The rate of this update: the trainer's learning rate, which begins with the optimizer's, or what a schedule makes
  /// of it.
  constexpr tensor learning_rate() {
    tensor const initial{list_, list_->append(operations::weight{0}, {}, {})};
    if (rate_.schedule == nullptr && rate_.warmup_steps == 0) return initial;
    if (rate_.initial == 0)
      list_->problem.report(4089, "the training's learning rate schedule begins with a rate of 0");
    auto const rate = rate_.schedule == nullptr ? initial : rate_.schedule->call(*this, initial, rate_.numbers);
    if (rate_.warmup_steps == 0) return rate;
    auto const n = step() - 1;
    return where(n < rate_.warmup_steps, initial * (n / rate_.warmup_steps), rate);
  }
  /// The number of this update, from 1 on: Keras's `iterations` + 1.
  constexpr tensor step() { return {list_, list_->append(operations::weight{1}, {}, {})}; }

  /// The weight or a slot has this value when the update has ended; until then all reads give the old one. E4089 for
  /// anything else.
  constexpr void update(tensor variable, tensor value) {
    auto const* given = variable.node().what.if_is<operations::input>();
    if (given == nullptr || given->index == gradient)
      list_->problem.report(4089, "the training's optimizer updates something that is neither the weight nor a slot");
    else
      new_values.push_back({given->index, value.id});
  }

  /// For schedules. E4089.
  constexpr void check_at_least_one(std::string_view option, float value) {
    if (!(value >= 1)) list_->problem.report(4089, "the training's learning rate schedule has ", option, " below 1");
  }

  /// What is given at each place, as `input`s of a formula: the weight, its gradient, and the slots from here on.
  static constexpr int weight = 0, gradient = 1, first_slot = 2, most_slots = 6;
  struct new_value {
    int variable, value;
  };
  growing_array<new_value> new_values;

 private:
  operations::operation_list* list_;
  int* slots_;
  stagecraft::learning_rate rate_;
};

/// An optimizer has a learning rate, and says what becomes of a weight:
///
///     struct lion : sc::optimizer<lion> {
///       float learning_rate = 1e-4F, beta_1 = 0.9F, beta_2 = 0.99F;
///       constexpr void update(auto& ops, auto weight, auto gradient) const {
///         auto const m = ops.slot("m");
///         ops.update(weight, weight - ops.learning_rate() * sign(m * beta_1 + gradient * (1 - beta_1)));
///         ops.update(m, m * beta_2 + gradient * (1 - beta_2));
///       }
///     };
///
/// Operators and functions are those of a layer's `call`, on single numbers. The host's step in registers, the state on
/// the devices, the vertices on tiles and their cycles follow.
template <class O>
concept Optimizer = requires(O const& optimizer, update_tracer& ops, operations::tensor x) {
  { optimizer.learning_rate } -> std::convertible_to<float>;
  optimizer.update(ops, x, x);
};

/// A base for optimizers of your own: a name for reports. An optimizer needs it for nothing else.
template <class Derived>
struct optimizer {
  static constexpr std::string_view name = "optimizer";

  friend constexpr bool operator==(optimizer const&, optimizer const&) = default;
};

namespace detail {

/// What options that any optimizer may have make of the gradient before its `update`: `loss_scale`, `clipvalue`.
template <class O>
constexpr operations::tensor prepared_gradient(O const& optimizer, operations::tensor gradient) {
  if constexpr (requires { optimizer.loss_scale; })
    if (optimizer.loss_scale != 1) gradient = gradient * (1 / optimizer.loss_scale);
  if constexpr (requires { optimizer.clipvalue; })
    if (optimizer.clipvalue != 0) gradient = maximum(minimum(gradient, optimizer.clipvalue), -optimizer.clipvalue);
  return gradient;
}

/// By what the loss is multiplied before gradients are found, by the optimizer or those that it is made of.
template <class O>
constexpr float loss_scale_of(O const& optimizer) {
  float scale = 1;
  if constexpr (requires { optimizer.loss_scale; }) scale = optimizer.loss_scale;
  if constexpr (requires { optimizer.optimizer.learning_rate; }) scale *= loss_scale_of(optimizer.optimizer);
  return scale;
}

/// The step of an optimizer: results are the weight, then its slots.
template <auto Optimizer>
struct optimizer_step {
  struct traced {
    operations::operation_list list;
    growing_array<int> results;
    int slots = 0;

    constexpr traced() {
      operations::tensor const weight{&list, list.append(operations::input{update_tracer::weight}, {}, {})};
      operations::tensor const gradient{&list, list.append(operations::input{update_tracer::gradient}, {}, {})};
      update_tracer ops(list, &slots, Optimizer.learning_rate);
      Optimizer.update(ops, weight, prepared_gradient(Optimizer, gradient));
      for (int variable = update_tracer::weight; variable < update_tracer::first_slot + slots; ++variable)
        if (variable != update_tracer::gradient) results.push_back(value_of(ops, variable));
    }

   private:
    /// The last value that it gets; what is not updated keeps its own.
    constexpr int value_of(update_tracer const& ops, int variable) {
      int value = -1;
      for (auto const& [updated, id] : ops.new_values)
        if (updated == variable) value = id;
      return value >= 0 ? value : list.append(operations::input{variable}, {}, {});
    }
  };
  constexpr operations::formula operator()() const {
    traced const update;
    return {update.list, update.results};
  }
};

/// E4089: what is wrong with an optimizer's step.
template <auto Optimizer>
inline constexpr diagnostic optimizer_problem = [] {
  auto const step = optimizer_step<Optimizer>{}();
  diagnostic problem = step.problem;
  if (typename optimizer_step<Optimizer>::traced const update; update.slots > update_tracer::most_slots)
    problem.report(4089, "the training's optimizer keeps ", update.slots, " slots with a weight; there are at most ",
                   update_tracer::most_slots);
  if (auto const count = step.steps.size(); count > operations::formula_view::most_steps)
    problem.report(4089, "the training's optimizer takes ", static_cast<int>(count), " operations; there are at most ",
                   static_cast<int>(operations::formula_view::most_steps));
  return problem;
}();

/// Numbers that an optimizer keeps with each weight.
template <auto Optimizer>
inline constexpr int slots_of = typename optimizer_step<Optimizer>::traced{}.slots;

/// An optimizer's step as a formula: given at each place are the weight, its gradient and its slots; everywhere the
/// learning rate and the number of the update. Results are the weight and its slots.
template <auto Optimizer>
inline constexpr auto const& formula_of_optimizer = frozen<optimizer_step<Optimizer>>;
template <auto Optimizer>
inline constexpr operations::formula_view view_of_optimizer{formula_of_optimizer<Optimizer>.steps,
                                                            formula_of_optimizer<Optimizer>.results};

}  // namespace detail

}  // namespace stagecraft
