// SPDX-License-Identifier: BSD-3-Clause
// What the ranks of a cluster do together while they train: they agree on the next execution, and exchange weights,
// gradients and results.
#pragma once

#include <stagecraft/description/training.hpp>
#include <stagecraft/diagnostics/for_each_index.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/diagnostics/throw_error.hpp>
#include <stagecraft/engine/pass_messages.hpp>
#include <stagecraft/engine/policy/processes.hpp>
#include <stagecraft/kernels/reduction/collectives.hpp>
#include <stagecraft/mpi/cluster.hpp>
#include <stagecraft/mpi/gradient_sum.hpp>
#include <stagecraft/mpi/rank_group.hpp>
#include <stagecraft/mpi/stage_messages.hpp>
#include <stagecraft/version.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stagecraft::mpi {

/// Hashes of their programs, which ranks compare.
struct fingerprint {
  std::uint64_t library = 0, build = 0, architecture = 0, model = 0, job = 0;

  friend constexpr bool operator==(fingerprint const&, fingerprint const&) = default;
};

[[nodiscard]] inline std::uint64_t hash_of(std::string_view bytes, std::uint64_t hash = 14695981039346656037ULL) {
  for (char const byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211ULL;
  return hash;
}
/// The file of this program; 0 where the system does not show it.
[[nodiscard]] inline std::uint64_t hash_of_program() {
  static std::uint64_t const found = [] {
    std::FILE* const file = std::fopen("/proc/self/exe", "rb");
    if (file == nullptr) return std::uint64_t{0};
    std::uint64_t hash = 14695981039346656037ULL, words[4096];
    for (std::size_t count; (count = std::fread(words, 1, sizeof words, file)) > 0;)
      for (std::size_t i = 0; i < (count + 7) / 8; ++i) hash = (hash ^ words[i]) * 1099511628211ULL;
    std::fclose(file);
    return hash;
  }();
  return found;
}
template <class Type>
[[nodiscard]] std::string_view text_of() {
  return __PRETTY_FUNCTION__;
}

/// The work that a process is about to do, for errors.
[[nodiscard]] inline std::string text_of(engine::process_round const& of) {
  using enum engine::process_round::kind;
  char text[200];
  if (of.what == begin_of_trainer)
    std::snprintf(text, sizeof text, "the construction of a trainer");
  else if (of.what == work_of_first)
    std::snprintf(text, sizeof text, "what the first rank does alone, such as reading a backup");
  else if (of.what == begin_of_fit || of.what == end_of_fit)
    std::snprintf(text, sizeof text, "the %s of fit", of.what == begin_of_fit ? "begin" : "end");
  else if (of.what == end_of_epoch)
    std::snprintf(text, sizeof text, "the end of epoch %d of %d", of.first + 1, of.of);
  else
    std::snprintf(text, sizeof text, "steps %d to %d of %d in %s, with %d batches of %d samples", of.first,
                  of.first + of.steps, of.of,
                  of.what == training     ? "fit"
                  : of.what == evaluation ? "evaluate"
                                          : "predict",
                  of.batches, of.batch_size);
  return text;
}

/// The message of a rank before it carries out something with the others.
struct intention {
  engine::process_round round;
  fingerprint program;
  float learning_rate = 0;
  bool stops = false;
};

/// Compares what all ranks intend to do next, and returns what the first one says. Errors: E4167 they differ, E4171
/// they are different programs.
[[nodiscard, gnu::noinline]] inline intention compare_intentions(intention const& own) {
  auto& group = rank_group::get();
  if (group.count() == 1) return own;
  rank_group::operation messages(group);
  intention first = own;
  if (!group.leads()) {
    messages.send(&own, sizeof own, 0);
    messages.receive(&first, sizeof first, 0);
    messages.wait();
    return first;
  }
  std::vector<intention> others(static_cast<std::size_t>(group.count()));
  for (int other = 1; other < group.count(); ++other)
    messages.receive(&others[static_cast<std::size_t>(other)], sizeof own, other);
  messages.wait();
  for (int other = 1; other < group.count(); ++other) {
    auto const& found = others[static_cast<std::size_t>(other)];
    if (!(found.round == own.round))
      throw_data_error("E4167", "%s: expected %s as rank 0 does, found %s", group.name(other).c_str(),
                       text_of(own.round).c_str(), text_of(found.round).c_str());
    if (found.program == own.program) continue;
    char const* const what = found.program.library != own.program.library ? "version of stagecraft"
                             : found.program.architecture != own.program.architecture
                                 ? "architecture of processors (packed weights)"
                             : found.program.model != own.program.model ? "model"
                             : found.program.job != own.program.job     ? "training or machine"
                                                                        : "program file";
    throw_data_error("E4171", "%s: expected the program of rank 0, found another %s", group.name(other).c_str(), what);
  }
  for (int other = 1; other < group.count(); ++other) messages.send(&own, sizeof own, other);
  messages.wait();
  return own;
}

/// The processes of a cluster of `Ranks` (engine/policy/processes.hpp). A program runs on as many ranks as divide
/// `Ranks.count`, or, with stages on ranks, on at most as many. Errors: E4169 for another number; those of rank_group.
template <ranks Ranks>
struct rank_processes {
  static constexpr bool is_alone = false;
  static constexpr int most = Ranks.count;

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
  [[nodiscard]] static int process_of(int device, int devices) { return device * group().count() / devices; }
  [[nodiscard]] static int first_of(int process, int devices) {
    int const count = group().count();
    if (count > most) [[unlikely]]
      throw_data_error("E4169", "a cluster of ranks{%d}: expected at most %d processes, found %d", most, most, count);
    return (process * devices + count - 1) / count;
  }

  /// Compares the programs of all ranks.
  template <class Session>
  static void begin(float learning_rate) {
    group().set_limit(Ranks.timeout_s);
    if (group().count() == 1) return;
    fingerprint const program{.library = version_major * 1000000ULL + version_minor * 1000ULL + version_patch,
                              .build = hash_of_program(),
                              .architecture = hash_of(text_of<typename Session::architecture>()),
                              .model = hash_of(text_of<typename Session::model>()),
                              .job = hash_of(text_of<Session>())};
    static_cast<void>(
        compare_intentions({{.what = engine::process_round::begin_of_trainer}, program, learning_rate, false}));
  }

  template <class Model>
  static bool agree(engine::process_round const& round, Model& model, bool trains) {
    group().set_limit(Ranks.timeout_s);
    auto const first = compare_intentions({round, {}, model.session().learning_rate(), model.stop_training});
    if (!trains) return false;
    model.session().set_learning_rate(first.learning_rate);
    return model.stop_training = first.stops;
  }

  template <class Session>
  static void share_weights(Session& session) {
    using sizes = typename Session::sizes;
    if constexpr (sizes::weights.count > 0)
      share(session.weight(0) - sizes::weights.offset[0], static_cast<std::size_t>(sizes::weights.floats) * 4);
  }
  /// Copies bytes of the first rank to the others.
  static void share(void* data, std::size_t bytes) { send(0, data, bytes); }
  /// All processes get the numbers that the optimizer keeps with a weight from one of them.
  template <std::size_t Parameter, class Session>
  static void share_slots(Session& session, int from) {
    std::vector<float> values(static_cast<std::size_t>(Session::graph.parameters[Parameter].size()));
    for (int slot = 0; slot < Session::sizes::slots && group().count() > 1; ++slot) {
      session.template read_optimizer_slot<Parameter>(slot, values.data());
      send(from, values.data(), values.size() * sizeof(float));
      session.template write_optimizer_slot<Parameter>(slot, values.data());
    }
  }
  /// Brings the weights that each process has trained to all.
  template <class Session>
  static void collect(Session& session) {
    using sizes = typename Session::sizes;
    if (group().count() == 1) return;
    diagnostics::for_each_index<sizes::weights.count>([&]<int Parameter>() {
      int const from = sizes::process_of(0, sizes::device_of_weight(Parameter));
      send(from, session.weight(Parameter), static_cast<std::size_t>(sizes::weights.size[Parameter]) * sizeof(float));
      share_slots<Parameter>(session, from);
    });
  }

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

  static void send(int process, void* data, std::size_t bytes) {
    if (group().count() == 1) return;
    rank_group::operation messages(group());
    messages.broadcast(data, bytes, process);
    messages.wait();
  }

 private:
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
