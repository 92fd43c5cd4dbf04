// SPDX-License-Identifier: BSD-3-Clause
// ONNX's Fourier transforms of known lengths as products with matrices, and other nodes that are written out.
#include "made_nodes.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace stagecraft::tool {

namespace {

using trace = onnx_trace;

constexpr std::int64_t most_weights = 1 << 22;

/// The matrix of a discrete Fourier transform: rows are the input's numbers, of which `parts` belong to one place, and
/// columns those of the output.
struct fourier {
  std::int64_t places = 0, parts = 1, length = 0;
  bool is_inverse = false, is_half = false;

  [[nodiscard]] std::int64_t results() const { return is_half && !is_inverse ? length / 2 + 1 : length; }
  [[nodiscard]] std::int64_t result_parts() const { return is_half && is_inverse ? 1 : 2; }
  [[nodiscard]] onnx_constant matrix() const {
    auto const columns = results() * result_parts();
    if (length < 1 || places * parts * columns > most_weights) throw unsupported("has a length that is not here");
    onnx_constant made{{places * parts, columns}, {}, false};
    made.values.assign(static_cast<std::size_t>(places * parts * columns), 0);
    auto const used = std::min(places, is_half && is_inverse ? length / 2 + 1 : length);
    for (std::int64_t n = 0; n < used; ++n)
      for (std::int64_t k = 0; k < results(); ++k) {
        double const angle = 2 * std::numbers::pi * static_cast<double>(n * k % length) / static_cast<double>(length);
        double const sign = is_inverse ? 1 : -1;
        // Half of a spectrum stands for all of it.
        bool const is_twice = is_half && is_inverse && n > 0 && 2 * n != length;
        double const factor = is_inverse ? (is_twice ? 2.0 : 1.0) / static_cast<double>(length) : 1;
        for (std::int64_t from = 0; from < parts; ++from)
          for (std::int64_t to = 0; to < result_parts(); ++to) {
            double const value = from == to ? std::cos(angle) : (to == 1 ? sign : -sign) * std::sin(angle);
            made.values[static_cast<std::size_t>((n * parts + from) * columns + k * result_parts() + to)] =
                factor * value;
          }
      }
    return made;
  }
};

/// A product along the last two axes of `x`, which become those of the result.
std::string transformed(trace& to, node_maker const& make, std::string const& x, int rank, fourier const& of) {
  std::vector<double> flat(static_cast<std::size_t>(rank) - 2, 0), apart = flat;
  flat.push_back(static_cast<double>(of.places * of.parts));
  apart.push_back(static_cast<double>(of.results())), apart.push_back(static_cast<double>(of.result_parts()));
  auto const rows = make("Reshape", {x, make.whole(flat)});
  return make("Reshape", {make("MatMul", {rows, to.add_constant(of.matrix())}), make.whole(apart)});
}

void discrete_fourier(trace& to, onnx_node const& node) {
  node_maker const make(to, node);
  int const rank = to.tensor(node, 0).rank;
  if (rank < 3) throw unsupported("has an input of " + std::to_string(rank) + " axes");
  bool const has_axis_input = to.graph().opset >= 20;
  auto const given_axis = has_axis_input ? to.constant(node, 2) : std::nullopt;
  auto const axis = axis_of(given_axis && !given_axis->values.empty() ? given_axis->integers()[0]
                            : has_axis_input                          ? -2
                                                                      : node.integer("axis", 1),
                            rank);
  if (axis == rank - 1) throw unsupported("is along the axis of real and imaginary parts");
  fourier of{to.length_of(node, 0, axis), to.length_of(node, 0, -1)};
  if (of.parts != 1 && of.parts != 2) throw unsupported("has numbers of more than two parts");
  of.is_inverse = node.integer("inverse", 0) != 0, of.is_half = node.integer("onesided", 0) != 0;
  auto const given = to.constant(node, 1);
  of.length = given && !given->values.empty() ? given->integers()[0]
              : of.is_inverse && of.is_half   ? 2 * (of.places - 1)
                                              : of.places;
  if (of.length > (1 << 20)) throw unsupported("has a length that is not here");
  std::vector<std::int64_t> order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[static_cast<std::size_t>(axis)], order[static_cast<std::size_t>(rank) - 2]);
  bool const is_turned = axis != rank - 2;
  auto x = is_turned ? make.turned(node.inputs[0], order) : node.inputs[0];
  x = transformed(to, make, x, rank, of);
  to.set_alias(node, is_turned ? make.turned(x, order) : x, 0);
}

/// The Fourier transforms of windows of a signal.
void short_time_fourier(trace& to, onnx_node const& node) {
  node_maker const make(to, node);
  if (to.tensor(node, 0).rank != 3) throw unsupported("has an input of other than three axes");
  auto const step = to.required(node, 1).integers(), given = [&] {
    auto const found = to.constant(node, 3);
    return found ? found->integers() : std::vector<std::int64_t>();
  }();
  auto const window = to.constant(node, 2);
  bool const has_window = window && !window->values.empty();
  auto const width = !given.empty() ? given[0] : has_window ? static_cast<std::int64_t>(window->values.size()) : 0;
  auto const length = to.length_of(node, 0, 1), parts = to.length_of(node, 0, 2);
  if (step.empty() || step[0] < 1 || width < 1 || width > length || (parts != 1 && parts != 2) ||
      (has_window && static_cast<std::int64_t>(window->values.size()) != width))
    throw unsupported("has windows that do not fit its signal");
  auto const count = (length - width) / step[0] + 1;
  if (count > 1024) throw unsupported("has more than 1,024 windows");
  std::vector<std::string> rows;
  for (std::int64_t i = 0; i < count; ++i) {
    auto const begin = static_cast<double>(i * step[0]);
    auto const row = make("Slice", {node.inputs[0], make.whole({begin}),
                                    make.whole({begin + static_cast<double>(width)}), make.whole({1})});
    rows.push_back(make("Unsqueeze", {row, make.whole({1})}));
  }
  auto x = rows.size() == 1 ? rows[0] : make("Concat", rows, {{"axis", 1}});
  if (has_window) {
    auto factors = *window;
    factors.shape = {width, 1};
    x = make("Mul", {x, to.add_constant(std::move(factors))});
  }
  fourier of{width, parts, width};
  of.is_half = node.integer("onesided", 1) != 0;
  to.set_alias(node, transformed(to, make, x, 4, of), 0);
}

/// Adds windows to the places of a picture that they were taken from.
void columns_to_image(trace& to, onnx_node const& node) {
  node_maker const make(to, node);
  auto const image = to.required(node, 1).integers(), block = to.required(node, 2).integers();
  auto const count = image.size();
  if (count != block.size() || count < 1 || count > 2 || to.tensor(node, 0).rank != 3)
    throw unsupported("is of a picture of other than one or two axes");
  std::vector<std::int64_t> const ones(count, 1), zeros(2 * count, 0);
  auto const strides = node.integers("strides", ones), dilations = node.integers("dilations", ones),
             pads = node.integers("pads", zeros);
  if (strides.size() != count || dilations.size() != count || pads.size() != 2 * count)
    throw unsupported("has strides, dilations or pads that do not fit");
  std::vector<double> apart{0, 0}, joined{0, 0};
  std::vector<onnx_constant> matrices;
  std::int64_t channels = to.length_of(node, 0, 1), places = 1;
  for (std::size_t i = 0; i < count; ++i) {
    constexpr std::int64_t most = 1 << 16;
    for (auto const each : {image[i], block[i], strides[i], dilations[i]})
      if (each < 1 || each > most) throw unsupported("has lengths that are not here");
    if (pads[i] < 0 || pads[i] > most || pads[i + count] < 0 || pads[i + count] > most)
      throw unsupported("has pads that are not here");
    auto const room = image[i] + pads[i] + pads[i + count] - ((block[i] - 1) * dilations[i] + 1);
    auto const steps = room < 0 ? 0 : room / strides[i] + 1;
    if (steps < 1 || channels % block[i] != 0 || block[i] * steps * image[i] > most_weights)
      throw unsupported("has lengths that do not fit its input");
    channels /= block[i], places *= steps;
    onnx_constant matrix{{block[i] * steps, image[i]}, {}, false};
    matrix.values.assign(static_cast<std::size_t>(block[i] * steps * image[i]), 0);
    for (std::int64_t k = 0; k < block[i]; ++k)
      for (std::int64_t step = 0; step < steps; ++step) {
        auto const place = step * strides[i] - pads[i] + k * dilations[i];
        if (place >= 0 && place < image[i])
          matrix.values[static_cast<std::size_t>((k * steps + step) * image[i] + place)] = 1;
      }
    matrices.push_back(std::move(matrix));
    apart.insert(apart.begin() + 2 + static_cast<std::ptrdiff_t>(i), static_cast<double>(block[i]));
    apart.push_back(static_cast<double>(steps)), joined.push_back(static_cast<double>(block[i] * steps));
  }
  if (places != to.length_of(node, 0, 2)) throw unsupported("has lengths that do not fit its input");
  apart[1] = joined[1] = static_cast<double>(channels);
  auto x = make("Reshape", {node.inputs[0], make.whole(apart)});
  if (count == 2) x = make.turned(x, {0, 1, 2, 4, 3, 5});
  x = make("Reshape", {x, make.whole(joined)});
  for (std::size_t i = count; i-- > 0;) {
    x = make("MatMul", {x, to.add_constant(matrices[i])});
    if (count == 2) x = make.turned(x, {0, 1, 3, 2});
  }
  to.set_alias(node, x, 0);
}

/// Turns pairs of numbers by angles that depend on their position.
void rotary_embedding(trace& to, onnx_node const& node) {
  node_maker const make(to, node);
  int const rank = to.tensor(node, 0).rank;
  if (rank != 3 && rank != 4) throw unsupported("has an input of other than three or four axes");
  for (std::size_t i = 1; i < 3; ++i)
    if (!has_input(node, i)) throw unsupported("lacks inputs");
  auto const heads = rank == 4 ? to.length_of(node, 0, 1) : node.integer("num_heads", 0);
  auto const all = to.length_of(node, 0, -1);
  if (heads < 1 || (rank == 3 && all % heads != 0)) throw unsupported("has heads that do not fit its width");
  auto const width = rank == 4 ? all : all / heads;
  auto const given = node.integer("rotary_embedding_dim", 0), turned = given == 0 ? width : given;
  if (turned < 2 || turned % 2 != 0 || turned > width) throw unsupported("turns a part that its input has not");
  auto const part = [&](std::string const& x, std::int64_t begin, std::int64_t end, double step = 1) {
    return make("Slice", {x, make.whole({static_cast<double>(begin)}), make.whole({static_cast<double>(end)}),
                          make.whole({3}), make.whole({step})});
  };
  auto x = rank == 4 ? make.turned(node.inputs[0], {0, 2, 1, 3})
                     : make("Reshape", {node.inputs[0],
                                        make.whole({0, 0, static_cast<double>(heads), static_cast<double>(width)})});
  auto const cache = [&](std::size_t input) {
    auto const& table = node.inputs[input];
    auto const rows = has_input(node, 3) ? make("Gather", {table, node.inputs[3]}, {{"axis", 0}}) : table;
    return make("Unsqueeze", {rows, make.whole({2})});
  };
  auto const cosine = cache(1), sine = cache(2);
  bool const is_mixed = node.integer("interleaved", 0) != 0;
  auto const half = turned / 2;
  auto const a = is_mixed ? part(x, 0, turned, 2) : part(x, 0, half);
  auto const b = is_mixed ? part(x, 1, turned, 2) : part(x, half, turned);
  auto real = make("Sub", {make("Mul", {a, cosine}), make("Mul", {b, sine})});
  auto other = make("Add", {make("Mul", {a, sine}), make("Mul", {b, cosine})});
  std::string y;
  if (is_mixed) {
    auto const last = make.whole({4});
    y = make("Concat", {make("Unsqueeze", {real, last}), make("Unsqueeze", {other, last})}, {{"axis", 4}});
    y = make("Reshape", {y, make.whole({0, 0, static_cast<double>(heads), static_cast<double>(turned)})});
  } else {
    y = make("Concat", {real, other}, {{"axis", 3}});
  }
  if (turned < width) y = make("Concat", {y, part(x, turned, width)}, {{"axis", 3}});
  to.set_alias(
      node,
      rank == 4 ? make.turned(y, {0, 2, 1, 3}) : make("Reshape", {y, make.whole({0, 0, static_cast<double>(all)})}), 0);
}

/// A convolution of each channel over the last steps, which begin with those of the call before.
void causal_convolution(trace& to, onnx_node const& node) {
  node_maker const make(to, node);
  if (to.tensor(node, 0).rank != 3 || !has_input(node, 1)) throw unsupported("has an input of other than three axes");
  auto const channels = to.length_of(node, 0, 1), steps = to.length_of(node, 0, 2);
  auto const weight =
      to.is_tensor(node, 1)
          ? std::vector<std::int64_t>{to.length_of(node, 1, 0), to.length_of(node, 1, 1), to.length_of(node, 1, 2)}
          : to.required(node, 1).shape;
  if (weight.size() != 3 || weight[0] != channels || weight[1] != 1 || weight[2] < 1 || weight[2] > 64)
    throw unsupported("has a kernel that does not fit its input");
  auto const activation = node.text("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish")
    throw unsupported("has an activation that is not here");
  auto const size = weight[2], wide = static_cast<std::int64_t>(steps) + size - 1;
  auto const part = [&](std::string const& x, std::int64_t begin, std::int64_t end) {
    return make("Slice",
                {x, make.whole({static_cast<double>(begin)}), make.whole({static_cast<double>(end)}), make.whole({2})});
  };
  auto x = node.inputs[0];
  if (size > 1 && has_input(node, 3)) x = make("Concat", {node.inputs[3], x}, {{"axis", 2}});
  if (size > 1 && !has_input(node, 3))
    x = make("Pad", {x, make.whole({static_cast<double>(size - 1), 0}), "", make.whole({2})});
  std::string y;
  auto const kernel =
      make("Reshape", {node.inputs[1], make.whole({1, static_cast<double>(channels), static_cast<double>(size)})});
  for (std::int64_t k = 0; k < size; ++k) {
    auto const product =
        make("Mul", {size == 1 ? x : part(x, k, k + steps), size == 1 ? kernel : part(kernel, k, k + 1)});
    y = y.empty() ? product : make("Add", {y, product});
  }
  if (has_input(node, 2))
    y = make("Add", {y, make("Reshape", {node.inputs[2], make.whole({1, static_cast<double>(channels), 1})})});
  if (activation != "none") y = make("Mul", {y, make("Sigmoid", {y})});
  to.set_alias(node, y, 0);
  if (node.outputs.size() > 1 && to.is_taken(node.outputs[1])) {
    if (size == 1) throw unsupported("returns a state without elements");
    to.set_alias(node, part(x, wide - size + 1, wide), 1);
  }
}

/// Ones on a diagonal.
void eye_like(trace& to, onnx_node const& node) {
  if (to.tensor(node, 0).rank != 2) throw unsupported("has an input of other than two axes");
  auto const rows = to.length_of(node, 0, 0), columns = to.length_of(node, 0, 1), k = node.integer("k", 0);
  if (rows * columns > most_weights || k < -most_weights || k > most_weights)
    throw unsupported("has lengths that are not here");
  onnx_constant made{{rows, columns}, {}, true};
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) made.values.push_back(j - i == k ? 1 : 0);
  to.set_constant(node, std::move(made));
}

/// a times the sigmoid of alpha a, times b.
void gated(trace& to, onnx_node const& node) {
  node_maker const make(to, node);
  if (!has_input(node, 0) || !has_input(node, 1)) throw unsupported("lacks inputs");
  auto const alpha = static_cast<double>(node.real("alpha", 1));
  auto const& a = node.inputs[0];
  auto const gate = make("Sigmoid", {alpha == 1 ? a : make("Mul", {a, make.real(alpha)})});
  to.set_alias(node, make("Mul", {make("Mul", {a, gate}), node.inputs[1]}), 0);
}

/// The difference from the mean along axes, divided by the standard deviation.
void mean_variance(trace& to, onnx_node const& node) {
  node_maker const make(to, node);
  std::vector<double> axes;
  for (auto const each : node.integers("axes", {0, 2, 3})) axes.push_back(static_cast<double>(each));
  auto const along = make.whole(axes);
  auto const apart = make("Sub", {node.inputs.at(0), make("ReduceMean", {node.inputs[0], along})});
  auto const variance = make("ReduceMean", {make("Mul", {apart, apart}), along});
  // The definition adds this number to the deviation.
  auto const deviation = make("Add", {make("Sqrt", {variance}), make.real(1e-9)});
  to.set_alias(node, make("Div", {apart, deviation}), 0);
}

}  // namespace

void add_transform_operations(std::map<std::string, onnx_converter>& to) {
  to["DFT"] = discrete_fourier, to["STFT"] = short_time_fourier, to["Col2Im"] = columns_to_image;
  to["RotaryEmbedding"] = rotary_embedding, to["CausalConvWithState"] = causal_convolution;
  to["EyeLike"] = eye_like, to["SwiGLU"] = gated, to["MeanVarianceNormalization"] = mean_variance;
}

}  // namespace stagecraft::tool
