// SPDX-License-Identifier: BSD-3-Clause
// Operations on tensors that move numbers, and products.
#include "keras/operator_words.hpp"

#include <algorithm>
#include <numeric>

namespace stagecraft::tool::operator_words {

namespace {

operand turned(graph& to, operand const& x) {
  auto order = all_axes(x);
  if (order.size() < 2) throw unsupported("transposes fewer than two axes");
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return ranked(to.emit("Transpose", {x, to.whole_list(order)}), x.rank);
}
operands product(graph& to, arguments& in) {
  auto a = to.as_real(in.tensor(0)), b = to.as_real(in.tensor(1));
  if (in.truth(2, false)) a = turned(to, a);
  if (in.truth(3, false)) b = turned(to, b);
  if ((a.rank && *a.rank < 2) || (b.rank && *b.rank < 2)) throw unsupported("is of a tensor of one axis");
  bool const is_plain = a.rank == 2 && b.rank == 2;
  return {of_kind(to.emit(is_plain ? "MatMul" : "BatchMatMulV2", {a, b}), operand_kind::real)};
}
operands einsum(graph& to, arguments& in, std::size_t formula_place) {
  auto const formula = in.text(formula_place, "");
  operands all;
  for (auto const& each : in.tensors(1 - formula_place)) all.push_back(to.as_real(each));
  if (all.empty()) throw unsupported("has no tensors");
  auto const y = to.emit("Einsum", all, {{"equation", text_attribute_of(formula)}});
  auto const arrow = formula.find("->");
  bool const is_plain = arrow != std::string::npos && formula.find('.') == std::string::npos;
  return {ranked(y, is_plain ? std::optional(static_cast<int>(
                                   std::count_if(formula.begin() + static_cast<std::ptrdiff_t>(arrow) + 2,
                                                 formula.end(), [](char c) { return c != ' '; })))
                             : std::nullopt)};
}

operands reshape(graph& to, arguments& in) {
  auto const x = in.tensor(0);
  auto const& target = in.at(1);
  bool const is_known = target.is_array() && std::none_of(target.begin(), target.end(),
                                                          [](json const& each) { return each.is_structured(); });
  if (is_known) {
    auto const numbers = in.integers(1).value();
    return {ranked(of_kind(to.emit("Reshape", {x, to.whole_list(numbers)}), x.kind), static_cast<int>(numbers.size()))};
  }
  if (in.is_tensor(1)) return {ranked(of_kind(to.emit("Reshape", {x, in.tensor(1)}), x.kind), std::nullopt)};
  operands parts;  // lengths of which some are computed
  for (auto const& each : in.tensors(1)) parts.push_back(each);
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (target[i].is_number_integer()) parts[i] = to.whole_number(target[i].get<std::int64_t>());
  auto const list = to.emit("Pack", parts, {{"axis", number_attribute_of(0)}});
  return {ranked(of_kind(to.emit("Reshape", {x, list}), x.kind), static_cast<int>(parts.size()))};
}
operands flatten_all(graph&, arguments&) { throw unsupported("joins samples with other axes"); }
operands transpose(graph& to, arguments& in) {
  auto const x = in.tensor(0);
  auto order = in.integers(1);
  if (!order) {
    order.emplace(static_cast<std::size_t>(rank_of(x)));
    std::iota(order->rbegin(), order->rend(), 0);
  }
  if (in.truth(2, false)) throw unsupported("conjugates");
  for (auto& each : *order) each = from_front(each, x);
  return {ranked(of_kind(to.emit("Transpose", {x, to.whole_list(*order)}), x.kind), static_cast<int>(order->size()))};
}
operands swap_axes(graph& to, arguments& in) {
  auto const x = in.tensor(0);
  auto order = all_axes(x);
  auto const a = from_front(in.integer(1, 0), x), b = from_front(in.integer(2, 0), x);
  if (a < 0 || b < 0 || a >= rank_of(x) || b >= rank_of(x)) throw unsupported("has axes that are none");
  std::swap(order[static_cast<std::size_t>(a)], order[static_cast<std::size_t>(b)]);
  return {ranked(of_kind(to.emit("Transpose", {x, to.whole_list(order)}), x.kind), x.rank)};
}
operands expand_dims(graph& to, arguments& in) {
  auto x = in.tensor(0);
  auto const axes = in.integers(1);
  if (!axes || axes->size() != 1) throw unsupported("has no axis, or several");
  auto const y = to.emit("ExpandDims", {x, to.whole_number((*axes)[0])});
  return {ranked(of_kind(y, x.kind), plus(x.rank, 1))};
}
operands squeeze(graph& to, arguments& in) {
  auto const x = in.tensor(0);
  auto const axes = in.integers(1);
  if (!axes || axes->empty()) throw unsupported("does not say which axes");
  auto const y = to.emit("Squeeze", {x}, {{"squeeze_dims", list_attribute_of(*axes)}});
  return {ranked(of_kind(y, x.kind), plus(x.rank, axes->size(), -1))};
}
operands concat_along(graph& to, arguments& in, std::int64_t axis, bool is_new) {
  operands all;
  for (auto const& each : in.tensors(0)) all.push_back(to.as_real(each));
  if (all.empty()) throw unsupported("has no tensors");
  if (is_new) return {ranked(to.emit("Pack", all, {{"axis", number_attribute_of(axis)}}), plus(all[0].rank, 1))};
  auto with_axis = all;
  with_axis.push_back(to.whole_number(axis));
  return {ranked(to.emit("ConcatV2", with_axis), all[0].rank)};
}
/// The parts of a split: whole sizes, or places in the manner of NumPy.
operator_writer split(bool by_places) {
  return [=](graph& to, arguments& in) -> operands {
    auto const x = in.tensor(0);
    auto const& how = in.at(1);
    auto const axis = in.integer(2, 0);
    operand first;
    std::size_t count = 0;
    if (how.is_number_integer()) {
      auto const parts = how.get<std::int64_t>();
      if (parts < 1 || parts > 4096) throw unsupported("makes no part, or more than 4096");
      count = static_cast<std::size_t>(parts);
      first = to.emit("Split", {to.whole_number(axis), x}, {{"num_split", number_attribute_of(parts)}});
    } else {
      auto sizes = in.integers(1).value_or(whole_numbers{});
      if (by_places) {
        auto const at = from_front(axis, x);
        if (x.lengths.empty() || at < 1 || at >= rank_of(x))
          throw unsupported("is divided at places of an axis whose length does not follow from the file");
        auto ends = sizes;
        ends.push_back(x.lengths[static_cast<std::size_t>(at)]);
        sizes.clear();
        for (std::size_t i = 0; i < ends.size(); ++i) sizes.push_back(ends[i] - (i == 0 ? 0 : ends[i - 1]));
      }
      count = sizes.size();
      if (count < 1 || count > 4096 || std::any_of(sizes.begin(), sizes.end(), [](auto each) { return each < 1; }))
        throw unsupported("has parts without elements, or more than 4096");
      first = to.emit("SplitV", {x, to.whole_list(sizes), to.whole_number(axis)},
                      {{"num_split", number_attribute_of(static_cast<std::int64_t>(count))}});
    }
    operands result;
    for (std::size_t i = 0; i < count; ++i)
      result.push_back({first.node + (i > 0 ? ":" + std::to_string(i) : ""), x.kind, x.rank});
    return result;
  };
}
/// `of_num`: TensorFlow's order of the arguments, (value, num, axis).
operands unstack(graph& to, arguments& in) {
  auto const x = in.tensor(0);
  auto const axis = in.integer(2, 0);
  auto count = in.integer(1, 0);
  if (count == 0 && !x.lengths.empty()) {
    auto const at = from_front(axis, x);
    if (at >= 0 && at < static_cast<std::int64_t>(x.lengths.size())) count = x.lengths[static_cast<std::size_t>(at)];
  }
  if (count < 1 || count > 4096) throw unsupported("makes parts whose number does not follow from the file");
  auto const first = to.emit("Unpack", {x}, {{"axis", number_attribute_of(axis)}, {"num", number_attribute_of(count)}});
  operands result;
  for (std::int64_t i = 0; i < count; ++i)
    result.push_back({first.node + (i > 0 ? ":" + std::to_string(i) : ""), x.kind, plus(x.rank, 1, -1)});
  return result;
}
operands tile(graph& to, arguments& in) {
  auto const x = in.tensor(0);
  auto times = in.integers(1).value_or(whole_numbers{});
  if (x.rank)
    while (static_cast<int>(times.size()) < *x.rank) times.insert(times.begin(), 1);
  return {ranked(of_kind(to.emit("Tile", {x, to.whole_list(times)}), x.kind), static_cast<int>(times.size()))};
}
operands take_along(graph& to, operand const& x, json const& indices, arguments& in, std::size_t place,
                    std::int64_t axis) {
  operand chosen;
  std::size_t more = 0;
  if (in.is_tensor(place)) {
    chosen = to.as_real(in.tensor(place));
    if (!chosen.rank) throw unsupported("is given a tensor whose number of axes does not follow from the file");
    more = static_cast<std::size_t>(*chosen.rank);
    chosen = to.emit("Cast", {chosen},
                     {{"SrcT", type_attribute_of(type_of_floats)}, {"DstT", type_attribute_of(type_of_ints)}});
  } else if (indices.is_number_integer()) {
    chosen = to.whole_number(indices.get<std::int64_t>());
  } else {
    chosen = to.whole_list(in.integers(place).value_or(whole_numbers{}));
    more = 1;
  }
  auto const y = to.emit("GatherV2", {x, chosen, to.whole_number(axis)});
  return {ranked(of_kind(y, x.kind), plus(plus(x.rank, 1, -1), more))};
}
operands take(graph& to, arguments& in) {
  auto const x = in.tensor(0);
  auto const axis = in.integers(2);
  if (!axis || axis->size() != 1) throw unsupported("has no axis");
  return take_along(to, x, in.at(1), in, 1, from_front((*axis)[0], x));
}
operands gather(graph& to, arguments& in) {
  auto const x = in.tensor(0);
  auto const axis = in.integer(2, 0);
  if (in.integer(3, 0) != 0) throw unsupported("takes other places of each sample (batch_dims)");
  return take_along(to, x, in.at(1), in, 1, axis);
}
operands broadcast(graph& to, arguments& in) {
  auto const x = in.tensor(0);
  auto const target = in.integers(1).value_or(whole_numbers{});
  return {ranked(of_kind(to.emit("BroadcastTo", {x, to.whole_list(target)}), x.kind), static_cast<int>(target.size()))};
}
operands flip(graph& to, arguments& in) {
  auto const x = in.tensor(0);
  auto axes = axes_of(in, 1, x);
  return {of_kind(to.emit("ReverseV2", {x, to.whole_list(axes)}), x.kind)};
}
operands pad(graph& to, arguments& in) {
  auto const x = in.tensor(0);
  auto const amounts = in.at(1);
  auto mode = in.text(2, "constant");
  for (auto& letter : mode) letter = static_cast<char>(letter >= 'A' && letter <= 'Z' ? letter + 32 : letter);
  whole_numbers pairs;
  if (amounts.is_array())
    for (auto const& each : amounts)
      if (each.is_array() && each.size() == 2 && each[0].is_number_integer() && each[1].is_number_integer())
        pairs.insert(pairs.end(), {each[0].get<std::int64_t>(), each[1].get<std::int64_t>()});
  if (pairs.empty() || pairs.size() != 2 * amounts.size()) throw unsupported("has amounts that are no pairs");

  auto list = json::array();
  for (std::size_t i = 0; i < pairs.size(); i += 2) list.push_back({pairs[i], pairs[i + 1]});
  auto const by = to.constant(list);
  if (mode == "reflect") return {to.emit("MirrorPad", {x, by}, {{"mode", text_attribute_of("REFLECT")}})};
  if (mode != "constant") throw unsupported("pads by another mode than constant and reflect");
  auto const value = in.real(3, 0);
  return {value == 0 ? to.emit("Pad", {x, by}) : to.emit("PadV2", {x, by, to.real_number(value)})};
}

/// x[a:b, ..., 3], as Python writes it.
operands part(graph& to, arguments& in) {
  auto const x = in.tensor(0);
  auto const& given = in.at(1);
  auto const list = given.is_array() ? given : json::array({given});
  constexpr std::size_t most = 16;
  if (list.size() > most) throw unsupported("has too many slices");
  whole_numbers begins, ends, steps;
  std::int64_t begin_mask = 0, end_mask = 0, ellipsis_mask = 0, new_mask = 0, single_mask = 0;
  int fewer = 0;
  for (auto const& each : list) {
    auto const bit = std::int64_t{1} << begins.size();
    json slice = each;
    auto const class_name = each.is_object() && each.contains("class_name") ? each["class_name"] : json();
    if (class_name == "__slice__" && each.contains("config")) slice = each["config"];
    auto const bound = [&](char const* key, std::int64_t& mask) -> std::int64_t {
      auto const found = slice.find(key);
      if (found == slice.end() || found->is_null()) return mask |= bit, 0;
      if (!found->is_number_integer()) throw unsupported("has a slice that depends on data");
      return found->get<std::int64_t>();
    };
    if (each.is_null()) {
      new_mask |= bit, --fewer;
      begins.push_back(0), ends.push_back(0), steps.push_back(1);
    } else if (class_name == "__ellipsis__") {
      ellipsis_mask |= bit;
      begins.push_back(0), ends.push_back(0), steps.push_back(1);
    } else if (each.is_number_integer()) {
      auto const place = each.get<std::int64_t>();
      single_mask |= bit, ++fewer;
      begins.push_back(place), ends.push_back(place + 1), steps.push_back(1);
    } else if (slice.is_object() && slice.contains("start") && slice.contains("stop")) {
      std::int64_t no_step = 0;
      begins.push_back(bound("start", begin_mask));
      ends.push_back(bound("stop", end_mask));
      steps.push_back(slice.contains("step") ? bound("step", no_step) : 1);
      if (no_step != 0) steps.back() = 1;
    } else {
      throw unsupported("has a slice that depends on data");
    }
  }
  auto const y = to.emit("StridedSlice", {x, to.whole_list(begins), to.whole_list(ends), to.whole_list(steps)},
                         {{"begin_mask", number_attribute_of(begin_mask)},
                          {"end_mask", number_attribute_of(end_mask)},
                          {"ellipsis_mask", number_attribute_of(ellipsis_mask)},
                          {"new_axis_mask", number_attribute_of(new_mask)},
                          {"shrink_axis_mask", number_attribute_of(single_mask)}});
  return {ranked(of_kind(y, x.kind), x.rank ? std::optional(*x.rank - fewer) : std::nullopt)};
}

operands shape_of(graph& to, arguments& in) {
  auto const x = in.tensor(0);
  static_cast<void>(in.at(1));
  return {of_kind(ranked(to.emit("Shape", {x}), 1), operand_kind::whole)};
}

operands one_hot(graph& to, arguments& in) {
  auto const x = to.as_real(in.tensor(0));
  auto const depth = in.integer(1, 0);
  if (in.integer(2, -1) != -1) throw unsupported("has its places along another axis than the last");
  if (auto const type = in.text(3, "float32"); type != "float32") throw unsupported("makes numbers of type " + type);
  if (in.truth(4, false)) throw unsupported("is sparse");
  auto const index =
      to.emit("Cast", {x}, {{"SrcT", type_attribute_of(type_of_floats)}, {"DstT", type_attribute_of(type_of_ints)}});
  auto const y = to.emit("OneHot", {index, to.whole_number(depth), to.real_number(1), to.real_number(0)});
  return {ranked(of_kind(y, operand_kind::real), plus(x.rank, 1))};
}

/// Pictures of another size: keras.ops.image.resize and tf.image.resize, whose places are half pixels.
operands resize(graph& to, arguments& in) {
  auto const x = to.as_real(in.tensor(0));
  auto const size = in.integers(1).value_or(whole_numbers{});
  auto const method = in.text(2, "bilinear");
  if (size.size() != 2) throw unsupported("has no size of two numbers");
  if (in.truth(3, false)) throw unsupported("has antialias");
  if (method != "bilinear" && method != "nearest") throw unsupported("interpolates by " + method);
  auto const type = method == "nearest" ? "ResizeNearestNeighbor" : "ResizeBilinear";
  return {to.emit(type, {x, to.whole_list(size)}, {{"half_pixel_centers", truth_attribute_of(true)}})};
}

}  // namespace

void add_movement(table& to) {
  add(to, "keras.Matmul", "x1 x2", product);
  add(to, "tf.linalg.matmul", "a b transpose_a transpose_b", product);
  add(to, "keras.Einsum", "*operands subscripts", [](graph& g, arguments& in) { return einsum(g, in, 1); });
  add(to, "tf.einsum", "equation *inputs", [](graph& g, arguments& in) { return einsum(g, in, 0); });
  add(to, "keras.Reshape", "x newshape", reshape), add(to, "tf.reshape", "tensor shape", reshape);
  add(to, "keras.Ravel", "x", flatten_all);
  add(to, "keras.Transpose", "x axes", transpose), add(to, "tf.transpose", "a perm conjugate", transpose);
  add(to, "keras.Swapaxes", "x axis1 axis2", swap_axes);
  add(to, "keras.ExpandDims", "x axis", expand_dims), add(to, "tf.expand_dims", "input axis", expand_dims);
  add(to, "keras.Squeeze", "x axis", squeeze), add(to, "tf.squeeze", "input axis", squeeze);
  auto const joined = [](std::int64_t by_default, bool is_new) -> operator_writer {
    return [=](graph& g, arguments& in) { return concat_along(g, in, in.integer(1, by_default), is_new); };
  };
  add(to, "keras.Concatenate", "xs axis", joined(-1, false)), add(to, "tf.concat", "values axis", joined(0, false));
  add(to, "keras.Stack", "x axis", joined(0, true)), add(to, "tf.stack", "values axis", joined(0, true));
  add(to, "keras.Split", "x indices_or_sections axis", split(true));
  add(to, "tf.split", "value num_or_size_splits axis", split(false));
  add(to, "keras.Unstack", "x num axis", unstack), add(to, "tf.unstack", "value num axis", unstack);
  add(to, "keras.Tile", "x repeats", tile), add(to, "tf.tile", "input multiples", tile);
  add(to, "keras.Take", "x indices axis", take);
  add(to, "tf.gather", "params indices axis batch_dims", gather);
  add(to, "keras.BroadcastTo", "x shape", broadcast), add(to, "tf.broadcast_to", "input shape", broadcast);
  add(to, "keras.Flip", "x axis", flip), add(to, "tf.reverse", "tensor axis", flip);
  add(to, "keras.Pad", "x pad_width mode constant_values", pad);
  add(to, "tf.pad", "tensor paddings mode constant_values", pad);
  add(to, "keras.GetItem", "x key", part), add(to, "tf.__operators__.getitem", "x slice_spec", part);
  add(to, "tf.shape", "input out_type", shape_of);
  add(to, "keras.OneHot", "x num_classes axis dtype sparse", one_hot);
  add(to, "tf.one_hot", "indices depth axis dtype", one_hot);
  add(to, "tf.image.resize", "images size method antialias", resize);
}

}  // namespace stagecraft::tool::operator_words
