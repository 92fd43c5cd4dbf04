// SPDX-License-Identifier: BSD-3-Clause
// Lowers TensorFlow's nodes that slide windows over pictures and volumes. ONNX has channels first: transpositions stand
// before and after these nodes, and disappear when the graph is traced, since layers here have channels last.
#include "tensorflow/lowering.hpp"

#include <numeric>

namespace stagecraft::tool {

namespace {

using lowering = tensorflow_lowering;
using integers = std::vector<std::int64_t>;

/// A picture's or a volume's layout: the number of its spatial axes, and the place of its channels.
struct layout {
  std::size_t spatial = 2;
  bool is_channels_first = false;
};

layout layout_of(lowering const& to, std::size_t spatial) {
  auto const format = to.node().text("data_format", spatial == 2 ? "NHWC" : "NDHWC");
  if (format == "NHWC" || format == "NDHWC") return {spatial, false};
  if (format == "NCHW" || format == "NCDHW") return {spatial, true};
  throw unsupported("has a data_format that is not known");
}

std::string channels_first(lowering& to, std::string const& x, layout const& how) {
  if (how.is_channels_first) return x;
  integers order{0, static_cast<std::int64_t>(how.spatial) + 1};
  for (std::size_t i = 0; i < how.spatial; ++i) order.push_back(static_cast<std::int64_t>(i) + 1);
  return to.emit("Transpose", {x}, {{"perm", integers_attribute(order)}});
}

std::string as_given(lowering& to, std::string const& y, layout const& how) {
  if (how.is_channels_first) return y;
  integers order{0};
  for (std::size_t i = 0; i < how.spatial; ++i) order.push_back(static_cast<std::int64_t>(i) + 2);
  order.push_back(1);
  return to.emit("Transpose", {y}, {{"perm", integers_attribute(order)}});
}

/// The entries of a list that belong to spatial axes; those of samples and channels must be 1.
integers spatial(integers const& all, layout const& how, char const* what) {
  if (all.empty()) return integers(how.spatial, 1);
  if (all.size() != how.spatial + 2) throw unsupported(std::string("has ") + what + " that do not fit its input");
  std::size_t const channels = how.is_channels_first ? 1 : all.size() - 1;
  if (all[0] != 1 || all[channels] != 1) throw unsupported(std::string("has ") + what + " of samples or channels");
  auto const first = all.begin() + (how.is_channels_first ? 2 : 1);
  return {first, first + static_cast<std::ptrdiff_t>(how.spatial)};
}

node_attributes window_of(lowering const& to, layout const& how) {
  auto const& node = to.node();
  node_attributes result{{"strides", integers_attribute(spatial(node.integers("strides"), how, "strides"))}};
  auto const padding = node.text("padding", "");
  if (padding == "SAME") {
    result.emplace_back("auto_pad", text_attribute("SAME_UPPER"));
  } else if (padding == "EXPLICIT") {
    auto const pads = node.integers("explicit_paddings");
    if (pads.size() != 2 * (how.spatial + 2)) throw unsupported("has explicit_paddings that do not fit its input");
    integers before, after;
    for (std::size_t i = 0; i < how.spatial + 2; ++i) {
      bool const is_spatial = i != 0 && i != (how.is_channels_first ? 1 : how.spatial + 1);
      if (!is_spatial && (pads[2 * i] != 0 || pads[2 * i + 1] != 0)) throw unsupported("pads samples or channels");
      if (is_spatial) before.push_back(pads[2 * i]), after.push_back(pads[2 * i + 1]);
    }
    before.insert(before.end(), after.begin(), after.end());
    result.emplace_back("pads", integers_attribute(before));
  } else if (padding != "VALID") {
    throw unsupported("has a padding that is not known");
  }
  return result;
}

std::vector<std::int64_t> kernel_shape(lowering& to, std::string const& kernel, layout const& how) {
  auto const shape = to.constant_shape(kernel);
  if (!shape) throw unsupported("has a kernel that is not known when the graph is read");
  if (shape->size() != how.spatial + 2) throw unsupported("has a kernel that does not fit its input");
  return *shape;
}

/// A kernel (spatial..., in, out) in ONNX's layout: (out, in, spatial...).
std::string kernel_of(lowering& to, std::string const& kernel, layout const& how) {
  auto const last = static_cast<std::int64_t>(how.spatial) + 1;
  integers order{last, last - 1};
  for (std::size_t i = 0; i < how.spatial; ++i) order.push_back(static_cast<std::int64_t>(i));
  return to.emit("Transpose", {kernel}, {{"perm", integers_attribute(order)}});
}

tensorflow_converter convolution(std::size_t axes) {
  return [=](lowering& to) {
    auto const how = layout_of(to, axes);
    auto attributes = window_of(to, how);
    attributes.emplace_back("dilations",
                            integers_attribute(spatial(to.node().integers("dilations"), how, "dilations")));
    auto const shape = kernel_shape(to, to.input(1), how);
    if (auto const rank = to.rank(to.input(0)); rank && *rank != static_cast<int>(axes) + 2)
      throw unsupported("has an input of " + std::to_string(*rank) + " axes");
    auto const x = channels_first(to, to.input(0), how);
    auto const y = to.emit("Conv", {x, kernel_of(to, to.input(1), how)}, std::move(attributes));
    to.set(as_given(to, y, how));
  };
}

/// Each channel has kernels of its own: (height, width, channels, multiplier).
void depthwise_convolution(lowering& to) {
  auto const how = layout_of(to, 2);
  auto attributes = window_of(to, how);
  attributes.emplace_back("dilations", integers_attribute(spatial(to.node().integers("dilations"), how, "dilations")));
  auto const shape = kernel_shape(to, to.input(1), how);
  for (auto const each : shape)
    if (each < 1 || each > (1 << 20)) throw unsupported("has a kernel without elements");
  attributes.emplace_back("group", integer_attribute(shape[2]));
  auto const turned = to.emit("Transpose", {to.input(1)}, {{"perm", integers_attribute({2, 3, 0, 1})}});
  auto const kernel = to.emit("Reshape", {turned, to.whole_list({shape[2] * shape[3], 1, shape[0], shape[1]})});
  auto const y = to.emit("Conv", {channels_first(to, to.input(0), how), kernel}, std::move(attributes));
  to.set(as_given(to, y, how));
}

/// A transposed convolution. Its padding must be that of a kernel that is at least as large as the stride.
void transposed_convolution(lowering& to) {
  auto const how = layout_of(to, 2);
  auto const dilations = spatial(to.node().integers("dilations"), how, "dilations");
  auto const strides = spatial(to.node().integers("strides"), how, "strides");
  auto const shape = kernel_shape(to, to.input(1), how);
  auto const padding = to.node().text("padding", "");
  if (padding != "SAME" && padding != "VALID") throw unsupported("has another padding than SAME and VALID");
  node_attributes attributes{{"strides", integers_attribute(strides)}, {"dilations", integers_attribute(dilations)}};
  if (padding == "SAME") {
    integers pads(4);
    for (std::size_t i = 0; i < 2; ++i) {
      auto const total = shape[i] - strides[i];
      if (total < 0) throw unsupported("has strides larger than its kernel");
      pads[i] = total / 2, pads[i + 2] = total - total / 2;
    }
    attributes.emplace_back("pads", integers_attribute(pads));
  }
  // (height, width, out, in) is (in, out, height, width) in ONNX.
  auto const kernel = to.emit("Transpose", {to.input(1)}, {{"perm", integers_attribute({3, 2, 0, 1})}});
  auto const y = to.emit("ConvTranspose", {channels_first(to, to.input(2), how), kernel}, std::move(attributes));
  auto const made = as_given(to, y, how);
  // If the lengths that the file asks for are not those of the layer, the trace refuses the shape.
  to.set(to.emit("Reshape", {made, to.input(0)}));
}

tensorflow_converter pooling(char const* type, std::size_t axes) {
  return [=](lowering& to) {
    auto const how = layout_of(to, axes);
    auto attributes = window_of(to, how);
    attributes.emplace_back("kernel_shape",
                            integers_attribute(spatial(to.node().integers("ksize"), how, "window sizes")));
    to.set(as_given(to, to.emit(type, {channels_first(to, to.input(0), how)}, std::move(attributes)), how));
  };
}

void batch_normalization(lowering& to) {
  if (to.node().truth("is_training", true)) throw unsupported("is in its training mode, in which it has other numbers");
  auto const format = to.node().text("data_format", "NHWC");
  layout const how = layout_of(to, format.size() == 5 ? 3 : 2);
  auto const y = to.emit("BatchNormalization",
                         {channels_first(to, to.input(0), how), to.input(1), to.input(2), to.input(3), to.input(4)},
                         {{"epsilon", real_attribute(to.node().real("epsilon", 1e-4F))}});
  to.set(as_given(to, y, how));
}

tensorflow_converter resizing(bool is_linear) {
  return [=](lowering& to) {
    auto const sizes = to.required(1).integers();
    if (sizes.size() != 2) throw unsupported("has sizes that are not two numbers");
    bool const aligns = to.node().truth("align_corners"), is_half = to.node().truth("half_pixel_centers");
    node_attributes attributes{{"mode", text_attribute(is_linear ? "linear" : "nearest")},
                               {"coordinate_transformation_mode", text_attribute(aligns    ? "align_corners"
                                                                                 : is_half ? "half_pixel"
                                                                                           : "asymmetric")}};
    // TensorFlow rounds down, but rounds halves up where corners are aligned.
    if (!is_linear) {
      if (is_half) {
        attributes.emplace_back("nearest_mode", text_attribute("round_prefer_ceil"));
      } else {
        attributes.emplace_back("nearest_mode", text_attribute(aligns ? "round_prefer_ceil" : "floor"));
      }
    }
    layout const how{2, false};
    auto const x = channels_first(to, to.input(0), how);
    auto const shape = to.emit("Shape", {x}, {{"end", integer_attribute(2)}});
    auto const wanted = to.emit("Concat", {shape, to.whole_list(sizes)}, {{"axis", integer_attribute(0)}});
    to.set(as_given(to, to.emit("Resize", {x, "", "", wanted}, std::move(attributes)), how));
  };
}

tensorflow_converter blocks(char const* type) {
  return [=](lowering& to) {
    auto const how = layout_of(to, 2);
    node_attributes attributes{{"blocksize", integer_attribute(to.node().integer("block_size", 0))}};
    if (std::string(type) == "DepthToSpace") attributes.emplace_back("mode", text_attribute("DCR"));
    to.set(as_given(to, to.emit(type, {channels_first(to, to.input(0), how)}, std::move(attributes)), how));
  };
}

}  // namespace

void add_window_lowerings(std::map<std::string, tensorflow_converter>& to) {
  to["Conv2D"] = convolution(2), to["Conv3D"] = convolution(3);
  to["DepthwiseConv2dNative"] = depthwise_convolution, to["Conv2DBackpropInput"] = transposed_convolution;
  to["MaxPool"] = pooling("MaxPool", 2), to["MaxPool3D"] = pooling("MaxPool", 3);
  to["AvgPool"] = pooling("AveragePool", 2), to["AvgPool3D"] = pooling("AveragePool", 3);
  to["FusedBatchNorm"] = to["FusedBatchNormV2"] = to["FusedBatchNormV3"] = batch_normalization;
  to["ResizeBilinear"] = resizing(true), to["ResizeNearestNeighbor"] = resizing(false);
  to["SpaceToDepth"] = blocks("SpaceToDepth"), to["DepthToSpace"] = blocks("DepthToSpace");
}

}  // namespace stagecraft::tool
