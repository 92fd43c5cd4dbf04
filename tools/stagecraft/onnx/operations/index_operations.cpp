// SPDX-License-Identifier: BSD-3-Clause
// Converts ONNX's nodes that read and write at places named by tensors or constants, and those that sort elements.
#include "made_nodes.hpp"

#include <algorithm>
#include <numeric>

namespace stagecraft::tool {

namespace {

using trace = onnx_trace;
using operands = std::vector<source_text>;

/// An input of a node that is a tensor or a constant, with its axes in order; `index` is the number of its operand.
struct taken_input {
  std::vector<int> lengths{};
  std::size_t index = 0;
  bool is_constant = false;
  /// The operand with an axis of samples that is as long as the first operand's.
  [[nodiscard]] source_text text(operands const& x) const {
    return is_constant ? "ops.broadcast("_cpp + x[index] + ", " + shape_text(x[0], lengths) + ")" : x[index];
  }
};

/// The tensors of a node in the graph's order, then its constants. The first input that is a tensor is the first
/// operand.
struct taken_node {
  std::vector<traced_tensor> tensors{};
  std::vector<onnx_constant> constants{};
  std::vector<std::string> names{};
  std::vector<taken_input> inputs{};

  [[nodiscard]] traced_operation operation(own_text word, operation_code code) const {
    return {word, std::move(code), constants, names};
  }
};

taken_node take_in_order(trace& to, onnx_node const& node, std::size_t count) {
  taken_node result;
  for (std::size_t i = 0; i < count; ++i) {
    taken_input one;
    one.is_constant = !to.is_tensor(node, i);
    if (!one.is_constant) {
      auto const x = to.complete_in_order(to.tensor(node, i));
      one.lengths = x.lengths, one.index = result.tensors.size();
      result.tensors.push_back(x);
    } else {
      auto constant = to.required(node, i);
      check_floats(constant);
      if (!to.is_one_sample()) {
        if (constant.shape.empty() || constant.shape[0] != 1)
          throw unsupported("has a constant with a row for each sample");
        constant.shape.erase(constant.shape.begin());
      }
      if (constant.shape.empty()) constant.shape.push_back(1);
      for (auto const length : constant.shape) {
        if (length < 1 || length > (1 << 24)) throw unsupported("has a constant without elements");
        one.lengths.push_back(static_cast<int>(length));
      }
      one.index = result.constants.size();
      result.constants.push_back(std::move(constant)), result.names.push_back(constant_name(node.inputs[i]));
    }
    result.inputs.push_back(std::move(one));
  }
  if (result.tensors.empty()) throw unsupported("is of constants alone, and is not computed");
  for (auto& each : result.inputs)
    if (each.is_constant) each.index += result.tensors.size();
  return result;
}

/// The place of one of the graph's axes in operands in order.
int place_in_order(trace const& to, std::int64_t axis, taken_input const& of) {
  int const samples = to.is_one_sample() ? 0 : 1;
  int const found = axis_of(axis, static_cast<int>(of.lengths.size()) + samples);
  if (found < samples) throw unsupported("is along samples, which stay apart here");
  return found + 1 - samples;
}

void set_in_order(trace& to, onnx_node const& node, traced_tensor y, element_kind elements = element_kind::real) {
  y.elements = elements;
  to.set(node, y);
}

element_kind kind_of(trace& to, onnx_node const& node, std::size_t input) {
  return to.is_tensor(node, input) ? to.tensor(node, input).elements : element_kind::real;
}

void gather_elements(trace& to, onnx_node const& node) {
  auto const in = take_in_order(to, node, 2);
  int const place = place_in_order(to, node.integer("axis", 0), in.inputs[0]);
  auto const data = in.inputs[0], places = in.inputs[1];
  for (std::size_t i = 0; i < data.lengths.size(); ++i)
    if (data.lengths.size() != places.lengths.size() || (i + 1 != at(place) && data.lengths[i] != places.lengths[i]))
      throw unsupported("names other places than its input has");
  set_in_order(to, node,
               to.operate(in.operation("picked",
                                       [=](operands const& x) {
                                         return "ops.take_along_axis("_cpp + data.text(x) + ", " + places.text(x) +
                                                ", " + number_text(place) + ")";
                                       }),
                          in.tensors, places.lengths),
               kind_of(to, node, 0));
}

/// Checks elements, or rows, that are written at places: only of constants is it known that they name each place once.
void check_places(trace& to, onnx_node const& node, std::string const& reduction, std::size_t width, int axis,
                  std::vector<int> const& lengths) {
  if (reduction == "add") return;
  if (reduction != "none") throw unsupported("has the reduction '" + reduction + "', which is not here");
  auto const places = to.constant(node, 1);
  if (!places) throw unsupported("may name a place twice");
  auto const rank = places->shape.size();
  std::set<std::vector<std::int64_t>> seen;
  std::vector<std::int64_t> index(rank);
  auto const values = places->integers();
  for (std::size_t i = 0; i < values.size(); i += width) {
    std::vector<std::int64_t> key;
    for (std::size_t k = 0; k < width; ++k) {
      auto const axis_of_key = axis >= 0 ? at(axis) - (to.is_one_sample() ? 0 : 1) : k;
      if (axis_of_key >= lengths.size()) throw unsupported("names more axes than its input has");
      key.push_back(axis_of(values[i + k], lengths[axis_of_key]));  // -1 is the last place
    }
    if (width == 1 && axis >= 0) {
      auto rest = static_cast<std::int64_t>(i);
      for (std::size_t k = rank; k-- > 0; rest /= places->shape[k]) index[k] = rest % places->shape[k];
      auto own = index;
      own[at(axis)] = key[0];
      key = own;
    }
    if (!seen.insert(key).second) throw unsupported("names a place twice");
  }
}

void scatter_elements(trace& to, onnx_node const& node) {
  auto const reduction = node.text("reduction", "none");
  auto const in = take_in_order(to, node, 3);
  auto const data = in.inputs[0], places = in.inputs[1], values = in.inputs[2];
  int const place = place_in_order(to, node.integer("axis", 0), data);
  check_places(to, node, reduction, 1, to.is_one_sample() ? place - 1 : place, data.lengths);
  for (std::size_t i = 0; i < data.lengths.size(); ++i)
    if (data.lengths.size() != places.lengths.size() || places.lengths != values.lengths ||
        (i + 1 != at(place) && data.lengths[i] != places.lengths[i]))
      throw unsupported("names other places than its input has");
  bool const adds = reduction == "add";
  set_in_order(to, node,
               to.operate(in.operation("replaced",
                                       [=](operands const& x) {
                                         return "ops.put_along_axis("_cpp + data.text(x) + ", " + places.text(x) +
                                                ", " + values.text(x) + ", " + number_text(place) +
                                                (adds ? ", true)"_cpp : ")"_cpp);
                                       }),
                          in.tensors, data.lengths),
               kind_of(to, node, 0));
}

/// The number of axes before the places that rows of indices name, the axis of samples included.
int axes_before(trace const& to, onnx_node const& node) {
  auto const before = node.integer("batch_dims", 0);
  int const samples = to.is_one_sample() ? 0 : 1;
  if (before < samples || before > 6) throw unsupported("is along samples, which stay apart here");
  return static_cast<int>(before) + 1 - samples;
}

void gather_nd(trace& to, onnx_node const& node) {
  auto const in = take_in_order(to, node, 2);
  auto const data = in.inputs[0], places = in.inputs[1];
  int const before = axes_before(to, node), width = places.lengths.back();
  if (at(before - 1 + width) > data.lengths.size()) throw unsupported("names more axes than its input has");
  std::vector<int> lengths(places.lengths.begin(), places.lengths.end() - 1);
  lengths.insert(lengths.end(), data.lengths.begin() + before - 1 + width, data.lengths.end());
  bool const is_number = lengths.empty();
  if (is_number) lengths.push_back(1);
  auto y = to.operate(
      in.operation("rows",
                   [=](operands const& x) {
                     auto const text =
                         "ops.gather_nd("_cpp + data.text(x) + ", " + places.text(x) + ", " + number_text(before) + ")";
                     return is_number ? "ops.reshape("_cpp + text + ", " + shape_text(x[0], lengths) + ")" : text;
                   }),
      in.tensors, lengths);
  if (is_number) y.rank = 0, y.order = {no_axis, unit_axis};
  set_in_order(to, node, y, kind_of(to, node, 0));
}

/// Reads the rows of a tensor or a table that indices name.
void gather(trace& to, onnx_node const& node) {
  auto const in = take_in_order(to, node, 2);
  auto const data = in.inputs[0], places = in.inputs[1];
  if (!to.is_one_sample()) throw unsupported("takes places that differ from sample to sample");
  int const place = place_in_order(to, node.integer("axis", 0), data);
  bool const is_number = to.is_tensor(node, 1) && to.tensor(node, 1).rank == 0;
  if (!to.is_tensor(node, 1) && to.required(node, 1).shape.empty()) throw unsupported("picks one element of an axis");
  // The axis comes first. Its places become rows of one index each, and their axes then move to where the axis was.
  auto lengths = data.lengths;
  std::vector<int> first{0, place}, back{0};
  for (int i = 1; i <= static_cast<int>(data.lengths.size()); ++i)
    if (i != place) first.push_back(i);
  int const count = static_cast<int>(places.lengths.size());
  for (int i = 1; i < place; ++i) back.push_back(count + i);
  for (int i = 1; i <= count; ++i) back.push_back(i);
  for (int i = place; i < static_cast<int>(data.lengths.size()); ++i) back.push_back(count + i);
  lengths.erase(lengths.begin() + place - 1);
  lengths.insert(lengths.begin() + place - 1, places.lengths.begin(), places.lengths.end());
  auto rows = places.lengths;
  rows.push_back(1);
  auto const first_text = list_text(first), back_text = list_text(back);
  bool const is_first = std::is_sorted(first.begin(), first.end()), is_back = std::is_sorted(back.begin(), back.end());
  auto y = to.operate(in.operation("rows",
                                   [=](operands const& x) {
                                     auto const table =
                                         is_first ? data.text(x)
                                                  : "ops.transpose("_cpp + data.text(x) + ", {" + first_text + "})";
                                     auto const found = "ops.gather_nd("_cpp + table + ", ops.reshape(" +
                                                        places.text(x) + ", " + shape_text(x[0], rows) + "), 1)";
                                     return is_back ? found : "ops.transpose("_cpp + found + ", {" + back_text + "})";
                                   }),
                      in.tensors, lengths);
  if (is_number) y = without_axes(to, y, {place - 1});
  set_in_order(to, node, y, kind_of(to, node, 0));
}

void scatter_nd(trace& to, onnx_node const& node) {
  auto const reduction = node.text("reduction", "none");
  auto const in = take_in_order(to, node, 3);
  auto const data = in.inputs[0], places = in.inputs[1], values = in.inputs[2];
  if (!to.is_one_sample()) throw unsupported("is along samples, which stay apart here");
  int const width = places.lengths.back();
  check_places(to, node, reduction, at(width), -1, data.lengths);
  if (at(width) > data.lengths.size()) throw unsupported("names more axes than its input has");
  // The axis of samples is 1 long here, and its index 0 stands before the others.
  auto rows = places.lengths;
  rows.back() = 1;
  bool const adds = reduction == "add";
  set_in_order(to, node,
               to.operate(in.operation("replaced",
                                       [=](operands const& x) {
                                         auto const indices = places.text(x);
                                         return "ops.scatter_nd("_cpp + data.text(x) + ", ops.concatenate({ops.full(" +
                                                shape_text(x[0], rows) + ", 0.0F), " + indices + "}, -1), " +
                                                values.text(x) + (adds ? ", true)"_cpp : ")"_cpp);
                                       }),
                          in.tensors, data.lengths),
               kind_of(to, node, 0));
}

/// The largest or smallest elements of an axis, and their places.
void top_k(trace& to, onnx_node const& node) {
  auto const x = to.complete(to.tensor(node, 0));
  auto const count = to.required(node, 1);
  int const place = place_in_sample(x, node.integer("axis", -1));
  if (count.values.size() != 1 || count.values[0] < 1 || count.values[0] > x.lengths[at(place) - 1])
    throw unsupported("takes a number of elements that its axis has not");
  auto const k = count.integers()[0];
  bool const is_largest = node.integer("largest", 1) != 0;
  if (node.integer("sorted", 1) == 0) throw unsupported("leaves the order of its elements open");
  auto lengths = x.lengths;
  lengths[at(place) - 1] = static_cast<int>(k);
  for (std::size_t i = 0; i < 2 && i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty() || !to.is_taken(node.outputs[i])) continue;
    auto y = like(x, to.operate({i == 0 ? own_text("first_elements") : own_text("first_places"),
                                 [=](operands const& o) {
                                   return "ops.top_k("_cpp + o[0] + ", " + number_text(k) + ", " + number_text(place) +
                                          (is_largest ? ")"_cpp : ", false)"_cpp) +
                                          (i == 0 ? ".values"_cpp : ".indices"_cpp);
                                 }},
                                {x}, lengths));
    if (i == 1) y.elements = element_kind::whole;
    to.set(node, y, i);
  }
}

void local_normalization(trace& to, onnx_node const& node) {
  auto const x = to.complete(to.tensor(node, 0));
  int const place = place_in_sample(x, 1);
  auto const size = node.integer("size", 0);
  if (size < 1 || size > x.lengths[at(place) - 1]) throw unsupported("has a size that does not fit its channels");
  auto const alpha = float_text(node.real("alpha", 1e-4F)), beta = float_text(node.real("beta", 0.75F)),
             bias = float_text(node.real("bias", 1.0F));
  to.set(node, like(x, to.operate({"local_normalization",
                                   [=](operands const& o) {
                                     return "ops.local_response_normalization("_cpp + o[0] + ", " + number_text(size) +
                                            ", " + alpha + ", " + beta + ", " + bias + ", " + number_text(place) + ")";
                                   }},
                                  {x}, x.lengths)));
}

/// Returns 1 at the first of the largest elements of an axis, else 0.
void hardmax(trace& to, onnx_node const& node) {
  auto const x = to.complete(to.tensor(node, 0));
  bool const is_flat = to.graph().opset < 13;
  int const axis = axis_of(node.integer("axis", is_flat ? 1 : -1), x.rank), place = place_in_sample(x, axis);
  if (is_flat && axis != x.rank - 1) throw unsupported("is over several axes");
  to.set(node, like(x, to.operate({"largest_place",
                                   [=](operands const& o) {
                                     return "equal(ops.iota("_cpp + o[0] + ".shape(), " + number_text(place) +
                                            "), ops.argmax(" + o[0] + ", " + number_text(place) + "))";
                                   }},
                                  {x}, x.lengths)));
}

std::string combined(node_maker const& make, std::string const& reduction, std::string const& a, std::string const& b) {
  return make(reduction == "mul" ? "Mul" : reduction == "max" ? "Max" : "Min", {a, b});
}

bool is_combining(onnx_node const& node) {
  auto const reduction = node.text("reduction", "none");
  return reduction == "mul" || reduction == "max" || reduction == "min";
}

constexpr std::int64_t most_scattered = 64;

/// Elements that are multiplied by others, or replaced by larger or smaller ones: one slice of places after the other,
/// which names none twice.
void combine_elements(trace& to, onnx_node const& node) {
  node_maker const make(to, node);
  auto places = to.required(node, 1);
  auto const rank = static_cast<int>(places.shape.size());
  int const axis = axis_of(node.integer("axis", 0), rank);
  auto const count = places.shape[static_cast<std::size_t>(axis)], length = to.length_of(node, 0, axis);
  if (count > most_scattered) throw unsupported("names more than 64 places of an axis");
  for (double& each : places.values) each += each < 0 ? static_cast<double>(length) : 0;
  auto const all = to.add_constant(std::move(places));
  auto x = node.inputs[0];
  for (std::int64_t i = 0; i < count; ++i) {
    auto const number = static_cast<double>(i);
    auto const some = make.picked(all, {number}, axis), values = make.picked(node.inputs.at(2), {number}, axis);
    auto const old = make("GatherElements", {x, some}, {{"axis", axis}});
    auto const made = combined(make, node.text("reduction", ""), old, values);
    x = make("ScatterElements", {x, some, made}, {{"axis", axis}});
  }
  to.set_alias(node, x, 0);
}

/// Combines rows one after the other.
void combine_rows(trace& to, onnx_node const& node) {
  node_maker const make(to, node);
  auto places = to.required(node, 1);
  if (places.shape.empty()) throw unsupported("names more axes than its input has");
  auto const width = places.shape.back();
  std::int64_t const count = width < 1 ? 0 : static_cast<std::int64_t>(places.values.size()) / width;
  int const rank = to.tensor(node, 0).rank;
  if (count < 1 || count > most_scattered || width > rank) throw unsupported("names more than 64 places");
  places.shape = {count, width};
  for (std::size_t i = 0; i < places.values.size(); ++i) {
    auto const axis = static_cast<std::int64_t>(i) % width;
    places.values[i] += places.values[i] < 0 ? static_cast<double>(to.length_of(node, 0, axis)) : 0;
  }
  std::vector<double> rows{static_cast<double>(count)};
  for (auto axis = width; axis < rank; ++axis) rows.push_back(static_cast<double>(to.length_of(node, 0, axis)));
  auto const all = to.add_constant(std::move(places)), values = make("Reshape", {node.inputs.at(2), make.whole(rows)});
  auto x = node.inputs[0];
  for (std::int64_t i = 0; i < count; ++i) {
    auto const number = static_cast<double>(i);
    auto const one = make.picked(all, {number}, 0);
    auto const made =
        combined(make, node.text("reduction", ""), make("GatherND", {x, one}), make.picked(values, {number}, 0));
    x = make("ScatterND", {x, one, made});
  }
  to.set_alias(node, x, 0);
}

onnx_converter or_combining(onnx_converter const& others, onnx_converter const& combining) {
  return [=](trace& to, onnx_node const& node) { is_combining(node) ? combining(to, node) : others(to, node); };
}

}  // namespace

void add_index_operations(std::map<std::string, onnx_converter>& to) {
  to["GatherElements"] = gather_elements, to["GatherND"] = gather_nd;
  to["ScatterElements"] = to["Scatter"] = or_combining(scatter_elements, combine_elements);
  to["ScatterND"] = or_combining(scatter_nd, combine_rows);
  to["Gather"] = either(to.at("Gather"), gather);
  to["TopK"] = top_k, to["LRN"] = local_normalization, to["Hardmax"] = hardmax;
}

}  // namespace stagecraft::tool
