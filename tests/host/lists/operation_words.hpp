// SPDX-License-Identifier: BSD-3-Clause
// Words of `ops` and functions of tensors, each with its case of operation_words.txt.
#pragma once

#include <stagecraft/operations/trace.hpp>
#include <stagecraft/operations/words.hpp>
#include <string>
#include <vector>
#include "../../golden/golden.hpp"
#include "run_plan.hpp"

namespace stagecraft::operations::runs {

/// A computation of a case's inputs.
struct word_case {
  using tensors = tracing::array_view<tensor const>;

  std::string name;
  tensor (*computed)(tracer&, tensors);
  double tolerance = 3e-6;
};

inline golden::file const& words_file() {
  static auto const read = golden::read("operation_words.txt");
  return read;
}
inline extents shape_of(golden::tensor const& of) {
  extents shape;
  for (std::size_t const length : of.shape) shape.push_back(static_cast<int>(length));
  return shape;
}
/// The inputs of a case, and their shapes.
inline std::vector<extents> read_inputs(std::string const& name, numbers& with) {
  std::vector<extents> shapes;
  for (std::size_t i = 0; words_file().contains(name + "/input_" + std::to_string(i)); ++i) {
    auto const& input = words_file()[name + "/input_" + std::to_string(i)];
    shapes.push_back(shape_of(input));
    with.inputs.push_back(input.values);
  }
  auto const gradient = name + "/output_gradient";
  auto const& output = words_file()[name + "/output"];
  with.output_gradient = words_file().contains(gradient) ? words_file()[gradient].values : floats(output.size(), 1.0F);
  return shapes;
}

inline std::vector<word_case> const& word_cases() {
  using tensors = word_case::tensors;
  static std::vector<word_case> const cases{
      // Functions of one number.
      {"tan", [](tracer&, tensors in) { return tan(in[0]); }, 1e-5},
      {"asin", [](tracer&, tensors in) { return asin(in[0]); }},
      {"acos", [](tracer&, tensors in) { return acos(in[0]); }},
      {"atan", [](tracer&, tensors in) { return atan(in[0]); }},
      {"sinh", [](tracer&, tensors in) { return sinh(in[0]); }},
      {"cosh", [](tracer&, tensors in) { return cosh(in[0]); }},
      {"asinh", [](tracer&, tensors in) { return asinh(in[0]); }},
      {"acosh", [](tracer&, tensors in) { return acosh(in[0]); }},
      {"atanh", [](tracer&, tensors in) { return atanh(in[0]); }},
      {"expm1", [](tracer&, tensors in) { return expm1(in[0]); }},
      {"log1p", [](tracer&, tensors in) { return log1p(in[0]); }},
      {"round", [](tracer&, tensors in) { return round(in[0]); }},
      {"ceil", [](tracer&, tensors in) { return ceil(in[0]); }},
      {"trunc", [](tracer&, tensors in) { return trunc(in[0]); }},
      {"isnan", [](tracer&, tensors in) { return isnan(in[0]); }},
      {"isinf", [](tracer&, tensors in) { return isinf(in[0]); }},
      {"isfinite", [](tracer&, tensors in) { return isfinite(in[0]); }},
      {"logical_not", [](tracer&, tensors in) { return logical_not(in[0]); }},
      // Functions of several numbers.
      {"mod", [](tracer&, tensors in) { return mod(in[0], in[1]); }},
      {"fmod", [](tracer&, tensors in) { return fmod(in[0], in[1]); }},
      {"logical_and", [](tracer&, tensors in) { return logical_and(in[0], in[1]); }},
      {"logical_or", [](tracer&, tensors in) { return logical_or(in[0], in[1]); }},
      {"logical_xor", [](tracer&, tensors in) { return logical_xor(in[0], in[1]); }},
      {"not_equal", [](tracer&, tensors in) { return not_equal(in[0], in[1]); }},
      {"clip", [](tracer&, tensors in) { return clip(in[0], in[1], in[2]); }},
      // Activations of ONNX.
      {"hard_sigmoid", [](tracer&, tensors in) { return hard_sigmoid(in[0], 0.3F, 0.4F); }},
      {"hard_swish", [](tracer&, tensors in) { return hard_swish(in[0]); }},
      {"elu", [](tracer&, tensors in) { return elu(in[0], 1.5F); }},
      {"celu", [](tracer&, tensors in) { return celu(in[0], 1.5F); }},
      {"selu", [](tracer&, tensors in) { return selu(in[0], 1.5F, 0.9F); }},
      {"mish", [](tracer&, tensors in) { return mish(in[0]); }},
      {"thresholded_relu", [](tracer&, tensors in) { return thresholded_relu(in[0], 0.7F); }},
      {"shrink", [](tracer&, tensors in) { return shrink(in[0], 0.6F, 0.2F); }},
      // Reductions.
      {"prod", [](tracer& ops, tensors in) { return ops.prod(in[0], 1); }},
      {"prod_of_axes", [](tracer& ops, tensors in) { return ops.prod(in[0], {1, 2}); }},
      {"logsumexp", [](tracer& ops, tensors in) { return ops.logsumexp(in[0], {1, 2}); }},
      {"l1_norm", [](tracer& ops, tensors in) { return ops.l1_norm(in[0], 1); }},
      {"l2_norm", [](tracer& ops, tensors in) { return ops.l2_norm(in[0], -1); }},
      {"argmax", [](tracer& ops, tensors in) { return ops.argmax(in[0], 1); }},
      {"argmax_last", [](tracer& ops, tensors in) { return ops.argmax(in[0], 1, true); }},
      {"argmin", [](tracer& ops, tensors in) { return ops.argmin(in[0], 1); }},
      {"argmin_last", [](tracer& ops, tensors in) { return ops.argmin(in[0], 1, true); }},
      // Running sums and products.
      {"cumsum", [](tracer& ops, tensors in) { return ops.cumsum(in[0], 1); }, 1e-5},
      {"cumsum_exclusive", [](tracer& ops, tensors in) { return ops.cumsum(in[0], 1, true); }, 1e-5},
      {"cumsum_reverse", [](tracer& ops, tensors in) { return ops.cumsum(in[0], 1, false, true); }, 1e-5},
      {"cumsum_both", [](tracer& ops, tensors in) { return ops.cumsum(in[0], 1, true, true); }, 1e-5},
      {"cumprod", [](tracer& ops, tensors in) { return ops.cumprod(in[0], 1); }},
      {"cumprod_exclusive", [](tracer& ops, tensors in) { return ops.cumprod(in[0], 1, true); }},
      {"cumprod_reverse", [](tracer& ops, tensors in) { return ops.cumprod(in[0], 1, false, true); }},
      {"cumprod_both", [](tracer& ops, tensors in) { return ops.cumprod(in[0], 1, true, true); }},
      {"local_response_normalization",
       [](tracer& ops, tensors in) { return ops.local_response_normalization(in[0], 3, 0.6F, 0.7F, 1.5F); }, 1e-5},
      // Movement.
      {"moveaxis", [](tracer& ops, tensors in) { return ops.moveaxis(in[0], 2, 1); }},
      {"tile", [](tracer& ops, tensors in) { return ops.tile(in[0], {2, 3}); }},
      {"roll", [](tracer& ops, tensors in) { return ops.roll(in[0], -2, 1); }},
      {"slice_backwards", [](tracer& ops, tensors in) { return ops.slice(in[0], 1, 4, 2, -2); }},
      {"flip_of_part", [](tracer& ops, tensors in) { return ops.slice(in[0], 1, 3, 4, -1); }},
      {"pad_value", [](tracer& ops, tensors in) { return ops.pad(in[0], 1, 2, 1, 1.5F); }},
      {"pad_reflect", [](tracer& ops, tensors in) { return ops.pad(in[0], 1, 3, 4, pad_mode::reflect); }},
      {"pad_symmetric", [](tracer& ops, tensors in) { return ops.pad(in[0], 1, 3, 5, pad_mode::symmetric); }},
      {"pad_edge", [](tracer& ops, tensors in) { return ops.pad(in[0], 1, 3, 2, pad_mode::edge); }},
      {"pad_wrap", [](tracer& ops, tensors in) { return ops.pad(in[0], 1, 7, 3, pad_mode::wrap); }},
      {"tril", [](tracer& ops, tensors in) { return ops.tril(in[0], 1); }},
      {"triu", [](tracer& ops, tensors in) { return ops.triu(in[0], -2); }},
      {"space_to_depth", [](tracer& ops, tensors in) { return ops.space_to_depth(in[0], 2); }},
      {"depth_to_space", [](tracer& ops, tensors in) { return ops.depth_to_space(in[0], 2); }},
      {"depth_to_space_channels_first", [](tracer& ops, tensors in) { return ops.depth_to_space(in[0], 2, false); }},
      {"space_to_depth_channels_first", [](tracer& ops, tensors in) { return ops.space_to_depth(in[0], 2, false); }},
      {"stack", [](tracer& ops, tensors in) { return ops.stack({in[0], in[1]}, 2); }},
      {"split",
       [](tracer& ops, tensors in) {
         auto const parts = ops.split(in[0], {3, 2}, 1);
         return ops.slice(parts[0], 1, 0, 2) * parts[1];
       }},
      // Choice by index.
      {"take_constant", [](tracer& ops, tensors in) { return ops.take(in[0], {4, 4, 4, 0, 2, 1, 0, 1, 2, 3, -1}, 1); }},
      {"take_repeated", [](tracer& ops, tensors in) { return ops.take(in[0], {0, 0, 3, 3, 1, 1}, 1); }},
      {"take", [](tracer& ops, tensors in) { return ops.take(in[0], in[1], 2); }},
      {"take_along_axis", [](tracer& ops, tensors in) { return ops.take_along_axis(in[0], in[1], 1); }},
      {"take_along_axis_negative", [](tracer& ops, tensors in) { return ops.take_along_axis(in[0], in[1], 1); }},
      {"put_along_axis", [](tracer& ops, tensors in) { return ops.put_along_axis(in[0], in[1], in[2], 1); }},
      {"put_along_axis_added",
       [](tracer& ops, tensors in) { return ops.put_along_axis(in[0], in[1], in[2], 1, true); }},
      {"gather_nd", [](tracer& ops, tensors in) { return ops.gather_nd(in[0], in[1]); }},
      {"gather_nd_of_samples", [](tracer& ops, tensors in) { return ops.gather_nd(in[0], in[1], 1); }},
      {"scatter_nd", [](tracer& ops, tensors in) { return ops.scatter_nd(in[0], in[1], in[2]); }},
      {"scatter_nd_added", [](tracer& ops, tensors in) { return ops.scatter_nd(in[0], in[1], in[2], true); }},
      {"one_hot", [](tracer& ops, tensors in) { return ops.one_hot(in[0], 4); }},
      {"one_hot_axis", [](tracer& ops, tensors in) { return ops.one_hot(in[0], 4, 1); }},
      // Order.
      {"top_k", [](tracer& ops, tensors in) { return ops.top_k(in[0], 3).values; }},
      {"top_k_indices", [](tracer& ops, tensors in) { return ops.top_k(in[0], 3).indices; }},
      {"top_k_smallest", [](tracer& ops, tensors in) { return ops.top_k(in[0], 2, 1, false).values; }},
      {"sort", [](tracer& ops, tensors in) { return ops.sort(in[0], 1); }},
      {"sort_falling", [](tracer& ops, tensors in) { return ops.sort(in[0], 2, true); }},
      {"argsort", [](tracer& ops, tensors in) { return ops.argsort(in[0], 1); }},
      {"argsort_first_axis", [](tracer& ops, tensors in) { return ops.argsort(in[0], 0); }},
      // Sums of products by Einstein's notation.
      {"einsum_batch", [](tracer& ops, tensors in) { return ops.einsum("bij,bjk->bik", {in[0], in[1]}); }},
      {"einsum_heads", [](tracer& ops, tensors in) { return ops.einsum("bqhd,bkhd->bhqk", {in[0], in[1]}); }},
      {"einsum_outer", [](tracer& ops, tensors in) { return ops.einsum("bi, bj -> bij", {in[0], in[1]}); }},
      {"einsum_inner", [](tracer& ops, tensors in) { return ops.einsum("bij,bij->b", {in[0], in[1]}); }},
      {"einsum_summed", [](tracer& ops, tensors in) { return ops.einsum("bijk,jl->bl", {in[0], in[1]}); }, 1e-5},
      {"einsum_one", [](tracer& ops, tensors in) { return ops.einsum("bij->ji", {in[0]}); }},
      // Axes of another length.
      {"resize_linear_twice", [](tracer& ops, tensors in) { return ops.resize_linear(in[0], 1, 10); }},
      {"resize_linear_thrice", [](tracer& ops, tensors in) { return ops.resize_linear(in[0], 1, 15); }},
      {"resize_linear_up", [](tracer& ops, tensors in) { return ops.resize_linear(in[0], 1, 7); }},
      {"resize_linear_down", [](tracer& ops, tensors in) { return ops.resize_linear(in[0], 1, 3); }},
      {"resize_linear_corners",
       [](tracer& ops, tensors in) { return ops.resize_linear(in[0], 1, 8, resize_places::align_corners); }},
      {"resize_linear_asymmetric",
       [](tracer& ops, tensors in) { return ops.resize_linear(in[0], 1, 10, resize_places::asymmetric); }},
      {"resize_linear_last_axis", [](tracer& ops, tensors in) { return ops.resize_linear(in[0], 2, 7); }},
      {"resize_nearest_up", [](tracer& ops, tensors in) { return ops.resize_nearest(in[0], 1, 8); }},
      {"resize_nearest_twice", [](tracer& ops, tensors in) { return ops.resize_nearest(in[0], 1, 10); }},
      {"resize_nearest_down", [](tracer& ops, tensors in) { return ops.resize_nearest(in[0], 1, 2); }},
      {"resize_nearest_earlier",
       [](tracer& ops, tensors in) { return ops.resize_nearest(in[0], 1, 15, resize_places::asymmetric, true); }},
  };
  return cases;
}

}  // namespace stagecraft::operations::runs
