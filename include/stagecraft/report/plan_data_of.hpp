// SPDX-License-Identifier: BSD-3-Clause
// The profiles of all combinations of a plan's choices, computed by the compiler. Graphcore's counterpart: automatic
// pipelining of Keras models, whose answer is one division without a reason.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/description/job_on.hpp>
#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/diagnostics/for_each_index.hpp>
#include <stagecraft/ipu/profile/auto_pipeline.hpp>
#include <stagecraft/ipu/profile/profile.hpp>
#include <stagecraft/machines/ipu_devices.hpp>
#include <stagecraft/plan/layer_path.hpp>
#include <stagecraft/report/plan_data.hpp>
#include <stagecraft/report/profile_data_of.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace stagecraft::reports {

/// The part of a plan that a machine's processes add. This is a machine of one process;
/// <stagecraft/mpi/cluster_plan.hpp> has the processes of a cluster, and names the price of their sums in `sum_of`.
template <class Machine>
struct plan_processes {
  using machine_of_rank = Machine;
  static constexpr bool can_be_many = false;
};

/// E5263.
template <plan_choices Choices, class Machine>
inline constexpr diagnostic plan_choices_problem = [] {
  diagnostic problem = problem_of_choices(Choices);
  for (int i = 0; i < Choices.ranks.size(); ++i)
    if (!problem.failed() && Choices.ranks[i] > 1 && !plan_processes<Machine>::can_be_many)
      problem.report(5263, "plan_choices.ranks has the value ", Choices.ranks[i],
                     ", but the machine is one process; give a cluster, such as sc::cluster<sc::ipu<>, sc::ranks{1}, "
                     "sc::network{.gigabits = 100}>, of <stagecraft/mpi/cluster_plan.hpp>");
  return problem;
}();

/// E5263, or E3011.
template <plan_choices Choices, class Machine>
inline constexpr diagnostic const& plan_data_problem =
    plan_choices_problem<Choices, Machine>.failed()
        ? plan_choices_problem<Choices, Machine>
        : profile_machine_problem<typename plan_processes<Machine>::machine_of_rank>;

/// Micro-batches per weight update of a description or, of an inference, per execution.
template <auto Training>
constexpr int own_micro_batches() {
  int count = 0;
  if constexpr (only_infers<Training>)
    count = Training.steps_per_execution;
  else
    count = Training.pipeline.gradient_accumulation_steps_per_replica > 0
                ? Training.pipeline.gradient_accumulation_steps_per_replica
                : Training.gradient_accumulation.gradient_accumulation_steps_per_replica;
  return count > 0 ? count : 1;
}

/// The choices with the description's number of micro-batches where none is given. Choices that are refused, with an
/// error of their own, are replaced by the fewest.
template <auto Training, plan_choices Choices, class Machine>
inline constexpr plan_choices complete_choices = [] {
  plan_choices result = Choices;
  if (plan_choices_problem<Choices, Machine>.failed())
    result = {.ipus = {1}, .schedules = {schedule::grouped}, .next_best = false};
  if (result.micro_batches.count == 0) result.micro_batches = {own_micro_batches<Training>()};
  return result;
}();

/// A description as a choice has it. An execution is one weight update.
template <auto Training>
constexpr auto training_of_choice(plan_choice const& choice) {
  auto result = Training;
  result.pipeline.schedule = choice.schedule;
  result.num_replicas = choice.replicas;
  result.steps_per_execution = choice.micro_batches;
  if constexpr (!only_infers<Training>) {
    result.pipeline.gradient_accumulation_steps_per_replica = choice.micro_batches;
    if (result.gradient_accumulation.given())
      result.gradient_accumulation.gradient_accumulation_steps_per_replica = choice.micro_batches;
    result.steps_per_execution *= Training.pipeline.batch_serialization_iterations;
  }
  return result;
}

/// The machine with other numbers of IPUs: each replica has a power of two of them.
template <class Machine>
constexpr ipu_config config_of_ipus(int replicas, int ipus) {
  ipu_config config = Machine::config;
  config.auto_select_ipus = replicas * static_cast<int>(devices_of_replica(ipus));
  if (config.auto_select_ipus > 1 && config.auto_select_ipus % 2 != 0) ++config.auto_select_ipus;
  return config;
}
template <class Machine, int Replicas, int Ipus>
using machine_of_ipus = ipu_devices<config_of_ipus<Machine>(Replicas, Ipus)>;

/// The job on which splits are searched: the description with its own schedule and the first number of micro-batches.
template <class M, auto Training, class Machine, plan_choices Choices, int Stages>
using split_job =
    job_on<M,
           training_of_choice<Training>(
               {.schedule = Training.pipeline.schedule, .micro_batches = Choices.micro_batches[0], .replicas = 1}),
           machine_of_ipus<Machine, 1, Stages>>;

/// The split that auto_pipeline makes for as many IPUs as there are stages.
template <class Job, int Stages>
inline constexpr partition best_split =
    find_auto_partition<Job, auto_pipeline_options{.min_ipus = Stages, .max_ipus = Stages}, Stages>();

/// The best partition but one, by the costs of layers. Any other one lacks at least one of the best one's cuts: so each
/// of them is forbidden in turn, together with those that differ from it by views alone, which cost nothing.
template <class Job, int Stages>
constexpr partition find_next_best_split() {
  constexpr auto const& best = best_split<Job, Stages>;
  partition result;
  if constexpr (best.found()) {
    auto costs = auto_pipeline_costs_of<Job, Stages>.costs(Job::machine::target.bytes_per_tile);
    for (int stage = 1; stage < Stages; ++stage) {
      auto joined = linear_order_of<typename Job::model>.joined;
      int const cut = best.first[static_cast<std::size_t>(stage)];
      int first = cut, last = cut;
      while (first > 1 && costs.cycles[first - 1] == 0) --first;
      while (last + 1 < costs.size() && costs.cycles[last] == 0) ++last;
      for (int position = first; position <= last; ++position) joined[static_cast<std::size_t>(position)] = true;
      costs.joined = joined;
      partition const other = find_partition(costs, {.min_stages = Stages, .max_stages = Stages});
      if (other.found() && (!result.found() || other.period() < result.period())) result = other;
    }
  }
  return result;
}
template <class Job, int Stages>
inline constexpr partition next_best_split = find_next_best_split<Job, Stages>();

template <class Job, int Stages, bool IsNextBest>
constexpr partition const& split_of() {
  if constexpr (IsNextBest)
    return next_best_split<Job, Stages>;
  else
    return best_split<Job, Stages>;
}

/// Stage s is on IPU s modulo the number of IPUs.
template <int Ipus, int Stages>
constexpr auto devices_of_stages() {
  if constexpr (Ipus == Stages)
    return device_mapping<>;
  else
    return []<std::size_t... Stage>(std::index_sequence<Stage...>) {
      return device_mapping<static_cast<int>(Stage) % Ipus...>;
    }(std::make_index_sequence<static_cast<std::size_t>(Stages)>{});
}

/// The first rule that a job breaks, the memory's size excluded.
template <class Job>
constexpr diagnostic const& problem_of_plan() {
  if constexpr (profile_problem<Job>().failed())
    return profile_problem<Job>();
  else if constexpr (Job::trains && fit_problem<Job>.failed())
    return fit_problem<Job>;
  else
    return machine_problem<Job>;
}

/// The IPU or the transfer that each cycle of a weight update is spent on.
template <class Job>
plan_bounds bounds_of() {
  constexpr auto const& shortened = short_timetable_of<typename Job::planned>;
  plan_bounds result;
  result.ipus.assign(time_profile_of<Job>.devices.size(), 0);
  for (int slot = 0; slot < shortened.table.slots(); ++slot) {
    auto const& own = slot_time_of<Job>(slot);
    bool const is_repeated = slot >= shortened.first_slot && slot < shortened.first_slot + shortened.period;
    std::int64_t const times = is_repeated ? 1 + shortened.left_out : 1;
    std::size_t slowest = 0;
    for (std::size_t i = 0; i < own.busy.size(); ++i)
      if (own.busy[i] > own.busy[slowest]) slowest = i;
    result.ipus[slowest] += times * own.longest;
    result.transfers += times * own.inter_ipu;
    result.sync += times * own.sync;
  }
  result.update = time_profile_of<Job>.update;
  return result;
}

/// Fills in the profile of a job that breaks no rule.
template <class Job>
void add_profile(plan_entry& entry) {
  using own = model_profile<Job>;
  constexpr auto const& graph = Job::graph;
  entry.profile = profile_data_maker<Job>().make();
  entry.bounds = bounds_of<Job>();
  for (int stage = 0; stage < own::stages(); ++stage) {
    std::pair<std::string, std::string> names;
    for (int const call : graph.order) {
      if (own::stages() > 1 && checked_stages<typename Job::model>.stage(call) != stage) continue;
      if (graph.call(call).is_input) continue;
      names.second = path_of_call(graph, call);
      if (names.first.empty()) names.first = names.second;
    }
    entry.layers_of_stage.push_back(std::move(names));
    entry.sent_forward.push_back(own::stage(stage).forward.sent_bytes);
    entry.sent_backward.push_back(own::stage(stage).backward.sent_bytes);
  }
}

/// Fills in the profile of one rank, and what the sum of gradients over the ranks takes.
template <class Job, class Processes, int Ranks>
void add_profile_of_ranks(plan_entry& entry) {
  if constexpr (!Job::trains) {
    add_profile<Job>(entry);
  } else if (auto const [problem, seconds, bytes] = Processes::template sum_of<Job, Ranks>(); !problem.empty()) {
    entry.problem = problem;
  } else {
    add_profile<Job>(entry);
    entry.network_seconds = seconds;
    entry.network_bytes = bytes;
    entry.bounds.network = static_cast<std::int64_t>(seconds / Job::machine::target.seconds(1));
  }
}

template <class M, auto Training, class Machine, plan_choice Choice>
void add_job(plan_entry& entry) {
  using processes = plan_processes<Machine>;
  using machine_of_rank = machine_of_ipus<typename processes::machine_of_rank, Choice.replicas, Choice.ipus>;
  using job = job_on<M, training_of_choice<Training>(Choice), machine_of_rank>;
  if constexpr (constexpr auto const& problem = problem_of_plan<job>(); problem.failed())
    entry.problem = problem.has_text() ? std::string(problem.text.view()) : "the model has a compile error";
  else if constexpr (Choice.ranks > 1)
    add_profile_of_ranks<job, processes, Choice.ranks>(entry);
  else
    add_profile<job>(entry);
}

template <class M, auto Training, class Machine, plan_choices Choices, int Combination>
plan_entry entry_of() {
  constexpr plan_choice choice = Choices.choice(Combination);
  plan_entry entry{.choice = choice, .combination = Combination};
  if constexpr (choice.stages == 1 && is_pipelined<M>) {
    entry.problem = "the model has stages of its own, which are at least two";
  } else if constexpr (choice.stages == 1) {
    add_job<M, Training, Machine, choice>(entry);
  } else if constexpr (choice.stages > partition::capacity) {
    entry.problem = "a pipeline has at most " + std::to_string(partition::capacity) + " stages";
  } else {
    using machine_of_rank = typename plan_processes<Machine>::machine_of_rank;
    using searched = split_job<M, Training, machine_of_rank, Choices, choice.stages>;
    constexpr auto const& split = split_of<searched, choice.stages, choice.is_next_best>();
    if constexpr (!split.found())
      entry.problem = choice.is_next_best
                          ? "there is no other split into " + std::to_string(choice.stages) + " stages"
                          : "the model does not have " + std::to_string(choice.stages) + " parts that can be apart";
    else
      add_job<pipelined<M, partition_stages<split>{}, devices_of_stages<choice.ipus, choice.stages>()>, Training,
              Machine, choice>(entry);
  }
  return entry;
}

template <class M, auto Training, class Machine, plan_choices Choices, int Combination>
void add_combination(plan_data& data) {
  constexpr int representative = Choices.representative(Combination);
  if constexpr (representative == Combination) {
    data.entry_of.push_back(static_cast<int>(data.entries.size()));
    data.entries.push_back(entry_of<M, Training, Machine, Choices, Combination>());
  } else {
    data.entry_of.push_back(data.entry_of[static_cast<std::size_t>(representative)]);
  }
}

template <class M, auto Training, class Machine, plan_choices Choices>
plan_data make_plan_data() {
  plan_data data;
  data.model = graph_of<M>.name();
  data.choices = Choices;
  data.trains = mode_of<Training> == execution_mode::training;
  for_each_index<Choices.combinations()>(
      [&]<int Combination>() { add_combination<M, Training, Machine, Choices, Combination>(data); });
  return data;
}

}  // namespace stagecraft::reports

namespace stagecraft {

/// The profiles of all combinations of choices, each that of `sc::profile`, for a page on which a person compares them.
///
///     using machine = sc::ipu_devices<>;
///     inline constexpr sc::plan_choices choices{.ipus = {1, 2, 4}, .micro_batches = {16, 64}};
///     sc::write_plan_html(sc::plan_data_of<mlp, training, machine, choices>(), "plan.html");
///
/// The description is a training or an inference; its schedule, micro-batches, executions and replicas are replaced by
/// those of the choice, and the number of the machine's IPUs by as many as the choice needs. The model is divided as
/// `auto_pipeline` divides it, by the description's own schedule and the first number of micro-batches: so the split
/// depends on the number of stages alone. The second best split is the best that differs in at least one cut, by the
/// costs of layers. A combination that breaks a rule has that rule's text in place of a profile.
///
/// With `<stagecraft/mpi/cluster_plan.hpp>`, the machine may be a cluster of IPUs, whose network sums the gradients of
/// as many ranks as `choices.ranks` says.
///
/// Errors: E5263 choices that no page can offer; E3011 a machine that is no IPU.
template <Model M, auto Training, class Machine, plan_choices Choices = plan_choices{}>
[[nodiscard]] detail::result_or_verdict<detail::plan_data_problem<Choices, Machine>, plan_data> plan_data_of() {
  if constexpr (detail::plan_data_problem<Choices, Machine>.failed())
    return {};
  else
    return detail::make_plan_data<M, Training, Machine, detail::complete_choices<Training, Choices, Machine>>();
}

}  // namespace stagecraft

#include <stagecraft/diagnostics/end_headers.hpp>
