// SPDX-License-Identifier: BSD-3-Clause
// Lowers TensorFlow's nodes that move numbers, and those that state shapes.
#include "tensorflow/lowering.hpp"

#include <algorithm>
#include <limits>

namespace stagecraft::tool {

namespace {

using lowering = tensorflow_lowering;

constexpr std::int64_t to_the_end = std::numeric_limits<std::int64_t>::max();

void reshape(lowering& to) { to.set(to.emit("Reshape", {to.input(0), to.input(1)})); }

void squeeze(lowering& to) {
  auto const axes = to.node().integers("squeeze_dims");
  if (!axes.empty()) return to.set(to.emit("Squeeze", {to.input(0), to.whole_list(axes)}));
  auto const shape = to.constant_shape(to.input(0));
  if (!shape) throw unsupported("does not say which axes");
  to.set(to.emit("Squeeze", {to.input(0)}));
}

std::int64_t single(lowering& to, std::size_t input) {
  auto const value = to.required(input).integers();
  if (value.size() != 1) throw unsupported("has an input " + std::to_string(input) + " of several numbers");
  return value[0];
}

void transpose(lowering& to) {
  to.set(to.emit("Transpose", {to.input(0)}, {{"perm", integers_attribute(to.required(1).integers())}}));
}

void concatenate(lowering& to, std::size_t axis, std::size_t first) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i + 1 < to.inputs(); ++i) all.push_back(to.input(first + i));
  if (all.empty()) throw unsupported("lacks inputs");
  to.set(to.emit("Concat", all, {{"axis", integer_attribute(single(to, axis))}}));
}

void pack(lowering& to) {
  auto const axis = to.node().integer("axis", 0);
  std::vector<std::string> all;
  for (auto const& each : to.all_inputs()) all.push_back(to.emit("Unsqueeze", {each, to.whole_list({axis})}));
  if (all.empty()) throw unsupported("lacks inputs");
  to.set(to.emit("Concat", all, {{"axis", integer_attribute(axis)}}));
}

void set_all(lowering& to, std::vector<std::string> const& parts) {
  for (std::size_t i = 0; i < parts.size(); ++i) to.set(parts[i], i);
}

std::size_t count_of(std::int64_t count) {
  if (count < 1 || count > 4096) throw unsupported("makes no part, or more than 4096");
  return static_cast<std::size_t>(count);
}

void unpack(lowering& to) {
  auto const axis = to.node().integer("axis", 0);
  auto const count = count_of(to.node().integer("num", 0));
  auto parts = to.emit_several("Split", {to.input(0)}, {{"axis", integer_attribute(axis)}}, count);
  for (auto& each : parts) each = to.emit("Squeeze", {each, to.whole_list({axis})});
  set_all(to, parts);
}

void split(lowering& to) {
  set_all(to, to.emit_several("Split", {to.input(1)}, {{"axis", integer_attribute(single(to, 0))}},
                              count_of(to.node().integer("num_split", 0))));
}

void split_by_sizes(lowering& to) {
  auto const sizes = to.required(1).integers();
  if (std::count(sizes.begin(), sizes.end(), -1) > 0) throw unsupported("leaves the size of a part open");
  set_all(to, to.emit_several("Split", {to.input(0), to.whole_list(sizes)},
                              {{"axis", integer_attribute(single(to, 2))}}, count_of(std::ssize(sizes))));
}

void slice(lowering& to) {
  auto const starts = to.required(1).integers(), sizes = to.required(2).integers();
  if (starts.size() != sizes.size()) throw unsupported("has other sizes than starts");
  std::vector<std::int64_t> ends, axes;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    if (starts[i] < 0 || starts[i] > (1 << 30) || sizes[i] > (1 << 30))
      throw unsupported("has starts or sizes that no tensor has");
    axes.push_back(static_cast<std::int64_t>(i));
    ends.push_back(sizes[i] < 0 ? to_the_end : starts[i] + sizes[i]);
  }
  to.set(to.emit("Slice", {to.input(0), to.whole_list(starts), to.whole_list(ends), to.whole_list(axes)}));
}

/// x[begin:end:stride, ...] in Python's meaning: bits of masks say which entries are open, new or single.
void strided_slice(lowering& to) {
  auto const begins = to.required(1).integers(), ends = to.required(2).integers(), strides = to.required(3).integers();
  auto const& node = to.node();
  auto const count = begins.size();
  if (ends.size() != count || strides.size() != count || count > 32) throw unsupported("has lists that do not fit");
  auto const bit = [&](char const* mask, std::size_t i) { return (node.integer(mask, 0) >> i & 1) != 0; };
  std::vector<std::int64_t> first, last, step, axes, single_axes, new_axes;
  std::size_t ellipsis = count;
  for (std::size_t i = 0; i < count; ++i)
    if (bit("ellipsis_mask", i)) {
      if (ellipsis != count) throw unsupported("has two ellipses");
      ellipsis = i;
    }
  // Axes after an ellipsis are counted from the end.
  std::int64_t after = 0, after_made = 0;
  for (std::size_t i = ellipsis + 1; i < count; ++i) {
    after += bit("new_axis_mask", i) ? 0 : 1;
    after_made += bit("shrink_axis_mask", i) && !bit("new_axis_mask", i) ? 0 : 1;
  }
  std::int64_t own = 0, made = 0;  // places in the input and in the result
  for (std::size_t i = 0; i < count; ++i) {
    if (i == ellipsis) {
      own = -after, made = -after_made;
      continue;
    }
    if (bit("new_axis_mask", i)) {
      new_axes.push_back(made++);
      continue;
    }
    auto const axis = own++;
    if (bit("shrink_axis_mask", i)) {
      first.push_back(begins[i]), last.push_back(begins[i] == -1 ? to_the_end : begins[i] + 1), step.push_back(1);
      axes.push_back(axis), single_axes.push_back(axis);
      continue;
    }
    ++made;
    bool const is_open = bit("begin_mask", i) && bit("end_mask", i) && strides[i] == 1;
    if (is_open) continue;
    if (strides[i] == 0) throw unsupported("has a stride of 0");
    bool const is_back = strides[i] < 0;
    first.push_back(!bit("begin_mask", i) ? begins[i] : is_back ? to_the_end : 0);
    last.push_back(!bit("end_mask", i) ? ends[i] : is_back ? -to_the_end : to_the_end);
    step.push_back(strides[i]), axes.push_back(axis);
  }
  auto x = to.input(0);
  if (!axes.empty())
    x = to.emit("Slice", {x, to.whole_list(first), to.whole_list(last), to.whole_list(axes), to.whole_list(step)});
  if (!single_axes.empty()) x = to.emit("Squeeze", {x, to.whole_list(single_axes)});
  if (!new_axes.empty()) x = to.emit("Unsqueeze", {x, to.whole_list(new_axes)});
  to.set(x == to.input(0) ? to.emit("Identity", {x}) : x);
}

/// Amounts in pairs, as ONNX has them: all before, then all after.
std::string amounts(lowering& to, std::size_t input) {
  auto const given = to.required(input);
  if (given.shape.size() != 2 || given.shape[1] != 2) throw unsupported("has amounts that are no pairs");
  auto const pairs = given.integers();
  std::vector<std::int64_t> result;
  for (std::size_t side = 0; side < 2; ++side)
    for (std::size_t i = side; i < pairs.size(); i += 2) result.push_back(pairs[i]);
  return to.whole_list(result);
}

void pad(lowering& to) {
  std::vector<std::string> inputs{to.input(0), amounts(to, 1)};
  if (to.inputs() > 2) inputs.push_back(to.input(2));
  to.set(to.emit("Pad", inputs));
}

void mirror_pad(lowering& to) {
  if (to.node().text("mode", "") != "REFLECT") throw unsupported("pads by another mode than REFLECT");
  to.set(to.emit("Pad", {to.input(0), amounts(to, 1)}, {{"mode", text_attribute("reflect")}}));
}

void gather(lowering& to) {
  if (to.node().integer("batch_dims", 0) != 0) throw unsupported("takes other places of each sample (batch_dims)");
  auto const axis = to.inputs() > 2 ? single(to, 2) : 0;
  to.set(to.emit("Gather", {to.input(0), to.input(1)}, {{"axis", integer_attribute(axis)}}));
}

void reverse(lowering& to) {
  auto const axes = to.required(1).integers();
  if (axes.empty()) return to.set(to.emit("Identity", {to.input(0)}));
  auto const all = [&](std::int64_t value) { return to.whole_list(std::vector<std::int64_t>(axes.size(), value)); };
  to.set(to.emit("Slice", {to.input(0), all(-1), all(-to_the_end), to.whole_list(axes), all(-1)}));
}

/// Returns one where an index equals a place's number, else zero.
void one_hot(lowering& to) {
  auto const depth = single(to, 1);
  auto const axis = to.node().integer("axis", -1);
  auto const on = to.required(2), off = to.required(3);
  if (axis != -1) throw unsupported("has its places along another axis than the last");
  if (depth < 1 || depth > (1 << 16)) throw unsupported("has no place, or more than 65536");
  if (on.values.size() != 1 || off.values.size() != 1) throw unsupported("has several values");
  onnx_constant places{{depth}, {}, true};
  for (std::int64_t i = 0; i < depth; ++i) places.values.push_back(static_cast<double>(i));
  auto const index = to.emit("Unsqueeze", {to.input(0), to.whole_list({-1})});
  auto y = to.emit("Cast", {to.emit("Equal", {index, to.constant(places)})}, {{"to", integer_attribute(1)}});
  if (double const step = on.values[0] - off.values[0]; step != 1) y = to.emit("Mul", {y, to.real_number(step)});
  if (off.values[0] != 0) y = to.emit("Add", {y, to.real_number(off.values[0])});
  to.set(y);
}

void fill(lowering& to) { to.set(to.emit("Expand", {to.input(1), to.input(0)})); }

/// Sets the elements outside a band around the diagonal of the last two axes to zero.
void band(lowering& to) {
  auto const below = single(to, 1), above = single(to, 2);
  auto x = to.input(0);
  if (above >= 0) x = to.emit("Trilu", {x, to.whole_number(above)}, {{"upper", integer_attribute(0)}});
  if (below >= 0) x = to.emit("Trilu", {x, to.whole_number(-below)}, {{"upper", integer_attribute(1)}});
  to.set(above < 0 && below < 0 ? to.emit("Identity", {x}) : x);
}

}  // namespace

void add_movement_lowerings(std::map<std::string, tensorflow_converter>& to) {
  to["Reshape"] = reshape, to["Squeeze"] = squeeze, to["Transpose"] = transpose;
  to["ExpandDims"] = [](lowering& t) { t.set(t.emit("Unsqueeze", {t.input(0), t.whole_list({single(t, 1)})})); };
  to["ConcatV2"] = [](lowering& t) { concatenate(t, t.inputs() - 1, 0); };
  to["Concat"] = [](lowering& t) { concatenate(t, 0, 1); };
  to["Pack"] = pack, to["Unpack"] = unpack, to["Split"] = split, to["SplitV"] = split_by_sizes;
  to["Slice"] = slice, to["StridedSlice"] = strided_slice;
  to["Pad"] = to["PadV2"] = pad, to["MirrorPad"] = mirror_pad;
  to["Tile"] = [](lowering& t) { t.set(t.emit("Tile", {t.input(0), t.input(1)})); };
  to["Gather"] = to["GatherV2"] = to["ResourceGather"] = gather;
  to["BroadcastTo"] = [](lowering& t) { t.set(t.emit("Expand", {t.input(0), t.input(1)})); };
  to["ReverseV2"] = reverse, to["OneHot"] = one_hot, to["Fill"] = fill, to["MatrixBandPart"] = band;
  to["Range"] = [](lowering& t) { t.set(t.emit("Range", t.all_inputs())); };
  to["Shape"] = [](lowering& t) { t.set(t.emit("Shape", {t.input(0)})); };
  to["ShapeN"] = [](lowering& t) {
    for (std::size_t i = 0; i < t.inputs(); ++i) t.set(t.emit("Shape", {t.input(i)}), i);
  };
  to["Size"] = [](lowering& t) {
    t.set(t.emit("ReduceProd", {t.emit("Shape", {t.input(0)})}, {{"keepdims", integer_attribute(0)}}));
  };
  to["Rank"] = [](lowering& t) { t.set(t.whole_number(t.rank_of(0))); };
}

}  // namespace stagecraft::tool
