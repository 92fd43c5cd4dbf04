// SPDX-License-Identifier: BSD-3-Clause
// A training step of one's own while it is traced: its models, its losses to minimize and its reported values.
#pragma once

#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/graph/type_tag.hpp>
#include <stagecraft/layers/traced_call.hpp>
#include <stagecraft/metrics/metric.hpp>
#include <stagecraft/models/queries.hpp>
#include <stagecraft/operations/gradients.hpp>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace stagecraft::operations {

/// The part of a model of a step that does not depend on its type: its address identifies the model.
struct step_member {};

/// The record of a step's `train`, which runs on symbols.
struct traced_step {
  static constexpr int most = 8;  ///< largest number of models, of sub-steps and of reported values

  /// A model of the step, in the order of the first calls.
  struct member {
    fixed_name name;
    step_member const* which = nullptr;
    tracing::type_tag const* type = tracing::no_type;
    tracing::growing_array<int> weights;   ///< operations that are its weights
    tracing::growing_array<char> trained;  ///< for each weight: 1 if an optimizer may move it
    tracing::growing_array<int> inputs;    ///< tensors that its calls take
    int output = -1;                       ///< the last call's first output
    bool is_plain = false;                 ///< true: it has one output, and adds nothing to the loss
    bool has_stages = false;               ///< true: it is pipelined
  };
  /// A call of a model: the operations [first, end).
  struct call {
    static constexpr int most_inputs = 4;
    int member = -1, first = 0, end = 0, output = -1, input_count = 0;
    int inputs[most_inputs]{};
  };
  /// The last call of a loss of the library's kind.
  struct loss_call {
    tracing::type_tag const* type = tracing::no_type;
    int target = -1, output = -1, value = -1;
    bool is_one_number = true;  ///< false: its reduction is `none`
  };
  /// A call of `minimize`, `apply` or `average`, which ends a sub-step.
  struct sub_step {
    tracing::type_tag const* optimizer = tracing::no_type;
    int loss = -1;
    int end = 0;                    ///< number of operations of the list when it was called
    char const* word = "minimize";  ///< the word that ends it
    bool moves[most]{};             ///< models whose weights it moves
    /// True for `apply` and `average`: penalties have no part in the gradients, which the step gives.
    bool has_own_gradients = false;
    bool is_average = false;
  };
  /// A reported number: its mean over batches, or the result of the sums of a metric's columns.
  struct metric {
    fixed_name name;
    int value = -1;                                  ///< a tensor of one element, or the sums over the rows of a batch
    metrics::metric_result const* result = nullptr;  ///< null: the mean
    diagnostics::own_options options = {};           ///< the metric's members
    int columns = 1, rows = 1;
    /// True for a metric of counts, such as auc: a sample reports `rows` rows of `width` values and, after them, the
    /// values' targets or one class number, as the metric's state takes them.
    bool keeps_rows = false, has_classes = false;
    int width = 1;
    metrics::metric of = {};
    /// Numbers of one sample that a batch reports.
    [[nodiscard]] constexpr int reported() const {
      return keeps_rows ? rows * (width + (has_classes ? 1 : width)) : columns;
    }
    /// The number after `batches` batches, from the sums of what they have reported.
    [[nodiscard]] double of_sums(double const* sums, std::int64_t batches) const {
      if (result == nullptr) return sums[0] / static_cast<double>(batches);
      return result->call(options, {{sums, static_cast<std::size_t>(columns)}, static_cast<double>(batches * rows)});
    }
  };
  /// Sub-steps [first, end), carried out `times` times, one after the other, in every `every`-th training step.
  struct block {
    int first = 0, end = 0, times = 1, every = 1;
  };

  tracer* ops = nullptr;
  bool const* moves = nullptr;  ///< models that the sub-step moves; null: not known yet
  tracing::growing_array<member> members;
  tracing::growing_array<call> calls;
  tracing::growing_array<sub_step> sub_steps;
  tracing::growing_array<metric> metrics;
  tracing::growing_array<block> blocks;
  int open_repeats = 0, open_conditions = 0;
  loss_call loss;
  // The weights of the layer that is being called.
  int current = -1;    ///< its model
  bool again = false;  ///< true: the layer has been called before
  int next_weight = 0;
  // Calls of models that are calls of a graph around this trace.
  bool stands_beside_models = false;            ///< true: models are not traced
  tracing::array_view<tensor const> outputs{};  ///< outputs of the calls from `first_output` on
  int first_output = 0;

  /// The output of the next call of a model that is not traced: zeros if nothing that is wanted depends on it.
  constexpr tensor output_of_call(extents const& shape) const {
    int const number = static_cast<int>(calls.size()) - first_output;
    bool const is_known = number >= 0 && number < static_cast<int>(outputs.size());
    return is_known ? outputs[static_cast<std::size_t>(number)] : ops->full(shape, 0);
  }
  constexpr void record_call(int model, int first, tensor output, tracing::array_view<tensor const> inputs) {
    auto& own = calls.emplace_back();
    own = {model, first, ops->list().size(), output.id, static_cast<int>(inputs.size())};
    for (int i = 0; i < own.input_count && i < call::most_inputs; ++i)
      own.inputs[i] = inputs[static_cast<std::size_t>(i)].id;
  }

  /// The list's `weight_of_step`: a layer that is called again gets the weights that it made in its first call.
  static constexpr tensor find_weight(tracer& ops, parameter const& described) {
    auto& list = ops.list();
    auto& step = *list.step;
    auto& known = step.members[step.current].weights;
    if (step.again && step.next_weight < static_cast<int>(known.size())) return {&list, known[step.next_weight++]};
    list.weight_of_step = nullptr;
    tensor const made = ops.weight(described);
    list.weight_of_step = find_weight;
    ++step.next_weight;
    known.push_back(made.id);
    auto& weight = ops.weights().back();
    step.members[step.current].trained.push_back(weight.trainable && !list.layer_is_frozen ? 1 : 0);
    bool const stays = step.moves != nullptr && !step.moves[step.current];
    if (list.layer_is_frozen || (weight.trainable && stays)) weight.freeze();
    if (!weight.trainable) list.node_of(made.id).has_gradient = false;
    return made;
  }
  /// True if an operation is traced in a sub-step.
  [[nodiscard]] constexpr bool is_in(int number, int id) const {
    return id < sub_steps[number].end && (number == 0 || id >= sub_steps[number - 1].end);
  }
  /// The number of a model that has been called, or -1.
  [[nodiscard]] constexpr int number_of(step_member const& which) const {
    for (int i = 0; i < static_cast<int>(members.size()); ++i)
      if (members[i].which == &which) return i;
    return -1;
  }
  [[nodiscard]] constexpr bool has_member(fixed_name const& name) const {
    for (auto const& each : members)
      if (each.name == name) return true;
    return false;
  }
};

namespace detail {

/// True if a layer is a `call`, as all of the library's are.
template <class L>
constexpr bool can_be_called_in_step() {
  return requires(L const& layer) { layer.masks; } || layers::detail::HasCall<L>;
}
/// Calls a layer on inputs that have no masked steps.
template <class L>
constexpr tensor call_layer(L const& layer, tracer& ops, tracing::array_view<tensor const> in) {
  if constexpr (requires { layer.masks; }) {
    return layer.call_masked(ops, in, {});
  } else {
    if constexpr (layers::detail::CallOn<L, tensor>)
      if (in.size() == 1) return layer.call(ops, in[0]);
    if constexpr (layers::detail::CallOn<L, tensor, tensor>)
      if (in.size() == 2) return layer.call(ops, in[0], in[1]);
    if constexpr (layers::detail::CallOn<L, tensor, tensor, tensor>)
      if (in.size() == 3) return layer.call(ops, in[0], in[1], in[2]);
    if constexpr (layers::detail::CallOnMany<L>) return layer.call(ops, in);
    return in[0];
  }
}

/// Carries out the calls of a model in a step's trace.
template <class M>
class model_call {
  static constexpr auto const& graph = graph_of<M>;

 public:
  constexpr model_call(traced_step& step, int member, bool again)
      : step_(&step), again_(again), values_(graph.calls.size(), {}), called_(graph.layers.size(), 0) {
    step.current = member;
  }

  constexpr void run(tracing::array_view<tensor const> inputs) {
    step_->next_weight = 0;
    [&]<std::size_t... Call>(std::index_sequence<Call...>) {
      int next_input = 0;
      (call<static_cast<int>(Call)>(inputs, next_input), ...);
    }(std::make_index_sequence<graph.calls.size()>{});
  }
  [[nodiscard]] constexpr tensor output(std::size_t index) const { return values_[graph.outputs_of(0)[index]]; }

 private:
  template <int Call>
  constexpr void call(tracing::array_view<tensor const> inputs, int& next_input) {
    if constexpr (graph.call(Call).is_input) {
      values_[Call] = inputs[next_input++];
    } else {
      constexpr int layer = graph.call(Call).layer;
      constexpr auto const& value = layer_of<M, Call>;
      tracing::growing_array<tensor> read;
      for (int const input : graph.inputs_of(Call)) read.push_back(values_[input]);
      // Weights of a layer that this call of the model has called before stand where they were made.
      int const weights_before = step_->next_weight;
      step_->again = again_ || called_[layer] != 0;
      if (called_[layer] != 0) step_->next_weight = called_[layer] - 1;
      auto& list = step_->ops->list();
      list.layer_is_frozen = !value.trainable;
      called_[layer] = step_->next_weight + 1;
      fixed_name const name =
          fixed_name(step_->members[step_->current].name).append('/').append(graph.layer(layer).name.view());
      // A layer adds its own losses, and its result has no part in them.
      constexpr bool penalizes = std::same_as<layer_t<M, Call>, layers::activity_penalty>;
      values_[Call] = graph.call(Call).is_penalty && !penalizes
                          ? read[0]
                          : step_->ops->name_scope(name, [&] { return call_layer(value, *step_->ops, read); });
      if (graph.call(Call).is_penalty && penalizes) step_->ops->add_loss(values_[Call]);
      list.layer_is_frozen = false;
      list.packed.clear();  // the parts of a layer's result are not those of the step's
      if (weights_before > step_->next_weight) step_->next_weight = weights_before;
    }
  }

  traced_step* step_;
  bool again_;
  tracing::growing_array<tensor> values_;
  tracing::growing_array<int> called_;  // 1 + the first weight of a layer that has been called
};

}  // namespace detail

}  // namespace stagecraft::operations
