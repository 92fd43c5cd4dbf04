// SPDX-License-Identifier: BSD-3-Clause
// ONNX's GridSample and AffineGrid, written out: places that data names are taken one neighbour after the other, and
// weighted.
#include "made_nodes.hpp"

#include <numeric>

namespace stagecraft::tool {

namespace {

using trace = onnx_trace;

/// One spatial axis of the picture that is sampled.
struct sampled_axis {
  std::int64_t length = 0, step = 1;  ///< elements of the flat picture from one place to the next
};

class grid_sample {
 public:
  grid_sample(trace& to, onnx_node const& node) : to_(to), node_(node), make_(to, node) {
    int const rank = to.tensor(node, 0).rank, grid_rank = to.tensor(node, 1).rank;
    if (rank < 3 || grid_rank != rank) throw unsupported("has inputs of ranks that do not fit");
    for (int i = 2; i < rank; ++i) axes_.push_back({to.length_of(node, 0, i)});
    for (int i = 1; i + 1 < rank; ++i) out_.push_back(to.length_of(node, 1, i));
    if (to.length_of(node, 1, rank - 1) != rank - 2) throw unsupported("has a grid of another number of places");
    for (std::size_t i = axes_.size() - 1; i-- > 0;) axes_[i].step = axes_[i + 1].step * axes_[i + 1].length;
    aligns_ = node.integer("align_corners", 0) != 0;
    mode_ = node.text("mode", "linear"), padding_ = node.text("padding_mode", "zeros");
    if (mode_ == "bilinear") mode_ = "linear";
    if (mode_ == "bicubic") mode_ = "cubic";
    if (mode_ != "linear" && mode_ != "cubic" && mode_ != "nearest") throw unsupported("samples by " + mode_);
    if (padding_ != "zeros" && padding_ != "border" && padding_ != "reflection")
      throw unsupported("has a padding_mode that is not known");
    if (mode_ == "cubic" && axes_.size() != 2) throw unsupported("samples by cubic of other than two axes");
  }

  /// Returns the name of the sampled picture.
  std::string run() {
    double const points = product(out_), channels = static_cast<double>(to_.length_of(node_, 0, 1));
    double const size = product({axes_[0].length * axes_[0].step});
    if (points > (1 << 24) || size > (1 << 24)) throw unsupported("samples a picture that is too large");
    flat_ = make_("Reshape", {node_.inputs[0], make_.whole({0, channels, size})});
    shape_ = make_.whole({1, channels, points});
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      auto const last = static_cast<std::int64_t>(axes_.size());
      auto const own =
          make_.picked(node_.inputs[1], {static_cast<double>(last - 1 - static_cast<std::int64_t>(i))}, last + 1);
      add_axis(i, make_("Reshape", {own, make_.whole({0, 1, points})}));
    }
    std::string sum;
    std::size_t count = 1;
    for (auto const& each : neighbours_) count *= each.size();
    for (std::size_t at = 0; at < count; ++at) {
      std::string index, weight;
      auto rest = at;
      for (auto const& each : neighbours_) {
        auto const& one = each[rest % each.size()];
        rest /= each.size();
        index = index.empty() ? one.index : make_("Add", {index, one.index});
        if (!one.weight.empty()) weight = weight.empty() ? one.weight : make_("Mul", {weight, one.weight});
      }
      auto part = make_("GatherElements", {flat_, make_("Expand", {index, shape_})}, {{"axis", 2}});
      if (!weight.empty()) part = make_("Mul", {part, weight});
      sum = sum.empty() ? part : make_("Add", {sum, part});
    }
    std::vector<double> lengths{0, channels};
    lengths.insert(lengths.end(), out_.begin(), out_.end());
    return make_("Reshape", {sum, make_.whole(lengths)});
  }

 private:
  /// A neighbour of a place along one axis: its part of the index in the flat picture, and its weight; none if it is 1.
  struct neighbour {
    std::string index, weight;
  };

  static double product(std::vector<std::int64_t> const& of) {
    return std::accumulate(of.begin(), of.end(), 1.0, [](double a, auto b) { return a * static_cast<double>(b); });
  }
  std::string scaled(std::string const& x, double factor, double summand) {
    auto const y = factor == 1 ? x : make_("Mul", {x, make_.real(factor)});
    return summand == 0 ? y : make_("Add", {y, make_.real(summand)});
  }
  std::string within(std::string const& x, sampled_axis const& of) {
    return make_("Clip", {x, make_.real(0), make_.real(static_cast<double>(of.length - 1))});
  }
  /// Places that lie outside are thrown back at the borders.
  std::string reflected(std::string const& x, sampled_axis const& of) {
    double const low = aligns_ ? 0 : -0.5, range = static_cast<double>(of.length - (aligns_ ? 1 : 0));
    if (range <= 0) return within(x, of);
    auto const distance = make_("Abs", {scaled(x, 1, -low)});
    auto const turns = make_("Floor", {scaled(distance, 1 / (2 * range), 0)});
    auto const rest = make_("Sub", {distance, scaled(turns, 2 * range, 0)});
    return scaled(make_("Min", {rest, scaled(rest, -1, 2 * range)}), 1, low);
  }
  void add_axis(std::size_t which, std::string const& grid) {
    auto const& of = axes_[which];
    auto const length = static_cast<double>(of.length);
    auto x = aligns_ ? scaled(grid, (length - 1) / 2, (length - 1) / 2) : scaled(grid, length / 2, (length - 1) / 2);
    if (mode_ == "nearest") x = make_("Round", {x});
    if (padding_ == "border") x = within(x, of);
    if (padding_ == "reflection") x = reflected(x, of);
    neighbours_.emplace_back();
    if (mode_ == "nearest") return add(of, x, "");
    auto const below = make_("Floor", {x}), part = make_("Sub", {x, below});
    if (mode_ == "linear") {
      add(of, below, scaled(part, -1, 1));
      return add(of, scaled(below, 1, 1), part);
    }
    double const a = -0.75;
    for (int k = -1; k < 3; ++k) {
      // ((c3 d + c2) d + c1) d + c0, where d is the distance of the neighbour.
      auto const distance = k <= 0 ? scaled(part, 1, -k) : scaled(part, -1, k);
      bool const is_near = k == 0 || k == 1;
      double const c3 = is_near ? a + 2 : a, c2 = is_near ? -(a + 3) : -5 * a, c1 = is_near ? 0 : 8 * a,
                   c0 = is_near ? 1 : -4 * a;
      auto const first = make_("Mul", {scaled(distance, c3, c2), distance});
      add(of, scaled(below, 1, k), scaled(make_("Mul", {scaled(first, 1, c1), distance}), 1, c0));
    }
  }
  void add(sampled_axis const& of, std::string const& place, std::string weight) {
    auto inside = place;
    if (padding_ == "reflection") inside = make_("Round", {reflected(place, of)});
    inside = within(inside, of);
    if (padding_ == "zeros") {
      auto const is_inside = make_("Cast", {make_("Equal", {inside, place})}, {{"to", 1}});
      weight = weight.empty() ? is_inside : make_("Mul", {weight, is_inside});
    }
    neighbours_.back().push_back({scaled(inside, static_cast<double>(of.step), 0), std::move(weight)});
  }

  trace& to_;
  onnx_node const& node_;
  node_maker make_;
  std::vector<sampled_axis> axes_;
  std::vector<std::int64_t> out_;
  std::vector<std::vector<neighbour>> neighbours_;
  std::string mode_, padding_, flat_, shape_;
  bool aligns_ = false;
};

/// The places of a picture's elements, from -1 to 1, times a matrix for each sample.
void affine_grid(trace& to, onnx_node const& node) {
  node_maker const make(to, node);
  auto const size = to.required(node, 1).integers();
  auto const count = static_cast<std::int64_t>(size.size()) - 2;
  if ((count != 2 && count != 3) || to.tensor(node, 0).rank != 3 || to.length_of(node, 0, 1) != count)
    throw unsupported("has a size that does not fit its matrices");
  bool const aligns = node.integer("align_corners", 0) != 0;
  std::vector<std::int64_t> const lengths(size.begin() + 2, size.end());
  std::int64_t points = 1;
  for (auto const each : lengths)
    if (each < 1 || each > (1 << 20) || (points *= each) > (1 << 22)) throw unsupported("has a size that is not here");
  onnx_constant base{{points, count + 1}, {}, false};
  for (std::int64_t at = 0; at < points; ++at) {
    std::vector<double> row{1};  // x comes first, whose axis is the last
    auto rest = at;
    for (auto i = static_cast<std::size_t>(count); i-- > 0;) {
      auto const length = static_cast<double>(lengths[i]), place = static_cast<double>(rest % lengths[i]);
      rest /= lengths[i];
      double const own = aligns ? (lengths[i] > 1 ? 2 * place / (length - 1) - 1 : 0) : (2 * place + 1) / length - 1;
      row.insert(row.end() - 1, own);
    }
    base.values.insert(base.values.end(), row.begin(), row.end());
  }
  base.shape.insert(base.shape.begin(), 1);
  auto const flat = make("MatMul", {to.add_constant(std::move(base)), make.turned(node.inputs[0], {0, 2, 1})});
  std::vector<double> wanted{0};
  wanted.insert(wanted.end(), lengths.begin(), lengths.end());
  wanted.push_back(static_cast<double>(count));
  to.set_alias(node, make("Reshape", {flat, make.whole(wanted)}), 0);
}

}  // namespace

void add_sampling_operations(std::map<std::string, onnx_converter>& to) {
  to["GridSample"] = [](trace& t, onnx_node const& node) { t.set_alias(node, grid_sample(t, node).run(), 0); };
  to["AffineGrid"] = affine_grid;
}

}  // namespace stagecraft::tool
