// SPDX-License-Identifier: BSD-3-Clause
// Converts ONNX's recurrent layers. Their gates are in another order than Keras's, and each has two biases.
#include "onnx_trace.hpp"

#include <algorithm>

namespace stagecraft::tool {

namespace {

using trace = onnx_trace;

/// The part of one direction in an array whose first axis counts directions.
onnx_constant part_of(onnx_constant const& from, std::size_t direction) {
  onnx_constant result{{from.shape.begin() + 1, from.shape.end()}, {}, false};
  auto const size = from.values.size() / static_cast<std::size_t>(from.shape[0]);
  auto const first = from.values.begin() + static_cast<std::ptrdiff_t>(direction * size);
  result.values.assign(first, first + static_cast<std::ptrdiff_t>(size));
  return result;
}

/// Rows of gates in another order: (gates * units, n).
onnx_constant reordered(onnx_constant const& from, std::vector<std::size_t> const& gates) {
  auto result = from;
  auto const size = from.values.size() / gates.size();
  for (std::size_t i = 0; i < gates.size(); ++i)
    std::copy_n(from.values.begin() + static_cast<std::ptrdiff_t>(gates[i] * size), size,
                result.values.begin() + static_cast<std::ptrdiff_t>(i * size));
  return result;
}

struct recurrent_kind {
  std::string layer;
  std::vector<std::size_t> gates;  ///< for each of Keras's gates, the place of ONNX's
  std::vector<std::string> activations;
};

recurrent_kind kind_of(onnx_node const& node) {
  if (node.type == "LSTM") return {"LSTM", {0, 2, 3, 1}, {"Sigmoid", "Tanh", "Tanh"}};
  if (node.type == "GRU") return {"GRU", {0, 1, 2}, {"Sigmoid", "Tanh"}};
  return {"SimpleRNN", {0}, {"Tanh"}};
}

/// Keras's kernel, recurrent kernel and bias.
std::vector<onnx_constant> weights_of(onnx_node const& node, recurrent_kind const& kind, onnx_constant const& input,
                                      onnx_constant const& recurrent, std::optional<onnx_constant> const& biases,
                                      bool resets_after) {
  std::vector<onnx_constant> result{transposed(reordered(input, kind.gates), {1, 0}),
                                    transposed(reordered(recurrent, kind.gates), {1, 0})};
  auto const rows = input.shape[0];
  onnx_constant both{{2, rows}, std::vector<double>(static_cast<std::size_t>(2 * rows), 0), false};
  if (biases) {
    if (biases->values.size() != both.values.size()) throw unsupported("has biases that do not fit its kernels");
    for (std::size_t k = 0; k < 2; ++k) {
      auto half = onnx_constant{{rows}, {}, false};
      auto const first = biases->values.begin() + static_cast<std::ptrdiff_t>(k) * rows;
      half.values.assign(first, first + rows);
      half = reordered(half, kind.gates);
      std::copy(half.values.begin(), half.values.end(), both.values.begin() + static_cast<std::ptrdiff_t>(k) * rows);
    }
  }
  if (node.type == "GRU" && resets_after) {
    result.push_back(both);
    return result;
  }
  onnx_constant sum{{rows}, {}, false};
  for (std::size_t i = 0; i < static_cast<std::size_t>(rows); ++i)
    sum.values.push_back(both.values[i] + both.values[i + static_cast<std::size_t>(rows)]);
  result.push_back(sum);
  return result;
}

/// The last state of each direction, taken from all steps: of one that goes backwards it is at the first.
void set_last(trace& to, onnx_node const& node, traced_tensor const& steps, bool is_both, bool is_batch_first) {
  int const last = steps.lengths[0] - 1, units = steps.lengths[1] / (is_both ? 2 : 1);
  operation_code const code = [=](std::vector<source_text> const& x) {
    auto const forward = "ops.slice("_cpp + x[0] + ", 1, " + number_text(last) + ", 1)";
    if (!is_both) return "ops.reshape("_cpp + forward + ", {" + x[0] + ".length(0), " + number_text(units) + "})";
    auto const half = [&](source_text const& of, int first) {
      return "ops.slice("_cpp + of + ", 2, " + number_text(first) + ", " + number_text(units) + ")";
    };
    return "ops.concatenate({"_cpp + half(forward, 0) + ", " + half("ops.slice("_cpp + x[0] + ", 1, 0, 1)", units) +
           "}, 1)";
  };
  auto y = to.operate({"last_state", code}, {steps}, is_both ? std::vector{2, units} : std::vector{units});
  y.rank = 3;
  y.order = is_batch_first ? (is_both ? std::vector{0, 1, 2} : std::vector{0, 2})
                           : (is_both ? std::vector{1, 0, 2} : std::vector{1, 2});
  to.set(node, y, 1);
}

void recurrent(trace& to, onnx_node const& node) {
  auto const kind = kind_of(node);
  auto const direction = node.text("direction", "forward");
  bool const is_both = direction == "bidirectional";
  if (!is_both && direction != "forward") throw unsupported("goes backwards only");
  std::vector<std::string> activations = kind.activations;
  if (auto const* given = node.find("activations")) {
    if (is_both) activations.insert(activations.end(), kind.activations.begin(), kind.activations.end());
    if (!given->texts.empty() && given->texts != activations) throw unsupported("has other activations than Keras's");
  }
  if (node.find("clip") != nullptr || node.integer("input_forget", 0) != 0)
    throw unsupported("clips, or couples gates");
  if (node.inputs.size() > 4 && !node.inputs[4].empty()) throw unsupported("is given the lengths of its sequences");
  for (std::size_t i = 5; i < node.inputs.size(); ++i) {
    auto const state = to.constant(node, i);
    if (state && std::any_of(state->values.begin(), state->values.end(), [](double v) { return v != 0; }))
      throw unsupported(i == 7 ? "has peepholes" : "begins with a state other than zeros");
  }
  bool const is_batch_first = node.integer("layout", 0) != 0;
  auto const& given = to.tensor(node, 0);
  if (given.rank != 3) throw unsupported("has an input that is no sequence");
  auto const x = is_batch_first ? to.ordered(given, {0, 1, 2}) : to.ordered(given, {1, 0, 2});
  auto const input = to.required(node, 1), state = to.required(node, 2);
  auto const biases = to.constant(node, 3);
  auto const gates = static_cast<std::int64_t>(kind.gates.size());
  std::int64_t const directions = is_both ? 2 : 1;
  std::int64_t const units = state.shape.size() == 3 ? state.shape[2] : 0;
  constexpr std::int64_t most_units = 1 << 24;
  if (units < 1 || units > most_units ||
      input.shape != std::vector<std::int64_t>{directions, gates * units, x.lengths[1]} ||
      state.shape != std::vector<std::int64_t>{directions, gates * units, units} || (biases && biases->shape.empty()) ||
      (biases && biases->shape[0] != directions))
    throw unsupported("has kernels that do not fit its input");
  if (node.integer("hidden_size", units) != units) throw unsupported("has a hidden_size that is not its kernels'");
  if (auto const layout = node.integer("layout", 0); layout != 0 && layout != 1)
    throw unsupported("has a layout that is not known");
  bool const resets_after = node.integer("linear_before_reset", 0) != 0;

  auto const takes = [&](std::size_t output) {
    return output < node.outputs.size() && !node.outputs[output].empty() && to.is_taken(node.outputs[output]);
  };
  bool const gives_steps = takes(0);
  if (takes(2)) throw unsupported("gives the state of its cells");
  bool const gives_both = gives_steps && takes(1);
  json config{{"units", units}, {"return_sequences", gives_steps}};
  if (node.type == "GRU") config["reset_after"] = resets_after;
  std::vector<onnx_constant> weights;
  for (std::size_t d = 0; d < static_cast<std::size_t>(directions); ++d)
    for (auto& each : weights_of(node, kind, part_of(input, d), part_of(state, d),
                                 biases ? std::optional(part_of(*biases, d)) : std::nullopt, resets_after))
      weights.push_back(std::move(each));
  auto const name = to.name_of(node, "");
  if (!is_both) {
    auto y = to.call(kind.layer, config, {x}, weights, name);
    // (time, directions, samples, units), or (directions, samples, units); batch first: (samples, time, directions,
    // units).
    if (gives_steps)
      y.rank = 4, y.order = is_batch_first ? std::vector{0, 1, 3} : std::vector{2, 0, 3};
    else
      y.rank = 3, y.order = is_batch_first ? std::vector{0, 2} : std::vector{1, 2};
    to.set(node, y, gives_steps ? 0 : 1);
    if (gives_both) set_last(to, node, y, false, is_batch_first);
    return;
  }
  config["name"] = "forward", config["return_sequences"] = true;
  auto y =
      to.call("Bidirectional", {{"layer", {{"class_name", kind.layer}, {"config", config}}}, {"merge_mode", "concat"}},
              {x}, weights, name);
  y.rank = 4, y.order = is_batch_first ? std::vector{0, 1, 3} : std::vector{2, 0, 3};
  y.fused_axis = is_batch_first ? 2 : 1;
  if (gives_steps) to.set(node, y);
  if (!gives_steps || gives_both) set_last(to, node, y, true, is_batch_first);
}

}  // namespace

void add_recurrent_converters(std::map<std::string, onnx_converter>& to) {
  to["LSTM"] = to["GRU"] = to["RNN"] = recurrent;
}

}  // namespace stagecraft::tool
