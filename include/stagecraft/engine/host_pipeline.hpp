// SPDX-License-Identifier: BSD-3-Clause
// Runs models with pipeline stages, and replicas of models, on the host: each device's passes in the order of the
// timetable, on as many threads as the host has. All memory is taken when the session is made; no step allocates.
#pragma once

#include <stagecraft/description/replicas.hpp>
#include <stagecraft/diagnostics/throw_error.hpp>
#include <stagecraft/engine/device_cursor.hpp>
#include <stagecraft/engine/pipeline_memory.hpp>
#include <stagecraft/engine/pipeline_pass.hpp>
#include <stagecraft/engine/pipeline_update.hpp>
#include <stagecraft/engine/trace.hpp>
#include <stagecraft/host/host_policy.hpp>
#include <stagecraft/host/steps/weight_layout.hpp>
#include <stagecraft/kernels/simd/flush_denormals.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace stagecraft {

/// Weights, optimizer state and executions of a model's replicas, each with a device for every stage that the
/// assignment names. `host<Threads>` carries out the work of all devices on up to `Threads` threads. Results have the
/// bits of the same model without stages, for any schedule and any number of threads.
///
/// Between two passes on different threads there are bounded rings in the receiver's memory, guarded by a count of each
/// pass: nothing is locked or allocated. What a layer, `feed` or `results` throws ends the execution on all threads and
/// comes out; weight updates are carried out whole or not at all.
template <Model M, auto Training, class Machine>
class host_pipeline : public session_shape<M, Training> {
 public:
  using architecture = typename Machine::architecture;
  using shape_type = session_shape<M, Training>;
  using policy = policy_of<Machine>;
  static constexpr int replicas = replicas_of<M, Training, Machine>;
  using sizes = pipeline_sizes<M, Training, Machine, replicas>;
  using memory_type = pipeline_memory<sizes>;
  template <execution_mode Mode, int Pass>
  using plan = pipeline_plan<M, Training, Mode, Machine, Pass>;
  template <int Call>
  using plan_of_call = plan<execution_mode::inference, detail::stage_of_graph_call<M>(Call)>;
  using folded_type = detail::folded_weights<M, Training, architecture, plan_of_call>;
  static constexpr int devices = sizes::devices;
  /// Whether batch normalizations are parts of other layers' weights.
  static constexpr bool folds = folded_type::count > 0;
  /// The threads that work: no more than there are devices.
  static constexpr int threads = std::min(Machine::threads, replicas* devices);
  using shape_type::batch, shape_type::graph, shape_type::outputs, shape_type::output_count;

  static_assert(ExecutionPolicy<policy, plan<sizes::main_mode, 0>, sizes>);

  explicit host_pipeline(std::uint64_t seed = first_plan::training.seed)
      : team_(threads > 1 ? std::make_unique<thread_team>(threads) : nullptr),
        seed_(seed),
        learning_rate_(sizes::learning_rate) {
    for (std::size_t i = 0; i < replicas_.size(); ++i) {
      replicas_[i] = std::make_unique<memory_type>(static_cast<int>(i), workspace_floats());
      pointers_[i] = replicas_[i].get();
    }
    initialize_weights(seed);
    begin_run();
  }

  /// One execution: `steps` micro-batches of each replica, a multiple of those of a weight update (else data_error
  /// E4070). `feed(to, replica, step)` fills each, on the thread of the replica's first stage; `results(view)` sees its
  /// losses and predictions, on the thread of the last stage. Both are called in the order of the steps for each
  /// replica, and perhaps at the same time for several. They may wait; if they have a member `cancel`, it is called
  /// once when another thread has failed, and ends what they wait for.
  template <class Feed, class Results>
  void train(int steps, Feed const& feed, Results const& results) {
    if (steps % accumulation_steps != 0)
      detail::throw_data_error("E4070",
                               "steps: expected a multiple of the %d micro-batches of a weight update, found %d",
                               accumulation_steps, steps);
    auto all = execution(feed, results, true);
    all.first_step = steps_;
    steps_ += static_cast<std::uint64_t>(steps) * replicas;
    run<execution_mode::training>(all, steps);
  }
  /// The same without training.
  template <class Feed, class Results>
  void test(int steps, Feed const& feed, Results const& results) {
    run<execution_mode::inference>(execution(feed, results, true), steps);
  }
  /// Forward passes alone.
  template <class Feed, class Results>
  void predict(int steps, Feed const& feed, Results const& results) {
    run<execution_mode::inference>(execution(feed, results, false), steps);
  }

  /// One micro-batch of the first replica, forward, on the caller's thread: a stage after the other, without queues,
  /// locks or other threads.
  template <class Feed, class Results>
  void call(Feed const& feed, Results const& results) {
    if (weights_changed_) begin_run();
    kernels::flush_denormals const flush;
    auto all = execution(feed, results, false);
    all.team = nullptr;
    for (auto& count : pointers_[0]->done) count.reset();
    [&]<std::size_t... Stage>(std::index_sequence<Stage...>) {
      (pipeline_pass<host_pipeline, execution_mode::inference, static_cast<int>(Stage)>::run(all, *pointers_[0], 0, 0),
       ...);
    }(std::make_index_sequence<static_cast<std::size_t>(sizes::stages)>{});
  }

  /// All replicas get the weights of the first one. Called before the first execution of a run, and by `call`.
  void begin_run() {
    policy::template given_weights<first_plan>(replicas_[0]->weights.data());
    for (std::size_t i = 1; i < replicas_.size(); ++i)
      std::copy_n(replicas_[0]->weights.data(), layout::storage.floats, replicas_[i]->weights.data());
    if (std::exchange(weights_changed_, false)) folded_.fold(replicas_[0]->weights.data());
  }
  /// An execution of training has no micro-batches left over.
  void begin_accumulation() {}

  [[nodiscard]] float learning_rate() const { return learning_rate_; }
  void set_learning_rate(float rate) { learning_rate_ = rate; }

  /// The stored weights of one parameter of the first replica.
  [[nodiscard]] float* weight(std::size_t parameter) {
    weights_changed_ = true;
    return replicas_[0]->weights.data() + layout::storage.offset[parameter];
  }
  [[nodiscard]] float const* weight(std::size_t parameter) const {
    return replicas_[0]->weights.data() + layout::storage.offset[parameter];
  }
  /// Copies a parameter from or to its own, row-major shape. All replicas have it after the next `begin_run`.
  template <std::size_t Parameter>
  void read_weight(float* row_major) const {
    layout::template read<Parameter>(replicas_[0]->weights.data(), row_major);
  }
  template <std::size_t Parameter>
  void write_weight(float const* row_major) {
    weights_changed_ = true;
    layout::template write<Parameter>(row_major, replicas_[0]->weights.data());
  }
  template <std::size_t Parameter>
  static constexpr bool is_packed = weight_layout<M, architecture>::template is_packed<Parameter>;
  template <std::size_t Parameter>
  using packed = typename weight_layout<M, architecture>::template packed<Parameter>;

  /// What the emulated IPUs of a replica have done.
  [[nodiscard]] auto const& counted(int replica = 0) const
    requires requires(memory_type const& own) { own.of_policy.counted; }
  {
    return replicas_[static_cast<std::size_t>(replica)]->of_policy.counted;
  }

  /// The tiles of a device, where steps run tile by tile.
  [[nodiscard]] auto const& tiles(int device, int replica = 0) const
    requires requires(memory_type const& own) { own.of_policy.devices; } && (Machine::checked)
  {
    return *replicas_[static_cast<std::size_t>(replica)]->of_policy.devices[static_cast<std::size_t>(device)];
  }

  /// From now on, what each thread does is recorded there; null: no more.
  void record(trace* to) {
    trace_ = to;
    if (to != nullptr) to->reserve(threads);
  }

 private:
  using first_plan = plan<sizes::main_mode, 0>;
  using layout = weight_layout<M, architecture>;
  using execution_type = pipeline_execution<host_pipeline>;
  using update = pipeline_update<sizes, first_plan>;
  static constexpr int accumulation_steps = sizes::options.accumulation_steps();
  static constexpr std::size_t replica_count = static_cast<std::size_t>(replicas);
  /// Devices of one thread.
  static constexpr std::size_t most_units = threads <= replicas
                                                ? (replica_count + threads - 1) / threads * devices
                                                : (devices + threads / replicas - 1) / (threads / replicas);
  static constexpr bool has_penalties = shape_type::has_losses && [] {
    for (auto const& parameter : graph.parameters)
      if (!parameter.regularizer.empty()) return true;
    return false;
  }();

  /// A device of a replica, and what it does next.
  struct unit {
    memory_type* replica = nullptr;
    device_cursor next;
  };
  struct pass_functions {
    bool (*is_ready)(memory_type const&, std::int64_t micro_batch);
    bool (*run)(execution_type const&, memory_type&, std::int64_t micro_batch, int worker);
  };

  void initialize_weights(std::uint64_t seed) {
    if constexpr (sizes::trains) {
      // Gradients are not in use yet: their memory takes the values before they are packed.
      layout::initialize(seed, replicas_[0]->weights.data(), replicas_[0]->gradients.data());
    } else {
      aligned_block const unpacked(layout::storage.floats);
      layout::initialize(seed, replicas_[0]->weights.data(), unpacked.data());
    }
  }

  template <class Feed, class Results>
  execution_type execution(Feed const& feed, Results const& results, bool has_targets) {
    execution_type all;
    all.feed = &feed;
    all.call_feed = [](void const* what, pipeline_feed<host_pipeline> const& to, int replica, int step) {
      (*static_cast<Feed const*>(what))(to, replica, step);
    };
    all.results = &results;
    all.call_results = [](void const* what, step_view<host_pipeline> const& view) {
      (*static_cast<Results const*>(what))(view);
    };
    all.cancel = [](execution_type const& what) noexcept {
      if constexpr (requires(Feed const& f) { f.cancel(); }) static_cast<Feed const*>(what.feed)->cancel();
      if constexpr (requires(Results const& r) { r.cancel(); }) static_cast<Results const*>(what.results)->cancel();
    };
    all.has_targets = has_targets;
    all.team = team_.get();
    all.seed = seed_;
    all.record = trace_;
    all.shared_weights = replicas_[0]->weights.data();
    all.folded_weights = folded_.data();
    return all;
  }

  template <execution_mode Mode>
  void run(execution_type const& all, int steps) {
    for (auto& replica : replicas_)
      for (auto& count : replica->done) count.reset();
    auto work = [&](int worker) {
      kernels::flush_denormals const flush;
      work_of<Mode>(all, steps, worker);
    };
    auto const count_updates = [this] { updates_ += std::exchange(new_updates_, 0); };
    try {
      if (team_ != nullptr)
        team_->run(work, [&] { all.cancel(all); });
      else
        work(0);
    } catch (...) {
      count_updates();
      throw;
    }
    count_updates();
  }

  /// What one thread does: its devices' passes and their weight updates.
  template <execution_mode Mode>
  void work_of(execution_type const& all, int steps, int worker) {
    constexpr bool trains = Mode == execution_mode::training;
    if constexpr (has_penalties)
      if (all.has_targets && !find_penalties(worker)) return;
    int const round = trains ? accumulation_steps : steps;
    timetable const table = trains ? sizes::template table<Mode>()
                                   : timetable(sizes::options.schedule, detail::devices_of_stages<M>, steps, false);
    for (int first = 0; first < steps; first += round) {
      if (!run_passes<Mode>(all, table, first, worker)) return;
      if constexpr (trains)
        if (!run_update(worker, first / round)) return;
    }
  }

  /// The passes of a thread's devices, each device's in its order: the earliest, or, while it has to wait, the earliest
  /// that need not.
  template <execution_mode Mode>
  bool run_passes(execution_type const& all, timetable const& table, int first, int worker) {
    static constexpr auto passes =
        list_passes<Mode>(std::make_index_sequence<static_cast<std::size_t>(sizes::template table<Mode>().passes())>{});
    std::array<unit, most_units> units;
    std::size_t count = 0;
    for_each_device(worker, [&](int replica, int device) {
      units[count++] = {pointers_[static_cast<std::size_t>(replica)], device_cursor(table, device)};
    });
    auto const functions = [](unit const& one) -> auto const& {
      return passes[static_cast<std::size_t>(one.next.pass())];
    };
    auto const is_ready = [&](unit const& one) {
      return functions(one).is_ready(*one.replica, first + one.next.micro_batch());
    };
    for (;;) {
      unit* next = nullptr;
      for (std::size_t i = 0; i < count; ++i)
        if (!units[i].next.at_end() && (next == nullptr || units[i].next.slot() < next->next.slot())) next = &units[i];
      if (next == nullptr) return true;
      // If none is ready, it waits for the earliest; that cannot last, since the earliest of all threads' is ready.
      if (team_ != nullptr && !is_ready(*next)) {
        unit* other = nullptr;
        for (std::size_t i = 0; i < count; ++i)
          if (auto const& cursor = units[i].next; !cursor.at_end() && may_overtake(table, cursor.pass()) &&
                                                  (other == nullptr || cursor.slot() < other->next.slot()) &&
                                                  is_ready(units[i]))
            other = &units[i];
        if (other != nullptr) next = other;
      }
      if (!functions(*next).run(all, *next->replica, first + next->next.micro_batch(), worker)) return false;
      next->next.advance();
    }
  }

  /// Queues behind `feed` and `results` may stop a replica until others have come as far: those calls keep to slots.
  static bool may_overtake(timetable const& table, int pass) {
    return replicas == 1 || (pass != table.forward_pass(0) && pass != table.forward_pass(table.stages() - 1));
  }

  /// All devices are ready before the first one changes a weight, and have changed theirs before the next pass.
  bool run_update(int worker, int number) {
    if (!synchronize()) return false;
    auto const begin = trace_ != nullptr ? trace::now() : 0;
    for_each_device(worker, [&](int r, int d) { update::sum_calls(*pointers_[static_cast<std::size_t>(r)], d); });
    if constexpr (replicas > 1) {
      if (!synchronize()) return false;
      for_each_device(worker, [&](int r, int d) { update::reduce(pointers_, r, d); });
      if (!synchronize()) return false;
    }
    // A shard of a weight is no weight: its functions wait for all.
    if constexpr (update::functions::have_penalty_gradients()) {
      for_each_device(worker, [&](int replica, int device) {
        update::add_penalty_gradients(pointers_, replica, device, updates_ + 1 + number, seed_);
      });
      if (!synchronize()) return false;
    }
    for_each_device(worker, [&](int replica, int device) {
      update::apply(pointers_, replica, device, learning_rate_, updates_ + 1 + number, seed_);
    });
    if constexpr (update::functions::have_constraints()) {
      if (!synchronize()) return false;
      for_each_device(worker, [&](int replica, int device) {
        update::constrain(pointers_, replica, device, updates_ + 1 + number, seed_);
      });
    }
    if (trace_ != nullptr)
      for_each_device(worker, [&](int replica, int device) {
        trace_->record({.replica = replica,
                        .device = device,
                        .worker = worker,
                        .kind = pass_kind::weight_update,
                        .begin_ns = begin,
                        .end_ns = trace::now()});
      });
    if (worker == 0) new_updates_ = number + 1;
    return synchronize() && (!has_penalties || find_penalties(worker));
  }

  /// Each device those of its weights, for the last one's losses.
  bool find_penalties(int worker) {
    for_each_device(worker, [&](int r, int d) { update::find_penalties(pointers_, r, d); });
    return synchronize();
  }

  bool synchronize() { return team_ == nullptr || team_->synchronize(); }

  /// each(replica, device) for the devices of a thread: all of some replicas, or some of one. A thread with parts of
  /// two replicas could wait in one's `feed` or `results` for the other, which waits for it.
  template <class Each>
  static void for_each_device(int worker, Each const& each) {
    if constexpr (threads <= replicas) {
      for (int replica = worker * replicas / threads; replica < (worker + 1) * replicas / threads; ++replica)
        for (int device = 0; device < devices; ++device) each(replica, device);
    } else {
      int replica = 0;
      while ((replica + 1) * threads / replicas <= worker) ++replica;
      int const first = replica * threads / replicas, count = (replica + 1) * threads / replicas - first;
      for (int device = (worker - first) * devices / count; device < (worker - first + 1) * devices / count; ++device)
        each(replica, device);
    }
  }

  template <execution_mode Mode, std::size_t... Pass>
  static constexpr auto list_passes(std::index_sequence<Pass...>) {
    return std::array{pass_functions{&pipeline_pass<host_pipeline, Mode, static_cast<int>(Pass)>::is_ready,
                                     &pipeline_pass<host_pipeline, Mode, static_cast<int>(Pass)>::run}...};
  }

  static constexpr long long workspace_floats() {
    using machine = host_machine<1, architecture>;
    auto const of_layers = detail::largest_workspace<host_plan<M, Training, sizes::main_mode, machine>,
                                                     host_plan<M, Training, execution_mode::inference, machine>>();
    if constexpr (!shape_type::has_losses)
      return of_layers;
    else
      return std::max(of_layers, update::functions::workspace_floats());
  }

  std::unique_ptr<thread_team> team_;
  std::array<std::unique_ptr<memory_type>, replica_count> replicas_;
  std::array<memory_type*, replica_count> pointers_{};
  std::uint64_t seed_;
  std::uint64_t steps_ = 0;  // of training, of all replicas
  std::int64_t updates_ = 0;
  std::int64_t new_updates_ = 0;  // of this execution
  float learning_rate_;
  folded_type folded_;
  bool weights_changed_ = true;
  trace* trace_ = nullptr;
};

}  // namespace stagecraft
