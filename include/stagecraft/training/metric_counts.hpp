// SPDX-License-Identifier: BSD-3-Clause
// What metrics that are no means count in a row: yes/no predictions at thresholds, classes taken for classes.
// Keras counterpart: metrics_utils.update_confusion_matrix_variables, MeanIoU.update_state.
#pragma once

#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/metrics/confusion.hpp>
#include <stagecraft/training/metric_scores.hpp>
#include <array>
#include <cmath>
#include <cstddef>
#include <type_traits>

namespace stagecraft::trainers {

/// For metric_kind::confusion: how much positive and negative targets weigh whose predictions lie between two
/// thresholds.
template <metrics::metric Metric, int Width>
class confusion_counter {
  static constexpr auto options = own_from<metrics::detail::confusion_options>(Metric.options);
  static constexpr auto numbers = Metric.numbers;
  static constexpr bool has_label_weights = numbers.count > options.given();
  static constexpr int labels = options.per_label != 0 ? Width : 1;
  static constexpr std::size_t between =
      static_cast<std::size_t>(options.count) + 1;  // predictions behind i thresholds

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
  /// tf.math.top_k: of equal ones the first.
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
    // Near enough, whatever was rounded.
    if constexpr (options.given() == 0) below = static_cast<int>(value * static_cast<float>(options.count - 1));
    while (below < options.count && value > threshold(below)) ++below;
    while (below > 0 && !(value > threshold(below - 1))) --below;
    return static_cast<std::size_t>(below);
  }
};

/// For metric_kind::class_matrix: how often each class (row) was taken for each class (column).
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

}  // namespace stagecraft::trainers
