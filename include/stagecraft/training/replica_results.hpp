// SPDX-License-Identifier: BSD-3-Clause
// What a run reports of all its replicas. Keras counterpart: ReplicatedMetricReductionMethod.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/diagnostics/text.hpp>
#include <stagecraft/training/callbacks/logs.hpp>
#include <stagecraft/training/step_results.hpp>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

namespace stagecraft::trainers {

/// The results of each replica, which add to their own at the same time, and what is made of them for the host, as
/// `replicated_metric_reduction_method` says:
/// - `none`: those of the last replica;
/// - `list`: all of them. In logs, "loss" is the last replica's, and "loss_replica_0" and so on are those of all;
///   `evaluate` gives an array per value, with one number per replica;
/// - `sum`, `mean`: of all replicas, in their order; where a metric is no mean over rows, `mean` is that of all rows.
/// With one replica these are all the same.
template <class Session, run_kind Kind>
class replica_results {
 public:
  using results_of_one = step_results<Session, Kind>;
  using values_of_one = typename results_of_one::values_type;
  static constexpr int replicas = Session::replicas;
  static constexpr std::size_t count = results_of_one::count;
  /// A prediction reports nothing, so that it makes no difference.
  static constexpr auto method = [] {
    if constexpr (Kind == run_kind::prediction)
      return replicated_metric_reduction_method::none;
    else
      return Session::described::training.replicated_metric_reduction_method;
  }();
  static constexpr bool lists = replicas > 1 && method == replicated_metric_reduction_method::list;
  using values_of_all = std::array<values_of_one, std::size_t{replicas}>;
  /// One entry per value: a number, or an array of numbers if all replicas are listed.
  using report_type = std::array<std::conditional_t<lists, std::array<double, std::size_t{replicas}>, double>, count>;

  void begin_execution(int steps) {
    for (auto& each : replicas_) each.results.begin_execution(steps);
  }
  [[nodiscard]] results_of_one& operator[](int replica) { return replicas_[replica].results; }

  [[nodiscard]] values_of_all values() const {
    values_of_all result;
    for (std::size_t replica = 0; replica < result.size(); ++replica)
      result[replica] = replicas_[replica].results.values();
    if constexpr (replicas > 1 && method == replicated_metric_reduction_method::mean)
      results_of_one::merge_states([&](std::size_t i) -> auto const& { return replicas_[i].results; }, result);
    return result;
  }

  /// What `evaluate` gives.
  [[nodiscard]] report_type report() const {
    report_type result{};
    values_of_all const all = values();
    for (std::size_t i = 0; i < count; ++i) {
      if constexpr (lists)
        for (std::size_t replica = 0; replica < all.size(); ++replica) result[i][replica] = all[replica][i];
      else
        result[i] = reduce(all, i);
    }
    return result;
  }

  /// Logs with all names, to be filled again and again.
  [[nodiscard, gnu::cold, gnu::noinline]] static logs make_logs() {
    logs result;
    for (std::size_t i = 0; i < logged; ++i) result[name(i)] = 0;
    return result;
  }

  /// Into logs from `make_logs`; does not allocate, unless a callback has cleared them. Where replicas are not reduced,
  /// the values under Keras's names are those of one of them.
  static void write(values_of_all const& all, logs& values_of_step, int replica = replicas - 1) {
    if (values_of_step.size() < logged) values_of_step = make_logs();
    for (std::size_t i = 0; i < logged; ++i) values_of_step.value(i) = value(all, i, replica);
  }
  void write(logs& values_of_step) const { write(values(), values_of_step); }
  /// Into any logs, each name with a prefix.
  [[gnu::cold]] void write(logs& values_of_epoch, std::string_view prefix) const {
    values_of_all const all = values();
    for (std::size_t i = 0; i < logged; ++i) values_of_epoch[std::string(prefix).append(name(i))] = value(all, i);
  }

 private:
  static constexpr std::size_t logged = lists ? count * (1 + std::size_t{replicas}) : count;

  // Those of each replica stand behind those that have Keras's names.
  [[nodiscard]] static std::string name(std::size_t index) {
    if (index < count) return results_of_one::name(index);
    auto const listed = index - count;
    auto text = results_of_one::name(listed / replicas);
    return text.append("_replica_").append(fixed_text<20>().append(static_cast<long long>(listed % replicas)).view());
  }
  [[nodiscard]] static double value(values_of_all const& all, std::size_t index, int replica = replicas - 1) {
    if (index < count) return reduce(all, index, replica);
    auto const listed = index - count;
    return all[listed % replicas][listed / replicas];
  }

  [[nodiscard]] static double reduce(values_of_all const& all, std::size_t index, int replica = replicas - 1) {
    using enum replicated_metric_reduction_method;
    if (replicas == 1 || method == none || method == list) return all[replica][index];
    double total = 0;
    for (auto const& values : all) total += values[index];
    return method == mean ? total / replicas : total;
  }

  // In cache lines of their own: replicas add at the same time.
  struct alignas(64) own_results {
    results_of_one results;
  };
  std::array<own_results, std::size_t{replicas}> replicas_;
};

}  // namespace stagecraft::trainers
