// SPDX-License-Identifier: BSD-3-Clause
// Inputs with their targets, for validation. Keras counterpart: the tuples (x, y) and (x, y, sample_weight) of
// `validation_data`.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/training/data/sample_set.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>

namespace stagecraft::trainers {

/// Anything with members x and y, such as the data sets of this library.
template <class Data>
concept LabelledData = requires(Data& data) {
  sample_set(data.x);
  sample_set(data.y);
};

/// The type of `.validation_data = test`, where test has members x and y, or `.validation_data = {x, y}`, or `{x, y,
/// sample_weight}`. Lvalues are used in place and must outlive this object, rvalues are kept.
struct labelled_samples {
  sample_set x;
  sample_set y;
  sample_source sample_weight;

  labelled_samples() = default;
  labelled_samples(sample_set inputs, sample_set targets, sample_source weights = {})
      : x(std::move(inputs)), y(std::move(targets)), sample_weight(std::move(weights)) {}

  template <class Data>
    requires(LabelledData<std::remove_reference_t<Data>> &&
             !std::is_same_v<std::remove_cvref_t<Data>, labelled_samples>)
  labelled_samples(Data&& data) : x(std::forward<Data>(data).x), y(std::forward<Data>(data).y) {}

  [[nodiscard]] bool given() const noexcept { return x.given(); }

  /// `count` samples from `first` on, in place, with their targets and weights.
  [[nodiscard]] labelled_samples slice(std::ptrdiff_t first, std::ptrdiff_t count) const {
    return {x.slice(first, count), y.slice(first, count),
            sample_weight.given() ? sample_weight.slice(first, count) : sample_weight};
  }
};

}  // namespace stagecraft::trainers
