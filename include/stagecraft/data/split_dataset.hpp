// SPDX-License-Identifier: BSD-3-Clause
// A dataset in two parts. Keras counterpart: keras.utils.split_dataset.
#pragma once

#include <stagecraft/data/dataset.hpp>
#include <stagecraft/diagnostics/number_text.hpp>
#include <stagecraft/diagnostics/throw_error.hpp>
#include <stagecraft/training/data/shuffle.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace stagecraft::data {

/// A number of samples, `100`, or a part of all, `0.8`.
class split_size {
 public:
  constexpr split_size() = default;  ///< the samples that the other part leaves
  constexpr split_size(int samples) noexcept : samples_(samples), is_given_(true) {}
  constexpr split_size(double part) noexcept : part_(part), is_given_(true), is_part_(true) {}

  [[nodiscard]] constexpr bool given() const noexcept { return is_given_; }
  /// True if a dataset of `count` samples has a part of this size.
  [[nodiscard]] constexpr bool fits(std::int64_t count) const noexcept {
    return is_part_ ? part_ >= 0 && part_ <= 1 : samples_ > 0 && samples_ < count;
  }
  [[nodiscard]] std::int64_t of(std::int64_t count) const {  // rounded half to even, as in Python
    return is_part_ ? std::llrint(part_ * static_cast<double>(count)) : samples_;
  }
  [[nodiscard]] double value() const noexcept { return is_part_ ? part_ : static_cast<double>(samples_); }

 private:
  std::int64_t samples_ = 0;
  double part_ = 0;
  bool is_given_ = false, is_part_ = false;
};

/// Options of `split_dataset`: one of the sizes, or both.
struct split_options {
  split_size left_size{};   ///< size of the first part: a number of samples, or a share of all
  split_size right_size{};  ///< size of the second part, the last samples
  bool shuffle = false;     ///< true: samples are divided at random
  std::uint64_t seed = 1;   ///< the division follows from it
};

/// Divides the samples of a dataset into two datasets. As in Keras, the first pass is read into memory; samples that
/// are views, such as those of `from`, stay where they are. Batches are divided by samples, which are batched again
/// with the size of the first batch. Errors: E4122 a dataset without an end, E4123 sizes that leave a part empty or are
/// larger than the dataset.
template <class Element>
[[nodiscard]] auto split_dataset(dataset<Element> const& from, split_options const& options) {
  if (from.cardinality() == infinite_cardinality)
    stagecraft::detail::throw_data_error(
        "E4122", "split_dataset: expected a dataset with an end, found one without; take(n) ends it");
  if constexpr (detail::sample_of_element<Element>::is_batch) {
    std::int64_t size = 0;
    if (auto const first = from.begin_pass(0)->next()) {
      if constexpr (detail::is_array_batch<Element>)
        size = static_cast<std::int64_t>(detail::rows_in_batch(*first));
      else
        size = static_cast<std::int64_t>(first->size());
    }
    auto const [left, right] = split_dataset(from.unbatch(), options);
    return std::pair(left.batch(size), right.batch(size));
  } else {
    detail::kept_elements<Element> all;
    auto const pass = from.begin_pass(0);
    while (auto element = pass->next()) all.push_back(std::make_shared<Element const>(std::move(*element)));
    auto const count = static_cast<std::int64_t>(all.size());
    for (auto const& size : {options.left_size, options.right_size})
      if (size.given() && !size.fits(count))
        stagecraft::detail::throw_data_error(
            "E4123", "split_dataset: expected sizes from 1 to %lld, or parts from 0.0 to 1.0, found %s",
            static_cast<long long>(count - 1), diagnostics::general_digits(size.value(), 6).c_str());
    if (!options.left_size.given() && !options.right_size.given())
      stagecraft::detail::throw_data_error("E4123", "split_dataset: expected left_size or right_size, found neither");
    auto left = options.left_size.of(count), right = options.right_size.of(count);
    if (!options.left_size.given()) left = count - right;
    if (!options.right_size.given()) right = count - left;
    if (left < 1 || right < 1 || left + right > count)
      stagecraft::detail::throw_data_error(
          "E4123", "split_dataset: expected two parts of %lld samples with at least one each, found %lld and %lld",
          static_cast<long long>(count), static_cast<long long>(left), static_cast<long long>(right));
    if (options.shuffle) {
      stagecraft::detail::order_generator generator(options.seed, 0);
      for (std::size_t i = all.size(); i > 1; --i)
        std::swap(all[i - 1], all[generator.below(static_cast<std::uint32_t>(i))]);
    }
    auto const kept = std::make_shared<detail::kept_elements<Element> const>(std::move(all));
    auto const part = [&kept](std::int64_t first, std::int64_t last) {
      return dataset<Element>(last - first, [kept, first, last](std::uint64_t) {
        return std::make_unique<detail::kept_stream<Element>>(kept, static_cast<std::size_t>(first),
                                                              static_cast<std::size_t>(last));
      });
    };
    return std::pair(part(0, left), part(count - right, count));
  }
}

}  // namespace stagecraft::data
