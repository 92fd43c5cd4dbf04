// SPDX-License-Identifier: BSD-3-Clause
// What a plan page is made of: the choices that a person has, and the profile of each of their combinations.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/diagnostics/diagnostic.hpp>
#include <stagecraft/pipeline/schedule/schedule.hpp>
#include <stagecraft/report/profile_data.hpp>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stagecraft::reports {

/// Up to 16 values to choose from, in the order in which the page shows them.
template <class T>
struct choice_list {
  static constexpr int capacity = 16;  ///< the most values
  T values[capacity]{};                ///< the values that are given, then defaults
  int count = 0;                       ///< the number of values that are given, even if there is no room for them

  constexpr choice_list() = default;
  template <std::convertible_to<T>... Values>
    requires(sizeof...(Values) >= 1)
  constexpr choice_list(Values... value) {
    T const given[]{static_cast<T>(value)...};
    for (T const each : given) {
      if (count < capacity) values[count] = each;
      ++count;
    }
  }

  [[nodiscard]] constexpr int size() const noexcept { return count < capacity ? count : capacity; }
  [[nodiscard]] constexpr T operator[](int index) const { return values[index]; }
  [[nodiscard]] constexpr bool repeats_a_value() const {
    for (int i = 0; i < size(); ++i)
      for (int k = 0; k < i; ++k)
        if (values[i] == values[k]) return true;
    return false;
  }

  friend constexpr bool operator==(choice_list const&, choice_list const&) = default;
};

}  // namespace stagecraft::reports

namespace stagecraft {

/// One combination of a plan's choices.
struct plan_choice {
  int ipus = 1;                                                   ///< IPUs of a replica
  int stages = 1;                                                 ///< pipeline stages; 1: the model is not divided
  bool is_next_best = false;                                      ///< true: the second best split into stages
  stagecraft::schedule schedule = stagecraft::schedule::grouped;  ///< schedule of the pipeline
  int micro_batches = 1;  ///< micro-batches of a replica per weight update; in inference, per execution
  int replicas = 1;       ///< copies of the model, of each rank
  int ranks = 1;          ///< processes of a cluster, each with IPUs of its own for its replicas

  friend constexpr bool operator==(plan_choice const&, plan_choice const&) = default;
};

/// The choices of a plan page. Each field can be left out. Each combination costs compile time: about
/// that of one `profile`.
///
///     inline constexpr sc::plan_choices choices{.ipus = {1, 2, 4}, .micro_batches = {16, 64}, .replicas = {1, 2}};
///
/// Checked by `plan_data_of`: E5263 a list with more than 16 values, a value twice, or a number that is not positive.
struct plan_choices {
  /// Numbers of IPUs of a replica.
  reports::choice_list<int> ipus = {1, 2, 3, 4};
  /// Numbers of stages for each IPU: with 2, stages s and s + ipus are on the same one.
  reports::choice_list<int> stages_per_ipu = {1};
  /// Schedules of the pipeline.
  reports::choice_list<stagecraft::schedule> schedules = {schedule::grouped, schedule::interleaved,
                                                          schedule::sequential};
  /// Micro-batches of a replica per weight update, in inference per execution; none: those of the description.
  reports::choice_list<int> micro_batches = {};
  /// Numbers of copies of the model, each on IPUs of its own; of a cluster, copies of each rank.
  reports::choice_list<int> replicas = {1};
  /// Numbers of processes of a cluster, each with its own IPUs. More than one needs a machine that is a cluster.
  reports::choice_list<int> ranks = {1};
  /// The second best split into stages is a choice beside the best one.
  bool next_best = true;

  friend constexpr bool operator==(plan_choices const&, plan_choices const&) = default;

  static constexpr int dimensions = 7;  ///< ipus, stages_per_ipu, split, schedules, micro_batches, replicas, ranks
  /// The number of values of each dimension.
  [[nodiscard]] constexpr std::array<int, dimensions> sizes() const {
    return {ipus.size(),          stages_per_ipu.size(), next_best ? 2 : 1, schedules.size(),
            micro_batches.size(), replicas.size(),       ranks.size()};
  }
  /// The number of combinations.
  [[nodiscard]] constexpr int combinations() const {
    int product = 1;
    for (int const size : sizes()) product *= size;
    return product;
  }
  /// The place of each dimension's value in a combination, whose last dimension varies fastest.
  [[nodiscard]] constexpr std::array<int, dimensions> places(int combination) const {
    std::array<int, dimensions> result{};
    for (int i = dimensions - 1; i >= 0; --i) {
      int const size = sizes()[static_cast<std::size_t>(i)];
      result[static_cast<std::size_t>(i)] = combination % size;
      combination /= size;
    }
    return result;
  }
  /// The combination of these places.
  [[nodiscard]] constexpr int combination(std::array<int, dimensions> const& at) const {
    int result = 0;
    for (std::size_t i = 0; i < at.size(); ++i) result = result * sizes()[i] + at[i];
    return result;
  }
  /// The values of a combination.
  [[nodiscard]] constexpr plan_choice choice(int combination) const {
    auto const at = places(combination);
    return {ipus[at[0]],          ipus[at[0]] * stages_per_ipu[at[1]],
            at[2] == 1,           schedules[at[3]],
            micro_batches[at[4]], replicas[at[5]],
            ranks[at[6]]};
  }
  /// The combination that stands for this one: a model in one stage has neither a split nor a schedule.
  [[nodiscard]] constexpr int representative(int combination) const {
    auto at = places(combination);
    if (choice(combination).stages == 1) at[2] = at[3] = 0;
    return this->combination(at);
  }
};

/// The part of a weight update's time that each thing decides, in cycles. Their sum is the time of the weight update.
struct plan_bounds {
  std::vector<std::int64_t> ipus = {};  ///< cycles in which an IPU works and is the slowest of its slot, by IPU
  std::int64_t transfers = 0;           ///< transfers between IPUs after the slots
  std::int64_t sync = 0;                ///< syncs before them
  std::int64_t update = 0;              ///< the weight update after the slots
  std::int64_t network = 0;             ///< the sum of gradients over the ranks of a cluster

  friend bool operator==(plan_bounds const&, plan_bounds const&) = default;

  /// The sum of all.
  [[nodiscard]] std::int64_t cycles() const {
    std::int64_t sum = transfers + sync + update + network;
    for (auto const each : ipus) sum += each;
    return sum;
  }
};

/// One combination and its profile.
struct plan_entry {
  plan_choice choice = {};
  int combination = 0;  ///< its number in plan_choices
  /// Why there is no such plan, such as the rule that the combination breaks with its code; empty: there is one.
  std::string problem = {};
  profile_data profile = {};       ///< the profile of one rank; that of no model if there is a problem
  double network_seconds = 0;      ///< seconds in which ranks sum their gradients, after the work of a rank
  std::int64_t network_bytes = 0;  ///< bytes that the rank which sends most sends for that sum
  plan_bounds bounds = {};         ///< bounds of the time
  /// Names of the first and the last layer of each stage, in Keras's order.
  std::vector<std::pair<std::string, std::string>> layers_of_stage = {};
  /// Bytes that each stage sends to other IPUs for a micro-batch: after its forward pass, and after its backward pass.
  std::vector<std::int64_t> sent_forward = {}, sent_backward = {};

  friend bool operator==(plan_entry const&, plan_entry const&) = default;

  /// Seconds of a weight update of all ranks; of predictions, of an execution.
  [[nodiscard]] double seconds_per_update() const { return profile.totals.seconds_per_update + network_seconds; }
  /// The part of that time in which ranks work; 1 with one rank.
  [[nodiscard]] double efficiency() const {
    return network_seconds > 0 ? profile.totals.seconds_per_update / seconds_per_update() : 1;
  }
  /// Samples per second of all replicas of all ranks.
  [[nodiscard]] double samples_per_second() const {
    return profile.totals.samples_per_second * choice.ranks * efficiency();
  }

  /// True if there is such a plan and it fits into the IPUs' memory.
  [[nodiscard]] bool fits() const { return problem.empty() && profile.fits(); }
};

/// Choices, and the profile of each combination. `plan_data_of` makes it; `plan_html` and `plan_json` show it.
struct plan_data {
  std::string model = {};                ///< name of the model
  plan_choices choices = {};             ///< the choices; those of the description where none are given
  bool trains = true;                    ///< false: predictions alone
  std::vector<plan_entry> entries = {};  ///< combinations that differ, in the order of their numbers
  std::vector<int> entry_of = {};        ///< index into `entries` of each combination

  friend bool operator==(plan_data const&, plan_data const&) = default;

  /// The entry that fits with most samples per second, the first of several; if none fits, the first without a
  /// problem, else 0.
  [[nodiscard]] int best() const {
    int best = -1, possible = 0;
    for (int i = static_cast<int>(entries.size()) - 1; i >= 0; --i) {
      auto const& entry = entries[static_cast<std::size_t>(i)];
      if (entry.problem.empty()) possible = i;
      if (entry.fits() &&
          (best < 0 || entry.samples_per_second() >= entries[static_cast<std::size_t>(best)].samples_per_second()))
        best = i;
    }
    return best < 0 ? possible : best;
  }
};

}  // namespace stagecraft

namespace stagecraft::reports {

/// E5263: lists of choices that no page can offer.
constexpr diagnostic problem_of_choices(plan_choices const& choices) {
  diagnostic problem;
  auto const check = [&](std::string_view name, auto const& list, auto is_wrong) {
    if (list.count > list.capacity)
      problem.report(5263, "plan_choices.", name, " has ", list.count, " values; at most ", list.capacity,
                     " are possible");
    else if (list.repeats_a_value())
      problem.report(5263, "plan_choices.", name, " has a value twice");
    for (int i = 0; i < list.size(); ++i) is_wrong(name, list[i]);
  };
  auto const is_positive = [&](std::string_view name, int value) {
    if (value < 1) problem.report(5263, "plan_choices.", name, " has the value ", value, "; it must be at least 1");
  };
  check("ipus", choices.ipus, is_positive);
  check("stages_per_ipu", choices.stages_per_ipu, is_positive);
  check("schedules", choices.schedules, [](std::string_view, schedule) {});
  check("micro_batches", choices.micro_batches, is_positive);
  check("replicas", choices.replicas, is_positive);
  check("ranks", choices.ranks, is_positive);
  auto const check_size = [&](std::string_view name, int size) {
    if (size == 0) problem.report(5263, "plan_choices.", name, " has no value; it must have at least one");
  };
  check_size("ipus", choices.ipus.size());
  check_size("stages_per_ipu", choices.stages_per_ipu.size());
  check_size("schedules", choices.schedules.size());
  check_size("replicas", choices.replicas.size());
  check_size("ranks", choices.ranks.size());
  return problem;
}

}  // namespace stagecraft::reports

#include <stagecraft/diagnostics/end_headers.hpp>
