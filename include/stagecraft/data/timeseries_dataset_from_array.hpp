// SPDX-License-Identifier: BSD-3-Clause
// Windows over a time series. Keras counterpart: keras.utils.timeseries_dataset_from_array.
#pragma once

#include <stagecraft/data/dataset.hpp>
#include <stagecraft/data/from.hpp>
#include <stagecraft/diagnostics/throw_error.hpp>
#include <stagecraft/training/data/shuffle.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace stagecraft::data {

/// Options of `timeseries_dataset_from_array`. Each can be left out.
struct timeseries_options {
  std::int64_t sequence_stride = 1;  ///< steps from the beginning of a window to that of the next
  std::int64_t sampling_rate = 1;    ///< steps from one of a window's samples to the next
  bool shuffle = false;              ///< true: windows come in random order, which differs in each pass
  std::uint64_t seed = 1;            ///< the order follows from it, and from the number of the pass
  std::int64_t start_index = 0;      ///< steps before this one are in no window
  std::int64_t end_index = 0;        ///< steps from this one on are in no window; 0: none is left out
};

namespace detail {

/// The first step of each window.
struct windows_of_series {
  std::int64_t first = 0, count = 0;
  std::size_t length = 1;
  timeseries_options options;

  [[nodiscard]] std::int64_t start(std::int64_t window) const noexcept {
    return first + window * options.sequence_stride;
  }
};

/// Finds the windows. Errors: E4011, E4124.
[[nodiscard]] inline windows_of_series windows_of(std::int64_t steps, std::int64_t targets, std::int64_t length,
                                                  timeseries_options const& options) {
  auto const require = [](char const* what, std::int64_t found, std::int64_t least, std::int64_t most) {
    if (found < least)
      stagecraft::detail::throw_data_error("E4011",
                                           "timeseries_dataset_from_array: %s: expected at least %lld, found %lld",
                                           what, static_cast<long long>(least), static_cast<long long>(found));
    if (found > most)
      stagecraft::detail::throw_data_error("E4124",
                                           "timeseries_dataset_from_array: %s: expected at most %lld, found %lld", what,
                                           static_cast<long long>(most), static_cast<long long>(found));
  };
  auto const end = options.end_index == 0 ? steps : options.end_index;
  require("end_index", end, 1, steps);
  require("start_index", options.start_index, 0, end - 1);
  auto const found = end - options.start_index;
  require("sequence_stride", options.sequence_stride, 1, found);
  require("sampling_rate", options.sampling_rate, 1, found);
  require("sequence_length", length, 1, (found - 1) / options.sampling_rate + 1);
  auto starts = found - (length - 1) * options.sampling_rate;
  if (targets >= 0) starts = std::min(starts, targets - options.start_index);  // the windows that have a target
  if (starts < 1)
    stagecraft::detail::throw_data_error(
        "E4124", "timeseries_dataset_from_array: targets: expected more than start_index, %lld, found %lld",
        static_cast<long long>(options.start_index), static_cast<long long>(targets));
  return {options.start_index, (starts - 1) / options.sequence_stride + 1, static_cast<std::size_t>(length), options};
}

/// `make(start)` makes the element whose window begins at a step.
template <class Element, class Make>
class series_stream final : public stream<Element> {
 public:
  series_stream(std::shared_ptr<Make const> make, windows_of_series const& windows, std::uint64_t pass)
      : make_(std::move(make)),
        windows_(windows),
        order_(windows.options.shuffle ? static_cast<std::size_t>(windows.count) : 0) {
    std::iota(order_.begin(), order_.end(), std::int64_t{0});
    stagecraft::detail::order_generator generator(windows.options.seed, pass);
    for (std::size_t i = order_.size(); i > 1; --i)
      std::swap(order_[i - 1], order_[generator.below(static_cast<std::uint32_t>(i))]);
  }
  std::optional<Element> next() override {
    if (at_ == windows_.count) return std::nullopt;
    auto const window = order_.empty() ? at_ : order_[static_cast<std::size_t>(at_)];
    ++at_;
    return std::optional<Element>((*make_)(windows_.start(window)));
  }

 private:
  std::shared_ptr<Make const> make_;
  windows_of_series windows_;
  std::vector<std::int64_t> order_;
  std::int64_t at_ = 0;
};

template <class Make>
[[nodiscard]] auto dataset_of_windows(Make make, windows_of_series const& windows) {
  using element = decltype(make(std::int64_t{}));
  auto const kept = std::make_shared<Make const>(std::move(make));
  return dataset<element>(windows.count, [kept, windows](std::uint64_t pass) {
    return std::make_unique<series_stream<element, Make>>(kept, windows, pass);
  });
}

}  // namespace detail

/// Windows of `sequence_length` steps over an array whose first axis is time: views of the array, (sequence_length,
/// ...), valid as long as the array is (see `from`). Elements are single windows, which `batch` or `fit` groups; Keras
/// makes batches of 128. Errors: data_error E4011, E4124 options that leave no window, E4016.
template <class Series>
[[nodiscard]] auto timeseries_dataset_from_array(Series&& data, std::int64_t sequence_length,
                                                 timeseries_options const& options = {}) {
  auto rows = detail::rows_of(std::forward<Series>(data));
  auto const windows = detail::windows_of(rows.count(), -1, sequence_length, options);
  return detail::dataset_of_windows(
      [rows = std::move(rows), windows](std::int64_t start) {
        return rows.window(start, windows.length, static_cast<std::size_t>(windows.options.sampling_rate));
      },
      windows);
}
/// Windows with targets: elements are tuples of a window and of the target whose number is that of the window's first
/// step. To predict the step after a window, pass targets that begin `sequence_length` steps later. There are no more
/// windows than targets.
template <class Series, class Targets>
  requires trainers::SampleData<Targets>
[[nodiscard]] auto timeseries_dataset_from_array(Series&& data, Targets&& targets, std::int64_t sequence_length,
                                                 timeseries_options const& options = {}) {
  auto rows = detail::rows_of(std::forward<Series>(data));
  auto labels = detail::rows_of(std::forward<Targets>(targets));
  auto const windows = detail::windows_of(rows.count(), labels.count(), sequence_length, options);
  return detail::dataset_of_windows(
      [rows = std::move(rows), labels = std::move(labels), windows](std::int64_t start) {
        return std::tuple(rows.window(start, windows.length, static_cast<std::size_t>(windows.options.sampling_rate)),
                          labels[start]);
      },
      windows);
}

}  // namespace stagecraft::data
