// SPDX-License-Identifier: BSD-3-Clause
// Converts ONNX's nodes that slide over pictures and sequences: convolutions, pooling, resizing.
#include "onnx_trace.hpp"

#include <algorithm>
#include <cmath>

namespace stagecraft::tool {

namespace {

using trace = onnx_trace;
using integers = std::vector<std::int64_t>;

/// A node's window, for each axis of a picture.
struct window {
  std::vector<int> sizes, strides, dilations, before, after;
  std::string padding = "valid";  ///< Keras's padding, after the zeros that zeros() returns
};

constexpr std::int64_t largest_size = 1 << 20;

std::vector<int> small(integers const& from, std::size_t count, char const* what, std::int64_t least) {
  if (from.size() != count) throw unsupported(std::string("has ") + what + " that do not fit its input");
  std::vector<int> result;
  for (auto const each : from) {
    if (each < least || each > largest_size)
      throw unsupported(std::string("has ") + what + " that are too small or too large");
    result.push_back(static_cast<int>(each));
  }
  return result;
}

window window_of(onnx_node const& node, traced_tensor const& x, integers const& sizes) {
  std::size_t const rank = x.lengths.size() - 1;
  integers const ones(rank, 1), zeros(2 * rank, 0);
  auto const automatic = node.text("auto_pad", "NOTSET");
  if (automatic != "NOTSET" && automatic != "SAME_UPPER" && automatic != "SAME_LOWER" && automatic != "VALID")
    throw unsupported("has an auto_pad that is not known");
  if (node.integers("kernel_shape", sizes) != sizes) throw unsupported("has a kernel_shape that is not its kernel's");
  window w{small(sizes, rank, "sizes", 1),
           small(node.integers("strides", ones), rank, "strides", 1),
           small(node.integers("dilations", ones), rank, "dilations", 1),
           {},
           {}};
  auto const pads = small(node.integers("pads", zeros), 2 * rank, "pads", 0);
  w.before.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(rank));
  w.after.assign(pads.begin() + static_cast<std::ptrdiff_t>(rank), pads.end());
  for (std::size_t i = 0; i < rank; ++i)
    if (std::int64_t{w.sizes[i]} * w.dilations[i] > largest_size) throw unsupported("has a window that is too large");
  return w;
}

int reach_of(window const& w, std::size_t i) { return (w.sizes[i] - 1) * w.dilations[i] + 1; }

/// Finds out if Keras's "same" pads as the node does; automatic padding becomes numbers.
void resolve_padding(onnx_node const& node, traced_tensor const& x, window& w) {
  auto const automatic = node.text("auto_pad", "NOTSET");
  bool is_same = true, is_any = false;
  for (std::size_t i = 0; i < w.sizes.size(); ++i) {
    int const length = x.lengths[i];
    int const steps = (length + w.strides[i] - 1) / w.strides[i];
    int const total = std::max((steps - 1) * w.strides[i] + reach_of(w, i) - length, 0);
    if (automatic == "SAME_UPPER") w.before[i] = total / 2, w.after[i] = total - total / 2;
    if (automatic == "SAME_LOWER") w.before[i] = total - total / 2, w.after[i] = total / 2;
    if (automatic == "VALID") w.before[i] = w.after[i] = 0;
    is_same = is_same && w.before[i] == total / 2 && w.after[i] == total - total / 2;
    is_any = is_any || w.before[i] > 0 || w.after[i] > 0;
  }
  if (is_any && is_same) w.padding = "same";
}

bool needs_zeros(window const& w) {
  bool is_any = false;
  for (std::size_t i = 0; i < w.sizes.size(); ++i) is_any = is_any || w.before[i] > 0 || w.after[i] > 0;
  return is_any && w.padding != "same";
}

/// Adds zeros around a picture, or cuts numbers off.
traced_tensor with_border(trace& to, traced_tensor const& x, std::vector<int> const& before,
                          std::vector<int> const& after, std::string const& layer) {
  json amounts = json::array();
  for (std::size_t i = 0; i < before.size(); ++i) amounts.push_back(json::array({before[i], after[i]}));
  auto y = to.call(layer + std::to_string(before.size()) + "D",
                   {{layer == "Cropping" ? "cropping" : "padding", before.size() == 1 ? amounts[0] : amounts}}, {x});
  y.rank = x.rank, y.order = x.order, y.is_nonnegative = x.is_nonnegative;
  return y;
}

traced_tensor picture(trace& to, onnx_node const& node) {
  auto const& x = to.tensor(node, 0);
  if (x.rank < 3 || x.rank > 5) throw unsupported("has an input of " + std::to_string(x.rank) + " axes");
  return to.channels_last(x);
}

/// A kernel (a, b, spatial...) in Keras's layout: (spatial..., b, a).
onnx_constant kernel_of(onnx_constant const& given) {
  std::vector<int> order;
  for (int i = 2; i < static_cast<int>(given.shape.size()); ++i) order.push_back(i);
  order.push_back(1), order.push_back(0);
  return transposed(given, order);
}

integers spatial_shape(onnx_constant const& kernel) { return {kernel.shape.begin() + 2, kernel.shape.end()}; }

void set_window_layer(trace& to, onnx_node const& node, std::string const& class_name, json config,
                      traced_tensor const& x, onnx_constant const& kernel) {
  std::vector<onnx_constant> weights{kernel};
  if (auto const bias = to.constant(node, 2))
    weights.push_back(*bias);
  else
    config["use_bias"] = false;
  auto y = to.call(class_name, config, {x}, weights, to.name_of(node, node.inputs[1]));
  y.rank = x.rank, y.order = x.order;
  to.set(node, y);
}

void convolution(trace& to, onnx_node const& node) {
  auto x = picture(to, node);
  auto const kernel = to.required(node, 1);
  if (kernel.shape.size() != static_cast<std::size_t>(x.rank))
    throw unsupported("has a kernel that does not fit its input");
  auto w = window_of(node, x, spatial_shape(kernel));
  resolve_padding(node, x, w);
  if (needs_zeros(w)) x = with_border(to, x, w.before, w.after, "ZeroPadding");
  auto const groups = node.integer("group", 1);
  std::size_t const rank = w.sizes.size();
  json config{{"kernel_size", w.sizes}, {"strides", w.strides}, {"padding", w.padding}, {"dilation_rate", w.dilations}};
  bool const is_each_channel = rank == 2 && groups > 1 && groups == x.lengths.back() && kernel.shape[1] == 1;
  if (!is_each_channel) {
    if (groups != 1) config["groups"] = groups;
    config["filters"] = kernel.shape[0];
    if (auto const least = to.least_byte()) config["input_bytes"] = *least;
    return set_window_layer(to, node, "Conv" + std::to_string(rank) + "D", config, x, kernel_of(kernel));
  }
  config["depth_multiplier"] = kernel.shape[0] / groups;
  // (channels * multiplier, 1, h, w) is (h, w, channels, multiplier) in Keras.
  auto split = kernel;
  split.shape = {groups, kernel.shape[0] / groups, kernel.shape[2], kernel.shape[3]};
  set_window_layer(to, node, "DepthwiseConv2D", config, x, transposed(split, {2, 3, 0, 1}));
}

void transposed_convolution(trace& to, onnx_node const& node) {
  auto const x = picture(to, node);
  auto const kernel = to.required(node, 1);
  if (kernel.shape.size() != static_cast<std::size_t>(x.rank))
    throw unsupported("has a kernel that does not fit its input");
  auto w = window_of(node, x, spatial_shape(kernel));
  if (node.integer("group", 1) != 1) throw unsupported("has groups");
  if (node.text("auto_pad", "NOTSET") != "NOTSET" || node.find("output_shape") != nullptr)
    throw unsupported("pads as its output needs it; numbers in 'pads' are here");
  std::size_t const rank = w.sizes.size();
  bool is_same = true, is_any = false;
  auto const more = small(node.integers("output_padding", integers(rank, 0)), rank, "output_padding", 0);
  for (std::size_t i = 0; i < rank; ++i) {
    int const total = w.sizes[i] - w.strides[i];
    if (w.dilations[i] != 1 || total < 0) throw unsupported("has strides larger than its kernel, or dilations");
    if (std::int64_t{x.lengths[i]} * w.strides[i] + w.sizes[i] > (1 << 30))
      throw unsupported("gives more than 2^30 elements");
    // The numbers that output_padding asks for exist already: fewer are cut off at the end.
    w.after[i] -= more[i];
    if (w.after[i] < 0) throw unsupported("has an output_padding larger than its pads");
    is_same = is_same && w.before[i] == total / 2 && w.after[i] == total - total / 2;
    is_any = is_any || w.before[i] > 0 || w.after[i] > 0;
  }
  json config{{"filters", kernel.shape[1]},
              {"kernel_size", w.sizes},
              {"strides", w.strides},
              {"padding", is_any && is_same ? "same" : "valid"}};
  std::vector<onnx_constant> weights{kernel_of(kernel)};
  if (auto const bias = to.constant(node, 2))
    weights.push_back(*bias);
  else
    config["use_bias"] = false;
  auto y =
      to.call("Conv" + std::to_string(rank) + "DTranspose", config, {x}, weights, to.name_of(node, node.inputs[1]));
  y.rank = x.rank, y.order = x.order;
  if (is_any && !is_same) y = with_border(to, y, w.before, w.after, "Cropping");
  to.set(node, y);
}

/// True if a window extends beyond the end, as ceil_mode allows.
bool hangs_over(traced_tensor const& x, window const& w) {
  bool result = false;
  for (std::size_t i = 0; i < w.sizes.size(); ++i)
    result = result || (x.lengths[i] + w.before[i] + w.after[i] - w.sizes[i]) % w.strides[i] != 0;
  return result;
}

onnx_converter pooling(std::string const& kind) {
  return [=](trace& to, onnx_node const& node) {
    auto x = picture(to, node);
    auto w = window_of(node, x, node.integers("kernel_shape", {}));
    for (int const dilation : w.dilations)
      if (dilation != 1) throw unsupported("has dilations");
    if (node.integer("storage_order", 0) != 0 || (node.outputs.size() > 1 && !node.outputs[1].empty()))
      throw unsupported("gives the places of the largest values");
    if (node.integer("ceil_mode", 0) != 0 && hangs_over(x, w))
      throw unsupported("has windows that hang over the end (ceil_mode)");
    resolve_padding(node, x, w);
    bool const counts_zeros = node.integer("count_include_pad", 0) != 0;
    bool const is_padded = std::any_of(w.before.begin(), w.before.end(), [](int n) { return n > 0; }) ||
                           std::any_of(w.after.begin(), w.after.end(), [](int n) { return n > 0; });
    if (is_padded && kind == "Average" && counts_zeros) w.padding = "valid";
    if (is_padded && w.padding == "valid") {
      if (kind == "Average" && !counts_zeros)
        throw unsupported("pads unevenly, and leaves the padding out of its means");
      if (kind == "Max" && !x.is_nonnegative) throw unsupported("pads unevenly what may be negative");
      x = with_border(to, x, w.before, w.after, "ZeroPadding");
    }
    json const config{{"pool_size", w.sizes}, {"strides", w.strides}, {"padding", w.padding}};
    auto y = to.call(kind + "Pooling" + std::to_string(w.sizes.size()) + "D", config, {x});
    y.rank = x.rank, y.order = x.order, y.is_nonnegative = x.is_nonnegative;
    to.set(node, y);
  };
}

onnx_converter global_pooling(std::string const& kind) {
  return [=](trace& to, onnx_node const& node) {
    auto const x = picture(to, node);
    auto y = to.call("Global" + kind + "Pooling" + std::to_string(x.lengths.size() - 1) + "D", json::object(), {x});
    y.rank = x.rank, y.order = {0, 1}, y.is_nonnegative = x.is_nonnegative;
    to.set(node, y);
  };
}

void resize(trace& to, onnx_node const& node) {
  auto const x = picture(to, node);
  std::size_t const rank = x.lengths.size() - 1;
  std::vector<int> factors;
  std::vector<double> scales(rank, 0);
  auto const given = to.constant(node, 2), sizes = to.lengths(node, 3);
  bool const is_by_scale = given && given->values.size() == rank + 2;
  if (!is_by_scale && (!sizes || sizes->values.size() != rank + 2))
    throw unsupported("does not say how large its output is");
  for (std::size_t i = 0; i < rank; ++i) {
    double const scale = is_by_scale ? given->values[i + 2] : sizes->values[i + 2] / x.lengths[i];
    if (scale < 1 || scale > 1024 || scale != std::floor(scale))
      throw unsupported("has factors that are no whole numbers");
    if (scale * x.lengths[i] > (1 << 30)) throw unsupported("gives more than 2^30 elements");
    factors.push_back(static_cast<int>(scale));
  }
  if (!is_by_scale && sizes->values[1] != x.lengths.back()) throw unsupported("resizes channels");
  if (is_by_scale && (given->values[0] != 1 || given->values[1] != 1)) throw unsupported("resizes channels");
  auto const mode = node.text("mode", "nearest");
  auto const places = node.text("coordinate_transformation_mode", "half_pixel");
  bool const is_half_pixel = places == "half_pixel" || places == "pytorch_half_pixel";
  bool const is_nearest =
      mode == "nearest" && ((places == "asymmetric" && node.text("nearest_mode", "round_prefer_floor") == "floor") ||
                            (is_half_pixel && node.text("nearest_mode", "round_prefer_floor").starts_with("round")));
  bool const is_linear = mode == "linear" && rank == 2 && is_half_pixel;
  if (!is_nearest && !is_linear) throw unsupported("resizes by " + mode + ", " + places + ", which is not here");
  json config{{"size", factors}};
  if (rank == 1) config["size"] = factors[0];
  if (is_linear) config["interpolation"] = "bilinear";
  auto y = to.call("UpSampling" + std::to_string(rank) + "D", config, {x});
  y.rank = x.rank, y.order = x.order, y.is_nonnegative = x.is_nonnegative;
  to.set(node, y);
}

}  // namespace

void add_window_converters(std::map<std::string, onnx_converter>& to) {
  to["Conv"] = convolution, to["ConvTranspose"] = transposed_convolution, to["Resize"] = resize;
  to["MaxPool"] = pooling("Max"), to["AveragePool"] = pooling("Average");
  to["GlobalMaxPool"] = global_pooling("Max"), to["GlobalAveragePool"] = global_pooling("Average");
}

}  // namespace stagecraft::tool
