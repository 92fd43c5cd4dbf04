// SPDX-License-Identifier: BSD-3-Clause
// The memory of one replica: a block for each device, weights, gradients, the optimizer's state, norms for weight
// updates, and what the plan puts into remote memory.
#pragma once

#include <stagecraft/diagnostics/for_each_index.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/diagnostics/throw_error.hpp>
#include <stagecraft/engine/policy/execution_policy.hpp>
#include <stagecraft/engine/policy/pass_memory.hpp>
#include <stagecraft/engine/policy/processes.hpp>
#include <stagecraft/engine/step_plan.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/kernels/reduction/collectives.hpp>
#include <stagecraft/optimizers/dynamic_loss_scale.hpp>
#include <stagecraft/optimizers/optimizer.hpp>
#include <stagecraft/plan/session_shape.hpp>
#include <stagecraft/threads/progress.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace stagecraft::engine {

/// The blocks into which the elements of a weight are divided for sums. No shard of a replica cuts a block, so sums
/// depend neither on threads nor on whether replicas share the work.
struct norm_blocks {
  static constexpr std::int64_t floats = 2048;
  using range = kernels::share::range;

  std::int64_t size;  ///< size of the weight
  int shards;

  [[nodiscard]] constexpr range shard(int which) const { return kernels::shard_of(size, which, shards); }
  [[nodiscard]] constexpr std::int64_t count_of(int which) const {
    auto const [first, last] = shard(which);
    return (last - first + floats - 1) / floats;
  }
  /// The elements of a block, which is one of a shard's.
  [[nodiscard]] constexpr range elements(int which, std::int64_t block) const {
    auto const [first, last] = shard(which);
    auto const begin = first + block * floats, end = begin + floats;
    return {begin, end < last ? end : last};
  }
  [[nodiscard]] constexpr std::int64_t count() const {
    std::int64_t blocks = 0;
    for (int i = 0; i < shards; ++i) blocks += count_of(i);
    return blocks;
  }
};

/// For `Weights` weights, each with up to `Norms` norms, of `Shards` replicas.
template <std::size_t Weights, int Norms, int Shards>
struct norm_memory {
  using numbers = std::array<double, Norms>;
  using of_weights = std::array<numbers, Weights>;

  explicit norm_memory(std::int64_t blocks) : squares(static_cast<std::size_t>(blocks)) {}

  std::vector<numbers> squares;           ///< sums of each block, a weight after the other
  std::array<of_weights, Shards> sums{};  ///< sums of each shard
  of_weights norms{};                     ///< norms, as the optimizer reads them
};

/// The factors of one replica's losses, one for each device, all equal; empty if the factor does not change.
template <bool IsDynamic>
struct loss_scale_memory {
  loss_scale_memory(int devices, float initial)
      : of_device(static_cast<std::size_t>(devices), dynamic_loss_scale{.scale = initial}) {}

  tracing::growing_array<dynamic_loss_scale> of_device;
};
template <>
struct loss_scale_memory<false> {
  loss_scale_memory(int, float) {}
};

/// Optimizers that read none.
template <std::size_t Weights, int Shards>
struct norm_memory<Weights, 0, Shards> {
  explicit norm_memory(std::int64_t) {}
};

/// Sizes of a model's memory, for one replica.
template <class Job, int Replicas>
struct pipeline_sizes : session_shape<typename Job::described> {
  using shape = session_shape<typename Job::described>;
  using job = Job;
  using model = typename Job::model;
  using machine = typename Job::machine;
  using policy = policy_of<machine>;
  using architecture = typename machine::architecture;
  static constexpr auto const& training = Job::training;
  template <execution_mode Mode>
  [[nodiscard]] static constexpr timetable const& table() {
    return planning_timetable<typename Job::template in<Mode>>;
  }
  static constexpr auto const& options = Job::options;
  static constexpr auto const& weights = weight_storage_of<model, architecture>;
  static constexpr int replicas = Replicas;
  using processes = processes_of<machine>;
  /// True if the devices of a replica may be in several processes.
  static constexpr bool splits = detail::splits_replicas<Job>;
  /// The replicas that this process has devices of: `first_replica` and those after it.
  [[nodiscard]] static constexpr int replicas_here() {
    if constexpr (processes::is_alone)
      return Replicas;
    else if constexpr (splits)
      return split_replicas<pipeline_sizes>::here().count;
    else
      return processes::replicas_here(Replicas);
  }
  [[nodiscard]] static constexpr int first_replica() {
    if constexpr (processes::is_alone)
      return 0;
    else if constexpr (splits)
      return split_replicas<pipeline_sizes>::here().first;
    else
      return processes::first_replica(Replicas);
  }
  /// The process of a replica's device.
  [[nodiscard]] static int process_of(int replica, int device)
    requires(splits)
  {
    return processes::process_of(replica, Replicas, device, devices);
  }
  [[nodiscard]] static constexpr bool is_here([[maybe_unused]] int replica, [[maybe_unused]] int device) {
    if constexpr (splits)
      return process_of(replica, device) == processes::number();
    else
      return true;
  }
  /// The replicas whose samples this process reads: those whose first stage it has.
  [[nodiscard]] static constexpr some_replicas fed_here() {
    if constexpr (splits)
      return split_replicas<pipeline_sizes>::fed();
    else
      return {first_replica(), replicas_here()};
  }
  static constexpr long long all_targets = shape::has_losses ? shape::target_offset(shape::end_count) : 0;
  static constexpr long long all_scales = shape::has_losses ? shape::scale_offset(shape::end_count) : 0;
  /// The mode that memory is planned for: training, if the description says how weights are updated.
  static constexpr execution_mode main_mode = detail::main_mode<Job>;
  static constexpr bool trains = main_mode == execution_mode::training;
  static constexpr int stages = table<main_mode>().stages();
  static constexpr int passes = table<main_mode>().passes();
  static constexpr int devices = table<main_mode>().devices();
  static constexpr int device_of_losses = table<main_mode>().device_of_stage(stages - 1);
  [[nodiscard]] static constexpr int device_of_weight(std::size_t parameter) {
    auto const& graph = Job::graph;
    int const call = graph.layer(graph.layer_of_parameter(static_cast<int>(parameter))).first_call;
    return table<main_mode>().device_of_stage(stage_of_graph_call<model>(call));
  }
  /// Threads that work on one device: at most; and all of them.
  static constexpr int threads_of_device = detail::threads_of_device<Job>;
  static constexpr int workers = std::min(machine::threads, detail::devices_of_all<Job>);
  static constexpr int threads = threads_of_device > 1 ? machine::threads : workers;
  /// Number of threads that work on the devices of a worker.
  [[nodiscard]] static constexpr int threads_of_worker(int worker) {
    return threads * (worker + 1) / workers - threads * worker / workers;
  }
  /// True if tensors lie where the plan of the whole model says.
  static constexpr bool is_whole = detail::is_whole<model, machine>;
  /// Floats of gradients, and of the optimizer's numbers of each weight: none without training.
  static constexpr long long gradient_floats = [] {
    if constexpr (trains)
      return gradient_storage_of<typename Job::described, architecture>.floats;
    else
      return 0LL;
  }();
  static constexpr float learning_rate = [] {
    if constexpr (shape::has_losses)
      return Job::training.optimizer.learning_rate;
    else
      return 0.0F;
  }();
  static constexpr int slots = [] {
    if constexpr (trains)
      return slots_of<Job::training.optimizer>;
    else
      return 0;
  }();
  /// Norms that the optimizer reads of each weight at most, and blocks of the weights whose squares are added up.
  static constexpr int norms = [] {
    if constexpr (trains)
      return norms_of<Job::training.optimizer>.count;
    else
      return 0;
  }();
  /// The rule by which the factor of the losses changes; growth_steps 0: it does not.
  static constexpr loss_scale_rule loss_scale = [] {
    if constexpr (trains)
      return loss_scale_rule_of(Job::training.optimizer);
    else
      return loss_scale_rule{};
  }();
  static constexpr bool scales_losses = loss_scale.growth_steps > 0;
  [[nodiscard]] static constexpr std::int64_t norm_blocks_of_weights() {
    std::int64_t blocks = 0;
    for (long long const size : weights.size) blocks += norm_blocks{size, Replicas}.count();
    return blocks;
  }
  static constexpr bool halves =
      options.gradient_accumulation_dtype == dtype::float16 && options.accumulation_steps() > 1;
  static constexpr bool shards_state = Replicas > 1 && options.replicated_optimizer_state_sharding;
  static constexpr bool shards_weights = Replicas > 1 && options.replicated_weight_sharding;
  /// Passes work on copies of weights: of what is in remote memory, or rounded ones.
  static constexpr bool fetches_weights =
      options.offloads_weights() || rounds_copies_of_weights<Job::training.dtype_policy>;
  /// The copies last until the weights change.
  static constexpr bool keeps_copies =
      is_half(Job::training.dtype_policy.storage_dtype) && fetches_weights && !options.offloads_weights();
  static constexpr bool fetches_gradients = options.offload_gradient_accumulation_buffers == offload::remote;
  static constexpr bool fetches_state = options.offloads_optimizer_state();

  /// Floats of a weight's state that one replica holds, for each number of the state.
  [[nodiscard]] static constexpr long long state_floats(std::size_t parameter) {
    if (!shards_state) return weights.size[parameter];
    long long most = 0;
    for (int replica = 0; replica < Replicas; ++replica) {
      auto const [first, last] = kernels::shard_of(weights.size[parameter], replica, Replicas);
      if (last - first > most) most = last - first;
    }
    return (most + 15) / 16 * 16;
  }
  [[nodiscard]] static constexpr long long state_offset(std::size_t parameter) {
    long long offset = 0;
    for (std::size_t i = 0; i < parameter; ++i) offset += state_floats(i);
    return offset;
  }
  static constexpr long long all_state_floats = state_offset(weights.count);
  static constexpr long long largest_state = [] {
    long long largest = 0;
    for (std::size_t i = 0; i < weights.count; ++i)
      if (state_floats(i) > largest) largest = state_floats(i);
    return largest;
  }();

  /// Floats of a device's block.
  template <int Device>
  [[nodiscard]] static constexpr long long block_floats() {
    return std::max(block_floats<Device, main_mode>(), block_floats<Device, execution_mode::inference>());
  }
  /// Floats of remote memory that a stage's activations take.
  template <int Stage>
  static constexpr long long remote_floats = pass_on<typename Job::template in<main_mode>, Stage>.places.remote_floats;

  /// Micro-batches whose targets, and whose numbers of samples, are alive at once.
  template <execution_mode Mode>
  static constexpr int targets_alive = table<Mode>().alive(0, stages - 1);
  template <execution_mode Mode>
  static constexpr int samples_alive = table<Mode>().alive(0, table<Mode>().passes() - 1);
  static constexpr int most_targets = std::max(targets_alive<main_mode>, targets_alive<execution_mode::inference>);
  static constexpr int most_samples = std::max(samples_alive<main_mode>, samples_alive<execution_mode::inference>);

 private:
  template <int Device, execution_mode Mode, std::size_t... Pass>
  static constexpr long long most_scratch(std::index_sequence<Pass...>) {
    long long most = 0;
    for (auto const& [pass, floats] :
         {std::pair<int, long long>{0, 0},
          std::pair<int, long long>{
              static_cast<int>(Pass),
              pass_plan_of<typename Job::planned::template in<Mode>, static_cast<int>(Pass)>.places.scratch_floats}...})
      if (table<Mode>().device_of_pass(pass) == Device && floats > most) most = floats;
    return most;
  }
  template <int Device, execution_mode Mode>
  [[nodiscard]] static constexpr long long block_floats() {
    if constexpr (is_whole)
      return whole_places_of<typename Job::planned::template in<Mode>>.scratch_floats;
    else
      return device_buffers_of<typename Job::planned::template in<Mode>, Device>.floats +
             most_scratch<Device, Mode>(std::make_index_sequence<table<Mode>().passes()>{});
  }
};

/// One replica's memory.
template <class Sizes>
struct pipeline_memory {
  /// @param workspace_floats  what the threads of each device have beside tensors
  /// @param widened_floats  what each device has for tensors as floats, if they are stored in 16 bits
  [[gnu::cold]] pipeline_memory(int number, long long workspace_floats, long long widened_floats)
      : replica(number),
        weights(of_weights(Sizes::weights.floats)),
        gradients(of_weights(Sizes::gradient_floats)),
        halves(of_weights(Sizes::halves ? (Sizes::gradient_floats + 1) / 2 : 0)),
        state(of_weights(Sizes::all_state_floats * Sizes::slots)),
        local_weights(of_weights(Sizes::fetches_weights ? Sizes::weights.floats : 0)),
        local_gradients(of_weights(Sizes::fetches_gradients ? Sizes::gradient_floats : 0)),
        local_halves(of_weights(Sizes::fetches_gradients && Sizes::halves ? (Sizes::gradient_floats + 1) / 2 : 0)),
        local_state(Sizes::fetches_state ? Sizes::devices * Sizes::largest_state * Sizes::slots : 0),
        targets(Sizes::most_targets * Sizes::all_targets),
        scales(Sizes::most_targets * Sizes::all_scales),
        norms(Sizes::norm_blocks_of_weights()),
        loss_scales(Sizes::devices, Sizes::loss_scale.initial_scale) {
    for_each_index<Sizes::devices>([&]<int Device>() {
      blocks[Device] = aligned_block(Sizes::is_here(number, Device) ? Sizes::template block_floats<Device>() : 0);
    });
    [&]<std::size_t... Stage>(std::index_sequence<Stage...>) {
      auto const is_here = [number](int stage) {
        return Sizes::is_here(number, Sizes::template table<Sizes::main_mode>().device_of_stage(stage));
      };
      ((remote[Stage] = aligned_block(
            is_here(static_cast<int>(Stage)) ? Sizes::template remote_floats<static_cast<int>(Stage)> : 0)),
       ...);
    }(std::make_index_sequence<Sizes::stages>{});
    for (int device = 0; device < Sizes::devices; ++device) {
      if (!Sizes::is_here(number, device)) continue;
      workspaces[device] = aligned_block(workspace_floats);
      widened[device] = aligned_block(widened_floats);
    }
  }

  /// Sets where steps read samples: at `lent`, or in `copy` if `lent` is null or lies where steps write, as a
  /// prediction does that a program passes to the model.
  void place_samples(float const* lent, float* copy, long long floats) {
    if (lent != nullptr && blocks[0].holds(lent)) {
      std::memmove(copy, lent, static_cast<std::size_t>(floats) * sizeof(float));
      lent = nullptr;
    }
    samples_in_place.store(lent != nullptr ? lent : copy, std::memory_order_relaxed);
  }

  /// Takes the weights of another replica, in the same memory or as copies. A machine has been given those that are
  /// shared by whoever had them first.
  void share_weights_of(pipeline_memory& other, bool as_copies) {
    if (as_copies)
      std::copy_n(other.weights.data(), Sizes::weights.floats, weights.data());
    else
      weights = other.weights.share();
  }
  /// True. Errors: E4108 a predictor, and another session has the same weights, or `are_copied` from one.
  [[nodiscard]] bool may_change_weights(bool are_copied) const {
    if ((!Sizes::trains && weights.is_shared()) || are_copied)
      throw_data_error("E4108", "weights: expected those of one predictor, found weights that several share");
    return true;
  }

  /// A block in the weights' layout. Where devices of a replica are in other processes, their weights take no memory.
  [[nodiscard]] static aligned_block of_weights(long long floats) {
    if constexpr (Sizes::splits)
      if (floats > 0) return aligned_block::of_pages(floats, Sizes::processes::pages);
    return aligned_block(floats);
  }

  int replica;
  aligned_block weights, gradients, halves, state;
  /// Copies that a pass works on while the originals stand in remote memory.
  aligned_block local_weights, local_gradients, local_halves, local_state;
  aligned_block targets, scales;  ///< rings
  // Their sizes are known: arrays cost compilers less than vectors.
  std::atomic<int> samples[Sizes::most_samples]{};  ///< a ring: samples of a micro-batch
  std::atomic<float const*> samples_in_place{};     ///< see pass_memory::samples
  aligned_block blocks[Sizes::devices], workspaces[Sizes::devices], widened[Sizes::devices];  ///< memory of each device
  aligned_block remote[Sizes::stages];  ///< activations of each stage
  /// The weight update that each stage's copies of weights are for; 0: none are there.
  std::array<std::int64_t, Sizes::stages> copied{};
  std::array<float, Sizes::weights.count + 1> penalties{};  ///< penalties of the weights, for the loss
  std::array<progress, Sizes::passes> done;                 ///< micro-batches that each pass has finished
  [[no_unique_address]] norm_memory<Sizes::weights.count, Sizes::norms, Sizes::replicas> norms;
  [[no_unique_address]] loss_scale_memory<Sizes::scales_losses> loss_scales;
  [[no_unique_address]] typename Sizes::policy::template replica_memory<Sizes> of_policy;
};

/// Copies an accumulator between remote memory and where passes work on it.
template <class Sizes, bool Fetch>
void move_accumulator(pipeline_memory<Sizes>& own, long long offset, long long floats) {
  auto const move = [&](auto* remote, auto* local) {
    auto* const from = Fetch ? remote : local;
    auto* const to = Fetch ? local : remote;
    std::copy_n(from + offset, floats, to + offset);
  };
  if constexpr (Sizes::halves)
    move(reinterpret_cast<std::uint16_t*>(own.halves.data()),
         reinterpret_cast<std::uint16_t*>(own.local_halves.data()));
  else
    move(own.gradients.data(), own.local_gradients.data());
}

}  // namespace stagecraft::engine
