// SPDX-License-Identifier: BSD-3-Clause
// What the library computes by one operation, and ONNX by several nodes.
#pragma once

#include <stagecraft/io/detail/onnx_graph.hpp>
#include <cstddef>
#include <cstdint>
#include <string>

namespace stagecraft::io {

/// A base of what writes operations as nodes.
class onnx_words {
 protected:
  using lengths = onnx_graph::lengths;

  explicit onnx_words(onnx_graph& to) : to_(to) {}

  std::string as_number(std::string const& truth) { return to_.node("Cast", {truth}, {{"to", std::int64_t{1}}}); }
  std::string as_truth(std::string const& number) { return to_.node("Cast", {number}, {{"to", std::int64_t{9}}}); }
  /// ONNX does not say what the sign of NaN is.
  std::string sign(std::string const& x) {
    return to_.node("Where", {to_.node("IsNaN", {x}), x, to_.node("Sign", {x})});
  }
  /// log(1 + x) as x log(u) / (u - 1) with u = 1 + x, which keeps the digits of small x; x itself where u is 1.
  std::string log1p(std::string const& x) {
    auto const one = to_.number(1), u = to_.node("Add", {x, one}), logarithm = to_.node("Log", {u});
    auto const quotient = to_.node("Div", {x, to_.node("Sub", {u, one})});
    auto const is_small = to_.node("Less", {to_.node("Abs", {x}), to_.number(0.5F)});
    auto const corrected = to_.node("Where", {to_.node("Equal", {u, one}), x, to_.node("Mul", {logarithm, quotient})});
    return to_.node("Where", {is_small, corrected, logarithm});
  }

  std::string transposed(std::string const& x, lengths const& order) {
    return to_.node("Transpose", {x}, {{"perm", order}});
  }
  /// (batch, places..., channels) with the channels before the places, or back.
  std::string channels_first(std::string const& x, int places) {
    lengths order{0, places + 1};
    for (int i = 1; i <= places; ++i) order.push_back(i);
    return transposed(x, order);
  }
  std::string channels_last(std::string const& x, int places) {
    lengths order{0};
    for (int i = 2; i <= places + 1; ++i) order.push_back(i);
    order.push_back(1);
    return transposed(x, order);
  }
  /// (window..., channels / groups, filters) as (filters, channels / groups, window...).
  std::string filters_first(std::string const& filter, int places) {
    lengths order{places + 1, places};
    for (int i = 0; i < places; ++i) order.push_back(i);
    return transposed(filter, order);
  }
  std::string sliced(std::string const& x, int axis, std::int64_t begin, std::int64_t end, std::int64_t step = 1) {
    constexpr std::int64_t before_all = -__INT_MAX__;
    return to_.node("Slice", {x, to_.integers({begin}), to_.integers({end < 0 ? before_all : end}),
                              to_.integers({axis}), to_.integers({step})});
  }
  /// Indices as whole numbers; `count` for those that name none of as many places.
  std::string existing(std::string const& indices, int count) {
    auto const past = to_.number(static_cast<float>(count));
    auto const is_there =
        to_.node("And", {to_.node("GreaterOrEqual", {indices, to_.number(0)}), to_.node("Less", {indices, past})});
    return to_.node("Cast", {to_.node("Where", {is_there, indices, past})}, {{"to", std::int64_t{7}}});
  }

  onnx_graph& to_;
};

}  // namespace stagecraft::io
