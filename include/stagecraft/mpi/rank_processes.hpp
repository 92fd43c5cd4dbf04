// SPDX-License-Identifier: BSD-3-Clause
// What the ranks of a cluster exchange while they train: weights, gradients and results.
#pragma once

#include <stagecraft/description/training.hpp>
#include <stagecraft/diagnostics/for_each_index.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/diagnostics/throw_error.hpp>
#include <stagecraft/engine/pass_messages.hpp>
#include <stagecraft/engine/policy/pass_memory.hpp>
#include <stagecraft/engine/policy/processes.hpp>
#include <stagecraft/kernels/reduction/collectives.hpp>
#include <stagecraft/mpi/cluster.hpp>
#include <stagecraft/mpi/gradient_sum.hpp>
#include <stagecraft/mpi/intentions.hpp>
#include <stagecraft/mpi/rank_group.hpp>
#include <stagecraft/mpi/scattered_samples.hpp>
#include <stagecraft/mpi/stage_messages.hpp>
#include <stagecraft/version.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <new>
#include <sys/mman.h>
#include <utility>
#include <vector>

namespace stagecraft::mpi {

/// The processes of a cluster of `Ranks` (engine/policy/processes.hpp). A program runs on as many ranks as divide
/// `Ranks.count`, or, with stages on ranks, on at most as many. Errors: E4169 for another number; those of rank_group.
template <ranks Ranks>
struct rank_processes {
  static constexpr bool is_alone = false;
  static constexpr int most = Ranks.count;
  static constexpr double limit = Ranks.timeout_s;
  static constexpr bool by_stage = Ranks.placement == stage_placement::by_stage;

  [[nodiscard]] static int replicas_here(int replicas) {
    int const count = group().count();
    if (most % count != 0) [[unlikely]]
      throw_data_error("E4169", "a cluster of ranks{%d}: expected a divisor of %d processes, found %d", most, most,
                       count);
    return replicas / count;
  }
  [[nodiscard]] static int first_replica(int replicas) { return replicas / group().count() * group().rank(); }
  [[nodiscard]] static int number() { return group().rank(); }
  [[nodiscard]] static int count() { return group().count(); }
  [[nodiscard]] static int process_of(int replica, int replicas, int device, int devices) {
    return unit_of(Ranks.placement, replica, replicas, device, devices) * group().count() / (replicas * devices);
  }
  static void check_count() {
    if (int const count = group().count(); count > most) [[unlikely]]
      throw_data_error("E4169", "a cluster of ranks{%d}: expected at most %d processes, found %d", most, most, count);
  }

  /// Compares the programs of all ranks.
  template <class Session>
  static void begin(float learning_rate) {
    group().set_limit(limit);
    if (group().count() == 1) return;
    fingerprint const program{.library = version_major * 1000000ULL + version_minor * 1000ULL + version_patch,
                              .build = hash_of_program(),
                              .architecture = hash_of(text_of<typename Session::architecture>()),
                              .model = hash_of(text_of<typename Session::model>()),
                              .job = hash_of(text_of<Session>())};
    static_cast<void>(
        compare_intentions({{.what = engine::process_round::begin_of_trainer}, program, learning_rate, {}}));
  }

  template <class Model>
  static engine::joint_decision agree(engine::process_round const& round, Model& model, bool trains,
                                      bool looks = false) {
    group().set_limit(limit);
    auto const first = compare_intentions({round, {}, model.session().learning_rate(), {model.stop_training, looks}});
    if (!trains) return {};
    model.session().set_learning_rate(first.learning_rate);
    model.stop_training = first.decision.stops;
    return first.decision;
  }

  template <class Session>
  static void share_weights(Session& session) {
    using sizes = typename Session::sizes;
    if constexpr (sizes::splits)
      distribute(session, false);
    else if constexpr (sizes::weights.count > 0)
      share(session.weight(0) - sizes::weights.offset[0], static_cast<std::size_t>(sizes::weights.floats) * 4);
  }
  /// The first process's weights and optimizer's state are those of all: where a training begins, each process gets
  /// what it works with, and where it ends, all of it, if all are to have it.
  template <class Session>
  static void share_state(Session& session, bool begins) {
    using sizes = typename Session::sizes;
    if constexpr (sizes::splits) {
      if (begins) return distribute(session, true);
      if (Ranks.at_end == whole_model::on_first_rank) return;
    }
    if constexpr (sizes::weights.count > 0)
      share(session.weight(0) - sizes::weights.offset[0], static_cast<std::size_t>(sizes::weights.floats) * 4);
    if constexpr (Session::keeps_state()) {
      bool known = begins && session.has_kept_state();
      share(&known, sizeof known);
      if (!known) return;
    }
    diagnostics::for_each_index<sizes::weights.count>([&]<int Parameter>() { share_slots<Parameter>(session); });
  }
  /// Copies bytes of the first rank to the others.
  static void share(void* data, std::size_t bytes) { send(0, data, bytes); }
  /// All processes get the numbers that the optimizer keeps with a weight from the first one.
  template <std::size_t Parameter, class Session>
  static void share_slots(Session& session) {
    std::vector<float> values(static_cast<std::size_t>(Session::graph.parameters[Parameter].size()));
    for (int slot = 0; slot < Session::sizes::slots && group().count() > 1; ++slot) {
      if (group().leads() || !Session::keeps_state())
        session.template read_optimizer_slot<Parameter>(slot, values.data());
      send(0, values.data(), values.size() * sizeof(float));
      if (group().leads()) continue;
      if constexpr (Session::keeps_state())
        session.template write_own_slot<Parameter>(slot, values.data());
      else
        session.template write_optimizer_slot<Parameter>(slot, values.data());
    }
  }
  /// Gives each process the weights of its devices, and the optimizer's state of them, as the first one has them.
  template <class Session>
  static void distribute(Session& session, bool with_state) {
    using sizes = typename Session::sizes;
    if (group().count() == 1) return;
    diagnostics::for_each_index<sizes::weights.count>([&]<int Parameter>() {
      constexpr int device = sizes::device_of_weight(Parameter);
      bool const here = has_device<sizes>(number(), device);
      auto const give = [&](float* values) {
        rank_group::operation messages(group());
        constexpr auto bytes = static_cast<std::size_t>(sizes::weights.size[Parameter]) * sizeof(float);
        for (int other = 1; group().leads() && other < count(); ++other)
          if (has_device<sizes>(other, device)) messages.send(values, bytes, other);
        if (!group().leads() && here) messages.receive(values, bytes, 0);
        messages.wait();
      };
      give(here || group().leads() ? session.weight(Parameter) : nullptr);
      for_each_slot<Parameter>(session, with_state, here || group().leads(), here, give);
    });
  }
  /// Brings the weights and the state that each process has trained to the first one.
  template <class Session>
  static void collect(Session& session) {
    using sizes = typename Session::sizes;
    if (group().count() == 1) return;
    diagnostics::for_each_index<sizes::weights.count>([&]<int Parameter>() {
      if constexpr (sizes::splits) {
        int const from = sizes::process_of(0, sizes::device_of_weight(Parameter));
        bool const here = from == number() || group().leads();
        auto const bring = [&](float* values) {
          rank_group::operation messages(group());
          constexpr auto bytes = static_cast<std::size_t>(sizes::weights.size[Parameter]) * sizeof(float);
          if (from != 0 && from == number()) messages.send(values, bytes, 0);
          if (from != 0 && group().leads()) messages.receive(values, bytes, from);
          messages.wait();
        };
        bring(here ? session.weight(Parameter) : nullptr);
        for_each_slot<Parameter>(session, true, from == number(), group().leads() && from != 0, bring);
      } else {
        collect_shards<Parameter>(session);
      }
    });
  }

  static constexpr engine::aligned_block::page_source pages{
      [](std::size_t bytes) {
        void* const taken = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return taken != MAP_FAILED ? taken : throw std::bad_alloc();
      },
      [](void* taken, std::size_t bytes) noexcept { ::munmap(taken, bytes); }};

  template <class Sizes, execution_mode Mode, int Pass>
  using messages = engine::pass_messages<Sizes, Mode, Pass>;
  static void begin_messages() { stage_messages::get().begin(); }
  static void post(int process, int pass, std::vector<float>&& message) {
    stage_messages::get().post(process, pass, std::move(message));
  }
  static void take(int process, int pass, std::vector<float>& message) {
    stage_messages::get().take(process, pass, message);
  }
  static void end_messages() { stage_messages::get().end(); }

  template <class Plan>
  static void add_up(float* const* gradients, kernels::share::range const& elements) {
    using architecture = typename Plan::architecture;
    if (group().count() == 1)
      return kernels::all_reduce<takes_mean<Plan>, architecture>(gradients, Plan::job::replicas, elements);
    auto const here = replicas_here(Plan::job::replicas), size = subtree(here);
    for (int first = 0; size > 1 && first < here; first += size)
      kernels::reduce_scatter<false, architecture>(gradients + first, size, gradients[first], elements);
  }

  template <class Plan>
  static void exchange(float* const* gradients, long long floats) {
    int const rank = group().rank(), count = group().count();
    if (count == 1) return;
    if (begun_ > 0) {
      for (int i = 0; i < begun_; ++i) finish<Plan>(begun_sums()[static_cast<std::size_t>(i)]);
      begun_ = 0;
      return;
    }
    auto const here = replicas_here(Plan::job::replicas), size = subtree(here);
    static gradient_sum sum;
    rank_group::operation const all(group());
    sum.begin(floats);
    for (int process = 0; process < count; ++process)
      for (int first = 0; first < here; first += size) sum.add(process, process == rank ? gradients[first] : nullptr);
    finish<Plan>(sum);
    for (int i = 1; i < here; ++i) std::copy_n(gradients[0], floats, gradients[i]);
  }

  static void begin_sum(int number, float* gradients, long long floats) {
    if (number == 0) rank_group::operation const all(group());
    while (static_cast<int>(begun_sums().size()) <= number) begun_sums().emplace_back();
    auto& sum = begun_sums()[static_cast<std::size_t>(number)];
    sum.begin(floats, number);
    for (int process = 0; process < group().count(); ++process)
      sum.add(process, process == group().rank() ? gradients : nullptr);
    sum.send();
    begun_ = number + 1;
  }
  template <class Plan>
  static void go_on() {
    for (int i = 0; i < begun_; ++i)
      begun_sums()[static_cast<std::size_t>(i)].go_on(
          kernels::reduce_scatter<takes_mean<Plan>, typename Plan::architecture>, Plan::job::replicas);
  }

  /// The devices of different replicas that have the same weights may be in different processes. Weights that lie one
  /// after the other are added up together.
  template <class Sizes, class Plan>
  static void exchange_devices(float* const* gradients) {
    static auto const ranges = ranges_of_devices<Sizes>();
    static std::vector<gradient_sum> sums(ranges.size());
    rank_group::operation const all(group());
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      sums[i].begin(ranges[i].floats, static_cast<int>(i));
      for (int replica = 0; replica < Sizes::replicas; ++replica) {
        bool const here = Sizes::is_here(replica, ranges[i].device);
        sums[i].add(Sizes::process_of(replica, ranges[i].device),
                    here ? gradients[replica - Sizes::first_replica()] + ranges[i].first : nullptr);
      }
      sums[i].send();
    }
    for (std::size_t i = 0; i < ranges.size(); ++i) finish<Plan>(sums[i]);
  }
  template <class Sizes, class Plan>
  static void scatter_sums(float* const* gradients, bool const* is_shared) {
    if (count() == 1) return;
    auto const here = replicas_here(Plan::job::replicas);
    shards<Sizes>(is_shared).scatter(gradients, subtree(here),
                                     kernels::reduce_scatter<takes_mean<Plan>, typename Plan::architecture>);
  }
  template <class Sizes>
  static void gather_weights(float* const* weights, bool const* is_shared) {
    if (count() > 1) shards<Sizes>(is_shared).gather(weights);
  }
  template <class Sizes>
  static void share_of_weights(void* values, std::size_t bytes) {
    if (count() == 1) return;
    std::vector<std::byte> others(bytes * Sizes::weights.count);
    for (int from = 0; from <= Sizes::process_of(0, Sizes::devices - 1); ++from) {
      std::memcpy(others.data(), values, others.size());
      send(from, others.data(), others.size());
      for (std::size_t weight = 0; weight < Sizes::weights.count; ++weight)
        if (Sizes::process_of(0, Sizes::device_of_weight(weight)) == from)
          std::memcpy(static_cast<std::byte*>(values) + weight * bytes, others.data() + weight * bytes, bytes);
    }
  }

  static void gather(void* values, std::size_t bytes, int replicas) {
    if (group().count() == 1) return;
    auto const here = static_cast<std::size_t>(replicas_here(replicas)) * bytes;
    auto* const all = static_cast<char*>(values);
    rank_group::operation messages(group());
    for (int other = 0; other < group().count(); ++other) {
      if (other == group().rank()) continue;
      messages.receive(all + static_cast<std::size_t>(other) * here, here, other);
      messages.send(all + static_cast<std::size_t>(group().rank()) * here, here, other);
    }
    messages.wait();
  }

  static void scatter(trainers::sample_source const& array, std::vector<std::vector<std::int32_t>> const& rows) {
    scatter_samples(array, rows);
  }
  static void send(int process, void* data, std::size_t bytes) {
    if (group().count() == 1) return;
    rank_group::operation messages(group());
    messages.broadcast(data, bytes, process);
    messages.wait();
  }

 private:
  template <class Sizes>
  [[nodiscard]] static shard_exchange<Sizes>& shards(bool const* is_shared) {
    static shard_exchange<Sizes> exchange(replicas_here(Sizes::replicas), is_shared);
    return exchange;
  }
  template <class Sizes>
  [[nodiscard]] static bool has_device(int process, int device) {
    for (int replica = 0; replica < Sizes::replicas; ++replica)
      if (Sizes::process_of(replica, device) == process) return true;
    return false;
  }
  /// Reads each of a weight's numbers, if they are here, as they are stored; exchanges and writes them.
  template <std::size_t Parameter, class Session, class Exchange>
  static void for_each_slot(Session& session, bool wanted, bool reads, bool writes, Exchange const& exchange) {
    if (!wanted || Session::sizes::slots == 0) return;
    std::vector<float> values(reads || writes ? static_cast<std::size_t>(Session::sizes::weights.size[Parameter]) : 0);
    for (int slot = 0; slot < Session::sizes::slots; ++slot) {
      if (reads) session.template read_stored_slot<Parameter>(slot, values.data());
      exchange(values.data());
      if (writes) session.template write_stored_slot<Parameter>(slot, values.data());
    }
  }
  /// The first process keeps all shards of the optimizer's state.
  template <std::size_t Parameter, class Session>
  static void collect_shards(Session& session) {
    using sizes = typename Session::sizes;
    auto const here = replicas_here(sizes::replicas);
    std::vector<float> values(static_cast<std::size_t>(sizes::weights.size[Parameter]));
    for (int slot = 0; slot < sizes::slots; ++slot) {
      session.template read_stored_slot<Parameter>(slot, values.data());
      rank_group::operation messages(group());
      for (int process = 1; process < count(); ++process) {
        auto const first = kernels::shard_of(sizes::weights.size[Parameter], process * here, sizes::replicas).first;
        auto const last =
            kernels::shard_of(sizes::weights.size[Parameter], process * here + here - 1, sizes::replicas).last;
        auto const bytes = static_cast<std::size_t>(last - first) * sizeof(float);
        if (group().leads() && bytes > 0) messages.receive(values.data() + first, bytes, process);
        if (process == number() && bytes > 0) messages.send(values.data() + first, bytes, 0);
      }
      messages.wait();
      if (group().leads()) session.template keep_state<Parameter>(slot, values.data());
    }
  }
  /// Sums that have begun before the backward pass is over.
  [[nodiscard]] static std::deque<gradient_sum>& begun_sums() {
    static std::deque<gradient_sum> sums;
    return sums;
  }
  static inline int begun_ = 0;
  [[nodiscard]] static rank_group& group() { return rank_group::get(); }
  template <class Plan>
  static constexpr bool takes_mean = Plan::training.cross_replica_reduction == cross_replica_reduction::mean;
  template <class Plan>
  static void finish(gradient_sum& sum) {
    sum.finish(kernels::reduce_scatter<takes_mean<Plan>, typename Plan::architecture>, Plan::job::replicas);
  }
  /// The number of neighbours that a rank may add up by itself: the largest power of two that divides the number of its
  /// replicas.
  [[nodiscard]] static constexpr int subtree(int replicas) noexcept { return replicas & -replicas; }

  /// Weights of a device that lie one after the other.
  struct device_range {
    int device = 0;
    long long first = 0, floats = 0;
  };
  template <class Sizes>
  static std::vector<device_range> ranges_of_devices() {
    std::vector<device_range> result;
    for (std::size_t i = 0; i < Sizes::weights.count; ++i) {
      int const device = Sizes::device_of_weight(i);
      if (result.empty() || result.back().device != device) result.push_back({device, Sizes::weights.offset[i], 0});
      result.back().floats += Sizes::weights.size[i];
    }
    return result;
  }
};

}  // namespace stagecraft::mpi

namespace stagecraft::engine {

template <class Machine, ranks Ranks, network Network>
struct processes_of_machine<mpi::cluster_machine<Machine, Ranks, Network>> {
  using type = mpi::rank_processes<Ranks>;
};

}  // namespace stagecraft::engine
