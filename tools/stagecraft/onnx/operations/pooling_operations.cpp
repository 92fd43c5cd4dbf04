// SPDX-License-Identifier: BSD-3-Clause
// Pooling that no layer has, written out: along each axis of a picture, the largest or the sum of the elements that a
// window reaches.
#include "made_nodes.hpp"

#include <algorithm>
#include <cmath>

namespace stagecraft::tool {

namespace {

using trace = onnx_trace;

/// One axis of a window that slides: its `count` positions are `stride` apart, and its `size` elements `dilation`.
struct sliding_axis {
  std::int64_t axis = 0, length = 0, size = 1, stride = 1, dilation = 1, before = 0, after = 0, count = 0;

  [[nodiscard]] std::int64_t reach() const { return (size - 1) * dilation + 1; }
  /// The place of an element of a window, which lies outside of the input if it is padding.
  [[nodiscard]] std::int64_t place(std::int64_t window, std::int64_t element) const {
    return window * stride - before + element * dilation;
  }
};

constexpr std::int64_t most_elements = 64, most_padding = 1 << 16;

std::int64_t bounded(std::vector<std::int64_t> const& from, std::size_t i, std::int64_t least, std::int64_t most) {
  if (i >= from.size() || from[i] < least || from[i] > most) throw unsupported("has a window that is not here");
  return from[i];
}

std::vector<sliding_axis> axes_of(trace& to, onnx_node const& node) {
  int const rank = to.tensor(node, 0).rank;
  if (rank < 3) throw unsupported("has an input of " + std::to_string(rank) + " axes");
  auto const spatial = static_cast<std::size_t>(rank - 2);
  std::vector<std::int64_t> const ones(spatial, 1), zeros(2 * spatial, 0);
  auto const sizes = node.integers("kernel_shape", {}), strides = node.integers("strides", ones),
             dilations = node.integers("dilations", ones), pads = node.integers("pads", zeros);
  auto const automatic = node.text("auto_pad", "NOTSET");
  bool const is_lower = automatic == "SAME_LOWER", is_same = is_lower || automatic == "SAME_UPPER";
  if (!is_same && automatic != "NOTSET" && automatic != "VALID") throw unsupported("has an auto_pad that is not known");
  std::vector<sliding_axis> all;
  for (std::size_t i = 0; i < spatial; ++i) {
    sliding_axis one{static_cast<std::int64_t>(i) + 2, to.length_of(node, 0, static_cast<std::int64_t>(i) + 2)};
    one.size = bounded(sizes, i, 1, most_elements), one.stride = bounded(strides, i, 1, most_padding);
    one.dilation = bounded(dilations, i, 1, most_padding);
    if (automatic == "NOTSET")
      one.before = bounded(pads, i, 0, most_padding), one.after = bounded(pads, i + spatial, 0, most_padding);
    if (is_same) {
      one.count = (one.length + one.stride - 1) / one.stride;
      auto const total = std::max<std::int64_t>((one.count - 1) * one.stride + one.reach() - one.length, 0);
      one.before = is_lower ? total - total / 2 : total / 2, one.after = total - one.before;
    } else {
      auto const room = one.length + one.before + one.after - one.reach();
      if (room < 0) throw unsupported("has a window that is larger than its input");
      bool const hangs_over = node.integer("ceil_mode", 0) != 0 && automatic == "NOTSET";
      one.count = (hangs_over ? room + one.stride - 1 : room) / one.stride + 1;
      // A window that begins in the padding at the end is none.
      if (hangs_over && (one.count - 1) * one.stride >= one.length + one.before) --one.count;
    }
    all.push_back(one);
  }
  return all;
}

/// The largest element of each window along one axis. Padding is left out: another element of the window counts twice.
std::string largest_along(node_maker const& make, std::string const& x, sliding_axis const& of) {
  std::vector<std::string> parts;
  for (std::int64_t k = 0; k < of.size; ++k) {
    std::vector<double> places;
    for (std::int64_t window = 0; window < of.count; ++window) {
      auto element = k;
      while (element + 1 < of.size && of.place(window, element) < 0) ++element;
      while (element > 0 && of.place(window, element) >= of.length) --element;
      auto const place = of.place(window, element);
      if (place < 0 || place >= of.length) throw unsupported("has windows without elements");
      places.push_back(static_cast<double>(place));
    }
    parts.push_back(make.picked(x, std::move(places), of.axis));
  }
  return parts.size() == 1 ? parts[0] : make("Max", parts);
}

/// The sum of each window along one axis.
std::string sum_along(node_maker const& make, std::string const& x, sliding_axis const& of) {
  auto const after = (of.count - 1) * of.stride + of.reach() - of.length - of.before;
  auto const padded = of.before == 0 && after == 0
                          ? x
                          : make("Pad", {x, make.whole({static_cast<double>(of.before), static_cast<double>(after)}),
                                         "", make.whole({static_cast<double>(of.axis)})});
  std::vector<std::string> parts;
  for (std::int64_t k = 0; k < of.size; ++k) {
    std::vector<double> places;
    for (std::int64_t window = 0; window < of.count; ++window)
      places.push_back(static_cast<double>(of.place(window, k) + of.before));
    parts.push_back(make.picked(padded, std::move(places), of.axis));
  }
  return parts.size() == 1 ? parts[0] : make("Sum", parts);
}

/// The number of elements that each mean is of, as a constant beside the sums.
onnx_constant counts_of(std::vector<sliding_axis> const& axes, bool counts_padding) {
  onnx_constant counts{{1, 1}, {1}, false};
  for (auto const& of : axes) {
    std::vector<double> own, all;
    for (std::int64_t window = 0; window < of.count; ++window) {
      double count = 0;
      for (std::int64_t k = 0; k < of.size; ++k) {
        auto const place = of.place(window, k);
        auto const margin = counts_padding ? of.before : 0, end = of.length + (counts_padding ? of.after : 0);
        count += place >= -margin && place < end ? 1 : 0;
      }
      if (count == 0) throw unsupported("has windows without elements");
      own.push_back(count);
    }
    for (double const outer : counts.values)
      for (double const inner : own) all.push_back(outer * inner);
    counts.shape.push_back(of.count), counts.values = std::move(all);
  }
  auto const& values = counts.values;
  if (std::all_of(values.begin(), values.end(), [&](double each) { return each == values[0]; }))
    counts = {{}, {values[0]}, false};
  return counts;
}

void largest(trace& to, onnx_node const& node) {
  if (node.integer("storage_order", 0) != 0 || (node.outputs.size() > 1 && to.is_taken(node.outputs[1])))
    throw unsupported("gives the places of the largest values");
  auto x = node.inputs[0];
  for (auto const& each : axes_of(to, node)) x = largest_along(node_maker(to, node), x, each);
  to.set_alias(node, x, 0);
}

void mean(trace& to, onnx_node const& node) {
  node_maker const make(to, node);
  auto const axes = axes_of(to, node);
  auto x = node.inputs[0];
  for (auto const& each : axes) x = sum_along(make, x, each);
  auto counts = to.add_constant(counts_of(axes, node.integer("count_include_pad", 0) != 0));
  to.set_alias(node, make("Div", {x, counts}), 0);
}

/// The p-norm of each window.
void norm(trace& to, onnx_node const& node) {
  node_maker const make(to, node);
  auto const p = node.integer("p", 2);
  if (p < 1 || p > 64) throw unsupported("is of a norm that is not here");
  auto const axes = axes_of(to, node);
  auto x = make("Abs", {node.inputs[0]});
  if (p > 1) x = make("Pow", {x, make.real(static_cast<double>(p))});
  for (auto const& each : axes) x = sum_along(make, x, each);
  to.set_alias(node, p > 1 ? make("Pow", {x, make.real(1.0 / static_cast<double>(p))}) : x, 0);
}

/// Cuts off or adds zeros on both sides, so that axes have given lengths; what is odd is at the end.
void centre(trace& to, onnx_node const& node) {
  node_maker const make(to, node);
  auto const lengths = to.required(node, 1).integers();
  int const rank = to.tensor(node, 0).rank;
  auto axes = node.integers("axes", {});
  for (int i = 0; node.find("axes") == nullptr && i < rank; ++i) axes.push_back(i);
  if (axes.size() != lengths.size()) throw unsupported("has a shape that does not fit its axes");
  auto x = node.inputs[0];
  for (std::size_t i = 0; i < axes.size(); ++i) {
    auto const axis = static_cast<double>(axis_of(axes[i], rank));
    auto const length = to.length_of(node, 0, axes[i]), wanted = lengths[i];
    if (wanted < 1 || wanted > (1 << 24)) throw unsupported("has a shape that does not fit its axes");
    auto const begin = static_cast<double>((std::max(length, wanted) - std::min(length, wanted)) / 2);
    if (wanted < length)
      x = make("Slice",
               {x, make.whole({begin}), make.whole({begin + static_cast<double>(wanted)}), make.whole({axis})});
    if (wanted > length)
      x = make("Pad", {x, make.whole({begin, static_cast<double>(wanted - length) - begin}), "", make.whole({axis})});
  }
  to.set_alias(node, x, 0);
}

}  // namespace

void add_pooling_operations(std::map<std::string, onnx_converter>& to) {
  to["MaxPool"] = either(to.at("MaxPool"), largest), to["AveragePool"] = either(to.at("AveragePool"), mean);
  to["LpPool"] = norm, to["CenterCropPad"] = centre;
}

}  // namespace stagecraft::tool
