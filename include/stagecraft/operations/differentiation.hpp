// SPDX-License-Identifier: BSD-3-Clause
// Reverse-mode differentiation of a list of operations: one rule for each kind, each appends to the same list.
#pragma once

#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/operations/composite_gradient.hpp>
#include <stagecraft/operations/dependents.hpp>
#include <stagecraft/operations/loop_sums.hpp>
#include <stagecraft/operations/pooling_choice.hpp>
#include <stagecraft/operations/slice_gradients.hpp>
#include <stagecraft/operations/trace.hpp>

namespace stagecraft::operations {

/// Appends the gradients of operations. Begin with `add`, the gradient of a result; then `run`; then ask for `of`.
class differentiation {
  // Operations that have no operands or no gradient pass none on. This stands above its caller: see tracer.
  template <class What>
  constexpr void rule(What const&, int, tensor) {}

 public:
  /// Follows the operations that training differentiates: those that depend on inputs or weights.
  constexpr explicit differentiation(tracer& ops) : ops_(&ops) {}
  /// Follows the operations [0, end) that depend on one of `sources`. What it appends can be differentiated again.
  constexpr differentiation(tracer& ops, tracing::array_view<int const> sources, int end)
      : ops_(&ops), follows_sources_(true), depends_(detail::find_dependents(ops.list(), sources, end)) {}

  /// The gradient of operation `id`, once all operations that read it have added to it; the id of the result is -1 if
  /// there is none.
  [[nodiscard]] constexpr tensor of(int id) {
    if (tensor const slices = slices_.take(*ops_, {&list(), id}); slices.id >= 0) add(id, slices);
    return known(id);
  }
  [[nodiscard]] constexpr bool has(int id) { return of(id).id >= 0; }

  /// Takes the gradient of operation `computed` as that of `id`, which has the same value.
  constexpr void hand_on(int id, int computed) { read_instead_.emplace_back(id, computed); }

  /// Adds to the gradient of operation `id`. An operand that was broadcast gets the sum over the places that read it.
  constexpr void add(int id, tensor gradient) {
    if (!wanted(id)) return;
    auto const index = static_cast<std::size_t>(id);
    if (gradients_.size() <= index) gradients_.resize(index + 1, -1);
    gradient = sum_to(gradient, list().node_of(id).shape);
    gradients_[index] = gradients_[index] < 0 ? gradient.id : (known(id) + gradient).id;
  }

  /// Appends the gradients of the operands of all operations in [first, end).
  constexpr void run(int first, int end) {
    for (int id = end - 1; id >= first; --id) {
      node const at_id = list().node_of(id);  // a copy: the list grows
      if (at_id.what.is<loop_end>()) {
        int const begin = list().operand(id, 0);
        differentiate_loop(begin, id);
        id = begin;
      } else if (has(id) && wanted(id)) {
        if (auto const* group = at_id.what.if_is<composite>(); group && group->rule) {
          composite_gradient of_group(*ops_, id, of(id));
          for (int i = 0; i + 1 < at_id.operand_count; ++i) of_group.want(i, wanted(list().operand(id, i + 1)));
          group->rule(of_group);
          for (int i = 0; i + 1 < at_id.operand_count; ++i)
            if (auto const given = of_group.given()[i]; given.id >= 0) add(list().operand(id, i + 1), given);
          if (!of_group.has_inner_readers()) id = group->first;
        } else {
          at_id.what.visit([&](auto const& what) { rule(what, id, of(id)); });
        }
      }
    }
  }

 private:
  [[nodiscard]] constexpr operation_list& list() const noexcept { return ops_->list(); }
  [[nodiscard]] constexpr tensor operand(int id, int index) const { return {&list(), list().operand(id, index)}; }
  [[nodiscard]] constexpr tensor known(int id) const {
    auto const index = static_cast<std::size_t>(id);
    return {&list(), index < gradients_.size() ? gradients_[index] : -1};
  }
  [[nodiscard]] constexpr bool wanted(int id) const {
    if (!follows_sources_) return list().node_of(id).has_gradient;
    return static_cast<std::size_t>(id) < depends_.size() && depends_[id] != 0;
  }
  /// Follows operation `copy` if it follows `id`, whose value it has.
  constexpr void follow(int copy, bool follows) {
    if (!follows_sources_) return;
    if (depends_.size() <= static_cast<std::size_t>(copy)) depends_.resize(static_cast<std::size_t>(copy) + 1, 0);
    depends_[copy] = follows;
  }
  [[nodiscard]] constexpr bool wanted(tensor x) const { return wanted(x.id); }

  constexpr tensor sum_to(tensor gradient, extents shape) const {
    extents const wide = gradient.shape();
    if (wide == shape) return gradient;
    reduce over{reduction::sum};
    for (int i = 0; i < wide.rank; ++i)
      if (shape.aligned(i, wide.rank) == 1 && wide[i] > 1) over.axes |= 1U << i;
    if (over.axes != 0) gradient = ops_->append(over, over.out(wide), {gradient.id});
    return ops_->reshape(gradient, shape);
  }

  constexpr void rule(map const& what, int id, tensor dy) {
    tensor const y{&list(), id}, a = operand(id, 0);
    switch (what.apply) {
      case function::identity: return add(a.id, dy);
      case function::negative: return add(a.id, -dy);
      case function::absolute: return add(a.id, dy * sign(a));
      case function::exp: return add(a.id, dy * y);
      case function::log: return add(a.id, dy / a);
      case function::log1p: return add(a.id, dy / (a + 1.0F));
      case function::softplus: return add(a.id, dy * sigmoid(a));
      case function::sqrt: return add(a.id, dy * 0.5F / y);
      case function::rsqrt: return add(a.id, dy * (y * y * y * -0.5F));
      case function::sin: return add(a.id, dy * cos(a));
      case function::cos: return add(a.id, -(dy * sin(a)));
      case function::atan: return add(a.id, dy / (a * a + 1.0F));
      case function::tanh: return add(a.id, dy * (1.0F - y * y));
      case function::sigmoid: return add(a.id, dy * (y * (1.0F - y)));
      case function::erf: return add(a.id, dy * (exp(-(a * a)) * 1.12837917F));  // 2 / sqrt(pi)
      case function::sign:
      case function::floor:
      case function::round:
      case function::less:
      case function::less_equal:
      case function::equal: return;
      default: return rule_of_several(what.apply, id, y, dy);
    }
  }
  constexpr void rule_of_several(function apply, int id, tensor y, tensor dy) {
    tensor const a = operand(id, 0), b = operand(id, 1);
    bool const of_a = wanted(a), of_b = wanted(b);
    switch (apply) {
      case function::add: add(a.id, dy); return add(b.id, dy);
      case function::subtract:
        add(a.id, dy);
        if (of_b) add(b.id, -dy);
        return;
      case function::multiply:
        if (a.id == b.id) return add(a.id, dy * (a * 2.0F));
        if (of_a) add(a.id, dy * b);
        if (of_b) add(b.id, dy * a);
        return;
      case function::divide:
        if (of_a) add(a.id, dy / b);
        if (of_b) add(b.id, -(dy * y) / b);
        return;
      case function::power:
        if (of_a) add(a.id, dy * b * pow(a, b - 1.0F));
        if (of_b) add(b.id, dy * y * log(a));
        return;
      case function::remainder:  // a - b n for a whole number n
        add(a.id, dy);
        if (of_b) add(b.id, dy * round((y - a) / b));
        return;
      // If both are equal, or one is NaN, the first is the result.
      case function::maximum: return choose(b, a, a < b, dy);
      case function::minimum: return choose(b, a, b < a, dy);
      case function::select: return choose(b, operand(id, 2), a, dy);
      default: break;
    }
    if (tensor const c = operand(id, 2); wanted(c)) add(c.id, apply == function::multiply_subtract ? -dy : dy);
    tensor const of_product = apply == function::negative_multiply_add ? -dy : dy;
    if (of_a) add(a.id, of_product * b);
    if (of_b) add(b.id, of_product * a);
  }
  /// Adds the gradients of a result that is a where `condition` holds, else b.
  constexpr void choose(tensor a, tensor b, tensor condition, tensor dy) {
    if (wanted(a)) add(a.id, where(condition, dy, 0.0F));
    if (wanted(b)) add(b.id, where(condition, 0.0F, dy));
  }
  constexpr void rule(reduce const& what, int id, tensor dy) {
    tensor const x = operand(id, 0);
    if (what.by == reduction::sum) return add(x.id, ops_->broadcast(dy, x.shape()));
    // Equal largest elements share the gradient, as in TensorFlow.
    tensor const is_largest = equal(x, tensor{&list(), id});
    tensor const count = ops_->append(reduce{reduction::sum, what.axes}, what.out(x.shape()), {is_largest.id});
    add(x.id, is_largest * (dy / count));
  }
  constexpr void rule(product const& what, int id, tensor dy) {
    tensor const a = operand(id, 0), b = operand(id, 1);
    bool const ta = what.transpose_a, tb = what.transpose_b;
    if (wanted(a)) add(a.id, ta ? ops_->matmul(b, dy, {tb, true}) : ops_->matmul(dy, b, {false, !tb}));
    if (wanted(b)) add(b.id, tb ? ops_->matmul(dy, a, {true, ta}) : ops_->matmul(a, dy, {!ta, false}));
  }
  // A convolution and its two gradients are linear in both operands, and are gradients of one another.
  constexpr void rule(convolution const& what, int id, tensor dy) {
    tensor const x = operand(id, 0), filter = operand(id, 1);
    if (wanted(x)) add(x.id, input_gradient(what, dy, filter, x.shape()));
    if (wanted(filter)) add(filter.id, filter_gradient(what, x, dy));
  }
  constexpr void rule(convolution_input_gradient const& what, int id, tensor dy) {
    tensor const gradient = operand(id, 0), filter = operand(id, 1);
    convolution const forward{what.windows, what.groups};
    if (wanted(gradient)) add(gradient.id, ops_->conv(dy, filter, what.windows, what.groups));
    if (wanted(filter)) add(filter.id, filter_gradient(forward, dy, gradient));
  }
  constexpr void rule(convolution_filter_gradient const& what, int id, tensor dy) {
    tensor const x = operand(id, 0), gradient = operand(id, 1);
    if (wanted(x)) add(x.id, input_gradient({what.windows, what.groups}, gradient, dy, x.shape()));
    if (wanted(gradient)) add(gradient.id, ops_->conv(x, dy, what.windows, what.groups));
  }
  constexpr tensor input_gradient(convolution const& of, tensor dy, tensor filter, extents const& shape) {
    return ops_->append(convolution_input_gradient{of.windows, of.groups}, shape, {dy.id, filter.id});
  }
  constexpr tensor filter_gradient(convolution const& of, tensor x, tensor dy) {
    extents shape;
    for (int i = 0; i < of.windows.count; ++i) shape.push_back(of.windows[i].size);
    shape.push_back(x.shape()[-1] / of.groups);
    shape.push_back(dy.shape()[-1]);
    return ops_->append(convolution_filter_gradient{of.windows, of.groups}, shape, {x.id, dy.id});
  }
  constexpr void rule(pooling const& what, int id, tensor dy) {
    tensor const x = operand(id, 0);
    add(x.id, ops_->append(pooling_gradient{what.kind, what.windows}, x.shape(), {x.id, id, dy.id}));
  }
  // It is linear in the gradient of the output; the choice of the largest element has no gradient.
  constexpr void rule(pooling_gradient const& what, int id, tensor dy) {
    tensor const x = operand(id, 0), y = operand(id, 1);
    add(list().operand(id, 2), what.kind == pooling_kind::max ? detail::of_largest(*ops_, what.windows, x, y, dy)
                                                              : ops_->average_pool(dy, what.windows));
  }

  constexpr void rule(reshape const&, int id, tensor dy) {
    tensor const x = operand(id, 0);
    add(x.id, ops_->reshape(dy, x.shape()));
  }
  constexpr void rule(broadcast const&, int id, tensor dy) { add(list().operand(id, 0), dy); }
  constexpr void rule(transpose const& what, int id, tensor dy) {
    tensor const x = operand(id, 0);
    add(x.id, ops_->append(what.inverse(x.rank()), x.shape(), {dy.id}));
  }
  constexpr void rule(slice const& what, int id, tensor dy) {
    tensor const x = operand(id, 0);
    if (wanted(x)) slices_.add(x.id, what, dy);
  }
  constexpr void rule(pad const& what, int id, tensor dy) {
    tensor const x = operand(id, 0);
    add(x.id, ops_->append(slice{what.axis, what.begin, what.step}, x.shape(), {dy.id}));
  }
  constexpr void rule(concatenate const& what, int id, tensor dy) {
    int begin = 0;
    for (int i = 0; i < list().node_of(id).operand_count; ++i) {
      tensor const part = operand(id, i);
      int const count = part.shape()[what.axis];
      if (wanted(part)) add(part.id, ops_->slice(dy, what.axis, begin, count));
      begin += count;
    }
  }
  constexpr void rule(gather const&, int id, tensor dy) {
    tensor const table = operand(id, 0), indices = operand(id, 1);
    add(table.id, ops_->append(scatter_add{}, table.shape(), {dy.id, indices.id}));
  }
  constexpr void rule(scatter_add const&, int id, tensor dy) {
    tensor const rows = operand(id, 0), indices = operand(id, 1);
    add(rows.id, ops_->append(gather{}, rows.shape(), {dy.id, indices.id}));
  }
  /// The gradient of a state after the last trip belongs to the state itself, where the loop reads it.
  constexpr void rule(last const&, int id, tensor dy) { add(list().operand(id, 1), dy); }
  constexpr void rule(composite const&, int id, tensor dy) { add(list().operand(id, 0), dy); }
  constexpr void rule(operations::at const&, int id, tensor dy) {
    for (auto const& [read, computed] : read_instead_)
      if (read == id) add(computed, dy);
  }

  constexpr void differentiate_loop(int begin, int end);

  tracer* ops_;
  bool follows_sources_ = false;
  tracing::growing_array<char> depends_;  // 1 for each operation that depends on the sources
  tracing::growing_array<int> gradients_;
  tracing::growing_array<std::pair<int, int>> read_instead_;
  detail::slice_gradients slices_;
};

/// The gradient of a loop is a loop from the end: a trip computes the step again from the states and the products that
/// were kept, then the gradients of the step. The loop carries the gradients of the states, and the sums of the
/// gradients of tensors that the step reads from outside, unless these sums are computed after the loop.
constexpr void differentiation::differentiate_loop(int begin, int end) {
  detail::loop_parts const parts(list(), begin, end, [&](int id) { return wanted(id); });
  auto const shape_of = [&](int id) { return list().node_of(id).shape; };
  bool reaches = false;
  for (int const id : parts.carries) reaches |= has(id);
  for (int const id : parts.stacks) reaches |= has(id);
  if (!reaches) return;

  tracing::growing_array<tensor> first_values;
  for (int const id : parts.carries) first_values.push_back(has(id) ? of(id) : ops_->full(shape_of(id), 0));
  for (int const id : parts.outside) first_values.push_back(ops_->full(shape_of(id), 0));
  tensor const loop = ops_->begin_loop(tracer::trips_of({&list(), begin}),
                                       follows_sources_ ? static_cast<int>(first_values.size()) : 0);
  tracing::growing_array<tensor> states;
  for (tensor const first : first_values) states.push_back(ops_->carry(loop, first));
  if (follows_sources_)
    for (tensor const state : states) ops_->stack(loop, state, {0});

  // Repeat the step. The first stacks of a loop hold the states that its trips begin with; stacks of products follow.
  auto const stack_of = [&](int id) {
    auto const first = static_cast<std::size_t>(list().node_of(begin).what.as<operations::loop>().stacks_of_states);
    for (std::size_t i = first; i < parts.stacks.size(); ++i)
      if (list().operand(parts.stacks[i], 1) == id) return parts.stacks[i];
    return -1;
  };
  auto const from_stack = [&](int stack) {
    auto const where = list().node_of(stack).what.as<operations::stack>();
    return ops_->at(loop, {&list(), stack}, {where.axis, !where.reversed});
  };
  differentiation inner(*ops_);
  inner.follows_sources_ = follows_sources_;
  if (follows_sources_) inner.depends_ = depends_;  // covers the operations before the loop
  tracing::growing_array<int> copies(static_cast<std::size_t>(end) + 1, -1);
  copies[begin] = loop.id;
  auto const copy_of = [&](int id) { return id < begin ? id : copies[id]; };
  auto const make = [&](int id, tensor copy) {
    copies[id] = copy.id;
    inner.follow(copy.id, wanted(id));
  };
  auto const is_own = [&](int id) { return list().node_of(id).operand_count > 0 && list().operand(id, 0) == begin; };
  int const body = list().size();
  std::size_t state = 0;
  for (int id = begin + 1; id < end; ++id) {
    node const original = list().node_of(id);
    if (is_own(id) && original.what.is<carry>()) {
      make(id, from_stack(parts.stacks[state++]));
    } else if (is_own(id) && original.what.is<operations::at>()) {
      auto const where = original.what.as<operations::at>();
      make(id, ops_->at(loop, operand(id, 1), {where.axis, !where.reversed}));
    } else if (!is_own(id)) {
      tracing::growing_array<int> reads;
      for (int i = 0; i < original.operand_count; ++i) reads.push_back(copy_of(list().operand(id, i)));
      operation what = original.what;
      if (auto* group = what.if_is<composite>()) group->first = copy_of(group->first);
      make(id, {&list(), list().append(what, original.shape, reads)});
      list().node_of(list().size() - 1).has_gradient = original.has_gradient;
      if (int const kept = stack_of(id); kept >= 0) {
        tensor const read = from_stack(kept);
        inner.hand_on(read.id, copy_of(id));
        make(id, read);
        list().node_of(read.id).has_gradient = original.has_gradient;
      }
    }
  }
  int const body_end = list().size();

  for (int const id : parts.nexts)
    for (std::size_t i = 0; i < parts.carries.size(); ++i)
      if (parts.carries[i] == list().operand(id, 1)) inner.add(copy_of(list().operand(id, 2)), states[i]);
  for (int const id : parts.stacks)
    if (has(id)) {
      auto const where = list().node_of(id).what.as<operations::stack>();
      inner.add(copy_of(list().operand(id, 1)), ops_->at(loop, of(id), {where.axis, !where.reversed}));
    }
  inner.run(body, body_end);

  for (std::size_t i = 0; i < parts.carries.size(); ++i) {
    tensor const gradient = inner.of(copy_of(parts.carries[i]));
    ops_->next(loop, states[i], gradient.id >= 0 ? gradient : ops_->full(shape_of(parts.carries[i]), 0));
  }
  detail::loop_sums behind(*ops_, loop);
  tracing::growing_array<char> is_behind;  // true: the sum is computed after the loop, and its state is not used
  for (std::size_t i = 0; i < parts.outside.size(); ++i) {
    tensor const sum = states[parts.carries.size() + i], gradient = inner.of(parts.outside[i]);
    is_behind.push_back(gradient.id >= 0 && behind.prepare(gradient.id));
    if (is_behind.back() == 0) ops_->next(loop, sum, gradient.id >= 0 ? sum + gradient : sum);
  }
  tracing::growing_array<std::pair<int, tensor>> of_reads;
  for (int const id : parts.reads)
    if (tensor const gradient = inner.of(copy_of(id)); gradient.id >= 0) {
      auto const where = list().node_of(id).what.as<operations::at>();
      bool const is_alike = where.axis == behind.where.axis && where.reversed != behind.where.reversed;
      of_reads.emplace_back(list().operand(id, 1), is_alike
                                                       ? behind.stacked(gradient)
                                                       : ops_->stack(loop, gradient, {where.axis, !where.reversed}));
    }
  ops_->end_loop(loop);
  for (auto const& [id, gradient] : of_reads) add(id, gradient);
  for (std::size_t i = 0; i < parts.carries.size(); ++i)
    add(list().operand(parts.carries[i], 1), ops_->last(loop, states[i]));
  for (std::size_t i = 0; i < parts.outside.size(); ++i)
    add(parts.outside[i], is_behind[i] != 0 ? behind.sum(inner.of(parts.outside[i]).id)
                                            : ops_->last(loop, states[parts.carries.size() + i]));
}

/// Appends the gradients of a traced computation by all its inputs and weights.
constexpr void differentiate(trace& traced) {
  tracer ops(traced.list, traced.weights);
  differentiation gradients(ops);
  for (int const output : traced.outputs) {
    tensor const seed = ops.append(input{static_cast<int>(traced.inputs.size() + traced.seeds.size())},
                                   traced.list.node_of(output).shape);
    traced.seeds.push_back(seed.id);
    gradients.add(output, seed);
  }
  gradients.run(0, traced.forward_count);
  for (int const id : traced.inputs) traced.gradients.push_back(gradients.of(id).id);
  for (std::size_t weight = 0; weight < traced.weights.size(); ++weight)
    for (int id = 0; id < traced.forward_count; ++id)
      if (auto const* read = traced.list.node_of(id).what.if_is<operations::weight>();
          read && read->index == static_cast<int>(weight))
        traced.gradients.push_back(traced.list.problem.failed() ? -1 : gradients.of(id).id);
}

}  // namespace stagecraft::operations
