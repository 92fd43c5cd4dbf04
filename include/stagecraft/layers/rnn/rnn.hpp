// SPDX-License-Identifier: BSD-3-Clause
// A loop over time of any cell, or of several cells as one: tf.keras.layers.RNN and StackedRNNCells.
#pragma once

#include <stagecraft/layers/rnn/recurrent_layer.hpp>
#include <stagecraft/layers/traced_call.hpp>
#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>

namespace stagecraft::layers {

/// Several cells as one, of which each reads the output of the one before it: tf.keras.layers.StackedRNNCells.
/// It is a cell of rnn that carries out its cells one after the other in each step:
/// `rnn{stacked_rnn_cells{lstm_cell{8}, gru_cell{4}}}`. Its states are those of all; its output is that of the last.
/// Weights are named as in Keras, "lstm_cell/kernel", "lstm_cell_1/kernel". Definition: Keras API,
/// layers/recurrent_layers/stacked_rnn_cells.
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
  /// `Before` are the cells before it, whose number its name follows.
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

namespace stagecraft::layers::detail {

/// Number of a cell's states; 1 for a type that is no cell.
template <class Cell>
inline constexpr int states_of_cell = [] {
  if constexpr (requires { Cell::states; })
    return static_cast<int>(Cell::states);
  else
    return 1;
}();

}  // namespace stagecraft::layers::detail

namespace stagecraft {

namespace layers {

/// Keras's keyword arguments of RNN after the cell.
struct rnn_options {
  bool return_sequences = false;  ///< true if the result is the output of all steps, or of the last one
  bool return_state = false;      ///< true if the states after the last step are outputs as well, after the result
  bool go_backwards = false;      ///< true if to begin at the end; a sequence has the order of the steps that were made
  bool stateful = false;          ///< true if a batch begins with the states after the one before: see recurrent_layer
#include <stagecraft/layers/common_options.hpp>
};

/// Carries out a cell for each step of a sequence, beginning with zeros. Cells of the library are
/// simple_rnn_cell, lstm_cell, gru_cell and stacked_rnn_cells; a cell of your own has the number of its states, their
/// sizes, and a `build` that makes its weights before the loop:
///
///     struct minimal_cell {
///       static constexpr std::string_view name = "minimal_cell";
///       static constexpr int states = 1;
///       int units = 1;
///       constexpr int state_size(int) const { return units; }
///       constexpr auto build(auto& ops, sc::operations::extents const& of_step) const {  // (batch, features)
///         auto const kernel = ops.weight({.name = "kernel", .shape = {of_step[-1], units}});
///         return [kernel](auto& in, auto x, auto const& state) { return std::array{state[0] + in.matmul(x, kernel)};
///         };
///       }
///     };
///
/// The output is the first state, or that which `Cell::output` names. Shape: (steps, features) to the state's, or
/// (steps, ...) with `return_sequences`; with `return_state` all states after the last step as well. Called on x and
/// all states, it begins with these. Errors: those of the cell; E1041 an input of another rank; E1077 a type that is no
/// cell; E1085 initial states that do not fit; E1087, E1088 of stateful layers. Definition: Keras API,
/// layers/recurrent_layers/rnn.
template <class Cell>
struct rnn : recurrent_layer<layer<rnn<Cell>>, rnn<Cell>, detail::states_of_cell<Cell>> {
  static constexpr std::string_view class_name = "RNN";
  static constexpr std::string_view usage =
      "rnn{lstm_cell{units}} or rnn{lstm_cell{units}, {.return_sequences = true}}"sv;

  Cell cell;
  rnn_options options;

  constexpr explicit rnn(Cell const& cell_, rnn_options const& options_ = {}) : cell(cell_), options(options_) {
    this->take_base_options(options);
  }

  /// See recurrent_layer.
  constexpr auto run(operations::tracer& ops, operations::tensor x, operations::tensor mask,
                     tensor_list initial) const {
    detail::recurrent_result<detail::states_of_cell<Cell>> result{x};
    if constexpr (!requires { cell.state_size(Cell::states); }) {
      ops.error(1077, "is given '", detail::type_name<Cell>(), "', which is no cell, as lstm_cell is one");
    } else if (x.rank() != 3) {
      ops.error(1041, "expects an input of shape (steps, features), but got ", detail::sample_shape(x));
    } else {
      int const batch = x.length(0);
      auto const step = cell.build(ops, operations::extents(batch, x.length(2)));
      if (ops.list().problem.failed()) return result;
      detail::first_states<Cell::states> const first(ops, initial, options.stateful, [&](std::size_t i) {
        return operations::extents{batch, cell.state_size(static_cast<int>(i))};
      });
      std::size_t output = 0;
      if constexpr (requires { Cell::output; }) output = Cell::output;
      auto const one = [&](auto at, auto const& state) { return step(ops, at, state); };
      result = detail::loop_over_steps(ops, x, mask, first, options, one, output);
    }
    return result;
  }
};

template <class Cell>
rnn(Cell) -> rnn<Cell>;
template <class Cell>
rnn(Cell, rnn_options) -> rnn<Cell>;

}  // namespace layers

}  // namespace stagecraft
