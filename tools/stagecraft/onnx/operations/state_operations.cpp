// SPDX-License-Identifier: BSD-3-Clause
// ONNX's operators that keep a state between calls, those that count and shift whole numbers, and determinants, written
// out as other nodes.
#include "made_nodes.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace stagecraft::tool {

namespace {

using trace = onnx_trace;
using operands = std::vector<source_text>;

double real_of(std::int64_t number) { return static_cast<double>(number); }

/// Attention whose state is a matrix for each head: each step adds the product of its key and its value, and reads the
/// matrix by its query.
class linear_attention {
 public:
  linear_attention(trace& to, onnx_node const& node) : to_(to), node_(node), make_(to, node) {
    for (std::size_t i = 0; i < 3; ++i)
      if (!has_input(node, i) || !to.is_tensor(node, i) || to.tensor(node, i).rank != 3)
        throw unsupported("has inputs of other than three axes");
    auto const rule = node.text("update_rule", "gated_delta");
    decays_ = rule == "gated" || rule == "gated_delta", corrects_ = rule == "delta" || rule == "gated_delta";
    if (!decays_ && !corrects_ && rule != "linear") throw unsupported("has an update_rule that is not known");
    if (has_input(node, 4) != decays_ || has_input(node, 5) != corrects_)
      throw unsupported("has inputs that do not fit its update_rule");
    auto const queries = node.integer("q_num_heads", 0);
    heads_ = node.integer("kv_num_heads", 0);
    auto const all = to.length_of(node, 0, 2), keys = to.length_of(node, 1, 2), values = to.length_of(node, 2, 2);
    if (heads_ < 1 || queries < heads_ || queries % heads_ != 0 || all % queries != 0 || values % heads_ != 0 ||
        keys != all / queries * heads_)
      throw unsupported("has heads that do not fit its width");
    group_ = queries / heads_, key_ = all / queries, value_ = values / heads_, steps_ = to.length_of(node, 0, 1);
    constexpr std::int64_t most_steps = 256;
    if (steps_ > most_steps || to.length_of(node, 1, 1) != steps_ || to.length_of(node, 2, 1) != steps_)
      throw unsupported("has more than 256 steps, or other numbers of them");
    auto const given = static_cast<double>(node.real("scale", 0));
    scale_ = given == 0 ? 1 / std::sqrt(real_of(key_)) : given;
  }

  void run() {
    std::string state = has_input(node_, 3) ? node_.inputs[3] : "";
    std::vector<std::string> outputs;
    for (std::int64_t step = 0; step < steps_; ++step) {
      auto const key = part(1, step, {heads_, key_, 1});
      auto value = part(2, step, {heads_, 1, value_});
      if (decays_ && !state.empty()) {
        bool const is_for_head = to_.length_of(node_, 4, 2) == heads_;
        state = make_("Mul", {state, make_("Exp", {part(4, step, {heads_, is_for_head ? 1 : key_, 1})})});
      }
      if (corrects_) {
        if (!state.empty())
          value = make_("Sub", {value, make_("ReduceSum", {make_("Mul", {state, key}), make_.whole({2})})});
        value = make_("Mul", {part(5, step, {to_.length_of(node_, 5, 2) == 1 ? 1 : heads_, 1, 1}), value});
      }
      auto const added = make_("Mul", {key, value});
      state = state.empty() ? added : make_("Add", {state, added});
      auto const read = make_("MatMul", {part(0, step, {heads_, group_, key_}), state});
      outputs.push_back(make_("Reshape", {read, make_.whole({0, 1, real_of(heads_ * group_ * value_)})}));
    }
    auto const all = outputs.size() == 1 ? outputs[0] : make_("Concat", outputs, {{"axis", 1}});
    to_.set_alias(node_, scale_ == 1 ? all : make_("Mul", {all, make_.real(scale_)}), 0);
    to_.set_alias(node_, state, 1);
  }

 private:
  /// One step of an input, with these lengths after the axis of samples.
  std::string part(std::size_t input, std::int64_t step, std::vector<std::int64_t> const& lengths) {
    std::vector<double> shape{0};
    for (auto const each : lengths) shape.push_back(real_of(each));
    auto const& x = node_.inputs[input];
    return make_("Reshape", {steps_ == 1 ? x : make_.picked(x, {real_of(step)}, 1), make_.whole(shape)});
  }

  trace& to_;
  onnx_node const& node_;
  node_maker make_;
  bool decays_ = false, corrects_ = false;
  std::int64_t heads_ = 0, group_ = 1, key_ = 0, value_ = 0, steps_ = 0;
  double scale_ = 1;
};

/// Writes steps into a cache, from a place on that each sample names.
void tensor_scatter(trace& to, onnx_node const& node) {
  node_maker const make(to, node);
  if (!has_input(node, 0) || !has_input(node, 1)) throw unsupported("lacks inputs");
  int const rank = to.tensor(node, 0).rank, axis = axis_of(node.integer("axis", -2), rank);
  auto const mode = node.text("mode", "linear");
  if (axis == 0 || (mode != "linear" && mode != "circular"))
    throw unsupported("has an axis or a mode that is not here");
  auto const length = to.length_of(node, 0, axis), count = to.length_of(node, 1, axis);
  if (count > length) throw unsupported("writes more steps than there are");
  std::vector<std::int64_t> line(static_cast<std::size_t>(rank), 1);
  line[static_cast<std::size_t>(axis)] = length;
  onnx_constant places{line, std::vector<double>(static_cast<std::size_t>(length)), true};
  std::iota(places.values.begin(), places.values.end(), 0);
  auto place = to.add_constant(std::move(places));
  if (has_input(node, 2)) {
    std::vector<double> column(static_cast<std::size_t>(rank), 1);
    column[0] = 0;
    place = make("Sub", {place, make("Reshape", {node.inputs[2], make.whole(column)})});
  }
  if (mode == "circular") {
    auto const from_end = make("Add", {place, make.real(real_of(length))});
    place = make("Where", {make("Less", {place, make.real(0)}), from_end, place});
  }
  auto const inside = make("Clip", {place, make.real(0), make.real(real_of(count - 1))});
  std::vector<double> all(static_cast<std::size_t>(rank), 1);
  for (int i = 1; i < rank; ++i) all[static_cast<std::size_t>(i)] = real_of(to.length_of(node, 0, i));
  if (to.is_one_sample()) all[0] = real_of(to.length_of(node, 0, 0));
  auto const taken =
      make("GatherElements", {node.inputs[1], make("Expand", {inside, make.whole(all)})}, {{"axis", axis}});
  to.set_alias(node, make("Where", {make("Equal", {inside, place}), taken, node.inputs[0]}), 0);
}

/// Number of bits of a type of whole numbers, and true if it has a sign; 0 bits for other types.
std::pair<int, bool> bits_of(int type) {
  switch (type) {
    case 2: return {8, false};
    case 3: return {8, true};
    case 4: return {16, false};
    case 5: return {16, true};
    case 6: return {32, true};
    case 7: return {64, true};
    case 12: return {32, false};
    case 13: return {64, false};
    default: return {0, false};
  }
}

/// Moves bits by known numbers of places. A float that holds a whole number holds each result exactly: products with
/// powers of two, `fmod` and `floor` do not round, and what is shifted out leaves fewer digits.
void bit_shift(trace& to, onnx_node const& node) {
  if (!has_input(node, 0)) throw unsupported("lacks inputs");
  auto const [bits, has_sign] = bits_of(to.type_of(node.inputs[0]));
  if (bits == 0) throw unsupported("shifts numbers of a type that is not here");
  auto const direction = node.text("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") throw unsupported("has a direction that is not known");
  auto const by = to.required(node, 1);
  onnx_constant factors{by.shape, {}, false}, range{by.shape, {}, false};
  for (double const each : by.values) {
    bool const is_within = each >= 0 && each < bits;
    factors.values.push_back(direction == "LEFT" ? (is_within ? std::exp2(each) : 0)
                                                 : std::exp2(is_within ? -each : -double(bits)));
    range.values.push_back(std::exp2(is_within ? bits - each : bits));
  }
  onnx_node made = node;
  made.inputs = {node.inputs[0], to.add_constant(std::move(factors))};
  traced_tensor y;
  if (direction == "RIGHT") {
    y = broadcast_operation(to, made, 2, "shifted",
                            [](operands const& x) { return "floor("_cpp + x[0] + " * " + x[1] + ")"; });
  } else {
    made.inputs.push_back(to.add_constant(std::move(range)));
    y = broadcast_operation(to, made, 3, "shifted",
                            [](operands const& x) { return "fmod("_cpp + x[0] + ", " + x[2] + ") * " + x[1]; });
    if (has_sign) {
      auto const half = float_text(std::exp2(bits - 1)), all = float_text(std::exp2(bits));
      y = each_number(to, y, "wrapped", [=](operands const& x) {
        return "where("_cpp + x[0] + " >= " + half + ", " + x[0] + " - " + all + ", where(" + x[0] + " < -" + half +
               ", " + x[0] + " + " + all + ", " + x[0] + "))";
      });
    }
  }
  y.elements = element_kind::whole;
  to.set(node, y);
}

/// Counts the sequences of whole numbers that a pool names, whose elements may stand apart by equal distances.
void count_sequences(trace& to, onnx_node const& node) {
  node_maker const make(to, node);
  constexpr std::int64_t most = 1 << 20;
  auto const pool = node.integers("pool_int64s", {}), begins = node.integers("ngram_counts", {}),
             columns = node.integers("ngram_indexes", {});
  auto const least = node.integer("min_gram_length", 0), largest = node.integer("max_gram_length", 0),
             skips = node.integer("max_skip_count", 0);
  auto const mode = node.text("mode", "");
  auto const* const given = node.find("weights");
  if (pool.empty() || begins.empty() || columns.empty()) throw unsupported("has a pool of texts, or none");
  if (least < 1 || largest < least || largest > 64 || skips < 0 || skips > 64 ||
      (mode != "TF" && mode != "IDF" && mode != "TFIDF"))
    throw unsupported("has lengths of sequences or a mode that are not here");
  std::int64_t width = 0;
  for (auto const each : columns) {
    if (each < 0 || each >= most) throw unsupported("has columns that are not here");
    width = std::max(width, each + 1);
  }
  int const rank = to.tensor(node, 0).rank, along = rank - 1;
  if (rank != 1 && rank != 2) throw unsupported("has an input of " + std::to_string(rank) + " axes");
  auto const length = to.length_of(node, 0, along);
  std::string all;
  std::size_t number = 0;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    auto const size = static_cast<std::int64_t>(i) + 1, begin = begins[i];
    auto const end = i + 1 < begins.size() ? begins[i + 1] : static_cast<std::int64_t>(pool.size());
    if (begin < 0 || end < begin || end > static_cast<std::int64_t>(pool.size()) || (end - begin) % size != 0)
      throw unsupported("has a pool whose sequences do not fit");
    auto const count = (end - begin) / size;
    auto const first = number;
    number += static_cast<std::size_t>(count);
    if (number > columns.size()) throw unsupported("has fewer columns than sequences");
    if (count == 0 || size < least || size > largest) continue;
    if (count * width > (1 << 22)) throw unsupported("has more sequences than are here");
    std::string found;
    for (std::int64_t skip = 0; skip <= (size == 1 ? 0 : skips); ++skip) {
      auto const places = length - (size - 1) * (skip + 1);
      if (places < 1) break;
      std::string fits;
      for (std::int64_t k = 0; k < size; ++k) {
        auto const from = real_of(k * (skip + 1));
        auto const part = make("Slice", {node.inputs[0], make.whole({from}), make.whole({from + real_of(places)}),
                                         make.whole({real_of(along)})});
        onnx_constant wanted{{count}, {}, true};
        for (std::int64_t row = 0; row < count; ++row)
          wanted.values.push_back(real_of(pool[static_cast<std::size_t>(begin + row * size + k)]));
        auto const equal = make("Cast",
                                {make("Equal", {make("Unsqueeze", {part, make.whole({real_of(rank)})}),
                                                to.add_constant(std::move(wanted))})},
                                {{"to", 1}});
        fits = fits.empty() ? equal : make("Mul", {fits, equal});
      }
      auto const sum = make("ReduceSum", {fits, make.whole({real_of(along)})}, {{"keepdims", 0}});
      found = found.empty() ? sum : make("Add", {found, sum});
    }
    if (found.empty()) continue;
    onnx_constant matrix{{count, width}, std::vector<double>(static_cast<std::size_t>(count * width), 0), false};
    for (std::int64_t row = 0; row < count; ++row)
      matrix.values[static_cast<std::size_t>(row * width + columns[first + static_cast<std::size_t>(row)])] = 1;
    auto const placed = make("MatMul", {found, to.add_constant(std::move(matrix))});
    all = all.empty() ? placed : make("Add", {all, placed});
  }
  if (all.empty()) throw unsupported("has no sequence that its input may hold");
  if (mode == "IDF") all = make("Cast", {make("Greater", {all, make.real(0)})}, {{"to", 1}});
  if (mode != "TF" && given != nullptr && !given->reals.empty()) {
    if (static_cast<std::int64_t>(given->reals.size()) != width) throw unsupported("has other weights than columns");
    all = make("Mul", {all, to.add_constant({{width}, {given->reals.begin(), given->reals.end()}, false})});
  }
  to.set_alias(node, all, 0);
}

/// The determinant of small matrices, by their first row's minors.
void determinant(trace& to, onnx_node const& node) {
  node_maker const make(to, node);
  int const rank = to.tensor(node, 0).rank;
  if (rank < 2) throw unsupported("has an input of fewer than two axes");
  auto const size = to.length_of(node, 0, -1);
  if (to.length_of(node, 0, -2) != size || size > 4) throw unsupported("is of matrices larger than 4 by 4");
  auto const element = [&](std::int64_t row, std::int64_t column) {
    return make.picked(make.picked(node.inputs[0], {real_of(row)}, rank - 2), {real_of(column)}, rank - 1);
  };
  auto const minor = [&](auto const& self, std::int64_t row, std::vector<std::int64_t> const& columns) -> std::string {
    if (columns.size() == 1) return element(row, columns[0]);
    std::string sum;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      auto rest = columns;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
      auto const product = make("Mul", {element(row, columns[i]), self(self, row + 1, rest)});
      sum = sum.empty() ? product : make(i % 2 == 0 ? "Add" : "Sub", {sum, product});
    }
    return sum;
  };
  std::vector<std::int64_t> columns(static_cast<std::size_t>(size));
  std::iota(columns.begin(), columns.end(), 0);
  auto const y = minor(minor, 0, columns);
  to.set_alias(node, make("Squeeze", {y, make.whole({real_of(rank - 2), real_of(rank - 1)})}), 0);
}

}  // namespace

void add_state_operations(std::map<std::string, onnx_converter>& to) {
  to["LinearAttention"] = [](trace& t, onnx_node const& node) { linear_attention(t, node).run(); };
  to["TensorScatter"] = tensor_scatter, to["BitShift"] = bit_shift;
  to["TfIdfVectorizer"] = count_sequences, to["Det"] = determinant;
  to["OptionalGetElement"] = [](trace& t, onnx_node const& node) {
    if (!has_input(node, 0)) throw unsupported("lacks inputs");
    t.set_alias(node, node.inputs[0], 0);
  };
}

}  // namespace stagecraft::tool
