// SPDX-License-Identifier: BSD-3-Clause
// Operations on each number of several tensors and constants, which are broadcast as NumPy does.
#include "operation_nodes.hpp"

#include <algorithm>
#include <cmath>

namespace stagecraft::tool {

namespace {

using trace = onnx_trace;
using operands = std::vector<source_text>;

constexpr std::int64_t most_constant = 1 << 24;

bool is_laid_out_alike(traced_tensor const& a, traced_tensor const& b) {
  return a.rank == b.rank && a.order == b.order && a.lengths == b.lengths && a.fused_axis == b.fused_axis &&
         a.joined_axis == b.joined_axis && a.flat_order == b.flat_order && a.flat_lengths == b.flat_lengths;
}

/// The inputs of a node, tensors and constants, each with its place among them.
struct taken_inputs {
  std::vector<traced_tensor> tensors{};
  std::vector<onnx_constant> constants{};
  std::vector<std::string> names{};         ///< names of the constants
  std::vector<operation_code> each_text{};  ///< names of each input, by the operands
  int rank = 0;
};

/// A constant of whole numbers that float32 does not have, as multiples of 2^16 and what is left.
std::pair<onnx_constant, onnx_constant> halves_of(onnx_constant const& of) {
  std::pair<onnx_constant, onnx_constant> result{of, of};
  for (std::size_t i = 0; i < of.values.size(); ++i) {
    result.first.values[i] = std::floor(of.values[i] / 65536);
    result.second.values[i] = of.values[i] - 65536 * result.first.values[i];
  }
  return result;
}

taken_inputs take(trace& to, onnx_node const& node, std::size_t count, std::optional<word_operands> const& words) {
  taken_inputs in;
  constexpr value_range of_int32{-0x1p31, 0x1p31 - 1};
  auto const converted = [](source_text const& x) { return "ops.cast("_cpp + x + ", sc::dtype::int32)"; };
  std::vector<std::pair<onnx_constant, std::string>> arrays;
  std::vector<int> place;  // of each input: a tensor, or below 0 an array
  for (std::size_t i = 0; i < count; ++i) {
    if (to.is_tensor(node, i)) {
      place.push_back(static_cast<int>(in.tensors.size()));
      in.tensors.push_back(to.tensor(node, i));
      in.rank = std::max(in.rank, in.tensors.back().rank);
    } else {
      auto constant = to.required(node, i);
      if (!words) check_floats(constant);
      in.rank = std::max(in.rank, static_cast<int>(constant.shape.size()));
      place.push_back(-1 - static_cast<int>(arrays.size()));
      arrays.emplace_back(std::move(constant), constant_name(node.inputs[i]));
    }
  }
  if (in.tensors.empty()) throw unsupported("is of constants alone, and is not computed");
  for (std::size_t i = 0; i < place.size(); ++i) {
    int const each = place[i];
    bool const is_word = words && !(words->has_condition && i == 0);
    bool const may_be_wide = !to.narrows_words() || each < 0;
    if (is_word && may_be_wide && !to.range_of(node.inputs[i]).is_within(of_int32.least, of_int32.most))
      throw unsupported(
          "takes whole numbers that may be outside of int32; if the model's are not, give --int64-to-int32");
    if (each >= 0) {
      bool const is_converted = is_word && !to.is_word(in.tensors[static_cast<std::size_t>(each)]);
      in.each_text.push_back([=](operands const& x) {
        auto const& text = x[static_cast<std::size_t>(each)];
        return is_converted ? converted(text) : text;
      });
      continue;
    }
    auto const& [constant, name] = arrays[static_cast<std::size_t>(-1 - each)];
    bool const is_number = !is_word || words->numbers == number_operands::any ||
                           (words->numbers == number_operands::second && i > 0 && place[0] >= 0);
    auto const index = in.tensors.size() + in.constants.size();
    if (is_word && constant.values.size() == 1 && is_number) {
      auto const text = number_text(whole(constant.values[0]));
      in.each_text.push_back([=](operands const&) { return text; });
    } else if (is_word && !to.range_of(node.inputs[i]).is_exact()) {
      auto [high, low] = halves_of(constant);
      in.each_text.push_back([=](operands const& x) {
        return "("_cpp + converted(x[index]) + " * 65536 + " + converted(x[index + 1]) + ")";
      });
      in.constants.push_back(std::move(high)), in.constants.push_back(std::move(low));
      in.names.push_back(name), in.names.push_back(name);
    } else if (is_word) {
      in.each_text.push_back([=](operands const& x) { return converted(x[index]); });
      in.constants.push_back(constant), in.names.push_back(name);
    } else if (constant.values.size() == 1) {
      auto const text = float_text(constant.values[0]);
      in.each_text.push_back([=](operands const&) { return text; });
    } else {
      in.each_text.push_back([=](operands const& x) { return x[index]; });
      in.constants.push_back(constant);
      in.names.push_back(name);
    }
  }
  return in;
}

/// Gives all inputs the same axes in the same order; `lengths` are those of the output.
std::vector<int> align(trace& to, taken_inputs& in, std::vector<int>& lengths) {
  auto const rank = in.rank;
  for (auto& each : in.tensors) {
    if (each.rank == rank && each.flat_order.empty() && each.fused_axis < 0) continue;
    if (each.fused_axis >= 0 || !each.flat_order.empty()) each = to.complete(each);
    move_axes(each, rank - each.rank);
  }
  auto const* largest = &in.tensors[0];
  for (auto& each : in.tensors) {
    each = to.complete(each);
    if (each.order[0] != in.tensors[0].order[0]) throw unsupported("joins samples with another axis");
  }
  auto const count = [](traced_tensor const& x) {
    double all = 1;
    for (int const length : x.lengths) all *= length;
    return all;
  };
  for (auto const& each : in.tensors)
    if (count(each) > count(*largest)) largest = &each;
  auto const order = largest->order;
  for (auto& each : in.tensors) each = to.ordered(each, order);
  lengths.assign(order.size() - 1, 1);
  auto const widen = [&](std::size_t i, std::int64_t length) {
    if (length == lengths[i] || length == 1) return;
    if (lengths[i] != 1 || length > most_constant) throw unsupported("has inputs whose lengths do not fit");
    lengths[i] = static_cast<int>(length);
  };
  for (auto const& each : in.tensors)
    for (std::size_t i = 0; i < lengths.size(); ++i) widen(i, each.lengths[i]);
  for (auto& each : in.constants) {
    each.shape.insert(each.shape.begin(), static_cast<std::size_t>(rank) - each.shape.size(), 1);
    each = in_own_order(each, order);
    for (std::size_t i = 0; i < lengths.size(); ++i) widen(i, each.shape[i + 1]);
  }
  return order;
}

}  // namespace

traced_tensor broadcast_operation(trace& to, onnx_node const& node, std::size_t inputs, own_text word,
                                  operation_code const& code, std::optional<word_operands> const& words) {
  if (inputs == 0) throw unsupported("lacks inputs");
  auto in = take(to, node, inputs, words);
  bool is_alike = in.constants.empty() && in.rank == in.tensors[0].rank;
  for (auto const& each : in.tensors) is_alike = is_alike && is_laid_out_alike(each, in.tensors[0]);
  auto y = in.tensors[0];
  auto lengths = y.lengths;
  if (!is_alike) {
    auto const order = align(to, in, lengths);
    y = traced_tensor{-1, in.rank, order, lengths};
  }
  auto const texts = in.each_text;
  y.layer = to.operate({word,
                        [=](operands const& x) {
                          operands each;
                          for (auto const& text : texts) each.push_back(text(x));
                          return code(each);
                        },
                        in.constants, in.names, words ? std::optional(words->gives_words) : std::nullopt},
                       in.tensors, lengths)
                .layer;
  y.is_nonnegative = false;
  return y;
}

}  // namespace stagecraft::tool
