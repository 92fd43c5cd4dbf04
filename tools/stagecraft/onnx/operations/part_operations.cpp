// SPDX-License-Identifier: BSD-3-Clause
// ONNX's nodes that take parts of tensors, join them, or put a border around them, as operations.
#include "operation_nodes.hpp"

#include <algorithm>
#include <cmath>

namespace stagecraft::tool {

namespace {

using trace = onnx_trace;
using operands = std::vector<source_text>;
using integers = std::vector<std::int64_t>;

/// `count` elements along axis `place`, from `first` on, every `step`-th one; a negative step goes backwards.
traced_tensor part(trace& to, traced_tensor const& x, int place, std::int64_t first, std::int64_t count,
                   std::int64_t step) {
  int const length = x.lengths[at(place) - 1];
  if (count < 1) throw unsupported("leaves nothing of its input");
  bool const is_back = step < 0;
  auto const begin = is_back ? first + (count - 1) * step : first, distance = is_back ? -step : step;
  if (begin < 0 || begin + (count - 1) * distance >= length) throw unsupported("takes parts that its input has not");
  if (begin == 0 && count == length && !is_back) return x;
  auto lengths = x.lengths;
  lengths[at(place) - 1] = static_cast<int>(count);
  return like(x, to.operate({"part",
                             [=](operands const& a) {
                               auto text = count == length && is_back
                                               ? a[0]
                                               : "ops.slice("_cpp + a[0] + ", " + number_text(place) + ", " +
                                                     number_text(begin) + ", " + number_text(count) +
                                                     (distance > 1 ? ", "_cpp + number_text(distance) : source_text()) +
                                                     ")";
                               return is_back ? "ops.flip("_cpp + text + ", " + number_text(place) + ")" : text;
                             }},
                            {x}, lengths));
}

void slice(trace& to, onnx_node const& node) {
  auto x = to.complete(to.tensor(node, 0));
  auto const starts = to.required(node, 1).integers(), ends = to.required(node, 2).integers();
  auto const axes = to.constant(node, 3), steps = to.constant(node, 4);
  if (starts.size() > at(x.rank) || ends.size() != starts.size() || (axes && axes->values.size() != starts.size()) ||
      (steps && steps->values.size() != starts.size()))
    throw unsupported("has starts, ends, axes or steps that do not fit");
  for (std::size_t i = 0; i < starts.size(); ++i) {
    int const axis = axis_of(axes ? axes->integers()[i] : static_cast<std::int64_t>(i), x.rank);
    auto const step = steps ? steps->integers()[i] : 1;
    if (step == 0 || step < -(1 << 30) || step > (1 << 30)) throw unsupported("has a step that is not here");
    if (x.order[0] == axis) {
      if (starts[i] == 0 && ends[i] >= 100'000'000 && step == 1) continue;
      throw unsupported("cuts samples, or an axis of length 1");
    }
    int const place = place_in_sample(x, axis);
    std::int64_t const length = x.lengths[at(place) - 1];
    auto const from_end = [&](std::int64_t index) { return index < 0 && index >= -length ? index + length : index; };
    std::int64_t const least = step < 0 ? -1 : 0, most = step < 0 ? length - 1 : length;
    auto const begin =
        std::clamp<std::int64_t>(starts[i] < -length ? (step < 0 ? -1 : 0) : from_end(starts[i]), least, most);
    auto const end = std::clamp<std::int64_t>(ends[i] < -length ? -1 : from_end(ends[i]), least, most);
    auto const reach = step > 0 ? end - begin : begin - end, width = step > 0 ? step : -step;
    x = part(to, x, place, begin, reach <= 0 ? 0 : (reach + width - 1) / width, step);
  }
  to.set(node, x);
}

void split(trace& to, onnx_node const& node) {
  auto const x = to.complete(to.tensor(node, 0));
  int const place = place_in_sample(x, node.integer("axis", 0));
  auto const count = static_cast<std::int64_t>(node.outputs.size());
  std::int64_t const length = x.lengths[at(place) - 1];
  if (count < 1 || node.integer("num_outputs", count) != count)
    throw unsupported("has other sizes than its input and outputs");
  auto const given = to.constant(node, 1);
  auto sizes = given ? given->integers() : integers();
  auto const each_size = (length + count - 1) / count;
  for (std::int64_t i = 0; !given && i < count; ++i) sizes.push_back(std::min(each_size, length - i * each_size));
  std::int64_t left = length;
  for (auto const size : sizes) left = size < 0 || size > left ? -1 : left - size;
  if (sizes.size() != node.outputs.size() || left != 0) throw unsupported("has other sizes than its input and outputs");
  std::int64_t first = 0;
  for (std::size_t i = 0; i < sizes.size(); first += sizes[i++])
    if (to.is_taken(node.outputs[i]) && sizes[i] > 0) to.set(node, part(to, x, place, first, sizes[i], 1), i);
  if (std::count(sizes.begin(), sizes.end(), 0) == 0) return;
  // A part without elements is a constant, which Concat leaves out.
  if (!to.is_one_sample()) throw unsupported("leaves nothing of its input");
  onnx_constant none{std::vector<std::int64_t>(at(x.rank), 1), {}, x.elements != element_kind::real};
  for (std::size_t i = 1; i < x.order.size(); ++i)
    if (x.order[i] >= 0) none.shape[at(x.order[i])] = static_cast<int>(i) == place ? 0 : x.lengths[i - 1];
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] == 0) to.set_alias(node, to.add_constant(none), i);
}

/// Joins tensors one after the other along axis `place`.
traced_tensor joined(trace& to, std::vector<traced_tensor> const& parts, int place) {
  if (parts.size() == 1) return parts[0];
  auto lengths = parts[0].lengths;
  lengths[at(place) - 1] = 0;
  for (auto const& each : parts) lengths[at(place) - 1] += each.lengths[at(place) - 1];
  return like(parts[0], to.operate({"joined",
                                    [=](operands const& a) {
                                      return "ops.concatenate({"_cpp + comma_list(a) + "}, " + number_text(place) + ")";
                                    }},
                                   parts, lengths));
}

constexpr std::size_t most_parts = 64;

/// The elements with these numbers along axis `place`; runs at equal distance are one part.
traced_tensor picked(trace& to, traced_tensor const& x, int place, integers const& wanted) {
  if (wanted.empty()) throw unsupported("leaves nothing of its input");
  std::vector<traced_tensor> parts;
  for (std::size_t i = 0; i < wanted.size();) {
    std::size_t end = i + 1;
    auto const step = end < wanted.size() ? wanted[end] - wanted[i] : 1;
    if (step != 0)
      while (end < wanted.size() && wanted[end] - wanted[end - 1] == step) ++end;
    parts.push_back(part(to, x, place, wanted[i], static_cast<std::int64_t>(end - i), step == 0 ? 1 : step));
    i = end;
    if (parts.size() > most_parts)
      throw unsupported("picks more than " + std::to_string(most_parts) + " runs of elements");
  }
  return joined(to, parts, place);
}

/// Parts of a tensor with known numbers.
void gather(trace& to, onnx_node const& node) {
  auto x = to.complete(to.tensor(node, 0));
  auto const index = to.required(node, 1);
  int const axis = axis_of(node.integer("axis", 0), x.rank), place = place_in_sample(x, axis);
  auto wanted = index.integers();
  for (auto& each : wanted) {
    if (each < 0) each += x.lengths[at(place) - 1];
    if (each < 0 || each >= x.lengths[at(place) - 1]) throw unsupported("takes a part that is not there");
  }
  auto y = picked(to, x, place, wanted);
  if (index.shape.empty()) return to.set(node, without_axes(to, y, {axis}));
  if (index.shape.size() > 1) throw unsupported("picks by an array of more than one axis");
  to.set(node, y);
}

/// A constant that is equal for all samples, as a tensor beside others.
traced_tensor constant_beside(trace& to, traced_tensor const& x, onnx_constant given, std::string const& name) {
  if (given.shape.size() != at(x.rank)) throw unsupported("joins a constant of other axes");
  given = in_own_order(given, x.order);
  std::vector<int> lengths;
  for (std::size_t i = 1; i < given.shape.size(); ++i) {
    if (given.shape[i] < 1 || given.shape[i] > (1 << 24)) throw unsupported("has a constant without elements");
    lengths.push_back(static_cast<int>(given.shape[i]));
  }
  operation_code const code = [=](operands const& a) {
    return "ops.broadcast("_cpp + a[1] + ", " + shape_text(a[0], lengths) + ")";
  };
  return like(x, to.operate({"constant", code, {given}, {constant_name(name)}, false}, {x}, lengths));
}

void concat(trace& to, onnx_node const& node) {
  std::vector<traced_tensor> all;
  std::optional<traced_tensor> first;
  for (std::size_t i = 0; i < node.inputs.size() && !first; ++i)
    if (to.is_tensor(node, i)) first = to.complete(to.tensor(node, i));
  if (!first) throw unsupported("joins constants alone");
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (!to.is_tensor(node, i)) {
      auto const constant = to.required(node, i);
      if (!constant.values.empty()) all.push_back(constant_beside(to, *first, constant, node.inputs[i]));
      continue;
    }
    auto x = to.complete(to.tensor(node, i));
    if (x.rank != first->rank || x.order[0] != first->order[0]) throw unsupported("takes tensors of different ranks");
    all.push_back(to.ordered(x, first->order));
  }
  int const place = place_in_sample(*first, node.integer("axis", 0));
  for (auto const& each : all)
    for (std::size_t i = 0; i < each.lengths.size(); ++i)
      if (static_cast<int>(i) + 1 != place && each.lengths[i] != first->lengths[i])
        throw unsupported("has inputs whose lengths do not fit");
  to.set(node, joined(to, all, place));
}

/// Pads any axes with zeros, another number, or copies of elements nearby.
void pad(trace& to, onnx_node const& node) {
  auto x = to.complete(to.tensor(node, 0));
  auto const amounts = to.required(node, 1).integers();
  auto const value = to.constant(node, 2), given = to.constant(node, 3);
  auto axes = given ? given->integers() : integers();
  for (int i = 0; !given && i < x.rank; ++i) axes.push_back(i);
  if (amounts.size() != 2 * axes.size() || axes.size() > at(x.rank))
    throw unsupported("has amounts that do not fit its input");
  auto const mode = node.text("mode", "constant");
  double const number = value && !value->values.empty() ? value->values[0] : 0;
  if (mode != "constant" && mode != "edge" && mode != "reflect" && mode != "wrap")
    throw unsupported("has a mode that is not known");
  for (std::size_t i = 0; i < axes.size(); ++i) {
    auto before = amounts[i], after = amounts[i + axes.size()];
    if (before == 0 && after == 0) continue;
    constexpr std::int64_t most = 1 << 20;
    int const place = place_in_sample(x, axes[i]);
    std::int64_t const length = x.lengths[at(place) - 1];
    if (before < -length || after < -length || before > most || after > most)
      throw unsupported("has amounts that do not fit its input");
    if (before < 0 || after < 0) {
      auto const cut = std::max<std::int64_t>(-before, 0), rest = std::max<std::int64_t>(-after, 0);
      if (mode != "constant" && (before > 0 || after > 0)) throw unsupported("cuts and copies along one axis");
      x = part(to, x, place, cut, length - cut - rest, 1);
      before = std::max<std::int64_t>(before, 0), after = std::max<std::int64_t>(after, 0);
    }
    if (mode == "constant") {
      auto lengths = x.lengths;
      lengths[at(place) - 1] += static_cast<int>(before + after);
      bool const is_zero = number == 0;
      auto const text = float_text(number);
      auto const padded = [=](source_text const& a) {
        return "ops.pad("_cpp + a + ", " + number_text(place) + ", " + number_text(before) + ", " + number_text(after) +
               ")";
      };
      // Pad with another number: the tensor padded with zeros, plus the number at the places of the padding.
      x = like(x, to.operate({"padded",
                              [=](operands const& a) {
                                if (is_zero) return padded(a[0]);
                                if (std::isinf(number))
                                  return "where(" + padded("ops.full("_cpp + a[0] + ".shape(), 1.0F)") + ", " +
                                         padded(a[0]) + ", " + text + ")";
                                return padded(a[0]) + " + " + text + " * (1.0F - " +
                                       padded("ops.full(" + a[0] + ".shape(), 1.0F)") + ")";
                              }},
                             {x}, lengths));
      continue;
    }
    integers wanted;
    if (before + after > 4096 || (mode == "reflect" && (before >= length || after >= length)))
      throw unsupported("has amounts that do not fit its input");
    for (auto k = -before; k < length + after; ++k) {
      if (mode == "edge") wanted.push_back(std::clamp<std::int64_t>(k, 0, length - 1));
      if (mode == "reflect") wanted.push_back(k < 0 ? -k : k >= length ? 2 * (length - 1) - k : k);
      if (mode == "wrap") wanted.push_back((k % length + length) % length);
    }
    x = picked(to, x, place, wanted);
  }
  to.set(node, x);
}

}  // namespace

void add_part_operations(std::map<std::string, onnx_converter>& to) {
  auto const also = [&](char const* type, onnx_converter const& more) { to[type] = either(to.at(type), more); };
  also("Slice", slice), also("Split", split), also("Gather", gather), also("Concat", concat), also("Pad", pad);
}

}  // namespace stagecraft::tool
