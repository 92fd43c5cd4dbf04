// SPDX-License-Identifier: BSD-3-Clause
// Datasets of arrays in memory, of a function's results, and of numbers. Keras counterpart: from_tensor_slices,
// from_generator and range of tf.data.Dataset.
#pragma once

#include <stagecraft/data/dataset.hpp>
#include <stagecraft/data/detail/element.hpp>
#include <stagecraft/training/data/data_checks.hpp>
#include <stagecraft/training/data/sample_source.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace stagecraft::data {

namespace detail {

/// An array, or a reference to one, sample by sample: numbers, or views that are one rank lower.
template <class Array>
class rows {
  using number = std::remove_cvref_t<decltype(*std::declval<Array const&>().begin())>;
  static constexpr std::size_t rank = [] {
    if constexpr (trainers::SequenceData<Array>)
      return std::size_t{1};
    else
      return rank_of<Array>;
  }();

 public:
  template <class Given>
  explicit rows(Given&& given) {
    if constexpr (std::is_lvalue_reference_v<Given>) {
      read(given);
    } else {
      auto kept = std::make_shared<Array const>(std::forward<Given>(given));
      read(*kept);
      if (!kept_) kept_ = std::move(kept);
    }
  }

  [[nodiscard]] std::int64_t count() const noexcept { return count_; }
  [[nodiscard]] auto operator[](std::int64_t index) const {
    if constexpr (rank == 1) {
      return numbers_[index];
    } else {
      auto const* const first = numbers_ + index * static_cast<std::int64_t>(size_);
      return xt::adapt(+first, size_, xt::no_ownership(), extents_);
    }
  }

  /// `length` samples from sample `first` on, `step` apart, as a view of the array with a new first axis.
  [[nodiscard]] auto window(std::int64_t first, std::size_t length, std::size_t step) const {
    constexpr bool is_dynamic = rank == dynamic_rank;
    using shape_type =
        std::conditional_t<is_dynamic, std::vector<std::size_t>, std::array<std::size_t, is_dynamic ? 1 : rank>>;
    using stride_type =
        std::conditional_t<is_dynamic, std::vector<std::ptrdiff_t>, std::array<std::ptrdiff_t, is_dynamic ? 1 : rank>>;
    shape_type lengths{};
    stride_type strides{};
    if constexpr (is_dynamic) {
      lengths.resize(extents_.size() + 1);
      strides.resize(extents_.size() + 1);
    }
    std::ptrdiff_t stride = 1;
    for (std::size_t axis = lengths.size(); axis-- > 1;) {
      lengths[axis] = extents_[axis - 1];
      strides[axis] = stride;
      stride *= static_cast<std::ptrdiff_t>(lengths[axis]);
    }
    lengths[0] = length;
    strides[0] = stride * static_cast<std::ptrdiff_t>(step);
    auto const* const begin = numbers_ + first * static_cast<std::int64_t>(size_);
    return xt::adapt(+begin, length * size_, xt::no_ownership(), lengths, strides);
  }

 private:
  using extents = std::conditional_t<rank != dynamic_rank, std::array<std::size_t, rank == dynamic_rank ? 0 : rank - 1>,
                                     std::vector<std::size_t>>;

  void read(Array const& from) {
    if constexpr (trainers::SequenceData<Array>) {
      numbers_ = from.data();
      count_ = static_cast<std::int64_t>(from.size());
    } else {
      auto const* numbers = stagecraft::detail::row_major_numbers(from);
      if (numbers == nullptr) {
        auto const evaluated = std::make_shared<decltype(data::detail::owned(from)) const>(from);
        numbers = evaluated->data();
        kept_ = evaluated;
      }
      numbers_ = numbers;
      if (from.dimension() == 0 || from.dimension() > shape::max_rank + 1)
        stagecraft::detail::throw_data_error(
            "E4016", "from: expected an array of samples with at most %d dimensions each, found one of %zu dimensions",
            static_cast<int>(shape::max_rank), from.dimension());
      count_ = static_cast<std::int64_t>(from.shape()[0]);
      if constexpr (rank == dynamic_rank) extents_.resize(from.dimension() - 1);
      for (std::size_t axis = 1; axis < from.dimension(); ++axis) {
        extents_[axis - 1] = static_cast<std::size_t>(from.shape()[axis]);
        size_ *= extents_[axis - 1];
      }
    }
  }

  number const* numbers_ = nullptr;
  std::int64_t count_ = 0;
  std::size_t size_ = 1;
  extents extents_{};
  std::shared_ptr<void const> kept_;
};

/// One array, or a tuple of arrays.
template <class Arrays>
[[nodiscard]] auto rows_of(Arrays&& arrays) {
  using type = std::remove_cvref_t<Arrays>;
  if constexpr (trainers::SampleData<type>)
    return rows<type>(std::forward<Arrays>(arrays));
  else
    return std::apply([](auto&&... each) { return std::tuple(rows_of(std::forward<decltype(each)>(each))...); },
                      std::forward<Arrays>(arrays));
}
template <class Array>
[[nodiscard]] auto row_at(rows<Array> const& array, std::int64_t index) {
  return array[index];
}
template <class... Each>
[[nodiscard]] auto row_at(std::tuple<Each...> const& all, std::int64_t index) {
  return std::apply([index](auto const&... each) { return std::tuple(row_at(each, index)...); }, all);
}

template <class Array>
void check_count_of(rows<Array> const& array, std::int64_t& count) {
  if (count < 0) count = array.count();
  if (array.count() != count)
    stagecraft::detail::throw_data_error("E4002",
                                         "from: expected %lld samples, as many as the first array has, found "
                                         "%lld",
                                         static_cast<long long>(count), static_cast<long long>(array.count()));
}
template <class... Each>
void check_count_of(std::tuple<Each...> const& all, std::int64_t& count) {
  std::apply([&count](auto const&... each) { (check_count_of(each, count), ...); }, all);
}

template <class Rows>
class rows_stream final : public stream<decltype(row_at(std::declval<Rows const&>(), 0))> {
 public:
  rows_stream(std::shared_ptr<Rows const> from, std::int64_t count) : from_(std::move(from)), count_(count) {}
  std::optional<decltype(row_at(std::declval<Rows const&>(), 0))> next() override {
    if (at_ == count_) return std::nullopt;
    return row_at(*from_, at_++);
  }

 private:
  std::shared_ptr<Rows const> from_;
  std::int64_t count_, at_ = 0;
};

template <class Rows>
[[nodiscard]] auto dataset_of_rows(Rows rows) {
  std::int64_t count = -1;
  check_count_of(rows, count);
  auto const kept = std::make_shared<Rows const>(std::move(rows));
  return dataset<decltype(row_at(*kept, 0))>(
      count, [kept, count](std::uint64_t) { return std::make_unique<rows_stream<Rows>>(kept, count); });
}

}  // namespace detail

/// Samples of arrays, `from(x)`, or of several side by side, `from(x, y)` and `from(x, y, sample_weight)`, whose
/// elements are tuples. Arrays are those that `fit` takes, for several inputs or outputs a tuple of them, as in
/// `from(std::tie(images, sizes), labels)`; lvalues are used in place and must outlive all passes, rvalues are kept.
/// Elements are numbers, or views of a sample, xtensor expressions of one axis less, valid as long as the arrays are.
/// Errors: data_error E4002 arrays of unequal length, E4016 a single number.
template <class X>
[[nodiscard]] auto from(X&& x) {
  return detail::dataset_of_rows(detail::rows_of(std::forward<X>(x)));
}
template <class X, class... Others>
[[nodiscard]] auto from(X&& x, Others&&... others) {
  return detail::dataset_of_rows(
      std::tuple(detail::rows_of(std::forward<X>(x)), detail::rows_of(std::forward<Others>(others))...));
}

/// `make()` returns, for each pass, a function that returns a std::optional of the next element, or none at the end:
/// tf.data.Dataset.from_generator. `count`: number of elements, if it is known.
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
