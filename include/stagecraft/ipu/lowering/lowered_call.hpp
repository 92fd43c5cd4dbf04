// SPDX-License-Identifier: BSD-3-Clause
// One call of a layer as its lowering sees it: shapes as constants, tensors as numbers in the lowered step.
#pragma once

#include <stagecraft/description/job.hpp>
#include <stagecraft/description/stage_options_checks.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/steps/lowered_step.hpp>
#include <stagecraft/ipu/tasks/map.hpp>
#include <stagecraft/models/queries.hpp>
#include <stagecraft/plan/model_plan.hpp>
#include <stagecraft/plan/passes.hpp>
#include <stagecraft/plan/value_types.hpp>
#include <cstdint>
#include <type_traits>

namespace stagecraft::tiles {

template <class L>
struct lowering;
template <layer_kernel Kernel, class L>
struct kernel_lowering;
template <class Call>
using lowering_of = std::conditional_t<runs_by_operations(Call::layer),
                                       kernel_lowering<layer_kernel::none, layer_t<typename Call::model, Call::call>>,
                                       lowering<layer_t<typename Call::model, Call::call>>>;

/// The mapping of a weight by the plan of its layer's forward step; null: it is mapped linearly.
template <class Lowering, class Call>
constexpr weight_mapping const* planned_weight(int index) {
  if constexpr (requires { Lowering::template planned_weight<Call>(index); })
    return Lowering::template planned_weight<Call>(index);
  else
    return nullptr;
}

/// The properties of a call's steps that depend on a model's stages and options.
struct step_variant {
  static constexpr int most_inputs = 64;
  std::uint64_t adds_input_gradients = 0;  ///< a bit for each input whose gradient is added to what is there
  /// True if accumulators hold the mean of the micro-batches' gradients so far.
  bool has_running_mean = false;
  dtype accumulator_type = dtype::float32;

  friend constexpr bool operator==(step_variant const&, step_variant const&) = default;
};

/// `Machine` has `config` and `target`, an ipu_target with as many tiles as compute. Tensors are (batch, shape...) row
/// by row, weights have their Keras shapes. A lowering asks for the tensors that its tasks need, and only for
/// those that are at hand: in a backward step the inputs' values if `planned.needs.input`, the output's if
/// `planned.needs.output`, and what the forward step has saved.
///
/// `WeightMachine` is the machine whose plans say how the layer's weights lie: other than `Machine` where options of
/// Poplar are given for single stages.
template <class Job, step_variant Variant, int Call, class WeightMachine = typename Job::machine>
struct lowered_call_variant {
  using model = typename Job::model;
  using machine = typename Job::machine;
  static constexpr auto const& graph = Job::graph;
  static constexpr auto const& model_plan = model_plan_for<Job>;
  static constexpr auto const& planned = model_plan.calls[Call];
  /// The layer; its activation is left out if the loss applies it.
  static constexpr auto const& layer = planned_layer<typename Job::model, Call, planned.activation_in_loss>;
  static constexpr auto const& target = Job::machine::target;
  static constexpr auto const& config = Job::machine::config;
  static constexpr int call = Call;
  static constexpr int batch = Job::training.batch_size;
  static constexpr int input_count = graph.call(Call).input_count;
  static constexpr bool trains = Job::trains;
  /// True if the step computes the layer's penalties.
  static constexpr bool finds_losses = !leaves_out_penalties<Job>;
  static constexpr bool has_running_mean = Variant.has_running_mean;
  /// The type of values and gradients, and of copies of weights that are multiplied with them.
  static constexpr dtype type = computed_type_of<Job, Call>;
  /// The type in which weights are stored.
  static constexpr dtype variable_type = graph.layer_of(Call).type_of_values == dtype::of_policy
                                             ? Job::training.dtype_policy.variable_dtype
                                             : graph.layer_of(Call).type_of_values;
  /// True if the host carries out the call.
  static constexpr bool is_on_host = detail::is_on_host(graph, Call);

  [[nodiscard]] static constexpr int input_call(int index) {
    return graph.inputs[graph.call(Call).first_input + index];
  }
  [[nodiscard]] static constexpr shape const& input_shape(int index = 0) { return graph.call(input_call(index)).shape; }
  [[nodiscard]] static constexpr shape const& output_shape() { return graph.call(Call).shape; }
  static constexpr int parameter_count = graph.layer_of(Call).parameter_count;
  [[nodiscard]] static constexpr parameter const& parameter_info(int index) {
    return graph.parameters[graph.layer_of(Call).first_parameter + index];
  }
  /// Elements of the whole batch.
  [[nodiscard]] static constexpr std::int64_t input_elements(int index = 0) {
    return std::int64_t{batch} * input_shape(index).size();
  }
  [[nodiscard]] static constexpr std::int64_t output_elements() { return std::int64_t{batch} * output_shape().size(); }

  /// Floating-point operations of the forward step for the whole batch.
  [[nodiscard]] static constexpr std::int64_t flops() { return batch * graph.call(Call).flops; }

  /// True if the gradient of an input is needed.
  [[nodiscard]] static constexpr bool wants_input_gradient(int index) {
    return model_plan.calls[input_call(index)].needs_gradient;
  }
  /// True if the gradient of an input is added to the tensor's contents.
  [[nodiscard]] static constexpr bool adds_input_gradient(int index) {
    return (Variant.adds_input_gradients >> index & 1U) != 0;
  }
  /// The activation of an input's call whose gradient this backward step applies, after the layer's own tasks.
  [[nodiscard]] static constexpr activation applied_activation(int index) {
    auto const& source = model_plan.calls[input_call(index)];
    return source.activation_in_consumer ? source.needs.output_activation : linear;
  }

  /// The type of the value of an input's call.
  [[nodiscard]] static constexpr dtype input_type(int index = 0) { return value_types_of<Job>[input_call(index)]; }
  /// True if the numbers of an input count something, so that they are never rounded.
  [[nodiscard]] static constexpr bool has_exact_input(int index) {
    return model_plan_for<Job>.calls[input_call(index)].is_exact;
  }
  /// True if the step begins with a cast of an input to its own type.
  [[nodiscard]] static constexpr bool casts_input(int index) {
    return input_type(index) != type && !has_exact_input(index);
  }

  // Tensors of the step.
  [[nodiscard]] static constexpr int input(lowered_step& step, int index = 0) {
    int const given = step.tensor(tensor_role::input, index, input_type(index), input_elements(index));
    if (!casts_input(index)) return given;
    int const known = step.tensor_count;
    int const result =
        step.tensor(tensor_role::temporary, lowered_step::first_cast_input + index, type, input_elements(index));
    if (result == known) append_map(step, map_function::copy, result, {{given}});
    return result;
  }
  [[nodiscard]] static constexpr int output(lowered_step& step) {
    return step.tensor(tensor_role::output, 0, type, output_elements());
  }
  /// The mapping of a weight to tiles, which its gradient, its accumulators and the optimizer's state share: by the
  /// plan of the forward step of the layer's first call, or linear (null). Constraints and penalties of the user's own
  /// work on tensors that are mapped linearly.
  [[nodiscard]] static constexpr weight_mapping const* planned_weight(int index) {
    if (!parameter_info(index).constraint.empty() || parameter_info(index).regularizer.is_own()) return nullptr;
    using first =
        lowered_call_variant<typename Job::template on<WeightMachine>, step_variant{}, graph.layer_of(Call).first_call>;
    return detail::planned_weight<lowering_of<first>, first>(index);
  }
  /// The tensor of a weight as it is stored. The step may write it if it is not trained.
  [[nodiscard]] static constexpr int stored_weight(lowered_step& step, int index) {
    return step.tensor(tensor_role::weight, index, variable_type, parameter_info(index).size(), planned_weight(index));
  }
  /// A tensor of `elements` elements that the forward step saves, from float number `offset` of the planned.needs.saved
  /// floats on; both steps name it alike. Small whole numbers may be of type uint8, four to a float.
  [[nodiscard]] static constexpr int saved(lowered_step& step, int offset, std::int64_t elements, dtype of = type) {
    return step.tensor(tensor_role::saved, offset, of, elements);
  }
  [[nodiscard]] static constexpr int output_gradient(lowered_step& step) {
    return step.tensor(tensor_role::output_gradient, 0, type, output_elements());
  }
  /// The tensor to which the layer's lowering writes the gradient of an input: the gradient itself, or a temporary
  /// tensor that is added to it, or cast, afterwards (lowering.hpp).
  [[nodiscard]] static constexpr int input_gradient(lowered_step& step, int index = 0) {
    return adds_input_gradient(index) || input_type(index) != type
               ? step.tensor(tensor_role::temporary, lowered_step::first_input_gradient + index, type,
                             input_elements(index))
               : stored_input_gradient(step, index);
  }
  [[nodiscard]] static constexpr int stored_input_gradient(lowered_step& step, int index) {
    return step.tensor(tensor_role::input_gradient, index, input_type(index), input_elements(index));
  }
  /// The tensor to which it writes the gradient of a weight, which is accumulated afterwards (lowering.hpp).
  [[nodiscard]] static constexpr int weight_gradient(lowered_step& step, int index) {
    return step.tensor(tensor_role::temporary, lowered_step::first_weight_gradient + index, type,
                       parameter_info(index).size(), planned_weight(index));
  }
  [[nodiscard]] static constexpr int accumulator(lowered_step& step, int index) {
    return step.tensor(tensor_role::accumulator, index, Variant.accumulator_type, parameter_info(index).size(),
                       planned_weight(index));
  }
};

/// A machine with the same tiles, but one IPU: the steps are the same for any number of them.
template <class Machine>
struct machine_with_one_ipu {
  using type = Machine;
};
template <class Machine>
  requires requires { typename Machine::one_ipu; }
struct machine_with_one_ipu<Machine> {
  using type = typename Machine::one_ipu;
};

/// A machine whose products are planned with other options.
template <class Machine, poplar_options Matmuls, poplar_options Convolutions>
struct machine_with_options : Machine {
  static constexpr ipu_config config = [] {
    auto result = Machine::config;
    result.matmuls = Matmuls;
    result.convolutions = Convolutions;
    return result;
  }();
};

/// One IPU with the options of Poplar that are given for a pass. Options that equal the machine's make no difference.
template <class Job, bool Backward, int Stage>
constexpr auto find_machine_of_stage() {
  using one_ipu = typename machine_with_one_ipu<typename Job::machine>::type;
  constexpr pipeline_stage_options own = options_of_pass<Job>(Backward, Stage);
  if constexpr (own.given()) {
    constexpr auto matmuls = with_options_of_stage(one_ipu::config.matmuls, own.matmul_options);
    constexpr auto convolutions = with_options_of_stage(one_ipu::config.convolutions, own.convolution_options);
    if constexpr (matmuls == one_ipu::config.matmuls && convolutions == one_ipu::config.convolutions)
      return std::type_identity<one_ipu>{};
    else
      return std::type_identity<machine_with_options<one_ipu, matmuls, convolutions>>{};
  } else {
    return std::type_identity<one_ipu>{};
  }
}
template <class Job, bool Backward, int Stage>
using machine_of_stage = typename decltype(find_machine_of_stage<Job, Backward, Stage>())::type;

/// The machine of a pass.
template <class Job, int Pass>
using machine_of_pass =
    machine_of_stage<Job, planning_timetable<Job>.is_backward(Pass), planning_timetable<Job>.stage_of_pass(Pass)>;

/// The machine of the forward step of the first call of a call's layer, whose plan says how the weights lie.
template <class Job, int Call>
using machine_of_weights =
    machine_of_stage<Job, false, stage_of_graph_call<typename Job::model>(Job::graph.layer_of(Call).first_call)>;

template <class Job, int Pass, int Call>
constexpr step_variant find_step_variant() {
  constexpr auto const& options = Job::options;
  constexpr auto const& node = Job::graph.call(Call);
  step_variant result{
      .has_running_mean = options.reduction_method == gradient_accumulation_reduction_method::running_mean,
      .accumulator_type = options.accumulation_steps() > 1 ? options.gradient_accumulation_dtype : dtype::float32};
  if constexpr (planning_timetable<Job>.is_backward(Pass)) {
    static_assert(node.input_count <= step_variant::most_inputs, "stagecraft: a call on an IPU has at most 64 inputs");
    auto const& adds = pass_plan_of<Job, Pass>.places.adds_gradient;
    for (int i = 0; i < node.input_count; ++i)
      if (adds[node.first_input + i]) result.adds_input_gradients |= std::uint64_t{1} << i;
  }
  return result;
}

/// A call in a pass of the model without its stages: its calls are lowered alike, whatever
/// stages they are in. The pass decides only where gradients are added to others, and which options of Poplar hold.
template <class Job, int Pass, int Call>
using lowered_call =
    lowered_call_variant<typename Job::template of<typename traced_model<typename Job::model>::type>::template on<
                             machine_of_pass<Job, Pass>>,
                         find_step_variant<Job, Pass, Call>(), Call, machine_of_weights<Job, Call>>;

}  // namespace stagecraft::tiles
