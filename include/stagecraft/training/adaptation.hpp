// SPDX-License-Identifier: BSD-3-Clause
// What layers learn of data without training: Keras's `adapt` of Normalization and Discretization.
#pragma once

#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/layers/preprocessing/discretization.hpp>
#include <stagecraft/layers/preprocessing/normalization.hpp>
#include <stagecraft/models/queries.hpp>
#include <stagecraft/training/callbacks/weight_array.hpp>
#include <stagecraft/training/data/data_checks.hpp>
#include <stagecraft/training/data/sample_set.hpp>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace stagecraft::detail {

// Templates, so that only programs that adapt a layer compile them.

/// Mean, variance and count of all samples, in double precision. `sample` is the shape of one.
template <class Source>
[[gnu::cold]] std::vector<weight_array> adapt_layer(layers::normalization const& layer, shape const& sample,
                                                    Source const& data) {
  auto const size = static_cast<std::size_t>(sample.size());
  std::vector<std::size_t> slot(size, 0);  // whose mean and variance an element belongs to
  std::vector<int> lengths;
  std::size_t slots = 1;
  for (int axis : layer.ascending_axes(sample.rank() + 1)) {
    --axis;  // of a sample
    std::size_t behind = 1;
    for (int i = axis + 1; i < sample.rank(); ++i) behind *= static_cast<std::size_t>(sample[i]);
    auto const length = static_cast<std::size_t>(sample[axis]);
    for (std::size_t i = 0; i < size; ++i) slot[i] = slot[i] * length + i / behind % length;
    lengths.push_back(sample[axis]);
    slots *= length;
  }
  std::vector<double> mean(slots, 0), variance(slots, 0);
  std::vector<float> row(size);
  double const count = static_cast<double>(data.count()) * static_cast<double>(size / slots);
  auto const add_up = [&](std::vector<double>& sums, auto const& value) {
    for (std::ptrdiff_t i = 0; i < data.count(); ++i) {
      data.gather(i, 1, row.data());
      for (std::size_t k = 0; k < size; ++k) sums[slot[k]] += value(static_cast<double>(row[k]), slot[k]);
    }
    for (double& sum : sums) sum /= count;
  };
  add_up(mean, [](double x, std::size_t) { return x; });
  add_up(variance, [&](double x, std::size_t of) { return (x - mean[of]) * (x - mean[of]); });
  return {{"", lengths, {mean.begin(), mean.end()}},
          {"", lengths, {variance.begin(), variance.end()}},
          {"", {}, {static_cast<float>(count)}}};
}

/// Some of many numbers in ascending order, and how many each stands for: Keras's summaries, step by step, so that
/// boundaries are Keras's. Definition: keras/layers/preprocessing/discretization.py.
template <class Number = float>
class number_summary {
 public:
  /// Takes about 1 / epsilon of them.
  number_summary(std::vector<Number> numbers, float epsilon) {
    std::sort(numbers.begin(), numbers.end());
    auto const apart = static_cast<std::size_t>(static_cast<float>(numbers.size()) / (1.0F / epsilon));
    auto const step = std::max<std::size_t>(apart, 1);
    for (std::size_t i = apart; i < numbers.size(); i += step) {
      values_.push_back(numbers[i]);
      weights_.push_back(static_cast<Number>(step));
    }
  }
  void merge(number_summary const& other, float epsilon) {
    auto values = values_, weights = weights_;
    values.insert(values.end(), other.values_.begin(), other.values_.end());
    weights.insert(weights.end(), other.weights_.begin(), other.weights_.end());
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return values[a] < values[b] || (!(values[b] < values[a]) && a < b);
    });
    values_.clear();
    weights_.clear();
    for (std::size_t const i : order) {
      values_.push_back(values[i]);
      weights_.push_back(weights[i]);
    }
    compress(static_cast<double>(epsilon));
  }
  /// Values at each `epsilon` of the weight.
  void compress(double epsilon) {
    std::vector<Number> total(weights_.size()), share(weights_.size());
    std::partial_sum(weights_.begin(), weights_.end(), total.begin());
    for (std::size_t i = 0; i < total.size(); ++i) share[i] = total[i] / total.back();
    auto const count = static_cast<std::size_t>(std::ceil(1.0 / epsilon));
    std::vector<Number> values(count), weights(count);
    double before = 0;
    for (std::size_t i = 0; i < count; ++i) {
      double const at = epsilon + static_cast<double>(i) * epsilon, up_to = interpolate(at, share, total);
      values[i] = static_cast<Number>(interpolate(at, share, values_));
      weights[i] = static_cast<Number>(up_to - before);
      before = up_to;
    }
    values_ = values;
    weights_ = weights;
  }
  [[nodiscard]] std::vector<Number> const& values() const noexcept { return values_; }

 private:
  static double interpolate(double at, std::vector<Number> const& places, std::vector<Number> const& values) {
    std::size_t i = 0;
    while (i < places.size() && static_cast<double>(places[i]) <= at) ++i;
    if (i == 0) return static_cast<double>(values.front());
    if (i == places.size()) return static_cast<double>(values.back());
    double const from = static_cast<double>(places[i - 1]), low = static_cast<double>(values[i - 1]);
    return low + (static_cast<double>(values[i]) - low) / (static_cast<double>(places[i]) - from) * (at - from);
  }

  std::vector<Number> values_, weights_;
};

/// Boundaries between bins that hold about as many of the numbers each. As in Keras, 32 samples at a time.
template <class Source>
[[gnu::cold]] std::vector<weight_array> adapt_layer(layers::discretization const& layer, shape const& sample,
                                                    Source const& data) {
  constexpr std::ptrdiff_t at_once = 32;
  float const epsilon = layer.options.epsilon;
  number_summary<> all({}, epsilon);
  for (std::ptrdiff_t i = 0; i < data.count(); i += at_once) {
    auto const rows = std::min(at_once, data.count() - i);
    std::vector<float> numbers(static_cast<std::size_t>(rows) * static_cast<std::size_t>(sample.size()));
    data.gather(i, rows, numbers.data());
    number_summary<> some(std::move(numbers), epsilon);
    some.merge(all, epsilon);
    all = std::move(some);
  }
  all.compress(1.0 / layer.options.num_bins);
  int const bounds = layer.options.num_bins - 1;
  return {{"", {bounds}, {all.values().begin(), all.values().begin() + bounds}}};
}

/// E1086: a layer that learns nothing of data.
template <class M, int Call>
inline constexpr diagnostic adapted_layer_problem = [] {
  diagnostic problem;
  constexpr bool has_rule =
      requires(sample_source const& data) { adapt_layer(layer_of<M, Call>, output_shape_of<M, Call>, data); };
  if (!has_rule || graph_of<M>.layer_of(Call).parameter_count == 0)
    problem.report(
        1086, "layer '", graph_of<M>.layer_of(Call).name, "' (", graph_of<M>.layer_of(Call).class_name,
        ") has nothing to adapt to data; a normalization without mean has, and a discretization with num_bins");
  return problem;
}();

/// The weights that a layer's call makes of data. Errors: E1086; E4001, E4003, E4010 data that do not fit.
template <class M, int Call>
std::vector<weight_array> adapted_weights(sample_set const& data) {
  static_assert(report<adapted_layer_problem<M, Call>>());
  if constexpr (adapted_layer_problem<M, Call>.failed()) {
    return {};
  } else {
    constexpr auto const& sample = output_shape_of<M, inputs_of<M, Call>[0]>;
    check_shapes("data", data, tracing::array_view<shape const>(&sample, 1));
    check_count("data", data[0].count());
    return adapt_layer(layer_of<M, Call>, sample, data[0]);
  }
}

}  // namespace stagecraft::detail
