// SPDX-License-Identifier: BSD-3-Clause
// The rules of options of pipelines, queues and replicas, each with a code: those of `pipelining_ops.pipeline` and of
// Keras on IPU's setters, as far as types do not follow them already.
#pragma once

#include <stagecraft/description/job.hpp>
#include <stagecraft/diagnostics/diagnostic.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/pipeline/options.hpp>
#include <stagecraft/pipeline/schedule/timetable.hpp>
#include <stagecraft/pipeline/validation.hpp>
#include <stagecraft/threads/queue_options.hpp>
#include <cstddef>
#include <string_view>

namespace stagecraft::jobs {

/// The input of all rules, without the types of the model and of its training description.
struct checked_options {
  pipelining_options options;  ///< the options that hold for the model
  staged_graph const& model;
  bool pipelined = false;
  bool gives_gradient_accumulation = false;  ///< the options of models without stages are given
  int steps_per_execution = 1;
  int metrics = 0;
  bool infers = false;  ///< it is an inference
  bool overlaps_io = false;

  [[nodiscard]] constexpr int stages() const { return pipelined ? model.stage_count() : 1; }
  [[nodiscard]] constexpr std::string_view name() const { return model.graph.name(); }
  /// The description in errors.
  [[nodiscard]] constexpr std::string_view subject() const { return subject_of(infers); }
  [[nodiscard]] static constexpr std::string_view subject_of(bool infers) {
    return infers ? "the inference" : "the training";
  }
  /// True if the description says how weights are updated. Evaluation and prediction need not know.
  [[nodiscard]] constexpr bool trains() const {
    return !infers && (!pipelined || options.gradient_accumulation_steps_per_replica != 0 ||
                       (options.schedule == schedule::sequential && !gives_gradient_accumulation));
  }
};

/// E2047: more stages than a timetable has room for.
constexpr void check_number_of_stages(checked_options const& checked, diagnostic& problem) {
  if (checked.stages() > timetable::capacity)
    problem.report(2047, "model '", checked.name(), "' has ", checked.stages(),
                   " pipeline stages; a pipeline that runs has at most ", timetable::capacity);
}

/// E2032: which forward steps can be carried out again.
constexpr void check_recomputation(checked_options const& checked, diagnostic& problem) {
  auto const schedule = checked.options.schedule;
  auto const mode = checked.options.recomputation_mode;
  if (mode == recomputation_mode::recompute_then_backpropagate && schedule == schedule::sequential)
    problem.report(2032,
                   "the sequential schedule does not go with recompute_then_backpropagate; choose "
                   "recomputation_mode::automatic or recompute_and_backpropagate_interleaved");
  else if (mode == recomputation_mode::recompute_and_backpropagate_interleaved && schedule == schedule::interleaved)
    problem.report(2032,
                   "the interleaved schedule does not go with recompute_and_backpropagate_interleaved; choose "
                   "recomputation_mode::automatic or recompute_then_backpropagate");
}

/// E2028 to E2031: several micro-batches for each stage before the next one begins.
constexpr void check_batch_serialization(checked_options const& checked, diagnostic& problem) {
  auto const& options = checked.options;
  int const iterations = options.batch_serialization_iterations;
  if (iterations < 1)
    problem.report(2028, "the training has batch_serialization_iterations ", iterations, "; it must be at least 1");
  if (iterations <= 1) return;
  if (options.schedule != schedule::sequential)
    problem.report(2029, "the training has batch_serialization_iterations ", iterations, " and the ",
                   name(options.schedule), " schedule; batches are serialized in schedule::sequential only");
  for (int stage = 1; stage < checked.stages(); ++stage)
    if (checked.model.device(stage) != checked.model.device(0))
      problem.report(2030, "the training has batch_serialization_iterations ", iterations, ", but model '",
                     checked.name(), "' has stage 0 on device ", checked.model.device(0), " and stage ", stage,
                     " on device ", checked.model.device(stage),
                     "; batches are serialized where all stages are on one device, see device_mapping");
  if (options.reduction_method != gradient_accumulation_reduction_method::sum)
    problem.report(2031, "the training has batch_serialization_iterations ", iterations,
                   " and another reduction_method than sum; gradients of serialized batches are summed");
}

/// E2027: the interleaved schedule trains one stage per device.
constexpr void check_interleaved_devices(checked_options const& checked, diagnostic& problem) {
  if (checked.options.schedule != schedule::interleaved) return;
  for (int stage = 1; stage < checked.stages(); ++stage)
    for (int before = 0; before < stage; ++before)
      if (checked.model.device(before) == checked.model.device(stage))
        problem.report(2027, "stages ", before, " and ", stage, " of model '", checked.name(), "' are both on device ",
                       checked.model.device(stage),
                       "; in the interleaved schedule each stage that is trained has a device of its own (without "
                       "gradient_accumulation_steps_per_replica, the model can be evaluated)");
}

/// E2059: input and output overlap with what is computed in the grouped schedule.
constexpr void check_overlapped_io(checked_options const& checked, diagnostic& problem) {
  if (!checked.overlaps_io || !checked.pipelined || checked.options.schedule == schedule::grouped) return;
  problem.report(2059, "the machine's io_tiles.place_ops_on_io_tiles is set, but the ", name(checked.options.schedule),
                 " schedule does not receive from and send to the host while stages of model '", checked.name(),
                 "' compute; choose the grouped one, or leave place_ops_on_io_tiles out");
}

/// E2048: weights that a forward step changes are changed in the same order as without stages.
constexpr void check_state_of_layers(checked_options const& checked, diagnostic& problem) {
  auto const& options = checked.options;
  auto const& model = checked.model;
  bool const in_order = options.schedule == schedule::sequential && options.batch_serialization_iterations == 1;
  if (!checked.pipelined || in_order) return;
  for (int const call : model.graph.order) {
    int const layer = model.graph.call(call).layer;
    auto const& info = model.graph.layer(layer);
    int const first = model.stage(info.first_call), own = model.stage(call);
    if (first == own) continue;
    for (auto const& weight : model.graph.parameters_of(layer))
      if (weight.is_state())
        problem.report(2048, "layer '", info.name, "' is called in pipeline stages ", first, " and ", own,
                       ", and its forward step changes its weight '", weight.name,
                       "': the value would depend on the order in which the stages work; call it in one stage, or "
                       "choose schedule::sequential without batch serialization");
  }
}

/// E2036 to E2039: how gradients and weights are kept.
constexpr void check_storage(checked_options const& checked, diagnostic& problem) {
  auto const& options = checked.options;
  auto const is_float = [](dtype type) { return type == dtype::float32 || type == dtype::float16; };
  if (!is_float(options.gradient_accumulation_dtype))
    problem.report(2036, "the training has gradient_accumulation_dtype ", name(options.gradient_accumulation_dtype),
                   "; gradients are accumulated as float32 or float16");
  if (!is_float(options.accumulate_outfeed_dtype))
    problem.report(2037, "the training has accumulate_outfeed_dtype ", name(options.accumulate_outfeed_dtype),
                   "; results are accumulated as float32 or float16");
  if (options.replicated_optimizer_state_sharding && options.offload_weight_update_variables == offload::on_device)
    problem.report(
        2038,
        "the training has replicated_optimizer_state_sharding and offload_weight_update_variables on_device; "
        "the parts of the optimizer's state are in remote memory");
  if (options.replicated_weight_sharding && options.offload_weights == offload::on_device)
    problem.report(2039, checked.subject(),
                   " has replicated_weight_sharding and offload_weights on_device; the parts of the weights "
                   "are in remote memory");
}

/// E2034 and E2035: which results are sent to the host.
constexpr void check_outfeed(checked_options const& checked, diagnostic& problem) {
  auto const& mask = checked.options.outfeed_mask;
  if (mask.count != 0 && checked.options.outfeed_loss)
    problem.report(2034,
                   "the training has outfeed_loss and an outfeed_mask; outfeed_loss leaves out all metrics already");
  if (mask.count != 0 && mask.count != checked.metrics)
    problem.report(2035, "the training has an outfeed_mask with ", mask.count, mask.count == 1 ? " entry" : " entries",
                   ", but ", checked.metrics, checked.metrics == 1 ? " metric" : " metrics",
                   "; give one entry for each metric, or none");
}

/// E2040 to E2043: the queues to and from the host.
constexpr void check_queues(checked_options const& checked, infeed_queue_options const& infeed,
                            outfeed_queue_options const& outfeed, bool asynchronous_callbacks, diagnostic& problem) {
  if (infeed.prefetch_depth < 0 || infeed.prefetch_depth > 255)
    problem.report(2042, checked.subject(), "'s infeed_queue has prefetch_depth ", infeed.prefetch_depth,
                   "; it must be 1 to 255, or 0 if it is not set");
  if (outfeed.buffer_depth < 1)
    problem.report(2043, checked.subject(), "'s outfeed_queue has buffer_depth ", outfeed.buffer_depth,
                   "; it must be at least 1");
  if (outfeed.outfeed_mode != outfeed_mode::last) return;
  if (checked.options.accumulate_outfeed)
    problem.report(2040,
                   "the training has accumulate_outfeed and outfeed_mode last; results are accumulated where all of "
                   "them are sent, outfeed_mode::all");
  if (asynchronous_callbacks)
    problem.report(2041, checked.subject(),
                   " has asynchronous_callbacks and outfeed_mode last; callbacks that see every step need "
                   "the results of all, outfeed_mode::all");
}

/// E2020: a number of micro-batches per weight update.
constexpr void check_accumulation(checked_options const& checked, diagnostic& problem) {
  int const accumulation = checked.options.gradient_accumulation_steps_per_replica;
  if (accumulation < 0)
    problem.report(2020, "the training has gradient_accumulation_steps_per_replica ", accumulation,
                   "; it must be at least 1, or 0 if it is not set");
}

/// E2022 and E2026: what is trained has such a number.
constexpr void check_accumulation_of_training(checked_options const& checked, diagnostic& problem) {
  if (checked.trains()) return;
  if (checked.gives_gradient_accumulation)
    problem.report(2026,
                   "the model has pipeline stages, but its training sets gradient_accumulation, which is for models "
                   "without stages; set gradient_accumulation_steps_per_replica and the like in pipeline");
  problem.report(2022,
                 "the model has pipeline stages, but its training has no gradient_accumulation_steps_per_replica; "
                 "a pipeline is trained on several micro-batches per weight update (evaluate and predict need none)");
}

/// E2021: an execution holds a whole number of weight updates.
constexpr void check_execution_of_updates(checked_options const& checked, diagnostic& problem) {
  int const accumulation = checked.options.gradient_accumulation_steps_per_replica;
  int const iterations = checked.options.batch_serialization_iterations;
  long long const steps = (accumulation < 1 ? 1LL : accumulation) * iterations;
  if (checked.steps_per_execution % steps == 0) return;
  if (iterations == 1)
    problem.report(2021, "the training has steps_per_execution ", checked.steps_per_execution,
                   ", which is not a multiple of gradient_accumulation_steps_per_replica ", accumulation);
  else
    problem.report(2021, "the training has steps_per_execution ", checked.steps_per_execution,
                   ", which is not a multiple of ", steps, ", gradient_accumulation_steps_per_replica ",
                   accumulation < 1 ? 1 : accumulation, " times batch_serialization_iterations ", iterations);
}

/// E4021: an execution has steps.
constexpr void check_steps_per_execution(checked_options const& checked, diagnostic& problem) {
  if (int const steps = checked.steps_per_execution; steps < 1)
    problem.report(4021, checked.subject(), " has steps_per_execution ", steps, "; it must be at least 1");
}

/// The number of micro-batches in flight at once, of which their total is a multiple.
constexpr int overlap_length_of(checked_options const& checked, bool trains) {
  placed_stage stages[timetable::capacity]{};
  int const count = checked.stages();
  for (int stage = 0; stage < count; ++stage)
    stages[stage] = {checked.model.device(stage), checked.model.is_beside(stage)};
  tracing::array_view<placed_stage const> const placed(stages, static_cast<std::size_t>(count));
  return timetable(checked.options.schedule, placed, 1, trains).overlap_length();
}

/// E2024: a weight update takes a whole number of rounds of the schedule, or, where transfers overlap, one and two more
/// micro-batches: what is left of a round is done while the pipeline runs empty.
constexpr void check_accumulation_of_schedule(checked_options const& checked, diagnostic& problem) {
  int const count = checked.options.gradient_accumulation_steps_per_replica;
  if (!checked.pipelined || count < 1) return;
  int const overlap = overlap_length_of(checked, true);
  if (checked.overlaps_io && count < overlap + 2)
    problem.report(2024, "the training has gradient_accumulation_steps_per_replica ", count, ", but the ",
                   name(checked.options.schedule), " schedule of ", checked.stages(), " stages works on ", overlap,
                   " micro-batches at once, while I/O tiles receive one and send the results of one; it must be at "
                   "least ",
                   overlap + 2);
  else if (!checked.overlaps_io && count % overlap != 0)
    problem.report(2024, "the training has gradient_accumulation_steps_per_replica ", count, ", but the ",
                   name(checked.options.schedule), " schedule of ", checked.stages(), " stages works on ", overlap,
                   " micro-batches at once; it must be a multiple of ", overlap, ", such as ",
                   (static_cast<long long>(count) + overlap - 1) / overlap * overlap);
}

/// E2025: so does an execution of evaluate or predict.
constexpr void check_execution_of_schedule(checked_options const& checked, diagnostic& problem) {
  if (!checked.pipelined) return;
  int const steps = checked.steps_per_execution;
  int const overlap = overlap_length_of(checked, false);
  std::string_view const verbs = checked.infers ? "predict" : "evaluate and predict";
  if (checked.overlaps_io && steps < overlap + 2)
    problem.report(2025, checked.subject(), " has steps_per_execution ", steps, ", but in ", verbs, " the ",
                   name(checked.options.schedule), " schedule of ", checked.stages(), " stages works on ", overlap,
                   " micro-batches at once, while I/O tiles receive one and send the results of one; it must be at "
                   "least ",
                   overlap + 2);
  else if (!checked.overlaps_io && steps % overlap != 0)
    problem.report(2025, checked.subject(), " has steps_per_execution ", steps, ", but in ", verbs, " the ",
                   name(checked.options.schedule), " schedule of ", checked.stages(), " stages works on ", overlap,
                   " micro-batches at once; it must be a multiple of ", overlap, ", such as ",
                   (static_cast<long long>(steps) + overlap - 1) / overlap * overlap);
}

/// E2044: a number of replicas.
constexpr void check_number_of_replicas(checked_options const& checked, int num_replicas, diagnostic& problem) {
  if (num_replicas < 0)
    problem.report(2044, checked.subject(), " has num_replicas ", num_replicas,
                   "; it must be at least 1, or 0 for as many as the machine has devices for");
}

/// E2045, E2046 and E2049: the machine has the devices that are asked for.
constexpr void check_devices_of_machine(std::string_view subject, std::string_view name, int num_replicas, int shards,
                                        int devices, diagnostic& problem) {
  if (devices < 0)
    problem.report(2049, "the machine has ", devices, " devices; it has at least 1, or 0 for any number");
  if (devices <= 0) return;
  auto const each = devices_of_replica(shards);
  if (shards > devices)
    problem.report(2045, "the stages of model '", name, "' are on ", shards, " devices, but the machine has ", devices);
  else if (num_replicas > 1 && num_replicas * each > devices)
    problem.report(2046, subject, " has num_replicas ", num_replicas, ", and each replica of model '", name, "' takes ",
                   each, each == 1 ? " device" : " devices", each == shards ? "" : " (a power of two)", "; that makes ",
                   num_replicas * each, ", but the machine has ", devices);
}

/// E2069: each replica would keep states of its own.
constexpr void check_states_of_replicas(std::string_view subject, graph_view const& graph, int replicas,
                                        diagnostic& problem) {
  if (replicas > 1 && graph.is_stateful())
    problem.report(2069, subject, " has ", replicas, " replicas, but model '", graph.name(),
                   "' is stateful: what a layer keeps of a batch belongs to the next one, which another replica takes; "
                   "write .num_replicas = 1");
}

template <class Job>
constexpr checked_options options_to_check() {
  if constexpr (only_infers<Job::training>)
    return {.options = Job::options,
            .model = checked_stages<typename Job::model>,
            .pipelined = is_pipelined<typename Job::model>,
            .steps_per_execution = Job::training.steps_per_execution,
            .infers = true,
            .overlaps_io = Job::training.overlaps_io};
  else
    return {.options = Job::options,
            .model = checked_stages<typename Job::model>,
            .pipelined = is_pipelined<typename Job::model>,
            .gives_gradient_accumulation = Job::training.gradient_accumulation.given(),
            .steps_per_execution = Job::training.steps_per_execution,
            .metrics = Job::training.metrics.size() + Job::training.weighted_metrics.size(),
            .overlaps_io = Job::training.overlaps_io};
}

/// Rules of schedules that do not look at the number of micro-batches.
constexpr void check_schedule(checked_options const& checked, bool trains, diagnostic& problem) {
  check_number_of_stages(checked, problem);
  check_batch_serialization(checked, problem);
  check_overlapped_io(checked, problem);
  if (trains) check_interleaved_devices(checked, problem);
}

/// The first rule that a training description breaks with a model's schedule: in training, or where it is evaluated or
/// predicts in whole executions. What can be trained can be evaluated.
template <class Job>
inline constexpr diagnostic schedule_problem = [] {
  diagnostic problem;
  if constexpr (!has_invalid_stages<typename Job::model>) {
    auto const checked = options_to_check<typename Job::described>();
    if (Job::trains) {
      check_accumulation(checked, problem);
      check_accumulation_of_training(checked, problem);
    }
    check_steps_per_execution(checked, problem);
    check_schedule(checked, Job::trains, problem);
    if (!problem.failed()) {
      if (Job::trains)
        check_accumulation_of_schedule(checked, problem);
      else
        check_execution_of_schedule(checked, problem);
    }
  }
  return problem;
}();

/// True if a training description says how the weights of a model are updated, so that it can be trained.
template <class Job>
inline constexpr bool is_trained = options_to_check<Job>().trains();

/// E2022, E2026: why a model that can be evaluated cannot be trained.
template <class Job>
inline constexpr diagnostic fit_problem = [] {
  diagnostic problem;
  if constexpr (!has_invalid_stages<typename Job::model>)
    check_accumulation_of_training(options_to_check<Job>(), problem);
  return problem;
}();

/// The first problem of a schedule, whatever the number of micro-batches is.
template <class Job>
inline constexpr diagnostic form_of_schedule_problem = [] {
  diagnostic problem;
  if constexpr (!has_invalid_stages<typename Job::model>)
    check_schedule(options_to_check<typename Job::described>(), Job::trains, problem);
  return problem;
}();

}  // namespace stagecraft::jobs
