// SPDX-License-Identifier: BSD-3-Clause
// Runs models: each device's passes in the order of the timetable, on as many threads as the machine has, as its policy
// carries them out. All memory is taken when the session is made; no step allocates.
#pragma once

#include <stagecraft/description/job_on.hpp>
#include <stagecraft/description/replicas.hpp>
#include <stagecraft/diagnostics/for_each_index.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/diagnostics/throw_error.hpp>
#include <stagecraft/engine/pipeline_memory.hpp>
#include <stagecraft/engine/pipeline_pass.hpp>
#include <stagecraft/engine/pipeline_run.hpp>
#include <stagecraft/engine/policy/execution_policy.hpp>
#include <stagecraft/engine/policy/weight_storage.hpp>
#include <stagecraft/engine/session_memory.hpp>
#include <stagecraft/engine/step_plan.hpp>
#include <stagecraft/engine/trace.hpp>
#include <stagecraft/engine/training_progress.hpp>
#include <stagecraft/kernels/reduction/collectives.hpp>
#include <stagecraft/kernels/simd/special_values.hpp>
#include <stagecraft/threads/owned.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace stagecraft::engine {

/// Weights, optimizer state and executions of a model's replicas, each with a device for every stage that the
/// assignment names; a model without stages is one stage on one device. The threads of a machine share the devices:
/// there are several to one, which then divide its steps among them, or several devices to one thread. Results have the
/// bits of the same model without stages, for any schedule and any number of threads.
///
/// Between two passes on different devices there are bounded rings in the receiver's memory, guarded by a count of each
/// pass: nothing is locked or allocated. What a layer, `feed` or `results` throws ends the execution on all threads and
/// comes out; weight updates are carried out whole or not at all.
template <class Job>
class session : public session_shape<typename Job::described>,
                public session_memory<pipeline_sizes<Job, Job::replicas>> {
 public:
  using model = typename Job::model;
  using architecture = typename Job::machine::architecture;
  using shape_type = session_shape<typename Job::described>;
  using policy = policy_of<typename Job::machine>;
  static constexpr int replicas = Job::replicas;
  using sizes = pipeline_sizes<Job, replicas>;
  using memory_type = pipeline_memory<sizes>;
  template <execution_mode Mode, int Pass>
  using plan = step_plan<typename Job::template in<Mode>, Pass>;
  using first_plan = plan<sizes::main_mode, 0>;
  template <int Call>
  using plan_of_call = plan<execution_mode::inference, stage_of_graph_call<typename Job::model>(Call)>;
  using step_weights = typename policy::template step_weights<plan<execution_mode::inference, 0>, plan_of_call>;
  static constexpr int devices = sizes::devices;
  static constexpr int threads = sizes::threads;  ///< threads that work
  using shape_type::batch, shape_type::graph, shape_type::outputs, shape_type::output_count;
  static_assert(ExecutionPolicy<policy, first_plan, sizes>);

  [[gnu::cold]] explicit session(std::uint64_t seed = first_plan::training.seed)
      : seed_(seed), learning_rate_(sizes::learning_rate) {
    for (int i = 0; i < sizes::replicas_here(); ++i) {
      pointers_[i] = new memory_type(sizes::first_replica() + i, workspace_floats, widened_floats);
      replicas_[i] = owned<memory_type>(pointers_[i]);
    }
    initialize_weights(seed);
    begin_run();
    if constexpr (workers > 1) team_ = owned<thread_team>(new thread_team(workers, threads));
    for (int worker = 0; worker < workers; ++worker) teams_[worker] = {sizes::threads_of_worker(worker), threads};
  }

  /// One execution: `steps` micro-batches of each replica, with stages a multiple of those of a weight update (else
  /// data_error E4070). `feed(to, replica, step)` fills each, on a thread of the replica's first stage; `results(view)`
  /// sees its losses and predictions, on one of the last stage, before the backward steps. Both are called in the order
  /// of the steps for each replica, and perhaps at the same time for several. They may wait; if they have a member
  /// `cancel`, it is called once when another thread has failed, and ends what they wait for.
  template <class Feed, class Results>
  void train(int steps, Feed const& feed, Results const& results) {
    if (sizes::stages > 1 && steps % accumulation_steps != 0)
      throw_data_error("E4070", "steps: expected a multiple of the %d micro-batches of a weight update, found %d",
                       accumulation_steps, steps);
    auto all = execution(feed, results, true);
    if constexpr (sizes::scales_losses)  // an execution that has failed may have changed some of them
      for (int i = 0; i < sizes::replicas_here(); ++i)
        for (auto& scale : pointers_[i]->loss_scales.of_device) scale = pointers_[0]->loss_scales.of_device[0];
    if (copied_.exist()) begin_run();
    copied_weights::giving const back(copied_, replicas_[0]->weights.data());
    replicas_[0]->weights.count_change();
    all.first_step = steps_;
    steps_ += static_cast<std::uint64_t>(steps) * replicas;
    run<execution_mode::training>(all, steps);
  }
  /// Runs `steps` steps of an evaluation.
  template <class Feed, class Results>
  void test(int steps, Feed const& feed, Results const& results) {
    run<execution_mode::inference>(execution(feed, results, true), steps);
  }
  /// Forward passes alone.
  template <class Feed, class Results>
  void predict(int steps, Feed const& feed, Results const& results) {
    run<execution_mode::inference>(execution(feed, results, false), steps);
  }

  /// One micro-batch of the first replica, forward: a stage after the other, without queues. By the caller's thread
  /// alone, without locks, but for a model without stages on several threads, which divide its steps.
  template <class Feed, class Results>
  void call(Feed const& feed, Results const& results) {
    if (weights_changed_ || (sizes::keeps_copies && sizes::trains)) begin_run();
    auto all = execution(feed, results, false);
    all.team = nullptr;
    for (auto& count : pointers_[0]->done) count.reset();
    auto const run_stages = [all, own = pointers_[0]](device_thread const& self) {
      return [&]<std::size_t... Stage>(std::index_sequence<Stage...>) {
        return (pipeline_pass<session, execution_mode::inference, static_cast<int>(Stage)>::run(all, *own, 0, self) &&
                ...);
      }(std::make_index_sequence<sizes::stages>{});
    };
    if constexpr (sizes::stages == 1) {
      teams_[0].run(0, run_stages);
    } else {
      kernels::flush_denormals const flush;
      run_stages(device_thread{});
    }
  }

  /// True if `call(x, y)` can run the model: forward steps on one thread and floats, from one input to one output.
  static constexpr bool calls_alone = [] {
    if constexpr (sizes::stages == 1 && sizes::workers == 1)
      return pipeline_pass<session, execution_mode::inference, 0>::runs_alone;
    else
      return false;
  }();
  /// One micro-batch, forward, by the caller's thread: the steps alone, with the thread's treatment of denormal
  /// numbers. `x` and `y` hold the whole batch. `states` replace the session's (prepared_weights::state_floats).
  void call(float const* x, float* y, float* states = nullptr)
    requires calls_alone
  {
    auto const run = [=, this]() __attribute__((always_inline)) {
      if constexpr (graph.is_stateful()) alone_.kept_states = states;
      pipeline_pass<session, execution_mode::inference, 0>::call(*pointers_[0], alone_, x, y);
    };
    // A path of its own, so that the usual one keeps no register over begin_run.
    if (weights_changed_) [[unlikely]]
      return [=, this]() __attribute__((noinline, cold)) { begin_run(), run(); }();
    run();
  }

  /// All replicas get the weights of the first one. Called before a run, and by `call`, which it must not be a part of.
  [[gnu::noinline]] void begin_run() {
    copied_.bring(replicas_[0]->weights.data());
    if (!replicas_[0]->weights.is_shared()) policy::template given_weights<first_plan>(replicas_[0]->weights.data());
    for (int i = 0; i < sizes::replicas_here(); ++i) {
      if (sizes::replicas > 1 && i > 0) copy_weights(*replicas_[0], *replicas_[i]);
      replicas_[i]->copied.fill(0);
    }
    bool const are_copied = copied_.exist() && !copied_.are_new();
    if (!std::exchange(weights_changed_, replicas_[0]->weights.changes_elsewhere()) || are_copied) return;
    step_weights_.derive(replicas_[0]->weights.data());
    if constexpr (calls_alone) {
      auto const& own = *replicas_[0];
      alone_ = {device_memory{.block = own.blocks[0].data(),
                              .weights = step_weights::replaces_weights ? step_weights_.weights() : own.weights.data(),
                              .prepared = step_weights_.prepared()},
                pass_numbers{.seed = seed_, .valid_samples = batch}, weight_numbers{},
                thread_part{.workspace = own.workspaces[0].data()}};
    }
  }
  /// Takes the weights of another session, in the same memory; copies of them, if the model keeps states among them.
  void share_weights_of(session& other) {
    other.begin_run();
    other.step_weights_.store_states(other.replicas_[0]->weights.data(), !other.weights_changed_);
    replicas_[0]->share_weights_of(*other.replicas_[0], graph.is_stateful() || other.copied_.exist());
    weights_changed_ = true;
    if (other.copied_.exist()) this->copy_weights_from(other.copied_.share());
  }
  /// Forgets micro-batches whose weights have not been updated yet.
  void begin_accumulation() { accumulated_ = 0; }

  [[nodiscard]] float learning_rate() const { return learning_rate_; }
  void set_learning_rate(float rate) { learning_rate_ = rate; }
  /// The factor that losses are multiplied by before gradients are found.
  [[nodiscard]] float loss_scale() const
    requires(sizes::trains)
  {
    constexpr float scale = loss_scale_of(first_plan::training.optimizer);
    if constexpr (sizes::scales_losses)
      return scale * replicas_[0]->loss_scales.of_device[0].scale;
    else
      return scale;
  }

  /// The stored weights of one parameter of the first replica. Errors: E4108, where they may be changed.
  [[nodiscard]] float* weight(std::size_t parameter) {
    float* const stored = step_weights_.store_states(replicas_[0]->weights.data(), !weights_changed_);
    begin_change(copied_.exist());
    return stored + layout::storage.offset[parameter];
  }
  [[nodiscard]] float const* weight(std::size_t parameter) const {
    copied_.bring(replicas_[0]->weights.data());
    return step_weights_.store_states(replicas_[0]->weights.data(), !weights_changed_) +
           layout::storage.offset[parameter];
  }
  /// Copies a parameter from or to its own, row-major shape. All replicas have it after the next `begin_run`.
  template <std::size_t Parameter>
  void read_weight(float* row_major) const {
    copied_.bring(replicas_[0]->weights.data());
    layout::template read<Parameter>(step_weights_.store_states(replicas_[0]->weights.data(), !weights_changed_),
                                     row_major);
  }
  template <std::size_t Parameter>
  void write_weight(float const* row_major) {
    float* const stored = step_weights_.store_states(replicas_[0]->weights.data(), !weights_changed_);
    begin_change(!sizes::trains && copied_.exist());
    layout::template write<Parameter>(row_major, stored);
    copied_.give(stored);
  }
  template <std::size_t Parameter>
  static constexpr bool is_packed = weight_layout<typename Job::model, architecture>::template is_packed<Parameter>;
  template <std::size_t Parameter>
  using packed = typename weight_layout<typename Job::model, architecture>::template packed<Parameter>;

  /// The progress of training. Setting it drops micro-batches whose gradients have not updated the weights yet.
  [[nodiscard]] training_progress progress() const {
    training_progress result{.seed = seed_, .steps = steps_, .updates = updates_, .learning_rate = learning_rate_};
    if constexpr (sizes::scales_losses) {
      auto const& scale = replicas_[0]->loss_scales.of_device[0];
      result.loss_scale = scale.scale;
      result.good_steps = scale.good_steps;
      result.overflowed = scale.overflowed;
    }
    return result;
  }
  void set_progress(training_progress const& from) {
    seed_ = from.seed;
    steps_ = from.steps;
    updates_ = from.updates;
    learning_rate_ = from.learning_rate;
    if constexpr (sizes::scales_losses)  // the others take over what the first has
      replicas_[0]->loss_scales.of_device[0] = {
          .scale = from.loss_scale, .good_steps = from.good_steps, .overflowed = from.overflowed};
    begin_accumulation();
  }

  /// Counts of the work that the emulated IPUs of a replica have done.
  [[nodiscard]] auto const& counted(int replica = 0) const
    requires requires(memory_type const& own) { own.of_policy.counted; }
  {
    return replicas_[replica]->of_policy.counted;
  }

  /// The tiles of a device, where steps run tile by tile.
  [[nodiscard]] auto const& tiles(int device, int replica = 0) const
    requires requires(memory_type const& own) { own.of_policy.devices; } && (Job::machine::checked)
  {
    return *replicas_[replica]->of_policy.devices[device];
  }

  /// Records the work of each thread in `to` from now on; null ends that.
  void record(trace* to) {
    trace_ = to;
    if (to != nullptr) to->reserve(workers);
  }

  /// The workspace of a step.
  static constexpr workspace_size workspace = [] {
    workspace_size largest;
    auto const add = [&]<execution_mode Mode, std::size_t... Pass>(std::index_sequence<Pass...>) {
      ((largest = largest.or_more(pipeline_pass<session, Mode, static_cast<int>(Pass)>::workspace_floats())), ...);
    };
    add.template operator()<sizes::main_mode>(std::make_index_sequence<std::size_t{sizes::passes}>{});
    add.template operator()<execution_mode::inference>(std::make_index_sequence<std::size_t{sizes::stages}>{});
    return largest;
  }();
  /// Distance from the workspace of a thread to that of the next one, in floats.
  static constexpr long long own_workspace_floats = (workspace.own + 15) / 16 * 16;
  /// The workspace that the threads of a device have for a step, in floats.
  static constexpr long long workspace_floats = [] {
    long long const floats = workspace.all + (sizes::threads_of_device - 1) * own_workspace_floats;
    if constexpr (shape_type::has_losses)
      return std::max(floats, policy::template update_workspace<first_plan>());
    else
      return floats;
  }();
  /// Floats that each device has for a step's tensors where they are stored in 16 bits.
  static constexpr long long widened_floats = policy::template widened_floats<first_plan>();

 private:
  friend class gradient_run<session>;
  using memory_base = session_memory<sizes>;
  using memory_base::copied_, memory_base::copy_weights, memory_base::is_used_here, memory_base::pointers_,
      memory_base::replicas_;
  using layout = weight_layout<typename Job::model, architecture>;
  using execution_type = pipeline_execution<session>;
  static constexpr int workers = sizes::workers;
  static constexpr int accumulation_steps = sizes::options.accumulation_steps();

  /// Makes ready for weights that are set. E4108 if that `is_refused`, or others share a predictor's.
  void begin_change(bool is_refused) {
    weights_changed_ = replicas_[0]->may_change_weights(is_refused);
    copied_.bring(replicas_[0]->weights.data());
    replicas_[0]->weights.count_change();
  }
  void initialize_weights(std::uint64_t seed) {
    // Gradients are not in use yet: their memory takes the values before they are packed, and is left with zeros.
    constexpr bool in_gradients = sizes::trains && !sizes::splits;
    constexpr long long most = [] {
      long long floats = 0;
      for (auto const& parameter : graph.parameters) floats = std::max<long long>(floats, parameter.size());
      return floats;
    }();
    aligned_block const unpacked(in_gradients ? 0 : most);
    float* const scratch = in_gradients ? replicas_[0]->gradients.data() : unpacked.data();
    for_each_index<layout::storage.count>([&]<int Parameter>() {
      if (is_used_here(Parameter)) initialize_weight<Parameter>(seed, scratch);
    });
  }
  template <std::size_t Parameter>
  void initialize_weight(std::uint64_t seed, float* scratch) {
    policy::template initial_values<first_plan, Parameter>(seed, scratch);
    layout::template write<Parameter>(scratch, replicas_[0]->weights.data());
    std::fill_n(scratch, graph.parameters[Parameter].size(), 0.0F);
  }

  template <class Feed, class Results>
  execution_type execution(Feed const& feed, Results const& results, bool has_targets) {
    execution_type all;
    all.feed = &feed;
    all.call_feed = [](void const* what, pipeline_feed<session> const& to, int replica, int step) {
      (*static_cast<Feed const*>(what))(to, replica, step);
    };
    all.results = &results;
    all.call_results = [](void const* what, step_view<session> const& view) {
      (*static_cast<Results const*>(what))(view);
    };
    all.cancel = [](execution_type const& what) noexcept {
      if constexpr (requires(Feed const& f) { f.cancel(); }) static_cast<Feed const*>(what.feed)->cancel();
      if constexpr (requires(Results const& r) { r.cancel(); }) static_cast<Results const*>(what.results)->cancel();
    };
    all.has_targets = has_targets;
    if constexpr (workers > 1) all.team = team_.get();
    all.seed = seed_;
    all.updates = updates_;
    all.accumulated = accumulated_;
    all.learning_rate = learning_rate_;
    all.record = trace_;
    all.shared_weights = replicas_[0]->weights.data();
    all.step_weights = step_weights_.weights();
    all.prepared_weights = step_weights_.prepared();
    return all;
  }

  template <execution_mode Mode>
  void run(execution_type const& all, int steps) {
    for (int i = 0; i < sizes::replicas_here(); ++i)
      for (auto& count : replicas_[i]->done) count.reset();
    pipeline_run<session, Mode> const work(all, pointers_, steps, done_);
    try {
      if constexpr (workers > 1) {
        auto work_of = [&](int worker) { teams_[worker].run(worker, work); };
        team_->run(work_of, [&] { all.cancel(all); });
      } else {
        teams_[0].run(0, work);
      }
    } catch (...) {
      count_finished();
      throw;
    }
    count_finished();
  }
  void count_finished() {
    auto const done = std::exchange(done_, {});
    updates_ += done.updates;
    accumulated_ = static_cast<int>((accumulated_ + done.micro_batches) % accumulation_steps);
  }

  std::uint64_t seed_;
  std::uint64_t steps_ = 0;  // of training, of all replicas
  std::int64_t updates_ = 0;
  int accumulated_ = 0;    // micro-batches of the weight update to come
  execution_counts done_;  // of the execution that runs
  float learning_rate_;
  step_weights step_weights_;
  pass_memory alone_;  // of `call(x, y)`
  bool weights_changed_ = true;
  trace* trace_ = nullptr;
  // The team is the last member: its threads stop before the members that late threads read are gone.
  struct no_team {};
  [[no_unique_address]] std::conditional_t<(workers > 1), owned<thread_team>, no_team> team_;
  device_threads<sizes::threads_of_device> teams_[workers];
};

/// The session of a model, whose description is that which holds on the machine.
template <Model M, auto Training, class Machine>
using session_of = session<job_on<M, Training, Machine>>;

}  // namespace stagecraft::engine
