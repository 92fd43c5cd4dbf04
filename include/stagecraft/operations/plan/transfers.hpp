// SPDX-License-Identifier: BSD-3-Clause
// A computation that only moves, repeats, scales and sums elements of its inputs, such as padding, slices or the mean
// over all places, as few walks through memory.
#pragma once

#include <stagecraft/graph/frozen.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/operations/trace.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace stagecraft::operations {

/// An axis of a walk: the number of elements, and the strides in floats in the destination and in the source. A stride
/// is 0 where elements are summed or repeated.
struct transfer_axis {
  std::int64_t length = 1, to = 0, from = 0;

  [[nodiscard]] constexpr bool sums() const { return to == 0; }
  [[nodiscard]] constexpr bool repeats() const { return to != 0 && from == 0; }
};

/// A walk through an input and the result.
struct transfer {
  static constexpr int most_axes = 12;

  int input = 0;
  float factor = 1;
  std::int64_t to = 0, from = 0;  ///< offsets of the first element in the destination and the source
  int count = 0;
  transfer_axis axes[most_axes]{};  ///< the outermost first

  constexpr bool add(transfer_axis const& axis) {
    if (axis.length == 1) return true;
    if (count == most_axes) return false;
    axes[count++] = axis;
    return true;
  }
  /// Number of elements that the walk writes.
  [[nodiscard]] constexpr std::int64_t written() const {
    std::int64_t product = 1;
    for (int i = 0; i < count; ++i) product *= axes[i].sums() ? 1 : axes[i].length;
    return product;
  }
  /// Splits axes at every `length` elements of the result, counted from `begin`; returns false if an axis crosses such
  /// a border.
  constexpr bool split_at(std::int64_t length) {
    std::int64_t last = to % length;
    for (int i = 0; i < count; ++i) {
      auto const [steps, stride, source] = axes[i];
      if (stride == 0 || stride >= length) continue;
      if (stride * steps > length) {
        std::int64_t const inner = length / stride;
        if (length % stride != 0 || steps % inner != 0 || count == most_axes) return false;
        axes[i].length = inner;
        axes[count++] = {steps / inner, length, source * inner};
      }
      last += (axes[i].length - 1) * stride;
    }
    return last < length;
  }
  /// The walk from destination to source, which computes a gradient.
  [[nodiscard]] constexpr transfer reversed() const {
    transfer result = *this;
    std::swap(result.to, result.from);
    for (auto& axis : result.axes) std::swap(axis.to, axis.from);
    return result;
  }
  /// Sorts axes by their strides in the destination, summed axes last, and joins neighbours where possible, but never
  /// axes inside of `chunk` with axes outside.
  constexpr void arrange(std::int64_t chunk) {
    auto const is_before = [](transfer_axis const& a, transfer_axis const& b) {
      return a.to != b.to ? a.to > b.to : a.from > b.from;
    };
    for (int i = 1; i < count; ++i)
      for (int k = i; k > 0 && is_before(axes[k], axes[k - 1]); --k) std::swap(axes[k], axes[k - 1]);
    int kept = 0;
    for (int i = 0; i < count; ++i) {
      auto const axis = axes[i];
      auto* const before = kept > 0 ? &axes[kept - 1] : nullptr;
      if (axis.length == 1) continue;
      if (before != nullptr && before->to == axis.to * axis.length && before->from == axis.from * axis.length &&
          before->sums() == axis.sums() && (axis.to < chunk) == (before->to < chunk))
        *before = {before->length * axis.length, axis.to, axis.from};
      else
        axes[kept++] = axis;
    }
    count = kept;
  }
};

template <std::size_t Parts>
struct frozen_transfers;

/// All walks that write one tensor.
struct transfer_list {
  static constexpr std::size_t usual_sizes = 4;
  template <std::size_t Parts>
  using frozen = frozen_transfers<Parts>;

  tracing::growing_array<transfer> parts;  ///< walks of one sample
  std::int64_t sample = 0;                 ///< elements of one sample
  std::int64_t chunk = 0;                  ///< number of elements that are written together; it divides `sample`
  bool overlaps = false;                   ///< true: several walks may write an element, and are added

  /// Makes walks of one sample from those of a batch.
  constexpr transfer_list(tracing::growing_array<transfer>&& of_batch, bool overlaps_, std::int64_t sample_,
                          std::int64_t row)
      : parts(std::move(of_batch)), sample(sample_), chunk(sample_), overlaps(overlaps_) {
    bool splits = row >= cache_line && !(sample <= small_sample && is_simple(row));
    for (transfer const& part : parts) {
      auto tried = part;
      splits = splits && tried.split_at(row);
      for (int i = 0; i < tried.count; ++i) splits = splits && (tried.axes[i].to < row || tried.axes[i].to % row == 0);
    }
    if (splits) chunk = row;
    for (transfer& part : parts) {
      part.split_at(chunk);
      part.arrange(chunk);
    }
  }

  [[nodiscard]] constexpr std::size_t sizes() const { return parts.size(); }

 private:
  static constexpr std::int64_t cache_line = 16, tiny_sample = 1 << 10, small_sample = 1 << 14;

  /// True if nothing is left out inside of what is written, and no row of several runs is repeated.
  [[nodiscard]] constexpr bool is_simple(std::int64_t row) const {
    std::int64_t written = 0;
    for (transfer const& part : parts) {
      written += part.written();
      bool repeats_rows = false;
      int runs = 0;
      for (transfer_axis const& axis : part.axes) {
        repeats_rows = repeats_rows || (axis.repeats() && axis.to == row);
        runs += axis.from > 0 && axis.to > 0 && axis.to < row ? 1 : 0;
      }
      if (sample > tiny_sample && repeats_rows && runs > 1) return false;
    }
    if (parts.size() != 1) return !overlaps && written == sample;
    auto one = parts[0];
    one.arrange(sample);
    return one.axes[0].to * one.axes[0].length == written || one.axes[0].sums();
  }
};

/// Finds out whether a trace consists of transfers alone.
class transfers {
 public:
  bool holds = false;
  tracing::growing_array<transfer> parts;  ///< walks of one sample

  constexpr explicit transfers(trace const& of) : traced_(&of) {
    if (of.list.problem.failed() || of.outputs.size() != 1) return;
    holds = true;
    parts = find(of.outputs[0]);
    for (transfer& part : parts) leave_batch(part);
  }

  /// The walks that write the result, whose samples have rows of `row` elements.
  [[nodiscard]] constexpr transfer_list forward(std::int64_t row) const {
    return {tracing::growing_array<transfer>(parts), false, sample_of(traced_->outputs[0]), row};
  }
  /// The walks that write the gradient of an input from that of the result.
  [[nodiscard]] constexpr transfer_list backward(int input, std::int64_t row) const {
    tracing::growing_array<transfer> own;
    for (transfer const& part : parts)
      if (part.input == input) own.push_back(part.reversed());
    bool const overlaps = own.size() > 1;
    return {std::move(own), overlaps, sample_of(traced_->inputs[input]), row};
  }

 private:
  static constexpr std::size_t most_parts = 16;

  [[nodiscard]] constexpr extents const& shape_of(int id) const { return traced_->list.node_of(id).shape; }
  [[nodiscard]] constexpr std::int64_t sample_of(int id) const { return shape_of(id).size() / shape_of(id)[0]; }
  static constexpr std::int64_t stride(extents const& shape, int axis) {
    std::int64_t product = 1;
    for (int i = axis + 1; i < shape.rank; ++i) product *= shape[i];
    return product;
  }
  constexpr tracing::growing_array<transfer> fail() {
    holds = false;
    return {};
  }

  constexpr tracing::growing_array<transfer> find(int id) {
    if (!holds) return {};
    node const& here = traced_->list.node_of(id);
    auto const& what = here.what;
    if (auto const* given = what.if_is<input>()) {
      transfer all;
      all.input = given->index;
      all.add({here.shape.size(), 1, 1});
      return {all};
    }
    if (here.operand_count == 0) return fail();
    int const source = traced_->list.operand(id, 0);
    extents const& from = shape_of(source);
    if (what.is_any<reshape, composite>()) return find(source);
    if (auto const* part = what.if_is<slice>(); part != nullptr && part->step == 1)
      return sliced(find(source), from, here.shape, part->axis, part->begin);
    if (auto const* wider = what.if_is<pad>())
      return moved(find(source), from, here.shape, wider->axis, wider->begin, wider->step);
    if (auto const* joint = what.if_is<concatenate>()) {
      tracing::growing_array<transfer> all;
      for (int i = 0, begin = 0; i < here.operand_count; ++i) {
        int const operand = traced_->list.operand(id, i);
        for (auto const& each : moved(find(operand), shape_of(operand), here.shape, joint->axis, begin, 1))
          all.push_back(each);
        begin += shape_of(operand)[joint->axis];
      }
      if (all.size() > most_parts) return fail();
      return all;
    }
    if (auto const* turn = what.if_is<transpose>()) {
      std::int64_t strides[extents::max_rank]{};
      for (int axis = 0; axis < here.shape.rank; ++axis) strides[turn->order[axis]] = stride(here.shape, axis);
      return restrided(find(source), from, strides, 0);
    }
    if (what.is<broadcast>()) return repeated(find(source), from, here.shape);
    if (auto const* sum = what.if_is<reduce>(); sum != nullptr && sum->by == reduction::sum) {
      std::int64_t strides[extents::max_rank]{};
      for (int axis = 0; axis < from.rank; ++axis) strides[axis] = sum->has(axis) ? 0 : stride(here.shape, axis);
      auto all = restrided(find(source), from, strides, 0);
      if (all.size() == 1) return all;
    }
    if (auto const* by = what.if_is<map>(); by != nullptr && by->apply == function::multiply) {
      auto const* factor = traced_->list.node_of(traced_->list.operand(id, 1)).what.if_is<constant>();
      auto all = find(source);
      for (transfer& each : all) each.factor *= factor != nullptr ? factor->value : 0;
      if (factor != nullptr) return all;
    }
    return fail();
  }

  /// Adapts walks to a tensor of a shape, in which they have other strides along each axis.
  constexpr tracing::growing_array<transfer> restrided(tracing::growing_array<transfer>&& all, extents const& shape,
                                                       std::int64_t const* strides, std::int64_t offset) {
    for (transfer& each : all) {
      std::int64_t to = offset;
      for (int axis = 0; axis < shape.rank; ++axis) {
        if (!each.split_at(stride(shape, axis) * shape[axis])) return fail();
        to += each.to / stride(shape, axis) % shape[axis] * strides[axis];
      }
      for (int i = 0; i < each.count; ++i) {
        if (each.axes[i].to == 0) continue;
        int const axis = axis_of(each.axes[i].to, shape);
        if (each.axes[i].to % stride(shape, axis) != 0) return fail();
        each.axes[i].to = each.axes[i].to / stride(shape, axis) * strides[axis];
      }
      each.to = to;
    }
    return std::move(all);
  }
  static constexpr int axis_of(std::int64_t to, extents const& shape) {
    int axis = 0;
    while (shape[axis] == 1 || stride(shape, axis) > to) ++axis;
    return axis;
  }
  /// Moves walks to places of an axis of a longer tensor.
  constexpr tracing::growing_array<transfer> moved(tracing::growing_array<transfer>&& all, extents const& shape,
                                                   extents const& wide, int axis, int begin, int step) {
    std::int64_t strides[extents::max_rank]{};
    for (int i = 0; i < shape.rank; ++i) strides[i] = stride(wide, i) * (i == axis ? step : 1);
    return restrided(std::move(all), shape, strides, begin * stride(wide, axis));
  }
  constexpr tracing::growing_array<transfer> sliced(tracing::growing_array<transfer>&& all, extents const& shape,
                                                    extents const& narrow, int axis, int begin) {
    tracing::growing_array<transfer> kept;
    std::int64_t const own = stride(shape, axis);
    for (transfer& each : all) {
      for (int i = 0; i < shape.rank; ++i)
        if (!each.split_at(stride(shape, i) * shape[i])) return fail();
      transfer_axis* along = nullptr;
      std::int64_t first = each.to / own % shape[axis], last = first;
      for (int i = 0; i < each.count; ++i) {
        auto& one = each.axes[i];
        if (one.to < own || one.to >= own * shape[axis]) continue;
        if (along != nullptr || one.to % own != 0) return fail();
        along = &one;
        last += (one.length - 1) * (one.to / own);
      }
      std::int64_t const step = along != nullptr ? along->to / own : 1, end = begin + narrow[axis];
      std::int64_t const left_out = first < begin ? (begin - first + step - 1) / step : 0;
      first += left_out * step;
      if (first >= end || first > last) continue;
      if (along != nullptr) {
        each.to += left_out * along->to;
        each.from += left_out * along->from;
        along->length = ((last < end ? last : end - 1) - first) / step + 1;
      }
      kept.push_back(each);
    }
    std::int64_t strides[extents::max_rank]{};
    for (int i = 0; i < shape.rank; ++i) strides[i] = stride(narrow, i);
    return restrided(std::move(kept), shape, strides, -begin * stride(narrow, axis));
  }
  constexpr tracing::growing_array<transfer> repeated(tracing::growing_array<transfer>&& all, extents const& shape,
                                                      extents const& wide) {
    std::int64_t strides[extents::max_rank]{};
    for (int i = 0; i < shape.rank; ++i) strides[i] = stride(wide, i + wide.rank - shape.rank);
    auto result = restrided(std::move(all), shape, strides, 0);
    for (transfer& each : result)
      for (int i = 0; i < wide.rank; ++i)
        if (shape.aligned(i, wide.rank) == 1 && !each.add({wide[i], stride(wide, i), 0})) return fail();
    return result;
  }

  /// Keeps the part of a walk that belongs to one sample; the batch must be the outermost axis of both tensors.
  constexpr void leave_batch(transfer& part) {
    int const batch = shape_of(traced_->outputs[0])[0];
    std::int64_t const sample = sample_of(traced_->outputs[0]), source = sample_of(traced_->inputs[part.input]);
    holds = holds && part.split_at(sample) && part.to < sample && part.from < source;
    bool found = batch == 1;
    int kept = 0;
    std::int64_t last = part.from;
    for (int i = 0; i < part.count; ++i) {
      auto const axis = part.axes[i];
      if (axis.length == 1) continue;
      if (axis.to >= sample) {
        holds = holds && !found && axis.length == batch && axis.to == sample && axis.from == source;
        found = true;
      } else {
        last += (axis.length - 1) * axis.from;
        part.axes[kept++] = axis;
      }
    }
    part.count = kept;
    holds = holds && found && last < source;
  }

  trace const* traced_;
};

/// A transfer_list as a constant.
template <std::size_t Parts>
struct frozen_transfers {
  std::array<transfer, Parts> parts;
  std::int64_t sample, chunk;
  bool overlaps;

  /// Copies a transfer_list, or frozen transfers of another length.
  constexpr explicit frozen_transfers(auto const& of)
      : parts(stagecraft::detail::array_of<Parts>(of.parts)),
        sample(of.sample),
        chunk(of.chunk),
        overlaps(of.overlaps) {}
};

}  // namespace stagecraft::operations
