// SPDX-License-Identifier: BSD-3-Clause
// Words of `ops` for sums of products in Einstein's notation, and for axes of another length. They are composed of
// other operations, from which gradients, costs and tasks of tiles follow. Counterparts: keras.ops, NumPy, ONNX.
#pragma once

#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/operations/composed/movement_words.hpp>
#include <stagecraft/operations/composed/refusal.hpp>
#include <stagecraft/operations/functions.hpp>
#include <stagecraft/operations/tensor.hpp>
#include <stagecraft/operations/tracer.hpp>

namespace stagecraft::operations {

namespace detail {

/// Letters of a tensor's axes in an einsum.
struct axis_letters {
  char of[extents::max_rank]{};
  int count = 0;

  [[nodiscard]] constexpr int find(char letter) const {
    for (int i = 0; i < count; ++i)
      if (of[i] == letter) return i;
    return -1;
  }
  /// Appends the letters of [begin, end); returns false for a character that is no letter, or for a letter that comes
  /// twice.
  constexpr bool read(std::string_view formula, std::size_t begin, std::size_t end) {
    for (; begin < end; ++begin) {
      char const letter = formula[begin];
      if (letter == ' ') continue;
      bool const is_letter = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
      if (!is_letter || find(letter) >= 0 || count == extents::max_rank) return false;
      of[count++] = letter;
    }
    return true;
  }
  constexpr void push_back(char letter) { of[count++] = letter; }
};

/// "ab,bc->ac": the letters of one or two tensors and of the result.
struct einsum_letters {
  axis_letters in[2], out;
  int count = 0;

  constexpr bool read(std::string_view formula) {
    std::size_t const arrow = formula.find("->");
    if (arrow == std::string_view::npos) return false;
    std::size_t const comma = formula.find(',');
    count = comma < arrow ? 2 : 1;
    if (!in[0].read(formula, 0, count == 2 ? comma : arrow)) return false;
    if (count == 2 && !in[1].read(formula, comma + 1, arrow)) return false;
    if (!out.read(formula, arrow + 2, formula.size())) return false;
    for (int i = 0; i < out.count; ++i)
      if (in[0].find(out.of[i]) < 0 && in[1].find(out.of[i]) < 0) return false;
    return true;
  }
};

/// A tensor whose axes have letters.
struct lettered_tensor {
  tensor value;
  axis_letters letters;

  [[nodiscard]] constexpr int length(char letter) const { return value.length(letters.find(letter)); }
};

}  // namespace detail

namespace detail {

/// The place on an axis of `old` places that corresponds to place i of an axis of `length` places.
constexpr double place_before(int i, int old, int length, resize_places places) {
  switch (places) {
    case resize_places::align_corners: return length > 1 ? static_cast<double>(i) * (old - 1) / (length - 1) : 0;
    case resize_places::asymmetric: return static_cast<double>(i) * old / length;
    default: return (i + 0.5) * old / length - 0.5;
  }
}

}  // namespace detail

namespace detail {

/// The tensor with its axes in the order of `letters`.
constexpr tensor ordered(tracer& ops, tensor x, detail::axis_letters const& has, detail::axis_letters const& letters) {
  axis_list order = axis_list::none();
  order.count = letters.count;
  bool is_same = true;
  for (int i = 0; i < letters.count; ++i) {
    order.axes[i] = has.find(letters.of[i]);
    is_same = is_same && order.axes[i] == i;
  }
  return is_same ? x : ops.transpose(x, order);
}

}  // namespace detail

constexpr tensor composed_words::einsum(std::string_view formula, std::initializer_list<tensor> of) {
  tensor const first = *of.begin();
  detail::einsum_letters letters;
  if (!letters.read(formula) || static_cast<std::size_t>(letters.count) != of.size()) {
    if (first.list->begin_rejection(1161)) {
      first.list->problem.append("computes einsum(\"");
      first.list->problem.append(formula);
      first.list->problem.append("\") of ");
      first.list->problem.append(static_cast<int>(of.size()));
      first.list->problem.append(
          " tensors; write letters for one or two tensors and the result, each at most once for a tensor: "
          "\"bij,bjk->bik\"");
      first.list->problem.end();
    }
    return first;
  }
  detail::lettered_tensor in[2];
  for (int i = 0; i < letters.count; ++i) {
    in[i] = {of.begin()[i], letters.in[i]};
    if (in[i].value.rank() != letters.in[i].count)
      return detail::refused(in[i].value, "has not as many axes as letters in an einsum");
  }
  for (int i = 0; i < letters.in[0].count && letters.count == 2; ++i) {
    char const letter = letters.in[0].of[i];
    if (letters.in[1].find(letter) >= 0 && in[0].length(letter) != in[1].length(letter))
      return detail::refused(first, "cannot be multiplied by @ in an einsum", {}, {in[1].value.shape()});
  }
  // Axes of one tensor that the result lacks are summed first.
  for (int i = 0; i < letters.count; ++i) {
    axis_list summed = axis_list::none();
    detail::axis_letters kept;
    extents shape;
    for (int axis = 0; axis < in[i].letters.count; ++axis) {
      char const letter = in[i].letters.of[axis];
      bool const is_alone = letters.out.find(letter) < 0 && (letters.count == 1 || in[1 - i].letters.find(letter) < 0);
      if (is_alone) {
        summed.axes[summed.count++] = axis;
      } else {
        kept.push_back(letter);
        shape.push_back(in[i].value.length(axis));
      }
    }
    if (summed.count == 0) continue;
    in[i] = {ops().reshape(ops().sum(in[i].value, summed), shape), kept};
  }
  if (letters.count == 1) return detail::ordered(ops(), in[0].value, in[0].letters, letters.out);

  // (both, rows, inner) times (both, inner, columns).
  detail::axis_letters both, rows, inner, columns;
  for (int i = 0; i < letters.out.count; ++i) {
    char const letter = letters.out.of[i];
    bool const in_first = in[0].letters.find(letter) >= 0, in_second = in[1].letters.find(letter) >= 0;
    (in_first && in_second ? both : in_first ? rows : columns).push_back(letter);
  }
  for (int i = 0; i < in[0].letters.count; ++i)
    if (letters.out.find(in[0].letters.of[i]) < 0) inner.push_back(in[0].letters.of[i]);
  detail::axis_letters of_first = both, of_second = both, of_result = both;
  extents first_shape, second_shape, shape;
  int counts[3]{1, 1, 1};
  for (int i = 0; i < both.count; ++i) {
    first_shape.push_back(in[0].length(both.of[i]));
    second_shape.push_back(in[0].length(both.of[i]));
    shape.push_back(in[0].length(both.of[i]));
  }
  for (int i = 0; i < rows.count; ++i) {
    of_first.push_back(rows.of[i]);
    of_result.push_back(rows.of[i]);
    counts[0] *= in[0].length(rows.of[i]);
    shape.push_back(in[0].length(rows.of[i]));
  }
  for (int i = 0; i < inner.count; ++i) {
    of_first.push_back(inner.of[i]);
    of_second.push_back(inner.of[i]);
    counts[1] *= in[0].length(inner.of[i]);
  }
  for (int i = 0; i < columns.count; ++i) {
    of_second.push_back(columns.of[i]);
    of_result.push_back(columns.of[i]);
    counts[2] *= in[1].length(columns.of[i]);
    shape.push_back(in[1].length(columns.of[i]));
  }
  if (both.count + 2 > extents::max_rank) return detail::refused(first, "has too many axes for an einsum");
  first_shape.push_back(counts[0]);
  first_shape.push_back(counts[1]);
  second_shape.push_back(counts[1]);
  second_shape.push_back(counts[2]);
  tensor const left = ops().reshape(detail::ordered(ops(), in[0].value, in[0].letters, of_first), first_shape);
  tensor const right = ops().reshape(detail::ordered(ops(), in[1].value, in[1].letters, of_second), second_shape);
  return detail::ordered(ops(), ops().reshape(ops().matmul(left, right), shape), of_result, letters.out);
}
constexpr tensor composed_words::resize_nearest(tensor x, int axis, int length, resize_places places, bool earlier) {
  if (!x.shape().has(axis) || length < 1)
    return detail::refused(x, "cannot be resized to # along axis #", {length, axis});
  auto const old = x.length(axis);
  tracing::growing_array<int> indices;
  for (int i = 0; i < length; ++i) {
    double const place = detail::place_before(i, old, length, places);
    int const below = place < 0 ? 0 : static_cast<int>(place);
    int const nearest = !earlier && place - below > 0.5 ? below + 1 : below;
    indices.push_back(nearest < old ? nearest : old - 1);
  }
  return ops().take(x, tracing::array_view<int const>(indices), axis);
}
constexpr tensor composed_words::resize_linear(tensor x, int axis, int length, resize_places places) {
  if (!x.shape().has(axis) || length < 1 || x.rank() == extents::max_rank)
    return detail::refused(x, "cannot be resized to # along axis #", {length, axis});
  auto const along = x.shape().from_front(axis), old = x.length(along), times = length / old;
  if (length == old || old == 1) return old == length ? x : ops().repeat(x, length, along);
  if (times * old == length && times <= 8 && places != resize_places::align_corners) {
    // Each old element has `times` new places. Place i of each lies between the same two neighbours, so that all places
    // i together are a sum of whole tensors.
    tensor const before = ops().pad(ops().slice(x, along, 0, old - 1), along, 1, 0, pad_mode::edge);
    tensor const after = ops().pad(ops().slice(x, along, 1, old - 1), along, 0, 1, pad_mode::edge);
    tracing::growing_array<tensor> parts;
    for (int i = 0; i < times; ++i) {
      auto const share = static_cast<float>(detail::place_before(i, old, length, places));
      if (share == 0)
        parts.push_back(x);
      else
        parts.push_back(share < 0 ? before * -share + x * (1 + share) : after * share + x * (1 - share));
    }
    auto shape = x.shape();
    shape[along] = length;
    return ops().reshape(ops().stack(tracing::array_view<tensor const>(parts), along + 1), shape);
  }
  // Row i of the matrix is 1 less the distance of its place from each old place, where that is below 1.
  bool const is_last = along == x.rank() - 1;
  extents rows{is_last ? 1 : length, is_last ? length : 1}, columns{is_last ? old : 1, is_last ? 1 : old};
  bool const is_centred = places == resize_places::half_pixel;
  double const step = places != resize_places::align_corners ? static_cast<double>(old) / length
                      : length > 1                           ? (old - 1.0) / (length - 1)
                                                             : 0;
  tensor place = ops().iota(rows, is_last ? 1 : 0) * static_cast<float>(step);
  if (is_centred) place = place + static_cast<float>(step / 2 - 0.5);
  tensor const matrix =
      maximum(1.0F - abs(clip(place, 0.0F, static_cast<float>(old - 1)) - ops().iota(columns, is_last ? 0 : 1)), 0.0F);
  if (is_last)
    return x.rank() > 1 ? ops().matmul(x, matrix) : ops().squeeze(ops().matmul(ops().expand_dims(x, 0), matrix), 0);
  extents together, shape = x.shape();
  int inner = 1;
  for (int i = along + 1; i < x.rank(); ++i) inner *= shape[i];
  for (int i = 0; i <= along; ++i) together.push_back(shape[i]);
  together.push_back(inner);
  shape[along] = length;
  return ops().reshape(ops().matmul(matrix, ops().reshape(x, together)), shape);
}

}  // namespace stagecraft::operations
