// SPDX-License-Identifier: BSD-3-Clause
// ONNX's operators that read or write a picture at places which data names, and general transposed convolutions,
// written out as other nodes.
#include "made_nodes.hpp"

#include <algorithm>
#include <numeric>

namespace stagecraft::tool {

namespace {

using trace = onnx_trace;

double real_of(std::int64_t number) { return static_cast<double>(number); }

constexpr std::int64_t most_length = 1 << 16;

/// A tensor times a number, plus another number.
std::string scaled(node_maker const& make, std::string const& x, double factor, double summand) {
  auto const y = factor == 1 ? x : make("Mul", {x, make.real(factor)});
  return summand == 0 ? y : make("Add", {y, make.real(summand)});
}

std::string truth(node_maker const& make, std::string const& x) { return make("Cast", {x}, {{"to", 1}}); }

/// The place below and above a coordinate, and their weights.
struct neighbours {
  std::string places[2], weights[2];
};

/// A convolution whose kernel reads at places that an input moves; what lies outside of the picture is 0.
void deformed_convolution(trace& to, onnx_node const& node) {
  node_maker const make(to, node);
  for (std::size_t i = 0; i < 3; ++i)
    if (!has_input(node, i)) throw unsupported("lacks inputs");
  if (to.tensor(node, 0).rank != 4) throw unsupported("is of a picture of other than two axes");
  std::vector<std::int64_t> const ones(2, 1), zeros(4, 0);
  auto const strides = node.integers("strides", ones), dilations = node.integers("dilations", ones),
             pads = node.integers("pads", zeros);
  if (strides.size() != 2 || dilations.size() != 2 || pads.size() != 4)
    throw unsupported("has strides, dilations or pads that do not fit");
  auto const groups = node.integer("group", 1), moved = node.integer("offset_group", 1);
  std::int64_t lengths[2], kernel[2], out[2];
  for (int i = 0; i < 2; ++i) {
    auto const k = static_cast<std::size_t>(i);
    lengths[i] = to.length_of(node, 0, i + 2), kernel[i] = to.length_of(node, 1, i + 2);
    out[i] = to.length_of(node, 2, i + 2);
    for (auto const each : {lengths[i], kernel[i], strides[k], dilations[k]})
      if (each < 1 || each > most_length) throw unsupported("has lengths that are not here");
    if (pads[k] < 0 || pads[k] > most_length || pads[k + 2] < 0 || pads[k + 2] > most_length)
      throw unsupported("has pads that are not here");
    auto const room = lengths[i] + pads[k] + pads[k + 2] - ((kernel[i] - 1) * dilations[k] + 1);
    if (room < 0 || out[i] != room / strides[k] + 1) throw unsupported("has lengths that do not fit its input");
  }
  auto const channels = to.length_of(node, 0, 1), made = to.length_of(node, 1, 0), taps = kernel[0] * kernel[1],
             points = out[0] * out[1], all = taps * points;
  if (groups < 1 || moved < 1 || channels % groups != 0 || made % groups != 0 || channels % moved != 0 ||
      to.length_of(node, 1, 1) != channels / groups || to.length_of(node, 2, 1) != 2 * moved * taps)
    throw unsupported("has groups that do not fit its channels");
  if (lengths[0] * lengths[1] > (1 << 24) || all > (1 << 22)) throw unsupported("is of a picture that is too large");
  auto const per = channels / moved;
  auto const offsets =
      make("Reshape", {node.inputs[2], make.whole({0, real_of(moved), real_of(taps), 2, real_of(points)})});
  neighbours axes[2];
  for (int i = 0; i < 2; ++i) {
    auto const k = static_cast<std::size_t>(i);
    onnx_constant base{{1, 1, all}, {}, false};
    for (std::int64_t tap = 0; tap < taps; ++tap)
      for (std::int64_t point = 0; point < points; ++point) {
        auto const own = i == 0 ? tap / kernel[1] : tap % kernel[1], at = i == 0 ? point / out[1] : point % out[1];
        base.values.push_back(real_of(at * strides[k] - pads[k] + own * dilations[k]));
      }
    auto const own =
        make("Reshape", {make.picked(offsets, {real_of(i)}, 3), make.whole({0, real_of(moved), real_of(all)})});
    auto const place = make("Add", {own, to.add_constant(std::move(base))});
    auto const below = make("Floor", {place}), part = make("Sub", {place, below});
    for (int side = 0; side < 2; ++side) {
      auto const found = scaled(make, below, 1, side);
      auto const inside = make("Clip", {found, make.real(0), make.real(real_of(lengths[i] - 1))});
      axes[i].places[side] = inside;
      axes[i].weights[side] =
          make("Mul", {truth(make, make("Equal", {inside, found})), side == 0 ? scaled(make, part, -1, 1) : part});
    }
  }
  auto const picture = make(
      "Reshape", {node.inputs[0], make.whole({0, real_of(moved), real_of(per), real_of(lengths[0] * lengths[1])})});
  auto const shape = make.whole({1, real_of(moved), real_of(per), real_of(all)});
  auto const wide = [&](std::string const& x) {
    return make("Reshape", {x, make.whole({0, real_of(moved), 1, real_of(all)})});
  };
  std::string sum;
  for (int corner = 0; corner < 4; ++corner) {
    int const row = corner / 2, column = corner % 2;
    auto const index = make("Add", {scaled(make, axes[0].places[row], real_of(lengths[1]), 0), axes[1].places[column]});
    auto const weight = make("Mul", {axes[0].weights[row], axes[1].weights[column]});
    auto const read = make("GatherElements", {picture, make("Expand", {wide(index), shape})}, {{"axis", 3}});
    auto const term = make("Mul", {read, wide(weight)});
    sum = sum.empty() ? term : make("Add", {sum, term});
  }
  if (has_input(node, 4)) sum = make("Mul", {sum, wide(node.inputs[4])});
  auto const depth = real_of(channels / groups * taps);
  auto const columns = make("Reshape", {sum, make.whole({0, real_of(groups), depth, real_of(points)})});
  auto const weight =
      make("Reshape", {node.inputs[1], make.whole({1, real_of(groups), real_of(made / groups), depth})});
  auto y = make("Reshape",
                {make("MatMul", {weight, columns}), make.whole({0, real_of(made), real_of(out[0]), real_of(out[1])})});
  if (has_input(node, 3)) y = make("Add", {y, make("Reshape", {node.inputs[3], make.whole({1, real_of(made), 1, 1})})});
  to.set_alias(node, y, 0);
}

/// Samples regions of pictures: each region becomes a picture of the same size.
void align_regions(trace& to, onnx_node const& node) {
  node_maker const make(to, node);
  for (std::size_t i = 0; i < 3; ++i)
    if (!has_input(node, i)) throw unsupported("lacks inputs");
  if (to.tensor(node, 0).rank != 4) throw unsupported("is of a picture of other than two axes");
  if (!to.is_one_sample()) throw unsupported("takes regions of samples, which stay apart here");
  auto const mode = node.text("mode", "avg"),
             how = node.text("coordinate_transformation_mode",
                             to.graph().opset < 16 ? "output_half_pixel" : "half_pixel");
  bool const is_half = how == "half_pixel";
  if ((mode != "avg" && mode != "max") || (!is_half && how != "output_half_pixel"))
    throw unsupported("has a mode that is not here");
  auto const regions = to.length_of(node, 1, 0), count = to.length_of(node, 0, 0), channels = to.length_of(node, 0, 1),
             ratio = node.integer("sampling_ratio", 0);
  std::int64_t const lengths[2]{to.length_of(node, 0, 2), to.length_of(node, 0, 3)},
      out[2]{node.integer("output_height", 1), node.integer("output_width", 1)};
  if (ratio < 1) throw unsupported("samples a number of places that depends on data");
  if (out[0] < 1 || out[1] < 1 || std::max({out[0], out[1], ratio, lengths[0], lengths[1]}) > most_length ||
      out[0] * out[1] * ratio * ratio * regions > (1 << 22) || count * lengths[0] * lengths[1] > (1 << 24))
    throw unsupported("samples regions that are too large");
  double const scale = static_cast<double>(node.real("spatial_scale", 1.0F)), offset = is_half ? -0.5 : 0;
  neighbours axes[2];
  for (int i = 0; i < 2; ++i) {
    auto const side = [&](int which) {
      return scaled(make, make.picked(node.inputs[1], {real_of(which)}, 1), scale, offset);
    };
    auto const begin = side(1 - i);
    auto size = make("Sub", {side(3 - i), begin});
    if (!is_half) size = make("Max", {size, make.real(1)});
    auto const number = out[i] * ratio;
    onnx_constant steps{{1, number}, {}, false};
    for (std::int64_t k = 0; k < number; ++k)
      steps.values.push_back((real_of(k) + 0.5) / real_of(ratio) / real_of(out[i]));
    auto const place = make("Add", {begin, make("Mul", {size, to.add_constant(std::move(steps))})});
    auto const last = real_of(lengths[i] - 1);
    auto const is_inside = make("Mul", {truth(make, make("GreaterOrEqual", {place, make.real(-1)})),
                                        truth(make, make("LessOrEqual", {place, make.real(last + 1)}))});
    auto const inside = make("Clip", {place, make.real(0), make.real(last)});
    auto const below = make("Floor", {inside}), part = make("Sub", {inside, below});
    auto const shape = i == 0 ? make.whole({real_of(regions), real_of(number), 1})
                              : make.whole({real_of(regions), 1, real_of(number)});
    auto const turned = [&](std::string const& x) { return make("Reshape", {x, shape}); };
    axes[i].places[0] = turned(below);
    axes[i].places[1] = turned(make("Min", {scaled(make, below, 1, 1), make.real(last)}));
    axes[i].weights[0] = turned(make("Mul", {scaled(make, part, -1, 1), is_inside}));
    axes[i].weights[1] = turned(make("Mul", {part, is_inside}));
  }
  auto const picture = make("Reshape", {make.turned(node.inputs[0], {0, 2, 3, 1}),
                                        make.whole({real_of(count * lengths[0] * lengths[1]), real_of(channels)})});
  auto const first = scaled(make, make("Reshape", {node.inputs[2], make.whole({real_of(regions), 1, 1})}),
                            real_of(lengths[0] * lengths[1]), 0);
  bool const is_mean = mode == "avg";
  std::string y;
  for (int corner = 0; corner < 4; ++corner) {
    int const row = corner / 2, column = corner % 2;
    auto const index =
        make("Add",
             {make("Add", {scaled(make, axes[0].places[row], real_of(lengths[1]), 0), axes[1].places[column]}), first});
    auto const weight = make("Mul", {axes[0].weights[row], axes[1].weights[column]});
    auto const term =
        make("Mul", {make("Gather", {picture, index}, {{"axis", 0}}), make("Unsqueeze", {weight, make.whole({3})})});
    y = y.empty() ? term : make(is_mean ? "Add" : "Max", {y, term});
  }
  y = make("Reshape", {y, make.whole({real_of(regions), real_of(out[0]), real_of(ratio), real_of(out[1]),
                                      real_of(ratio), real_of(channels)})});
  y = make(is_mean ? "ReduceMean" : "ReduceMax", {y, make.whole({2, 4})}, {{"keepdims", 0}});
  to.set_alias(node, make.turned(y, {0, 3, 1, 2}), 0);
}

/// Puts elements back where a pooling took them from; all other elements are 0.
void undo_max_pooling(trace& to, onnx_node const& node) {
  node_maker const make(to, node);
  if (!has_input(node, 0) || !has_input(node, 1)) throw unsupported("lacks inputs");
  if (!to.is_one_sample()) throw unsupported("names places among all samples, which stay apart here");
  int const rank = to.tensor(node, 0).rank;
  if (rank < 3) throw unsupported("has an input of " + std::to_string(rank) + " axes");
  auto const spatial = static_cast<std::size_t>(rank - 2);
  auto const kernel = node.integers("kernel_shape", {}),
             strides = node.integers("strides", std::vector<std::int64_t>(spatial, 1)),
             pads = node.integers("pads", std::vector<std::int64_t>(2 * spatial, 0));
  if (kernel.size() != spatial || strides.size() != spatial || pads.size() != 2 * spatial)
    throw unsupported("has a window that does not fit its input");
  std::vector<double> shape{real_of(to.length_of(node, 0, 0)), real_of(to.length_of(node, 0, 1))};
  double count = shape[0] * shape[1], taken = count;
  for (std::size_t i = 0; i < spatial; ++i) {
    auto const length = to.length_of(node, 0, static_cast<std::int64_t>(i) + 2);
    for (auto const each : {kernel[i], strides[i]})
      if (each < 1 || each > most_length) throw unsupported("has a window that is not here");
    // Windows that overlap may name a place twice.
    if (strides[i] < kernel[i]) throw unsupported("has windows that overlap");
    shape.push_back(real_of((length - 1) * strides[i] - pads[i] - pads[i + spatial] + kernel[i]));
    if (shape.back() < 1) throw unsupported("has an output without elements");
    count *= shape.back(), taken *= real_of(length);
  }
  if (count > (1 << 24)) throw unsupported("has a picture that is too large");
  auto const flat = make.whole({taken});
  onnx_node put;
  put.type = "ScatterElements";
  put.inputs = {
      to.add_constant({{static_cast<std::int64_t>(count)}, std::vector<double>(std::size_t(count), 0), false}),
      make("Reshape", {node.inputs[1], flat}), make("Reshape", {node.inputs[0], flat})};
  auto& reduction = put.attributes["reduction"];
  reduction.kind = onnx_kind::text, reduction.text = "add";
  auto y = make("Reshape", {make.of(std::move(put)), make.whole(shape)});
  if (has_input(node, 2)) {
    auto const wanted = to.required(node, 2).integers();
    if (wanted.size() != shape.size()) throw unsupported("has an output_shape of other axes");
    std::vector<double> added(2 * shape.size(), 0);
    bool is_same = true;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      added[i + shape.size()] = real_of(wanted[i]) - shape[i];
      if (added[i + shape.size()] < 0 || wanted[i] > most_length) throw unsupported("has an output_shape that cuts");
      is_same = is_same && added[i + shape.size()] == 0;
    }
    if (!is_same) y = make("Pad", {y, make.whole(added)});
  }
  to.set_alias(node, y, 0);
}

/// A transposed convolution as a convolution of the picture with zeros between its elements.
void transposed_convolution(trace& to, onnx_node const& node) {
  node_maker const make(to, node);
  int const rank = to.tensor(node, 0).rank;
  auto const weight = to.required(node, 1);
  if (rank < 3 || rank > 4 || static_cast<int>(weight.shape.size()) != rank)
    throw unsupported("is of a picture of other than one or two axes");
  auto const count = static_cast<std::size_t>(rank - 2);
  std::vector<std::int64_t> const ones(count, 1), zeros(count, 0), both(2 * count, 0);
  auto const strides = node.integers("strides", ones), dilations = node.integers("dilations", ones),
             further = node.integers("output_padding", zeros), wanted = node.integers("output_shape", {}),
             given = node.integers("pads", both);
  auto const automatic = node.text("auto_pad", "NOTSET");
  bool const is_lower = automatic == "SAME_LOWER", is_same = is_lower || automatic == "SAME_UPPER";
  if (!is_same && automatic != "NOTSET" && automatic != "VALID") throw unsupported("has an auto_pad that is not known");
  auto const groups = node.integer("group", 1), channels = to.length_of(node, 0, 1), each = weight.shape[1];
  if (strides.size() != count || dilations.size() != count || further.size() != count || given.size() != 2 * count ||
      (!wanted.empty() && wanted.size() != count) || groups < 1 || channels % groups != 0 ||
      weight.shape[0] != channels)
    throw unsupported("has a window that does not fit its input");
  std::vector<double> lengths{0, real_of(channels)}, apart = lengths, joined = lengths, ends, begins, axes,
                                                     added(2 * static_cast<std::size_t>(rank), 0);
  std::vector<double> between(2 * (2 + 2 * count), 0);
  std::int64_t taps = 1;
  bool has_gaps = false, has_pads = false, cuts = false;
  for (std::size_t i = 0; i < count; ++i) {
    auto const length = to.length_of(node, 0, static_cast<std::int64_t>(i) + 2), size = weight.shape[i + 2];
    for (auto const number : {length, size, strides[i], dilations[i]})
      if (number < 1 || number > most_length) throw unsupported("has lengths that are not here");
    auto const reach = (size - 1) * dilations[i] + 1;
    auto before = given[i], after = given[i + count];
    auto all = (length - 1) * strides[i] + reach + further[i];
    if (!wanted.empty() && (wanted[i] < 1 || wanted[i] > most_length))
      throw unsupported("has an output_shape that is not here");
    auto more = further[i];  // zeros at the end, beyond what the kernel reaches
    if (!wanted.empty() && wanted[i] > all) more += wanted[i] - all, all = wanted[i];
    if (!wanted.empty() || is_same) {
      auto const total = std::max<std::int64_t>(all - (wanted.empty() ? length * strides[i] : wanted[i]), 0);
      // The greater half of an odd number stands at the end for SAME_UPPER, and at the beginning otherwise.
      before = automatic == "SAME_UPPER" ? total / 2 : total - total / 2, after = total - before;
    }
    if (automatic == "VALID") before = after = 0;
    if (before < 0 || after < 0 || further[i] < 0 || further[i] > most_length || all - before - after < 1)
      throw unsupported("has pads that are not here");
    taps *= size;
    auto const first = reach - 1 - before, last = reach - 1 - after + more;
    has_gaps = has_gaps || strides[i] > 1;
    auto const full = (length - 1) * strides[i] + 1;
    apart.push_back(real_of(length)), apart.push_back(1);
    between[(2 + 2 * count) + 3 + 2 * i] = real_of(strides[i] - 1);
    joined.push_back(real_of(length * strides[i]));
    begins.push_back(real_of(std::max<std::int64_t>(-first, 0)));
    ends.push_back(real_of(full - std::max<std::int64_t>(-last, 0)));
    axes.push_back(real_of(static_cast<std::int64_t>(i) + 2));
    cuts = cuts || begins.back() > 0 || ends.back() < real_of(full);
    added[i + 2] = real_of(std::max<std::int64_t>(first, 0));
    added[static_cast<std::size_t>(rank) + i + 2] = real_of(std::max<std::int64_t>(last, 0));
    has_pads = has_pads || first > 0 || last > 0;
    if (begins.back() >= ends.back()) throw unsupported("has pads that are not here");
  }
  auto x = node.inputs[0];
  if (has_gaps) {
    x = make("Reshape", {x, make.whole(apart)});
    x = make("Reshape", {make("Pad", {x, make.whole(between)}), make.whole(joined)});
  }
  if (has_gaps || cuts) x = make("Slice", {x, make.whole(begins), make.whole(ends), make.whole(axes)});
  if (has_pads) x = make("Pad", {x, make.whole(added)});
  // The kernel is turned around, and its channels of output come first.
  auto const own = channels / groups;
  onnx_constant turned{weight.shape, {}, false};
  turned.shape[0] = each * groups, turned.shape[1] = own;
  for (std::int64_t out = 0; out < each * groups; ++out)
    for (std::int64_t in = 0; in < own; ++in)
      for (std::int64_t tap = 0; tap < taps; ++tap) {
        auto const row = (out / each * own + in) * each + out % each;
        turned.values.push_back(weight.values[static_cast<std::size_t>(row * taps + taps - 1 - tap)]);
      }
  onnx_node convolution;
  convolution.type = "Conv";
  convolution.inputs = {x, to.add_constant(std::move(turned))};
  if (has_input(node, 2)) convolution.inputs.push_back(node.inputs[2]);
  auto& group = convolution.attributes["group"];
  group.kind = onnx_kind::integer, group.integer = groups;
  auto& spread = convolution.attributes["dilations"];
  spread.kind = onnx_kind::integers, spread.integers = dilations;
  to.set_alias(node, make.of(std::move(convolution)), 0);
}

}  // namespace

void add_region_operations(std::map<std::string, onnx_converter>& to) {
  to["DeformConv"] = deformed_convolution, to["RoiAlign"] = align_regions, to["MaxUnpool"] = undo_max_pooling;
  to["ConvTranspose"] = either(to.at("ConvTranspose"), transposed_convolution);
}

}  // namespace stagecraft::tool
