// SPDX-License-Identifier: BSD-3-Clause
// What a function of the user makes of an element, so that it can be kept: lazy expressions and views become tensors.
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

/// The number of axes, if the type knows it; else dynamic_rank.
inline constexpr std::size_t dynamic_rank = 0;
template <class Shape>
inline constexpr std::size_t rank_of_shape = dynamic_rank;
template <class Extent, std::size_t Rank>
inline constexpr std::size_t rank_of_shape<std::array<Extent, Rank>> = Rank;
template <trainers::TensorData Tensor>
inline constexpr std::size_t rank_of = rank_of_shape<typename Tensor::shape_type>;

/// Numbers, tensors and whatever is no array stay as they are; of tuples each part.
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

/// Calls a function with an element, or with its parts, if it takes them.
template <class Function, class Element>
[[nodiscard]] decltype(auto) call_with(Function& function, Element& element) {
  if constexpr (std::is_invocable_v<Function&, Element&>)
    return function(element);
  else
    return std::apply(function, element);
}

template <class Function, class Element>
using mapped_type = decltype(owned(call_with(std::declval<Function&>(), std::declval<Element&>())));

}  // namespace stagecraft::data::detail
