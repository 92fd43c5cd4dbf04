// SPDX-License-Identifier: BSD-3-Clause
#include "onnx_folding.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <set>
#include <string>

namespace stagecraft::tool {

namespace {

/// Slices of one axis, one after the other, as arrays of (outer, length, inner).
struct axis_view {
  std::int64_t outer = 1, length = 1, inner = 1;
};
std::optional<axis_view> view_of(integers const& shape, std::int64_t axis) {
  auto const rank = static_cast<std::int64_t>(shape.size());
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return std::nullopt;
  axis_view view;
  for (std::int64_t i = 0; i < rank; ++i)
    (i < axis ? view.outer : i == axis ? view.length : view.inner) *= shape[static_cast<std::size_t>(i)];
  return view;
}

}  // namespace

std::int64_t count_of(std::vector<std::int64_t> const& shape) {
  std::int64_t count = 1;
  for (auto const length : shape) {
    if (length < 0 || (length > 0 && count > (std::int64_t{1} << 40) / length)) return -1;
    count *= length;
  }
  return count;
}

std::optional<std::vector<std::int64_t>> shape_for(std::vector<std::int64_t> wanted,
                                                   std::vector<std::int64_t> const& from) {
  std::int64_t const count = count_of(from), most = std::int64_t{1} << 40;
  if (count < 0) return std::nullopt;
  std::int64_t known = 1, open = -1;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == 0 && i < from.size()) wanted[i] = from[i];
    if (wanted[i] == -1)
      open = static_cast<std::int64_t>(i);
    else if (wanted[i] < 0 || wanted[i] > most / known)
      return std::nullopt;
    else
      known *= std::max<std::int64_t>(wanted[i], 1);
  }
  if (open >= 0) wanted[static_cast<std::size_t>(open)] = count / known;
  return count_of(wanted) == count ? std::optional(wanted) : std::nullopt;
}

std::optional<onnx_constant> sliced(onnx_constant from, std::vector<std::optional<onnx_constant>> const& inputs) {
  if (inputs.size() < 3 || !inputs[1] || !inputs[2]) return std::nullopt;
  auto const starts = inputs[1]->integers(), ends = inputs[2]->integers();
  auto const rank = static_cast<std::int64_t>(from.shape.size());
  auto const given = [&](std::size_t input) {
    return inputs.size() > input && inputs[input] ? inputs[input]->integers() : std::vector<std::int64_t>();
  };
  auto const axes = given(3), steps = given(4);
  if (starts.size() > from.shape.size()) return std::nullopt;
  for (std::size_t i = 0; i < starts.size() && i < ends.size(); ++i) {
    auto axis = i < axes.size() ? axes[i] : static_cast<std::int64_t>(i);
    auto const step = i < steps.size() ? steps[i] : 1;
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank || step == 0 || std::abs(step) > largest_made) return std::nullopt;
    auto const length = from.shape[static_cast<std::size_t>(axis)];
    if (length > largest_made) return std::nullopt;
    auto const place = [&](std::int64_t at) {
      if (at < 0) at = at < -length ? -1 : at + length;
      return std::clamp<std::int64_t>(at, step < 0 ? -1 : 0, step < 0 ? length - 1 : length);
    };
    auto const end = step < 0 && ends[i] < -length ? std::int64_t{-1} : place(ends[i]);
    std::vector<std::int64_t> taken;
    for (auto at = place(starts[i]); step > 0 ? at < end : at > end; at += step) taken.push_back(at);
    std::int64_t inner = 1;
    for (auto k = static_cast<std::size_t>(axis) + 1; k < from.shape.size(); ++k) inner *= from.shape[k];
    std::vector<double> values;
    auto const outer = length * inner == 0 ? 0 : static_cast<std::int64_t>(from.values.size()) / (length * inner);
    for (std::int64_t o = 0; o < outer; ++o)
      for (auto const at : taken) {
        auto const first = from.values.begin() + (o * length + at) * inner;
        values.insert(values.end(), first, first + inner);
      }
    from.values = std::move(values);
    from.shape[static_cast<std::size_t>(axis)] = static_cast<std::int64_t>(taken.size());
  }
  return from;
}

std::optional<onnx_constant> gathered(onnx_constant const& from, onnx_constant const& indices, std::int64_t axis) {
  auto const view = view_of(from.shape, axis);
  if (!view) return std::nullopt;
  if (axis < 0) axis += static_cast<std::int64_t>(from.shape.size());
  onnx_constant result{from.shape, {}, from.is_whole};
  result.shape.erase(result.shape.begin() + axis);
  result.shape.insert(result.shape.begin() + axis, indices.shape.begin(), indices.shape.end());
  if (auto const count = count_of(result.shape); count < 0 || count > largest_made) return std::nullopt;
  auto const wanted = indices.integers();
  for (std::int64_t o = 0; o < view->outer; ++o)
    for (auto index : wanted) {
      if (index < 0) index += view->length;
      if (index < 0 || index >= view->length) return std::nullopt;
      auto const first = from.values.begin() + (o * view->length + index) * view->inner;
      result.values.insert(result.values.end(), first, first + view->inner);
    }
  return result;
}

std::optional<onnx_constant> with_unit_axes(onnx_constant from, std::vector<std::int64_t> axes, bool adds) {
  auto const rank = static_cast<std::int64_t>(from.shape.size() + (adds ? axes.size() : 0));
  if (rank > 16) return std::nullopt;
  for (auto& axis : axes) {
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank) return std::nullopt;
  }
  std::sort(axes.begin(), axes.end());
  if (adds) {
    for (auto const axis : axes) {
      if (axis > static_cast<std::int64_t>(from.shape.size())) return std::nullopt;
      from.shape.insert(from.shape.begin() + axis, 1);
    }
    return from;
  }
  std::vector<std::int64_t> shape;
  for (std::int64_t i = 0; i < rank; ++i) {
    bool const is_named = axes.empty() || std::binary_search(axes.begin(), axes.end(), i);
    if (is_named && from.shape[static_cast<std::size_t>(i)] == 1) continue;
    if (is_named && !axes.empty()) return std::nullopt;
    shape.push_back(from.shape[static_cast<std::size_t>(i)]);
  }
  from.shape = shape;
  return from;
}

std::optional<onnx_constant> joined(inputs_list const& inputs, std::int64_t axis) {
  std::vector<axis_view> views;
  onnx_constant result{{}, {}, true};
  std::int64_t length = 0, count = 0;
  for (auto const& each : inputs) {
    auto const view = each ? view_of(each->shape, axis) : std::nullopt;
    if (!view || (!views.empty() && (view->outer != views[0].outer || view->inner != views[0].inner)))
      return std::nullopt;
    views.push_back(*view);
    length += view->length, count += static_cast<std::int64_t>(each->values.size());
    result.is_whole = result.is_whole && each->is_whole;
  }
  if (count > largest_made) return std::nullopt;
  for (std::int64_t o = 0; o < views[0].outer; ++o)
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      auto const part = views[i].length * views[i].inner;
      auto const first = inputs[i]->values.begin() + o * part;
      result.values.insert(result.values.end(), first, first + part);
    }
  result.shape = inputs[0]->shape;
  result.shape[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(result.shape.size()) : axis)] =
      length;
  return result;
}

std::optional<int> samples_axis_of(onnx_node const& node, inputs_list const& inputs, onnx_constant const& result) {
  auto const& type = node.type;
  auto const rank = static_cast<int>(result.shape.size());
  std::set<int> from_end;  // places of the axis, counted from the end
  auto const note = [&](std::size_t axes, std::size_t axis) { from_end.insert(static_cast<int>(axes - axis)); };
  if (type == "ConstantOfShape" || type == "Expand") {
    auto const& lengths = *inputs[type == "Expand" ? 1 : 0];
    for (std::size_t i = 0; i < lengths.values.size(); ++i)
      if (is_of_samples(lengths.values[i])) note(lengths.values.size(), i);
  }
  if (type == "ConstantOfShape")
    return from_end.size() > 1 ? std::nullopt
           : from_end.empty()  ? std::optional(-1)
                               : std::optional(rank - *from_end.begin());
  bool has_others = false;
  for (auto const& each : inputs)
    if (each && each->samples_axis >= 0)
      note(each->shape.size(), static_cast<std::size_t>(each->samples_axis));
    else
      has_others = true;
  if (from_end.empty() || type == "Shape" || type == "Size") return -1;
  if (from_end.size() > 1) return std::nullopt;
  auto const& first = *inputs[0];
  int const axis = first.samples_axis, old_rank = static_cast<int>(first.shape.size());
  auto const numbers = [&](std::size_t input) {
    return input < inputs.size() && inputs[input] ? inputs[input]->integers() : integers();
  };
  auto const is_among = [&](integers const& axes, int of_rank) {
    return std::any_of(axes.begin(), axes.end(), [&](auto each) { return each == axis || each + of_rank == axis; });
  };
  static std::set<std::string> const moving{"Concat", "Gather",  "MatMul", "Range",     "Reshape",
                                            "Slice",  "Squeeze", "Trilu",  "Transpose", "Unsqueeze"};
  if (!moving.contains(type) && !type.starts_with("Reduce")) {
    int const place = rank - *from_end.begin();
    return place >= 0 && result.shape[static_cast<std::size_t>(place)] == 1 ? std::optional(place) : std::nullopt;
  }
  if (axis < 0) return std::nullopt;
  if (type == "Concat") {
    auto const along = node.integer("axis", 0);
    return has_others || is_among({along}, rank) ? std::nullopt : std::optional(axis);
  }
  if (type == "Transpose") {
    integers reversed;
    for (int i = rank; i-- > 0;) reversed.push_back(i);
    auto const perm = node.integers("perm", reversed);
    return static_cast<int>(std::find(perm.begin(), perm.end(), axis) - perm.begin());
  }
  if (type == "Slice") {
    auto axes = numbers(3);
    for (std::size_t i = 0; axes.empty() && i < numbers(1).size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
    return is_among(axes, rank) ? std::nullopt : std::optional(axis);
  }
  if (type == "Unsqueeze") {
    auto axes = inputs.size() > 1 ? numbers(1) : node.integers("axes", {});
    for (auto& each : axes) each += each < 0 ? rank : 0;
    std::sort(axes.begin(), axes.end());
    int place = axis;
    for (auto const each : axes) place += each <= place ? 1 : 0;
    return place;
  }
  if (type == "Squeeze" || type.starts_with("Reduce")) {
    auto axes = inputs.size() > 1 ? numbers(1) : node.integers("axes", {});
    bool const is_squeeze = type == "Squeeze";
    if (axes.empty() && (is_squeeze || node.integer("noop_with_empty_axes", 0) == 0))
      for (int i = 0; i < old_rank; ++i)
        if (!is_squeeze || first.shape[static_cast<std::size_t>(i)] == 1) axes.push_back(i);
    if (is_among(axes, old_rank))  // equal rows have their own mean, and their largest and smallest numbers
      return is_squeeze || type == "ReduceSum" || type == "ReduceProd" ? std::nullopt : std::optional(-1);
    if (!is_squeeze && node.integer("keepdims", 1) != 0) return axis;
    return axis - static_cast<int>(std::count_if(
                      axes.begin(), axes.end(), [&](auto each) { return (each < 0 ? each + old_rank : each) < axis; }));
  }
  if (type == "Gather") {
    auto along = node.integer("axis", 0);
    if (along < 0) along += old_rank;
    auto const places = static_cast<int>(inputs[1]->shape.size());
    if (along == axis) return places == 0 ? std::optional(-1) : std::nullopt;
    return along < axis ? axis + places - 1 : axis;
  }
  auto const wanted = type == "Reshape" ? numbers(1) : integers();
  bool const is_first = axis == 0 && !wanted.empty() && (wanted[0] == 0 || wanted[0] == -1) && result.shape[0] == 1;
  return is_first ? std::optional(0) : std::nullopt;
}

std::optional<onnx_constant> window_of(onnx_node const& node, onnx_constant const& size) {
  if (size.values.size() != 1 || !(size.values[0] >= 1) || size.values[0] > static_cast<double>(largest_made))
    return std::nullopt;
  auto const count = whole(size.values[0]);
  auto const period = static_cast<double>(count - (node.integer("periodic", 1) != 0 ? 0 : 1));
  if (period < 1) return std::nullopt;
  bool const is_blackman = node.type == "BlackmanWindow";
  double const middle = node.type == "HannWindow" ? 0.5 : is_blackman ? 0.42 : 25.0 / 46;
  double const first = is_blackman ? 0.5 : 1 - middle, second = is_blackman ? 0.08 : 0;
  onnx_constant made{{count}, {}, false};
  for (std::int64_t i = 0; i < count; ++i) {
    double const angle = 2 * std::numbers::pi * static_cast<double>(i) / period;
    made.values.push_back(middle - first * std::cos(angle) + second * std::cos(2 * angle));
  }
  return made;
}

std::optional<onnx_constant> reduced(onnx_node const& node, onnx_constant from,
                                     std::optional<onnx_constant> const& given) {
  auto axes = given ? given->integers() : node.integers("axes", {});
  auto const rank = static_cast<std::int64_t>(from.shape.size());
  if (axes.empty() && node.integer("noop_with_empty_axes", 0) != 0) return from;
  if (axes.empty())
    for (std::int64_t i = 0; i < rank; ++i) axes.push_back(i);
  for (double const value : from.values)
    if (is_of_samples(value)) return std::nullopt;
  for (auto& axis : axes) {
    if (axis < 0) axis += rank;
    auto const view = view_of(from.shape, axis);
    if (!view || view->length < 1) return std::nullopt;
    onnx_constant next{from.shape, {}, from.is_whole};
    next.shape[static_cast<std::size_t>(axis)] = 1;
    for (std::int64_t o = 0; o < view->outer; ++o)
      for (std::int64_t i = 0; i < view->inner; ++i) {
        auto const value = [&](std::int64_t k) {
          return from.values[static_cast<std::size_t>((o * view->length + k) * view->inner + i)];
        };
        double all = value(0);
        for (std::int64_t k = 1; k < view->length; ++k) {
          if (node.type == "ReduceProd")
            all *= value(k);
          else if (node.type == "ReduceMax")
            all = std::max(all, value(k));
          else if (node.type == "ReduceMin")
            all = std::min(all, value(k));
          else
            all += value(k);
        }
        if (node.type == "ReduceMean") all /= static_cast<double>(view->length);
        next.values.push_back(from.is_whole ? std::trunc(all) : all);  // a mean of whole numbers is one
      }
    from = std::move(next);
  }
  if (node.integer("keepdims", 1) == 0) {
    std::sort(axes.begin(), axes.end(), std::greater<>());
    axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
    for (auto const axis : axes) from.shape.erase(from.shape.begin() + axis);
  }
  return from;
}

}  // namespace stagecraft::tool
