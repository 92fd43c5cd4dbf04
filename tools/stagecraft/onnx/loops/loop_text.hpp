// SPDX-License-Identifier: BSD-3-Clause
// The C++ of a loop as a scan.
#pragma once

#include "onnx/operations/operation_nodes.hpp"

#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <vector>

namespace stagecraft::tool {

inline int size_of(std::vector<int> const& lengths) {
  return std::accumulate(lengths.begin(), lengths.end(), 1, std::multiplies<>());
}

/// An operand outside of the loop: a tensor, or a constant of shape (1, ...).
struct outer_value {
  std::size_t index = 0;
  bool is_constant = false;
  [[nodiscard]] source_text text(std::vector<source_text> const& o, std::vector<int> const& lengths) const {
    return is_constant ? "ops.broadcast("_cpp + o[index] + ", " + shape_text(o[0], lengths) + ")" : o[index];
  }
};

/// A value within the step: that of a layer, or a constant.
struct inner_value {
  int layer = -1;
  outer_value constant{};
  std::vector<int> lengths{};
  bool is_word = false, becomes_word = false;
};

struct loop_element {
  int layer = -1;
  outer_value from{};
  int place = 1;  ///< the axis of the trips here
  std::size_t rank = 0;
  bool flips = false, is_number = false;
  std::vector<int> lengths{};
};

struct loop_state {
  int layer = -1;  ///< the stand-in; -1: nothing reads the value before
  std::optional<outer_value> first{};
  std::vector<int> lengths{};
  bool is_word = false, converts_first = false;
  inner_value next{};
};

struct loop_result {
  std::size_t state = 0;
  bool is_all = false, flips = false;
  std::vector<int> lengths{};
};

struct loop_step {
  int layer = -1;
  std::vector<int> inputs{};
  operation_code code{};
  std::size_t first_constant = 0, constants = 0;
};

/// All that the text of a scan is made from.
struct loop_text {
  char letter = 'k';
  int trips = 0;
  bool is_back = false;
  std::vector<loop_element> elements{};
  std::vector<loop_state> states{};
  std::vector<loop_step> steps{};
  std::vector<loop_result> results{};
  std::map<int, std::size_t> outer{};  ///< operands by layers outside of the loop

  [[nodiscard]] source_text write(std::vector<source_text> const& o) const {
    auto const prefix = source_text(letter == 'k'   ? "k"_cpp
                                    : letter == 'm' ? "m"_cpp
                                    : letter == 'n' ? "n"_cpp
                                                    : "q"_cpp);
    auto const shaped = [&](source_text const& x, std::vector<int> const& lengths) {
      return "ops.reshape("_cpp + x + ", " + shape_text(o[0], lengths) + ")";
    };
    auto const word = [](source_text const& x) { return "ops.cast("_cpp + x + ", sc::dtype::int32)"; };
    std::map<int, source_text> names;
    for (auto const& [layer, index] : outer) names[layer] = o[index];
    source_text body;
    auto const element = prefix + "_in";
    int offset = 0;
    for (auto const& each : elements) {
      names[each.layer] = element;
      if (elements.size() == 1) break;
      auto const name = prefix + "_part" + number_text(&each - elements.data() + 1);
      int const size = size_of(each.lengths);
      body += "auto const "_cpp + name + " = " +
              shaped("ops.slice("_cpp + element + ", 1, " + number_text(offset) + ", " + number_text(size) + ")",
                     each.lengths) +
              "; ";
      offset += size;
      names[each.layer] = name;
    }
    bool reads_states = false;
    for (std::size_t i = 0; i < states.size(); ++i)
      if (states[i].layer >= 0) names[states[i].layer] = prefix + "_state[" + number_text(i) + "]";
    std::size_t locals = 0;
    for (auto const& each : steps) {
      std::vector<source_text> given;
      for (int const input : each.inputs) given.push_back(names.at(input));
      for (std::size_t i = 0; i < each.constants; ++i) given.push_back(o[each.first_constant + i]);
      auto const name = prefix + number_text(++locals);
      body += "auto const "_cpp + name + " = " + each.code(given) + "; ";
      names[each.layer] = name;
    }
    std::vector<source_text> next, first;
    for (auto const& each : states) {
      auto const& value = each.next;
      auto const text = value.layer >= 0 ? names.at(value.layer) : value.constant.text(o, value.lengths);
      next.push_back(value.becomes_word ? word(text) : text);
      auto const begin =
          each.first ? each.first->text(o, each.lengths) : "ops.full("_cpp + shape_text(o[0], each.lengths) + ", 0.0F)";
      first.push_back(each.converts_first ? word(begin) : begin);
    }
    body += "return std::array{"_cpp + comma_list(next) + "}; ";
    reads_states = body.view().find("_state[") != std::string_view::npos;
    auto text = "[&] { auto const "_cpp + prefix + "_done = ops.scan(" + scanned(o) + ", 1, std::array{" +
                comma_list(first) + "}, [&](auto" + (elements.empty() ? ""_cpp : " "_cpp + element) + ", auto const&" +
                (reads_states ? " "_cpp + prefix + "_state" : ""_cpp) + ") { " + body + "}" +
                (is_back ? ", true"_cpp : ""_cpp) + "); ";
    std::vector<source_text> found;
    for (auto const& each : results) {
      auto const value = prefix + "_done." + (each.is_all ? "all["_cpp : "last["_cpp) + number_text(each.state) + "]";
      found.push_back(each.flips ? "ops.flip("_cpp + value + ", 1)" : value);
    }
    if (found.size() == 1) return text + "return " + found[0] + "; }()";
    for (std::size_t i = 0; i < found.size(); ++i) found[i] = shaped(found[i], {size_of(results[i].lengths)});
    return text + "return ops.concatenate({" + comma_list(found) + "}, 1); }()";
  }

 private:
  /// What the scan runs along: (samples, trips, ...).
  [[nodiscard]] source_text scanned(std::vector<source_text> const& o) const {
    if (elements.empty()) return "ops.full("_cpp + shape_text(o[0], {trips, 1}) + ", 0.0F)";
    std::vector<source_text> parts;
    for (auto const& each : elements) {
      auto all = each.lengths;
      all.insert(all.begin(), trips);
      auto x = each.from.text(o, all);
      if (each.place != 1) {
        std::vector<int> order{0, each.place};
        for (int i = 1; at(i) < each.rank; ++i)
          if (i != each.place) order.push_back(i);
        x = "ops.transpose("_cpp + x + ", {" + list_text(order) + "})";
      }
      if (each.flips) x = "ops.flip("_cpp + x + ", 1)";
      if (elements.size() > 1) all = {trips, size_of(each.lengths)};
      parts.push_back(
          elements.size() > 1 || each.is_number ? "ops.reshape("_cpp + x + ", " + shape_text(o[0], all) + ")" : x);
    }
    return parts.size() == 1 ? parts[0] : "ops.concatenate({"_cpp + comma_list(parts) + "}, 2)";
  }
};

}  // namespace stagecraft::tool
