// SPDX-License-Identifier: BSD-3-Clause
// The tensors that a composite's own gradient rule reads and writes.
#pragma once

#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/operations/tracer.hpp>

namespace stagecraft::operations {

/// The data of a composite's gradient rule: the operands, the result and the result's gradient; it collects the
/// gradients of the operands.
class composite_gradient {
 public:
  constexpr composite_gradient(tracer& ops, int composite, tensor of_result)
      : ops_(&ops),
        composite_(composite),
        of_result_(of_result),
        count_(ops.list().node_of(composite).operand_count - 1) {
    if (count_ > most_operands) ops.list().fail("a group reads more than ", most_operands, " tensors");
  }

  [[nodiscard]] constexpr tracer& ops() const noexcept { return *ops_; }
  /// Operand `index` of `reads`.
  [[nodiscard]] constexpr tensor read(int index) const {
    return {&ops_->list(), ops_->list().operand(composite_, index + 1)};
  }
  [[nodiscard]] constexpr tensor result() const { return {&ops_->list(), composite_}; }
  /// A copy of the composite: the list moves when it grows.
  [[nodiscard]] constexpr composite what() const { return ops_->list().node_of(composite_).what.as<composite>(); }
  [[nodiscard]] constexpr tensor gradient() const noexcept { return of_result_; }
  /// True if the gradient of operand `index` is wanted; others need not be given.
  [[nodiscard]] constexpr bool wants(int index) const noexcept { return wanted_[index]; }
  constexpr void want(int index, bool is_wanted) noexcept {
    if (index < most_operands) wanted_[index] = is_wanted;
  }
  /// Says that gradients which the rule gives read what is inside the group, so that a gradient of them reaches it.
  constexpr void read_inside() noexcept { has_inner_readers_ = true; }
  [[nodiscard]] constexpr bool has_inner_readers() const noexcept { return has_inner_readers_; }
  /// Sets the gradient of operand `index`. Operands without such a call have no gradient.
  constexpr void give(int index, tensor gradient) { given_[index] = gradient; }
  [[nodiscard]] constexpr tracing::array_view<tensor const> given() const noexcept {
    return {given_, static_cast<std::size_t>(count_ < most_operands ? count_ : most_operands)};
  }

 private:
  tracer* ops_;
  int composite_;
  tensor of_result_;
  int count_;
  static constexpr int most_operands = 8;
  tensor given_[most_operands]{};
  bool wanted_[most_operands]{}, has_inner_readers_ = false;
};

/// The gradient of softmax: y (dy - sum(y dy)) along its axis.
constexpr void softmax_rule(composite_gradient& of) {
  tensor const y = of.result(), dy = of.gradient();
  float const axis = of.what().numbers[0];
  auto const inside = [&] { return y * (dy - of.ops().sum(y * dy, static_cast<int>(axis))); };
  of.give(0, of.ops().composite("softmax", {y, dy}, inside, nullptr, {axis}, true));
}
/// The gradient of dropout drops the elements that were dropped.
constexpr void dropout_rule(composite_gradient& of) {
  of.give(1, of.ops().dropout(of.gradient(), of.read(0), of.what().numbers[0], true));
}

constexpr tensor tracer::softmax(tensor x, int axis) {
  if (!x.shape().has(axis)) return detail::refused(x, "has no axis #", {axis});
  auto const along = static_cast<float>(x.shape().from_front(axis));
  auto const inside = [&] {
    tensor const e = exp(x - stop_gradient(max(x, axis)));
    return e / sum(e, axis);
  };
  return composite("softmax", {x}, inside, softmax_rule, {along});
}
constexpr tensor tracer::dropout(tensor x, extents const& drawn, float rate, std::uint64_t seed) {
  return dropout(x, uniform(drawn, seed), rate);
}
constexpr tensor tracer::dropout(tensor x, tensor drawn, float rate, bool is_gradient) {
  auto const inside = [&] { return where(drawn >= rate, x * (1.0F / (1.0F - rate)), 0.0F); };
  return composite("dropout", {drawn, x}, inside, dropout_rule, {rate}, is_gradient);
}

}  // namespace stagecraft::operations

#include <stagecraft/operations/normalizations.hpp>  // layers call them, whoever includes these
