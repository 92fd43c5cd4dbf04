// SPDX-License-Identifier: BSD-3-Clause
// A batch of a dataset: several elements as one, and as arrays. Keras counterpart: the elements of
// tf.data.Dataset.batch, and the tensors that functions receive after it.
#pragma once

#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

namespace stagecraft::data {

/// Samples of one batch, one after the other.
template <class Element>
struct batch_of : std::vector<Element> {
  using std::vector<Element>::vector;
};

/// The elements of a dataset after `batch` and `map`, or after `padded_batch`: one array, or a std::tuple of arrays,
/// whose first axis counts samples. It is that array or tuple: `for (auto const& [x, y] :
/// train.batch(32).map(scaled))`. `fit`, `evaluate` and `predict` take it as a batch of as many samples as its arrays
/// have (E4117 if their numbers differ).
template <class Arrays>
struct array_batch : Arrays {
  array_batch() = default;
  array_batch(Arrays arrays) : Arrays(std::move(arrays)) {}
  [[nodiscard]] Arrays& arrays() noexcept { return *this; }
  [[nodiscard]] Arrays const& arrays() const noexcept { return *this; }
};

/// A batch of several arrays.
template <class... Parts>
struct array_batch<std::tuple<Parts...>> : std::tuple<Parts...> {
  using tuple = std::tuple<Parts...>;
  array_batch() = default;
  array_batch(tuple arrays) : tuple(std::move(arrays)) {}
  [[nodiscard]] tuple& arrays() noexcept { return *this; }
  [[nodiscard]] tuple const& arrays() const noexcept { return *this; }
  // `get` is a member, since structured bindings would also find xt::get, which takes any template for a tuple.
  template <std::size_t Index>
  [[nodiscard]] auto& get() noexcept {
    return std::get<Index>(arrays());
  }
  template <std::size_t Index>
  [[nodiscard]] auto const& get() const noexcept {
    return std::get<Index>(arrays());
  }
};

}  // namespace stagecraft::data

template <class... Parts>
struct std::tuple_size<stagecraft::data::array_batch<std::tuple<Parts...>>> : std::tuple_size<std::tuple<Parts...>> {};
template <std::size_t Index, class... Parts>
struct std::tuple_element<Index, stagecraft::data::array_batch<std::tuple<Parts...>>>
    : std::tuple_element<Index, std::tuple<Parts...>> {};
