// SPDX-License-Identifier: BSD-3-Clause
// A node of a traced computation: its operation, its operands and its result.
#pragma once

#include <stagecraft/graph/dtype.hpp>
#include <stagecraft/operations/kinds/leaves.hpp>
#include <stagecraft/operations/kinds/map.hpp>
#include <stagecraft/operations/kinds/movement.hpp>
#include <stagecraft/operations/kinds/product.hpp>
#include <stagecraft/operations/kinds/reduce.hpp>
#include <stagecraft/operations/kinds/scan.hpp>
#include <stagecraft/operations/kinds/whole_map.hpp>
#include <stagecraft/operations/kinds/windows.hpp>

// All kinds of operation, for the lists below: their names are those of the structs.
#define STAGECRAFT_OPERATIONS(EACH)                                                                                  \
  EACH(input)                                                                                                        \
  EACH(weight)                                                                                                       \
  EACH(constant)                                                                                                     \
  EACH(iota)                                                                                                         \
  EACH(random)                                                                                                       \
  EACH(map)                                                                                                          \
  EACH(reduce)                                                                                                       \
  EACH(product)                                                                                                      \
  EACH(convolution)                                                                                                  \
  EACH(convolution_input_gradient)                                                                                   \
  EACH(convolution_filter_gradient)                                                                                  \
  EACH(pooling)                                                                                                      \
  EACH(pooling_gradient)                                                                                             \
  EACH(reshape)                                                                                                      \
  EACH(broadcast)                                                                                                    \
  EACH(transpose)                                                                                                    \
  EACH(slice)                                                                                                        \
  EACH(pad) EACH(concatenate) EACH(gather) EACH(scatter_add) EACH(update) EACH(loop) EACH(carry) EACH(next) EACH(at) \
      EACH(stack) EACH(last) EACH(loop_end) EACH(composite) EACH(whole_map)

namespace stagecraft::operations {

/// Any of the operations. It works as std::variant does, but takes half the time to compile.
class operation {
  enum class kind : unsigned char {
#define STAGECRAFT_EACH(name) name,
    STAGECRAFT_OPERATIONS(STAGECRAFT_EACH)
#undef STAGECRAFT_EACH
  };
#define STAGECRAFT_EACH(name) \
  static constexpr kind kind_of(operations::name const*) { return kind::name; }
  STAGECRAFT_OPERATIONS(STAGECRAFT_EACH)
#undef STAGECRAFT_EACH

  kind kind_;
  union {
#define STAGECRAFT_EACH(name) operations::name name##_;
    STAGECRAFT_OPERATIONS(STAGECRAFT_EACH)
#undef STAGECRAFT_EACH
  };

#define STAGECRAFT_EACH(name)                                                             \
  constexpr operations::name const& of(operations::name const*) const { return name##_; } \
  constexpr operations::name& of(operations::name const*) { return name##_; }
  STAGECRAFT_OPERATIONS(STAGECRAFT_EACH)
#undef STAGECRAFT_EACH
  /// A constant, since compilers evaluate one faster than a call.
  template <class What>
  static constexpr kind kind_of_type = kind_of(static_cast<What const*>(nullptr));

 public:
  constexpr operation() : kind_(kind::constant), constant_{} {}
#define STAGECRAFT_EACH(name) \
  constexpr operation(operations::name const& what) : kind_(kind::name), name##_(what) {}
  STAGECRAFT_OPERATIONS(STAGECRAFT_EACH)
#undef STAGECRAFT_EACH

  /// True if the operation has this type.
  template <class What>
  [[nodiscard]] constexpr bool is() const {
    return kind_ == kind_of_type<What>;
  }
  /// True if the operation has one of these types. Constant evaluation takes one call for all of them.
  template <class... What>
  [[nodiscard]] constexpr bool is_any() const {
    return ((kind_ == kind_of_type<What>) || ...);
  }
  /// The operation as this type, which it must have.
  template <class What>
  [[nodiscard]] constexpr What const& as() const {
    return of(static_cast<What const*>(nullptr));
  }
  /// The operation as this type, or null.
  template <class What>
  [[nodiscard]] constexpr What const* if_is() const {
    return kind_ == kind_of_type<What> ? &of(static_cast<What const*>(nullptr)) : nullptr;
  }
  template <class What>
  [[nodiscard]] constexpr What* if_is() {
    return kind_ == kind_of_type<What> ? &of(static_cast<What const*>(nullptr)) : nullptr;
  }
  /// The number of its type, from 0.
  [[nodiscard]] constexpr int index() const { return static_cast<int>(kind_); }

  /// Calls f with the operation as its type.
  template <class F>
  constexpr decltype(auto) visit(F&& f) const {
    switch (kind_) {
#define STAGECRAFT_EACH(name) \
  case kind::name: return f(name##_);
      STAGECRAFT_OPERATIONS(STAGECRAFT_EACH)
#undef STAGECRAFT_EACH
    }
    return f(constant_);  // not reached
  }
};

#undef STAGECRAFT_OPERATIONS

/// True if the result lies in the first operand's memory: the same elements in the same order.
[[nodiscard]] constexpr bool is_alias(operation const& what) {
  if (what.is<reshape>()) return true;
  if (auto const* group = what.if_is<composite>()) return !group->has_kernel;
  auto const* elementwise = what.if_is<map>();
  return elementwise != nullptr && elementwise->apply == function::identity;
}

/// An operation at its place in a list. It reads only operations before it.
struct node {
  operation what;
  extents shape;          ///< extents of the result
  int first_operand = 0;  ///< index in the list of operands
  int operand_count = 0;
  bool has_gradient = true;     ///< true: gradients flow through it
  dtype type = dtype::float32;  ///< the type of its elements; int32 as bits, all others as floats
};

/// Operands [first, end) of an operation that a step reads. A group reads its result alone, since the operations inside
/// it read its arguments, or its arguments alone if a kernel carries it out. An update reads the copy for the backward
/// step alone.
struct operands_read {
  int first, end;
};
[[nodiscard]] constexpr operands_read operands_read_by(node const& of) {
  if (auto const* group = of.what.if_is<composite>())
    return group->has_kernel ? operands_read{1, of.operand_count} : operands_read{0, 1};
  return {0, of.what.is<update>() ? 2 : of.operand_count};
}

/// Operand `index` of operation `id`, of a list that grows or a frozen one.
template <class List>
[[nodiscard]] constexpr int operand_of(List const& list, int id, int index) {
  return list.operands[list.nodes[id].first_operand + index];
}

}  // namespace stagecraft::operations
