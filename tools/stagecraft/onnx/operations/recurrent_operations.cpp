// SPDX-License-Identifier: BSD-3-Clause
// Converts ONNX's recurrent layers that Keras's cannot express: given states, the state of cells as an output, the
// backward direction alone, other activations, clipped or coupled gates, peepholes.
#include "operation_nodes.hpp"

#include <algorithm>
#include <array>

namespace stagecraft::tool {

namespace {

using trace = onnx_trace;
using operands = std::vector<source_text>;

/// The function that an activation's name stands for.
own_text function_of(std::string const& name) {
  if (name == "Sigmoid") return "sigmoid";
  if (name == "Tanh") return "tanh";
  if (name == "Relu") return "sc::relu";
  if (name == "Softsign") return "sc::softsign";
  if (name == "Softplus") return "softplus";
  if (name == "Elu") return "sc::elu";
  throw unsupported("has an activation that is not here");
}

/// The part of one direction in an array whose first axis counts directions, as a matrix (columns, rows) or a row.
onnx_constant part_of(onnx_constant const& from, int direction) {
  onnx_constant result{{from.shape.begin() + 1, from.shape.end()}, {}, false};
  auto const size = from.values.size() / static_cast<std::size_t>(from.shape[0]);
  auto const first = from.values.begin() + static_cast<std::ptrdiff_t>(at(direction) * size);
  result.values.assign(first, first + static_cast<std::ptrdiff_t>(size));
  return result.shape.size() == 2 ? transposed(result, {1, 0}) : result;
}

struct recurrent_node {
  std::string type;
  int units = 0, directions = 1, steps = 1, axis = 1;  ///< axis: that of steps here
  bool is_backward = false, is_batch_first = false, resets_after = false, is_coupled = false;
  float clip = 0;
  std::vector<std::string> activations;  ///< names of the first direction, then of the second
  [[nodiscard]] int gates() const { return type == "LSTM" ? 4 : type == "GRU" ? 3 : 1; }
};

recurrent_node description_of(trace& to, onnx_node const& node) {
  recurrent_node made;
  made.type = node.type;
  auto const direction = node.text("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    throw unsupported("has a direction that is not known");
  made.directions = direction == "bidirectional" ? 2 : 1, made.is_backward = direction == "reverse";
  made.is_batch_first = node.integer("layout", 0) != 0;
  made.resets_after = node.integer("linear_before_reset", 0) != 0;
  made.is_coupled = node.integer("input_forget", 0) != 0;
  made.clip = node.real("clip", 0);
  made.axis = to.is_one_sample() ? 2 : 1;
  std::vector<std::string> const by_default = node.type == "LSTM"  ? std::vector<std::string>{"Sigmoid", "Tanh", "Tanh"}
                                              : node.type == "GRU" ? std::vector<std::string>{"Sigmoid", "Tanh"}
                                                                   : std::vector<std::string>{"Tanh"};
  auto const* const given = node.find("activations");
  made.activations = given != nullptr && !given->texts.empty() ? given->texts : by_default;
  if (made.activations.size() == by_default.size() && made.directions == 2)
    made.activations.insert(made.activations.end(), by_default.begin(), by_default.end());
  if (made.activations.size() != by_default.size() * at(made.directions))
    throw unsupported("has another number of activations than gates");
  return made;
}

/// Code for the states after one step: the rest of a lambda over `gates`, which is what the input adds to the gates,
/// and `state`.
source_text step_of(recurrent_node const& of, int direction, source_text const& kernel, source_text const& peepholes,
                    source_text const& reset_bias) {
  auto const count = of.activations.size() / at(of.directions);
  auto const activate = [&](std::size_t which, source_text const& x) {
    auto const name = function_of(of.activations[at(direction) * count + which]);
    auto const clipped =
        of.clip == 0 ? x : "clip("_cpp + x + ", " + float_text(-of.clip) + ", " + float_text(of.clip) + ")";
    return source_text(name) + "(" + clipped + ")";
  };
  auto const units = number_text(of.units);
  auto const part = [&](source_text const& whole, int gate) {
    return "ops.slice("_cpp + whole + ", -1, " + number_text(gate * of.units) + ", " + units + ")";
  };
  auto const sum = "auto const sum = gates + ops.matmul(state[0], "_cpp + kernel + "); "_cpp;
  if (of.type == "RNN") return sum + "return std::array{" + activate(0, "sum"_cpp) + "};";
  if (of.type == "GRU") {
    auto const two = "ops.slice("_cpp + kernel + ", -1, 0, " + number_text(2 * of.units) + ")";
    auto const last = "ops.slice("_cpp + kernel + ", -1, " + number_text(2 * of.units) + ", " + units + ")";
    auto text = "auto const sum = ops.slice(gates, -1, 0, "_cpp + number_text(2 * of.units) +
                ") + ops.matmul(state[0], " + two + "); ";
    text += "auto const update = "_cpp + activate(0, part("sum"_cpp, 0)) + "; ";
    text += "auto const reset = "_cpp + activate(0, part("sum"_cpp, 1)) + "; ";
    auto const inner = of.resets_after ? "reset * (ops.matmul(state[0], "_cpp + last + ") + " + reset_bias + ")"
                                       : "ops.matmul(reset * state[0], "_cpp + last + ")";
    text += "auto const hidden = "_cpp + activate(1, part("gates"_cpp, 2) + " + " + inner) + "; ";
    return text + "return std::array{(1.0F - update) * hidden + update * state[0]};";
  }
  auto const hole = [&](int gate, source_text const& cell) {
    return peepholes.empty() ? ""_cpp : " + "_cpp + part(peepholes, gate) + " * " + cell;
  };
  auto text = sum + "auto const open = " + activate(0, part("sum"_cpp, 0) + hole(0, "state[1]"_cpp)) + "; ";
  text += of.is_coupled ? "auto const kept = 1.0F - open; "_cpp
                        : "auto const kept = "_cpp + activate(0, part("sum"_cpp, 2) + hole(2, "state[1]"_cpp)) + "; ";
  text += "auto const cell = kept * state[1] + open * "_cpp + activate(1, part("sum"_cpp, 3)) + "; ";
  text += "auto const shown = "_cpp + activate(0, part("sum"_cpp, 1) + hole(1, "cell"_cpp)) + "; ";
  auto const shown = source_text(function_of(of.activations[at(direction) * count + 2]));
  return text + "return std::array{shown * " + shown + "(cell), cell};";
}

/// A first state that the node is given, or zeros: its tensor, its constant, and its code for a direction.
struct first_state {
  std::optional<traced_tensor> tensor;
  std::optional<onnx_constant> constant;
};

first_state state_of(trace& to, onnx_node const& node, std::size_t input, recurrent_node const& of) {
  first_state result;
  if (input >= node.inputs.size() || node.inputs[input].empty()) return result;
  if (to.is_tensor(node, input)) {
    std::vector<int> order = of.is_batch_first ? std::vector{0, 1, 2} : std::vector{1, 0, 2};
    if (to.is_one_sample()) order.insert(order.begin(), no_axis);
    result.tensor = to.ordered(to.complete(to.tensor(node, input)), order);
    auto const& lengths = result.tensor->lengths;
    if (lengths.back() != of.units || lengths[lengths.size() - 2] != of.directions)
      throw unsupported("has a state that does not fit its units");
    return result;
  }
  auto const given = to.required(node, input);
  if (std::all_of(given.values.begin(), given.values.end(), [](double v) { return v == 0; })) return result;
  if (given.shape.size() != 3 || given.shape[2] != of.units)
    throw unsupported("has a state that does not fit its units");
  result.constant = of.is_batch_first ? transposed(given, {1, 0, 2}) : given;
  if (result.constant->shape[0] != of.directions || (!to.is_one_sample() && result.constant->shape[1] != 1))
    throw unsupported("begins with a state for each sample");
  return result;
}

/// The states after each step in one direction, side by side: (samples, steps, units); twice as many units for an LSTM.
traced_tensor run_direction(trace& to, onnx_node const& node, recurrent_node const& of, traced_tensor const& x,
                            int direction) {
  auto const kernel = to.required(node, 1), recurrent = to.required(node, 2);
  auto const biases = to.constant(node, 3), holes = to.constant(node, 7);
  auto const rows = std::int64_t{of.gates()} * of.units;
  if (kernel.shape != std::vector<std::int64_t>{of.directions, rows, x.lengths.back()} ||
      recurrent.shape != std::vector<std::int64_t>{of.directions, rows, of.units} ||
      (biases && biases->shape != std::vector<std::int64_t>{of.directions, 2 * rows}) ||
      (holes && holes->shape != std::vector<std::int64_t>{of.directions, 3 * std::int64_t{of.units}}))
    throw unsupported("has kernels that do not fit its input");
  bool const is_lstm = of.type == "LSTM", is_back = of.is_backward || direction == 1;
  traced_operation made{"recurrence", {}};
  std::vector<traced_tensor> tensors{x};
  std::array<first_state, 2> const states{state_of(to, node, 5, of),
                                          is_lstm ? state_of(to, node, 6, of) : first_state()};
  for (auto const& each : states)
    if (each.tensor) tensors.push_back(*each.tensor);
  auto const add = [&](onnx_constant constant, char const* name) {
    made.constants.push_back(std::move(constant)), made.names.emplace_back(name);
    return tensors.size() + made.constants.size() - 1;
  };
  auto const kernel_at = add(part_of(kernel, direction), "kernel"),
             recurrent_at = add(part_of(recurrent, direction), "recurrent_kernel");
  auto both = biases ? part_of(*biases, direction).values : std::vector<double>(at(static_cast<int>(2 * rows)), 0);
  onnx_constant sum{{rows}, {}, false}, apart{{of.units}, {}, false};
  bool const keeps_apart = of.type == "GRU" && of.resets_after;
  for (std::int64_t i = 0; i < rows; ++i) {
    bool const is_apart = keeps_apart && i >= 2 * std::int64_t{of.units};
    auto const own = both[static_cast<std::size_t>(i)], other = both[static_cast<std::size_t>(i + rows)];
    sum.values.push_back(is_apart ? own : own + other);
    if (is_apart) apart.values.push_back(other);
  }
  auto const bias_at = add(std::move(sum), "bias");
  auto const apart_at = keeps_apart ? add(std::move(apart), "recurrent_bias") : 0;
  auto const holes_at = holes ? add(part_of(*holes, direction), "peepholes") : 0;
  std::array<std::size_t, 2> constant_at{};
  for (std::size_t i = 0; i < 2; ++i) {
    if (!states[i].constant) continue;
    auto whole = *states[i].constant;
    auto part = onnx_constant{{whole.shape[1], whole.shape[2]}, {}, false};
    auto const size = static_cast<std::ptrdiff_t>(whole.shape[1] * whole.shape[2]);
    part.values.assign(whole.values.begin() + direction * size, whole.values.begin() + (direction + 1) * size);
    constant_at[i] = add(std::move(part), i == 0 ? "first_state" : "first_cell");
  }
  std::vector<int> of_state(x.lengths.begin(), x.lengths.end() - 2);
  of_state.push_back(of.units);
  int const axis = of.axis;
  made.code = [=](operands const& o) {
    auto const shape = shape_text(o[0], of_state);
    std::size_t next = 1;
    auto const first = [&](std::size_t i) {
      if (states[i].tensor)
        return "ops.reshape(ops.slice("_cpp + o[next++] + ", " + number_text(axis) + ", " + number_text(direction) +
               ", 1), " + shape + ")";
      if (states[i].constant) return "ops.broadcast("_cpp + o[constant_at[i]] + ", " + shape + ")";
      return "ops.full("_cpp + shape + ", 0.0F)";
    };
    auto states_text = first(0);
    if (is_lstm) states_text += ", "_cpp + first(1);
    auto const step = step_of(of, direction, o[recurrent_at], holes_at > 0 ? o[holes_at] : source_text(),
                              apart_at > 0 ? o[apart_at] : source_text());
    auto text = "[&] { auto const done = ops.scan(ops.matmul("_cpp + o[0] + ", " + o[kernel_at] + ") + " + o[bias_at] +
                ", " + number_text(axis) + ", std::array{" + states_text + "}, [&](auto gates, auto const& state) { " +
                step + " }" + (is_back ? ", true"_cpp : ""_cpp) + "); ";
    auto const all = is_lstm ? "ops.concatenate({done.all[0], done.all[1]}, -1)"_cpp : "done.all[0]"_cpp;
    text += "return "_cpp + (is_back ? "ops.flip("_cpp + all + ", " + number_text(axis) + ")" : all) + "; }()";
    return text;
  };
  auto lengths = x.lengths;
  lengths.back() = of.units * (is_lstm ? 2 : 1);
  return to.operate(std::move(made), tensors, lengths);
}

/// Sets one of the outputs: all steps or the last one, of the states or of the cells, of all directions.
void set_output(trace& to, onnx_node const& node, recurrent_node const& of, std::vector<traced_tensor> const& all,
                std::size_t output) {
  bool const is_last = output > 0, is_cell = output == 2;
  int const axis = of.axis, units = of.units, steps = of.steps;
  auto const count = of.directions;
  std::vector<int> lengths(all[0].lengths.begin(), all[0].lengths.end() - 1);
  if (is_last) lengths.pop_back();
  if (count == 2) lengths.push_back(2);
  lengths.push_back(units);
  bool const is_wide = of.type == "LSTM", is_backward = of.is_backward;
  auto y = to.operate({is_last ? own_text("last_state") : own_text("states"),
                       [=](operands const& o) {
                         operands parts;
                         for (int d = 0; d < count; ++d) {
                           auto text = o[at(d)];
                           if (is_last)
                             text = "ops.slice("_cpp + text + ", " + number_text(axis) + ", " +
                                    number_text(d == 1 || is_backward ? 0 : steps - 1) + ", 1)";
                           if (is_wide)
                             text = "ops.slice("_cpp + text + ", -1, " + number_text(is_cell ? units : 0) + ", " +
                                    number_text(units) + ")";
                           parts.push_back(text);
                         }
                         auto const joined =
                             count == 1 ? parts[0] : "ops.concatenate({"_cpp + comma_list(parts) + "}, -1)";
                         return "ops.reshape("_cpp + joined + ", " + shape_text(o[0], lengths) + ")";
                       }},
                      all, lengths);
  // (steps, directions, samples, units), or (directions, samples, units); samples first: (samples, steps, directions,
  // units), or (samples, directions, units).
  if (is_last)
    y.order = of.is_batch_first ? std::vector{0, 1, 2} : std::vector{1, 0, 2};
  else
    y.order = of.is_batch_first ? std::vector{0, 1, 2, 3} : std::vector{2, 0, 1, 3};
  if (count == 1) y.order.erase(y.order.end() - 2);
  if (to.is_one_sample()) y.order.insert(y.order.begin(), no_axis);
  y.rank = is_last ? 3 : 4;
  to.set(node, y, output);
}

void recurrence(trace& to, onnx_node const& node) {
  auto of = description_of(to, node);
  auto const kernel = to.required(node, 2);
  constexpr std::int64_t most_units = 1 << 20;
  if (kernel.shape.size() != 3 || kernel.shape[2] < 1 || kernel.shape[2] > most_units)
    throw unsupported("has kernels that do not fit its input");
  of.units = static_cast<int>(kernel.shape[2]);
  if (node.integer("hidden_size", of.units) != of.units)
    throw unsupported("has a hidden_size that is not its kernels'");
  std::vector<int> order = of.is_batch_first ? std::vector{0, 1, 2} : std::vector{1, 0, 2};
  if (to.is_one_sample()) order.insert(order.begin(), no_axis);
  auto const given = to.complete(to.tensor(node, 0));
  if (given.rank != 3) throw unsupported("has an input that is no sequence");
  auto const x = to.ordered(given, order);
  of.steps = x.lengths[x.lengths.size() - 2];
  if (auto const counts = to.constant(node, 4);
      counts && std::any_of(counts->values.begin(), counts->values.end(), [&](double n) { return n != of.steps; }))
    throw unsupported("is given the lengths of its sequences");
  std::vector<traced_tensor> all;
  for (int d = 0; d < of.directions; ++d) all.push_back(run_direction(to, node, of, x, d));
  for (std::size_t i = 0; i < node.outputs.size(); ++i)
    if (!node.outputs[i].empty() && to.is_taken(node.outputs[i])) set_output(to, node, of, all, i);
}

}  // namespace

void add_recurrent_operations(std::map<std::string, onnx_converter>& to) {
  for (char const* const type : {"LSTM", "GRU", "RNN"}) to[type] = either(to.at(type), recurrence);
}

}  // namespace stagecraft::tool
