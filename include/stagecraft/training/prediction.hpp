// SPDX-License-Identifier: BSD-3-Clause
// What `predict` gives: the outputs of all samples.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/training/data/xtensor.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <tuple>
#include <utility>

namespace stagecraft::trainers {

/// A tensor (samples, shape...) per output, which steps write to, each its own rows; at the same time if they want.
template <class Session>
class prediction {
  template <std::size_t Output>
  static constexpr auto rank = static_cast<std::size_t>(Session::output_shape(Output).rank()) + 1;
  template <std::size_t Output>
  using tensor = xt::xtensor<float, rank<Output>>;
  using indices = std::make_index_sequence<Session::output_count>;

 public:
  /// Takes the memory.
  explicit prediction(std::ptrdiff_t samples)
      : samples_(samples), tensors_([samples]<std::size_t... Output>(std::index_sequence<Output...>) {
          return std::tuple<tensor<Output>...>(make<Output>(samples)...);
        }(indices{})) {}

  [[nodiscard]] std::ptrdiff_t samples() const noexcept { return samples_; }

  /// Copies the samples of a step to the rows from `first` on.
  template <class View>
  void copy(View const& step, std::ptrdiff_t first) {
    [&]<std::size_t... Output>(std::index_sequence<Output...>) { (copy_output<Output>(step, first), ...); }(indices{});
  }

  /// Leaves out all samples from this number on.
  void shorten(std::ptrdiff_t samples) {
    if (samples == samples_) return;
    prediction shorter(samples);
    [&]<std::size_t... Output>(std::index_sequence<Output...>) {
      (std::copy_n(std::get<Output>(tensors_).data(), std::get<Output>(shorter.tensors_).size(),
                   std::get<Output>(shorter.tensors_).data()),
       ...);
    }(indices{});
    *this = std::move(shorter);
  }

  /// The tensor, or a std::tuple of tensors if there are several outputs.
  [[nodiscard]] auto take() {
    if constexpr (Session::output_count == 1)
      return std::move(std::get<0>(tensors_));
    else
      return std::move(tensors_);
  }

 private:
  template <std::size_t Output>
  [[nodiscard]] static tensor<Output> make(std::ptrdiff_t samples) {
    std::array<std::size_t, rank<Output>> extents{static_cast<std::size_t>(samples)};
    for (std::size_t axis = 1; axis < extents.size(); ++axis)
      extents[axis] = static_cast<std::size_t>(Session::output_shape(Output)[static_cast<int>(axis) - 1]);
    return tensor<Output>::from_shape(extents);
  }

  template <std::size_t Output, class View>
  void copy_output(View const& step, std::ptrdiff_t first) {
    constexpr auto size = static_cast<std::ptrdiff_t>(Session::output_shape(Output).size());
    std::copy_n(step.prediction(Output), step.valid_samples() * size, std::get<Output>(tensors_).data() + first * size);
  }

  template <class Indices>
  struct tensors_of;
  template <std::size_t... Output>
  struct tensors_of<std::index_sequence<Output...>> {
    using type = std::tuple<tensor<Output>...>;
  };

  std::ptrdiff_t samples_;
  typename tensors_of<indices>::type tensors_;
};

/// The outputs of a step where they lie: an xtensor adaptor (samples, shape...), or a std::tuple of them.
template <class Session>
[[nodiscard]] auto view_outputs(std::array<float const*, Session::output_count> const& outputs,
                                std::ptrdiff_t samples) {
  auto const view = [&]<std::size_t Output>() {
    constexpr auto const& own = Session::output_shape(Output);
    std::array<std::size_t, static_cast<std::size_t>(own.rank()) + 1> extents{static_cast<std::size_t>(samples)};
    for (std::size_t axis = 1; axis < extents.size(); ++axis)
      extents[axis] = static_cast<std::size_t>(own[static_cast<int>(axis) - 1]);
    return xt::adapt(outputs[Output], extents[0] * static_cast<std::size_t>(own.size()), xt::no_ownership(), extents);
  };
  return [&]<std::size_t... Output>(std::index_sequence<Output...>) {
    if constexpr (sizeof...(Output) == 1)
      return view.template operator()<0>();
    else
      return std::tuple(view.template operator()<Output>()...);
  }(std::make_index_sequence<Session::output_count>{});
}

}  // namespace stagecraft::trainers
