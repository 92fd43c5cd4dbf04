// SPDX-License-Identifier: BSD-3-Clause
// A training step of one's own: several models, losses and optimizers. Keras counterpart: a model with a `train_step`
// of its own.
#pragma once

#include <stagecraft/description/effective_options.hpp>
#include <stagecraft/description/replication.hpp>
#include <stagecraft/description/training_checks.hpp>
#include <stagecraft/layers/core/input.hpp>
#include <stagecraft/pipeline/options.hpp>
#include <stagecraft/pipeline/pipelined.hpp>
#include <stagecraft/training/steps/step_words.hpp>
#include <array>
#include <concepts>
#include <cstddef>
#include <string_view>

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
    constexpr std::size_t outputs = graph_of<M>.outputs_of(0).size();
    if constexpr (outputs == 1) {
      if (step.stands_beside_models) {
        constexpr int call = graph_of<M>.outputs_of(0)[0];
        auto const of = operations::extents::of_batch(first.length(0), graph_of<M>.call(call).shape);
        tensor const result = step.output_of_call(of);
        step.record_call(number, first.list->size(), result, inputs);
        return result;
      }
    }
    check_inputs(*first.list, inputs);
    int const begin = first.list->size();
    operations::detail::model_call<M> call(step, number, known >= 0);
    if (!first.list->problem.failed()) call.run(inputs);
    for (tensor const each : inputs) step.members[number].inputs.push_back(each.id);
    if (!first.list->problem.failed()) {
      step.members[number].output = call.output(0).id;
      step.record_call(number, begin, call.output(0), inputs);
    }
    if constexpr (outputs == 1) {
      return first.list->problem.failed() ? first : call.output(0);
    } else {
      std::array<tensor, outputs> result{};
      for (std::size_t i = 0; i < outputs; ++i) result[i] = first.list->problem.failed() ? first : call.output(i);
      return result;
    }
  }

  /// The weights of a member, for `minimize`, `gradient`, `apply` and `average`.
  friend constexpr trainers::weights_of_member weights_of(trained const& member) {
    return {&member, tracing::tag_of<M>, call_on};
  }

 private:
  static constexpr void call_on(operations::step_member const& member,
                                tracing::array_view<operations::tensor const> inputs) {
    constexpr std::size_t count = [] {
      std::size_t found = 0;
      for (auto const& call : graph_of<M>.calls) found += call.is_input ? 1 : 0;
      return found;
    }();
    [&]<std::size_t... Input>(std::index_sequence<Input...>) {
      static_cast<void>(static_cast<trained const&>(member)(inputs[Input]...));
    }(std::make_index_sequence<count>{});
  }
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
    constexpr auto const& activations = detail::own_activation_problem<typename detail::traced_model<M>::type>;
    if (activations.failed() && !list.problem.failed()) list.problem = activations;
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
  /// The reduction of the replicas' gradients, wherever `minimize` stands.
  stagecraft::cross_replica_reduction cross_replica_reduction = stagecraft::cross_replica_reduction::sum;
  /// The replicas whose metrics are reported.
  stagecraft::replicated_metric_reduction_method replicated_metric_reduction_method =
      stagecraft::replicated_metric_reduction_method::none;
  std::uint64_t seed = 1;  ///< seed of the initial weights, of the random numbers and of the shuffling
};

}  // namespace stagecraft
