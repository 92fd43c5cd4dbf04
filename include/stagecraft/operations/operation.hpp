// SPDX-License-Identifier: BSD-3-Clause
// One step of a traced computation: any of the operations, and what it reads and writes. Level 1.
#pragma once

#include <stagecraft/operations/composite.hpp>
#include <stagecraft/operations/convolution.hpp>
#include <stagecraft/operations/leaves.hpp>
#include <stagecraft/operations/map.hpp>
#include <stagecraft/operations/movement.hpp>
#include <stagecraft/operations/pooling.hpp>
#include <stagecraft/operations/product.hpp>
#include <stagecraft/operations/reduce.hpp>
#include <stagecraft/operations/scan.hpp>
#include <stagecraft/operations/update.hpp>
#include <variant>

namespace stagecraft::operations {

/// Any of the operations.
using operation =
    std::variant<input, weight, constant, iota, random, map, reduce, product, convolution, convolution_input_gradient,
                 convolution_filter_gradient, pooling, pooling_gradient, reshape, broadcast, transpose, slice, pad,
                 concatenate, gather, scatter_add, update, loop, carry, next, at, stack, last, loop_end, composite>;

/// An operation at its place in a list. It reads only what stands before it.
struct node {
  operation what;
  extents shape;          ///< of its result
  int first_operand = 0;  ///< in the list of operands
  int operand_count = 0;
  bool has_gradient = true;  ///< whether gradients flow through it
};

/// A view of a list's nodes and operands: the same for a list that grows and for a frozen one.
template <class List>
[[nodiscard]] constexpr int operand_of(List const& list, int id, int index) {
  return list.operands[static_cast<std::size_t>(list.nodes[static_cast<std::size_t>(id)].first_operand + index)];
}

}  // namespace stagecraft::operations
