// SPDX-License-Identifier: BSD-3-Clause
// A loop over time of any cell: tf.keras.layers.RNN.
#pragma once

#include <stagecraft/layers/layer.hpp>
#include <array>
#include <string_view>

namespace stagecraft::layers {

/// Keras's keyword arguments of RNN behind the cell.
struct rnn_options {
  bool return_sequences = false;  ///< whether the result is the output of all steps, or of the last one
  bool go_backwards = false;      ///< whether to begin at the end; a sequence has the order of the steps that were made
  /// The layer's name in summaries, errors and names of weights; empty: made from the class, as in Keras ("dense_1").
  fixed_name name = {};
  bool trainable = true;  ///< false: a frozen layer, whose weights training does not change
};

/// Carries out a cell for one step of a sequence after the other, from states of zeros. Cells of the library are
/// simple_rnn_cell, lstm_cell, gru_cell and stacked_rnn_cells; one of your own says how many states it has, how long
/// they are, and makes its weights before the loop:
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
/// (steps, ...) with `return_sequences`. Errors: those of the cell; E1041 an input of another rank; E1073 masks;
/// E1077 what is no cell.
/// Definition: Keras API, layers/recurrent_layers/rnn.
template <class Cell>
struct rnn : layer<rnn<Cell>> {
  static constexpr bool supports_masking = true;
  static constexpr std::string_view class_name = "RNN";
  static constexpr std::string_view usage =
      "rnn{lstm_cell{units}} or rnn{lstm_cell{units}, {.return_sequences = true}}";

  Cell cell;
  rnn_options options;

  constexpr explicit rnn(Cell const& cell_, rnn_options const& options_ = {}) : cell(cell_), options(options_) {
    this->take_base_options(options);
  }

  [[nodiscard]] static constexpr bool passes_mask() { return false; }
  [[nodiscard]] static constexpr bool takes_no_mask() { return true; }

  constexpr auto call(auto& ops, auto x) const {
    if constexpr (!requires { cell.state_size(Cell::states); }) {
      ops.error(1077, "is given '", detail::type_name<Cell>(), "', which is no cell, as lstm_cell is one");
      return x;
    } else {
      return looped(ops, x);
    }
  }

 private:
  constexpr auto looped(auto& ops, auto x) const {
    if (x.rank() != 3)
      return ops.error(1041, "expects an input of shape (steps, features), but got ", detail::sample_shape(x)), x;
    auto const step = cell.build(ops, operations::extents(x.length(0), x.length(2)));
    std::array<decltype(x), Cell::states> initial{};
    for (int i = 0; i < Cell::states; ++i)
      initial[static_cast<std::size_t>(i)] = ops.full({x.length(0), cell.state_size(i)}, 0);
    auto const one = [&](auto at, auto const& state) { return step(ops, at, state); };
    auto const done = ops.scan(x, 1, initial, one, options.go_backwards);
    std::size_t output = 0;
    if constexpr (requires { Cell::output; }) output = Cell::output;
    return options.return_sequences ? done.all[output] : done.last[output];
  }
};

template <class Cell>
rnn(Cell) -> rnn<Cell>;
template <class Cell>
rnn(Cell, rnn_options) -> rnn<Cell>;

}  // namespace stagecraft::layers
