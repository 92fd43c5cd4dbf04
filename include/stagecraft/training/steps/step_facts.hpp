// SPDX-License-Identifier: BSD-3-Clause
// What is known of a training step before it is planned: its models, sub-steps and metrics, and its first mistake.
#pragma once

#include <stagecraft/training/steps/training_step.hpp>
#include <cstddef>
#include <string_view>
#include <utility>

namespace stagecraft::trainers {

/// Runs a step's `train` on symbols.
template <class Step, class Wanted, std::size_t... Input>
constexpr void run_train(step_words<Wanted>& words, tracing::array_view<operations::tensor const> in,
                         std::index_sequence<Input...>) {
  Step step{};
  step.train(words, in[Input]...);
}
template <class Step, class Wanted>
constexpr void run_train(step_words<Wanted>& words, tracing::array_view<operations::tensor const> in) {
  run_train<Step>(words, in, std::make_index_sequence<Step::step_inputs::count>{});
}

/// Begins to trace a step: as long as this object lives, layers of the step's models ask it for their weights.
struct step_being_traced {
  operations::traced_step step;
  operations::operation_list* list;

  constexpr step_being_traced(operations::tracer& ops, bool const* moves) : list(&ops.list()) {
    step.ops = &ops;
    step.moves = moves;
    list->step = &step;
    list->weight_of_step = operations::traced_step::find_weight;
  }
  /// Models are called beside this trace: after `count` inputs of the step, `in` has the outputs of calls from number
  /// `first` on.
  constexpr void stand_beside_models(tracing::array_view<operations::tensor const> in, std::size_t count, int first) {
    step.stands_beside_models = true;
    step.outputs = in.subspan(count);
    step.first_output = first;
  }
  step_being_traced(step_being_traced const&) = delete;
  step_being_traced& operator=(step_being_traced const&) = delete;
  constexpr ~step_being_traced() {
    list->step = nullptr;
    list->weight_of_step = nullptr;
  }
};

/// A number, or the sums of a metric's columns, as the same row for each sample.
constexpr operations::tensor spread_over_batch(operations::tracer& ops, operations::tensor reported, int batch) {
  auto const columns = static_cast<int>(reported.shape().size());
  return ops.broadcast(ops.reshape(reported, {1, columns}), {batch, columns});
}

/// The numbers that a metric reports of each sample.
constexpr operations::tensor reported_rows(operations::tracer& ops, operations::traced_step::metric const& metric,
                                           int batch) {
  operations::tensor const value{&ops.list(), metric.value};
  return metric.keeps_rows ? value : spread_over_batch(ops, value, batch);
}

/// Finds the sub-step that a value belongs to: the one that reads the weights or the random numbers on which it
/// depends.
class owners_of_values {
 public:
  static constexpr int nobody = -1;  ///< it depends on inputs alone
  static constexpr int several = -2;

  constexpr owners_of_values(operations::operation_list const& list, operations::traced_step const& step)
      : owners_(list.nodes.size(), nobody) {
    for (bool changed = true; changed;) {  // a state of a loop depends on its next value
      changed = false;
      for (int id = 0, here = 0; id < list.size(); ++id) {
        while (here < static_cast<int>(step.sub_steps.size()) && id >= step.sub_steps[here].end) ++here;
        auto const& what = list.node_of(id).what;
        auto const owner = [&](int read) {
          return list.node_of(read).what.is<operations::weight>() ? here : owners_[read];
        };
        if (what.is<operations::random>()) owners_[id] = here;
        for (int i = 0; i < list.node_of(id).operand_count; ++i) take(id, owner(list.operand(id, i)));
        if (!what.is<operations::next>()) continue;
        int const state = list.operand(id, 1), before = owners_[state];
        take(state, owner(list.operand(id, 2)));
        changed = changed || owners_[state] != before;
      }
    }
  }
  [[nodiscard]] constexpr int of(int id) const { return owners_[id]; }

 private:
  constexpr void take(int id, int owner) {
    if (owner == nobody) return;
    owners_[id] = owners_[id] == nobody || owners_[id] == owner ? owner : several;
  }

  tracing::growing_array<int> owners_;
};

/// Facts about a step that are known before it is planned.
struct step_facts {
  static constexpr int most = operations::traced_step::most;
  struct of_sub_step {
    type_tag const* optimizer = no_type;
    bool is_average = false;
    bool moves[most]{};
    int metrics = 0;      ///< number of values that it reports
    int indices[most]{};  ///< their numbers among the step's metrics
  };
  struct of_member {
    fixed_name name;
    type_tag const* type = no_type;
    int first_weight = 0;
    bool has_stages = false;
  };

  diagnostic problem;
  /// The type of the loss if the step does what `fit` does: one model on the first inputs, a loss of the last input,
  /// one minimize; otherwise `no_type`.
  type_tag const* loss_of_fit = no_type;
  int sub_step_count = 0, member_count = 0, metric_count = 0, block_count = 0;
  of_sub_step sub_steps[most];
  of_member members[most];
  operations::traced_step::metric metrics[most];
  operations::traced_step::block blocks[most];
};

template <class Step>
class find_step_facts {
 public:
  constexpr step_facts operator()() const {
    operations::operation_list list;
    growing_array<parameter> weights;
    operations::tracer ops(list, weights, true);
    step_being_traced being(ops, nullptr);
    list.kind = "step";
    list.layer_name = "train";
    growing_array<operations::tensor> inputs;
    constexpr int batch = 2;
    for (shape const& each : Step::step_inputs::shapes)
      inputs.push_back(
          ops.append(operations::input{static_cast<int>(inputs.size())}, operations::extents::of_batch(batch, each)));
    step_words<> words(ops, being.step, batch);
    run_train<Step>(words, inputs);
    step_facts facts;
    check(list, being.step);
    if (!list.problem.failed()) fill(facts, list, being.step);
    facts.problem = list.problem;
    return facts;
  }

 private:
  static constexpr void check(operations::operation_list& list, operations::traced_step const& step) {
    using facts = step_facts;
    if (step.sub_steps.empty())
      list.problem.report(2084,
                          "a training step minimizes nothing; call step.minimize(optimizer, loss, "
                          "weights_of(model))");
    if (step.sub_steps.size() > facts::most || step.members.size() > facts::most || step.metrics.size() > facts::most)
      list.problem.report(2090, "a training step has ", static_cast<int>(step.sub_steps.size()), " sub-steps, ",
                          static_cast<int>(step.members.size()), " models and ", static_cast<int>(step.metrics.size()),
                          " metrics; it may have ", facts::most, " of each");
    if (list.problem.failed()) return;
    char const* moved[facts::most]{};  // the word that moves a model
    owners_of_values const owners(list, step);
    int number = 0;
    for (auto const& each : step.sub_steps) {
      growing_array<int> sources;
      for (int i = 0; i < static_cast<int>(step.members.size()); ++i) {
        if (!each.moves[i]) continue;
        if (moved[i] != nullptr) report_moved_twice(list.problem, step.members[i].name, moved[i], each.word);
        moved[i] = each.word;
        for (int const weight : step.members[i].weights)
          if (list.node_of(weight).has_gradient) sources.push_back(weight);  // it is trained
      }
      auto const depends = operations::detail::find_dependents(list, sources, list.size());
      if (depends[each.loss] == 0)
        list.problem.report(2084, "the loss of minimize number ", number + 1,
                            " of a training step depends on none of the weights that it moves");
      check_owner(list, owners.of(each.loss), number, "a loss");
      for (int const penalty : list.losses)
        if (!each.has_own_gradients && step.is_in(number, penalty) && owners.of(penalty) != owners_of_values::nobody)
          check_owner(list, owners.of(penalty), number, "a penalty");
      ++number;
    }
    for (auto const& each : step.sub_steps)
      if (each.has_own_gradients && step.metrics.empty())
        list.problem.report(2115,
                            "a training step calls step.apply or step.average and reports nothing; name what it "
                            "reports: step.metric(\"loss\", loss)");
    for (auto const& each : step.metrics) {
      int const owner = owners.of(each.value);
      if (owner == number)
        list.problem.report(2098, "a training step reports '", each.name,
                            "', which is computed after its last minimize; compute it before, or in `test`");
      check_owner(list, owner, owner, "a metric");
    }
  }
  static constexpr void report_moved_twice(diagnostic& problem, fixed_name const& model, std::string_view first,
                                           std::string_view second) {
    if (first == second)
      problem.report(2085, "the weights of model '", model, "' are moved by two calls of ", first,
                     "; write step.repeat(n, [&] { ... }) around one that is carried out several times");
    else
      problem.report(2085, "the weights of model '", model, "' are moved by ", first, " and by ", second,
                     "; weights belong to one of them");
  }
  static constexpr void check_owner(operations::operation_list& list, int owner, int expected, char const* what) {
    if (owner == expected && owner >= 0) return;
    list.problem.report(2086, what, " of a training step ",
                        owner == owners_of_values::nobody
                            ? "depends on no weight and no random number of the step"
                            : "depends on a value from before a minimize, whose weights have changed since; compute it "
                              "again after it");
  }
  static constexpr void fill(step_facts& facts, operations::operation_list const& list,
                             operations::traced_step const& step) {
    owners_of_values const owners(list, step);
    for (auto const& each : step.sub_steps) {
      auto& own = facts.sub_steps[facts.sub_step_count++];
      own.optimizer = each.optimizer;
      own.is_average = each.is_average;
      for (int i = 0; i < step_facts::most; ++i) own.moves[i] = each.moves[i];
    }
    for (auto const& each : step.metrics) {
      auto& own = facts.sub_steps[owners.of(each.value)];
      own.indices[own.metrics++] = facts.metric_count;
      facts.metrics[facts.metric_count++] = each;
    }
    int weight = 0;
    for (auto const& each : step.members) {
      facts.members[facts.member_count++] = {each.name, each.type, weight, each.has_stages};
      weight += static_cast<int>(each.weights.size());
    }
    for (auto const& each : step.blocks) facts.blocks[facts.block_count++] = each;
    if (is_fit(step)) facts.loss_of_fit = step.loss.type;
  }
  static constexpr bool is_fit(operations::traced_step const& step) {
    if (step.members.size() != 1 || step.sub_steps.size() != 1 || step.blocks[0].times != 1 ||
        step.blocks[0].every != 1)
      return false;
    auto const& model = step.members[0];
    constexpr auto count = static_cast<int>(Step::step_inputs::count);
    if (static_cast<int>(model.inputs.size()) != count - 1) return false;
    for (int i = 0; i + 1 < count; ++i)  // inputs are the first operations
      if (model.inputs[i] != i) return false;
    for (auto const& each : step.metrics)
      if (each.value != step.loss.value || !(each.name == "loss")) return false;
    return model.is_plain && step.loss.is_one_number && step.loss.target == count - 1 &&
           step.loss.output == model.output && step.sub_steps[0].loss == step.loss.value;
  }
};
template <class Step>
inline constexpr step_facts facts_of_step = find_step_facts<Step>{}();

template <class Step, fixed_name Name>
inline constexpr diagnostic member_problem = [] {
  diagnostic problem;
  auto const& facts = facts_of_step<Step>;
  for (int i = 0; i < facts.member_count; ++i)
    if (facts.members[i].name == Name) return problem;
  problem.report(2091, "a training step has no model named '", Name, "'; its first one is '", facts.members[0].name,
                 "'");
  return problem;
}();
/// The number of a step's model by its name. It stands outside the trainer, so that the error does not repeat the
/// trainer's options. E2091 a name that no model of the step has.
template <class Step, fixed_name Name>
constexpr std::size_t member_named() {
  static_assert(report<member_problem<Step, Name>>());
  auto const& facts = facts_of_step<Step>;
  for (int i = 0; i < facts.member_count; ++i)
    if (facts.members[i].name == Name) return static_cast<std::size_t>(i);
  return 0;
}

}  // namespace stagecraft::trainers
