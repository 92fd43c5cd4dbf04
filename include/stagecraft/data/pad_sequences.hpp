// SPDX-License-Identifier: BSD-3-Clause
// Sequences of unequal lengths as one array. Keras counterpart: keras.utils.pad_sequences.
#pragma once

#include <stagecraft/data/detail/element.hpp>
#include <stagecraft/data/detail/parts.hpp>
#include <stagecraft/data/detail/stack.hpp>
#include <stagecraft/diagnostics/throw_error.hpp>
#include <stagecraft/training/data/data_checks.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace stagecraft::data {

/// The end of a sequence at which steps are added or cut off: pre is its beginning.
enum class pad_side : std::uint8_t { pre, post };

/// Options of `pad_sequences`; names, order and defaults are Keras's.
struct pad_sequences_options {
  int maxlen = 0;                       ///< steps of each row; 0: the length of the longest sequence
  pad_side padding = pad_side::pre;     ///< the end at which shorter sequences are filled up
  pad_side truncating = pad_side::pre;  ///< the end at which longer sequences are cut off
  double value = 0;                     ///< the number that fills them up
};

/// Numbers of several sequences as an array (sequences, steps, ...), whose numbers are of the sequences' type.
/// `sequences` is a range, such as a std::vector, of vectors of numbers, or of tensors whose first axis counts steps.
/// Errors: E4003 no sequence, E4011 maxlen, E4118 tensors whose other axes differ, E4121 a value that the
/// numbers' type does not have.
template <class Sequences>
[[nodiscard]] auto pad_sequences(Sequences const& sequences, pad_sequences_options const& options = {}) {
  using item = std::remove_cvref_t<decltype(*sequences.begin())>;
  using number = typename detail::stacked_part<item>::number;
  if (options.maxlen < 0)
    stagecraft::detail::throw_data_error("E4011", "pad_sequences: maxlen: expected at least 0, found %d",
                                         options.maxlen);
  std::vector<std::size_t> extents{0, 0};
  std::size_t longest = 0, step = 1;  // numbers of a step
  shape first;
  for (auto const& each : sequences) {
    auto const found = detail::shape_of_part(each);
    if (found.rank() == 0)
      stagecraft::detail::throw_data_error("E4016", "pad_sequences: expected sequences, found a number");
    bool is_same = extents[0] == 0 || found.rank() == first.rank();
    for (int axis = 1; axis < found.rank(); ++axis) {
      auto const extent = static_cast<std::size_t>(found[axis]);
      if (extents[0] == 0) {
        extents.push_back(extent);
        step *= extent;
      }
      is_same = is_same && extents[static_cast<std::size_t>(axis) + 1] == extent;
    }
    if (extents[0] == 0) first = found;
    if (!is_same)
      stagecraft::detail::throw_data_error(
          "E4118",
          "pad_sequences: expected sequences of shape %s but for their lengths, as the first one is, found %s "
          "at sequence %zu",
          stagecraft::detail::shape_text(first).c_str(), stagecraft::detail::shape_text(found).c_str(), extents[0]);
    longest = std::max(longest, static_cast<std::size_t>(found[0]));
    ++extents[0];
  }
  if (extents[0] == 0)
    stagecraft::detail::throw_data_error("E4003", "pad_sequences: expected at least 1 sequence, found 0");
  auto const length = options.maxlen > 0 ? static_cast<std::size_t>(options.maxlen) : longest;
  extents[1] = length;
  auto result = detail::stacked_type<item>::from_shape(extents);
  std::fill(result.begin(), result.end(), detail::padding_as<number>(options.value, "pad_sequences: value"));
  std::vector<std::conditional_t<std::is_same_v<number, bool>, char, number>> numbers;
  auto* row = result.data();
  for (auto const& each : sequences) {
    auto const steps = static_cast<std::size_t>(detail::shape_of_part(each)[0]), taken = std::min(steps, length);
    numbers.resize(steps * step);
    detail::write_part(each, numbers.data());
    auto const cut = options.truncating == pad_side::pre ? steps - taken : 0;
    auto const moved = options.padding == pad_side::pre ? length - taken : 0;
    std::copy_n(numbers.data() + cut * step, taken * step, row + moved * step);
    row += length * step;
  }
  return result;
}

}  // namespace stagecraft::data
