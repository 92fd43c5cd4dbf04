// SPDX-License-Identifier: BSD-3-Clause
// Lowers TensorFlow's products of matrices, and sums of products in Einstein's notation.
#include "tensorflow/lowering.hpp"

#include <algorithm>
#include <numeric>

namespace stagecraft::tool {

namespace {

using lowering = tensorflow_lowering;
using integers = std::vector<std::int64_t>;

/// A tensor with its last two axes exchanged.
std::string turned(lowering& to, std::string const& x, int rank) {
  if (rank < 2) throw unsupported("takes a tensor that is no matrix");
  integers order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return to.emit("Transpose", {x}, {{"perm", integers_attribute(order)}});
}

void matrix_product(lowering& to) {
  auto a = to.input(0), b = to.input(1);
  if (to.node().truth("transpose_a")) a = turned(to, a, 2);
  if (to.node().truth("transpose_b")) b = turned(to, b, 2);
  to.set(to.emit("MatMul", {a, b}));
}

void batch_product(lowering& to) {
  auto a = to.input(0), b = to.input(1);
  if (to.node().truth("adj_x")) a = turned(to, a, to.rank_of(0));
  if (to.node().truth("adj_y")) b = turned(to, b, to.rank_of(1));
  to.set(to.emit("MatMul", {a, b}));
}

/// The letters of two operands and of their product in Einstein's notation.
struct notation {
  std::string a, b, product;
};

notation notation_of(std::string text) {
  std::erase(text, ' ');
  auto const comma = text.find(','), arrow = text.find("->");
  if (comma == std::string::npos || arrow == std::string::npos || arrow < comma ||
      text.find(',', comma + 1) != std::string::npos)
    throw unsupported("is no product of two tensors with an arrow");
  notation result{text.substr(0, comma), text.substr(comma + 1, arrow - comma - 1), text.substr(arrow + 2)};
  for (auto const* each : {&result.a, &result.b, &result.product}) {
    auto sorted = *each;
    std::sort(sorted.begin(), sorted.end());
    bool const is_of_letters = std::all_of(sorted.begin(), sorted.end(),
                                           [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); });
    if (!is_of_letters || std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
      throw unsupported("has an ellipsis, or an axis twice");
  }
  return result;
}

bool has(std::string const& text, char letter) { return text.find(letter) != std::string::npos; }

std::string arranged(lowering& to, std::string const& x, std::string const& from, std::string const& wanted) {
  if (from == wanted) return x;
  integers order;
  for (char const letter : wanted) order.push_back(static_cast<std::int64_t>(from.find(letter)));
  return to.emit("Transpose", {x}, {{"perm", integers_attribute(order)}});
}

/// A tensor and a matrix of constants, each with any number of axes: x (kept..., summed...), kernel (summed...,
/// new...).
void product_with_constant(lowering& to, notation const& n, std::string const& x, std::string const& kernel,
                           integers const& shape) {
  std::string kept, summed, made;
  for (char const letter : n.a) (has(n.b, letter) ? summed : kept) += letter;
  for (char const letter : n.b)
    if (!has(n.a, letter)) made += letter;
  for (char const letter : summed)
    if (has(n.product, letter)) throw unsupported("keeps an axis that a tensor and a constant share");
  if (summed.empty() || kept.size() + made.size() != n.product.size())
    throw unsupported("sums over an axis that only one of its tensors has");
  std::int64_t rows = 1, columns = 1;
  integers target(kept.size(), 0), flat(kept.size(), 0);  // 0: as in the input
  for (char const letter : summed) rows *= shape[n.b.find(letter)];
  for (char const letter : made) {
    target.push_back(shape[n.b.find(letter)]);
    columns *= target.back();
  }
  auto from = arranged(to, x, n.a, kept + summed);
  flat.push_back(rows);
  if (summed.size() > 1) from = to.emit("Reshape", {from, to.whole_list(flat)});
  auto matrix = arranged(to, kernel, n.b, summed + made);
  if (shape.size() != 2) matrix = to.emit("Reshape", {matrix, to.whole_list({rows, columns})});
  auto y = to.emit("MatMul", {from, matrix});
  if (made.size() != 1) y = to.emit("Reshape", {y, to.whole_list(target)});
  to.set(arranged(to, y, kept + made, n.product));
}

/// Two tensors: (shared..., rows, summed) and (shared..., summed, columns).
void product_of_tensors(lowering& to, notation const& n, std::string const& x, std::string const& y) {
  std::string shared, rows, columns, summed;
  for (char const letter : n.a) {
    if (!has(n.b, letter))
      rows += letter;
    else
      (has(n.product, letter) ? shared : summed) += letter;
  }
  for (char const letter : n.b)
    if (!has(n.a, letter)) columns += letter;
  if (rows.size() != 1 || columns.size() != 1 || summed.size() != 1 || n.product.size() != shared.size() + 2 ||
      !has(n.product, rows[0]) || !has(n.product, columns[0]))
    throw unsupported("is of two tensors, and no product of matrices");
  auto const product = to.emit(
      "MatMul", {arranged(to, x, n.a, shared + rows + summed), arranged(to, y, n.b, shared + summed + columns)});
  to.set(arranged(to, product, shared + rows + columns, n.product));
}

void einsum(lowering& to) {
  if (to.inputs() != 2) throw unsupported("is of another number of tensors than two");
  auto n = notation_of(to.node().text("equation", ""));
  auto x = to.input(0), y = to.input(1);
  auto const fits = [&](std::string const& tensor, std::string const& letters) {
    auto const rank = to.rank(tensor);
    if (rank && *rank != static_cast<int>(letters.size())) throw unsupported("has an input of other axes");
  };
  fits(x, n.a), fits(y, n.b);
  if (to.constant_shape(x) && !to.constant_shape(y)) std::swap(x, y), std::swap(n.a, n.b);
  auto const shape = to.constant_shape(y);
  if (!shape || to.constant_shape(x)) return product_of_tensors(to, n, x, y);
  for (auto const length : *shape)
    if (length < 1 || length > (1 << 24)) throw unsupported("has a constant without elements");
  product_with_constant(to, n, x, y, *shape);
}

}  // namespace

void add_product_lowerings(std::map<std::string, tensorflow_converter>& to) {
  to["MatMul"] = matrix_product, to["Einsum"] = einsum;
  to["BatchMatMul"] = to["BatchMatMulV2"] = to["BatchMatMulV3"] = batch_product;
}

}  // namespace stagecraft::tool
