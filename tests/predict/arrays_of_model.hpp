// SPDX-License-Identifier: BSD-3-Clause
// Arrays for the weights of any model, which a test fills from a predictor.
#pragma once

#include <stagecraft/predict.hpp>
#include <array>
#include <cstddef>
#include <utility>

/// The numbers of one weight.
template <class M, int Parameter>
inline float numbers_of_weight[stagecraft::graph_of<M>.parameters[Parameter].size()];

/// The weights of a model, of which each has floats in static memory. States have none.
template <class M, class = std::make_index_sequence<stagecraft::graph_of<M>.parameters.size()>>
struct arrays_of_model;
template <class M, std::size_t... Parameter>
struct arrays_of_model<M, std::index_sequence<Parameter...>> {
  static constexpr auto const& parameters = stagecraft::graph_of<M>.parameters;
  static constexpr std::size_t count = (std::size_t{0} + ... + (parameters[Parameter].between_batches ? 0 : 1));

  static constexpr auto value = [] {
    stagecraft::constant_weight const all[]{numbers_of_weight<M, static_cast<int>(Parameter)>...};
    bool const is_state[]{parameters[Parameter].between_batches...};
    return [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      auto const entry = [&](std::size_t index) {
        std::size_t i = 0;
        while (is_state[i] || index-- > 0) ++i;
        return all[i];
      };
      return std::array<stagecraft::constant_weight, count>{entry(Index)...};
    }(std::make_index_sequence<count>{});
  }();

  /// Copies the weights of a predictor.
  template <class Predictor>
  static void take(Predictor const& from) {
    auto const weights = from.get_weights();
    for (std::size_t i = 0; i < count; ++i) {
      auto* const to = const_cast<float*>(value[i].floats);
      std::size_t k = 0;
      for (float const number : weights[i].values) to[k++] = number;
    }
  }
};
