// SPDX-License-Identifier: BSD-3-Clause
// Several cells as one, of which each reads the output of the one before it: tf.keras.layers.StackedRNNCells.
#pragma once

#include <stagecraft/layers/traced_call.hpp>
#include <array>
#include <type_traits>

namespace stagecraft::layers {

/// A cell of rnn that carries out its cells one after the other in each step: `rnn{stacked_rnn_cells{lstm_cell{8},
/// gru_cell{4}}}`. Its states are those of all; its output is that of the last. Weights are named as in Keras,
/// "lstm_cell/kernel", "lstm_cell_1/kernel". Definition: Keras API, layers/recurrent_layers/stacked_rnn_cells.
template <class First, class... Rest>
struct stacked_rnn_cells {
  static constexpr std::string_view name = "stacked_rnn_cells";
  static constexpr int states = First::states + stacked_rnn_cells<Rest...>::states;
  /// The state that is the output.
  static constexpr int output = First::states + stacked_rnn_cells<Rest...>::output;

  First first;
  stacked_rnn_cells<Rest...> rest;

  constexpr explicit stacked_rnn_cells(First const& first_, Rest const&... rest_) : first(first_), rest(rest_...) {}

  [[nodiscard]] constexpr int state_size(int index) const {
    return index < First::states ? first.state_size(index) : rest.state_size(index - First::states);
  }
  template <class... Before>
  constexpr auto build(auto& ops, operations::extents const& of_step) const {
    auto const own = stacked_rnn_cells<First>(first).template build<Before...>(ops, of_step);
    operations::extents of_output = of_step;
    of_output[-1] = first.state_size(0);
    auto const others = rest.template build<Before..., First>(ops, of_output);
    return [own, others](auto& in, auto x, auto const& state) {
      std::array<decltype(x), First::states> before{};
      std::array<decltype(x), states - First::states> behind{};
      for (std::size_t i = 0; i < states; ++i) (i < First::states ? before[i] : behind[i - First::states]) = state[i];
      auto const next = own(in, x, before);
      auto const last = others(in, next[0], behind);
      std::array<decltype(x), states> all{};
      for (std::size_t i = 0; i < states; ++i) all[i] = i < First::states ? next[i] : last[i - First::states];
      return all;
    };
  }
};

template <class Cell>
struct stacked_rnn_cells<Cell> {
  static constexpr int states = Cell::states, output = 0;

  Cell first;

  constexpr explicit stacked_rnn_cells(Cell const& first_) : first(first_) {}

  [[nodiscard]] constexpr int state_size(int index) const { return first.state_size(index); }
  /// `Before`: the cells before it, after whose number it is named.
  template <class... Before>
  constexpr auto build(auto& ops, operations::extents const& of_step) const {
    constexpr int same = (0 + ... + (std::is_same_v<Before, Cell> ? 1 : 0));
    fixed_name scope(Cell::name);
    if (same > 0) scope.append('_').append(same);
    return ops.name_scope(scope, [&] { return first.build(ops, of_step); });
  }
};

template <class... Cells>
stacked_rnn_cells(Cells...) -> stacked_rnn_cells<Cells...>;

}  // namespace stagecraft::layers
