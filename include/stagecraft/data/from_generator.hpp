// SPDX-License-Identifier: BSD-3-Clause
// Elements that a function makes. Keras counterpart: tf.data.Dataset.from_generator and range.
#pragma once

#include <stagecraft/data/dataset.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace stagecraft::data {

/// `make()` gives a function, for each pass anew, that gives a std::optional of the next element, or none at the end:
/// tf.data.Dataset.from_generator. `count`: how many, if it is known.
template <class Make>
[[nodiscard]] auto from_generator(Make make, std::int64_t count = unknown_cardinality) {
  using function = decltype(make());
  using element = typename std::remove_cvref_t<decltype(std::declval<function&>()())>::value_type;
  return dataset<element>(
      count, [make](std::uint64_t) { return std::make_unique<detail::generated_stream<element, function>>(make()); });
}

/// The whole numbers 0 ... count - 1: tf.data.Dataset.range.
[[nodiscard]] inline dataset<std::int64_t> range(std::int64_t count) {
  return from_generator(
      [count] {
        return
            [count, next = std::int64_t{0}]() mutable { return next < count ? std::optional(next++) : std::nullopt; };
      },
      count);
}

}  // namespace stagecraft::data
