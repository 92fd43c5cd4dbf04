// SPDX-License-Identifier: BSD-3-Clause
// The concept of an optimizer: its step, in operations on one weight. Keras counterpart:
// tf.keras.optimizers.Optimizer and its `_resource_apply_dense`.
#pragma once

#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/operations/formula.hpp>
#include <stagecraft/operations/tensor.hpp>
#include <stagecraft/optimizers/learning_rate.hpp>
#include <stagecraft/optimizers/option_checks.hpp>
#include <concepts>
#include <string_view>

namespace stagecraft {

/// The argument `ops` of an optimizer's `update`. Each number stands for one element of a weight; numbers
/// that are the same for all weights (the learning rate, the step, constants, and functions of these) are
/// computed once per update, in double.
class update_tracer {
 public:
  using tensor = operations::tensor;

  constexpr update_tracer(operations::operation_list& list, int* slots, stagecraft::learning_rate const& rate)
      : list_(&list), slots_(slots), rate_(rate) {}

  /// A number that is kept with each weight from update to update, and begins with 0: Keras's `add_slot`. `name` is for
  /// readers; slots are identified by the order of the calls. E4089 for more than `most_slots`.
  constexpr tensor slot([[maybe_unused]] std::string_view name) {
    return {list_, list_->append(operations::input{first_slot + (*slots_)++}, {}, {})};
  }
  /// The rate of this update: the trainer's learning rate, which begins with the optimizer's, or the schedule's rate.
  constexpr tensor learning_rate() {
    tensor const initial = everywhere(0);
    if (rate_.schedule == nullptr && rate_.warmup_steps == 0) return initial;
    if (rate_.initial == 0)
      list_->problem.report(4089, "the training's learning rate schedule begins with a rate of 0");
    auto const rate = rate_.schedule == nullptr ? initial : rate_.schedule->call(*this, initial, rate_.numbers);
    if (rate_.warmup_steps == 0) return rate;
    auto const n = step() - 1;
    return where(n < rate_.warmup_steps, initial * (n / rate_.warmup_steps), rate);
  }
  /// The number of this update, from 1 on: Keras's `iterations` + 1.
  constexpr tensor step() { return everywhere(1); }
  /// The Euclidean norm of numbers of the whole weight: the square root of the sum of their squares. It is the same at
  /// all places of the weight. E4089 for more than `most_norms`.
  constexpr tensor norm(tensor x) { return norm(x, false); }
  /// The norm of numbers of all weights that are trained, on all devices. Devices wait for each other before any weight
  /// changes. E4089 if they depend on another norm.
  constexpr tensor global_norm(tensor x) { return norm(x, true); }

  /// The factor of the loss in this update, if it changes (loss_scale_optimizer).
  constexpr tensor loss_scale() { return everywhere(2); }
  /// The update is carried out only if these numbers of all weights are finite.
  constexpr void expect_finite(tensor x) { decide_loss_scale(x * 0); }  // 0 or NaN
  /// The count of these numbers, over all weights, that are NaN or not below the limit decides on the factor of later
  /// losses.
  constexpr void count_overflows(tensor x, float limit) { decide_loss_scale(where(abs(x) < limit, 0.0F, 1.0F)); }

  /// The weight or a slot has this value when the update has ended; until then all reads return the old one. E4089 for
  /// anything else.
  constexpr void update(tensor variable, tensor value) {
    auto const* given = variable.node().what.if_is<operations::input>();
    if (given == nullptr || given->index == gradient)
      list_->problem.report(4089, "the training's optimizer updates something that is neither the weight nor a slot");
    else
      new_values.push_back({given->index, value.id});
  }

  /// Checks an option of a schedule: E4089 if it is below 1.
  constexpr void check_at_least_one(std::string_view option, float value) {
    if (!(value >= 1)) list_->problem.report(4089, "the training's learning rate schedule has ", option, " below 1");
  }

  /// Numbers of a formula's arguments at each place (`input`): the weight, its gradient, then the slots.
  static constexpr int weight = 0, gradient = 1, first_slot = 2, most_slots = 6;
  /// Numbers of a formula's arguments that are the same everywhere (`weight`): the learning rate, the step, the factor
  /// of the loss, then the norms.
  static constexpr int first_norm = 3, most_norms = 5;
  struct new_value {
    int variable, value;
  };
  tracing::growing_array<new_value> new_values;
  struct wanted_norm {
    int of;          ///< the operation whose norm it is
    bool is_global;  ///< true if it runs over all weights
  };
  tracing::growing_array<wanted_norm> norms;
  int scale_norm = -1;  ///< index in `norms` of the number that decides on the factor of the loss

 private:
  constexpr void decide_loss_scale(tensor x) {
    scale_norm = static_cast<int>(norms.size());
    norm(x, true);
  }
  constexpr tensor everywhere(int index) { return {list_, list_->append(operations::weight{index}, {}, {})}; }
  constexpr tensor norm(tensor x, bool is_global) {
    norms.push_back({x.id, is_global});
    return everywhere(first_norm + static_cast<int>(norms.size()) - 1);
  }

  operations::operation_list* list_;
  int* slots_;
  stagecraft::learning_rate rate_;
};

/// An optimizer has a learning rate, and an `update` of a weight:
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

}  // namespace stagecraft

namespace stagecraft::optimizers::detail {

/// Applies the options `clipvalue`, `clipnorm` and `global_clipnorm`, which any optimizer may have, to the gradient
/// before its `update`, in Keras's order. Definitions: OptimizerV2._transform_gradients, tf.clip_by_norm,
/// tf.clip_by_global_norm.
template <class O>
constexpr operations::tensor prepared_gradient(O const& optimizer, auto& ops, operations::tensor gradient) {
  if constexpr (requires { optimizer.clipvalue; })
    if (optimizer.clipvalue != 0) gradient = maximum(minimum(gradient, optimizer.clipvalue), -optimizer.clipvalue);
  if constexpr (requires { optimizer.clipnorm; })
    if (optimizer.clipnorm != 0)
      gradient = gradient * (optimizer.clipnorm / maximum(ops.norm(gradient), optimizer.clipnorm));
  if constexpr (requires { optimizer.clipnorm* optimizer.global_clipnorm; })
    if (optimizer.clipnorm != 0 && optimizer.global_clipnorm != 0)
      gradient.list->problem.report(4089, "the training's optimizer has both clipnorm and global_clipnorm");
  if constexpr (requires { optimizer.global_clipnorm; })
    if (float const most = optimizer.global_clipnorm; most != 0) {
      auto const norm = ops.global_norm(gradient);
      // A norm that is not finite makes all gradients NaN.
      gradient = gradient * (most / maximum(norm, most) + norm * 0);
    }
  return gradient;
}

/// A norm that an optimizer's step reads.
struct norm_of_step {
  int of = 0;              ///< the operation whose norm it is
  bool is_global = false;  ///< true if it runs over all weights
  int round = 0;           ///< its round: it depends on norms of earlier rounds
};

/// The norms that an optimizer's step reads, in the order of the formula's arguments.
struct norms_of_step {
  norm_of_step norms[update_tracer::most_norms]{};
  int count = 0;   ///< number of norms
  int rounds = 0;  ///< number of rounds
  int scale = -1;  ///< index of the norm that decides on the factor of the loss

  constexpr norm_of_step const* begin() const { return norms; }
  constexpr norm_of_step const* end() const { return norms + count; }
  [[nodiscard]] constexpr bool has_global() const {
    for (auto const& norm : *this)
      if (norm.is_global) return true;
    return false;
  }
};

/// The step of an optimizer: results are the weight, then its slots.
template <auto Optimizer>
struct optimizer_step {
  struct traced {
    operations::operation_list list;
    growing_array<int> results;
    int slots = 0;
    norms_of_step norms;

    constexpr traced() {
      operations::tensor const weight{&list, list.append(operations::input{update_tracer::weight}, {}, {})};
      operations::tensor const gradient{&list, list.append(operations::input{update_tracer::gradient}, {}, {})};
      update_tracer ops(list, &slots, Optimizer.learning_rate);
      Optimizer.update(ops, weight, prepared_gradient(Optimizer, ops, gradient));
      for (int variable = update_tracer::weight; variable < update_tracer::first_slot + slots; ++variable)
        if (variable != update_tracer::gradient) results.push_back(value_of(ops, variable));
      find_norms(ops);
    }

   private:
    /// The last value of a variable; a variable without an update keeps its own.
    constexpr int value_of(update_tracer const& ops, int variable) {
      int value = -1;
      for (auto const& [updated, id] : ops.new_values)
        if (updated == variable) value = id;
      return value >= 0 ? value : list.append(operations::input{variable}, {}, {});
    }
    constexpr void find_norms(update_tracer const& ops) {
      if (ops.norms.empty()) return;
      norms.scale = ops.scale_norm;
      if (ops.norms.size() > update_tracer::most_norms) {
        list.problem.report(4089, "the training's optimizer takes ", static_cast<int>(ops.norms.size()),
                            " norms; there are at most ", update_tracer::most_norms);
        return;
      }
      growing_array<int> rounds(list.nodes.size(), 0);
      for (int id = 0; id < list.size(); ++id) {
        auto const& node = list.node_of(id);
        if (auto const* given = node.what.template if_is<operations::weight>())
          if (given->index >= update_tracer::first_norm)
            rounds[id] = rounds[ops.norms[given->index - update_tracer::first_norm].of] + 1;
        for (int i = 0; i < node.operand_count; ++i)
          if (int const round = rounds[list.operand(id, i)]; round > rounds[id]) rounds[id] = round;
      }
      for (auto const& [of, is_global] : ops.norms) {
        norms.norms[norms.count++] = {of, is_global, rounds[of]};
        if (rounds[of] + 1 > norms.rounds) norms.rounds = rounds[of] + 1;
        if (is_global && rounds[of] > 0)
          list.problem.report(4089,
                              "the training's optimizer takes a norm over all weights that depends on another norm");
      }
    }
  };
  constexpr operations::formula operator()() const {
    traced const update;
    return {update.list, update.results};
  }
};

/// The formula of the numbers whose norms are taken: bit i of `Which` stands for norm i.
template <auto Optimizer, unsigned Which>
struct normed_step {
  constexpr operations::formula operator()() const {
    typename optimizer_step<Optimizer>::traced const update;
    growing_array<int> results;
    for (int i = 0; i < update.norms.count; ++i)
      if ((Which >> i & 1U) != 0) results.push_back(update.norms.norms[i].of);
    return {update.list, results};
  }
};

/// E4089 for an optimizer's step.
template <auto Optimizer>
inline constexpr diagnostic optimizer_problem = [] {
  diagnostic problem;
  check_optimizer_options(Optimizer, problem);
  if (problem.failed()) return problem;
  auto const step = optimizer_step<Optimizer>{}();
  problem = step.problem;
  if (typename optimizer_step<Optimizer>::traced const update; update.slots > update_tracer::most_slots)
    problem.report(4089, "the training's optimizer keeps ", update.slots, " slots with a weight; there are at most ",
                   update_tracer::most_slots);
  // The gradient of a weight's penalty may add steps.
  constexpr int most = static_cast<int>(operations::formula_view::most_steps) - 16;
  if (auto const count = static_cast<int>(step.steps.size()); count > most)
    problem.report(4089, "the training's optimizer takes ", count, " operations; there are at most ", most);
  return problem;
}();

/// The values that an optimizer's step reads beside the weight and its gradient.
struct needs_of_step {
  int slots;            ///< numbers that are kept with each weight
  norms_of_step norms;  ///< norms of whole weights, or of all weights
};
template <auto Optimizer>
inline constexpr needs_of_step needs_of_optimizer = [] {
  typename optimizer_step<Optimizer>::traced const update;
  return needs_of_step{update.slots, update.norms};
}();

/// Numbers that an optimizer keeps with each weight.
template <auto Optimizer>
inline constexpr int slots_of = needs_of_optimizer<Optimizer>.slots;

/// The norms that an optimizer's step reads.
template <auto Optimizer>
inline constexpr norms_of_step const& norms_of = needs_of_optimizer<Optimizer>.norms;

/// An optimizer's step as a formula of the weight, its gradient and its slots at each place, and of the learning rate,
/// the number of the update and norms, which are the same everywhere. Results are the weight and its slots.
template <auto Optimizer>
inline constexpr auto const& formula_of_optimizer = frozen_draft<optimizer_step<Optimizer>>;
template <auto Optimizer>
inline constexpr operations::formula_view view_of_optimizer{formula_of_optimizer<Optimizer>.steps,
                                                            formula_of_optimizer<Optimizer>.results};

/// The norms of a round, as bits; and the formula of the numbers whose norms they are, a result for each.
template <auto Optimizer>
constexpr unsigned norms_of_round(int round) {
  unsigned which = 0;
  for (int i = 0; i < norms_of<Optimizer>.count; ++i)
    if (norms_of<Optimizer>.norms[i].round == round) which |= 1U << i;
  return which;
}
template <auto Optimizer, unsigned Which>
inline constexpr auto const& formula_of_norms = frozen_draft<normed_step<Optimizer, Which>>;
template <auto Optimizer, unsigned Which>
inline constexpr operations::formula_view view_of_norms{formula_of_norms<Optimizer, Which>.steps,
                                                        formula_of_norms<Optimizer, Which>.results};

}  // namespace stagecraft::optimizers::detail
