// SPDX-License-Identifier: BSD-3-Clause
// The inputs of an ONNX graph: their lengths, and the order that their axes have here.
#include "onnx_trace.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

namespace stagecraft::tool {

namespace {

/// True if a node leaves its input's axes as they are.
bool keeps_axes(onnx_node const& node) {
  static std::set<std::string> const all{"Identity", "Cast", "Relu",    "Clip", "Add",     "Sub",   "Mul",
                                         "Div",      "Pad",  "Sigmoid", "Tanh", "Dropout", "Resize"};
  return all.contains(node.type);
}

/// True if a Scan reads the elements of a tensor's first axis, so that samples are along the second one.
bool is_scanned_first(onnx_node const& scan, std::string const& name) {
  auto const given = scan.inputs.size() - std::min(scan.captures, scan.inputs.size());
  auto const read = static_cast<std::size_t>(std::clamp<std::int64_t>(scan.integer("num_scan_inputs", 0), 0, 1 << 16));
  auto const axes = scan.integers("scan_input_axes", {});
  for (std::size_t i = given - std::min(read, given); i < given; ++i)
    if (scan.inputs[i] == name) return i + read < given + axes.size() ? axes[i + read - given] == 0 : true;
  return false;
}

}  // namespace

/// The order of an input's axes, in the graph's numbers: the one that the first node with a preference wants.
std::vector<int> onnx_trace::order_of_input(std::string const& name, int rank) const {
  if (is_one_sample_) {
    std::vector<int> all(static_cast<std::size_t>(rank) + 1);
    std::iota(all.begin(), all.end(), no_axis);
    if (rank == 0) all.push_back(unit_axis);
    return all;
  }
  std::vector<int> order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  if (graph_.producer == "tensorflow") return order;  // channels are last there, too
  std::set<std::string> seen{name};
  std::vector<std::string> queue{name};
  for (std::size_t i = 0; i < queue.size() && order_looks_left_ > 0; ++i, --order_looks_left_) {
    auto const users = users_.find(queue[i]);
    if (users == users_.end()) continue;
    for (auto const* node : users->second) {
      auto const& type = node->type;
      bool const is_first = !node->inputs.empty() && node->inputs[0] == queue[i];
      if (type == "Scan" && rank >= 2 && is_scanned_first(*node, queue[i])) {
        std::swap(order[0], order[1]);
        return order;
      }
      // The states of recurrent layers: (directions, samples, units).
      bool const is_state = rank == 3 && node->inputs.size() > 5 &&
                            (node->inputs[5] == queue[i] || (node->inputs.size() > 6 && node->inputs[6] == queue[i]));
      if (is_state && (type == "LSTM" || type == "GRU" || type == "RNN") && node->integer("layout", 0) == 0)
        return {1, 0, 2};
      if (rank == 3 && (type == "LSTM" || type == "GRU" || type == "RNN") && is_first &&
          node->integer("layout", 0) == 0)
        return {1, 0, 2};
      if (rank >= 3 && is_first &&
          (type == "Conv" || type == "ConvTranspose" || type.ends_with("Pool") || type == "BatchNormalization")) {
        std::rotate(order.begin() + 1, order.begin() + 2, order.end());
        return order;
      }
      if (!keeps_axes(*node)) continue;
      for (auto const& output : node->outputs)
        if (seen.insert(output).second) queue.push_back(output);
    }
  }
  return order;
}

traced_tensor onnx_trace::input_of(onnx_value const& input, std::size_t number) {
  auto const rank = static_cast<int>(input.shape.size());
  int const samples = is_one_sample_ ? 0 : 1;
  if (rank < 2 * samples || rank > static_cast<int>(shape::max_rank) + samples)
    wrong("input '" + input.name + "' has " + std::to_string(rank) + " axes, expected samples and up to six others");
  if (!element_kind_of(input.type))
    wrong("input '" + input.name + "' has elements of type " + std::to_string(input.type) + ", which is not read");
  traced_tensor tensor{static_cast<int>(layers_.size()), rank, order_of_input(input.name, rank)};
  tensor.elements = *element_kind_of(input.type);
  std::string text;
  bool is_known = true;
  for (std::size_t k = 1; k < tensor.order.size(); ++k) {
    auto const length = tensor.order[k] < 0 ? 1 : input.shape[static_cast<std::size_t>(tensor.order[k])];
    is_known = is_known && length > 0 && length < (1 << 30);
    text += (k > 1 ? ", " : "") + (length < 0 ? std::string("None") : std::to_string(length));
    tensor.lengths.push_back(static_cast<int>(std::clamp<std::int64_t>(length, 0, 1 << 30)));
  }
  if (number < options_.input_shapes.size() && !options_.input_shapes[number].empty()) {
    tensor.lengths = options_.input_shapes[number], is_known = true;
    if (tensor.lengths.size() + 1 != tensor.order.size())
      wrong("input '" + input.name + "' has " + std::to_string(tensor.order.size() - 1) +
            " axes besides that of samples, --input-shape " + std::to_string(tensor.lengths.size()));
  }
  if (!is_known)
    wrong("input '" + input.name + "' has the shape (" + text +
          ") here; say which one it shall have, without the batch: --input-shape 224,224,3");
  if (!is_countable(tensor.lengths)) wrong("input '" + input.name + "' has more than 2^30 elements");
  return tensor;
}

void onnx_trace::add_inputs() {
  if (graph_.inputs.empty()) wrong("the graph has no inputs");
  std::int64_t samples = -1;
  for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
    auto const& input = graph_.inputs[i];
    auto tensor = input_of(input, i);
    if (tensor.order[0] >= 0) {
      auto const length = input.shape[static_cast<std::size_t>(tensor.order[0])];
      if (samples > 0 && length > 0 && length != samples) wrong("its inputs have different numbers of samples");
      if (length > 0) samples = length;
    }
    traced_layer made{"InputLayer", clean_name(input.name)};
    made.lengths = tensor.lengths;
    constexpr int int32 = 6, int64 = 7, uint32 = 12, uint64 = 13;
    auto const type = input.type;
    if (type == int32 || type == int64 || type == uint32 || type == uint64) {
      made.is_word = true;
      made.config = {{"dtype", "int32"}, {"converted_from", "int64"}};
      // What is outside is refused when a program gives it.
      ranges_.insert_or_assign(input.name, value_range{type > int64 ? 0 : -0x1p31, 0x1p31 - 1});
    }
    layers_.push_back(std::move(made));
    inputs_.push_back(tensor.layer);
    types_.insert_or_assign(input.name, input.type);
    tensors_.insert_or_assign(input.name, std::move(tensor));
  }
}

void set_dimensions(onnx_graph& graph, std::string const& file, import_options const& options) {
  auto const refuse = [&](std::string const& option, std::string const& text, std::string const& why) {
    io::refuse("E5231", file, option + " " + text + ": " + why);
  };
  auto const parts = [&](std::string const& option, std::string const& text) {
    auto const sign = text.rfind('=');
    double number = 0;
    if (sign == std::string::npos || sign == 0 ||
        std::from_chars(text.data() + sign + 1, text.data() + text.size(), number).ptr != text.data() + text.size() ||
        sign + 1 == text.size())
      refuse(option, text, "expected a name, = and a number");
    return std::pair(text.substr(0, sign), number);
  };
  for (auto const& text : options.dimensions) {
    auto const [name, length] = parts("--dimension", text);
    bool is_found = false;
    if (!(length >= 1) || length > (1 << 30) || length != std::floor(length))
      refuse("--dimension", text, "lengths are whole numbers from 1 to 2^30");
    for (auto& input : graph.inputs)
      for (std::size_t axis = 0; axis < input.shape.size(); ++axis) {
        bool const is_named = (axis < input.dimensions.size() && input.dimensions[axis] == name) ||
                              input.name + "." + std::to_string(axis) == name;
        if (!is_named || (input.shape[axis] > 0 && static_cast<double>(input.shape[axis]) != length)) continue;
        input.shape[axis] = static_cast<std::int64_t>(length), is_found = true;
      }
    if (!is_found) refuse("--dimension", text, "no input has such a dimension that is open");
  }
  for (auto const& text : options.input_values) {
    auto const [name, number] = parts("--input-value", text);
    auto const found = std::find_if(graph.inputs.begin(), graph.inputs.end(),
                                    [&wanted = name](onnx_value const& each) { return each.name == wanted; });
    if (found == graph.inputs.end()) refuse("--input-value", text, "there is no such input");
    stored_tensor value;
    constexpr int float64 = 11;
    value.name = name, value.shape = found->shape;
    value.type = found->type == float64 ? element_type::float64 : element_type::float32;
    for (auto const length : value.shape)
      if (length != 1) refuse("--input-value", text, "this input has more than one number");
    auto const put = [&](auto element) {
      auto const* const bytes = reinterpret_cast<std::byte const*>(&element);
      value.bytes.assign(bytes, bytes + sizeof element);
    };
    if (element_kind_of(found->type) != element_kind::real)
      value.type = element_type::int64, put(whole(number));
    else if (value.type == element_type::float64)
      put(number);
    else
      put(static_cast<float>(number));
    graph.constants.push_back(std::move(value));
    graph.inputs.erase(found);
  }
}

}  // namespace stagecraft::tool
