// SPDX-License-Identifier: BSD-3-Clause
// Turns the result of a user's function into a value that can be kept: lazy expressions and views become tensors.
#pragma once

#include <stagecraft/training/data/sample_set.hpp>
#include <stagecraft/training/data/sample_source.hpp>
#include <stagecraft/training/data/xtensor.hpp>
#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace stagecraft::data::detail {

template <class T>
inline constexpr bool is_tensor = false;
template <class T, std::size_t Rank>
inline constexpr bool is_tensor<xt::xtensor<T, Rank>> = true;
template <class T>
inline constexpr bool is_tensor<xt::xarray<T>> = true;

/// The rank of arrays whose type does not know the number of axes.
inline constexpr std::size_t dynamic_rank = 0;
template <class Shape>
inline constexpr std::size_t rank_of_shape = dynamic_rank;
template <class Extent, std::size_t Rank>
inline constexpr std::size_t rank_of_shape<std::array<Extent, Rank>> = Rank;
template <trainers::TensorData Tensor>
inline constexpr std::size_t rank_of = rank_of_shape<typename Tensor::shape_type>;

/// The type in which a value is kept. Numbers, tensors and everything that is no array stay as they are; tuples are
/// kept part by part.
template <class Value>
[[nodiscard]] auto owned(Value&& value) {
  using type = std::remove_cvref_t<Value>;
  if constexpr (is_tensor<type>) {
    return type(std::forward<Value>(value));
  } else if constexpr (trainers::TensorData<type>) {
    using number = std::remove_cv_t<typename type::value_type>;
    if constexpr (rank_of<type> != dynamic_rank)
      return xt::xtensor<number, rank_of<type>>(value);
    else
      return xt::xarray<number>(value);
  } else if constexpr (trainers::SampleTuple<type>) {
    return std::apply([](auto&&... parts) { return std::tuple(owned(std::forward<decltype(parts)>(parts))...); },
                      std::forward<Value>(value));
  } else {
    return type(std::forward<Value>(value));
  }
}

/// The type of a sample's part once it is one row of an array: an array of one axis more.
template <class Part>
struct stacked_part {
  using number = Part;
  static constexpr std::size_t rank = 1;
  using type = xt::xtensor<Part, 1>;
};
template <trainers::SequenceData Part>
struct stacked_part<Part> {
  using number = std::remove_cvref_t<decltype(*std::declval<Part const&>().data())>;
  using type = xt::xtensor<number, 2>;
};
template <trainers::TensorData Part>
struct stacked_part<Part> {
  using number = std::remove_cv_t<typename Part::value_type>;
  using type =
      std::conditional_t<rank_of<Part> == dynamic_rank, xt::xarray<number>, xt::xtensor<number, rank_of<Part> + 1>>;
};
template <trainers::SampleTuple Part>
struct stacked_part<Part> {
  template <class>
  struct of;
  template <std::size_t... Index>
  struct of<std::index_sequence<Index...>> {
    using type = std::tuple<typename stacked_part<std::remove_cv_t<std::tuple_element_t<Index, Part>>>::type...>;
  };
  using type = typename of<std::make_index_sequence<std::tuple_size_v<Part>>>::type;
};
template <class Sample>
using stacked_type = typename stacked_part<Sample>::type;

/// The type of one row of an array, or of each array of a tuple.
template <class Array>
struct row_of_part;
template <trainers::SequenceData Array>
struct row_of_part<Array> {
  using type = std::remove_cvref_t<decltype(*std::declval<Array const&>().data())>;
};
template <trainers::TensorData Array>
struct row_of_part<Array> {
  using number = std::remove_cv_t<typename Array::value_type>;
  template <std::size_t Rank>
  static auto make() {
    if constexpr (Rank == dynamic_rank)
      return std::type_identity<xt::xarray<number>>();
    else if constexpr (Rank == 1)
      return std::type_identity<number>();
    else
      return std::type_identity<xt::xtensor<number, Rank - 1>>();
  }
  using type = typename decltype(make<rank_of<Array>>())::type;
};
template <trainers::SampleTuple Arrays>
struct row_of_part<Arrays> {
  template <class>
  struct of;
  template <std::size_t... Index>
  struct of<std::index_sequence<Index...>> {
    using type = std::tuple<typename row_of_part<std::remove_cv_t<std::tuple_element_t<Index, Arrays>>>::type...>;
  };
  using type = typename of<std::make_index_sequence<std::tuple_size_v<Arrays>>>::type;
};
template <class Arrays>
using row_type = typename row_of_part<Arrays>::type;

/// True for an array, and for a tuple of arrays.
template <class Value>
inline constexpr bool is_arrays = trainers::SampleData<Value>;
template <trainers::SampleTuple Value>
inline constexpr bool is_arrays<Value> = []<std::size_t... Index>(std::index_sequence<Index...>) {
  return (is_arrays<std::tuple_element_t<Index, Value>> && ...);
}(std::make_index_sequence<std::tuple_size_v<Value>>{});

}  // namespace stagecraft::data::detail
