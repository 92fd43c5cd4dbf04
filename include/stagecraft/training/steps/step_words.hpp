// SPDX-License-Identifier: BSD-3-Clause
// The argument `step` of a training step's `train`. Keras counterparts: a gradient tape and `apply_gradients` in a
// `train_step`.
#pragma once

#include <stagecraft/description/metric_checks.hpp>
#include <stagecraft/losses/loss.hpp>
#include <stagecraft/losses/reduction.hpp>
#include <stagecraft/metrics/resolve.hpp>
#include <stagecraft/optimizers/optimizer.hpp>
#include <stagecraft/training/steps/traced_step.hpp>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <string_view>
#include <type_traits>

namespace stagecraft::trainers {

/// A model whose weights a step moves or reads: see weights_of.
struct weights_of_member {
  operations::step_member const* which = nullptr;
  tracing::type_tag const* model = tracing::no_type;
  /// Calls the model on the first of these tensors, as many as it takes: this makes its weights.
  void (*call)(operations::step_member const&, tracing::array_view<operations::tensor const>) = nullptr;
};

/// The optimizer of step.average, which takes a source's weights for gradients.
struct averaging {
  float decay = 0;                              ///< the share of itself that a weight keeps
  stagecraft::learning_rate learning_rate = 1;  ///< has no meaning here

  using listed_options = averaging;
  static constexpr std::string_view name = "averaging";

  constexpr void update(auto& ops, auto weight, auto source) const {
    ops.update(weight, decay == 0 ? source : weight * decay + source * (1 - decay));
  }
  friend constexpr bool operator==(averaging const&, averaging const&) = default;
};

/// Makes an update of a weight a reshape of it, which nobody reads.
constexpr void drop_update(operations::operation_list& list, int id) {
  list.node_of(id).what = operations::reshape{};
  list.node_of(id).operand_count = 1;
}

/// Stands for the case that no optimizer is copied.
struct no_optimizer {};

/// The argument `step` of a step's `train`. It has all words of `ops`, see operations/tracer.hpp. `Wanted` is the type
/// of an optimizer or a loss that is copied.
template <class Wanted = no_optimizer>
class step_words : public operations::tracer {
  using tensor = operations::tensor;

 public:
  using operations::tracer::gradient, operations::tracer::max, operations::tracer::mean, operations::tracer::sum;

  constexpr step_words(operations::tracer const& ops, operations::traced_step& step, int batch)
      : operations::tracer(ops), step_(&step), batch_(batch) {}

  /// The number of samples of a batch.
  [[nodiscard]] constexpr int batch() const noexcept { return batch_; }
  /// The mean, the sum and the largest of all elements: tensors of one element.
  constexpr tensor mean(tensor x) { return mean(flat(x), 0); }
  constexpr tensor sum(tensor x) { return sum(flat(x), 0); }
  constexpr tensor max(tensor x) { return max(flat(x), 0); }

  /// The mean, over the rows, of a loss that `sc::training` takes, too: `step.loss(sc::losses::huber{}, y, model(x))`;
  /// the sum if its reduction is `sum`. A target is as long as the output, or has a class number for each row.
  template <losses::detail::HasLossCall L>
  constexpr tensor loss(L const& loss, tensor target, tensor output) {
    int const columns = output.length(-1), rows = static_cast<int>(output.shape().size() / columns);
    tensor const in_rows = reshape(target, {rows, losses::detail::target_columns_of(loss, columns)});
    tensor value = mean(losses::detail::call_loss(loss, *this, in_rows, reshape(output, {rows, columns})));
    auto const reduction = losses::detail::reduction_of(loss);
    if (reduction == losses::reduction::sum) value = value * static_cast<float>(rows);
    step_->loss = {tracing::tag_of<L>, target.id, output.id, value.id, reduction != losses::reduction::none};
    if constexpr (std::same_as<L, Wanted>) found_ = loss;
    return value;
  }
  /// Takes one step of the optimizer on the weights of these models, along the gradient of the loss, and ends a
  /// sub-step. Values of the next sub-step are computed with the new weights. Penalties that calls of models in this
  /// sub-step add to the loss, as an `activity_regularizer` does, are minimized, too. E2083 the loss has several
  /// elements; E2084 it depends on none of the weights; E2085 another `minimize` moves them; E2086 a value of an
  /// earlier sub-step.
  template <Optimizer O, std::same_as<weights_of_member>... More>
  constexpr void minimize(O const& optimizer, tensor loss, weights_of_member first, More... more) {
    auto& list = this->list();
    if (loss.shape().size() != 1)
      list.problem.report(2083, "a training step minimizes a tensor of shape ", loss.shape(),
                          "; a loss is one number, such as step.mean(loss)");
    end_sub_step(optimizer, loss, {first, more...});
  }
  /// The gradients of the sum of y by the trained weights of a model, in the order of its trainer's get_weights. The
  /// caller may change them, and take a step of an optimizer with them: see apply. E1195 y does not depend on one of
  /// the weights; E2084 the model has not been called.
  constexpr tracing::growing_array<tensor> gradient(tensor y, weights_of_member member) {
    auto result = trained_weights(member);
    if (!result.empty()) operations::detail::find_gradients(*this, y, result, {});
    return result;
  }
  /// Takes one step of the optimizer on the weights of a model with these gradients, one for each trained weight, and
  /// ends a sub-step: Keras's `optimizer.apply_gradients`. Penalties that calls of models add to a loss are not part of
  /// it. E2113 another number of gradients, or other shapes; E2085, E2086 and E2115 as for minimize.
  template <Optimizer O>
  constexpr void apply(O const& optimizer, weights_of_member member, tracing::array_view<tensor const> gradients) {
    auto const moved = trained_weights(member);
    if (!check_gradients(member, moved, gradients)) return;
    auto& own = end_sub_step(optimizer, product_of_sums(moved, gradients), {member});
    own.has_own_gradients = true;
    own.word = "apply";
  }
  /// Moves the trained weights of one model towards those of another one of the same layers: w = decay * w + (1 -
  /// decay) * source, an exponential moving average; 0 copies them. States such as moving means are copied. It ends a
  /// sub-step. A model that the step does not call otherwise may be moved, too. E2114 the models differ.
  constexpr void average(weights_of_member moved, weights_of_member source, float decay) {
    if (!check_average(moved, source, decay)) return;
    auto const& to = step_->members[step_->number_of(*moved.which)];
    auto const& from = step_->members[step_->number_of(*source.which)];
    for (int i = 0; i < static_cast<int>(to.weights.size()); ++i) {
      auto const& described = weights()[list().node_of(to.weights[i]).what.template as<operations::weight>().index];
      if (described.is_state()) update({&list(), to.weights[i]}, {&list(), list().copied(from.weights[i])});
    }
    tensor const both = product_of_sums(trained_weights(moved), trained_weights(source));
    auto& own = end_sub_step(averaging{.decay = decay}, both, {moved});
    own.has_own_gradients = own.is_average = true;
    own.word = "average";
  }
  /// Carries out the sub-steps of `f()` in every n-th training step of the trainer, the first one included:
  /// `step.every(5, [&] { ... })`. In other steps nothing of them is computed. E2112 n is less than 1, `f` has no
  /// minimize, or it stands inside of another `every` or of a `repeat`.
  template <class F>
  constexpr void every(int n, F const& f) {
    auto& problem = list().problem;
    std::size_t const blocks = step_->blocks.size();
    if (n < 1) problem.report(2112, "a training step calls step.every(", n, ", ...); the number is at least 1");
    if (step_->open_repeats > 0 || step_->open_conditions++ > 0)
      problem.report(2112, "a training step calls step.every inside of step.",
                     step_->open_repeats > 0 ? "repeat" : "every",
                     "; write step.every outside, and step.repeat inside of it");
    f();
    --step_->open_conditions;
    if (step_->blocks.size() == blocks)
      problem.report(2112, "a training step calls step.every without a minimize inside, which ends a sub-step");
    for (std::size_t i = blocks; i < step_->blocks.size(); ++i) step_->blocks[i].every = n;
  }
  /// Carries out the sub-steps of `f()` `times` times, with new random numbers each time: `step.repeat(5, [&] { ...
  /// })`. E2099 `times` is less than 1, `f` has no minimize, or one `repeat` stands inside another one.
  template <class F>
  constexpr void repeat(int times, F const& f) {
    auto& problem = list().problem;
    auto const first = static_cast<int>(step_->sub_steps.size());
    std::size_t const blocks = step_->blocks.size();
    if (times < 1)
      problem.report(2099, "a training step repeats sub-steps ", times, " times; it carries them out once at least");
    if (step_->open_repeats++ > 0)
      problem.report(
          2099, "a training step calls step.repeat inside of step.repeat; write one, with the product of the counts");
    f();
    --step_->open_repeats;
    auto const end = static_cast<int>(step_->sub_steps.size());
    if (end == first)
      problem.report(2099, "a training step calls step.repeat without a minimize inside, which ends a sub-step");
    while (step_->blocks.size() > blocks) step_->blocks.pop_back();
    step_->blocks.push_back({first, end, times});
  }
  /// Reports a number under a name: `fit` shows its mean over the sub-steps of an epoch. E2089 a name is used twice;
  /// E2098 the number is computed from weights or random numbers after the last minimize.
  constexpr void metric(std::string_view name, tensor value) {
    auto& list = this->list();
    if (value.shape().size() != 1)
      list.problem.report(2083, "a training step reports '", name, "', a tensor of shape ", value.shape(),
                          "; a metric is one number, such as step.mean(value)");
    for (auto const& known : step_->metrics)
      if (known.name == name)
        list.problem.report(2089, "a training step reports '", name, "' twice; each value has a name of its own");
    step_->metrics.push_back({fixed_name(name), value.id});
  }
  /// Reports a metric that `sc::training` takes, too: `step.metric("accuracy", sc::metrics::accuracy{}, y, scores)`. A
  /// target is as long as the output, or has a class number for each row. The number is a mean or, for one with a
  /// `result` of its own and those of counts, such as auc, that of all rows of the epoch. E1102; E2089; E2117 a metric
  /// along another axis than the last one, or one of other targets.
  constexpr void metric(std::string_view name, metrics::metric const& chosen, tensor target, tensor output) {
    using enum metrics::metric_kind;
    int const columns = output.length(-1), rows = static_cast<int>(output.shape().size() / columns);
    bool const has_classes = columns > 1 && target.shape().size() == rows;
    auto const of = metrics::resolve(chosen, has_classes, columns);
    tensor const found = reshape(output, {rows, columns}), wanted = reshape(target, {rows, has_classes ? 1 : columns});
    bool const is_of_places = of.kind == categorical_accuracy || of.kind == sparse_categorical_accuracy;
    bool const keeps_rows = !is_of_places && of.rules == nullptr;
    auto& problem = list().problem;
    if (of.along != 0 || (keeps_rows && (rows % batch_ != 0 || !metrics::fits_targets(of, has_classes, columns))))
      problem.report(2117, "a training step reports the metric '", chosen.name(), "' as '", name, "', ",
                     of.along != 0        ? "which is along another axis than the last one; transpose what it takes"
                     : rows % batch_ != 0 ? "of values that are not those of whole samples"
                     : has_classes        ? "whose targets are values, and gives it class numbers"
                                          : "whose targets are class numbers, and gives it values");
    if (of.kind == confusion) jobs::check_numbers_of_metric(of, name, columns, problem);
    if (problem.failed()) return;
    if (keeps_rows) return metric_of_rows(name, of, wanted, found);
    if (is_of_places)
      return metric(
          name, mean(equal(reshape(argmax(found), {rows}), reshape(has_classes ? wanted : argmax(wanted), {rows}))));
    tensor each = of.rules->call(of.options, *this, wanted, found);
    if (of.scales_columns) each = each * of.numbers.as_tensor(*this);
    if (of.result == nullptr) return metric(name, mean(each));
    metric(name, mean(each));  // checks the name
    auto& own = step_->metrics.back();
    own.value = sum(each, 0).id;
    own.result = of.result;
    own.options = of.options;
    own.columns = each.length(-1);
    own.rows = rows;
  }

  /// Copies the optimizer of this sub-step to `found`; a loss is copied in any case.
  constexpr void want(int sub_step) { wanted_ = sub_step; }
  [[nodiscard]] constexpr Wanted const& found() const noexcept { return found_; }

 private:
  /// Reports the values of a metric, which its state takes on the host.
  constexpr void metric_of_rows(std::string_view name, metrics::metric const& of, tensor target, tensor output) {
    tensor const both = concatenate({output, target});
    metric(name, sum(both));  // checks the name
    auto& own = step_->metrics.back();
    own.keeps_rows = true;
    own.has_classes = target.length(-1) != output.length(-1);
    own.of = of;
    own.width = output.length(-1);
    own.rows = output.length(0) / batch_;
    own.value = reshape(both, {batch_, own.reported()}).id;
  }
  constexpr tensor flat(tensor x) { return reshape(x, {static_cast<int>(x.shape().size())}); }

  template <Optimizer O>
  constexpr auto& end_sub_step(O const& optimizer, tensor loss, std::initializer_list<weights_of_member> moved) {
    auto& list = this->list();
    if (list.open_loops > 0) list.fail("minimize is called inside a scan");
    auto const number = static_cast<int>(step_->sub_steps.size());
    auto& own = step_->sub_steps.emplace_back();
    own.optimizer = tracing::tag_of<O>;
    own.loss = loss.id;
    own.end = list.size();
    for (weights_of_member const each : moved)
      if (int const member = member_of(each); member >= 0 && member < operations::traced_step::most)
        own.moves[member] = true;
    step_->blocks.push_back({number, number + 1, 1});
    if constexpr (std::same_as<O, Wanted>)
      if (number == wanted_) found_ = optimizer;
    return own;
  }
  /// The number of a model that has been called; E2084 and -1 otherwise.
  constexpr int member_of(weights_of_member each) {
    int const member = each.which == nullptr ? -1 : step_->number_of(*each.which);
    if (member < 0)
      list().problem.report(2084, "a training step minimizes a loss by the weights of a model that it has not called");
    return member;
  }
  constexpr tracing::growing_array<tensor> trained_weights(weights_of_member each) {
    tracing::growing_array<tensor> result;
    int const number = member_of(each);
    if (number < 0) return result;
    auto const& member = step_->members[number];
    for (int i = 0; i < static_cast<int>(member.weights.size()); ++i)
      if (member.trained[i] != 0) result.push_back({&list(), member.weights[i]});
    return result;
  }
  /// A number whose gradient by each weight is the value beside it.
  constexpr tensor product_of_sums(tracing::array_view<tensor const> moved,
                                   tracing::array_view<tensor const> gradients) {
    tensor result = full({1}, 0);
    for (std::size_t i = 0; i < moved.size(); ++i) result += sum(moved[i] * stop_gradient(gradients[i]));
    return result;
  }
  constexpr bool check_gradients(weights_of_member of, tracing::array_view<tensor const> moved,
                                 tracing::array_view<tensor const> gradients) {
    auto& problem = list().problem;
    if (problem.failed()) return false;
    auto const& name = step_->members[step_->number_of(*of.which)].name;
    if (moved.size() != gradients.size())
      problem.report(2113, "step.apply is given ", static_cast<int>(gradients.size()), " gradients for model '", name,
                     "', which has ", static_cast<int>(moved.size()),
                     " trained weights; step.gradient(loss, weights_of(model)) has one for each");
    for (std::size_t i = 0; i < moved.size() && !problem.failed(); ++i)
      if (moved[i].shape() != gradients[i].shape())
        problem.report(2113, "step.apply is given a gradient of shape ", gradients[i].shape(), " for weight number ",
                       static_cast<int>(i) + 1, " of model '", name, "', whose shape is ", moved[i].shape());
    return !problem.failed();
  }
  /// Makes the weights of a model that has not been called, and compares it with the source.
  constexpr bool check_average(weights_of_member moved, weights_of_member source, float decay) {
    auto& list = this->list();
    int const from = member_of(source);
    if (list.problem.failed()) return false;
    if (!same_type(moved.model, source.model) || moved.which == source.which)
      list.problem.report(2114, "step.average moves a model towards '", step_->members[from].name, "', which is ",
                          moved.which == source.which ? "the same one" : "a model of another type",
                          "; both are members of the step of one type, as sc::trained<net, \"slow\">");
    if (!(decay >= 0 && decay < 1))
      list.problem.report(2114,
                          "step.average is given a decay that is not from 0 to below 1; 0.99 keeps that share of "
                          "each weight");
    if (list.problem.failed()) return false;
    if (step_->number_of(*moved.which) >= 0) return true;
    tracing::growing_array<tensor> inputs;
    for (int const id : step_->members[from].inputs) inputs.push_back({&list, id});
    int const before = list.size();
    std::size_t const losses = list.losses.size();
    moved.call(*moved.which, inputs);
    while (list.losses.size() > losses) list.losses.pop_back();
    for (int id = before; id < list.size(); ++id)
      if (list.node_of(id).what.template is<operations::update>()) drop_update(list, id);
    return !list.problem.failed();
  }

  operations::traced_step* step_;
  int batch_, wanted_ = -1;
  Wanted found_{};
};

}  // namespace stagecraft::trainers
