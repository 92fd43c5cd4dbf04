// SPDX-License-Identifier: BSD-3-Clause
// Samples become the rows of arrays, and rows of arrays become samples.
#pragma once

#include <stagecraft/data/array_batch.hpp>
#include <stagecraft/data/detail/element.hpp>
#include <stagecraft/data/detail/parts.hpp>
#include <stagecraft/data/word_options.hpp>
#include <stagecraft/diagnostics/number_text.hpp>
#include <stagecraft/diagnostics/throw_error.hpp>
#include <stagecraft/graph/shape.hpp>
#include <stagecraft/training/data/data_checks.hpp>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace stagecraft::data::detail {

/// The padding that lets samples of unequal shapes fit into one array, for `padded_batch`. Without it they do not fit.
struct padding_of_batch {
  padded_batch_options const* options = nullptr;  // null: all samples have the shape of the first one
  std::size_t array = 0;                          // number of the element's array that comes next
};

/// The shape that the samples of an array are padded to. E4121.
[[nodiscard]] inline shape padded_shape(shape const& longest, padded_batch_options const& options, std::size_t array) {
  if (options.padded_shapes.empty()) return longest;
  auto const refuse = [&](char const* what, std::size_t expected, std::size_t found) {
    stagecraft::detail::throw_data_error("E4121", "padded_batch: padded_shapes[%zu]: expected %s%zu, found %zu", array,
                                         what, expected, found);
  };
  if (array >= options.padded_shapes.size())
    stagecraft::detail::throw_data_error(
        "E4121", "padded_batch: padded_shapes: expected a shape for each array of an element, found %zu",
        options.padded_shapes.size());
  auto const& asked = options.padded_shapes[array];
  if (asked.size() != static_cast<std::size_t>(longest.rank()))
    refuse("as many axes as samples have, ", static_cast<std::size_t>(longest.rank()), asked.size());
  shape result;
  for (int axis = 0; axis < longest.rank(); ++axis) {
    int const extent =
        asked[static_cast<std::size_t>(axis)] < 0 ? longest[axis] : asked[static_cast<std::size_t>(axis)];
    if (extent < longest[axis])
      refuse("axes at least as long as those of the samples, ", static_cast<std::size_t>(longest[axis]),
             static_cast<std::size_t>(extent));
    result.push_back(extent);
  }
  return result;
}

/// The number that an array is padded with. E4121.
[[nodiscard]] inline double padding_value(padded_batch_options const& options, std::size_t array) {
  auto const& values = options.padding_values;
  if (values.empty()) return 0;
  if (values.size() == 1) return values[0];
  if (array >= values.size())
    stagecraft::detail::throw_data_error(
        "E4121", "padded_batch: padding_values: expected one number, or one for each array of an element, found %zu",
        values.size());
  return values[array];
}

/// A number that fills up arrays of another type. E4121 if that type does not have it.
template <class Number>
[[nodiscard]] Number padding_as(double value, char const* what) {
  if constexpr (std::is_integral_v<Number>) {
    constexpr auto above = 2.0 * static_cast<double>(std::numeric_limits<Number>::max() / 2 + 1);
    constexpr auto least = static_cast<double>(std::numeric_limits<Number>::min());
    if (!(value >= least && value < above) || value != std::floor(value))
      stagecraft::detail::throw_data_error("E4121", "%s: expected a whole number that the arrays' type has, found %s",
                                           what, diagnostics::general_digits(value, 6).c_str());
  }
  return static_cast<Number>(value);
}

/// Copies a sample into the corner of a larger one.
template <class From, class To>
void place_corner(From const* from, shape const& from_shape, To* to, shape const& to_shape, int axis = 0) {
  if (axis == from_shape.rank()) {
    *to = *from;
    return;
  }
  std::size_t from_step = 1, to_step = 1;
  for (int i = axis + 1; i < from_shape.rank(); ++i) {
    from_step *= static_cast<std::size_t>(from_shape[i]);
    to_step *= static_cast<std::size_t>(to_shape[i]);
  }
  if (axis + 1 == from_shape.rank())
    std::copy_n(from, from_shape[axis], to);
  else
    for (int i = 0; i < from_shape[axis]; ++i, from += from_step, to += to_step)
      place_corner(from, from_shape, to, to_shape, axis + 1);
}

[[noreturn, gnu::cold]] inline void refuse_unequal_samples(shape const& first, shape const& found, std::size_t at) {
  stagecraft::detail::throw_data_error(
      "E4118",
      "batch: expected samples of shape %s, as the first one is, found %s at sample %zu of the batch; "
      "padded_batch pads them",
      stagecraft::detail::shape_text(first).c_str(), stagecraft::detail::shape_text(found).c_str(), at);
}

/// One array of the samples `at(0)` ... `at(count - 1)`, of which there is at least one.
template <ArrayPart Part, class At>
[[nodiscard]] stacked_type<Part> stack_part(std::size_t count, At const& at, padding_of_batch& padding) {
  using number = typename stacked_part<Part>::number;
  shape const first = shape_of_part(at(0));
  shape own = first;
  if (padding.options != nullptr) {
    for (std::size_t i = 1; i < count; ++i) {
      shape const other = shape_of_part(at(i));
      if (other.rank() != own.rank()) refuse_unequal_samples(first, other, i);
      shape longer;
      for (int axis = 0; axis < own.rank(); ++axis) longer.push_back(std::max(own[axis], other[axis]));
      own = longer;
    }
    own = padded_shape(own, *padding.options, padding.array);
  }
  std::vector<std::size_t> extents{count};
  for (int axis = 0; axis < own.rank(); ++axis) extents.push_back(static_cast<std::size_t>(own[axis]));
  auto result = stacked_type<Part>::from_shape(extents);
  auto const size = static_cast<std::size_t>(own.size());
  auto* to = result.data();
  if (padding.options != nullptr) {
    std::fill_n(to, count * size,
                padding_as<number>(padding_value(*padding.options, padding.array), "padded_batch: padding_values"));
    std::vector<std::conditional_t<std::is_same_v<number, bool>, char, number>> sample;
    for (std::size_t i = 0; i < count; ++i, to += size) {
      shape const from = shape_of_part(at(i));
      sample.resize(static_cast<std::size_t>(from.size()));
      write_part(at(i), sample.data());
      place_corner(sample.data(), from, to, own);
    }
    ++padding.array;
    return result;
  }
  for (std::size_t i = 0; i < count; ++i, to += size) {
    if (shape const found = shape_of_part(at(i)); !(found == own)) refuse_unequal_samples(first, found, i);
    write_part(at(i), to);
  }
  return result;
}

template <class Sample, class At>
[[nodiscard]] stacked_type<Sample> stack_samples(std::size_t count, At const& at, padding_of_batch& padding) {
  if constexpr (ArrayPart<Sample>) {
    return stack_part<Sample>(count, at, padding);
  } else {
    return [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      return stacked_type<Sample>{stack_samples<std::remove_cv_t<std::tuple_element_t<Index, Sample>>>(
          count, [&at](std::size_t i) -> auto const& { return std::get<Index>(at(i)); }, padding)...};
    }(std::make_index_sequence<std::tuple_size_v<Sample>>{});
  }
}

/// The arrays of a batch, whose samples are their rows. Errors: E4118, E4121.
template <class Sample>
[[nodiscard]] array_batch<stacked_type<Sample>> stack(std::vector<Sample> const& samples,
                                                      padded_batch_options const* options = nullptr) {
  padding_of_batch padding{options};
  auto result = stack_samples<Sample>(
      samples.size(), [&samples](std::size_t i) -> decltype(auto) { return samples[i]; }, padding);
  if (options != nullptr && std::max(options->padded_shapes.size(), options->padding_values.size()) > padding.array)
    stagecraft::detail::throw_data_error(
        "E4121", "padded_batch: expected at most one of padded_shapes and of padding_values for each of %zu arrays",
        padding.array);
  return result;
}

/// Number of samples of one array of a batch.
template <class Array>
[[nodiscard]] std::size_t count_of_rows(Array const& array) {
  if constexpr (trainers::SequenceData<Array>) {
    return array.size();
  } else {
    if (array.dimension() == 0)
      stagecraft::detail::throw_data_error("E4016",
                                           "dataset: expected batches whose first axis counts samples, found a number");
    return static_cast<std::size_t>(array.shape()[0]);
  }
}

/// Number of samples of a batch. E4117.
template <class Arrays>
[[nodiscard]] std::size_t rows_in_batch(Arrays const& arrays) {
  std::size_t count = 0;
  bool is_first = true;
  visit_arrays(arrays, [&](auto const& array) {
    auto const found = count_of_rows(array);
    if (!is_first && found != count)
      stagecraft::detail::throw_data_error(
          "E4117", "dataset: expected arrays of %zu samples in a batch, as many as its first one has, found %zu", count,
          found);
    count = found;
    is_first = false;
  });
  return count;
}

/// The shape of one row of an array.
template <class Array>
[[nodiscard]] shape shape_of_row(Array const& array) {
  static_cast<void>(count_of_rows(array));
  shape row;
  if constexpr (trainers::TensorData<Array>) {
    std::size_t numbers = 1;
    for (std::size_t axis = 1; axis < array.dimension(); ++axis)
      row.push_back(extent_of_part(static_cast<std::size_t>(array.shape()[axis]), numbers));
  }
  return row;
}

/// One sample of a batch, or of a tensor.
template <class Arrays>
[[nodiscard]] row_type<Arrays> row_of(Arrays const& arrays, std::size_t index) {
  if constexpr (trainers::SequenceData<Arrays>) {
    return arrays.data()[index];
  } else if constexpr (trainers::TensorData<Arrays>) {
    if constexpr (rank_of<Arrays> == 1)
      return arrays(index);
    else
      return xt::view(arrays, index);
  } else {
    return std::apply([index](auto const&... each) { return row_type<Arrays>{row_of(each, index)...}; }, arrays);
  }
}

}  // namespace stagecraft::data::detail
