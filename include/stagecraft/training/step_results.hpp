// SPDX-License-Identifier: BSD-3-Clause
// What a trainer reports: the means of loss and metrics over the batches of an epoch, under Keras's names. Level 6.
#pragma once

#include <stagecraft/training/logs.hpp>
#include <stagecraft/training/metric_state.hpp>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

namespace stagecraft {

/// Running means of one run. In Keras's order: the total loss, one loss per output if there are several, then the
/// metrics of each output, whose names begin with the output's layer if there are several.
template <class Session, auto Training>
class step_results {
 public:
  static constexpr std::size_t outputs = Session::output_count;
  static constexpr auto metrics = static_cast<std::size_t>(Training.metrics.size());
  static constexpr std::size_t losses = outputs == 1 ? 1 : 1 + outputs;
  /// Number of values: of what `evaluate` gives.
  static constexpr std::size_t count = losses + outputs * metrics;

  step_results() {
    for (std::size_t output = 0; output < outputs; ++output)
      for (std::size_t i = 0; i < metrics; ++i)
        metrics_[output * metrics + i] =
            metric_state(compiled_metrics[static_cast<int>(i)], Session::sparse_targets(output),
                         Session::output_shape(output).back());
  }

  [[nodiscard]] static std::string name(std::size_t index) {
    if (index == 0) return "loss";
    if (index < losses) return output_name(index - 1) + "_loss";
    if constexpr (metrics > 0) {
      auto const output = (index - losses) / metrics;
      std::string const metric(compiled_metrics[static_cast<int>((index - losses) % metrics)].name());
      return outputs == 1 ? metric : output_name(output) + "_" + metric;
    }
    return {};
  }

  /// Logs with all names, to be filled again and again.
  [[nodiscard]] static logs make_logs() {
    logs result;
    for (std::size_t i = 0; i < count; ++i) result[name(i)] = 0;
    return result;
  }

  void reset() {
    for (auto& loss : losses_) loss.reset();
    for (auto& metric : metrics_) metric.reset();
  }

  /// Takes in a step of `rows` samples: predictions and targets are still in the session's memory.
  void add(Session& session, int rows, bool training) {
    losses_[0].add(static_cast<double>(session.total_loss()), rows);
    if constexpr (losses > 1)
      for (std::size_t output = 0; output < outputs; ++output)
        losses_[1 + output].add(static_cast<double>(session.loss(output)), rows);
    add_metrics(session, rows, training, std::make_index_sequence<outputs>{});
  }

  [[nodiscard]] std::array<double, count> values() const {
    std::array<double, count> result{};
    for (std::size_t i = 0; i < losses; ++i) result[i] = losses_[i].result();
    for (std::size_t i = 0; i < metrics_.size(); ++i) result[losses + i] = metrics_[i].result();
    return result;
  }

  /// Into logs from `make_logs`; does not allocate, unless a callback has cleared them.
  void write(logs& values_of_step) const {
    if (values_of_step.size() < count) values_of_step = make_logs();
    auto const all = values();
    for (std::size_t i = 0; i < count; ++i) values_of_step.value(i) = all[i];
  }
  /// Into any logs, each name with a prefix.
  void write(logs& values_of_epoch, std::string const& prefix) const {
    auto const all = values();
    for (std::size_t i = 0; i < count; ++i) values_of_epoch[prefix + name(i)] = all[i];
  }

 private:
  // A copy, since Clang 19 finds members of class type of a template argument at wrong places.
  static constexpr auto compiled_metrics = Training.metrics;

  [[nodiscard]] static std::string output_name(std::size_t output) {
    std::string result(Session::graph.layer_of(Session::outputs[output]).name.view());
    int same = 0;
    for (std::size_t i = 0; i < output; ++i)
      same +=
          Session::graph.call(Session::outputs[i]).layer == Session::graph.call(Session::outputs[output]).layer ? 1 : 0;
    return same > 0 ? result + "_" + std::to_string(same) : result;
  }

  template <std::size_t... Output>
  void add_metrics(Session& session, int rows, bool training, std::index_sequence<Output...>) {
    (add_metrics_of<Output>(session, rows, training), ...);
  }
  template <std::size_t Output>
  void add_metrics_of(Session& session, int rows, bool training) {
    for (std::size_t i = 0; i < metrics; ++i)
      metrics_[Output * metrics + i].update(session.prediction(Output, training), session.template target<Output>(),
                                            rows * Session::rows_per_sample(Output));
  }

  std::array<running_mean, losses> losses_;
  std::array<metric_state, outputs * metrics> metrics_;
};

}  // namespace stagecraft
