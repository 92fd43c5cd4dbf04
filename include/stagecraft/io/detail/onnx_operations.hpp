// SPDX-License-Identifier: BSD-3-Clause
// Writes a list of operations as nodes of ONNX: what a layer's `call` was traced to.
#pragma once

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/io/detail/onnx_graph.hpp>
#include <stagecraft/io/detail/onnx_words.hpp>
#include <stagecraft/operations/trace.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft::io {

/// A traced call as it stands in a file: the names of its outputs, and of the next values of states.
struct onnx_call {
  std::vector<std::string> outputs;
  std::vector<std::pair<int, std::string>> states;  ///< number of the weight, name of its value after the call
};

/// Writes the operations that the outputs of a traced call need. Loops are unrolled. Throws file_error: E5260 an
/// operation that is not exported, E5261 loops that make more than `most_nodes` nodes.
class onnx_operations : onnx_words {
 public:
  static constexpr std::size_t most_nodes = 200000;

  /// `inputs` and `weights` are names in the file.
  onnx_operations(onnx_graph& to, operations::trace const& traced, std::string layer, std::vector<std::string> inputs,
                  std::vector<std::string> weights)
      : onnx_words(to),
        traced_(traced),
        list_(traced.list),
        layer_(std::move(layer)),
        inputs_(std::move(inputs)),
        weights_(std::move(weights)),
        needed_(static_cast<std::size_t>(list_.size())),
        names_(needed_.size()),
        stacked_(needed_.size()),
        trips_(needed_.size()) {}

  onnx_call write() {
    to_.begin(layer_);
    for (int const id : traced_.outputs) need(id);
    for (int id = 0; id < list_.size(); ++id)
      if (is_state_update(id)) need(id);
    write_range(0, list_.size());
    onnx_call result;
    for (int const id : traced_.outputs) add_outputs(id, result);
    for (int id = 0; id < list_.size(); ++id)
      if (is_state_update(id))
        result.states.emplace_back(node(operand(id, 0)).what.as<operations::weight>().index, name(operand(id, 1)));
    return result;
  }

 private:
  using names = std::vector<std::string>;

  [[nodiscard]] operations::node const& node(int id) const { return list_.node_of(id); }
  [[nodiscard]] int operand(int id, int index) const { return list_.operand(id, index); }
  [[nodiscard]] std::string const& name(int id) const { return names_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] std::string const& read(int id, int index) const { return name(operand(id, index)); }
  [[nodiscard]] static lengths shape(operations::extents const& of) { return {of.begin(), of.end()}; }

  [[noreturn]] void refuse(char const* code, std::string const& why) const {
    throw file_error(code, "layer '" + layer_ + "' cannot be written as ONNX: " + why);
  }

  /// True if an operation writes a state that is kept between batches.
  [[nodiscard]] bool is_state_update(int id) const {
    return node(id).what.is<operations::update>() &&
           traced_.weights[static_cast<std::size_t>(node(operand(id, 0)).what.as<operations::weight>().index)]
               .between_batches;
  }
  static bool is_softmax(operations::operation const& what) {
    auto const* group = what.if_is<operations::composite>();
    return group != nullptr && group->name == "softmax" && !group->is_gradient;
  }
  /// Marks an operation and all that it needs.
  void need(int first) {
    std::vector<int> left{first};
    while (!left.empty()) {
      int const id = left.back();
      left.pop_back();
      if (needed_[static_cast<std::size_t>(id)]) continue;
      needed_[static_cast<std::size_t>(id)] = true;
      auto const& what = node(id).what;
      bool const is_group = what.is<operations::composite>(), softmax = is_softmax(what);
      for (int i = 0; i < node(id).operand_count; ++i)
        if (!is_group || i == (softmax ? 1 : 0)) left.push_back(operand(id, i));
      if (what.is<operations::loop>()) left.push_back(end_of(id));
      if (what.is<operations::carry>())
        for (int k = id; k < list_.size(); ++k)
          if (node(k).what.is<operations::next>() && operand(k, 1) == id) left.push_back(k);
    }
  }
  [[nodiscard]] int end_of(int loop) const {
    int id = loop;
    while (!node(id).what.is<operations::loop_end>() || operand(id, 0) != loop) ++id;
    return id;
  }

  void write_range(int begin, int end) {
    for (int id = begin; id < end; ++id) {
      if (!needed_[static_cast<std::size_t>(id)]) continue;
      if (node(id).what.is<operations::loop>()) {
        unroll(id);
        id = end_of(id);
      } else {
        names_[static_cast<std::size_t>(id)] = node(id).what.visit([&](auto const& what) { return written(what, id); });
        if (to_.node_count() > most_nodes)
          refuse("E5261", "its loops make more than " + std::to_string(most_nodes) + " nodes");
      }
    }
  }
  void unroll(int loop) {
    int const end = end_of(loop), trips = node(loop).what.as<operations::loop>().trips;
    std::vector<std::pair<int, int>> states;  // a carry and its next value
    for (int id = loop; id < end; ++id) {
      if (!needed_[static_cast<std::size_t>(id)] || node(id).operand_count == 0 || operand(id, 0) != loop) continue;
      if (node(id).what.is<operations::carry>()) names_[static_cast<std::size_t>(id)] = read(id, 1);
      if (node(id).what.is<operations::next>()) states.emplace_back(operand(id, 1), operand(id, 2));
      if (node(id).what.is<operations::stack>()) stacked_[static_cast<std::size_t>(id)].clear();
    }
    for (int i = 0; i < trips; ++i) {
      trips_[static_cast<std::size_t>(loop)] = i;
      write_range(loop + 1, end);
      names after;
      for (auto const& [state, value] : states) after.push_back(name(value));
      for (std::size_t k = 0; k < states.size(); ++k) names_[static_cast<std::size_t>(states[k].first)] = after[k];
    }
    for (int id = loop; id < end; ++id) {
      auto& parts = stacked_[static_cast<std::size_t>(id)];
      auto const* what = node(id).what.if_is<operations::stack>();
      if (what == nullptr || parts.empty() || operand(id, 0) != loop) continue;
      if (what->reversed) parts = names(parts.rbegin(), parts.rend());
      names_[static_cast<std::size_t>(id)] = to_.node("Concat", parts, {{"axis", std::int64_t{what->axis}}});
    }
  }
  /// A result with the axes that the list says.
  std::string shaped(std::string const& x, operations::extents const& to) {
    return to_.node("Reshape", {x, to_.integers(shape(to))});
  }
  void add_outputs(int id, onnx_call& to) {
    if (list_.packed.size() < 2) {
      to.outputs.push_back(name(id));
      return;
    }
    std::int64_t begin = 0;
    for (auto const& part : list_.packed) {
      auto const width = part.size() / part[0];
      auto const rows =
          to_.node("Slice", {name(id), to_.integers({begin}), to_.integers({begin + width}), to_.integers({1})});
      to.outputs.push_back(shaped(rows, part));
      begin += width;
    }
  }

  // The node that each kind of operation becomes: the name of its result.
  std::string written(operations::input const& what, int) { return inputs_.at(static_cast<std::size_t>(what.index)); }
  std::string written(operations::weight const& what, int) { return weights_.at(static_cast<std::size_t>(what.index)); }
  std::string written(operations::constant const& what, int id) { return everywhere(to_.number(what.value), id, 0); }
  std::string written(operations::iota const& what, int id) {
    auto const count = node(id).shape[what.axis];
    std::vector<float> values;
    for (int i = 0; i < count; ++i) values.push_back(static_cast<float>(i));
    lengths row(static_cast<std::size_t>(node(id).shape.rank), 1);
    row[static_cast<std::size_t>(what.axis)] = count;
    auto const constant = layer_ + "/iota_" + std::to_string(id) + "_" + std::to_string(to_.node_count());
    to_.floats(constant, row, values);
    return count == node(id).shape.size() ? constant : everywhere(constant, id, 1);
  }
  std::string written(operations::random const&, int) {
    refuse("E5260", "it draws random numbers in each prediction, and files have none of this library's streams");
  }
  std::string written(operations::whole_map const&, int) {
    refuse("E5260", "it computes with int32, which this library writes as floats");
  }
  /// x in the shape of an operation's result; `least` is the number of axes that x has.
  std::string everywhere(std::string const& x, int id, int least) {
    if (node(id).shape.rank == 0 && least == 0) return x;
    return to_.node("Expand", {x, to_.integers(shape(node(id).shape))});
  }

  std::string written(operations::map const& what, int id) {
    using operations::function;
    names of;
    for (int i = 0; i < node(id).operand_count; ++i) of.push_back(read(id, i));
    switch (what.apply) {
      case function::identity: return of[0];
      case function::negative: return to_.node("Neg", of);
      case function::absolute: return to_.node("Abs", of);
      case function::sign: return sign(of[0]);
      case function::floor: return to_.node("Floor", of);
      case function::round: return to_.node("Round", of);
      case function::exp: return to_.node("Exp", of);
      case function::log: return to_.node("Log", of);
      case function::log1p: return log1p(of[0]);
      case function::softplus: return to_.node("Softplus", of);
      case function::sqrt: return to_.node("Sqrt", of);
      case function::rsqrt: return to_.node("Reciprocal", {to_.node("Sqrt", of)});
      case function::sin: return to_.node("Sin", of);
      case function::cos: return to_.node("Cos", of);
      case function::atan: return to_.node("Atan", of);
      case function::tanh: return to_.node("Tanh", of);
      case function::sigmoid: return to_.node("Sigmoid", of);
      case function::erf: return to_.node("Erf", of);
      case function::add: return to_.node("Add", of);
      case function::subtract: return to_.node("Sub", of);
      case function::multiply: return to_.node("Mul", of);
      case function::divide: return to_.node("Div", of);
      case function::power: return to_.node("Pow", of);
      case function::remainder: return to_.node("Mod", of, {{"fmod", std::int64_t{1}}});
      case function::maximum: return to_.node("Max", of);
      case function::minimum: return to_.node("Min", of);
      case function::less: return as_number(to_.node("Less", of));
      case function::less_equal: return as_number(to_.node("LessOrEqual", of));
      case function::equal: return as_number(to_.node("Equal", of));
      case function::select: return to_.node("Where", {as_truth(of[0]), of[1], of[2]});
      case function::multiply_add: return to_.node("Add", {to_.node("Mul", {of[0], of[1]}), of[2]});
      case function::multiply_subtract: return to_.node("Sub", {to_.node("Mul", {of[0], of[1]}), of[2]});
      case function::negative_multiply_add: return to_.node("Sub", {of[2], to_.node("Mul", {of[0], of[1]})});
    }
    refuse("E5260", "it has a function that files lack");
  }
  std::string written(operations::reduce const& what, int id) {
    lengths axes;
    for (int axis = 0; axis < node(operand(id, 0)).shape.rank; ++axis)
      if (what.has(axis)) axes.push_back(axis);
    return to_.node(what.by == operations::reduction::sum ? "ReduceSum" : "ReduceMax",
                    {read(id, 0), to_.integers(axes)}, {{"keepdims", std::int64_t{1}}});
  }
  std::string written(operations::product const& what, int id) {
    auto const side = [&](int index, bool is_transposed) {
      auto const rank = static_cast<std::size_t>(node(operand(id, index)).shape.rank);
      if (!is_transposed) return read(id, index);
      lengths order(rank);
      for (std::size_t i = 0; i < rank; ++i) order[i] = static_cast<std::int64_t>(i);
      std::swap(order[rank - 1], order[rank - 2]);
      return transposed(read(id, index), order);
    };
    auto const a = side(0, what.transpose_a), b = side(1, what.transpose_b);
    return to_.node("MatMul", {a, b});
  }

  static std::vector<onnx_attribute> attributes_of(operations::windows const& over) {
    lengths sizes, strides, dilations, pads, after;
    for (int i = 0; i < over.count; ++i) {
      sizes.push_back(over[i].size);
      strides.push_back(over[i].stride);
      dilations.push_back(over[i].dilation);
      pads.push_back(over[i].before);
      after.push_back(over[i].after);
    }
    pads.insert(pads.end(), after.begin(), after.end());
    return {{"kernel_shape", sizes}, {"strides", strides}, {"dilations", dilations}, {"pads", pads}};
  }
  std::string written(operations::convolution const& what, int id) {
    int const places = what.windows.count;
    auto attributes = attributes_of(what.windows);
    attributes.push_back({"group", std::int64_t{what.groups}});
    auto const x = channels_first(read(id, 0), places), filter = filters_first(read(id, 1), places);
    return channels_last(to_.node("Conv", {x, filter}, attributes), places);
  }
  std::string written(operations::convolution_input_gradient const& what, int id) {
    int const places = what.windows.count;
    auto attributes = attributes_of(what.windows);
    lengths more;
    for (int i = 0; i < places; ++i) {
      auto const& along = what.windows[i];
      more.push_back(node(id).shape[i + 1] - (along.stride * (node(operand(id, 0)).shape[i + 1] - 1) +
                                              (along.size - 1) * along.dilation + 1 - along.before - along.after));
    }
    attributes.push_back({"output_padding", more});
    attributes.push_back({"group", std::int64_t{what.groups}});
    auto const x = channels_first(read(id, 0), places), filter = filters_first(read(id, 1), places);
    return channels_last(to_.node("ConvTranspose", {x, filter}, attributes), places);
  }
  std::string written(operations::pooling const& what, int id) {
    bool const is_max = what.kind == operations::pooling_kind::max;
    auto const x = channels_first(read(id, 0), what.windows.count);
    return channels_last(to_.node(is_max ? "MaxPool" : "AveragePool", {x}, attributes_of(what.windows)),
                         what.windows.count);
  }
  std::string written(operations::convolution_filter_gradient const&, int) {
    refuse("E5260", "it computes the gradient of a convolution's filter");
  }
  std::string written(operations::pooling_gradient const&, int) {
    refuse("E5260", "it computes the gradient of a pooling");
  }

  std::string written(operations::reshape const&, int id) { return shaped(read(id, 0), node(id).shape); }
  std::string written(operations::broadcast const&, int id) {
    return to_.node("Expand", {read(id, 0), to_.integers(shape(node(id).shape))});
  }
  std::string written(operations::transpose const& what, int id) {
    return transposed(read(id, 0), lengths(what.order, what.order + node(id).shape.rank));
  }
  std::string written(operations::slice const& what, int id) {
    auto const count = std::int64_t{node(id).shape[what.axis]};
    auto const last = what.begin + (count - 1) * what.step;
    return sliced(read(id, 0), what.axis, what.begin, what.step > 0 ? last + 1 : last - 1, what.step);
  }
  std::string written(operations::pad const& what, int id) {
    auto const& from = node(operand(id, 0)).shape;
    std::int64_t const count = from[what.axis], all = node(id).shape[what.axis];
    std::int64_t begin = what.begin, step = what.step, places = count;
    auto x = read(id, 0);
    if (step < 0) {
      x = sliced(x, what.axis, count - 1, -1, -1);
      begin += (count - 1) * step;
      step = -step;
    }
    if (step > 1) {  // zeros after each element, in an axis of their own
      auto const axis = static_cast<std::size_t>(what.axis);
      auto apart = shape(from), joined = apart;
      apart.insert(apart.begin() + what.axis + 1, 1);
      lengths zeros(2 * apart.size(), 0);
      zeros[apart.size() + axis + 1] = step - 1;
      x = to_.node("Pad", {to_.node("Reshape", {x, to_.integers(apart)}), to_.integers(zeros)});
      joined[axis] = places = count * step;
      x = to_.node("Reshape", {x, to_.integers(joined)});
      if (begin + places > all) {
        places = all - begin;
        x = sliced(x, what.axis, 0, places);
      }
    }
    lengths amounts(2 * static_cast<std::size_t>(from.rank), 0);
    amounts[static_cast<std::size_t>(what.axis)] = begin;
    amounts[static_cast<std::size_t>(from.rank + what.axis)] = all - begin - places;
    return to_.node("Pad", {x, to_.integers(amounts)});
  }
  std::string written(operations::concatenate const& what, int id) {
    names parts;
    for (int i = 0; i < node(id).operand_count; ++i) parts.push_back(read(id, i));
    return to_.node("Concat", parts, {{"axis", std::int64_t{what.axis}}});
  }
  std::string written(operations::gather const&, int id) {
    auto const& table = node(operand(id, 0)).shape;
    lengths one_more(2 * static_cast<std::size_t>(table.rank), 0);  // a row of zeros for indices outside
    one_more[static_cast<std::size_t>(table.rank)] = 1;
    auto const rows = to_.node("Pad", {read(id, 0), to_.integers(one_more)});
    return to_.node("Gather", {rows, existing(read(id, 1), table[0])}, {{"axis", std::int64_t{0}}});
  }
  std::string written(operations::scatter_add const&, int id) {
    auto const& table = node(id).shape;
    auto wider = shape(table), places = shape(node(operand(id, 1)).shape);
    ++wider[0];
    places.push_back(1);
    auto const zeros = to_.node("Expand", {to_.number(0), to_.integers(wider)});
    auto const at = to_.node("Reshape", {existing(read(id, 1), table[0]), to_.integers(places)});
    auto const all = to_.node("ScatterND", {zeros, at, read(id, 0)}, {{"reduction", std::string("add")}});
    return sliced(all, 0, 0, table[0]);
  }
  std::string written(operations::composite const& what, int id) {
    if (!is_softmax(what)) return read(id, 0);
    return to_.node("Softmax", {read(id, 1)}, {{"axis", static_cast<std::int64_t>(what.numbers[0])}});
  }

  // The parts of loops, in one trip.
  std::string written(operations::loop const&, int) { return ""; }
  std::string written(operations::loop_end const&, int) { return ""; }
  std::string written(operations::next const&, int) { return ""; }
  std::string written(operations::update const&, int) { return ""; }
  std::string written(operations::carry const&, int id) { return name(id); }
  std::string written(operations::last const&, int id) { return read(id, 1); }
  std::string written(operations::at const& what, int id) {
    int const loop = operand(id, 0), trips = node(loop).what.as<operations::loop>().trips;
    int const trip = trips_[static_cast<std::size_t>(loop)];
    return to_.node("Gather", {read(id, 1), to_.integer(what.reversed ? trips - 1 - trip : trip)},
                    {{"axis", std::int64_t{what.axis}}});
  }
  std::string written(operations::stack const& what, int id) {
    stacked_[static_cast<std::size_t>(id)].push_back(to_.node("Unsqueeze", {read(id, 1), to_.integers({what.axis})}));
    return "";
  }

  operations::trace const& traced_;
  operations::operation_list const& list_;
  std::string layer_;
  names inputs_, weights_;
  std::vector<bool> needed_;
  names names_;
  std::vector<names> stacked_;  ///< the parts of a stack, of each trip
  std::vector<int> trips_;      ///< the trip that a loop is in
};

}  // namespace stagecraft::io
