// SPDX-License-Identifier: BSD-3-Clause
// Which operations of a step can be carried out for a few samples at a time, and which see the whole batch.
#pragma once

#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/operations/operation_list.hpp>

namespace stagecraft::operations {

/// The way that a segment of a step is carried out.
enum class segment_kind : unsigned char {
  whole,      ///< one operation after the other, on whole tensors
  product,    ///< one large product, whose columns may be divided
  by_sample,  ///< all operations for some samples, then for others
};

/// Operations [begin, end) of a step's order.
struct segment {
  int begin = 0, end = 0;
  segment_kind kind = segment_kind::whole;
};

/// True if a segment that runs sample by sample reads operand `index` sample by sample; false if it reads it as a
/// whole.
[[nodiscard]] constexpr bool is_taken_by_sample(node const& of, int index, extents const& operand) {
  auto const& what = of.what;
  if (what.is<gather>()) return index == 1;
  if (what.is_any<convolution, convolution_input_gradient>()) return index == 0;
  if (what.is<product>() && of.shape.rank == 2) return index == 0;
  if (what.is_any<carry, next, at, stack, reshape>()) return true;
  return operand.rank > 0 && operand.rank == of.shape.rank && operand[0] == of.shape[0];
}

/// The segments of a step on a batch. Tensors are divided along axis 0: a tensor whose axis 0 is a multiple of the
/// batch has a part for each sample.
///
/// Operations that see the whole batch come first if they need nothing of the samples, such as the negative of a
/// weight, and last if nothing of the samples needs them, such as the gradient of a weight.
class step_segments {
  // These stand above their callers: see tracer.
  /// True if an operation takes a whole tensor for which `is_incomplete(source)`.
  template <class Incomplete>
  [[nodiscard]] constexpr bool reads_as_a_whole(int begin, int end, Incomplete const& is_incomplete) const {
    for (int i = begin; i < end; ++i) {
      if (has_no_work(i)) continue;
      node const& here = node_at(i);
      for (int k = 0; k < here.operand_count; ++k) {
        int const operand = list_->operand(id_at(i), k);
        if (list_->node_of(operand).what.is<loop>()) continue;
        if (!is_taken_by_sample(here, k, list_->node_of(operand).shape) && is_incomplete(source_of(operand)))
          return true;
      }
    }
    return false;
  }
  template <class Other>
  [[nodiscard]] constexpr bool keeps_samples(Other const&, int) const {
    return false;
  }

 public:
  tracing::growing_array<int> order;  ///< the operations in their order
  tracing::growing_array<segment> segments;

  /// `batch` is 1 or less if nothing is to be divided.
  constexpr step_segments(operation_list const& list, tracing::growing_array<int> const& order_of_list, int batch)
      : order(order_of_list), list_(&list), batch_(batch), made_in_(list.nodes.size(), -1) {
    if (batch > 1) sort();
    for (int i = 0; i < count(); i = next_) {
      next_ = end_of(i);
      if (has_no_work(i) && !segments.empty())
        append(i);
      else if (batch > 1 && is_by_sample(i, next_))
        extend_by_sample(i);
      else
        extend(i, is_large_product(i) ? segment_kind::product : segment_kind::whole);
    }
  }

 private:
  /// Products of fewer FLOPs are not worth a wait for another thread.
  static constexpr long long large_flops = 1 << 18;

  [[nodiscard]] constexpr int count() const { return static_cast<int>(order.size()); }
  [[nodiscard]] constexpr int id_at(int position) const { return order[position]; }
  [[nodiscard]] constexpr node const& node_at(int position) const { return list_->node_of(id_at(position)); }

  constexpr void sort() {
    enum class turn : char { first, middle, last };
    tracing::growing_array<turn> turns(list_->nodes.size(), turn::first);
    tracing::growing_array<int> sorted[3];
    for (int i = 0, end = 0; i < count(); i = end) {
      end = end_of(i);
      // An operation stands after those that it reads.
      turn when = turn::first;
      bool has_work = false;
      for (int k = i; k < end; ++k) {
        has_work |= !has_no_work(k);
        node const& here = node_at(k);
        for (int operand = 0; operand < here.operand_count; ++operand)
          if (turn const before = turns[list_->operand(id_at(k), operand)]; before > when) when = before;
      }
      if (has_work && when != turn::last) {
        if (is_by_sample(i, end))
          when = turn::middle;
        else if (when == turn::middle)
          when = turn::last;
      }
      for (int k = i; k < end; ++k) {
        turns[id_at(k)] = when;
        sorted[static_cast<int>(when)].push_back(id_at(k));
      }
    }
    order.clear();
    for (auto const& part : sorted) order.insert(order.end(), part.begin(), part.end());
  }

  /// The position after this operation, or after the loop that begins here.
  [[nodiscard]] constexpr int end_of(int position) const {
    if (!node_at(position).what.is<loop>()) return position + 1;
    int const begin = id_at(position);
    int end = position;
    while (!(node_at(end).what.is<loop_end>() && list_->operand(id_at(end), 0) == begin)) ++end;
    return end + 1;
  }
  [[nodiscard]] static constexpr bool is_alias(operation const& what) {
    return operations::is_alias(what) || what.is<last>();
  }
  [[nodiscard]] constexpr bool has_no_work(int position) const {
    auto const& what = node_at(position).what;
    return is_alias(what) || what.is_any<input, weight, constant, update>();
  }
  /// The operation that computes a value.
  [[nodiscard]] constexpr int source_of(int id) const {
    while (is_alias(list_->node_of(id).what)) id = list_->operand(id, list_->node_of(id).what.is<last>() ? 1 : 0);
    return id;
  }
  [[nodiscard]] constexpr bool is_multiple(extents const& shape) const {
    return shape.rank > 0 && shape[0] > 0 && shape[0] % batch_ == 0;
  }

  /// True if all of [begin, end) can be carried out sample by sample, after segments that are complete.
  [[nodiscard]] constexpr bool is_by_sample(int begin, int end) const {
    for (int i = begin; i < end; ++i)
      if (!has_no_work(i) && !is_divisible(id_at(i))) return false;
    return !reads_as_a_whole(begin, end, [&](int source) {
      for (int i = begin; i < end; ++i)
        if (id_at(i) == source) return !has_no_work(i);
      return false;
    });
  }
  [[nodiscard]] constexpr bool is_divisible(int id) const {
    node const& here = list_->node_of(id);
    if (here.what.is_any<loop, loop_end>()) return true;
    if (!is_multiple(here.shape)) return false;
    for (int i = 0; i < here.operand_count; ++i) {
      auto const& operand = list_->node_of(list_->operand(id, i));
      if (!operand.what.is<loop>() && is_taken_by_sample(here, i, operand.shape) && !is_multiple(operand.shape))
        return false;
    }
    return here.what.visit([&](auto const& what) { return keeps_samples(what, id); });
  }

  // True if samples stay apart when axis 0 of the operands and of the result consists of samples.
  [[nodiscard]] constexpr bool keeps_samples(random const&, int) const { return true; }
  [[nodiscard]] constexpr bool keeps_samples(map const&, int) const { return true; }
  [[nodiscard]] constexpr bool keeps_samples(whole_map const&, int) const { return true; }
  [[nodiscard]] constexpr bool keeps_samples(broadcast const&, int) const { return true; }
  [[nodiscard]] constexpr bool keeps_samples(convolution const&, int) const { return true; }
  [[nodiscard]] constexpr bool keeps_samples(convolution_input_gradient const&, int) const { return true; }
  [[nodiscard]] constexpr bool keeps_samples(pooling const&, int) const { return true; }
  [[nodiscard]] constexpr bool keeps_samples(pooling_gradient const&, int) const { return true; }
  [[nodiscard]] constexpr bool keeps_samples(carry const&, int) const { return true; }
  [[nodiscard]] constexpr bool keeps_samples(next const&, int) const { return true; }
  [[nodiscard]] constexpr bool keeps_samples(iota const& what, int) const { return what.axis != 0; }
  [[nodiscard]] constexpr bool keeps_samples(reduce const& what, int) const { return !what.has(0); }
  [[nodiscard]] constexpr bool keeps_samples(product const& what, int id) const {
    return list_->node_of(id).shape.rank > 2 || !what.transpose_a;
  }
  [[nodiscard]] constexpr bool keeps_samples(transpose const& what, int) const { return what.order[0] == 0; }
  [[nodiscard]] constexpr bool keeps_samples(slice const& what, int) const { return what.axis != 0; }
  [[nodiscard]] constexpr bool keeps_samples(pad const& what, int) const { return what.axis != 0; }
  [[nodiscard]] constexpr bool keeps_samples(concatenate const& what, int) const { return what.axis != 0; }
  [[nodiscard]] constexpr bool keeps_samples(operations::at const& what, int) const { return what.axis != 0; }
  [[nodiscard]] constexpr bool keeps_samples(stack const& what, int) const { return what.axis != 0; }
  [[nodiscard]] constexpr bool keeps_samples(gather const&, int id) const {
    return list_->node_of(list_->operand(id, 1)).shape.rank > 0;
  }

  [[nodiscard]] constexpr bool is_large_product(int position) const {
    node const& here = node_at(position);
    auto const* what = here.what.if_is<product>();
    if (what == nullptr || here.shape.rank != 2) return false;
    return what->flops(list_->node_of(list_->operand(id_at(position), 0)).shape, here.shape) >= large_flops;
  }

  constexpr void extend_by_sample(int position) {
    int const open = static_cast<int>(segments.size()) - 1;
    bool const goes_on = open >= 0 && segments.back().kind == segment_kind::by_sample &&
                         !reads_as_a_whole(position, next_, [&](int source) { return made_in_[source] == open; });
    if (!goes_on) begin(position, segment_kind::by_sample);
    append(position);
  }
  constexpr void extend(int position, segment_kind kind) {
    if (segments.empty() || segments.back().kind != kind || kind == segment_kind::product) begin(position, kind);
    append(position);
  }
  constexpr void begin(int position, segment_kind kind) {
    if (is_idle_)
      segments.back().kind = kind;
    else
      segments.push_back({position, position, kind});
    is_idle_ = true;
  }
  constexpr void append(int position) {
    is_idle_ = is_idle_ && has_no_work(position);
    segments.back().end = next_;
    for (int i = position; i < next_; ++i)
      if (!has_no_work(i)) made_in_[id_at(i)] = static_cast<int>(segments.size()) - 1;
  }

  operation_list const* list_;
  int batch_, next_ = 0;
  bool is_idle_ = false;                 // true: the last segment has no work yet, and may become of any kind
  tracing::growing_array<int> made_in_;  // the segment of each operation
};

}  // namespace stagecraft::operations
