// SPDX-License-Identifier: BSD-3-Clause
// Words of `ops` that move whole axes: tiles, parts, borders, triangles, and squares of images that become channels.
// They are composed of other operations, from which gradients, costs and tasks of tiles follow. Counterparts:
// keras.ops, NumPy, ONNX.
#pragma once

#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/operations/composed/refusal.hpp>
#include <stagecraft/operations/functions.hpp>
#include <stagecraft/operations/tensor.hpp>
#include <stagecraft/operations/tracer.hpp>

namespace stagecraft::operations {

namespace detail {

/// x where the place of a column is at most k after that of its row (`sign` 1), or at least k (-1); else 0.
constexpr tensor triangle(tracer& ops, tensor x, int k, int sign) {
  if (x.rank() < 2) return detail::refused(x, "has no matrices");
  auto const rows = x.length(-2), columns = x.length(-1);
  tensor const after = ops.iota({1, columns}, 1) - ops.iota({rows, 1}, 0);
  auto const edge = static_cast<float>(k);
  return where(sign > 0 ? after <= edge : after >= edge, x, 0.0F);
}

}  // namespace detail

constexpr tensor composed_words::expand_dims(tensor x, int axis) {
  auto const rank = x.rank() + 1;
  if (axis < -rank || axis >= rank || rank > extents::max_rank)
    return detail::refused(x, "has no place for an axis #", {axis});
  auto shape = x.shape();
  shape.insert(axis < 0 ? axis + rank : axis, 1);
  return ops().reshape(x, shape);
}
constexpr tensor composed_words::squeeze(tensor x, int axis) {
  auto shape = x.shape();
  if (!shape.has(axis) || shape[axis] != 1) return detail::refused(x, "has no axis # of length 1", {axis});
  shape.erase(shape.from_front(axis));
  return ops().reshape(x, shape);
}
constexpr tensor composed_words::moveaxis(tensor x, int from, int to) {
  if (!x.shape().has(from) || !x.shape().has(to)) return detail::refused(x, "has no axes # and #", {from, to});
  auto const begin = x.shape().from_front(from), end = x.shape().from_front(to);
  if (begin == end) return x;
  axis_list order = axis_list::none();
  order.count = x.rank();
  for (int i = 0, next = 0; i < x.rank(); ++i) {
    if (next == begin) ++next;
    order.axes[i] = i == end ? begin : next++;
  }
  return ops().transpose(x, order);
}
constexpr tensor composed_words::tile(tensor x, extents const& counts) {
  if (counts.rank > x.rank()) {
    auto wider = x.shape();
    while (wider.rank < counts.rank) wider.insert(0, 1);
    x = ops().reshape(x, wider);
  }
  for (int axis = 0; axis < x.rank(); ++axis) {
    auto const count = counts.aligned(axis, x.rank());
    auto apart = x.shape(), all = apart;
    if (count < 1 || apart.rank == extents::max_rank || 1LL * count * apart[axis] > __INT_MAX__)
      return detail::refused(x, "cannot be repeated # times along axis #", {count, axis});
    if (count == 1) continue;
    all[axis] *= count;
    apart.insert(axis, 1);
    tensor const one = ops().reshape(x, apart);
    apart[axis] = count;
    x = ops().reshape(ops().broadcast(one, apart), all);
  }
  return x;
}
constexpr tracing::growing_array<tensor> composed_words::split(tensor x, std::initializer_list<int> lengths, int axis) {
  tracing::growing_array<tensor> parts;
  long long begin = 0;
  for (int const length : lengths) begin += length;
  bool const fits = x.shape().has(axis) && begin == x.shape()[axis];
  if (!fits) detail::refused(x, "has no parts of # places in all along axis #", {static_cast<int>(begin), axis});
  begin = 0;
  for (int const length : lengths) {
    parts.push_back(fits ? ops().slice(x, axis, static_cast<int>(begin), length) : x);
    begin += length;
  }
  return parts;
}
constexpr tracing::growing_array<tensor> composed_words::split(tensor x, int count, int axis) {
  tracing::growing_array<tensor> parts;
  bool const fits = x.shape().has(axis) && count > 0 && x.shape()[axis] % count == 0;
  if (!fits) detail::refused(x, "has no # equal parts along axis #", {count, axis});
  for (int i = 0; i < count; ++i) {
    auto const length = fits ? x.shape()[axis] / count : 0;
    parts.push_back(fits ? ops().slice(x, axis, i * length, length) : x);
  }
  return parts;
}
constexpr tensor composed_words::stack(tracing::array_view<tensor const> parts, int axis) {
  tracing::growing_array<tensor> wider;
  for (tensor const part : parts) {
    if (part.shape() != parts[0].shape())
      return detail::refused(parts[0], "cannot be stacked with @", {}, {part.shape()});
    wider.push_back(expand_dims(part, axis));
  }
  return ops().concatenate(wider, axis);
}
constexpr tensor composed_words::roll(tensor x, int shift, int axis) {
  if (!x.shape().has(axis)) return detail::refused(x, "has no axis #", {axis});
  auto const length = x.length(axis), begin = (shift % length + length) % length;
  if (begin == 0) return x;
  return ops().concatenate({ops().slice(x, axis, length - begin, begin), ops().slice(x, axis, 0, length - begin)},
                           axis);
}
constexpr tensor composed_words::pad(tensor x, int axis, int before, int after, float value) {
  if (value == 0) return ops().pad(x, axis, before, after);
  if (!x.shape().has(axis) || before < 0 || after < 0 || 1LL * before + after > __INT_MAX__ - x.length(axis))
    return detail::refused(x, "cannot be padded by # and # along axis #", {before, after, axis});
  tracing::growing_array<tensor> parts;
  auto border = x.shape();
  border[axis] = before;
  if (before > 0) parts.push_back(ops().full(border, value));
  parts.push_back(x);
  border[axis] = after;
  if (after > 0) parts.push_back(ops().full(border, value));
  return ops().concatenate(parts, axis);
}
constexpr tensor composed_words::pad(tensor x, int axis, int before, int after, pad_mode mode) {
  auto const length = x.shape().has(axis) ? x.length(axis) : 0;
  int const most = mode == pad_mode::reflect ? length - 1 : mode == pad_mode::symmetric ? length : __INT_MAX__ - length;
  if (length < 1 || before < 0 || after < 0 || before > most || after > most || 1LL * before + after > most * 2LL)
    return detail::refused(x, "cannot be padded by # and # along axis #", {before, after, axis});
  tracing::growing_array<int> indices;
  for (int i = -before; i < length + after; ++i) {
    bool const is_before = i < 0, is_inside = i >= 0 && i < length;
    int from = i;
    if (mode == pad_mode::edge && !is_inside) from = is_before ? 0 : length - 1;
    if (mode == pad_mode::reflect && !is_inside) from = is_before ? -i : 2 * length - 2 - i;
    if (mode == pad_mode::symmetric && !is_inside) from = is_before ? -1 - i : 2 * length - 1 - i;
    if (mode == pad_mode::wrap) from = (i % length + length) % length;
    indices.push_back(from);
  }
  return ops().take(x, tracing::array_view<int const>(indices), axis);
}
constexpr tensor composed_words::tril(tensor x, int k) { return detail::triangle(ops(), x, k, 1); }
constexpr tensor composed_words::triu(tensor x, int k) { return detail::triangle(ops(), x, k, -1); }
constexpr tensor composed_words::space_to_depth(tensor x, int block, bool places_first) {
  auto const s = x.shape();
  if (s.rank != 4 || block < 1 || s[1] % block != 0 || s[2] % block != 0)
    return detail::refused(x, "has no squares of # x # places", {block, block});
  tensor const apart = ops().reshape(x, {s[0], s[1] / block, block, s[2] / block, block, s[3]});
  tensor const moved =
      places_first ? ops().transpose(apart, {0, 1, 3, 2, 4, 5}) : ops().transpose(apart, {0, 1, 3, 5, 2, 4});
  return ops().reshape(moved, {s[0], s[1] / block, s[2] / block, s[3] * block * block});
}
constexpr tensor composed_words::depth_to_space(tensor x, int block, bool places_first) {
  auto const s = x.shape();
  if (s.rank != 4 || block < 1 || s[3] % (block * block) != 0)
    return detail::refused(x, "has no channels for squares of # x # places", {block, block});
  int const channels = s[3] / (block * block);
  tensor const apart = places_first ? ops().reshape(x, {s[0], s[1], s[2], block, block, channels})
                                    : ops().reshape(x, {s[0], s[1], s[2], channels, block, block});
  tensor const moved =
      places_first ? ops().transpose(apart, {0, 1, 3, 2, 4, 5}) : ops().transpose(apart, {0, 1, 4, 2, 5, 3});
  return ops().reshape(moved, {s[0], s[1] * block, s[2] * block, channels});
}
constexpr tensor composed_words::stack(std::initializer_list<tensor> parts, int axis) {
  return stack(tracing::array_view<tensor const>(parts.begin(), parts.size()), axis);
}

}  // namespace stagecraft::operations
