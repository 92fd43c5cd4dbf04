// SPDX-License-Identifier: BSD-3-Clause
// Weights that layers compute from data without training: Keras's `adapt` of Normalization and Discretization.
#pragma once

#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/layers/preprocessing/features.hpp>
#include <stagecraft/models/queries.hpp>
#include <stagecraft/training/callbacks/trainable.hpp>
#include <stagecraft/training/data/data_checks.hpp>
#include <stagecraft/training/data/sample_set.hpp>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace stagecraft::trainers {

// The functions are templates, so that only programs that adapt a layer compile them. Each call of `data(visit)` reads
// all samples and calls `visit(numbers, count)` for each group of `count` samples, which follow each other.

/// The samples of an array, as many at a time as Keras's `adapt` of arrays takes.
struct samples_of_array {
  sample_source const& array;

  template <class Visit>
  void operator()(Visit const& visit) const {
    constexpr std::ptrdiff_t at_once = 32;
    std::vector<float> numbers(static_cast<std::size_t>(at_once) * static_cast<std::size_t>(array.sample_size()));
    for (std::ptrdiff_t i = 0; i < array.count(); i += at_once) {
      auto const rows = std::min(at_once, array.count() - i);
      array.gather(i, rows, numbers.data());
      visit(numbers.data(), rows);
    }
  }
};

/// Mean, variance and count of all samples, in double precision. `sample` is the shape of one.
template <class Source>
[[gnu::cold]] std::vector<weight_array> adapt_layer(layers::normalization const& layer, shape const& sample,
                                                    Source const& data) {
  auto const size = static_cast<std::size_t>(sample.size());
  std::vector<std::size_t> slot(size, 0);  // the mean and variance that each element belongs to
  std::vector<int> lengths;
  std::size_t slots = 1;
  for (int axis : layer.ascending_axes(sample.rank() + 1)) {
    --axis;  // counted without the samples' axis
    std::size_t behind = 1;
    for (int i = axis + 1; i < sample.rank(); ++i) behind *= static_cast<std::size_t>(sample[i]);
    auto const length = static_cast<std::size_t>(sample[axis]);
    for (std::size_t i = 0; i < size; ++i) slot[i] = slot[i] * length + i / behind % length;
    lengths.push_back(sample[axis]);
    slots *= length;
  }
  std::vector<double> mean(slots, 0), variance(slots, 0);
  std::ptrdiff_t samples = 0;
  double count = 0;
  auto const add_up = [&](std::vector<double>& sums, auto const& value) {
    samples = 0;
    data([&](float const* row, std::ptrdiff_t rows) {
      for (std::ptrdiff_t i = 0; i < rows; ++i, row += size)
        for (std::size_t k = 0; k < size; ++k) sums[slot[k]] += value(static_cast<double>(row[k]), slot[k]);
      samples += rows;
    });
    count = static_cast<double>(samples) * static_cast<double>(size / slots);
    for (double& sum : sums) sum /= count;
  };
  add_up(mean, [](double x, std::size_t) { return x; });
  add_up(variance, [&](double x, std::size_t of) { return (x - mean[of]) * (x - mean[of]); });
  return {{"", lengths, {mean.begin(), mean.end()}},
          {"", lengths, {variance.begin(), variance.end()}},
          {"", {}, {static_cast<float>(count)}}};
}

/// A summary of many numbers: some of them in ascending order, each with the number of those that it stands for. It
/// follows Keras's summaries step by step, so that boundaries are Keras's. Definition:
/// keras/layers/preprocessing/discretization.py.
template <class Number = float>
class number_summary {
 public:
  /// Keeps about 1 / epsilon of the numbers.
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
  /// Keeps the values at multiples of `epsilon` of the total weight.
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

/// Boundaries between bins that hold about the same number of values. As in Keras, they depend slightly on the number
/// of samples that come at a time.
template <class Source>
[[gnu::cold]] std::vector<weight_array> adapt_layer(layers::discretization const& layer, shape const& sample,
                                                    Source const& data) {
  float const epsilon = layer.options.epsilon;
  number_summary<> all({}, epsilon);
  data([&](float const* numbers, std::ptrdiff_t rows) {
    number_summary<> some({numbers, numbers + rows * sample.size()}, epsilon);
    some.merge(all, epsilon);
    all = std::move(some);
  });
  all.compress(1.0 / layer.options.num_bins);
  int const bounds = layer.options.num_bins - 1;
  return {{"", {bounds}, {all.values().begin(), all.values().begin() + bounds}}};
}

/// Reports E1086 for a layer that cannot be adapted.
template <class M, int Call>
inline constexpr diagnostic adapted_layer_problem = [] {
  diagnostic problem;
  constexpr bool has_rule =
      requires(samples_of_array const& data) { adapt_layer(layer_of<M, Call>, output_shape_of<M, Call>, data); };
  if (!has_rule || graph_of<M>.layer_of(Call).parameter_count == 0)
    problem.report(
        1086, "layer '", graph_of<M>.layer_of(Call).name, "' (", graph_of<M>.layer_of(Call).class_name,
        ") has nothing to adapt to data; a normalization without mean has, and a discretization with num_bins");
  return problem;
}();

/// The weights that a layer computes from data. Errors: E4001, E4003, E4010, E5225 data that do not fit.
template <class M, int Call>
std::vector<weight_array> adapted_weights(sample_set const& data) {
  if constexpr (adapted_layer_problem<M, Call>.failed()) {
    return {};
  } else {
    constexpr auto const& sample = output_shape_of<M, inputs_of<M, Call>[0]>;
    check_shapes("data", data, tracing::array_view<shape const>(&sample, 1));
    check_count("data", data[0].count());
    check_array_numbers("data", data[0]);
    return adapt_layer(layer_of<M, Call>, sample, samples_of_array{data[0]});
  }
}

/// Weights adapted to a dataset, <stagecraft/data/dataset.hpp>, which is read once for each of the sums. Errors: E4001,
/// E4003, E4010 elements that do not fit, E4063 a dataset without an end and no `steps`.
template <class M, int Call, class Data>
std::vector<weight_array> weights_adapted_to_stream(Data const& dataset, typename Data::adapt_options const& options) {
  if constexpr (adapted_layer_problem<M, Call>.failed()) {
    return {};
  } else {
    constexpr auto const& sample = output_shape_of<M, inputs_of<M, Call>[0]>;
    check_at_least("steps", options.steps, 0);
    std::ptrdiff_t count = 0;
    auto const read = [&](auto const& visit) {
      count = 0;
      dataset.visit_inputs(options.steps, [&](shape const& found, float const* numbers, std::ptrdiff_t rows) {
        if (!same_but_for_a_last_one(found, sample))
          throw_data_error("E4001", "data: expected samples of shape %s, found %s", shape_text(sample).c_str(),
                           shape_text(found).c_str());
        visit(numbers, rows);
        count += rows;
      });
      check_count("data", count);
    };
    return adapt_layer(layer_of<M, Call>, sample, read);
  }
}

}  // namespace stagecraft::trainers
