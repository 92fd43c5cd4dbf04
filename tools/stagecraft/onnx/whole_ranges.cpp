// SPDX-License-Identifier: BSD-3-Clause
// Which whole numbers the tensors of an ONNX graph may hold, and so which of them float32 holds exactly. Others are
// words: of int32. A node that is exact in neither is refused.
#include "onnx_folding.hpp"
#include "onnx_trace.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace stagecraft::tool {

namespace {

constexpr value_range of_int32{-0x1p31, 0x1p31 - 1};

bool is_whole_type(int type) { return element_kind_of(type) == element_kind::whole; }

value_range both(value_range a, value_range b) { return {std::min(a.least, b.least), std::max(a.most, b.most)}; }

/// The corners of a function that is monotonic in each of two operands.
template <class F>
value_range corners(value_range a, value_range b, F const& f) {
  double const all[]{f(a.least, b.least), f(a.least, b.most), f(a.most, b.least), f(a.most, b.most)};
  if (std::any_of(std::begin(all), std::end(all), [](double each) { return std::isnan(each); }))
    return {-INFINITY, INFINITY};
  return {*std::min_element(std::begin(all), std::end(all)), *std::max_element(std::begin(all), std::end(all))};
}

double size_of(value_range a) { return std::max(std::abs(a.least), std::abs(a.most)); }

/// The smallest 2^n - 1 that has all bits of these numbers, none of which is negative.
double all_bits(double most) {
  double bits = 0;
  while (bits < most) bits = 2 * bits + 1;
  return bits;
}

/// Operators that only move the elements of their first input, or of all of Concat's.
bool is_move(std::string const& type) {
  static std::set<std::string> const all{"Concat",    "DepthToSpace", "Expand",       "Flatten", "Gather",
                                         "Identity",  "Reshape",      "Slice",        "Split",   "Squeeze",
                                         "Transpose", "Unsqueeze",    "SpaceToDepth", "Tile"};
  return all.contains(type);
}

/// The input that names places or lengths, which are in range by ONNX's rules, and so small; -1: there is none.
int place_input(std::string const& type) {
  static std::map<std::string, int> const all{{"Attention", 6},
                                              {"EyeLike", 0},
                                              {"Gather", 1},
                                              {"GatherElements", 1},
                                              {"GatherND", 1},
                                              {"MaxUnpool", 1},
                                              {"OneHot", 0},
                                              {"ReverseSequence", 1},
                                              {"RoiAlign", 2},
                                              {"RotaryEmbedding", 3},
                                              {"ScatterElements", 1},
                                              {"ScatterND", 1},
                                              {"TensorScatter", 2},
                                              {"TfIdfVectorizer", 0},
                                              {"NegativeLogLikelihoodLoss", 1},
                                              {"SoftmaxCrossEntropyLoss", 1}};
  auto const found = all.find(type);
  return found == all.end() ? -1 : found->second;
}

/// Operators whose result may have digits that float32 lacks though their operands do not.
bool is_arithmetic(std::string const& type) {
  static std::set<std::string> const all{
      "Add", "CumProd", "CumSum",   "Div",        "Einsum",     "Gemm",      "MatMul",          "Mean", "Mod",
      "Mul", "Pow",     "ReduceL1", "ReduceMean", "ReduceProd", "ReduceSum", "ReduceSumSquare", "Sub",  "Sum"};
  return all.contains(type);
}

}  // namespace

value_range range_of_type(int type) {
  switch (type) {
    case 2: return {0, 255};
    case 3: return {-128, 127};
    case 4: return {0, 65535};
    case 5: return {-32768, 32767};
    case 6: return of_int32;
    case 7: return {-0x1p63, 0x1p63};
    case 9: return {0, 1};
    case 12: return {0, 0x1p32 - 1};
    case 13: return {0, 0x1p64};
    default: return {-INFINITY, INFINITY};
  }
}

value_range onnx_trace::range_of(std::string const& name) const {
  if (auto const found = ranges_.find(name); found != ranges_.end()) return found->second;
  auto const value = constants_.find(name);
  if (!value || value->values.empty() || std::any_of(value->values.begin(), value->values.end(), is_of_samples))
    return range_of_type(type_of(name));
  auto const [least, most] = std::minmax_element(value->values.begin(), value->values.end());
  return {*least, *most};
}

value_range onnx_trace::result_range(onnx_node const& node, std::size_t output) const {
  auto const& type = node.type;
  auto const in = [&](std::size_t i) {
    return i < node.inputs.size() && !node.inputs[i].empty() ? range_of(node.inputs[i]) : value_range{};
  };
  auto const of_type = range_of_type(output < node.outputs.size() ? type_of(node.outputs[output]) : 0);
  double count = 1;  // the numbers that a sum may have
  if (!node.inputs.empty())
    if (auto const found = tensors_.find(node.inputs[0]); found != tensors_.end())
      for (int const length : found->second.lengths) count *= length;
  auto const sum = [](double a, double b) { return a + b; };
  auto const product = [](double a, double b) { return a == 0 || b == 0 ? 0 : a * b; };
  if (type == "Add") return corners(in(0), in(1), sum);
  if (type == "Sub") return corners(in(0), in(1), [](double a, double b) { return a - b; });
  if (type == "Mul") return corners(in(0), in(1), product);
  if (type == "Neg") return {-in(0).most, -in(0).least};
  if (type == "Abs") return {0, size_of(in(0))};
  if (type == "Sign") return {-1, 1};
  if (type == "Relu") return {0, std::max(0.0, in(0).most)};
  if (type == "Sum") {
    value_range all;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) all = corners(all, in(i), sum);
    return all;
  }
  if (type == "Max" || type == "Min") {
    auto all = in(0);
    for (std::size_t i = 1; i < node.inputs.size(); ++i)
      all = type == "Max" ? value_range{std::max(all.least, in(i).least), std::max(all.most, in(i).most)}
                          : value_range{std::min(all.least, in(i).least), std::min(all.most, in(i).most)};
    return all;
  }
  if (type == "Clip") {
    auto all = in(0);
    if (node.inputs.size() > 1 && !node.inputs[1].empty())
      all = {std::max(all.least, in(1).least), std::max(all.most, in(1).most)};
    if (node.inputs.size() > 2 && !node.inputs[2].empty())
      all = {std::min(all.least, in(2).least), std::min(all.most, in(2).most)};
    return all;
  }
  double const below = in(0).least < 0 || in(1).least < 0 ? -1 : 0;
  if (type == "Div" && in(1).least >= 1)
    return {std::min(in(0).least / in(1).least, 0.0), std::max(in(0).most / in(1).least, 0.0)};
  if (type == "Div") return {below * size_of(in(0)), size_of(in(0))};
  if (type == "Mod") return {below * size_of(in(1)), size_of(in(1))};
  if (type == "Pow") {
    if (in(1).least < 0 || !is_whole_type(type_of(node.inputs.size() > 1 ? node.inputs[1] : "")))
      return {-INFINITY, INFINITY};
    double const most = std::pow(std::max(1.0, size_of(in(0))), in(1).most);
    return {in(0).least < 0 ? -most : 0, most};
  }
  if (type == "ReduceSum" || type == "CumSum" || type == "ReduceL1" || type == "ReduceSumSquare" || type == "MatMul" ||
      type == "Mean" || type == "ReduceMean") {
    double each = size_of(in(0));
    if (type == "ReduceSumSquare") each *= each;
    if (type == "MatMul") each = product(each, size_of(in(1)));
    double const most = product(each, count);  // the sum of a mean as well
    return {in(0).least < 0 || type == "MatMul" ? -most : 0, most};
  }
  if (type == "ReduceProd" || type == "CumProd") {
    double const most = size_of(in(0)) <= 1 ? 1 : std::pow(size_of(in(0)), count);
    return {-most, most};
  }
  if (type == "Einsum" || type == "Gemm") return {-INFINITY, INFINITY};
  if (type == "ArgMax" || type == "ArgMin" || (output == 1 && (type == "TopK" || type == "MaxPool")))
    return {-1, 0x1p24};
  if (type == "OneHot") return in(2);
  if (type == "Where") return both(in(1), in(2));
  if (type == "BitwiseAnd" || type == "BitwiseOr" || type == "BitwiseXor" || type == "BitwiseNot") {
    if (type == "BitwiseNot") return {-in(0).most - 1, -in(0).least - 1};
    auto const all = both(in(0), in(1));
    if (type == "BitwiseAnd" && in(0).least >= 0 && in(1).least >= 0) return {0, std::min(in(0).most, in(1).most)};
    double const bits = all_bits(std::max(all.most, -all.least - 1));
    return {all.least < 0 ? -bits - 1 : 0, bits};
  }
  if (type == "BitShift") {
    if (node.text("direction", "") == "RIGHT") return both(in(0), {});
    double const factor = std::exp2(std::clamp(in(1).most, 0.0, 64.0));
    return {std::min(in(0).least * factor, 0.0), std::max(in(0).most * factor, 0.0)};
  }
  if (type == "Cast" || type == "CastLike") {
    auto const from = in(0);
    bool const is_real = !node.inputs.empty() && element_kind_of(type_of(node.inputs[0])) == element_kind::real;
    return is_real || !from.is_within(of_type.least, of_type.most) ? of_type : from;
  }
  if (type == "BitCast" || type == "QuantizeLinear" || type == "DynamicQuantizeLinear") return of_type;
  value_range all;  // an operator that chooses among what its inputs hold, or fills up with zeros
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    if (!node.inputs[i].empty() && static_cast<int>(i) != place_input(type) &&
        (i == 0 || !is_move(type) || type == "Concat"))
      all = both(all, in(i));
  return all.is_within(of_type.least, of_type.most) ? all : of_type;
}

void onnx_trace::set_ranges(onnx_node const& node) {
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    int const type = type_of(node.outputs[i]);
    if (!tensors_.contains(node.outputs[i]) || ranges_.contains(node.outputs[i]) ||
        element_kind_of(type) == element_kind::real)
      continue;
    auto const range = result_range(node, i), of_type = range_of_type(type);
    ranges_.insert_or_assign(node.outputs[i], range.is_within(of_type.least, of_type.most) ? range : of_type);
  }
}

void onnx_trace::retype(std::string const& name, int type, value_range range) {
  types_.insert_or_assign(name, type), ranges_.insert_or_assign(name, range);
  if (auto const found = tensors_.find(name); found != tensors_.end())
    found->second.elements = element_kind_of(type).value_or(element_kind::real);
}

/// True if a node takes a tensor of int32 other than as places.
bool onnx_trace::takes_words(onnx_node const& node) const {
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    if (is_tensor(node, i) && static_cast<int>(i) != place_input(node.type) && !unknown_.contains(node.inputs[i]) &&
        tensors_.contains(node.inputs[i]) && is_word(tensors_.at(node.inputs[i])))
      return true;
  return false;
}

/// True if a node only moves numbers all of which are of int32.
bool onnx_trace::moves_words(onnx_node const& node) const {
  bool const is_pad =
      node.type == "Pad" && (node.text("mode", "constant") != "constant" ||
                             (node.inputs.size() > 2 && !node.inputs[2].empty()
                                  ? range_of(node.inputs[2]).most == 0 && range_of(node.inputs[2]).least == 0
                                  : true));
  if (!is_move(node.type) && !is_pad) return false;
  std::size_t const count = node.type == "Concat" ? node.inputs.size() : std::min<std::size_t>(1, node.inputs.size());
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_tensor(node, i) && node.type == "Concat" && constants_.size(node.inputs[i]) == 0) continue;
    if (!is_tensor(node, i) || !tensors_.contains(node.inputs[i]) || !is_word(tensors_.at(node.inputs[i])))
      return false;
  }
  return true;
}

/// True if a node of word_converters() computes in int32, which is exact where float32 is not.
bool onnx_trace::needs_words(onnx_node const& node) const {
  if (!onnx_converters().contains(node.type) || takes_words(node)) return true;
  int const type = node.outputs.empty() ? 0 : type_of(node.outputs[0]);
  if (node.type == "Cast") return type == 4 || type == 5;
  if (!is_whole_type(type) || !is_arithmetic(node.type)) return false;
  auto const of_type = range_of_type(type), result = result_range(node, 0);
  if (!result.is_exact() || !result.is_within(of_type.least, of_type.most)) return true;
  return std::any_of(node.inputs.begin(), node.inputs.end(),
                     [&](auto const& each) { return !range_of(each).is_exact(); });
}

/// The node as converters of float32 take it: numbers of int32 are converted. Throws unsupported where that is not
/// exact, and for results that float32 may not have.
onnx_node const& onnx_trace::with_floats(onnx_node const& node) {
  static std::set<std::string> const of_any_type{"If", "Loop", "Scan", "Shape", "Size"};
  if (!node.domain.empty() || of_any_type.contains(node.type) || moves_words(node)) return node;
  int const type = node.outputs.empty() ? 0 : type_of(node.outputs[0]);
  if (is_whole_type(type) && is_arithmetic(node.type)) {
    auto const of_type = range_of_type(type), result = result_range(node, 0);
    if (!result.is_exact())
      throw unsupported("may give whole numbers above 2^24, which float32 does not have, and is not computed in int32");
    bool const is_mean = node.type.ends_with("Mean");  // its sum is larger than itself
    if (!is_mean && !result.is_within(of_type.least, of_type.most))
      throw unsupported("computes with whole numbers of a type that wraps, which is not here");
  }
  if (node.type == "Cast" && element_kind_of(type_of(node.inputs.at(0))) == element_kind::whole &&
      is_whole_type(type)) {
    bool const wraps = type == 2 || type == 3;  // within int32
    auto const to = wraps ? of_int32 : range_of_type(type);
    if (!range_of(node.inputs[0]).is_within(to.least, to.most))
      throw unsupported("takes whole numbers that its type may not have");
  }
  onnx_node* changed = nullptr;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    auto const& name = node.inputs[i];
    auto const found = tensors_.find(name);
    if (name.empty() || !is_tensor(node, i) || found == tensors_.end() || !is_word(found->second)) continue;
    bool const is_place = static_cast<int>(i) == place_input(node.type);
    if (is_place && node.type == "Gather" && !is_tensor(node, 0)) continue;  // an embedding's numbers
    auto range = range_of(name);
    if (!range.is_exact() && !is_place)
      throw unsupported("takes whole numbers that may be above 2^24, which float32 does not have");
    if (!range.is_exact()) range = {-0x1p23, 0x1p23};
    auto const x = found->second;
    auto y = x;
    y.layer =
        operate({"number",
                 [](std::vector<source_text> const& a) { return "ops.cast("_cpp + a[0] + ", sc::dtype::float32)"; },
                 {},
                 {},
                 false},
                {x}, x.lengths)
            .layer;
    auto const made = "made " + std::to_string(made_++);
    types_.insert_or_assign(made, type_of(name)), ranges_.insert_or_assign(made, range);
    tensors_.insert_or_assign(made, y);
    if (changed == nullptr) {
      inlined_.push_back({});
      inlined_.back().nodes.push_back(node);
      changed = &inlined_.back().nodes[0];
    }
    changed->inputs[i] = made;
  }
  return changed != nullptr ? *changed : node;
}

}  // namespace stagecraft::tool
