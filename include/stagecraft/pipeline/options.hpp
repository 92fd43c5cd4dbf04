// SPDX-License-Identifier: BSD-3-Clause
// The options of pipelines: how a model's steps are gathered into weight updates and executions, what is kept where
// meanwhile, Poplar's options of single stages, and the outfeed mask. Counterparts: Keras on IPU's
// set_pipelining_options, Graphcore's PipelineStageOptions and the arguments of `pipelining_ops.pipeline`.
#pragma once

#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/dtype.hpp>
#include <stagecraft/graph/stage_poplar_options.hpp>
#include <stagecraft/pipeline/schedule/schedule.hpp>
#include <concepts>
#include <string_view>

namespace stagecraft {

/// One entry per metric, in the order of the training description (`metrics`, then `weighted_metrics`, each as many as
/// are written there); true: left out. No entries: nothing is.
///
///     .pipeline = {.outfeed_mask = {false, true}}  // the second metric is not computed
struct outfeed_mask {
  static constexpr int capacity = 32;
  bool masked[capacity]{};
  int count = 0;  ///< the number of outputs that are given, even if there is no room for them (E2035)

  constexpr outfeed_mask() = default;
  template <std::same_as<bool>... Masked>
    requires(sizeof...(Masked) >= 1)
  constexpr outfeed_mask(Masked... mask) {
    bool const given[]{mask...};
    for (bool const each : given) {
      if (count < capacity) masked[count] = each;
      ++count;
    }
  }

  [[nodiscard]] constexpr bool leaves_out(int metric) const {
    return metric < count && metric < capacity && masked[metric];
  }
};

}  // namespace stagecraft

namespace stagecraft::pipeline {

enum class reserved_key : unsigned char {
  gradient_accumulation_count,
  repeat_count,
  gradient_accumulation_reduction_method,
  pipeline_schedule,
  device_mapping,
  computational_stages,
  inputs,
  infeed_queue,
  outfeed_queue,
  optimizer_function,
  slice_options,
  experimental_normalize_gradients
};

struct reserved_text {
  std::string_view key, substitute;
};

constexpr reserved_text text_of(reserved_key key) {
  switch (key) {
    case reserved_key::gradient_accumulation_count:
      return {"gradient_accumulation_count",
              "write gradient_accumulation_steps_per_replica, the number of one replica"};
    case reserved_key::repeat_count:
      return {"repeat_count",
              "it follows from steps_per_execution of the training, divided by "
              "gradient_accumulation_steps_per_replica"};
    case reserved_key::gradient_accumulation_reduction_method:
      return {"gradient_accumulation_reduction_method", "write reduction_method"};
    case reserved_key::pipeline_schedule: return {"pipeline_schedule", "write schedule"};
    case reserved_key::device_mapping:
      return {"device_mapping", "it belongs to the model, pipelined<model, stages<0, 1>, device_mapping<0, 1>>"};
    case reserved_key::computational_stages:
      return {"computational_stages", "they belong to the model, pipelined<model, stages<0, 1>>"};
    case reserved_key::inputs: return {"inputs", "fit, evaluate and predict take the data"};
    case reserved_key::infeed_queue: return {"infeed_queue", "write it outside of .pipeline, in the training"};
    case reserved_key::outfeed_queue: return {"outfeed_queue", "write it outside of .pipeline, in the training"};
    case reserved_key::optimizer_function:
      return {"optimizer_function", "write .optimizer outside of .pipeline, in the training"};
    case reserved_key::slice_options:
      return {"slice_options", "tables are looked up without a plan; write convolution_options or matmul_options"};
    default:
      return {"experimental_normalize_gradients",
              "write reduction_method = gradient_accumulation_reduction_method::mean"};
  }
}

/// A field that cannot be given a value: E2058.
template <reserved_key Key>
struct reserved_option {
  constexpr reserved_option() = default;
  template <class... Value>
    requires(sizeof...(Value) > 0)
  constexpr reserved_option(Value const&...) {
    static_assert(report<problem<Value...>>());
  }

 private:
  template <class...>
  static constexpr diagnostic problem = [] {
    diagnostic result;
    result.report(2058, "pipeline has no option ", text_of(Key).key, "; ", text_of(Key).substitute);
    return result;
  }();
};

}  // namespace stagecraft::pipeline

namespace stagecraft {

/// Graphcore's PipelineStageOptions: what is planned otherwise in one stage. Options of other libraries of Poplar have
/// no counterpart, as there is nothing for them to change; slice_options (embeddings) is E2058.
struct pipeline_stage_options {
  /// Options that differ for convolutions.
  stage_poplar_options convolution_options = {};
  /// Options that differ for matrix products.
  stage_poplar_options matmul_options = {};
  [[no_unique_address]] detail::reserved_option<detail::reserved_key::slice_options> slice_options = {};

  /// True if an option is given.
  [[nodiscard]] constexpr bool given() const noexcept { return convolution_options.given() || matmul_options.given(); }
};

}  // namespace stagecraft

namespace stagecraft::pipeline {

/// The options of all stages, in their order: those of `stage_options<...>`, or none.
///
/// It is an address, so that a training description stays small.
class stage_options_list {
 public:
  constexpr stage_options_list() = default;
  template <int Count>
  constexpr stage_options_list(pipeline_stage_options const (&options)[Count]) : first(options), count(Count) {}

  /// The options that differ in a stage; a stage without an entry has none.
  [[nodiscard]] constexpr pipeline_stage_options of(int stage) const noexcept {
    return stage >= 0 && stage < count ? first[stage] : pipeline_stage_options{};
  }
  [[nodiscard]] constexpr bool given() const noexcept { return count > 0; }

  // Public, since a training description is a template argument.
  pipeline_stage_options const* first = nullptr;
  int count = 0;
};

template <pipeline_stage_options... Options>
inline constexpr pipeline_stage_options listed_options[]{Options...};

}  // namespace stagecraft::pipeline

namespace stagecraft {

/// Options of Poplar for each stage:
///
///     .pipeline = {.forward_propagation_stages_poplar_options = sc::stage_options<
///                      sc::pipeline_stage_options{.matmul_options = {.available_memory_proportion = 0.1F}},
///                      sc::pipeline_stage_options{}>}
template <pipeline_stage_options... Options>
  requires(sizeof...(Options) > 0)
inline constexpr pipeline::stage_options_list stage_options{detail::listed_options<Options...>};

/// The rule that combines the gradients of the N micro-batches of one weight update into one, `a`, from micro-batch 0
/// on:
/// - `sum`: a + g, the default. The effective learning rate grows with N;
/// - `mean`: a + g / N, each gradient divided before it is added;
/// - `running_mean`: a n / (n + 1) + g / (n + 1) with micro-batch n, the mean of those so far. It is never larger than
///   one gradient: for float16, in which a sum may overflow and g / N be rounded to 0.
/// Definition: Graphcore's GradientAccumulationReductionMethod.
enum class gradient_accumulation_reduction_method : unsigned char { sum, mean, running_mean };

/// The place of tensors that are not needed all the time: in the device's own memory, or in remote memory beside it,
/// from where they are fetched when they are needed. `automatic` (Graphcore's None) is on the device, unless another
/// option asks for remote memory.
enum class offload : unsigned char { automatic, on_device, remote };

/// Keras's keyword arguments, and those that are passed on to `pipelining_ops.pipeline`. What holds for a model is
/// `options_of<model, training>`; a trainer checks it (E2020 to E2022, E2024 to E2039, E2047, E2048).
///
/// Not here, and E2058 where they are written: `device_mapping` is an argument of `pipelined`; `repeat_count` is
/// steps_per_execution divided by accumulation_steps(); the optimizer, queues and replicas are the training
/// description's. Gradients that layers capture have no counterpart.
struct pipelining_options {
  /// Micro-batches per weight update; 0: not set, one. A multiple of those that the schedule works on at once (E2024).
  /// A pipelined model that is trained needs it set (E2022), except, as in Graphcore's guide, in the sequential
  /// schedule (Keras on IPU itself wants it in all).
  int gradient_accumulation_steps_per_replica = 0;
  /// The reduction of the micro-batches' gradients: a sum or a mean.
  stagecraft::gradient_accumulation_reduction_method reduction_method =
      stagecraft::gradient_accumulation_reduction_method::sum;
  /// The devices work on the micro-batches in this order; results do not depend on it.
  stagecraft::schedule schedule = stagecraft::schedule::grouped;
  /// Not all go with all schedules (E2032). Without stages nothing is recomputed.
  stagecraft::recomputation_mode recomputation_mode = stagecraft::recomputation_mode::none;
  /// The type in which gradients are accumulated: float32 or float16 (E2036).
  dtype gradient_accumulation_dtype = dtype::float32;
  /// The number of micro-batches on which each stage works before the next stage begins: only in the sequential
  /// schedule (which has to be chosen; Graphcore's None is it then), with all stages on one device and the reduction
  /// method sum (E2028 to E2031). A weight update then takes that many times more micro-batches.
  int batch_serialization_iterations = 1;

  /// One result per weight update, the mean of its steps' results, is sent to the host, instead of one per step; in
  /// `evaluate`, one per execution. Not with outfeed_mode::last (E2040).
  bool accumulate_outfeed = false;
  /// The type in which these results are summed: float32 or float16 (E2037).
  dtype accumulate_outfeed_dtype = dtype::float32;
  /// Only the loss is sent to the host while training: no metrics are computed.
  bool outfeed_loss = false;
  /// The metrics that are left out while training: an entry for each (E2035). Not with outfeed_loss (E2034).
  stagecraft::outfeed_mask outfeed_mask = {};

  /// The tensors that a stage keeps from its forward to its backward pass.
  offload offload_activations = offload::automatic;
  /// The memory in which the sums of gradients lie between the micro-batches.
  offload offload_gradient_accumulation_buffers = offload::automatic;
  /// The place of the optimizer's state, which only the weight update needs. Automatic: as
  /// replicated_optimizer_state_sharding says.
  offload offload_weight_update_variables = offload::automatic;
  /// Automatic: as replicated_weight_sharding says.
  offload offload_weights = offload::automatic;
  /// Each replica holds and updates a part of the optimizer's state, in remote memory: not with
  /// offload_weight_update_variables on_device (E2038). With one replica, its part is all of it.
  bool replicated_optimizer_state_sharding = false;
  /// Each replica holds a part of the weights in remote memory, from where they are gathered before a stage uses them:
  /// not with offload_weights on_device (E2039). With one replica, its part is all of them.
  bool replicated_weight_sharding = false;

  /// Options of the forward steps of single stages in place of the machine's, also where the steps are carried out
  /// again: an entry for each stage, or none (E2065). On the host, and without stages, it changes nothing.
  pipeline::stage_options_list forward_propagation_stages_poplar_options = {};
  /// The options that differ in their backward steps; entry 0 is stage 0's.
  pipeline::stage_options_list backward_propagation_stages_poplar_options = {};
  /// The options that differ in the weight update. It multiplies no matrices here, so that they change nothing.
  pipeline_stage_options weight_update_poplar_options = {};

  // Options that Graphcore's pipelines call otherwise or take elsewhere: E2058 says how they are written here.
  [[no_unique_address]] detail::reserved_option<detail::reserved_key::gradient_accumulation_count>
      gradient_accumulation_count = {};
  [[no_unique_address]] detail::reserved_option<detail::reserved_key::repeat_count> repeat_count = {};
  [[no_unique_address]] detail::reserved_option<detail::reserved_key::gradient_accumulation_reduction_method>
      gradient_accumulation_reduction_method = {};
  [[no_unique_address]] detail::reserved_option<detail::reserved_key::pipeline_schedule> pipeline_schedule = {};
  [[no_unique_address]] detail::reserved_option<detail::reserved_key::device_mapping> device_mapping = {};
  [[no_unique_address]] detail::reserved_option<detail::reserved_key::computational_stages> computational_stages = {};
  [[no_unique_address]] detail::reserved_option<detail::reserved_key::inputs> inputs = {};
  [[no_unique_address]] detail::reserved_option<detail::reserved_key::infeed_queue> infeed_queue = {};
  [[no_unique_address]] detail::reserved_option<detail::reserved_key::outfeed_queue> outfeed_queue = {};
  [[no_unique_address]] detail::reserved_option<detail::reserved_key::optimizer_function> optimizer_function = {};
  [[no_unique_address]] detail::reserved_option<detail::reserved_key::experimental_normalize_gradients>
      experimental_normalize_gradients = {};

  /// Micro-batches per weight update and replica.
  [[nodiscard]] constexpr int accumulation_steps() const noexcept {
    return (gradient_accumulation_steps_per_replica < 1 ? 1 : gradient_accumulation_steps_per_replica) *
           (batch_serialization_iterations < 1 ? 1 : batch_serialization_iterations);
  }
  /// True if weights and their optimizer state stand in remote memory.
  [[nodiscard]] constexpr bool offloads_weights() const noexcept {
    return offload_weights == offload::remote || (offload_weights == offload::automatic && replicated_weight_sharding);
  }
  [[nodiscard]] constexpr bool offloads_optimizer_state() const noexcept {
    return offload_weight_update_variables == offload::remote ||
           (offload_weight_update_variables == offload::automatic && replicated_optimizer_state_sharding);
  }
};

}  // namespace stagecraft
