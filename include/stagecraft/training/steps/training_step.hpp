// SPDX-License-Identifier: BSD-3-Clause
// A training step of one's own: several models, losses and optimizers. Keras counterpart: a model with a `train_step`
// of its own.
#pragma once

#include <stagecraft/description/effective_options.hpp>
#include <stagecraft/description/replication.hpp>
#include <stagecraft/layers/core/input.hpp>
#include <stagecraft/losses/loss.hpp>
#include <stagecraft/losses/reduction.hpp>
#include <stagecraft/optimizers/optimizer.hpp>
#include <stagecraft/pipeline/options.hpp>
#include <stagecraft/pipeline/pipelined.hpp>
#include <stagecraft/training/steps/traced_step.hpp>
#include <array>
#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>

namespace stagecraft::trainers {

/// The model whose weights a `minimize` moves: see weights_of.
struct weights_of_member {
  operations::step_member const* which = nullptr;
};

}  // namespace stagecraft::trainers

namespace stagecraft {

/// A model that is a member of a training step, with weights of its own; calls of one member share them:
///
///     sc::trained<critic, "critic"> d;    // d(x) in `train`
///
/// Without a name it has the model's. E2087 a layer that is no `call`, such as one with `forward` and `backward`.
template <Model M, fixed_text<diagnostics::max_name_length> Name = "">
class trained : public operations::step_member {
 public:
  using model = M;

  /// Calls the model on tensors of the step. Returns a tensor, or an array of them if the model has several outputs.
  template <std::same_as<operations::tensor>... More>
  constexpr auto operator()(operations::tensor first, More... more) const {
    using operations::tensor;
    tensor const inputs[]{first, more...};
    auto& step = *first.list->step;
    int const known = step.number_of(*this), number = known < 0 ? join(step) : known;
    check_inputs(*first.list, inputs);
    operations::detail::model_call<M> call(step, number, known >= 0);
    if (!first.list->problem.failed()) call.run(inputs);
    for (tensor const each : inputs) step.members[number].inputs.push_back(each.id);
    if (!first.list->problem.failed()) step.members[number].output = call.output(0).id;
    constexpr std::size_t outputs = graph_of<M>.outputs_of(0).size();
    if constexpr (outputs == 1) {
      return first.list->problem.failed() ? first : call.output(0);
    } else {
      std::array<tensor, outputs> result{};
      for (std::size_t i = 0; i < outputs; ++i) result[i] = first.list->problem.failed() ? first : call.output(i);
      return result;
    }
  }

  /// The weights of a member, for `minimize`.
  friend constexpr trainers::weights_of_member weights_of(trained const& member) { return {&member}; }

 private:
  /// Takes the next number, and a name that no other member has.
  constexpr int join(operations::traced_step& step) const {
    auto& own = step.members.emplace_back();
    fixed_name const base = Name.length > 0 ? fixed_name(Name.view()) : fixed_name(graph_of<M>.name());
    fixed_name name = base;
    for (int i = 1; step.has_member(name); ++i) name = fixed_name(base).append('_').append(i);
    own.name = name;
    own.type = tracing::tag_of<M>;
    own.is_plain = graph_of<M>.outputs_of(0).size() == 1;
    for (auto const& call : graph_of<M>.calls) own.is_plain = own.is_plain && !call.is_penalty;
    own.has_stages = is_pipelined<M>;
    own.which = this;
    return static_cast<int>(step.members.size()) - 1;
  }
  constexpr void check_inputs(operations::operation_list& list,
                              tracing::array_view<operations::tensor const> given) const {
    std::size_t next = 0;
    for (auto const& call : graph_of<M>.calls) {
      if (!call.is_input) continue;
      if (next < given.size()) {
        auto const expected = operations::extents::of_batch(given[next].length(0), call.shape);
        if (given[next].shape() != expected)
          list.problem.report(2088, "model '", graph_of<M>.name(), "' takes a tensor of shape ", expected,
                              " in a training step, but is called with ", given[next].shape());
      }
      ++next;
    }
    if (next != given.size())
      list.problem.report(2088, "model '", graph_of<M>.name(), "' takes ", static_cast<int>(next),
                          " tensors in a training step, but is called with ", static_cast<int>(given.size()));
    [&]<std::size_t... Call>(std::index_sequence<Call...>) {
      (check_layer<static_cast<int>(Call)>(list), ...);
    }(std::make_index_sequence<graph_of<M>.calls.size()>{});
  }
  template <int Call>
  constexpr void check_layer(operations::operation_list& list) const {
    if constexpr (!graph_of<M>.call(Call).is_input)
      if constexpr (!operations::detail::can_be_called_in_step<layer_t<M, Call>>())
        list.problem.report(2087, "layer '", graph_of<M>.layer_of(Call).name, "' of model '", graph_of<M>.name(),
                            "' has loops of its own in place of a `call`, which a training step traces");
  }
};

}  // namespace stagecraft

namespace stagecraft::trainers {

/// Stands for the case that no optimizer is copied.
struct no_optimizer {};

/// The argument `step` of a step's `train`. It has all words of `ops`, see operations/tracer.hpp. `Wanted` is the type
/// of an optimizer or a loss that is copied.
template <class Wanted = no_optimizer>
class step_words : public operations::tracer {
  using tensor = operations::tensor;

 public:
  using operations::tracer::max, operations::tracer::mean, operations::tracer::sum;

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
    if (list.open_loops > 0) list.fail("minimize is called inside a scan");
    auto const number = static_cast<int>(step_->sub_steps.size());
    auto& own = step_->sub_steps.emplace_back();
    own.optimizer = tracing::tag_of<O>;
    own.loss = loss.id;
    own.end = list.size();
    for (weights_of_member const each : {first, more...}) {
      int const member = each.which == nullptr ? -1 : step_->number_of(*each.which);
      if (member < 0)
        list.problem.report(2084, "a training step minimizes a loss by the weights of a model that it has not called");
      else if (member < operations::traced_step::most)
        own.moves[member] = true;
    }
    step_->blocks.push_back({number, number + 1, 1});
    if constexpr (std::same_as<O, Wanted>)
      if (number == wanted_) found_ = optimizer;
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

  /// Copies the optimizer of this sub-step to `found`; a loss is copied in any case.
  constexpr void want(int sub_step) { wanted_ = sub_step; }
  [[nodiscard]] constexpr Wanted const& found() const noexcept { return found_; }

 private:
  constexpr tensor flat(tensor x) { return reshape(x, {static_cast<int>(x.shape().size())}); }

  operations::traced_step* step_;
  int batch_, wanted_ = -1;
  Wanted found_{};
};

/// The inputs that the base of a training step names.
template <layers::input... Inputs>
struct inputs_of_step {
  static constexpr std::size_t count = sizeof...(Inputs);
  static constexpr shape shapes[]{Inputs.dimensions...};
};

}  // namespace stagecraft::trainers

namespace stagecraft {

/// The base of a training step of one's own; it names the inputs that `train` takes, without the batch:
///
///     struct gan_step : sc::training_step<gan_step, input{28, 28}> {
///       sc::trained<generator_model, "generator"> generator;
///       sc::trained<critic_model, "critic"> critic;
///       static constexpr auto optimizer = sc::optimizers::adam{.learning_rate = 1e-4F};
///
///       constexpr void train(auto& step, auto real) const {
///         ... step.minimize(optimizer, loss, weights_of(critic)); step.metric("critic_loss", loss);
///       }
///     };
///     sc::step_trainer<gan_step, sc::step_options{.batch_size = 64}> model;
template <class Derived, layers::input... Inputs>
struct training_step {
  static_assert(sizeof...(Inputs) > 0, "a training step names the inputs of its train: training_step<it, input{8}>");
  using step_inputs = trainers::inputs_of_step<Inputs...>;
};

/// Options of a step's trainer that are fixed at compile time: those fields of sc::training that a step has, with the
/// same meaning.
struct step_options {
  int batch_size = 32;  ///< samples of a batch; a last one that is not full is left out
  /// The options of a model with stages, in a step that does what `fit` does; other steps call none (E2111). Models
  /// without stages take from it what they do in sc::training.
  pipelining_options pipeline = {};
  /// Each sub-step adds up the gradients of several batches of each replica before it moves weights; all sub-steps of
  /// one step take the same batches.
  gradient_accumulation_options gradient_accumulation = {};
  /// Copies of the models, each of which takes batches of its own; 0: as many as the machine has devices for.
  int num_replicas = 0;
  /// How the gradients of the replicas become one, wherever `minimize` stands.
  stagecraft::cross_replica_reduction cross_replica_reduction = stagecraft::cross_replica_reduction::sum;
  /// Which of the replicas' metrics are reported.
  stagecraft::replicated_metric_reduction_method replicated_metric_reduction_method =
      stagecraft::replicated_metric_reduction_method::none;
  std::uint64_t seed = 1;  ///< seed of the initial weights, of the random numbers and of the shuffling
};

}  // namespace stagecraft
