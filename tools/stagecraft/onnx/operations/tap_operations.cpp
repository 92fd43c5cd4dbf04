// SPDX-License-Identifier: BSD-3-Clause
// Windows whose elements are taken one after the other, each by a slice with steps: convolutions in a graph without
// samples, and the places of largest elements.
#include "made_nodes.hpp"

#include <algorithm>
#include <limits>

namespace stagecraft::tool {

namespace {

using trace = onnx_trace;
using integers = std::vector<std::int64_t>;

constexpr std::int64_t most_taps = 64;

std::vector<double> reals(integers const& from) { return {from.begin(), from.end()}; }

/// The windows of a node over the axes after samples and channels.
struct taps {
  integers sizes{}, strides{}, dilations{}, pads{}, lengths{}, results{};

  taps(trace& to, onnx_node const& node, integers kernel) : sizes(std::move(kernel)) {
    auto const count = sizes.size();
    strides = node.integers("strides", integers(count, 1)), dilations = node.integers("dilations", integers(count, 1));
    pads = node.integers("pads", integers(2 * count, 0));
    auto const padding = node.text("auto_pad", "NOTSET");
    if ((padding != "NOTSET" && padding != "VALID") || node.integer("ceil_mode", 0) != 0)
      throw unsupported("pads as its input needs it, which is not here");
    if (to.tensor(node, 0).rank != static_cast<int>(count) + 2 || strides.size() != count ||
        dilations.size() != count || pads.size() != 2 * count)
      throw unsupported("has windows that do not fit its input");
    for (std::size_t i = 0; i < count; ++i) {
      constexpr std::int64_t most = 1 << 16;
      for (auto const each : {sizes[i], strides[i], dilations[i], pads[i] + 1, pads[i + count] + 1})
        if (each < 1 || each > most) throw unsupported("has windows that do not fit its input");
      lengths.push_back(to.length_of(node, 0, static_cast<std::int64_t>(i) + 2));
      auto const room = lengths[i] + pads[i] + pads[i + count] - (dilations[i] * (sizes[i] - 1) + 1);
      if (room < 0) throw unsupported("has windows that do not fit its input");
      results.push_back(room / strides[i] + 1);
    }
    if (number() > most_taps) throw unsupported("has windows of more than 64 elements");
  }

  [[nodiscard]] std::int64_t number() const {
    std::int64_t all = 1;
    for (auto const each : sizes) all = std::min<std::int64_t>(all * each, most_taps + 1);
    return all;
  }
  /// The tensor with a border of one number.
  [[nodiscard]] std::string padded(node_maker const& make, std::string const& x, double number) const {
    if (std::all_of(pads.begin(), pads.end(), [](auto each) { return each == 0; })) return x;
    std::vector<double> all(2, 0);
    auto const middle = pads.begin() + static_cast<std::ptrdiff_t>(sizes.size());
    all.insert(all.end(), pads.begin(), middle), all.insert(all.end(), 2, 0.0);
    all.insert(all.end(), middle, pads.end());
    return make("Pad", {x, make.whole(all), make.real(number)});
  }
  /// The indices of an element of the window along its axes.
  [[nodiscard]] integers index_of(std::int64_t tap) const {
    integers index(sizes.size());
    for (std::size_t i = sizes.size(); i-- > 0; tap /= sizes[i]) index[i] = tap % sizes[i];
    return index;
  }
  [[nodiscard]] std::string part(node_maker const& make, std::string const& x, integers const& begins,
                                 integers const& ends, integers const& steps) const {
    std::vector<double> axes;
    for (std::size_t i = 0; i < sizes.size(); ++i) axes.push_back(static_cast<double>(i) + 2);
    return make("Slice",
                {x, make.whole(reals(begins)), make.whole(reals(ends)), make.whole(axes), make.whole(reals(steps))});
  }
  /// One element of every window.
  [[nodiscard]] std::string elements(node_maker const& make, std::string const& x, integers const& index) const {
    integers begins, ends;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      begins.push_back(index[i] * dilations[i]);
      ends.push_back(begins[i] + (results[i] - 1) * strides[i] + 1);
    }
    return part(make, x, begins, ends, strides);
  }
};

/// A convolution as the sum of one product for each element of its kernel, which may be a tensor.
void convolution(trace& to, onnx_node const& node) {
  if (!to.is_one_sample()) throw unsupported("takes a kernel that is no constant");
  if (!has_input(node, 0) || !has_input(node, 1)) throw unsupported("lacks inputs");
  auto const rank = static_cast<std::size_t>(to.tensor(node, 0).rank);
  integers kernel;
  if (to.is_tensor(node, 1))
    for (int axis = 0; axis < to.tensor(node, 1).rank; ++axis) kernel.push_back(to.length_of(node, 1, axis));
  else
    kernel = to.required(node, 1).shape;
  if (rank < 3 || kernel.size() != rank) throw unsupported("has a kernel that does not fit its input");
  taps const of(to, node, {kernel.begin() + 2, kernel.end()});
  auto const samples = to.length_of(node, 0, 0), channels = to.length_of(node, 0, 1), groups = node.integer("group", 1);
  bool const is_each = groups == channels && kernel[0] == channels && kernel[1] == 1;
  if (!is_each && (groups != 1 || kernel[1] != channels))
    throw unsupported("has groups, or a kernel that does not fit its input");
  node_maker const make(to, node);
  auto const x = of.padded(make, node.inputs[0], 0);
  std::vector<double> of_channels(rank, 1);
  of_channels[1] = static_cast<double>(kernel[0]);
  auto const one = integers(of.sizes.size(), 1);
  std::string y;
  for (std::int64_t tap = 0; tap < of.number(); ++tap) {
    auto const index = of.index_of(tap);
    auto ends = index;
    for (auto& each : ends) ++each;
    auto const factors = of.part(make, node.inputs[1], index, ends, one);
    auto product = of.elements(make, x, index);
    if (is_each) {
      product = make("Mul", {product, make("Reshape", {factors, make.whole(of_channels)})});
    } else {
      auto const rows = make.whole({static_cast<double>(kernel[0]), static_cast<double>(channels)});
      auto const flat = make.whole({static_cast<double>(samples), static_cast<double>(channels), -1});
      product = make("MatMul", {make("Reshape", {factors, rows}), make("Reshape", {product, flat})});
    }
    y = y.empty() ? product : make("Add", {y, product});
  }
  if (!is_each) {
    std::vector<double> shape{static_cast<double>(samples), static_cast<double>(kernel[0])};
    for (auto const each : of.results) shape.push_back(static_cast<double>(each));
    y = make("Reshape", {y, make.whole(shape)});
  }
  if (has_input(node, 2)) y = make("Add", {y, make("Reshape", {node.inputs[2], make.whole(of_channels)})});
  to.set_alias(node, y, 0);
}

/// The largest elements of windows, and their places among all elements of the input.
void largest_with_places(trace& to, onnx_node const& node) {
  if (!to.is_one_sample()) throw unsupported("counts places over samples, whose number is not known");
  taps const of(to, node, node.integers("kernel_shape", {}));
  node_maker const make(to, node);
  onnx_constant all{{to.length_of(node, 0, 0), to.length_of(node, 0, 1)}, {}, true};
  std::int64_t picture = 1;
  for (auto const each : of.lengths) picture *= each, all.shape.push_back(each);
  auto const count = all.shape[0] * all.shape[1] * picture;
  if (count > (1 << 20)) throw unsupported("counts places that float32 does not have");
  bool const is_by_columns = node.integer("storage_order", 0) != 0;
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t place = 0, rest = i % picture, stride = picture;
    for (std::size_t k = of.lengths.size(); k-- > 0; rest /= of.lengths[k])
      place += rest % of.lengths[k] * (stride /= of.lengths[k]);
    all.values.push_back(static_cast<double>(is_by_columns ? i - i % picture + place : i));
  }
  auto const x = of.padded(make, node.inputs.at(0), -std::numeric_limits<double>::infinity());
  auto const places = of.padded(make, to.add_constant(std::move(all)), 0);
  std::string best, place;
  for (std::int64_t tap = 0; tap < of.number(); ++tap) {
    auto const index = of.index_of(tap);
    auto const value = of.elements(make, x, index), here = of.elements(make, places, index);
    auto const is_more = best.empty() ? "" : make("Greater", {value, best});
    place = best.empty() ? here : make("Where", {is_more, here, place});
    best = best.empty() ? value : make("Where", {is_more, value, best});
  }
  to.set_alias(node, best, 0);
  to.set_alias(node, place, 1);
}

}  // namespace

void add_tap_operations(std::map<std::string, onnx_converter>& to) {
  to["Conv"] = either(to.at("Conv"), convolution);
  auto const layers = to.at("MaxPool");
  to["MaxPool"] = [=](trace& t, onnx_node const& node) {
    bool const has_places = node.outputs.size() > 1 && !node.outputs[1].empty() && t.is_taken(node.outputs[1]);
    has_places ? largest_with_places(t, node) : layers(t, node);
  };
}

}  // namespace stagecraft::tool
