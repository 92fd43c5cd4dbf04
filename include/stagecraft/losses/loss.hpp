// SPDX-License-Identifier: BSD-3-Clause
// The base of losses of one's own, and the loss of what layers and models add to the loss themselves.
// Keras counterpart: tf.keras.losses.Loss; activity_regularizer and add_loss.
#pragma once

#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/operations/trace.hpp>
#include <concepts>
#include <string_view>

namespace stagecraft {

/// Base of a loss of your own, which says what it computes, in the words of a layer's `call`; its gradient follows:
///
///     struct quantile : sc::loss<quantile> {
///       float q = 0.5F;
///       constexpr auto call(auto target, auto output) const {
///         auto const error = target - output;
///         return sc::maximum(error * q, error * (q - 1));
///       }
///     };
///
/// `target` and `output` are (rows, columns), and so is the result, whose mean over the columns is the loss of a row.
/// A loss that needs sums of a row has `call(auto& ops, auto target, auto output)`, which may return one column.
/// Options are public members, so that a loss can stand in `sc::training`. Errors: E1070 for tensors that do not fit.
/// Definition: Keras API, losses, "Creating custom losses".
template <class Derived>
struct loss {
  static constexpr std::string_view name = "loss";
  static constexpr bool sparse_targets = false;  ///< targets are a float for each output

  friend constexpr bool operator==(loss const&, loss const&) = default;
};

}  // namespace stagecraft

namespace stagecraft::losses::detail {

template <class L>
concept HasPlainLossCall = requires(L const& loss, operations::tensor x) {
  { loss.call(x, x) } -> std::convertible_to<operations::tensor>;
};
template <class L>
concept HasLossCall = HasPlainLossCall<L> || requires(L const& loss, operations::tracer& ops, operations::tensor x) {
  { loss.call(ops, x, x) } -> std::convertible_to<operations::tensor>;
};

/// True. Compiles the `call`: a mistake in one's own is reported where this is asked for.
template <class L>
constexpr bool compile_call() {
  static_cast<void>(HasLossCall<L>);
  return true;
}

template <HasLossCall L>
constexpr operations::tensor call_loss(L const& loss, operations::tracer& ops, operations::tensor target,
                                       operations::tensor output) {
  if constexpr (HasPlainLossCall<L>)
    return loss.call(target, output);
  else
    return loss.call(ops, target, output);
}

/// Number of targets in a row of `columns` outputs: one for each, or a class number, or a class number for each vector
/// of a sample.
template <class L>
constexpr int target_columns_of(L const& loss, int columns) {
  if constexpr (!L::sparse_targets)
    return columns;
  else if constexpr (requires { loss.class_numbers(); })
    return loss.class_numbers();
  else
    return 1;
}

/// Traces `call(ops, target, output)`, a row's loss or its number in a metric, for `columns` outputs and
/// `target_columns` targets. E1070.
template <class Call>
constexpr operations::trace trace_row(Call const& call, int columns, int target_columns, std::string_view kind,
                                      std::string_view name) {
  operations::extents const row{1, columns}, inputs[]{{1, target_columns}, row};
  return operations::trace_call(
      [&](operations::tracer& ops, tracing::array_view<operations::tensor const> in) {
        ops.list().kind = kind;
        operations::tensor const each = call(ops, in[0], in[1]);
        if (each.shape() != row && each.shape() != operations::extents(1, 1))
          ops.list().fail("it gives a tensor of shape ", each.shape(), " for outputs of shape ", row);
        return ops.mean(each, -1);
      },
      inputs, true, name);
}
template <HasLossCall L>
constexpr operations::trace trace_loss(L const& loss, int columns) {
  return trace_row([&](auto& ops, auto target, auto output) { return call_loss(loss, ops, target, output); }, columns,
                   target_columns_of(loss, columns), "loss", loss.name);
}

}  // namespace stagecraft::losses::detail

namespace stagecraft::losses {

/// The loss of numbers that layers and models add themselves (activity_regularizer, add_loss): the mean of the outputs,
/// (rows, 1). Users do not write it.
struct added_loss {
  static constexpr std::string_view name = "added_loss";
  static constexpr bool sparse_targets = false;

  constexpr auto call(auto /*target*/, auto output) const { return output; }

  friend constexpr bool operator==(added_loss const&, added_loss const&) = default;
};

}  // namespace stagecraft::losses
