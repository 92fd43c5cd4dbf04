// SPDX-License-Identifier: BSD-3-Clause
// Operations of a traced layer that move elements, as copies between tiles, or as nothing where the order stays.
#pragma once

#include <stagecraft/ipu/lowering/traced/task_list_builder.hpp>
#include <stagecraft/ipu/tasks/rearrange.hpp>
#include <cstdint>
#include <type_traits>

namespace stagecraft::tiles {

/// Axes of a result and their strides in its source. Neighbouring axes are merged where both continue alike.
class merged_axes {
 public:
  /// Adds the next inner axis.
  constexpr void add(std::int64_t length, std::int64_t source_stride) {
    if (length == 1) return;
    if (count_ > 0 && strides_[count_ - 1] == source_stride * length) {
      lengths_[count_ - 1] *= length;
      strides_[count_ - 1] = source_stride;
      return;
    }
    lengths_[count_] = length;
    strides_[count_++] = source_stride;
  }
  [[nodiscard]] constexpr bool fit_a_box() const noexcept { return count_ <= box_axes::count; }
  /// True if the result is a contiguous part of the source.
  [[nodiscard]] constexpr bool are_in_order() const noexcept {
    return count_ == 0 || (count_ == 1 && strides_[0] == 1);
  }
  /// Divides a transposition of a whole source: `first` puts the result's last axis next to the one before it, which
  /// fits a box; `then` has an axis less.
  constexpr void divide(merged_axes& first, merged_axes& then) const {
    int order[operations::extents::max_rank + 1]{}, count = 0;  // the axes as the source has them, but for the last
    for (int i = 0; i + 1 < count_; ++i) {
      int place = count++;
      for (; place > 0 && strides_[order[place - 1]] < strides_[i]; --place) order[place] = order[place - 1];
      order[place] = i;
    }
    int place = count++;  // of the last: after the last but one
    for (; order[place - 1] != count_ - 2; --place) order[place] = order[place - 1];
    order[place] = count_ - 1;
    std::int64_t strides[operations::extents::max_rank + 1]{}, stride = 1;
    for (int i = 0; i < count_; ++i) first.add(lengths_[order[i]], strides_[order[i]]);
    for (int i = count_; i-- > 0; stride *= lengths_[order[i]]) strides[order[i]] = stride;
    for (int i = 0; i < count_; ++i) then.add(lengths_[i], strides[i]);
  }
  /// The box of the whole result.
  [[nodiscard]] constexpr rearranged_box box() const {
    rearranged_box box;
    for (int i = 0; i < count_; ++i) {
      int const axis = box_axes::count - count_ + i;
      box.extents.of[axis] = box.counts.of[axis] = lengths_[i];
      box.source_stride.of[axis] = strides_[i];
    }
    return box;
  }

 private:
  std::int64_t lengths_[operations::extents::max_rank + 1]{}, strides_[operations::extents::max_rank + 1]{};
  int count_ = 0;
};

/// Copies elements of `source` to `result`, which has the same type.
template <class Builder>
constexpr void add_rearrange(Builder& builder, int source, int result, merged_axes const& axes,
                             std::int64_t source_first = 0) {
  if (!axes.fit_a_box()) {
    builder.failed = true;
    return;
  }
  auto box = axes.box();
  box.source_first = source_first;
  builder.add([&](lowered_step& step) { append_rearrange(step, rearrange_function::copy, source, result, box); });
}

constexpr std::int64_t stride_of_axis(operations::extents const& shape, int axis) {
  return elements_of_axes(shape, axis + 1, shape.rank);
}

/// Repeats a tensor along neighbouring axes at once, the outermost first, so that tiles receive each element only once.
/// Writes to `result`, or to a temporary tensor if it is -1; returns that tensor.
template <class Builder>
constexpr int broadcast_to(Builder& builder, int tensor, operations::extents const& from, operations::extents const& to,
                           int result = -1) {
  auto const is_repeated = [&](int axis) { return from.aligned(axis, to.rank) != to[axis]; };
  std::int64_t behind = from.size();
  for (int axis = 0; axis < to.rank;) {
    std::int64_t across = 1, before = elements_of_axes(to, 0, axis);
    if (!is_repeated(axis)) {
      behind /= to[axis++];
      continue;
    }
    for (; axis < to.rank && (is_repeated(axis) || to[axis] == 1); ++axis) across *= to[axis];
    bool const is_last = before * across * behind == to.size();
    int const repeated =
        is_last && result >= 0 ? result : builder.temporary(before * across * behind, builder.type_of(tensor));
    builder.add([&](lowered_step& step) {
      append_repeat(step, tensor, repeated, {.rows = before, .channels = behind, .across = across});
    });
    tensor = repeated;
  }
  return tensor;
}

template <class Builder>
constexpr void lower_traced(Builder& builder, operations::reshape const&, int id) {
  builder.values[id] = builder.value_of(builder.operand(id, 0));
}
template <class Builder>
constexpr void lower_traced(Builder& builder, operations::composite const&, int id) {
  builder.values[id] = builder.value_of(builder.operand(id, 0));
}

template <class Builder>
constexpr void lower_traced(Builder& builder, operations::broadcast const&, int id) {
  int const operand = builder.operand(id, 0);
  auto const &from = builder.node_of(operand).shape, &to = builder.node_of(id).shape;
  auto const& value = builder.value_of(operand);
  if (builder.is_kept(id)) {  // in its own place
    if (value.is_number) return builder.fill(builder.result(id), value.number);
    if (from.size() == to.size()) return builder.copy(value.tensor, builder.result(id));
  } else if (value.is_number || from.size() == to.size()) {
    builder.values[id] = value;
    return;
  }
  if (builder.is_read_by_maps_only(id)) return;
  int const result = builder.result(id);
  broadcast_to(builder, builder.tensor_of(operand, builder.type_of(result)), from, to, result);
}

/// Lowers a transposition; one that keeps the order of elements is a reshape.
template <class Builder>
constexpr void lower_traced(Builder& builder, operations::transpose const& what, int id) {
  int const operand = builder.operand(id, 0);
  auto const &from = builder.node_of(operand).shape, &to = builder.node_of(id).shape;
  merged_axes axes;
  for (int axis = 0; axis < to.rank; ++axis) axes.add(to[axis], stride_of_axis(from, what.order[axis]));
  if (builder.value_of(operand).is_number || axes.are_in_order()) {
    builder.values[id] = builder.value_of(operand);
    return;
  }
  int const result = builder.result(id);
  int source = builder.tensor_of(operand, builder.type_of(result));
  while (!axes.fit_a_box()) {
    merged_axes first, then;
    axes.divide(first, then);
    int const moved = builder.temporary(to.size(), builder.type_of(result));
    add_rearrange(builder, source, moved, first);
    source = moved;
    axes = then;
  }
  add_rearrange(builder, source, result, axes);
}

/// True if an operation is carried out together with its only reader, of the same kind: slices along several axes are
/// one copy, and so are borders.
template <class What, class Builder>
constexpr bool is_part_of_reader(Builder& builder, int id) {
  if (builder.is_kept(id) || builder.targets[id] >= 0 || builder.node_of(id).shape.rank > box_axes::count) return false;
  int const reader = builder.only_reader_of(id);
  if (reader < 0) return false;
  operations::operation const& reads = builder.node_of(reader).what;
  if constexpr (std::is_same_v<What, operations::pad>)
    return reads.is<What>() && reads.as<What>().step == 1 && builder.node_of(id).what.template as<What>().step == 1;
  else
    return reads.is<What>();
}
/// True if an operation is such a part, so that nothing is appended for it.
template <class What, class Builder>
constexpr bool is_left_to_reader(Builder& builder, int id) {
  auto const& value = builder.value_of(id);
  return builder.node_of(id).what.template is<What>() && value.tensor < 0 && !value.is_number;
}

template <class Builder>
constexpr void lower_traced(Builder& builder, operations::slice const&, int id) {
  int source = builder.operand(id, 0);
  if (builder.value_of(source).is_number) {
    builder.values[id] = builder.value_of(source);
    return;
  }
  if (is_part_of_reader<operations::slice>(builder, id)) return;
  auto const& to = builder.node_of(id).shape;
  std::int64_t begin[operations::extents::max_rank]{}, steps[operations::extents::max_rank]{};
  for (auto& step : steps) step = 1;
  source = id;
  do {
    auto const& what = builder.node_of(source).what.template as<operations::slice>();
    begin[what.axis] = what.begin + what.step * begin[what.axis];
    steps[what.axis] *= what.step;
    source = builder.operand(source, 0);
  } while (is_left_to_reader<operations::slice>(builder, source));
  auto const& from = builder.node_of(source).shape;
  merged_axes axes;
  std::int64_t first = 0;
  for (int axis = 0; axis < to.rank; ++axis) {
    axes.add(to[axis], stride_of_axis(from, axis) * steps[axis]);
    first += begin[axis] * stride_of_axis(from, axis);
  }
  int const result = builder.result(id);
  add_rearrange(builder, builder.tensor_of(source, builder.type_of(result)), result, axes, first);
}

/// Adds the copy of a part of the result along an axis, from `begin` on; `reversed`: down from there.
template <class Builder>
constexpr void add_part(Builder& builder, int source, int result, operations::extents const& part,
                        operations::extents const& whole, int axis, std::int64_t begin, bool reversed, bool clears) {
  std::int64_t const outer = elements_of_axes(whole, 0, axis), inner = stride_of_axis(whole, axis), count = part[axis];
  rearranged_box box{.extents = {1, outer, whole[axis], inner}, .counts = {1, outer, count, inner}};
  box.first = {0, 0, reversed ? begin - (count - 1) : begin, 0};
  box.source_stride = {0, count * inner, reversed ? -inner : inner, 1};
  box.source_first = reversed ? (count - 1) * inner : 0;
  builder.add([&](lowered_step& step) {
    append_rearrange(step, clears ? rearrange_function::copy_and_clear : rearrange_function::copy, source, result, box);
  });
}

/// Adds a padding with zeros between elements: a row of zeros is appended to each element, then the rows are copied to
/// their places. The last row may be cut.
template <class Builder>
constexpr void add_apart(Builder& builder, operations::pad const& what, int operand, int id) {
  auto const &part = builder.node_of(operand).shape, &whole = builder.node_of(id).shape;
  if (what.step < 0) {
    builder.failed = true;
    return;
  }
  std::int64_t const outer = elements_of_axes(whole, 0, what.axis), inner = stride_of_axis(whole, what.axis);
  std::int64_t const length = whole[what.axis], count = part[what.axis], step = what.step;
  std::int64_t const apart = count * step, left = length - what.begin, used = apart < left ? apart : left;
  int const result = builder.result(id);
  int const source = builder.tensor_of(operand, builder.type_of(result));
  bool const is_whole = apart == length && what.begin == 0;
  int const rows = is_whole ? result : builder.temporary(outer * apart * inner, builder.type_of(result));
  rearranged_box box{.extents = {outer, count, step, inner}, .counts = {outer, count, 1, inner}};
  box.source_stride = {count * inner, inner, inner, 1};
  builder.add([&](lowered_step& to) { append_rearrange(to, rearrange_function::copy_and_clear, source, rows, box); });
  if (is_whole) return;
  rearranged_box place{.extents = {1, outer, length, inner}, .counts = {1, outer, used, inner}};
  place.first = {0, 0, what.begin, 0};
  place.source_stride = {0, apart * inner, inner, 1};
  builder.add([&](lowered_step& to) { append_rearrange(to, rearrange_function::copy_and_clear, rows, result, place); });
}

template <class Builder>
constexpr void lower_traced(Builder& builder, operations::pad const& what, int id) {
  int const operand = builder.operand(id, 0);
  if (what.step != 1 && what.step != -1 && builder.node_of(operand).shape[what.axis] > 1)
    return add_apart(builder, what, operand, id);
  if (is_part_of_reader<operations::pad>(builder, id)) return;
  auto const& whole = builder.node_of(id).shape;
  if (!is_left_to_reader<operations::pad>(builder, operand)) {
    int const result = builder.result(id);
    return add_part(builder, builder.tensor_of(operand, builder.type_of(result)), result,
                    builder.node_of(operand).shape, whole, what.axis, what.begin, what.step < 0, true);
  }
  box_axes first{0, 0, 0, 0};
  int const to_last = box_axes::count - whole.rank;
  int source = id;
  do {
    auto const& part = builder.node_of(source).what.template as<operations::pad>();
    first.of[part.axis + to_last] += part.begin;
    source = builder.operand(source, 0);
  } while (is_left_to_reader<operations::pad>(builder, source));
  auto const axes_of = [&](operations::extents const& shape) {
    box_axes axes{1, 1, 1, 1};
    for (int axis = 0; axis < shape.rank; ++axis) axes.of[axis + to_last] = shape[axis];
    return axes;
  };
  int const result = builder.result(id);
  int const from = builder.tensor_of(source, builder.type_of(result));
  builder.add([&](lowered_step& step) {
    append_pad(step, from, result, axes_of(builder.node_of(source).shape), first, axes_of(whole));
  });
}

template <class Builder>
constexpr void lower_traced(Builder& builder, operations::concatenate const& what, int id) {
  int const result = builder.result(id);
  std::int64_t begin = 0;
  for (int i = 0; i < builder.node_of(id).operand_count; ++i) {
    int const operand = builder.operand(id, i);
    auto const& part = builder.node_of(operand).shape;
    add_part(builder, builder.tensor_of(operand, builder.type_of(result)), result, part, builder.node_of(id).shape,
             what.axis, begin, false, false);
    begin += part[what.axis];
  }
}

}  // namespace stagecraft::tiles
