// SPDX-License-Identifier: BSD-3-Clause
// The arrays that an element of a dataset is made of, their shapes and numbers.
#pragma once

#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/diagnostics/number_text.hpp>
#include <stagecraft/diagnostics/throw_error.hpp>
#include <stagecraft/graph/shape.hpp>
#include <stagecraft/training/data/sample_set.hpp>
#include <stagecraft/training/data/sample_source.hpp>
#include <algorithm>
#include <cstddef>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

namespace stagecraft::data::detail {

/// A part that is a number, a list of numbers or a tensor, but no tuple of them.
template <class Part>
concept ArrayPart = std::is_arithmetic_v<Part> || trainers::SampleData<Part>;

/// Returns one of a sample's extents as an int and multiplies `numbers` by it. E4016 if either is too large for an int.
[[nodiscard]] inline int extent_of_part(std::size_t extent, std::size_t& numbers) {
  constexpr std::size_t most = std::numeric_limits<int>::max();
  if (extent > most || (extent > 0 && numbers > most / extent))
    stagecraft::detail::throw_data_error("E4016", "dataset: expected samples of at most %zu numbers, found more", most);
  numbers *= extent;
  return static_cast<int>(extent);
}

template <ArrayPart Part>
[[nodiscard]] shape shape_of_part(Part const& part) {
  shape result;
  if constexpr (trainers::TensorData<Part>) {
    if (part.dimension() > shape::max_rank)
      stagecraft::detail::throw_data_error("E4016", "dataset: expected samples of at most %d dimensions, found %zu",
                                           static_cast<int>(shape::max_rank), part.dimension());
    std::size_t numbers = 1;
    for (std::size_t axis = 0; axis < part.dimension(); ++axis)
      result.push_back(extent_of_part(static_cast<std::size_t>(part.shape()[axis]), numbers));
  } else if constexpr (trainers::SequenceData<Part>) {
    std::size_t numbers = 1;
    result.push_back(extent_of_part(part.size(), numbers));
  }
  return result;
}

/// A number of an element as `Number`. Throws data_error E5225 for a finite number beyond float32.
template <class Number, class From>
[[nodiscard]] Number number_of_part(From number) {
  if constexpr (std::is_same_v<Number, float>)
    if (stagecraft::detail::first_beyond_float(&number, 1) == 0) [[unlikely]]
      stagecraft::detail::throw_data_error(
          "E5225",
          "dataset: expected numbers that float32 holds, of which the largest is 3.4028235e+38, found %s in an element",
          diagnostics::general_digits(static_cast<double>(number), 15).c_str());
  return static_cast<Number>(number);
}

/// Writes the numbers of a part, one after the other, in row-major order. Errors: E5225.
template <ArrayPart Part, class Number>
void write_part(Part const& part, Number* to) {
  auto const as_number = [](auto each) { return number_of_part<Number>(each); };
  if constexpr (std::is_arithmetic_v<Part>) {
    *to = as_number(part);
  } else if constexpr (trainers::SequenceData<Part>) {
    std::transform(part.data(), part.data() + part.size(), to, as_number);
  } else {
    using number = std::remove_cv_t<typename Part::value_type>;
    if (auto const* const numbers = stagecraft::detail::row_major_numbers(part)) {
      if constexpr (std::is_same_v<Number, float>) {
        auto const size = static_cast<std::ptrdiff_t>(part.size());
        if (auto const place = stagecraft::detail::first_beyond_float(numbers, size); place >= 0)
          (void)number_of_part<Number>(numbers[place]);
        stagecraft::detail::reader_of<number>.to_float(numbers, 0, size, to);
      } else
        std::transform(numbers, numbers + part.size(), to, as_number);
    } else {
      std::transform(part.begin(), part.end(), to, as_number);
    }
  }
}

/// Calls `visit(array)` for an array, or for each array of a tuple.
template <class Value, class Visit>
void visit_arrays(Value const& value, Visit const& visit) {
  if constexpr (trainers::SampleTuple<Value>)
    std::apply([&visit](auto const&... each) { (visit_arrays(each, visit), ...); }, value);
  else
    visit(value);
}

}  // namespace stagecraft::data::detail
