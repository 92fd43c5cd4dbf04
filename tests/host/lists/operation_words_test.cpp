// SPDX-License-Identifier: BSD-3-Clause
// Words of `ops` and functions of tensors against TensorFlow, NumPy and ONNX Runtime: by the reference on doubles, by
// the runner on floats, and by it for some samples at a time.
#include "../../golden/golden.hpp"
#include "run_plan.hpp"

#include <stagecraft/operations/trace.hpp>
#include <cmath>
#include <doctest/doctest.h>

using namespace stagecraft::operations;        // NOLINT: words of layers are tested
using namespace stagecraft::operations::runs;  // NOLINT: the tests' own

namespace {

using tensors = stagecraft::tracing::array_view<tensor const>;
using call = tensor (*)(tracer&, tensors);

golden::file const& file() {
  static auto const read = golden::read("operation_words.txt");
  return read;
}

extents shape_of(golden::tensor const& of) {
  extents shape;
  for (std::size_t const length : of.shape) shape.push_back(static_cast<int>(length));
  return shape;
}

/// The largest difference, of 1 and the number; infinite if one is no number.
double deviation(floats const& found, floats const& expected) {
  if (found.size() != expected.size()) return INFINITY;
  double worst = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (found[i] == expected[i]) continue;
    double const value = static_cast<double>(expected[i]);
    double const here = std::abs(static_cast<double>(found[i]) - value) / (1 + std::abs(value));
    if (!(here < INFINITY)) return INFINITY;
    worst = std::max(worst, here);
  }
  return worst;
}

void compare(numbers const& found, std::string const& name, double tolerance) {
  CHECK(deviation(found.output, file()[name + "/output"].values) < tolerance);
  for (std::size_t i = 0; i < found.gradients.size(); ++i) {
    std::string const gradient = name + "/input_" + std::to_string(i) + "_gradient";
    CAPTURE(gradient);
    if (!file().contains(gradient)) continue;
    auto const& expected = file()[gradient].values;
    if (found.gradients[i].empty())
      for (float const each : expected) CHECK(each == 0);
    else
      CHECK(deviation(found.gradients[i], expected) < tolerance);
  }
}

void check(std::string const& name, call computed, double tolerance = 3e-6) {
  CAPTURE(name);
  std::vector<extents> shapes;
  numbers with;
  for (std::size_t i = 0; file().contains(name + "/input_" + std::to_string(i)); ++i) {
    auto const& input = file()[name + "/input_" + std::to_string(i)];
    shapes.push_back(shape_of(input));
    with.inputs.push_back(input.values);
  }
  auto const traced = [&] { return trace_call(computed, shapes); };
  int const batch = shapes[0][0];
  traced_plan const plan(traced(), true), by_sample(traced(), true, {}, batch);
  REQUIRE_MESSAGE(!plan.traced.list.problem.failed(), plan.traced.list.problem.text.view());
  auto const& output = file()[name + "/output"];
  CHECK(plan.traced.list.node_of(plan.traced.outputs[0]).shape == shape_of(output));
  bool const has_gradient = file().contains(name + "/output_gradient");
  with.output_gradient = has_gradient ? file()[name + "/output_gradient"].values : floats(output.size(), 1.0F);
  auto on_doubles = with, of_samples = with;
  reference_run(plan, on_doubles);
  compare(on_doubles, name, tolerance);
  float_run const on_floats(plan, with);
  compare(with, name, tolerance);
  float_run const two_by_two(by_sample, of_samples, batch, 2);
  CHECK(deviation(of_samples.output, with.output) == 0);
  for (std::size_t i = 0; i < with.gradients.size(); ++i)
    CHECK(deviation(of_samples.gradients[i], with.gradients[i]) == 0);
}

template <tensor (*F)(tensor)>
void check_function(std::string const& name, double tolerance = 3e-6) {
  check(name, [](tracer&, tensors in) { return F(in[0]); }, tolerance);
}
template <tensor (*F)(tensor, tensor)>
void check_function_of_two(std::string const& name) {
  check(name, [](tracer&, tensors in) { return F(in[0], in[1]); });
}

}  // namespace

TEST_CASE("functions of one number") {
  check_function<tan>("tan", 1e-5);  // the gradient near pi / 2
  check_function<asin>("asin");
  check_function<acos>("acos");
  check_function<atan>("atan");
  check_function<sinh>("sinh");
  check_function<cosh>("cosh");
  check_function<asinh>("asinh");
  check_function<acosh>("acosh");
  check_function<atanh>("atanh");
  check_function<expm1>("expm1");
  check_function<log1p>("log1p");
  check_function<round>("round");
  check_function<ceil>("ceil");
  check_function<trunc>("trunc");
  check_function<isnan>("isnan");
  check("isinf", [](tracer&, tensors in) { return isinf(in[0]); });
  check_function<isfinite>("isfinite");
  check_function<logical_not>("logical_not");
}

TEST_CASE("functions of several numbers") {
  check_function_of_two<mod>("mod");
  check_function_of_two<fmod>("fmod");
  check_function_of_two<logical_and>("logical_and");
  check_function_of_two<logical_or>("logical_or");
  check_function_of_two<logical_xor>("logical_xor");
  check_function_of_two<not_equal>("not_equal");
  check("clip", [](tracer&, tensors in) { return clip(in[0], in[1], in[2]); });
}

TEST_CASE("activations of ONNX") {
  check("hard_sigmoid", [](tracer&, tensors in) { return hard_sigmoid(in[0], 0.3F, 0.4F); });
  check("hard_swish", [](tracer&, tensors in) { return hard_swish(in[0]); });
  check("elu", [](tracer&, tensors in) { return elu(in[0], 1.5F); });
  check("celu", [](tracer&, tensors in) { return celu(in[0], 1.5F); });
  check("selu", [](tracer&, tensors in) { return selu(in[0], 1.5F, 0.9F); });
  check("mish", [](tracer&, tensors in) { return mish(in[0]); });
  check("thresholded_relu", [](tracer&, tensors in) { return thresholded_relu(in[0], 0.7F); });
  check("shrink", [](tracer&, tensors in) { return shrink(in[0], 0.6F, 0.2F); });
}

TEST_CASE("reductions") {
  check("prod", [](tracer& ops, tensors in) { return ops.prod(in[0], 1); });
  check("prod_of_axes", [](tracer& ops, tensors in) { return ops.prod(in[0], {1, 2}); });
  check("logsumexp", [](tracer& ops, tensors in) { return ops.logsumexp(in[0], {1, 2}); });
  check("l1_norm", [](tracer& ops, tensors in) { return ops.l1_norm(in[0], 1); });
  check("l2_norm", [](tracer& ops, tensors in) { return ops.l2_norm(in[0], -1); });
  check("argmax", [](tracer& ops, tensors in) { return ops.argmax(in[0], 1); });
  check("argmax_last", [](tracer& ops, tensors in) { return ops.argmax(in[0], 1, true); });
  check("argmin", [](tracer& ops, tensors in) { return ops.argmin(in[0], 1); });
  check("argmin_last", [](tracer& ops, tensors in) { return ops.argmin(in[0], 1, true); });
}

TEST_CASE("running sums and products") {
  check("cumsum", [](tracer& ops, tensors in) { return ops.cumsum(in[0], 1); }, 1e-5);
  check("cumsum_exclusive", [](tracer& ops, tensors in) { return ops.cumsum(in[0], 1, true); }, 1e-5);
  check("cumsum_reverse", [](tracer& ops, tensors in) { return ops.cumsum(in[0], 1, false, true); }, 1e-5);
  check("cumsum_both", [](tracer& ops, tensors in) { return ops.cumsum(in[0], 1, true, true); }, 1e-5);
  check("cumprod", [](tracer& ops, tensors in) { return ops.cumprod(in[0], 1); });
  check("cumprod_exclusive", [](tracer& ops, tensors in) { return ops.cumprod(in[0], 1, true); });
  check("cumprod_reverse", [](tracer& ops, tensors in) { return ops.cumprod(in[0], 1, false, true); });
  check("cumprod_both", [](tracer& ops, tensors in) { return ops.cumprod(in[0], 1, true, true); });
}

TEST_CASE("movement") {
  check("moveaxis", [](tracer& ops, tensors in) { return ops.moveaxis(in[0], 2, 1); });
  check("tile", [](tracer& ops, tensors in) { return ops.tile(in[0], {2, 3}); });
  check("roll", [](tracer& ops, tensors in) { return ops.roll(in[0], -2, 1); });
  check("slice_backwards", [](tracer& ops, tensors in) { return ops.slice(in[0], 1, 4, 2, -2); });
  check("flip_of_part", [](tracer& ops, tensors in) { return ops.slice(in[0], 1, 3, 4, -1); });
  check("pad_value", [](tracer& ops, tensors in) { return ops.pad(in[0], 1, 2, 1, 1.5F); });
  check("pad_reflect", [](tracer& ops, tensors in) { return ops.pad(in[0], 1, 3, 4, pad_mode::reflect); });
  check("pad_symmetric", [](tracer& ops, tensors in) { return ops.pad(in[0], 1, 3, 5, pad_mode::symmetric); });
  check("pad_edge", [](tracer& ops, tensors in) { return ops.pad(in[0], 1, 3, 2, pad_mode::edge); });
  check("pad_wrap", [](tracer& ops, tensors in) { return ops.pad(in[0], 1, 7, 3, pad_mode::wrap); });
  check("tril", [](tracer& ops, tensors in) { return ops.tril(in[0], 1); });
  check("triu", [](tracer& ops, tensors in) { return ops.triu(in[0], -2); });
  check("space_to_depth", [](tracer& ops, tensors in) { return ops.space_to_depth(in[0], 2); });
  check("depth_to_space", [](tracer& ops, tensors in) { return ops.depth_to_space(in[0], 2); });
  check("depth_to_space_channels_first", [](tracer& ops, tensors in) { return ops.depth_to_space(in[0], 2, false); });
  check("space_to_depth_channels_first", [](tracer& ops, tensors in) { return ops.space_to_depth(in[0], 2, false); });
  check("stack", [](tracer& ops, tensors in) { return ops.stack({in[0], in[1]}, 2); });
  check("split", [](tracer& ops, tensors in) {
    auto const parts = ops.split(in[0], {3, 2}, 1);
    return ops.slice(parts[0], 1, 0, 2) * parts[1];
  });
}

TEST_CASE("choice by index") {
  check("take_constant",
        [](tracer& ops, tensors in) { return ops.take(in[0], {4, 4, 4, 0, 2, 1, 0, 1, 2, 3, -1}, 1); });
  check("take_repeated", [](tracer& ops, tensors in) { return ops.take(in[0], {0, 0, 3, 3, 1, 1}, 1); });
  check("take", [](tracer& ops, tensors in) { return ops.take(in[0], in[1], 2); });
  check("take_along_axis", [](tracer& ops, tensors in) { return ops.take_along_axis(in[0], in[1], 1); });
  check("take_along_axis_negative", [](tracer& ops, tensors in) { return ops.take_along_axis(in[0], in[1], 1); });
  check("put_along_axis", [](tracer& ops, tensors in) { return ops.put_along_axis(in[0], in[1], in[2], 1); });
  check("put_along_axis_added",
        [](tracer& ops, tensors in) { return ops.put_along_axis(in[0], in[1], in[2], 1, true); });
  check("one_hot", [](tracer& ops, tensors in) { return ops.one_hot(in[0], 4); });
  check("one_hot_axis", [](tracer& ops, tensors in) { return ops.one_hot(in[0], 4, 1); });
}

TEST_CASE("order") {
  check("top_k", [](tracer& ops, tensors in) { return ops.top_k(in[0], 3).values; });
  check("top_k_indices", [](tracer& ops, tensors in) { return ops.top_k(in[0], 3).indices; });
  check("top_k_smallest", [](tracer& ops, tensors in) { return ops.top_k(in[0], 2, 1, false).values; });
  check("sort", [](tracer& ops, tensors in) { return ops.sort(in[0], 1); });
  check("sort_falling", [](tracer& ops, tensors in) { return ops.sort(in[0], 2, true); });
  check("argsort", [](tracer& ops, tensors in) { return ops.argsort(in[0], 1); });
  check("argsort_first_axis", [](tracer& ops, tensors in) { return ops.argsort(in[0], 0); });
}

TEST_CASE("sums of products by Einstein's notation") {
  check("einsum_batch", [](tracer& ops, tensors in) { return ops.einsum("bij,bjk->bik", {in[0], in[1]}); });
  check("einsum_heads", [](tracer& ops, tensors in) { return ops.einsum("bqhd,bkhd->bhqk", {in[0], in[1]}); });
  check("einsum_outer", [](tracer& ops, tensors in) { return ops.einsum("bi, bj -> bij", {in[0], in[1]}); });
  check("einsum_inner", [](tracer& ops, tensors in) { return ops.einsum("bij,bij->b", {in[0], in[1]}); });
  check("einsum_summed", [](tracer& ops, tensors in) { return ops.einsum("bijk,jl->bl", {in[0], in[1]}); }, 1e-5);
  check("einsum_one", [](tracer& ops, tensors in) { return ops.einsum("bij->ji", {in[0]}); });
}

TEST_CASE("axes of another length") {
  using enum resize_places;
  check("resize_linear_twice", [](tracer& ops, tensors in) { return ops.resize_linear(in[0], 1, 10); });
  check("resize_linear_thrice", [](tracer& ops, tensors in) { return ops.resize_linear(in[0], 1, 15); });
  check("resize_linear_up", [](tracer& ops, tensors in) { return ops.resize_linear(in[0], 1, 7); });
  check("resize_linear_down", [](tracer& ops, tensors in) { return ops.resize_linear(in[0], 1, 3); });
  check("resize_linear_corners", [](tracer& ops, tensors in) { return ops.resize_linear(in[0], 1, 8, align_corners); });
  check("resize_linear_asymmetric",
        [](tracer& ops, tensors in) { return ops.resize_linear(in[0], 1, 10, asymmetric); });
  check("resize_linear_last_axis", [](tracer& ops, tensors in) { return ops.resize_linear(in[0], 2, 7); });
  check("resize_nearest_up", [](tracer& ops, tensors in) { return ops.resize_nearest(in[0], 1, 8); });
  check("resize_nearest_twice", [](tracer& ops, tensors in) { return ops.resize_nearest(in[0], 1, 10); });
  check("resize_nearest_down", [](tracer& ops, tensors in) { return ops.resize_nearest(in[0], 1, 2); });
  check("resize_nearest_earlier",
        [](tracer& ops, tensors in) { return ops.resize_nearest(in[0], 1, 15, asymmetric, true); });
}
