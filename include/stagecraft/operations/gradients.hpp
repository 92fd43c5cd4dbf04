// SPDX-License-Identifier: BSD-3-Clause
// Gradients inside a traced call, as values: `ops.gradient(y, x)`, tf.GradientTape's `gradient`.
#pragma once

#include <stagecraft/operations/differentiation.hpp>

namespace stagecraft::operations {

namespace detail {

/// The first operation of the innermost loop that is open at the end of the list; 0 if none is.
constexpr int begin_of_open_loop(operation_list const& list) {
  int closed = 0;
  for (int id = list.size(); id-- > 0;) {
    auto const& what = list.node_of(id).what;
    if (what.is<loop_end>()) ++closed;
    if (what.is<loop>() && closed-- == 0) return id;
  }
  return 0;
}

/// True if the gradient of y by `x` can be found; otherwise reports why not.
constexpr bool can_differentiate(tracer& ops, tensor y, tensor x, gradient_options const& options) {
  if (options.upstream.list != nullptr && options.upstream.shape() != y.shape())
    return ops.error(1197, "asks for a gradient of a tensor of shape ", y.shape(), " with upstream values of shape ",
                     options.upstream.shape(), "; they have the shape of the tensor"),
           false;
  if (y.type() == dtype::int32 || x.type() == dtype::int32)
    return ops.error(1189, "asks for the gradient of a tensor of type ", name(y.type()), " by one of type ",
                     name(x.type()), "; whole numbers have no gradients"),
           false;
  if (x.id < begin_of_open_loop(ops.list()))
    return ops.error(1196, "asks inside a scan for a gradient by a tensor from outside of it, of shape ", x.shape(),
                     "; ask after the scan, of what it gives"),
           false;
  return true;
}

/// Appends the gradients of y by each of `xs`, and replaces `xs` by them. After an error the rest of `xs` is unchanged.
constexpr void find_gradients(tracer& ops, tensor y, tracing::array_view<tensor> xs, gradient_options const& options) {
  tracing::growing_array<int> sources;
  int const end = ops.list().size();  // results of loops stand before the loops' ends
  int first = end;
  for (tensor const x : xs) {
    if (!can_differentiate(ops, y, x, options)) return;
    sources.push_back(x.id);
    if (x.id < first) first = x.id;
  }
  tensor const seed = options.upstream.list != nullptr ? options.upstream : ops.full(y.shape(), 1);
  differentiation gradients(ops, sources, end);
  gradients.add(y.id, seed);
  gradients.run(first + 1, end);
  for (tensor& x : xs) {
    if (!gradients.has(x.id))
      return ops.error(1195, "asks for the gradient of a tensor of shape ", y.shape(), " by one of shape ", x.shape(),
                       " that does not lead to it: the first depends on the second by comparisons or by a "
                       "stop_gradient alone, or not at all");
    x = gradients.of(x.id);
  }
}

}  // namespace detail

/// x may be any value that the call has computed, a weight or an input. Operations between x and y are differentiated
/// whether or not training would differentiate by x; no gradient flows through `stop_gradient`. The gradient is made of
/// operations, so that a loss that contains a gradient trains, and gradients of gradients have any order. Where a
/// function has no derivative, such as `abs` and `sqrt` at 0, the gradient is that of training: 0 and infinity.
constexpr tensor tracer::gradient(tensor y, tensor x, gradient_options const& options) {
  detail::find_gradients(*this, y, {&x, 1}, options);
  return x;
}
template <std::size_t Count>
constexpr std::array<tensor, Count> tracer::gradient(tensor y, tensor const (&xs)[Count],
                                                     gradient_options const& options) {
  std::array<tensor, Count> result{};
  for (std::size_t i = 0; i < Count; ++i) result[i] = xs[i];
  detail::find_gradients(*this, y, result, options);
  return result;
}
/// The gradient of x by y is linear in its upstream values: its own gradient by these, times v, is the Jacobian times
/// v.
constexpr tensor tracer::jvp(tensor y, tensor x, tensor v) {
  tensor const any = full(y.shape(), 1);
  return gradient(gradient(y, x, {any}), any, {v});
}

}  // namespace stagecraft::operations
