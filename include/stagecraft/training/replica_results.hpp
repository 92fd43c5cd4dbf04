// SPDX-License-Identifier: BSD-3-Clause
// Results of an epoch: for each replica the means of loss and metrics under Keras's names, or values accumulated over
// steps (`accumulate_outfeed` of `pipelining_ops.pipeline`); for all replicas the reduction of these. Keras
// counterpart: ReplicatedMetricReductionMethod.
#pragma once

#include <stagecraft/description/reported_metrics.hpp>
#include <stagecraft/description/training.hpp>
#include <stagecraft/diagnostics/for_each_index.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/diagnostics/text.hpp>
#include <stagecraft/engine/pipeline_execution.hpp>
#include <stagecraft/engine/policy/processes.hpp>
#include <stagecraft/graph/dtype.hpp>
#include <stagecraft/kernels/simd/narrow_floats.hpp>
#include <stagecraft/losses/reduction.hpp>
#include <stagecraft/models/queries.hpp>
#include <stagecraft/training/callbacks/callback.hpp>
#include <stagecraft/training/callbacks/logs.hpp>
#include <stagecraft/training/metric_state.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace stagecraft::trainers {

/// Sums the shares of a mean in a type of the device; float16 is rounded, and overflows, at each addition.
template <dtype Type>
class accumulated_value {
 public:
  /// Adds one of the `count` values of a mean.
  void add(double value, int count) {
    sum_ = rounded(sum_ + rounded(static_cast<float>(value) / static_cast<float>(count)));
  }
  /// Returns the mean and begins again.
  [[nodiscard]] double take() {
    float const result = sum_;
    sum_ = 0;
    return static_cast<double>(result);
  }

 private:
  [[nodiscard]] static float rounded(float value) {
    if constexpr (Type == dtype::float16) {
      std::uint16_t half = 0;
      kernels::halves_of_floats(&value, &half, 1);
      kernels::floats_of_halves(&half, &value, 1);
    }
    return value;
  }

  float sum_ = 0;
};

/// Running means of one run. In Keras's order: the total loss, one loss per output if there are several, then the
/// metrics of each output and its weighted ones, whose names begin with the output's name if there are several.
/// `predict` reports nothing.
///
/// The options of the pipeline, or of gradient accumulation, say what is reported, as Graphcore's outfeed does:
/// - by default, all values after each step: means over the samples;
/// - `outfeed_loss`, `outfeed_mask`: while training, only the total loss, or not all metrics; the others are not
///   computed and have no name;
/// - `accumulate_outfeed`: per weight update, the mean of its micro-batches' results, each divided by their number and
///   summed in `accumulate_outfeed_dtype`. In `evaluate` the same per execution; Graphcore's guide divides by the steps
///   of the epoch, to which the mean over all executions comes in the end. An epoch's values are the means over its
///   steps; a batch that is not full counts as much as the others;
/// - `outfeed_mode::last`: the results of each execution's last step; those of the other steps are not computed. An
///   epoch's values are the means of these.
template <class Session, run_kind Kind>
class step_results {
  using job = typename Session::described;
  static constexpr bool trains = Kind == run_kind::training;
  static constexpr bool only_loss = trains && job::options.outfeed_loss;
  static constexpr bool accumulates = Kind != run_kind::prediction && job::options.accumulate_outfeed;
  static constexpr bool only_last = job::training.outfeed_queue.outfeed_mode == outfeed_mode::last;
  static constexpr auto reported = [] {
    if constexpr (Kind == run_kind::prediction) {
      return reported_metric_list<0>{};
    } else {
      auto result = reported_metrics<job>;
      if (only_loss) result.count = 0;
      if (!trains) return result;
      std::size_t kept = 0;
      for (auto const& each : result)
        if (!job::options.outfeed_mask.leaves_out(each.index)) result.items[kept++] = each;
      result.count = kept;
      return result;
    }
  }();

 public:
  static constexpr std::size_t outputs = Session::output_count;
  /// Metrics that are reported, of all outputs.
  static constexpr std::size_t metrics = reported.count;
  static constexpr std::size_t losses = Kind == run_kind::prediction ? 0 : outputs == 1 || only_loss ? 1 : 1 + outputs;
  /// Number of values.
  static constexpr std::size_t count = losses + metrics;
  using values_type = std::array<double, count>;

  [[nodiscard, gnu::cold, gnu::noinline]] static std::string name(std::size_t index) {
    std::string text;
    if (index == 0) {
      text.append("loss");
    } else if (index < losses) {
      text.append(output_name(index - 1)).append("_loss");
    } else if constexpr (metrics > 0) {
      auto const& each = reported.items[index - losses];
      if (outputs > 1) text.append(output_name(each.output)).append("_");
      if (each.says_so) text.append("weighted_");
      text.append(each.metric.name());
      if (each.part >= 0) text.append("_threshold_").append(fixed_text<20>().append(each.part).view());
    }
    return text;
  }

  /// Sets the number of steps of the next execution.
  void begin_execution(int steps) {
    steps_ = steps;
    if constexpr (accumulates) {
      gathered_.fill({});
      gathered_steps_ = 0;
      gathered_count_ = trains ? std::min(steps, job::options.accumulation_steps()) : steps;
    }
  }

  /// Adds the results of a step.
  void add(step_view<Session> const& step) {
    if constexpr (count > 0) {
      if (only_last && step.step() + 1 != steps_) return;
      if constexpr (accumulates) for_each_metric([&]<std::size_t Index>() { std::get<Index>(metrics_).reset(); });
      for_each_metric([&]<std::size_t Index>() { add_metric<Index>(step); });
      if constexpr (accumulates) {
        gather(step);
      } else {
        for (std::size_t i = 0; i < losses; ++i)
          losses_[i].add(loss(step, i), step.valid_samples() * rows_that_count(step));
      }
    }
  }

  /// Calls each(part) for all that changes in a run.
  template <class Each>
  void for_each_part(Each const& each) {
    each(losses_);
    each(gathered_);
    each(gathered_steps_);
    for_each_metric([&]<std::size_t Index>() { each(std::get<Index>(metrics_)); });
  }

  [[nodiscard]] values_type values() const {
    values_type result{};
    if constexpr (!accumulates)
      for_each_metric([&]<std::size_t Index>() { result[losses + Index] = std::get<Index>(metrics_).result(); });
    for (std::size_t i = 0; i < losses_.size(); ++i) result[i] = losses_[i].result();
    return result;
  }

  /// Computes the metrics that are no means over rows from the rows of all replicas together, and writes them to the
  /// values of each replica. `of(i)` returns the results of replica i.
  template <class Of, std::size_t Replicas>
  static void merge_states(Of const& of, std::array<values_type, Replicas>& all) {
    if constexpr (!accumulates)
      for_each_metric([&]<std::size_t Index>() {
        if constexpr (reported.items[Index].metric.result != nullptr) {
          auto state = std::get<Index>(of(0).metrics_);
          for (std::size_t i = 1; i < Replicas; ++i) state.merge(std::get<Index>(of(i).metrics_));
          for (auto& values : all) values[losses + Index] = state.result();
        }
      });
  }

 private:
  [[nodiscard]] static std::string_view output_name(std::size_t output) {
    return output_names<typename job::model>[output].view();
  }

  /// The weight of a step in Keras's mean over the steps: if losses are not reduced, each row counts, times the
  /// samples.
  [[nodiscard]] static double rows_that_count(step_view<Session> const& step) {
    return Session::template loss_divisor<0>(step.valid_samples());
  }
  [[nodiscard]] static double loss(step_view<Session> const& step, std::size_t index) {
    return static_cast<double>(index == 0 ? step.total_loss() : step.loss(index - 1));
  }

  template <class Each>
  static void for_each_metric(Each const& each) {
    for_each_index<metrics>(each);
  }
  template <std::size_t Index>
  void add_metric(step_view<Session> const& step) {
    constexpr auto output = reported.items[Index].output;
    constexpr int rows_per_sample = state_of<Index>::takes_samples ? 1 : Session::rows_per_sample(output);
    int const rows = step.valid_samples() * rows_per_sample;
    auto& metric = std::get<Index>(metrics_);
    auto const* const target = step.template target<output>();
    // A scale is a weight, divided by the number of the loss's rows unless their losses are summed.
    constexpr bool is_summed = losses::detail::is_summed(losses::loss_of_output<output>(job::training.loss));
    constexpr int scales_per_sample = Session::scales_per_sample(output);
    if constexpr (reported.items[Index].is_weighted)
      metric.update(step.prediction(output), target, rows, step.scale(output),
                    is_summed ? 1 : step.valid_samples() * scales_per_sample, scales_per_sample, rows_per_sample);
    else if constexpr (Session::is_masked(output))
      metric.update_unmasked(step.prediction(output), target, rows, step.scale(output));
    else
      metric.update(step.prediction(output), target, rows);
  }

  void gather(step_view<Session> const& step) {
    for (std::size_t i = 0; i < losses; ++i) gathered_[i].add(loss(step, i), gathered_count_);
    for_each_metric([&]<std::size_t Index>() {
      gathered_[losses + Index].add(std::get<Index>(metrics_).result(), gathered_count_);
    });
    if (++gathered_steps_ < gathered_count_) return;
    gathered_steps_ = 0;
    for (std::size_t i = 0; i < count; ++i) losses_[i].add(gathered_[i].take(), gathered_count_);
  }

  template <std::size_t Index>
  struct state_of {
    static constexpr auto metric = reported.items[Index].metric;  // a copy: see reported_metrics
    static constexpr auto output = reported.items[Index].output;
    static constexpr auto sample = Session::output_shape(output);
    static constexpr bool takes_samples = losses::detail::has_sample_as_row(metric.along - 1, sample);
    using type = metric_state<metric, Session::sparse_targets(output), takes_samples ? sample.size() : sample.back(),
                              takes_samples ? sample : shape{}>;
  };
  using metric_states = decltype([]<std::size_t... Index>(std::index_sequence<Index...>) {
    return std::tuple<typename state_of<Index>::type...>();
  }(std::make_index_sequence<metrics>{}));
  using accumulated = accumulated_value<job::options.accumulate_outfeed_dtype>;

  std::array<running_mean, accumulates ? count : losses> losses_;
  metric_states metrics_;
  std::array<accumulated, accumulates ? count : 0> gathered_;  // values since the last reported one
  int gathered_steps_ = 0;
  int gathered_count_ = 1;
  int steps_ = 1;
};

/// The results of all replicas, each of which adds to its own at the same time as the others, and their reduction for
/// the host by `replicated_metric_reduction_method`:
/// - `none`: those of the last replica;
/// - `list`: all of them. In logs, "loss" is the last replica's, and "loss_replica_0" and so on are those of all;
/// `evaluate` returns an array per value, with one number per replica;
/// - `sum`, `mean`: of all replicas, in their order; where a metric is no mean over rows, `mean` is that of all rows.
/// With one replica these are all the same. `One`: results of one replica.
template <class Session, run_kind Kind, class One = step_results<Session, Kind>>
class replica_results {
 public:
  using results_of_one = One;
  using values_of_one = typename results_of_one::values_type;
  static constexpr int replicas = Session::replicas;
  static constexpr std::size_t count = results_of_one::count;
  /// The method. A prediction reports nothing, so that the method makes no difference.
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
  [[nodiscard]] results_of_one const& operator[](int replica) const { return replicas_[replica].results; }

  /// Takes over the results of replicas in other processes.
  void gather()
    requires(!Session::sizes::processes::is_alone)
  {
    std::size_t size = 0;
    replicas_[0].results.for_each_part([&](auto const& part) { size += sizeof part; });
    std::vector<std::byte> bytes(size * std::size_t{replicas});
    auto const copy = [&](bool out) {
      auto* at = bytes.data();
      for (auto& each : replicas_)
        each.results.for_each_part([&](auto& part) {
          static_assert(std::is_trivially_copyable_v<std::remove_reference_t<decltype(part)>>);
          out ? std::memcpy(at, &part, sizeof part) : std::memcpy(&part, at, sizeof part);
          at += sizeof part;
        });
    };
    copy(true);
    if constexpr (Session::sizes::splits)
      for (int replica = 0; replica < replicas; ++replica)
        Session::sizes::processes::send(process_of_results<typename Session::sizes>(replica),
                                        bytes.data() + static_cast<std::size_t>(replica) * size, size);
    else
      Session::sizes::processes::gather(bytes.data(), size, replicas);
    copy(false);
  }

  [[nodiscard]] values_of_all values() const {
    values_of_all result;
    for (std::size_t replica = 0; replica < result.size(); ++replica)
      result[replica] = replicas_[replica].results.values();
    if constexpr (replicas > 1 && method == replicated_metric_reduction_method::mean)
      results_of_one::merge_states([&](std::size_t i) -> auto const& { return replicas_[i].results; }, result);
    return result;
  }

  /// The result of `evaluate`.
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

  /// Writes to logs from `make_logs`; does not allocate, unless a callback has cleared them. If replicas are not
  /// reduced, the values under Keras's names are those of `replica`.
  static void write(values_of_all const& all, logs& values_of_step, int replica = replicas - 1) {
    if (values_of_step.size() < logged) values_of_step = make_logs();
    for (std::size_t i = 0; i < logged; ++i) values_of_step.value(i) = value(all, i, replica);
  }
  void write(logs& values_of_step) const { write(values(), values_of_step); }
  /// Writes to any logs, each name after a prefix.
  [[gnu::cold]] void write(logs& values_of_epoch, std::string_view prefix) const {
    values_of_all const all = values();
    for (std::size_t i = 0; i < logged; ++i) values_of_epoch[std::string(prefix).append(name(i))] = value(all, i);
  }

 private:
  static constexpr std::size_t logged = lists ? count * (1 + std::size_t{replicas}) : count;

  // The results of each replica follow those that have Keras's names.
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

  // Each replica's results have cache lines of their own, since replicas add at the same time.
  struct alignas(64) own_results {
    results_of_one results;
  };
  std::array<own_results, std::size_t{replicas}> replicas_;
};

}  // namespace stagecraft::trainers
