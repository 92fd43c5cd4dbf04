// SPDX-License-Identifier: BSD-3-Clause
// Converts ONNX's Einsum: sums of products in Einstein's notation.
#include "made_nodes.hpp"

#include <algorithm>
#include <numeric>
#include <string_view>

namespace stagecraft::tool {

namespace {

using trace = onnx_trace;
using operands = std::vector<source_text>;

/// Sums of products of constants.
void einsum_of_constants(trace& to, onnx_node const& node, std::vector<std::string> const& parts,
                         std::string const& result) {
  std::vector<onnx_constant> of;
  std::string letters;
  std::map<char, std::int64_t> lengths;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    of.push_back(to.required(node, i));
    if (of[i].shape.size() != parts[i].size()) throw unsupported("has a formula for other ranks");
    for (std::size_t k = 0; k < parts[i].size(); ++k) {
      if (!lengths.emplace(parts[i][k], of[i].shape[k]).second && lengths[parts[i][k]] != of[i].shape[k])
        throw unsupported("has inputs whose lengths do not fit");
      if (letters.find(parts[i][k]) == std::string::npos) letters += parts[i][k];
    }
  }
  onnx_constant made{{}, {}, of[0].is_whole};
  std::int64_t count = 1, size = 1;
  for (char const c : letters)
    if (count *= lengths[c]; count < 1 || count > (1 << 22)) throw unsupported("is of constants of this size");
  for (char const c : result) {
    if (!lengths.contains(c)) throw unsupported("has a result with another letter");
    made.shape.push_back(lengths[c]), size *= lengths[c];
  }
  made.values.assign(static_cast<std::size_t>(size), 0);
  std::map<char, std::int64_t> at;
  auto const place = [&](std::string const& part) {
    std::int64_t index = 0;
    for (char const c : part) index = index * lengths[c] + at[c];
    return static_cast<std::size_t>(index);
  };
  for (std::int64_t i = 0; i < count; ++i) {
    auto rest = i;
    for (char const c : letters) at[c] = rest % lengths[c], rest /= lengths[c];
    double product = 1;
    for (std::size_t k = 0; k < of.size(); ++k) product *= of[k].values[place(parts[k])];
    made.values[place(result)] += product;
  }
  to.set_constant(node, std::move(made));
}

/// A formula as its inputs' letters and its result's.
struct einsum_formula {
  std::vector<std::string> parts{""};
  std::string result;
};

/// The letters a, b, ... of a formula. Dots are letters of their own, and a result that is left out has the letters
/// that occur once, in alphabetical order.
einsum_formula formula_of(trace& to, onnx_node const& node) {
  std::string text;
  for (char const c : node.text("equation", ""))
    if (c != ' ') text += c;
  auto const arrow = text.find("->");
  einsum_formula made;
  for (char const c : text.substr(0, arrow)) {
    if (c == ',')
      made.parts.emplace_back();
    else
      made.parts.back() += c;
  }
  if (made.parts.size() != node.inputs.size()) throw unsupported("has a formula for another number");
  constexpr std::string_view dots = "...";
  if (arrow != std::string::npos) {
    made.result = text.substr(arrow + 2);
  } else {
    std::map<char, int> counts;
    for (auto const& part : made.parts)
      for (char const c : part) ++counts[c];
    if (counts.erase('.') > 0) made.result = dots;
    for (auto const& [letter, count] : counts)
      if (count == 1) made.result += letter;
  }
  std::map<char, char> letters;
  auto const next = [&] { return static_cast<char>('a' + letters.size()); };
  auto const rename = [&](std::string& part) {
    for (char& c : part) {
      if (c == '.') continue;
      if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) throw unsupported("has a formula with other signs");
      c = letters.emplace(c, next()).first->second;
    }
  };
  for (auto& part : made.parts) rename(part);
  rename(made.result);
  std::size_t most = 0;
  std::vector<std::size_t> hidden;
  for (std::size_t i = 0; i < made.parts.size(); ++i) {
    auto const rank =
        to.is_tensor(node, i) ? static_cast<std::size_t>(to.tensor(node, i).rank) : to.required(node, i).shape.size();
    bool const has_dots = made.parts[i].find(dots) != std::string::npos;
    auto const named = made.parts[i].size() - (has_dots ? dots.size() : 0);
    if (rank < named || (!has_dots && rank != named)) throw unsupported("has a formula for other ranks");
    hidden.push_back(has_dots ? rank - named : 0), most = std::max(most, hidden.back());
  }
  std::string all;
  for (std::size_t i = 0; i < most; ++i) all += letters.emplace(static_cast<char>(i + 1), next()).first->second;
  auto const spell = [&](std::string& part, std::size_t count) {
    if (auto const found = part.find(dots); found != std::string::npos)
      part.replace(found, dots.size(), all.substr(most - count));
    if (part.find('.') != std::string::npos) throw unsupported("has a formula with other signs");
  };
  for (std::size_t i = 0; i < made.parts.size(); ++i) spell(made.parts[i], hidden[i]);
  spell(made.result, most);
  if (letters.size() > 24) throw unsupported("has all letters");
  return made;
}

/// A tensor whose axes of one letter are one: the diagonal of these axes, of which `part` then names the first.
std::string diagonal(trace& to, node_maker const& make, onnx_node const& node, std::size_t input, std::string& part) {
  auto x = node.inputs[input];
  std::vector<std::int64_t> axes(part.size());  // numbers of the axes in the node's input
  std::iota(axes.begin(), axes.end(), 0);
  for (std::size_t q = 1; q < part.size(); ++q) {
    auto const p = part.find(part[q]);
    if (p == q) continue;
    auto const length = to.length_of(node, input, axes[p]);
    if (to.length_of(node, input, axes[q]) != length || length > 1024)
      throw unsupported("has inputs whose lengths do not fit");
    onnx_constant eye{std::vector<std::int64_t>(part.size(), 1), {}, true};
    eye.shape[p] = eye.shape[q] = length;
    for (std::int64_t i = 0; i < length * length; ++i) eye.values.push_back(i / length == i % length ? 1 : 0);
    auto const is_there = make("Cast", {to.add_constant(std::move(eye))}, {{"to", 9}});
    auto const kept = length == 1 ? x : make("Where", {is_there, x, make.real(0)});
    x = make("ReduceSum", {kept, make.whole({static_cast<double>(q)})}, {{"keepdims", 0}});
    part.erase(q, 1), axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(q)), --q;
  }
  return x;
}

/// Sums of products in Einstein's notation, of one tensor or two.
void einsum(trace& to, onnx_node const& node) {
  auto [parts, result] = formula_of(to, node);
  auto sorted = result;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    throw unsupported("has a result with a letter twice");
  bool is_constant = true;
  for (std::size_t i = 0; i < parts.size(); ++i) is_constant = is_constant && !to.is_tensor(node, i);
  if (is_constant) return einsum_of_constants(to, node, parts, result);
  if (parts.size() > 2) throw unsupported("is of more than two tensors");
  node_maker const make(to, node);
  auto of = node;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    auto letters = parts[i];
    std::sort(letters.begin(), letters.end());
    if (std::adjacent_find(letters.begin(), letters.end()) == letters.end()) continue;
    if (!to.is_tensor(node, i)) throw unsupported("takes the diagonal of a constant");
    of.inputs[i] = diagonal(to, make, node, i, parts[i]);
  }
  bool const is_one = to.is_one_sample();
  std::string const free = "y", unit = "z";  // letters of formulas end before these
  traced_operation made{"einsum", {}};
  std::vector<traced_tensor> tensors;
  std::vector<int> place;
  std::map<char, int> lengths;
  auto const note = [&](char letter, std::int64_t length) {
    if (length > (1 << 24) || !lengths.emplace(letter, static_cast<int>(length)).second)
      if (lengths[letter] != length) throw unsupported("has inputs whose lengths do not fit");
  };
  char samples = is_one ? free[0] : 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    bool const is_tensor = to.is_tensor(of, i);
    place.push_back(static_cast<int>(is_tensor ? tensors.size() : made.constants.size()) * (is_tensor ? 1 : -1) -
                    (is_tensor ? 0 : 1));
    if (is_tensor) {
      auto const x = to.complete_in_order(to.tensor(of, i));
      if (parts[i].empty()) parts[i] = unit;  // a number has an axis of length 1 here
      if (is_one) parts[i].insert(0, free);
      if (samples != 0 && parts[i][0] != samples) throw unsupported("joins samples with another axis");
      samples = parts[i][0];
      for (std::size_t k = 1; k < parts[i].size(); ++k) note(parts[i][k], x.lengths[k - 1]);
      tensors.push_back(x);
    } else {
      auto constant = to.required(node, i);
      if (parts[i].size() != constant.shape.size() || parts[i].empty())
        throw unsupported("has a formula for other ranks");
      for (std::size_t k = 0; k < parts[i].size(); ++k) note(parts[i][k], constant.shape[k]);
      made.constants.push_back(std::move(constant)), made.names.push_back(constant_name(node.inputs[i]));
    }
  }
  if (is_one) result.insert(0, free);
  if (result.empty() || result[0] != samples || lengths.contains(samples)) throw unsupported("moves samples");
  std::vector<int> out;
  for (std::size_t k = 1; k < result.size(); ++k) {
    if (!lengths.contains(result[k])) throw unsupported("has a result with another letter");
    out.push_back(lengths[result[k]]);
  }
  bool const is_number = out.empty();
  if (is_number && !is_one) throw unsupported("has a result without axes");
  if (is_number) out.push_back(1);
  auto const text = string_literal((parts.size() == 1 ? parts[0] : parts[0] + "," + parts[1]) + "->" + result);
  auto const count = tensors.size();
  made.code = [=](operands const& x) {
    operands all;
    for (int const each : place)
      all.push_back(x[each >= 0 ? static_cast<std::size_t>(each) : count + static_cast<std::size_t>(-1 - each)]);
    auto const sum = "ops.einsum("_cpp + text + ", {" + comma_list(all) + "})";
    return is_number ? "ops.reshape("_cpp + sum + ", {" + x[0] + ".length(0), 1})" : sum;
  };
  auto y = to.operate(std::move(made), tensors, out);
  if (is_number) y.rank = 0, y.order = {no_axis, unit_axis};
  to.set(node, y);
}

}  // namespace

void add_einsum_operations(std::map<std::string, onnx_converter>& to) { to["Einsum"] = einsum; }

}  // namespace stagecraft::tool
