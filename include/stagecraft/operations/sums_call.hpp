// SPDX-License-Identifier: BSD-3-Clause
// The sums of products in which a call of a dense layer or of a convolution ends.
#pragma once

#include <stagecraft/operations/trace.hpp>

namespace stagecraft::operations {

/// A call that returns products (a convolution is one, too), with or without a bias and an activation. Earlier products
/// lead to the last one.
struct sums_call {
  int sums = -1;                ///< the operation of the sums, bias included; -1: the call has none
  long long floats = 0;         ///< number of sums
  long long floats_before = 0;  ///< floats of earlier products
  bool is_packed = false;       ///< true if the first factor is a weight that is kept as a matrix

  constexpr explicit sums_call(trace const& traced) {
    if (traced.list.problem.failed() || traced.outputs.empty()) return;
    operation_list const& list = traced.list;
    int id = traced.forward_count - 1;
    while (id >= 0 && is_behind(list.node_of(id).what)) --id;
    int product = id;
    if (id > 0 && list.node_of(id).what.is<weight>()) {  // the bias
      if (id + 1 == traced.forward_count || !adds(list, id + 1, id - 1, id)) return;
      product = unmoved(list, id - 1);
      ++id;
    }
    if (product < 0 || !is_product(list.node_of(product).what)) return;
    sums = id;
    floats = list.node_of(product).shape.size();
    int first = product;
    for (int before = product - 1; before >= 0; --before)
      if (is_product(list.node_of(before).what)) {
        floats_before += list.node_of(before).shape.size();
        first = before;
      }
    if (auto const* factor = list.node_of(unmoved(list, list.operand(first, 1))).what.if_is<weight>())
      is_packed = traced.weights[factor->index].layout == tracing::parameter_layout::matrix;
  }

 private:
  static constexpr bool is_product(operation const& what) {
    return what.is_any<product, convolution, convolution_input_gradient>();
  }
  /// True of operations that may follow the sums: those of activations, and changes of shape.
  static constexpr bool is_behind(operation const& what) {
    return what.is_any<map, constant, composite, reduce, reshape>();
  }
  static constexpr bool adds(operation_list const& list, int id, int a, int b) {
    auto const* elementwise = list.node_of(id).what.if_is<map>();
    return elementwise != nullptr && elementwise->apply == function::add && list.operand(id, 0) == a &&
           list.operand(id, 1) == b;
  }
  static constexpr int unmoved(operation_list const& list, int id) {
    while (list.node_of(id).what.is<reshape>()) id = list.operand(id, 0);
    return id;
  }
};

}  // namespace stagecraft::operations
