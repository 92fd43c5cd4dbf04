// SPDX-License-Identifier: BSD-3-Clause
// A sub-step of a training step as a graph: the models that it calls with their layers, which have kernels and updates
// of their own as in `fit`, and what stands between them and the loss as one layer each.
#pragma once

#include <stagecraft/models/fine_tuning.hpp>
#include <stagecraft/models/functional.hpp>
#include <stagecraft/training/steps/sub_step_layer.hpp>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace stagecraft::trainers {

/// The calls of models in a step's trace, as far as sub-steps can be graphs.
struct step_calls {
  static constexpr int most = 16;

  bool are_apart = false;  ///< nothing outside of a call reads what is inside it, but for its output
  int inputs = 0;          ///< number of the step's inputs, which are the first operations
  int count = 0;
  operations::traced_step::call calls[most];
  int first[step_facts::most + 1]{};           ///< the first call of each sub-step, then the number of calls
  bool shares_no_numbers[step_facts::most]{};  ///< no random number is read in two layers between models

  [[nodiscard]] constexpr bool is_output(int id, int from, int end) const {
    for (int i = from; i < end; ++i)
      if (calls[i].output == id) return true;
    return false;
  }
};

/// Finds the calls of a step, and whether they can be calls of a graph.
template <class Step>
class find_step_calls {
  static constexpr int batch = 61;  // no number that a step's code would have as a length by chance

 public:
  constexpr step_calls operator()() const {
    operations::operation_list list;
    growing_array<parameter> weights;
    operations::tracer ops(list, weights, true);
    step_being_traced being(ops, nullptr);
    growing_array<operations::tensor> inputs;
    for (shape const& each : Step::step_inputs::shapes)
      inputs.push_back(
          ops.append(operations::input{static_cast<int>(inputs.size())}, operations::extents::of_batch(batch, each)));
    step_words<> words(ops, being.step, batch);
    run_train<Step>(words, inputs);
    step_calls found;
    auto const& step = being.step;
    if (list.problem.failed() || step.calls.size() > step_calls::most) return found;
    found.inputs = static_cast<int>(inputs.size());
    for (auto const& each : step.calls) {
      if (each.input_count > operations::traced_step::call::most_inputs) return found;
      for (int i = 0; i < each.input_count; ++i)
        if (list.node_of(each.inputs[i]).what.is<operations::weight>() ||
            operations::tensor{&list, each.inputs[i]}.length(0) != batch)
          return found;
      found.calls[found.count++] = each;
    }
    for (int number = 0; number < static_cast<int>(step.sub_steps.size()); ++number) {
      if (step.sub_steps[number].has_own_gradients) return found;
      while (found.first[number] < found.count && !step.is_in(number, found.calls[found.first[number]].first) &&
             found.calls[found.first[number]].first < step.sub_steps[number].end)
        ++found.first[number];
      int& next = found.first[number + 1] = found.first[number];
      while (next < found.count && step.is_in(number, found.calls[next].first)) ++next;
    }
    found.are_apart = are_apart(list, found);
    for (int number = 0; number < static_cast<int>(step.sub_steps.size()); ++number)
      found.shares_no_numbers[number] = shares_no_numbers(list, step, found, number);
    return found;
  }

 private:
  /// The call inside which an operation stands, or -1.
  static constexpr growing_array<int> calls_of_operations(operations::operation_list const& list,
                                                          step_calls const& found) {
    growing_array<int> result(list.nodes.size(), -1);
    for (int call = 0; call < found.count; ++call)
      for (int id = found.calls[call].first; id < found.calls[call].end; ++id) result[id] = call;
    return result;
  }
  static constexpr bool are_apart(operations::operation_list const& list, step_calls const& found) {
    auto const call_of = calls_of_operations(list, found);
    for (int const loss : list.losses)
      if (call_of[loss] >= 0) return false;
    for (int id = 0; id < list.size(); ++id)
      for (int i = 0; i < list.node_of(id).operand_count; ++i) {
        int const read = list.operand(id, i), from = call_of[read], call = call_of[id];
        if (from < 0 || from == call || found.calls[from].output == read) continue;
        bool const is_own_weight = list.node_of(read).what.is<operations::weight>() && call >= 0 &&
                                   found.calls[call].member == found.calls[from].member;
        if (!is_own_weight) return false;
      }
    return true;
  }
  static constexpr bool shares_no_numbers(operations::operation_list const& list, operations::traced_step const& step,
                                          step_calls const& found, int number) {
    growing_array<char> read(list.nodes.size(), 0);  // random numbers, by the layers before this one
    growing_array<int> ends;
    bool are_own = true;
    auto const see_layer = [&](array_view<int const> results) {
      growing_array<char> reached(list.nodes.size(), 0);
      for (int const id : results) reached[id] = 1;
      for (int id = list.size(); id-- > 0;) {
        if (reached[id] == 0 || found.is_output(id, 0, found.count)) continue;
        if (list.node_of(id).what.is<operations::random>()) {
          are_own = are_own && read[id] == 0;
          read[id] = 1;
        }
        for (int i = 0; i < list.node_of(id).operand_count; ++i) reached[list.operand(id, i)] = 1;
      }
    };
    for (int call = found.first[number]; call < found.first[number + 1]; ++call)
      for (int i = 0; i < found.calls[call].input_count; ++i) {
        int const id = found.calls[call].inputs[i];
        if (id >= found.inputs && !found.is_output(id, found.first[number], call)) see_layer({&id, 1});
      }
    ends.push_back(step.sub_steps[number].loss);
    for (int const loss : list.losses) ends.push_back(loss);
    for (auto const& metric : step.metrics) ends.push_back(metric.value);
    see_layer(ends);
    return are_own;
  }
};
template <class Step>
inline constexpr step_calls calls_of_step = find_step_calls<Step>{}();

/// The inputs of a model's call, as a layer on the step's inputs and the outputs of earlier calls.
template <class Step, int FirstCall, int Call, int Input>
struct argument_layer : layer<argument_layer<Step, FirstCall, Call, Input>> {
  static constexpr std::string_view class_name = "SubStep";
  static constexpr bool sees_whole_batches = true;

  constexpr operations::tensor call(operations::tracer& ops, tensor_list in) const {
    constexpr bool none[operations::traced_step::most]{};
    constexpr std::size_t count = Step::step_inputs::count;
    auto& list = ops.list();
    for (auto const& each : in.first(count)) list.node_of(each.id).has_gradient = false;  // the step's inputs
    step_being_traced being(ops, none);
    being.stand_beside_models(in, count, FirstCall);
    step_words<> words(ops, being.step, in[0].length(0));
    run_train<Step>(words, in.first(count));
    list.losses.clear();  // they belong to the last layer
    return list.problem.failed() ? in[0] : operations::tensor{&list, being.step.calls[Call].inputs[Input]};
  }
};

/// A sub-step as a graph.
template <class Step, int Number>
struct sub_step_graph : functional<sub_step_graph<Step, Number>> {
  static constexpr std::string_view name = "training_step";

  static constexpr auto build(auto& model) {
    return build(model, std::make_index_sequence<Step::step_inputs::count>{}, std::make_index_sequence<calls>{},
                 std::make_index_sequence<static_cast<std::size_t>(facts.member_count)>{});
  }

 private:
  static constexpr auto const& facts = facts_of_step<Step>;
  static constexpr auto const& found = calls_of_step<Step>;
  static constexpr int first = found.first[Number];
  static constexpr auto calls = static_cast<std::size_t>(found.first[Number + 1] - first);
  static constexpr std::size_t inputs = Step::step_inputs::count;

  /// A model of the step; one whose weights the sub-step does not move is frozen.
  template <std::size_t Member>
  using model_of = std::conditional_t<facts.sub_steps[Number].moves[Member], type_of_tag<facts.members[Member].type>,
                                      models::frozen_model<type_of_tag<facts.members[Member].type>, "">>;

  template <std::size_t... Input, std::size_t... Call, std::size_t... Member>
  static constexpr auto build(auto& model, std::index_sequence<Input...>, std::index_sequence<Call...>,
                              std::index_sequence<Member...>) {
    symbolic_tensor values[inputs + calls]{model.input(Step::step_inputs::shapes[Input])...};
    std::tuple<model_of<Member>...> models;
    ((std::get<Member>(models).model_name = facts.members[Member].name), ...);
    (call<static_cast<int>(Call)>(models, values), ...);
    sub_step_layer<Step, Number, first> loss;
    loss.layer_name = "step";
    return loss(values[Input]..., values[inputs + Call]...);
  }
  /// The call of a model with this number in the sub-step.
  template <int Call>
  static constexpr void call(auto& models, symbolic_tensor* values) {
    [&]<std::size_t... Input>(std::index_sequence<Input...>) {
      constexpr auto member = static_cast<std::size_t>(found.calls[first + Call].member);
      values[inputs + Call] = std::get<member>(models)(argument<Call, static_cast<int>(Input)>(values)...);
    }(std::make_index_sequence<static_cast<std::size_t>(found.calls[first + Call].input_count)>{});
  }
  template <int Call, int Input>
  static constexpr symbolic_tensor argument(symbolic_tensor* values) {
    constexpr int id = found.calls[first + Call].inputs[Input];
    for (int before = 0; before < Call; ++before)
      if (found.calls[first + before].output == id) return values[inputs + before];
    if constexpr (id < found.inputs) {
      return values[id];
    } else {
      return [&]<std::size_t... Value>(std::index_sequence<Value...>) {
        argument_layer<Step, first, first + Call, Input> made;
        made.layer_name = fixed_name("step_").append(Call).append('_').append(Input);
        return made(values[Value]...);
      }(std::make_index_sequence<inputs + Call>{});
    }
  }
};

/// True if a sub-step calls all models in their order, for weights to lie where they do in other sub-steps, each of
/// which can be part of a graph.
template <class Step, int Number>
constexpr bool has_calls_of_graph() {
  constexpr auto const& facts = facts_of_step<Step>;
  constexpr auto const& found = calls_of_step<Step>;
  if (!found.shares_no_numbers[Number]) return false;
  int members = 0, calls[step_facts::most]{};
  for (int call = found.first[Number]; call < found.first[Number + 1]; ++call) {
    int const member = found.calls[call].member;
    if (member > members) return false;
    if (calls[member]++ == 0) ++members;
  }
  if (members == 0 || members < facts.member_count) return false;
  return [&]<std::size_t... Member>(std::index_sequence<Member...>) {
    return (true && ... && [&] {
      constexpr auto const& graph = graph_of<type_of_tag<facts.members[Member].type>>;
      bool fits = !facts.members[Member].has_stages && graph.outputs_of(0).size() == 1 && graph.masks.empty();
      for (auto const& call : graph.calls) fits = fits && !call.is_penalty;
      for (auto const& weight : graph.parameters)
        fits = fits && !weight.between_batches && (!weight.is_state() || facts.sub_steps[Number].moves[Member]);
      return fits;
    }());
  }(std::make_index_sequence<static_cast<std::size_t>(facts.member_count)>{});
}
/// True if the weights of a sub-step's graph are those of the step's models, one model after the other.
template <class Step, int Number>
constexpr bool has_weights_of_models() {
  if constexpr (models::frozen_graph<sub_step_graph<Step, Number>>.problem.failed()) {
    return false;
  } else {
    constexpr auto const& facts = facts_of_step<Step>;
    auto const& own = graph_of<sub_step_graph<Step, Number>>.parameters;
    std::size_t next = 0;
    bool agree = true;
    auto const compare = [&](auto const& model) {
      for (auto const& weight : model) {
        agree = agree && next < own.size() && own[next].shape == weight.shape && own[next].layout == weight.layout &&
                own[next].groups == weight.groups;
        ++next;
      }
    };
    [&]<std::size_t... Member>(std::index_sequence<Member...>) {
      (compare(graph_of<type_of_tag<facts.members[Member].type>>.parameters), ...);
    }(std::make_index_sequence<static_cast<std::size_t>(facts.member_count)>{});
    return agree && next == own.size();
  }
}
/// True if an optimizer asks for names of weights, which have no name of a model in a graph: layer_rates, and weights
/// that are excluded from weight decay.
template <class O>
constexpr bool asks_for_names(O const& optimizer) {
  bool asks = requires { optimizer.rates.in_step; };
  if constexpr (requires { optimizer.exclude_from_weight_decay.empty(); })
    asks = asks || !optimizer.exclude_from_weight_decay.empty();
  if constexpr (requires { optimizer.exclude_from_layer_adaptation.empty(); })
    asks = asks || !optimizer.exclude_from_layer_adaptation.empty();
  if constexpr (requires { optimizer.optimizer.learning_rate; }) asks = asks || asks_for_names(optimizer.optimizer);
  return asks;
}
template <class Step, int Number>
constexpr bool can_be_graph() {
  if constexpr (!has_calls_of_graph<Step, Number>())
    return false;
  else if constexpr (asks_for_names(optimizer_of_sub_step<Step, Number>))
    return false;
  else
    return has_weights_of_models<Step, Number>();
}

/// True if the sub-steps of a step are planned as graphs of their models' layers. Either all are or none, as they have
/// their weights in one memory, where layers with kernels keep them as the kernels want them.
template <class Step>
inline constexpr bool has_graphs = [] {
  if constexpr (facts_of_step<Step>.problem.failed() || !calls_of_step<Step>.are_apart)
    return false;
  else
    return []<int... Number>(std::integer_sequence<int, Number...>) {
      return (true && ... && can_be_graph<Step, Number>());
    }(std::make_integer_sequence<int, facts_of_step<Step>.sub_step_count>{});
}();

}  // namespace stagecraft::trainers
