// SPDX-License-Identifier: BSD-3-Clause
// Exports layers that slide over pictures and sequences.
#include "onnx_export.hpp"

#include <algorithm>
#include <numeric>

namespace stagecraft::tool {

namespace {

using call = exported_call;
using integers = std::vector<std::int64_t>;

/// Numbers for each axis of a picture; one may stand for all.
integers sizes_in(call const& c, char const* name, std::size_t rank, std::int64_t by_default) {
  auto const found = c.config().find(name);
  if (found == c.config().end() || found->is_null()) return integers(rank, by_default);
  if (found->is_number_integer()) return integers(rank, found->get<std::int64_t>());
  auto result = found->get<integers>();
  if (result.size() == 1) result.assign(rank, result[0]);
  if (result.size() != rank) throw unsupported(std::string("has '") + name + "' that does not fit its input");
  return result;
}

/// The numbers of zeros that "same" adds before and after.
integers pads_of(call const& c, integers const& sizes, integers const& strides, integers const& dilations) {
  auto const rank = sizes.size();
  integers pads(2 * rank, 0);
  auto const padding = c.option<std::string>("padding", "valid");
  if (padding == "valid") return pads;
  for (std::size_t i = 0; i < rank; ++i) {
    std::int64_t const length = c.inputs.at(0).lengths[i], steps = (length + strides[i] - 1) / strides[i];
    auto const reach = (sizes[i] - 1) * dilations[i] + 1;
    auto const total = std::max<std::int64_t>((steps - 1) * strides[i] + reach - length, 0);
    pads[i] = padding == "causal" ? reach - 1 : total / 2;
    pads[i + rank] = padding == "causal" ? 0 : total - total / 2;
  }
  return pads;
}

void check_layout(call const& c) {
  if (c.option<std::string>("data_format", "channels_last") != "channels_last") throw unsupported("has channels first");
  if (c.option<bool>("stateful", false)) throw unsupported("keeps its state");
}

/// A kernel (spatial..., a, b) in ONNX's layout: (b, a, spatial...).
onnx_constant kernel_of(onnx_constant const& given) {
  int const rank = static_cast<int>(given.shape.size()) - 2;
  std::vector<int> order{rank + 1, rank};
  for (int i = 0; i < rank; ++i) order.push_back(i);
  return transposed(given, order);
}

/// A depthwise kernel (h, w, channels, multiplier) in ONNX's layout: (channels * multiplier, 1, h, w).
onnx_constant depthwise_kernel_of(onnx_constant const& given) {
  int const rank = static_cast<int>(given.shape.size()) - 2;
  std::vector<int> order{rank, rank + 1};
  for (int i = 0; i < rank; ++i) order.push_back(i);
  auto result = transposed(given, order);
  integers shape{result.shape[0] * result.shape[1], 1};
  shape.insert(shape.end(), result.shape.begin() + 2, result.shape.end());
  result.shape = shape;
  return result;
}

std::string convolve(call const& c, std::string const& x, onnx_constant const& kernel, std::size_t index,
                     std::string const& bias, integers const& strides, integers const& pads, integers const& dilations,
                     std::int64_t groups) {
  std::vector<std::string> inputs{x, c.add(kernel, index)};
  if (!bias.empty()) inputs.push_back(bias);
  integers const sizes(kernel.shape.begin() + 2, kernel.shape.end());
  return c.to.node(
      "Conv", inputs,
      {{"kernel_shape", sizes}, {"strides", strides}, {"pads", pads}, {"dilations", dilations}, {"group", groups}});
}

onnx_output activated(call const& c, std::string const& name) {
  return with_activation(c.to, c.result(name, true), c.option("activation", json("linear")));
}

onnx_output convolution_of(call const& c, onnx_output const& x, onnx_constant const& kernel, std::int64_t groups) {
  auto const rank = c.lengths.size() - 1;
  integers const sizes(kernel.shape.begin() + 2, kernel.shape.end());
  auto const strides = sizes_in(c, "strides", rank, 1), dilations = sizes_in(c, "dilation_rate", rank, 1);
  auto const pads = pads_of(c, sizes, strides, dilations);
  return activated(
      c, convolve(c, x.name, kernel, 0, c.has_weight(1) ? c.add_weight(1) : "", strides, pads, dilations, groups));
}

onnx_output convolution(call const& c) {
  check_layout(c);
  return convolution_of(c, c.to.channels_first(c.inputs.at(0)), kernel_of(c.weight(0)),
                        c.option<std::int64_t>("groups", 1));
}

onnx_output depthwise(call const& c) {
  check_layout(c);
  auto const x = c.to.channels_first(c.inputs.at(0));
  return convolution_of(c, x, depthwise_kernel_of(c.weight(0)), x.lengths.back());
}

onnx_output separable(call const& c) {
  check_layout(c);
  auto const x = c.to.channels_first(c.inputs.at(0));
  auto const each = depthwise_kernel_of(c.weight(0)), point = kernel_of(c.weight(1));
  auto const rank = c.lengths.size() - 1;
  integers const sizes(each.shape.begin() + 2, each.shape.end()), ones(rank, 1), zeros(2 * rank, 0);
  auto const strides = sizes_in(c, "strides", rank, 1), dilations = sizes_in(c, "dilation_rate", rank, 1);
  auto const depth =
      convolve(c, x.name, each, 0, "", strides, pads_of(c, sizes, strides, dilations), dilations, x.lengths.back());
  return activated(c, convolve(c, depth, point, 1, c.has_weight(2) ? c.add_weight(2) : "", ones, zeros, ones, 1));
}

onnx_output transposed_convolution(call const& c) {
  check_layout(c);
  auto const x = c.to.channels_first(c.inputs.at(0));
  auto const kernel = kernel_of(c.weight(0));  // (spatial..., out, in): (in, out, spatial...)
  auto const rank = c.lengths.size() - 1;
  integers const sizes(kernel.shape.begin() + 2, kernel.shape.end());
  auto const strides = sizes_in(c, "strides", rank, 1);
  if (!c.option("output_padding", json()).is_null()) throw unsupported("has an output_padding");
  for (auto const dilation : sizes_in(c, "dilation_rate", rank, 1))
    if (dilation != 1) throw unsupported("has dilations");
  bool const is_same = c.option<std::string>("padding", "valid") == "same";
  integers pads(2 * rank, 0), more(rank, 0);
  for (std::size_t i = 0; i < rank; ++i) {
    auto const total = sizes[i] - strides[i];
    if (total < 0) more[i] = -total;
    if (is_same && total > 0) pads[i] = total / 2, pads[i + rank] = total - total / 2;
  }
  std::vector<std::string> inputs{x.name, c.add(kernel, 0)};
  if (c.has_weight(1)) inputs.push_back(c.add_weight(1));
  return activated(
      c, c.to.node("ConvTranspose", inputs,
                   {{"kernel_shape", sizes}, {"strides", strides}, {"pads", pads}, {"output_padding", more}}));
}

onnx_exporter pooling(std::string const& type) {
  return [=](call const& c) {
    check_layout(c);
    auto const rank = c.lengths.size() - 1;
    auto const x = c.to.channels_first(c.inputs.at(0));
    auto const sizes = sizes_in(c, "pool_size", rank, 2);
    auto const strides = c.option("strides", json()).is_null() ? sizes : sizes_in(c, "strides", rank, 1);
    auto const pads = pads_of(c, sizes, strides, integers(rank, 1));
    return c.result(c.to.node(type, {x.name}, {{"kernel_shape", sizes}, {"strides", strides}, {"pads", pads}}), true);
  };
}

onnx_exporter global_pooling(std::string const& type) {
  return [=](call const& c) {
    check_layout(c);
    auto const x = c.to.channels_first(c.inputs.at(0));
    auto const pooled = c.to.node(type, {x.name});
    if (c.option("keepdims", false)) return c.result(pooled, true);
    integers axes(x.lengths.size() - 1);
    std::iota(axes.begin(), axes.end(), 2);
    return c.result(c.to.node("Squeeze", {pooled, c.to.integers(axes)}));
  };
}

/// Cells before and after, [[before, after], ...], along a picture's axes. One number stands for both sides, and a
/// single one for all axes.
std::vector<std::array<std::int64_t, 2>> borders_in(call const& c, char const* name, std::size_t rank) {
  auto const& value = c.config().at(name);
  std::vector<std::array<std::int64_t, 2>> result;
  for (std::size_t i = 0; i < rank; ++i) {
    json each = value;
    if (value.is_array() && !(rank == 1 && value.size() == 2)) each = value.at(i);
    if (each.is_number_integer())
      result.push_back({each.get<std::int64_t>(), each.get<std::int64_t>()});
    else
      result.push_back({each.at(0).get<std::int64_t>(), each.at(1).get<std::int64_t>()});
  }
  return result;
}

onnx_output zero_padding(call const& c) {
  check_layout(c);
  auto const x = c.to.channels_first(c.inputs.at(0));
  auto const rank = c.lengths.size() - 1;
  auto const borders = borders_in(c, "padding", rank);
  integers amounts(2 * (rank + 2), 0);
  for (std::size_t i = 0; i < rank; ++i) amounts[i + 2] = borders[i][0], amounts[i + 2 + rank + 2] = borders[i][1];
  return c.result(c.to.node("Pad", {x.name, c.to.integers(amounts)}), true);
}

onnx_output cropping(call const& c) {
  check_layout(c);
  auto const x = c.to.channels_first(c.inputs.at(0));
  auto const rank = c.lengths.size() - 1;
  auto const borders = borders_in(c, "cropping", rank);
  integers starts, ends, axes;
  for (std::size_t i = 0; i < rank; ++i) {
    starts.push_back(borders[i][0]), ends.push_back(x.lengths[i] - borders[i][1]);
    axes.push_back(static_cast<std::int64_t>(i) + 2);
  }
  return c.result(c.to.node("Slice", {x.name, c.to.integers(starts), c.to.integers(ends), c.to.integers(axes)}), true);
}

onnx_output up_sampling(call const& c) {
  check_layout(c);
  auto const x = c.to.channels_first(c.inputs.at(0));
  auto const rank = c.lengths.size() - 1;
  auto const kind = c.option<std::string>("interpolation", "nearest");
  if (kind != "nearest" && kind != "bilinear") throw unsupported("resizes by " + kind);
  std::vector<float> scales{1, 1};
  for (auto const factor : sizes_in(c, "size", rank, 2)) scales.push_back(static_cast<float>(factor));
  auto const factors = c.to.constant(c.path + "/scales", {static_cast<std::int64_t>(scales.size())}, scales);
  std::vector<onnx_option> options{
      {"mode", std::string(kind == "nearest" ? "nearest" : "linear")},
      {"coordinate_transformation_mode", std::string(kind == "nearest" ? "asymmetric" : "half_pixel")}};
  if (kind == "nearest") options.push_back({"nearest_mode", std::string("floor")});
  return c.result(c.to.node("Resize", {x.name, "", factors}, options), true);
}

}  // namespace

void add_window_exporters(std::map<std::string, onnx_exporter>& to) {
  for (auto const* rank : {"1D", "2D", "3D"}) {
    std::string const d = rank;
    to["Conv" + d] = convolution, to["Conv" + d + "Transpose"] = transposed_convolution;
    to["MaxPooling" + d] = pooling("MaxPool"), to["AveragePooling" + d] = pooling("AveragePool");
    to["GlobalMaxPooling" + d] = global_pooling("GlobalMaxPool"),
                            to["GlobalAveragePooling" + d] = global_pooling("GlobalAveragePool");
    to["ZeroPadding" + d] = zero_padding, to["Cropping" + d] = cropping, to["UpSampling" + d] = up_sampling;
  }
  to["DepthwiseConv2D"] = depthwise, to["SeparableConv1D"] = to["SeparableConv2D"] = separable;
}

}  // namespace stagecraft::tool
