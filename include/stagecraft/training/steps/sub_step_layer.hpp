// SPDX-License-Identifier: BSD-3-Clause
// A sub-step of a training step as a layer whose call is the step's `train` up to its loss; it has the weights of all
// models of the step, and moves some of them.
#pragma once

#include <stagecraft/models/functional.hpp>
#include <stagecraft/training/steps/step_facts.hpp>
#include <cstddef>
#include <utility>

namespace stagecraft::trainers {

/// Keeps in a sub-step those changes of states, such as moving means, that its own calls of models make: each call
/// changes them once. Later calls read what a call has changed.
constexpr void keep_updates_of(operations::operation_list& list, operations::traced_step const& step, int number) {
  growing_array<int> kept;  // the last update of each weight
  for (int id = list.size(); id-- > 0;) {
    if (!list.node_of(id).what.is<operations::update>()) continue;
    int const weight = list.operand(id, 0), value = list.operand(id, 1);
    int last = -1;
    for (int const each : kept)
      if (list.operand(each, 0) == weight) last = each;
    if (step.is_in(number, id) && last < 0) kept.push_back(id);
    if (step.is_in(number, id) && last >= 0)
      for (int later = id + 1; later < list.size(); ++later)
        for (int i = 0; i < list.node_of(later).operand_count; ++i)
          if (int& read = list.operands[list.node_of(later).first_operand + i];
              read == weight && later != last && later != list.operand(last, 2))
            read = value;
    if (kept.empty() || kept.back() != id) drop_update(list, id);
  }
}

/// Takes out of a sub-step's list what is traced after all that it computes, so that compilers plan less. Models that
/// are called later have their weights all the same.
constexpr void cut_after(operations::tracer& ops, operations::traced_step const& step, int number,
                         array_view<int const> reported) {
  auto& list = ops.list();
  int end = step.sub_steps[number].end;
  for (int const metric : reported) end = metric < end ? end : metric + 1;
  growing_array<int> losses;
  for (int const id : list.losses)
    if (id < end) losses.push_back(id);
  list.losses = std::move(losses);
  if (list.size() > end) {
    list.operands.resize(list.node_of(end).first_operand);
    list.nodes.resize(end);
  }
  growing_array<char> has_node(ops.weights().size(), 0);
  for (auto const& node : list.nodes)
    if (auto const* read = node.what.if_is<operations::weight>()) has_node[read->index] = 1;
  for (int i = 0; i < static_cast<int>(has_node.size()); ++i)
    if (auto const& weight = ops.weights()[i]; has_node[i] == 0)
      list.node_of(ops.append(operations::weight{i}, operations::extents::of(weight.shape)).id).has_gradient =
          weight.trainable;
}

/// The loss of a sub-step and the penalties of its calls of models.
constexpr operations::tensor with_penalties(step_words<>& words, operations::traced_step const& step, int number) {
  auto& list = words.list();
  operations::tensor sum = words.reshape({&list, step.sub_steps[number].loss}, {1});
  if (step.sub_steps[number].has_own_gradients) return sum;
  for (int const id : list.losses)
    if (step.is_in(number, id)) sum = sum + words.reshape(words.mean(operations::tensor{&list, id}), {1});
  return sum;
}

/// A sub-step as a layer: it returns the numbers that it reports, the same for each sample, and adds its loss to the
/// model's. `FirstCall` is -1, or the number of the first call of a model in the sub-step: the layer then takes, after
/// the step's inputs, the outputs of such calls, which are calls beside it.
template <class Step, int Number, int FirstCall = -1>
struct sub_step_layer : layer<sub_step_layer<Step, Number, FirstCall>> {
  static constexpr std::string_view class_name = "SubStep";
  static constexpr bool sees_whole_batches = true;

  constexpr operations::tensor call(operations::tracer& ops, tensor_list in) const {
    constexpr auto const& facts = facts_of_step<Step>;
    int const batch = in[0].length(0);
    auto& list = ops.list();
    constexpr std::size_t count = Step::step_inputs::count;
    for (auto const& each : in.first(count)) list.node_of(each.id).has_gradient = false;  // the step's inputs
    step_being_traced being(ops, facts.sub_steps[Number].moves);
    if (FirstCall >= 0) being.stand_beside_models(in, count, FirstCall);
    step_words<> words(ops, being.step, batch);
    run_train<Step>(words, in.first(count));
    if (list.problem.failed()) return in[0];
    auto const& own = facts.sub_steps[Number];
    growing_array<int> metrics;
    for (int i = 0; i < own.metrics; ++i) metrics.push_back(being.step.metrics[own.indices[i]].value);
    cut_after(ops, being.step, Number, metrics);
    keep_updates_of(list, being.step, Number);
    auto const loss = spread_over_batch(ops, with_penalties(words, being.step, Number), batch);
    growing_array<operations::tensor> reported;
    for (int i = 0; i < own.metrics; ++i)
      reported.push_back(reported_rows(ops, being.step.metrics[own.indices[i]], batch));
    if (reported.empty()) reported.push_back(loss);
    list.losses.clear();
    ops.add_loss(loss);
    return operations::stop_gradient(ops.concatenate(reported));
  }
};

template <class Step, int Number>
struct sub_step_in_one_layer : functional<sub_step_in_one_layer<Step, Number>> {
  static constexpr std::string_view name = "training_step";

  static constexpr auto build(auto& model) {
    return [&]<std::size_t... Input>(std::index_sequence<Input...>) {
      symbolic_tensor const in[]{model.input(Step::step_inputs::shapes[Input])...};
      sub_step_layer<Step, Number> sub_step;
      sub_step.layer_name = "step";
      return sub_step(in[Input]...);
    }(std::make_index_sequence<Step::step_inputs::count>{});
  }
};

/// Returns a value of this type as the step's code names it: the optimizer of a sub-step, or the loss.
template <class Step, class type, int Number>
constexpr type copy_option() {
  operations::operation_list list;
  growing_array<parameter> weights;
  operations::tracer ops(list, weights, true);
  step_being_traced being(ops, nullptr);
  growing_array<operations::tensor> inputs;
  for (shape const& each : Step::step_inputs::shapes)
    inputs.push_back(
        ops.append(operations::input{static_cast<int>(inputs.size())}, operations::extents::of_batch(2, each)));
  step_words<type> words(ops, being.step, 2);
  words.want(Number);
  run_train<Step>(words, inputs);
  return words.found();
}
template <class Step, int Number>
inline constexpr auto optimizer_of_sub_step =
    copy_option<Step, type_of_tag<facts_of_step<Step>.sub_steps[Number].optimizer>, Number>();

}  // namespace stagecraft::trainers
