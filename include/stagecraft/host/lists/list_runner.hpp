// SPDX-License-Identifier: BSD-3-Clause
// Carries out a list of operations on floats in memory. It is compiled once, whatever the lists are.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/host/lists/list_rows.hpp>
#include <stagecraft/host/lists/list_workspace.hpp>
#include <stagecraft/host/lists/pooling_kernels.hpp>
#include <stagecraft/kernels/convolution/windows.hpp>
#include <stagecraft/kernels/elementwise/map.hpp>
#include <stagecraft/kernels/elementwise/table_rows.hpp>
#include <stagecraft/kernels/elementwise/whole.hpp>
#include <stagecraft/kernels/product/product.hpp>
#include <stagecraft/kernels/random/random.hpp>
#include <stagecraft/kernels/reduction/reduce.hpp>
#include <stagecraft/operations/plan/value_places.hpp>
#include <stagecraft/threads/share.hpp>
#include <bit>
#include <cmath>
#include <cstring>

namespace stagecraft::cpu {

/// A step of a layer's operations. `memory[id]` is where the value of operation `id` lies: of the whole batch, unless
/// its place is storage::samples.
template <class Arch>
class list_runner : list_rows<Arch> {
 public:
  using typename list_rows<Arch>::node;
  using typename list_rows<Arch>::extents;
  using floats = list_workspace<Arch>;

  /// `workspace`: floats that no value uses, as many as `list_workspace` says. `seed` and `stream` are those of the
  /// call. `joins`: what products do beside; without them each operation is carried out by itself.
  list_runner(tracing::array_view<node const> nodes, tracing::array_view<int const> operands,
              tracing::array_view<float* const> memory, float* workspace, std::uint64_t seed, std::uint64_t stream,
              tracing::array_view<operations::product_join const> joins = {})
      : list_rows<Arch>(nodes, operands, memory), workspace_(workspace), seed_(seed), stream_(stream), joins_(joins) {}
  /// Kernels for each operation, or none.
  void use(tracing::array_view<pooling_kernel const> poolings, tracing::array_view<group_kernel const> groups) {
    poolings_ = poolings;
    groups_by_kernels_ = groups;
  }
  /// Carries out operations along rows together from now on, where they are large.
  void take_rows_together() { takes_rows_together_ = true; }
  /// Carries out products by `pairs` from now on, if `gains(shape, is_packed)` says that they gain by it.
  void multiply_by(kernels::product_functions<Arch> const& pairs, bool (*gains)(kernels::product_shape const&, bool)) {
    pairs_ = &pairs;
    gains_by_pairs_ = gains;
  }
  /// Carries out convolutions that gain by it by `windows` from now on.
  void convolve_by(kernels::window_functions<Arch> const& windows) { windows_ = &windows; }
  /// Leaves out operations that another part of the step carries out.
  void leave_out(tracing::array_view<int const> left_out) { left_out_ = left_out; }
  /// Runs the operations of a segment that works sample by sample, for the samples of `part`.
  void run(tracing::array_view<int const> order, tracing::array_view<operations::place const> places,
           batch_part const& part) {
    places_ = places;
    part_ = part;
    by_sample_ = true;
    run(order);
    by_sample_ = false;
  }
  /// Packs weights once for all runs from now on: one segment runs several times, for one part of the samples each.
  void keep_packed_weights() { keeps_packed_ = true; }
  /// Runs a part of the columns of a product.
  void run_product(tracing::array_view<int const> order, kernels::share const& columns) {
    columns_ = columns;
    run(order);
    columns_ = {};
  }
  void run(tracing::array_view<int const> order) {
    order_ = order;
    if (!keeps_packed_) packed_count_ = 0;
    groups_.begin(false);
    for (std::size_t i = 0; i < order.size(); ++i) {
      id_ = order[i];
      position_ = jump_ = i;
      if (is_done_elsewhere()) continue;
      if (!takes_rows_together_ || !is_taken_together(i)) here().what.visit([&](auto const& what) { step(what); });
      i = jump_;
    }
    groups_.finish(order.size());
  }

 private:
  using list_rows<Arch>::here, list_rows<Arch>::read, list_rows<Arch>::shape, list_rows<Arch>::shape_of,
      list_rows<Arch>::x, list_rows<Arch>::y, list_rows<Arch>::size, list_rows<Arch>::begin_of_part,
      list_rows<Arch>::shape_of_part, list_rows<Arch>::address_of, list_rows<Arch>::stride,
      list_rows<Arch>::repeating_stride, list_rows<Arch>::top, list_rows<Arch>::loop_of, list_rows<Arch>::loop_named,
      list_rows<Arch>::place_of, list_rows<Arch>::clear, list_rows<Arch>::copy, list_rows<Arch>::has_no_work;
  using list_rows<Arch>::nodes_, list_rows<Arch>::operands_, list_rows<Arch>::memory_, list_rows<Arch>::places_,
      list_rows<Arch>::part_, list_rows<Arch>::by_sample_, list_rows<Arch>::id_, list_rows<Arch>::loops_,
      list_rows<Arch>::depth_;

  /// The packed right operand of this product; null if there are too many.
  float const* packed(kernels::product_shape const& of, kernels::product_functions<Arch> const& by) {
    for (int i = 0; i < packed_count_; ++i)
      if (packed_[i].product == id_) return packed_[i].begin;
    if (packed_count_ == most_packed) return nullptr;
    if (packed_count_ == 0) next_packed_ = workspace_ + floats::of_single(nodes_, operands_, order_, windows_);
    float* const begin = next_packed_;
    next_packed_ += kernels::packed_product_floats<Arch>(of);
    packed_[packed_count_++] = {id_, begin};
    by.pack(of, x(1), begin);
    return begin;
  }
  [[nodiscard]] pooling_kernel pooling() const { return poolings_.empty() ? pooling_kernel{} : poolings_[id_]; }

  /// True if the operation at a position of the order has no work, or a group of rows has taken it. Sets where to go
  /// on.
  [[gnu::always_inline]] bool is_taken_together(std::size_t position) {
    if (depth_ == 1 && top().trip > 0)
      if (auto const [is_done, next] = groups_.repeat(position); is_done) {
        jump_ = next - 1;
        return true;
      }
    if (has_no_work(here().what)) return true;
    if (!groups_.is_open() && !this->is_large()) return false;
    typename list_rows<Arch>::member found;
    if (auto const rows = this->find_rows(found); rows > 0 && groups_.add(found, rows, position)) return true;
    groups_.finish(position);
    return false;
  }
  void step(operations::input const&) {}
  void step(operations::weight const&) {}
  void step(operations::composite const& what) {
    if (!what.has_kernel) return;
    float const* in[5];
    for (int i = 0; i + 1 < here().operand_count; ++i) in[i] = x(i + 1);
    groups_by_kernels_[id_](in, y(), workspace_);
  }
  void step(operations::reshape const&) {}
  void step(operations::update const&) {}
  void step(operations::constant const&) {}
  void step(operations::iota const& what) {
    std::int64_t const inner = stride(shape(), what.axis), length = shape()[what.axis];
    for (std::int64_t i = 0; i < size(shape()); ++i) y()[i] = static_cast<float>(i / inner % length);
  }
  void step(operations::random const& what) {
    kernels::random_key const key(what.seed != 0 ? what.seed : seed_, stream_);
    auto const of_operation = static_cast<std::uint64_t>(id_ + 1) << 36U;
    auto const before = static_cast<std::uint64_t>(by_sample_ ? here().shape.size() / part_.of * part_.first : 0);
    auto const count = static_cast<std::uint64_t>(size(shape()));
    if (what.distribution == operations::random_distribution::uniform)
      return kernels::random_uniform_fill<Arch>(y(), size(shape()), key, of_operation + before);
    for (std::uint64_t i = 0; i < count; ++i) y()[i] = kernels::box_muller(key, of_operation + 2 * (before + i));
  }
  void step(operations::map const& what) {
    if (what.apply == operations::function::identity) return;
    int const operands = here().operand_count;
    kernels::map_function<Arch>(what.apply, axes_of_map(), y(),
                                {x(0), x(operands > 1 ? 1 : 0), x(operands > 2 ? 2 : 0)});
  }
  void step(operations::whole_map const& what) {
    if (what.apply == operations::whole_function::constant) {
      y()[0] = std::bit_cast<float>(what.value);
      return;
    }
    auto const axes = axes_of_map();
    auto const strides = axes.row_strides();
    float const *const a = x(0), *const b = x(here().operand_count > 1 ? 1 : 0);
    axes.for_each_row([&](auto const& at) {
      kernels::whole_row(what.apply, axes.row_length(), y() + at[0], strides[0], a + at[1], strides[1], b + at[2],
                         strides[2]);
    });
  }
  /// The axes of a map's result, and of up to three operands.
  [[nodiscard]] kernels::strided_axes<4, Arch> axes_of_map() const {
    kernels::strided_axes<4, Arch> axes;
    int const operands = here().operand_count, rank = shape().rank;
    for (int axis = 0; axis < rank; ++axis) {
      std::array<std::int64_t, 4> strides{stride(shape(), axis)};
      for (int i = 0; i < 3; ++i) strides[i + 1] = repeating_stride(shape_of(i < operands ? i : 0), axis, rank);
      axes.add(shape()[axis], strides);
    }
    return axes;
  }
  void step(operations::reduce const& what) {
    kernels::strided_axes<2, Arch> axes;
    for (int axis = 0; axis < shape().rank; ++axis)
      axes.add(shape_of(0)[axis], {what.has(axis) ? 0 : stride(shape(), axis), stride(shape_of(0), axis)});
    kernels::reduce_axes<Arch>(what.by, axes, y(), size(shape()), x(0));
  }
  void step(operations::product const& what) {
    extents const a = shape_of(0), b = shape_of(1), result = shape();
    kernels::product_shape const one{result[-2], what.inner(a), result[-1], what.transpose_a, what.transpose_b};
    auto const [to, behind] = end_of_product();
    bool const is_of_loop = depth_ > 0 && floats::is_packed_in(loops_[0].loop, here(), operands_);
    auto const& by = products(floats::shape_of_product(here(), nodes_[read(0)].shape), is_of_loop);
    if (is_of_loop || (keeps_packed_ && floats::is_product_with_weight(here(), nodes_, operands_)))
      if (float const* const right = packed(one, by); right != nullptr)
        return by.packed(one, x(0), right, to, workspace_, behind);
    if (result.rank == 2) return by.product(one, x(0), x(1), to, workspace_, columns_, behind);
    kernels::strided_axes<3, Arch> places;
    for (int axis = 0; axis + 2 < result.rank; ++axis)
      places.add(result[axis], {stride(result, axis), repeating_stride(a, axis, result.rank),
                                repeating_stride(b, axis, result.rank)});
    auto const length = places.row_length();
    auto const strides = places.row_strides();
    places.for_each_row([&](auto const& begin) {
      for (std::int64_t i = 0; i < length; ++i)
        by.product(one, x(0) + begin[1] + i * strides[1], x(1) + begin[2] + i * strides[2],
                   y() + begin[0] + i * strides[0], workspace_, columns_, {});
    });
  }
  /// The functions that carry out a product. `of` has the shape for all samples, since bits must not depend on how they
  /// are divided.
  [[nodiscard]] kernels::product_functions<Arch> const& products(kernels::product_shape const& of,
                                                                 bool is_of_loop) const {
    return pairs_ != nullptr && gains_by_pairs_(of, is_of_loop) ? *pairs_ : floats_;
  }
  [[nodiscard]] bool is_done_elsewhere() const {
    for (auto const& join : joins_)
      if (join.does(id_)) return true;
    for (int const id : left_out_)
      if (id == id_) return true;
    return false;
  }
  struct product_end {
    float* to;
    kernels::product_finish finish;
  };
  /// The place where a product's result is written, and how it is finished before that.
  [[nodiscard]] product_end end_of_product() const {
    product_end end{y(), {}};
    for (auto const& join : joins_) {
      if (join.product != id_) continue;
      if (join.sum >= 0) {
        end.to = address_of(join.sum);
        extents const& added = nodes_[join.added].shape;
        bool const is_row = added != here().shape;
        if (join.read_from >= 0)
          end.finish.added = in_trip(join.read_from, nodes_[join.added].what.template as<operations::at>(), join.added);
        else
          end.finish.added = {is_row ? memory_[join.added] : address_of(join.added), is_row ? 0 : added[-1]};
      }
      if (join.stack >= 0)
        end.finish.copied = in_trip(join.stack, nodes_[join.stack].what.template as<operations::stack>(), join.stack);
    }
    return end;
  }
  /// The rows of this trip in a tensor of all trips. `of`: the operation that reads or writes there.
  template <class Where>
  [[nodiscard]] kernels::product_rows_at in_trip(int tensor, Where const& where, int of) const {
    extents const& all = nodes_[tensor].shape;
    auto const& loop = loop_named(operands_[nodes_[of].first_operand]);
    int const trip = where.reversed ? loop.trips - 1 - loop.trip : loop.trip;
    return {address_of(tensor) + trip * stride(all, where.axis), stride(all, where.axis == 0 ? 1 : 0)};
  }
  void step(operations::convolution const& what) { convolve(kernels::convolution_part::output, what, 0, 1, -1); }
  void step(operations::convolution_input_gradient const& what) {
    convolve(kernels::convolution_part::input, what, -1, 1, 0);
  }
  void step(operations::convolution_filter_gradient const& what) {
    convolve(kernels::convolution_part::filter, what, 0, -1, 1);
  }
  /// Carries out a part of a convolution. `image`, `filter` and `output` are numbers of operands; -1 is the result.
  template <class What>
  void convolve(kernels::convolution_part part, What const& what, int image, int filter, int output) {
    auto const at = [&](int i) { return i < 0 ? y() : x(i); };
    auto const of = [&](int i) { return i < 0 ? shape() : shape_of(i); };
    // Bits must not depend on how samples are divided.
    auto const all = [&](int i) -> extents const& { return i < 0 ? here().shape : nodes_[read(i)].shape; };
    kernels::window_walk<Arch> const walk{what.windows, of(image), of(output)};
    if (windows_ != nullptr && windows_->gains(part, what.windows, all(image), all(output), what.groups))
      return windows_->convolve(part, walk, at(image), at(filter), at(output), workspace_);
    clear();
    kernels::convolve_windows<Arch>(part, walk, what.groups, at(image), at(filter), at(output));
  }
  void step(operations::pooling const& what) {
    if (auto const run = pooling().forward; run != nullptr) return run(x(0), y(), shape()[0]);
    kernels::pool_windows<Arch>(what.kind == operations::pooling_kind::max, {what.windows, shape_of(0), shape()}, x(0),
                                y());
  }
  void step(operations::pooling_gradient const& what) {
    if (auto const run = pooling().backward; run != nullptr) return run(x(0), x(2), y(), workspace_, shape()[0]);
    kernels::pool_windows_gradient<Arch>(what.kind == operations::pooling_kind::max,
                                         {what.windows, shape(), shape_of(1)}, x(0), x(1), x(2), y(), workspace_);
  }

  // Movement.
  void step(operations::broadcast const&) {
    kernels::strided_axes<2, Arch> axes;
    int const rank = shape().rank;
    for (int axis = 0; axis < rank; ++axis)
      axes.add(shape()[axis], {stride(shape(), axis), repeating_stride(shape_of(0), axis, rank)});
    kernels::copy_strided<Arch>(axes, y(), x(0));
  }
  void step(operations::transpose const& what) {
    kernels::strided_axes<2, Arch> axes;
    for (int axis = 0; axis < shape().rank; ++axis)
      axes.add(shape()[axis], {stride(shape(), axis), stride(shape_of(0), what.order[axis])});
    kernels::copy_strided<Arch>(axes, y(), x(0));
  }
  /// Copies between a tensor and every `step`-th place of a longer axis of another.
  enum class direction : unsigned char { from_wide, to_wide };
  void move_along(direction to, extents const& narrow, float* narrow_at, extents const& wide, float* wide_at, int axis,
                  int begin, int step) {
    bool const reads_wide = to == direction::from_wide;
    kernels::strided_axes<2, Arch> axes;
    for (int i = 0; i < narrow.rank; ++i) {
      std::int64_t const own = stride(narrow, i), other = stride(wide, i) * (i == axis ? step : 1);
      axes.add(narrow[i], {reads_wide ? own : other, reads_wide ? other : own});
    }
    wide_at += begin * stride(wide, axis);
    kernels::copy_strided<Arch>(axes, reads_wide ? narrow_at : wide_at, reads_wide ? wide_at : narrow_at);
  }
  void step(operations::slice const& what) {
    move_along(direction::from_wide, shape(), y(), shape_of(0), x(0), what.axis, what.begin, what.step);
  }
  void step(operations::pad const& what) {
    clear();
    move_along(direction::to_wide, shape_of(0), x(0), shape(), y(), what.axis, what.begin, what.step);
  }
  void step(operations::concatenate const& what) {
    for (int i = 0, begin = 0; i < here().operand_count; begin += shape_of(i++)[what.axis])
      move_along(direction::to_wide, shape_of(i), x(i), shape(), y(), what.axis, begin, 1);
  }
  void step(operations::gather const&) { kernels::read_rows<Arch>(indices(shape_of(0)), x(0), y()); }
  void step(operations::scatter_add const&) {
    auto const named = indices(shape());
    clear();
    for (std::int64_t k = 0; k < named.count; ++k)
      if (auto const row = named.row(k); row >= 0)
        kernels::scaled_add<true, Arch>(1.0F, x(0) + k * named.width, y() + row * named.width, named.width);
  }
  [[nodiscard]] kernels::table_indices indices(extents const& table) const {
    return {x(1), size(shape_of(1)), table[0], stride(table, 0), nodes_[read(1)].type == dtype::int32};
  }

  // Loops.
  void step(operations::loop const& what) {
    loops_[depth_++] = {id_, what.trips, 0, position_};
    if (depth_ == 1) groups_.begin(true);
  }
  void step(operations::carry const&) {
    if (loop_of(0).trip == 0) copy(x(1), y(), size(shape()));
  }
  void step(operations::next const&) { copy(x(2), y(), size(shape())); }
  /// Lies where the state is handed on, unless the gradient keeps it.
  void step(operations::last const&) { copy(x(1), y(), size(shape())); }
  /// The axes of one trip's values, beside those of all trips.
  static extents with_one(extents one, int axis) {
    one.insert(axis, 1);
    return one;
  }
  void step(operations::at const& what) {
    move_along(direction::from_wide, with_one(shape(), what.axis), y(), shape_of(1), x(1), what.axis,
               place_of(what.reversed), 1);
  }
  void step(operations::stack const& what) {
    move_along(direction::to_wide, with_one(shape_of(1), what.axis), x(1), shape(), y(), what.axis,
               place_of(what.reversed), 1);
  }
  void step(operations::loop_end const&) {
    // Every state has been read: now it may change.
    for (int id = top().loop + 1; id < id_; ++id)
      if (nodes_[id].operand_count == 3 && nodes_[id].what.template is<operations::next>() &&
          operands_[nodes_[id].first_operand] == top().loop && memory_[id] != nullptr) {
        int const state = operands_[nodes_[id].first_operand + 1];
        if (by_sample_)
          copy(begin_of_part(id), begin_of_part(state), size(shape_of_part(nodes_[id].shape)));
        else
          copy(memory_[id], memory_[state], size(nodes_[id].shape));
      }
    if (++top().trip < top().trips)
      jump_ = top().begin;  // and the groups of the first trip are repeated
    else if (--depth_ == 0)
      groups_.begin(false);
  }

  static constexpr kernels::product_functions<Arch> floats_{};
  kernels::product_functions<Arch> const* pairs_ = nullptr;
  bool (*gains_by_pairs_)(kernels::product_shape const&, bool) = nullptr;
  kernels::window_functions<Arch> const* windows_ = nullptr;
  float* workspace_;
  std::uint64_t seed_, stream_;
  tracing::array_view<pooling_kernel const> poolings_;
  tracing::array_view<group_kernel const> groups_by_kernels_;
  tracing::array_view<operations::product_join const> joins_;
  tracing::array_view<int const> left_out_;
  kernels::share columns_;
  tracing::array_view<int const> order_;
  std::size_t position_ = 0, jump_ = 0;
  struct packed_operand {
    int product;
    float* begin;
  };
  static constexpr int most_packed = 16;  // others are packed in each trip
  packed_operand packed_[most_packed]{};
  int packed_count_ = 0;
  bool keeps_packed_ = false, takes_rows_together_ = false;
  float* next_packed_ = nullptr;
  kernels::row_groups<Arch> groups_;
};

}  // namespace stagecraft::cpu
