// SPDX-License-Identifier: BSD-3-Clause
// Running means and counts of losses and metrics over the batches of an epoch. Sums are kept in double where Keras
// keeps float32. Keras counterpart: tf.keras.metrics.Mean, metrics_utils.update_confusion_matrix_variables,
// MeanIoU.update_state.
#pragma once

#include <stagecraft/description/output_masks.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/host/lists/plan_runner.hpp>
#include <stagecraft/metrics/confusion.hpp>
#include <stagecraft/metrics/metric_plan.hpp>
#include <stagecraft/metrics/resolve.hpp>
#include <stagecraft/training/metric_scores.hpp>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace stagecraft::trainers {

/// For metric_kind::confusion: the weights of positive and of negative targets whose predictions lie between two
/// thresholds.
template <metrics::metric Metric, int Width>
class confusion_counter {
  static constexpr auto options = own_from<metrics::detail::confusion_options>(Metric.options);
  static constexpr auto numbers = Metric.numbers;
  static constexpr bool has_label_weights = numbers.count > options.given();
  static constexpr int labels = options.per_label != 0 ? Width : 1;
  static constexpr std::size_t between = static_cast<std::size_t>(options.count) + 1;  // one more than thresholds

 public:
  static constexpr std::size_t size = 2 * between * static_cast<std::size_t>(labels);

  template <class Target>
  static void add(float const* prediction, Target const* target, double weight,
                  tracing::array_view<double> sums) noexcept {
    std::array<bool, Width> is_in_top{};
    if constexpr (Metric.k > 0 && Metric.k < Width) find_top(prediction, is_in_top);
    for (int column = 0; column < Width; ++column) {
      if (options.class_id >= 0 && options.class_id != column) continue;
      float value = prediction[column];
      if constexpr (options.from_logits != 0) value = 1 / (1 + std::exp(-value));
      if (Metric.k > 0 && Metric.k < Width && !is_in_top[column]) value = -1e10F;
      auto const label = static_cast<std::size_t>(labels > 1 ? column : 0);
      double const counted = labels > 1 ? weight : weight * weight_of(column);
      sums[(2 * label + (is_positive(target, column) ? 0 : 1)) * between + thresholds_below(value)] += counted;
    }
  }

  [[nodiscard]] static double result(metric_sums const& sums) {
    double total = 0, weights = 0;
    for (std::size_t label = 0; label < static_cast<std::size_t>(labels); ++label) {
      std::array<double, 4 * (between - 1)> counts{};
      double positives = 0, negatives = 0, all_positives = 0, all_negatives = 0;
      auto const* const of_positives = &sums.values[2 * label * between];
      auto const* const of_negatives = of_positives + between;
      for (std::size_t i = 0; i < between; ++i) {
        all_positives += of_positives[i];
        all_negatives += of_negatives[i];
      }
      for (std::size_t i = between - 1; i-- > 0;) {
        counts[i] = positives += of_positives[i + 1];
        counts[between - 1 + i] = negatives += of_negatives[i + 1];
        counts[2 * (between - 1) + i] = all_negatives - negatives;
        counts[3 * (between - 1) + i] = all_positives - positives;
      }
      double const weight = labels > 1 ? weight_of(static_cast<int>(label)) : 1;
      total += weight * Metric.result->call(Metric.options, {counts, sums.weight});
      weights += weight;
    }
    return metrics::detail::ratio(total, weights);
  }

 private:
  [[nodiscard]] static constexpr double weight_of(int column) noexcept {
    return has_label_weights ? static_cast<double>(numbers.numbers[options.given() + column]) : 1;
  }
  [[nodiscard]] static constexpr float threshold(int index) noexcept { return options.at(index, numbers); }
  template <class Target>
  [[nodiscard]] static bool is_positive(Target const* target, int column) noexcept {
    if constexpr (std::is_same_v<Target, float> || Width == 1)
      return target[column] != 0;
    else
      return *target == column;
  }
  /// tf.math.top_k: the first of equal numbers ranks higher.
  static void find_top(float const* prediction, std::array<bool, Width>& is_in_top) noexcept {
    for (int k = 0; k < Metric.k; ++k) {
      int best = -1;
      for (int i = 0; i < Width; ++i)
        if (!is_in_top[i] && (best < 0 || prediction[i] > prediction[best])) best = i;
      is_in_top[best] = true;
    }
  }
  [[nodiscard]] static std::size_t thresholds_below(float value) noexcept {
    if (!(value > threshold(0))) return 0;  // NaN, too
    if constexpr (options.count == 1) return 1;
    if (value > threshold(options.count - 1)) return static_cast<std::size_t>(options.count);
    int below = 0;
    // The estimate may be off by rounding.
    if constexpr (options.given() == 0) below = static_cast<int>(value * static_cast<float>(options.count - 1));
    while (below < options.count && value > threshold(below)) ++below;
    while (below > 0 && !(value > threshold(below - 1))) --below;
    return static_cast<std::size_t>(below);
  }
};

/// For metric_kind::class_matrix: counts how often each class (row) was predicted as each class (column).
template <metrics::metric Metric, int Width>
struct class_matrix_counter {
  static constexpr int classes = Metric.k;
  static constexpr std::size_t size = static_cast<std::size_t>(classes) * static_cast<std::size_t>(classes);

  template <class Target>
  static void add(float const* prediction, Target const* target, double weight,
                  tracing::array_view<double> sums) noexcept {
    int const predicted = class_of(prediction);
    int wanted = 0;
    if constexpr (std::is_same_v<Target, float>)
      wanted = class_of(target);
    else
      wanted = static_cast<int>(*target);
    if (predicted < 0 || predicted >= classes || wanted < 0 || wanted >= classes) return;
    sums[wanted * classes + predicted] += weight;
  }
  [[nodiscard]] static double result(metric_sums const& sums) { return Metric.result->call(Metric.options, sums); }

 private:
  [[nodiscard]] static int class_of(float const* values) noexcept {
    if constexpr (Width > 1) return first_largest(values, Width);
    return *values >= 0 && *values < static_cast<float>(classes) ? static_cast<int>(*values) : -1;
  }
};

/// A running weighted mean. The mean of no values is 0, as in Keras.
class running_mean {
 public:
  void add(double value, double weight = 1) noexcept {
    sum_ += value * weight;
    weight_ += weight;
  }
  void reset() noexcept { sum_ = weight_ = 0; }
  [[nodiscard]] double result() const noexcept { return weight_ != 0 ? sum_ / weight_ : 0; }

 private:
  double sum_ = 0;
  double weight_ = 0;
};

/// For metrics with a `result` that follows from what their `call` returns: takes groups of rows, the last of which may
/// have a weight of 0.
template <metrics::metric Metric, bool SparseTargets, int Width>
class traced_sums {
  static constexpr int rows = Width > 64 ? 2048 / (Width < 2048 ? Width : 2048) : 32;
  static constexpr auto const& plan = plan_of_metric<Metric, SparseTargets, rows, Width>::value;
  static constexpr int target_width = SparseTargets ? 1 : Width;

 public:
  static constexpr auto size = static_cast<std::size_t>(plan.nodes[plan.output].shape[-1]);

  template <class Target, class Weight>
  static void add_rows(float const* predictions, Target const* targets, int count, Weight const& weight,
                       tracing::array_view<double> sums) noexcept {
    std::array<float, static_cast<std::size_t>(rows) * Width> some_predictions;
    std::array<float, static_cast<std::size_t>(rows) * target_width> some_targets;
    std::array<float, rows> weights;
    for (int first = 0; first < count; first += rows) {
      for (int i = 0; i < rows; ++i) {
        int const row = first + i < count ? first + i : count - 1;
        weights[i] = first + i < count ? weight(row) : 0.0F;
        for (int k = 0; k < Width; ++k) some_predictions[i * Width + k] = predictions[std::ptrdiff_t{row} * Width + k];
        for (int k = 0; k < target_width; ++k)
          some_targets[i * target_width + k] = static_cast<float>(targets[std::ptrdiff_t{row} * target_width + k]);
      }
      add_some(some_predictions.data(), some_targets.data(), weights.data(), sums);
    }
  }
  [[nodiscard]] static double result(metric_sums const& sums) { return Metric.result->call(Metric.options, sums); }

 private:
  static void add_some(float const* predictions, float const* targets, float const* weights,
                       tracing::array_view<double> sums) noexcept {
    using runner = plan_runner<>;
    alignas(64) std::array<float, static_cast<std::size_t>(runner::floats(plan)) + 1> memory;
    std::array<float*, plan.nodes.size()> addresses;
    std::array<float, size> added;
    float const* const inputs[]{targets, predictions, weights};
    runner run(plan, memory.data(), addresses);
    run.forward({.inputs = inputs, .output = added.data()});
    float const* const found = run.address(plan.output);
    for (std::size_t i = 0; i < size; ++i) sums[i] += static_cast<double>(found[i]);
  }
};

template <metrics::metric Metric, bool SparseTargets, int Width, shape Sample>
constexpr auto counter_of_metric() {
  using enum metrics::metric_kind;
  if constexpr (Metric.kind == confusion)
    return confusion_counter<Metric, Width>{};
  else if constexpr (Metric.kind == class_matrix)
    return class_matrix_counter<Metric, Width>{};
  else if constexpr (Metric.result != nullptr)
    return traced_sums<Metric, SparseTargets, Width>{};
  else
    return mean_of_scores<Metric, Width, Sample>{};
}

/// One metric of the rows seen since the last reset; `accuracy` is resolved. It does not allocate.
///
/// Keras's rules: compiled metrics do not see sample weights (pass none), weighted metrics do;
/// rows that only pad a partial batch are left out by the caller. For outputs of higher rank a row is one vector along
/// the last axis, which has `Width` columns; of a metric along another axis it is a whole sample, of that shape.
template <metrics::metric Metric, bool SparseTargets, int Width, shape Sample = shape{}>
class metric_state {
 public:
  /// The metric, with `accuracy` resolved.
  static constexpr metrics::metric resolved = metrics::resolve(Metric, SparseTargets, Width);

  /// Takes in `rows` rows of predictions and their targets: `Width` columns each, or one class number.
  /// \param weights null, or weights, to be multiplied by `factor`: each row has one or several, of which the first
  /// counts, or shares one with its neighbours
  template <class Target>
  [[gnu::noinline]] void update(float const* predictions, Target const* targets, int rows,
                                float const* weights = nullptr, int factor = 1, int weights_per_sample = 1,
                                int rows_per_sample = 1) noexcept {
    add(predictions, targets, rows, [&](int row) {
      return weights == nullptr
                 ? 1.0F
                 : weights[std::ptrdiff_t{row} * weights_per_sample / rows_per_sample] * static_cast<float>(factor);
    });
  }
  /// Updates without weights, except that rows of masked steps, which `weights` marks, do not count.
  template <class Target>
  void update_unmasked(float const* predictions, Target const* targets, int rows, float const* weights) noexcept {
    add(predictions, targets, rows, [&](int row) { return is_masked(weights[row]) ? 0.0F : 1.0F; });
  }

  /// Adds the state of another replica.
  void merge(metric_state const& other) noexcept {
    for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i] += other.sums_[i];
    weight_ += other.weight_;
  }

  void reset() noexcept { *this = {}; }
  /// The mean so far, or the metric's `result` of its sums; 0 before the first row.
  [[nodiscard]] double result() const { return counter::result({sums_, weight_}); }

 private:
  using counter = decltype(counter_of_metric<resolved, SparseTargets, Width, Sample>());

  template <class Target, class Weight>
  void add(float const* predictions, Target const* targets, int rows, Weight const& weight) noexcept {
    constexpr int target_width = [] {
      if constexpr (std::is_same_v<Target, float>)
        return Width;
      else if constexpr (Sample.rank() > 0)
        return Width / Sample[losses::detail::axis_of_sample(Metric.along - 1, Sample)];
      else
        return 1;
    }();
    if constexpr (requires {
                    counter::add_rows(predictions, targets, rows, weight, tracing::array_view<double>(sums_));
                  }) {
      counter::add_rows(predictions, targets, rows, weight, tracing::array_view<double>(sums_));
      for (int row = 0; row < rows; ++row) weight_ += static_cast<double>(weight(row));
    } else {
      for (int row = 0; row < rows; ++row) {
        auto const weight_of_row = static_cast<double>(weight(row));
        counter::add(predictions + std::ptrdiff_t{row} * Width, targets + std::ptrdiff_t{row} * target_width,
                     weight_of_row, tracing::array_view<double>(sums_));
        weight_ += weight_of_row;
      }
    }
  }

  std::array<double, counter::size> sums_{};
  double weight_ = 0;
};

}  // namespace stagecraft::trainers
