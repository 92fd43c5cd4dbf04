// SPDX-License-Identifier: BSD-3-Clause
// The argument `ops` of a layer's `call`: weights, and the operations that need more than operands.
#pragma once

#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/graph/parameter.hpp>
#include <stagecraft/graph/shape.hpp>
#include <stagecraft/operations/composed/composed_words.hpp>
#include <stagecraft/operations/composed/refusal.hpp>
#include <stagecraft/operations/kinds/product.hpp>
#include <stagecraft/operations/loop_products.hpp>
#include <stagecraft/operations/tensor.hpp>

namespace stagecraft::operations {

/// Appends operations to a list, in Keras's words (keras.ops), wherever an operation has options. Arguments that do not
/// fit are E1070, and the tensor is returned unchanged. Costs nothing at run time: it exists while the compiler traces.
class tracer : public composed_words {
 public:
  using composed_words::pad;
  using composed_words::stack;
  using composed_words::take;

  constexpr tracer(operation_list& list, tracing::growing_array<parameter>& weights, bool training = true)
      : list_(&list), weights_(&weights), training_(training) {}

  /// True if the step trains, in which dropout and batch normalization differ.
  [[nodiscard]] constexpr bool training() const noexcept { return training_; }
  /// True if the layer that is called is frozen: normalizations inside of it use their moving statistics.
  [[nodiscard]] constexpr bool is_frozen() const noexcept { return list_->layer_is_frozen; }

  /// A weight of the layer: Keras's `add_weight`, in the order of the calls. Write a statement for each weight.
  constexpr tensor weight(parameter const& described) {
    if (list_->weight_of_step != nullptr) return list_->weight_of_step(*this, described);
    if (list_->open_loops > 0)
      list_->fail("weight '", described.name.view(), "' is made inside a scan; make it before the scan");
    weights_->push_back(described);
    if (!scope_.empty()) weights_->back().name = fixed_name(scope_).append('/').append(described.name.view());
    return append(operations::weight{static_cast<int>(weights_->size()) - 1}, extents::of(described.shape));
  }
  /// A layer's state for each sample, kept from batch to batch, (batch, ...): 0 at first, then the value of `update`.
  /// It has no gradient, or a `captured` one, which replaces it in updates. E1087 no batch size; E1070 many axes.
  constexpr tensor state(std::string_view name, extents const& shape, bool captured = false) {
    parameter described{.name = name, .shape = {}, .trainable = captured, .between_batches = true};
    for (int const length : shape) described.shape.push_back(length);
    if (shape.rank > stagecraft::shape::max_rank) list_->fail("state '", name, "' has shape ", shape);
    int const kept = weight(described).id;
    list_->node_of(kept).has_gradient = captured;
    return {list_, kept};
  }
  /// Returns the result of `inside`; weights that it makes are named "name/kernel" and so on: TensorFlow's name_scope.
  template <class Inside>
  constexpr auto name_scope(fixed_name const& name, Inside const& inside) {
    fixed_name const outer = scope_;
    scope_ = outer.empty() ? name : fixed_name(outer).append('/').append(name.view());
    auto const result = inside();
    scope_ = outer;
    return result;
  }
  /// A tensor of this shape with one number everywhere.
  constexpr tensor full(extents const& shape, float value) { return broadcast(number(*list_, value), shape); }
  /// 0, 1, 2, ... along one axis: Keras's `arange` with other axes beside it.
  constexpr tensor iota(extents const& shape, int axis = -1) {
    return append(operations::iota{shape.from_front(axis)}, shape);
  }
  /// Numbers from [0, 1), drawn anew in each step; from `seed`, unless it is 0, in place of the trainer's.
  constexpr tensor uniform(extents const& shape, std::uint64_t seed = 0) {
    return drawn({random_distribution::uniform, seed}, shape);
  }
  /// Numbers of mean 0 and standard deviation 1, drawn anew in each step.
  constexpr tensor normal(extents const& shape, std::uint64_t seed = 0) {
    return drawn({random_distribution::normal, seed}, shape);
  }
  /// The elements of x in another shape.
  constexpr tensor reshape(tensor x, extents const& shape) {
    if (x.shape() == shape) return x;
    if (x.shape().size() != shape.size()) return detail::refused(x, "cannot be reshaped to @", {}, {shape});
    return append(operations::reshape{}, shape, {x.id});
  }
  /// Repeats x along axes of length 1 and along new axes in front.
  constexpr tensor broadcast(tensor x, extents const& shape) {
    if (x.shape() == shape) return x;
    extents wider = x.shape();
    if (!wider.broadcast_with(shape) || wider != shape)
      return detail::refused(x, "cannot be broadcast to @", {}, {shape});
    return append(operations::broadcast{}, shape, {x.id});
  }
  /// Repeats each element of an axis `count` times.
  constexpr tensor repeat(tensor x, int count, int axis) {
    if (!x.shape().has(axis) || x.rank() == extents::max_rank || count < 1 ||
        1LL * count * x.length(axis) > __INT_MAX__)
      return detail::refused(x, "cannot be repeated # times along axis #", {count, axis});
    extents one = x.shape(), all = one;
    int const along = one.from_front(axis);
    all[along] *= count;
    one.insert(along + 1, 1);
    auto const apart = reshape(x, one);
    one[along + 1] = count;
    return reshape(broadcast(apart, one), all);
  }
  /// Axis i of the result is axis order[i] of x.
  constexpr tensor transpose(tensor x, axis_list const& order) {
    int const rank = x.rank();
    operations::transpose moved;
    extents shape = x.shape();
    unsigned seen = 0;
    for (int i = 0; i < order.count && i < rank; ++i) {
      if (!x.shape().has(order.axes[i])) return refused_order(x, order);
      moved.order[i] = x.shape().from_front(order.axes[i]);
      shape[i] = x.shape()[moved.order[i]];
      seen |= 1U << moved.order[i];
    }
    if (order.count != rank || seen != (1U << rank) - 1) return refused_order(x, order);
    return append(moved, shape, {x.id});
  }
  /// `count` elements of an axis, from `begin` on, every `step`-th one; backwards if `step` is negative.
  constexpr tensor slice(tensor x, int axis, int begin, int count, int step = 1) {
    long long const last = begin + (count - 1LL) * step;
    if (!x.shape().has(axis) || begin < 0 || count < 1 || step == 0 || begin >= x.shape()[axis] || last < 0 ||
        last >= x.shape()[axis])
      return detail::refused(x, "has no slice of # from # along axis #", {count, begin, axis});
    extents shape = x.shape();
    shape[axis] = count;
    if (shape == x.shape() && begin == 0) return x;
    if (step < -1) return flip(slice(x, axis, static_cast<int>(last), count, -step), axis);
    return append(operations::slice{x.shape().from_front(axis), begin, step}, shape, {x.id});
  }
  /// The elements of an axis from the last to the first: Keras's `flip`.
  constexpr tensor flip(tensor x, int axis) {
    if (!x.shape().has(axis)) return detail::refused(x, "has no axis #", {axis});
    return append(operations::slice{x.shape().from_front(axis), x.shape()[axis] - 1, -1}, x.shape(), {x.id});
  }
  /// x with `before` zeros in front of it and `after` zeros after it along an axis.
  constexpr tensor pad(tensor x, int axis, int before, int after) {
    if (!x.shape().has(axis) || before < 0 || after < 0 || 1LL * before + after > __INT_MAX__ - x.length(axis))
      return detail::refused(x, "cannot be padded by # and # along axis #", {before, after, axis});
    extents shape = x.shape();
    shape[axis] += before + after;
    return scattered(x, {shape.from_front(axis), before, 1}, shape);
  }
  /// The inverse of a slice: see operations::pad.
  constexpr tensor scattered(tensor x, operations::pad const& where, extents const& shape) {
    if (x.shape() == shape && where.step == 1) return x;
    return append(where, shape, {x.id});
  }
  /// Joins tensors one after the other along an axis; their other lengths are equal.
  constexpr tensor concatenate(tracing::array_view<tensor const> parts, int axis = -1) {
    tensor const first = parts[0];
    if (!first.shape().has(axis)) return detail::refused(first, "has no axis # to concatenate along", {axis});
    int const along = first.shape().from_front(axis);
    extents shape = first.shape();
    tracing::growing_array<int> ids{first.id};
    for (tensor const part : parts.subspan(1)) {
      extents expected = first.shape();
      if (part.rank() == expected.rank) expected[along] = part.shape()[along];
      if (part.shape() != expected || part.length(axis) > __INT_MAX__ - shape[along])
        return detail::refused(first, "cannot be concatenated with @", {}, {part.shape()});
      shape[along] += part.shape()[along];
      ids.push_back(part.id);
    }
    return parts.size() == 1 ? first : tensor{list_, list_->append(operations::concatenate{along}, shape, ids)};
  }
  constexpr tensor concatenate(std::initializer_list<tensor> parts, int axis = -1) {
    return concatenate(tracing::array_view<tensor const>(parts.begin(), parts.size()), axis);
  }
  /// The rows of a table that the indices name: Keras's `take` along axis 0.
  constexpr tensor take(tensor table, tensor indices) {
    if (table.rank() < 1 || table.rank() + indices.rank() - 1 > extents::max_rank)
      return detail::refused(table, "has no rows to take by indices of shape @", {}, {indices.shape()});
    extents shape = indices.shape();
    for (int i = 1; i < table.rank(); ++i) shape.push_back(table.shape()[i]);
    return append(gather{}, shape, {table.id, indices.id});
  }

  /// The sum over axes, which stay with length 1, as in all reductions.
  constexpr tensor sum(tensor x, axis_list const& axes) { return reduced(x, reduction::sum, axes); }
  /// The largest element along axes.
  constexpr tensor max(tensor x, axis_list const& axes) { return reduced(x, reduction::max, axes); }
  /// The smallest element along axes.
  constexpr tensor min(tensor x, axis_list const& axes) { return -reduced(-x, reduction::max, axes); }
  /// The sum over axes, divided by the number of elements.
  constexpr tensor mean(tensor x, axis_list const& axes) {
    tensor const total = sum(x, axes);
    long long const count = x.shape().size() / total.shape().size();
    return count == 1 ? total : total * (1.0F / static_cast<float>(count));
  }
  /// The variance, divided by the number of elements: Keras's `var`.
  constexpr tensor var(tensor x, axis_list const& axes) { return mean(square(x - mean(x, axes)), axes); }

  /// Matrix products of the last two axes; axes before them are broadcast.
  constexpr tensor matmul(tensor a, tensor b, matmul_options const& options = {}) {
    product const what{options.transpose_a, options.transpose_b};
    extents shape;
    if (!what.out(a.shape(), b.shape(), shape)) return detail::refused(a, "cannot be multiplied by @", {}, {b.shape()});
    return append(what, shape, {a.id, b.id});
  }
  /// x (batch, places..., channels), filter (window..., channels / groups, filters).
  constexpr tensor conv(tensor x, tensor filter, windows const& over, int groups = 1) {
    convolution const what{over, groups};
    extents shape;
    if (!what.out(x.shape(), filter.shape(), shape))
      return detail::refused(x, "does not fit a filter of @", {}, {filter.shape()});
    return append(what, shape, {x.id, filter.id});
  }
  /// The gradient of `conv` with respect to an input of this shape.
  constexpr tensor conv_transpose(tensor x, tensor filter, windows const& over, extents const& shape, int groups = 1) {
    extents forward;
    if (!convolution{over, groups}.out(shape, filter.shape(), forward) || forward != x.shape())
      return detail::refused(x, "does not fit a transposed filter of @ that gives @", {}, {filter.shape(), shape});
    return append(convolution_input_gradient{over, groups}, shape, {x.id, filter.id});
  }
  /// The largest element of each window of x (batch, places..., channels).
  constexpr tensor max_pool(tensor x, windows const& over) { return pooled(x, {pooling_kind::max, over}); }
  /// The mean of each window of x, places of padding excluded.
  constexpr tensor average_pool(tensor x, windows const& over) { return pooled(x, {pooling_kind::average, over}); }

  /// Several results of a layer as one, the rows of which stand side by side: `return ops.outputs({y, state})`, where
  /// the layer says how many they may be, `static constexpr int most_outputs`, and how many they are, `output_count()`.
  constexpr tensor outputs(std::initializer_list<tensor> each) {
    return outputs(tracing::array_view<tensor const>(each.begin(), each.size()));
  }
  constexpr tensor outputs(tracing::array_view<tensor const> each) {
    tracing::growing_array<tensor> rows;
    list_->packed.clear();
    for (tensor const one : each) {
      list_->packed.push_back(one.shape());
      int const batch = one.length(0);
      rows.push_back(reshape(one, {batch, static_cast<int>(one.shape().size() / batch)}));
    }
    return concatenate(rows);
  }
  /// Adds the mean of a tensor, whose first axis is the batch, over all elements to the loss: Keras's `add_loss`.
  constexpr void add_loss(tensor value) {
    if (list_->open_loops > 0) list_->fail("a loss is added inside a scan; add what the scan gives behind it");
    list_->losses.push_back(value.id);
  }

  /// Groups the operations that `inside` appends, the last of which it returns, so that a machine may know the group by
  /// its name. The group is a function of `reads` and `numbers` alone. `rule` is a gradient that replaces the one of
  /// the operations inside.
  template <class Inside>
  constexpr tensor composite(std::string_view name, std::initializer_list<tensor> reads, Inside const& inside,
                             gradient_rule rule = nullptr, std::initializer_list<float> numbers = {},
                             bool is_gradient = false) {
    int const first = list_->size();
    tensor const result = inside();
    tracing::growing_array<int> ids{result.id};
    for (tensor const read : reads) ids.push_back(read.id);
    operations::composite what{name, first, rule, is_gradient};
    for (int i = 0; float const number : numbers) what.numbers[i++] = number;
    return {list_, list_->append(what, result.shape(), ids)};
  }
  /// exp(x) / sum(exp(x)) along an axis, computed from x less its largest element.
  constexpr tensor softmax(tensor x, int axis = -1);
  /// x / (1 - rate), or 0 where a random number is below the rate. There is a random number for each element of
  /// `drawn`, which is broadcast.
  constexpr tensor dropout(tensor x, extents const& drawn, float rate, std::uint64_t seed = 0);
  constexpr tensor dropout(tensor x, tensor drawn, float rate, bool is_gradient = false);
  /// The gradient of the sum of y by x, a value as any other: see operations/gradients.hpp. E1195, E1196, E1197.
  constexpr tensor gradient(tensor y, tensor x, gradient_options const& options = {});
  /// The gradients by several tensors: `auto const [a, b] = ops.gradient(y, {x, w});`.
  template <std::size_t Count>
  constexpr std::array<tensor, Count> gradient(tensor y, tensor const (&xs)[Count], gradient_options const& = {});
  /// The Jacobian of y by x, times v of x's shape, by two gradients.
  constexpr tensor jvp(tensor y, tensor x, tensor v);
  /// The value of x; no gradient flows through it.
  static constexpr tensor stop_gradient(tensor x) { return operations::stop_gradient(x); }
  /// Losses of labels that have no places in time, (batch, 1): see operations/ctc_loss.hpp.
  constexpr tensor ctc_loss(tensor target, tensor output, tensor target_length, tensor output_length = {},
                            int mask_index = 0);
  /// Sets the value that a weight has after a training step, and a `state` after any step.
  constexpr void update(tensor written, tensor value) {
    if (!written.node().what.is<operations::weight>())
      detail::refused(written, "is not a weight, and cannot be updated");
    else if (written.shape() != value.shape())
      detail::refused(written, "cannot be updated to a value of shape @", {}, {value.shape()});
    else if (training_ || (*weights_)[written.node().what.as<operations::weight>().index].between_batches)
      append(operations::update{}, value.shape(), {written.id, list_->apart(value.id), list_->copied(written.id)});
  }

  /// x at this trip's place of an axis, which the result does not have.
  constexpr tensor at(tensor loop, tensor x, operations::at const& where) {
    extents shape = x.shape();
    shape.erase(where.axis);
    return append(where, shape, {loop.id, x.id});
  }
  constexpr tensor stack(tensor loop, tensor x, operations::stack const& where) {
    extents shape = x.shape();
    shape.insert(where.axis, trips_of(loop));
    return append(where, shape, {loop.id, x.id});
  }
  constexpr tensor begin_loop(int trips, int stacks_of_states) {
    if (++list_->open_loops > loop::most_nested)
      list_->fail("more than ", loop::most_nested, " scans stand within each other");
    return append(loop{trips, stacks_of_states}, {});
  }
  constexpr void end_loop(tensor loop) {
    --list_->open_loops;
    append(loop_end{}, {}, {loop.id});
  }
  constexpr tensor carry(tensor loop, tensor first) {
    tensor const state = append(operations::carry{}, first.shape(), {loop.id, first.id});
    list_->node_of(state.id).has_gradient = true;  // its next value may have one
    return state;
  }
  /// Sets the state's value in the next trip.
  constexpr void next(tensor loop, tensor state, tensor value) {
    if (value.shape() != state.shape())
      detail::refused(state, "is a state that becomes @ after a trip of a scan", {}, {value.shape()});
    append(operations::next{}, value.shape(), {loop.id, state.id, value.id});
  }
  constexpr tensor last(tensor loop, tensor state) {
    return append(operations::last{}, state.shape(), {loop.id, state.id});
  }
  [[nodiscard]] static constexpr int trips_of(tensor loop) { return loop.node().what.as<operations::loop>().trips; }
  /// Runs along an axis of x: `step(x_t, states)` returns the states after one place, from x there and the states
  /// before. `reversed` begins at the end: Keras's `go_backwards`, whose results are in the order of the trips, too. At
  /// places where `counts`, which has the same axis, is 0, the states stay as they are.
  template <std::size_t States, class Step>
  constexpr scanned<States> scan(tensor x, int axis, std::array<tensor, States> const& initial, Step const& step,
                                 bool reversed = false, tensor counts = {}) {
    if (!x.shape().has(axis))
      return detail::refused(x, "has no axis # to scan", {axis}), scanned<States>{initial, initial};
    int const along = x.shape().from_front(axis);
    tensor const loop = begin_loop(x.shape()[along], 2 * static_cast<int>(States));
    std::array<tensor, States> before{};
    scanned<States> result;
    for (std::size_t i = 0; i < States; ++i) before[i] = carry(loop, initial[i]);
    // The gradient needs the states that a trip began with. Nothing reads them in inference.
    for (std::size_t i = 0; i < States; ++i) stack(loop, before[i], {along < before[i].rank() ? along : 0});
    std::array<tensor, States> after = step(at(loop, x, {along, reversed}), before);
    if (counts.list != nullptr) {
      tensor const here = at(loop, counts, {along, reversed});
      for (std::size_t i = 0; i < States; ++i) after[i] = where(here, after[i], before[i]);
    }
    for (std::size_t i = 0; i < States; ++i) next(loop, before[i], after[i]);
    for (std::size_t i = 0; i < States; ++i)
      result.all[i] = stack(loop, after[i], {along < after[i].rank() ? along : 0});
    loop_products const products(*list_, loop.id);  // the gradient reads these as well
    for (int const id : products.sums) {
      int const rank = list_->node_of(id).shape.rank;
      if (rank < extents::max_rank) stack(loop, {list_, id}, {along < rank ? along : 0});
    }
    end_loop(loop);
    for (std::size_t i = 0; i < States; ++i) result.last[i] = last(loop, before[i]);
    return result;
  }

  /// Reports a mistake in the layer's options or inputs: "layer 'name' " and the rest.
  template <class... Parts>
  constexpr void error(int code, Parts const&... parts) {
    if (!list_->begin_rejection(code)) return;
    (list_->problem.append(parts), ...);
    list_->problem.end();
  }
  /// Appends any operation, unchecked.
  constexpr tensor append(operation const& what, extents const& shape, std::initializer_list<int> reads = {}) {
    return {list_, list_->append(what, shape, reads)};
  }
  [[nodiscard]] constexpr operation_list& list() const noexcept { return *list_; }
  [[nodiscard]] constexpr tracing::growing_array<parameter>& weights() const noexcept { return *weights_; }

 private:
  static constexpr tensor refused_order(tensor x, axis_list const& order) {
    x.list->fail("a tensor of shape ", x.shape(), " cannot be transposed to ", order);
    return x;
  }
  constexpr tensor drawn(random const& from, extents const& shape) {
    if (list_->open_loops > 0)  // its gradient runs the step again and would draw other numbers
      list_->fail("random numbers are drawn inside a scan; draw them before the scan");
    return append(from, shape);
  }
  constexpr tensor reduced(tensor x, reduction by, axis_list const& axes) {
    reduce what{by};
    for (int const axis : axes) {
      if (!x.shape().has(axis)) return detail::refused(x, "has no axis #", {axis});
      what.axes |= 1U << x.shape().from_front(axis);
    }
    extents const shape = what.out(x.shape());
    return shape == x.shape() ? x : append(what, shape, {x.id});
  }
  constexpr tensor pooled(tensor x, pooling const& what) {
    extents shape;
    if (!what.windows.out(x.shape(), x.rank() > 0 ? x.shape()[-1] : 1, shape))
      return detail::refused(x, "does not fit the windows");
    return append(what, shape, {x.id});
  }

  operation_list* list_;
  tracing::growing_array<parameter>* weights_;
  fixed_name scope_;  ///< prefix of the weights' names
  bool training_;
};

constexpr tracer& composed_words::ops() { return static_cast<tracer&>(*this); }

}  // namespace stagecraft::operations

#include <stagecraft/operations/composite_gradient.hpp>
