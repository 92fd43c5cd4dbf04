// SPDX-License-Identifier: BSD-3-Clause
// Movement of whole axes: tiles, parts, borders, triangles, and squares of images that become channels.
#pragma once

#include <stagecraft/operations/tracer.hpp>

namespace stagecraft::operations {

constexpr tensor composed_operations::expand_dims(tensor x, int axis) {
  int const rank = x.rank() + 1;
  if (axis < -rank || axis >= rank || rank > extents::max_rank) return failed(x, "has no place for an axis ", axis);
  extents shape = x.shape();
  shape.insert(axis < 0 ? axis + rank : axis, 1);
  return ops().reshape(x, shape);
}
constexpr tensor composed_operations::squeeze(tensor x, int axis) {
  extents shape = x.shape();
  if (!shape.has(axis) || shape[axis] != 1) return failed(x, "has no axis ", axis, " of length 1");
  shape.erase(shape.from_front(axis));
  return ops().reshape(x, shape);
}
constexpr tensor composed_operations::moveaxis(tensor x, int from, int to) {
  if (!x.shape().has(from) || !x.shape().has(to)) return failed(x, "has no axes ", from, " and ", to);
  int const begin = x.shape().from_front(from), end = x.shape().from_front(to);
  if (begin == end) return x;
  axis_list order = axis_list::none();
  order.count = x.rank();
  for (int i = 0, next = 0; i < x.rank(); ++i) {
    if (next == begin) ++next;
    order.axes[i] = i == end ? begin : next++;
  }
  return ops().transpose(x, order);
}

constexpr tensor composed_operations::tile(tensor x, extents const& counts) {
  if (counts.rank > x.rank()) {
    extents wider = x.shape();
    while (wider.rank < counts.rank) wider.insert(0, 1);
    x = ops().reshape(x, wider);
  }
  for (int axis = 0; axis < x.rank(); ++axis) {
    int const count = counts.aligned(axis, x.rank());
    extents apart = x.shape(), all = apart;
    if (count < 1 || apart.rank == extents::max_rank || 1LL * count * apart[axis] > __INT_MAX__)
      return failed(x, "cannot be repeated ", count, " times along axis ", axis);
    if (count == 1) continue;
    all[axis] *= count;
    apart.insert(axis, 1);
    tensor const one = ops().reshape(x, apart);
    apart[axis] = count;
    x = ops().reshape(ops().broadcast(one, apart), all);
  }
  return x;
}

constexpr tracing::growing_array<tensor> composed_operations::split(tensor x, std::initializer_list<int> lengths,
                                                                    int axis) {
  tracing::growing_array<tensor> parts;
  long long begin = 0;
  for (int const length : lengths) begin += length;
  bool const fits = x.shape().has(axis) && begin == x.shape()[axis];
  if (!fits) failed(x, "has no parts of ", begin, " places in all along axis ", axis);
  begin = 0;
  for (int const length : lengths) {
    parts.push_back(fits ? ops().slice(x, axis, static_cast<int>(begin), length) : x);
    begin += length;
  }
  return parts;
}
constexpr tracing::growing_array<tensor> composed_operations::split(tensor x, int count, int axis) {
  tracing::growing_array<tensor> parts;
  bool const fits = x.shape().has(axis) && count > 0 && x.shape()[axis] % count == 0;
  if (!fits) failed(x, "has no ", count, " equal parts along axis ", axis);
  for (int i = 0; i < count; ++i) {
    int const length = fits ? x.shape()[axis] / count : 0;
    parts.push_back(fits ? ops().slice(x, axis, i * length, length) : x);
  }
  return parts;
}
constexpr tensor composed_operations::stack(tracing::array_view<tensor const> parts, int axis) {
  tracing::growing_array<tensor> wider;
  for (tensor const part : parts) {
    if (part.shape() != parts[0].shape()) return failed(parts[0], "cannot be stacked with ", part.shape());
    wider.push_back(expand_dims(part, axis));
  }
  return ops().concatenate(wider, axis);
}
constexpr tensor composed_operations::roll(tensor x, int shift, int axis) {
  if (!x.shape().has(axis)) return failed(x, "has no axis ", axis);
  int const length = x.length(axis), begin = (shift % length + length) % length;
  if (begin == 0) return x;
  return ops().concatenate({ops().slice(x, axis, length - begin, begin), ops().slice(x, axis, 0, length - begin)},
                           axis);
}

constexpr tensor composed_operations::pad(tensor x, int axis, int before, int after, float value) {
  if (value == 0) return ops().pad(x, axis, before, after);
  if (!x.shape().has(axis) || before < 0 || after < 0 || 1LL * before + after > __INT_MAX__ - x.length(axis))
    return failed(x, "cannot be padded by ", before, " and ", after, " along axis ", axis);
  tracing::growing_array<tensor> parts;
  extents border = x.shape();
  border[axis] = before;
  if (before > 0) parts.push_back(ops().full(border, value));
  parts.push_back(x);
  border[axis] = after;
  if (after > 0) parts.push_back(ops().full(border, value));
  return ops().concatenate(parts, axis);
}
constexpr tensor composed_operations::pad(tensor x, int axis, int before, int after, pad_mode mode) {
  int const length = x.shape().has(axis) ? x.length(axis) : 0;
  int const most = mode == pad_mode::reflect ? length - 1 : mode == pad_mode::symmetric ? length : __INT_MAX__ - length;
  if (length < 1 || before < 0 || after < 0 || before > most || after > most || 1LL * before + after > most * 2LL)
    return failed(x, "cannot be padded by ", before, " and ", after, " along axis ", axis);
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
  return take(x, tracing::array_view<int const>(indices), axis);
}

/// x where the place of a column is at most k after that of its row (`sign` 1), or at least k (-1); else 0.
constexpr tensor composed_operations::triangle(tensor x, int k, int sign) {
  if (x.rank() < 2) return failed(x, "has no matrices");
  int const rows = x.length(-2), columns = x.length(-1);
  tensor const after = ops().iota({1, columns}, 1) - ops().iota({rows, 1}, 0);
  auto const edge = static_cast<float>(k);
  return where(sign > 0 ? after <= edge : after >= edge, x, 0.0F);
}
constexpr tensor composed_operations::tril(tensor x, int k) { return triangle(x, k, 1); }
constexpr tensor composed_operations::triu(tensor x, int k) { return triangle(x, k, -1); }

constexpr tensor composed_operations::space_to_depth(tensor x, int block, bool places_first) {
  extents const s = x.shape();
  if (s.rank != 4 || block < 1 || s[1] % block != 0 || s[2] % block != 0)
    return failed(x, "has no squares of ", block, " x ", block, " places");
  tensor const apart = ops().reshape(x, {s[0], s[1] / block, block, s[2] / block, block, s[3]});
  tensor const moved =
      places_first ? ops().transpose(apart, {0, 1, 3, 2, 4, 5}) : ops().transpose(apart, {0, 1, 3, 5, 2, 4});
  return ops().reshape(moved, {s[0], s[1] / block, s[2] / block, s[3] * block * block});
}
constexpr tensor composed_operations::depth_to_space(tensor x, int block, bool places_first) {
  extents const s = x.shape();
  if (s.rank != 4 || block < 1 || s[3] % (block * block) != 0)
    return failed(x, "has no channels for squares of ", block, " x ", block, " places");
  int const channels = s[3] / (block * block);
  tensor const apart = places_first ? ops().reshape(x, {s[0], s[1], s[2], block, block, channels})
                                    : ops().reshape(x, {s[0], s[1], s[2], channels, block, block});
  tensor const moved =
      places_first ? ops().transpose(apart, {0, 1, 3, 2, 4, 5}) : ops().transpose(apart, {0, 1, 4, 2, 5, 3});
  return ops().reshape(moved, {s[0], s[1] * block, s[2] * block, channels});
}

}  // namespace stagecraft::operations
