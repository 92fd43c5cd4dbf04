// SPDX-License-Identifier: BSD-3-Clause
// Several datasets side by side. Keras counterpart: tf.data.Dataset.zip.
#pragma once

#include <stagecraft/data/dataset.hpp>
#include <cstdint>
#include <memory>
#include <tuple>

namespace stagecraft::data {

/// Tuples with one element of each of several datasets, until one of them ends: tf.data.Dataset.zip.
template <class... Elements>
[[nodiscard]] dataset<std::tuple<Elements...>> zip(dataset<Elements> const&... each) {
  std::int64_t count = infinite_cardinality;
  ((count = detail::smaller_count(count, each.cardinality())), ...);
  return {count, [each...](std::uint64_t pass) {
            return std::make_unique<detail::zipped_stream<Elements...>>(each.begin_pass(pass)...);
          }};
}

}  // namespace stagecraft::data
