// SPDX-License-Identifier: BSD-3-Clause
// ONNX's Resize in all of its modes: each axis is multiplied by a matrix, whose rows have the weights of the old
// places for a new one.
#include "made_nodes.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace stagecraft::tool {

namespace {

using trace = onnx_trace;
using operands = std::vector<source_text>;

/// The resizing of one axis.
struct resized_axis {
  int axis = 0, old_length = 0, length = 0;
  double scale = 1;
  double begin = 0, end = 1;  ///< the part of the old axis that tf_crop_and_resize takes
};

/// The matrix of an axis, and for each new place the number that is added: `extrapolation_value` outside of the input.
struct resize_matrix {
  std::vector<double> weights{}, summands{};
  bool has_summands = false;
};

/// The place in the old axis that a new place is taken from.
double place_of(onnx_node const& node, resized_axis const& of, int i) {
  auto const places = node.text("coordinate_transformation_mode", "half_pixel");
  int const old_length = of.old_length, length = of.length;
  if (places == "half_pixel") return (i + 0.5) / of.scale - 0.5;
  if (places == "pytorch_half_pixel") return length > 1 ? (i + 0.5) / of.scale - 0.5 : 0;
  if (places == "asymmetric") return i / of.scale;
  if (places == "align_corners") {
    // Runtimes do not agree where the last places lie if the new length was rounded.
    if (std::fabs(of.scale * old_length - length) > 1e-4)
      throw unsupported("aligns corners of a length that is no whole number");
    return length == 1 ? 0 : i * (old_length - 1.0) / (length - 1);
  }
  if (places == "half_pixel_symmetric") {
    double const adjustment = length / (of.scale * old_length), centre = old_length / 2.0;
    return centre * (1 - adjustment) + (i + 0.5) / of.scale - 0.5;
  }
  if (places == "tf_crop_and_resize") {
    double const last = old_length - 1.0;
    return length > 1 ? of.begin * last + i * (of.end - of.begin) * last / (length - 1)
                      : 0.5 * (of.begin + of.end) * last;
  }
  throw unsupported("resizes by places that are not here");
}

/// The old place that is nearest to `x`.
double nearest_to(onnx_node const& node, double x) {
  auto const nearest = node.text("nearest_mode", "round_prefer_floor");
  double const below = std::floor(x), part = x - below;
  if (nearest == "floor") return below;
  if (nearest == "ceil") return std::ceil(x);
  if (nearest == "round_prefer_floor") return part <= 0.5 ? below : below + 1;
  if (nearest == "round_prefer_ceil") return part < 0.5 ? below : below + 1;
  throw unsupported("resizes to nearest places that are not here");
}

/// The weight of an old place at a distance, by lines or cubic polynomials.
double weight_at(bool is_cubic, double a, double distance) {
  double const x = std::fabs(distance);
  if (!is_cubic) return std::max(1 - x, 0.0);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

resize_matrix matrix_of(onnx_node const& node, resized_axis const& of) {
  auto const mode = node.text("mode", "nearest");
  bool const is_cubic = mode == "cubic", leaves_out = node.integer("exclude_outside", 0) != 0;
  if (!is_cubic && mode != "linear" && mode != "nearest") throw unsupported("resizes by a mode that is not here");
  bool const crops = node.text("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize";
  auto const a = static_cast<double>(node.real("cubic_coeff_a", -0.75F));
  auto const outside = static_cast<double>(node.real("extrapolation_value", 0));
  // Each old place has an influence that is wider where the axis becomes shorter, if `antialias` asks for that.
  double const narrowing = node.integer("antialias", 0) != 0 && mode != "nearest" ? std::min(of.scale, 1.0) : 1;
  if (of.length / narrowing > (1 << 20)) throw unsupported("resizes by a matrix that is too large");
  resize_matrix made{std::vector<double>(at(of.old_length) * at(of.length), 0), std::vector<double>(at(of.length), 0)};
  for (int i = 0; i < of.length; ++i) {
    double const x = place_of(node, of, i), last = of.old_length - 1.0;
    if (crops && (x < 0 || x > last)) {
      made.summands[at(i)] = outside, made.has_summands = made.has_summands || outside != 0;
      continue;
    }
    auto* const row = made.weights.data() + at(i) * at(of.old_length);
    if (mode == "nearest") {
      row[at(static_cast<int>(std::clamp(nearest_to(node, x), 0.0, last)))] = 1;
      continue;
    }
    double const reach = (is_cubic ? 2 : 1) / narrowing;
    double sum = 0;
    for (double place = std::floor(x - reach) + 1; place < x + reach; ++place) {
      if (leaves_out && (place < 0 || place > last)) continue;
      double const weight = weight_at(is_cubic, a, (place - x) * narrowing);
      row[at(static_cast<int>(std::clamp(place, 0.0, last)))] += weight, sum += weight;
    }
    for (int k = 0; k < of.old_length; ++k) row[k] /= sum;
  }
  return made;
}

/// The axes that a node resizes, with their new lengths.
std::vector<resized_axis> axes_of(trace& to, onnx_node const& node, traced_tensor const& x) {
  auto const scales = to.constant(node, 2), sizes = to.lengths(node, 3), roi = to.constant(node, 1);
  bool const is_by_scale = scales && !scales->values.empty();
  auto const& given = is_by_scale ? scales : sizes;
  auto axes = node.integers("axes", {});
  for (int i = 0; node.find("axes") == nullptr && i < x.rank; ++i) axes.push_back(i);
  if (!given || given->values.size() != axes.size()) throw unsupported("does not say how large its output is");
  bool const crops = node.text("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize";
  if (crops && (!roi || roi->values.size() != 2 * axes.size())) throw unsupported("does not say what it crops");
  std::vector<resized_axis> all;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    resized_axis one{axis_of(axes[i], x.rank)};
    double const wanted = given->values[i];
    if (crops) one.begin = roi->values[i], one.end = roi->values[i + axes.size()];
    if (x.order[0] == one.axis) {
      if (crops && (one.begin != 0 || one.end != 1)) throw unsupported("resizes samples");
      if (is_by_scale ? wanted != 1 : wanted > 1 && wanted != static_cast<double>(to.graph().inputs.at(0).shape.at(0)))
        throw unsupported("resizes samples");
      continue;
    }
    one.old_length = x.lengths[at(place_in_sample(x, one.axis)) - 1];
    double const exact =
        is_by_scale ? std::floor(one.old_length * static_cast<double>(static_cast<float>(wanted))) : wanted;
    if (!(exact >= 1) || exact > (1 << 20)) throw unsupported("gives more than 2^30 elements, or none");
    one.length = static_cast<int>(exact), one.scale = is_by_scale ? wanted : wanted / one.old_length;
    all.push_back(one);
  }
  // One scale for all axes, so that no length is above the wanted one, or none below.
  auto const policy = node.text("keep_aspect_ratio_policy", "stretch");
  if (policy != "stretch" && policy != "not_larger" && policy != "not_smaller")
    throw unsupported("has a keep_aspect_ratio_policy that is not known");
  if (policy == "stretch" || is_by_scale || all.empty()) return all;
  double scale = all[0].scale;
  for (auto const& each : all)
    scale = policy == "not_larger" ? std::min(scale, each.scale) : std::max(scale, each.scale);
  for (auto& each : all) {
    double const length = std::floor(scale * each.old_length + 0.5);
    if (!(length >= 1) || length > (1 << 20)) throw unsupported("gives more than 2^30 elements, or none");
    each.scale = scale, each.length = static_cast<int>(length);
  }
  return all;
}

void resize(trace& to, onnx_node const& node) {
  auto x = to.complete(to.tensor(node, 0));
  for (auto const& each : axes_of(to, node, x)) {
    bool const is_whole = each.begin == 0 && each.end == 1;
    if (each.length == each.old_length && each.scale == 1 && is_whole) continue;
    if (std::int64_t{each.length} * each.old_length > (1 << 22))
      throw unsupported("resizes by a matrix that is too large");
    int const place = place_in_sample(x, each.axis);
    auto lengths = x.lengths;
    lengths[at(place) - 1] = each.length;
    int outer = 1, inner = 1;
    for (std::size_t i = 0; i < x.lengths.size(); ++i)
      (i + 1 < at(place) ? outer : i + 1 > at(place) ? inner : outer) *= i + 1 == at(place) ? 1 : x.lengths[i];
    auto const made = matrix_of(node, each);
    traced_operation operation{
        "resized", {}, {{{1, 1, each.length, each.old_length}, made.weights, false}}, {"places"}};
    bool const adds = made.has_summands;
    if (adds)
      operation.constants.push_back({{1, 1, each.length, 1}, made.summands, false}),
          operation.names.emplace_back("outside");
    int const old_length = each.old_length;
    operation.code = [=](operands const& a) {
      auto const rows = "ops.reshape("_cpp + a[0] + ", " + shape_text(a[0], {outer, old_length, inner}) + ")";
      return "ops.reshape(ops.matmul("_cpp + a[1] + ", " + rows + ")" + (adds ? " + "_cpp + a[2] : ""_cpp) + ", " +
             shape_text(a[0], lengths) + ")";
    };
    x = like(x, to.operate(std::move(operation), {x}, lengths));
  }
  to.set(node, x);
}

}  // namespace

void add_resize_operations(std::map<std::string, onnx_converter>& to) {
  auto const layers = either(to.at("Resize"), resize);
  to["Resize"] = [=](trace& t, onnx_node const& node) {
    // No layer has the options of later opsets.
    bool const is_plain = node.find("axes") == nullptr && node.integer("antialias", 0) == 0 &&
                          node.text("keep_aspect_ratio_policy", "stretch") == "stretch";
    return is_plain ? layers(t, node) : resize(t, node);
  };
}

}  // namespace stagecraft::tool
