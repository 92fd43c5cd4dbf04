// SPDX-License-Identifier: BSD-3-Clause
// Words of `ops` that are made of others: gradients against finite differences, and what is refused.
#include "gradient_check.hpp"

#include <stagecraft/operations/differentiation.hpp>
#include <stagecraft/operations/words.hpp>
#include <array>
#include <doctest/doctest.h>
#include <string>

namespace stagecraft::operations {

namespace {

using tensors = std::span<tensor const>;
using call = tensor (*)(tracer&, tensors);

trace differentiated(std::initializer_list<extents> shapes, call computed) {
  trace traced = trace_call(computed, std::span<extents const>(shapes.begin(), shapes.size()));
  differentiate(traced);
  REQUIRE_MESSAGE(!traced.list.problem.failed(), traced.list.problem.text.view());
  return traced;
}
/// Checks the gradients of all inputs.
void check(std::initializer_list<extents> shapes, call computed, double tolerance = 1e-7) {
  trace const traced = differentiated(shapes, computed);
  int count = 0;
  for (extents const& shape : shapes) count += static_cast<int>(shape.size());
  CHECK(reference::gradient_check(traced).check(tolerance) >= count);
}
/// Checks that nothing has a gradient.
void check_none(call computed) { CHECK(differentiated({{3, 4}}, computed).gradients[0] < 0); }

std::string refused(std::initializer_list<extents> shapes, call computed) {
  trace const traced = trace_call(computed, std::span<extents const>(shapes.begin(), shapes.size()));
  return std::string(traced.list.problem.text.view());
}

}  // namespace

TEST_CASE("gradients of functions that are made of others") {
  check({{3, 4}}, [](tracer&, tensors in) { return log1p(square(in[0])) + expm1(in[0]); });
  check({{3, 4}}, [](tracer&, tensors in) { return tan(tanh(in[0])) + atan(in[0]); });
  check({{3, 4}}, [](tracer&, tensors in) { return asin(tanh(in[0])) + acos(in[0] * 0.1F); });
  check({{3, 4}}, [](tracer&, tensors in) { return sinh(in[0]) + cosh(in[0]) + asinh(in[0] * 3.0F); });
  check({{3, 4}}, [](tracer&, tensors in) { return acosh(square(in[0]) + 1.5F) + atanh(tanh(in[0]) * 0.9F); });
  check({{3, 4}, {4}}, [](tracer&, tensors in) { return fmod(in[0] * 5.0F, in[1]) + mod(in[0] * 5.0F, in[1]); });
  check({{3, 4}, {4}, {3, 1}}, [](tracer&, tensors in) { return clip(in[0], in[1], in[2]); });
  check({{3, 4}}, [](tracer&, tensors in) { return mish(in[0]) + celu(in[0], 1.5F) + selu(in[0], 1.2F, 0.9F); });
  check({{3, 4}}, [](tracer&, tensors in) { return hard_swish(in[0]) + shrink(in[0]) + log_sigmoid(in[0]); });
  check_none([](tracer&, tensors in) { return round(in[0]) + ceil(in[0]) + isnan(in[0]); });
  check_none([](tracer&, tensors in) { return logical_and(in[0], in[0]) + logical_xor(in[0], in[0]); });
}

TEST_CASE("odd functions have their gradient at 0, too") {
  for (call const computed :
       {call([](tracer&, tensors in) { return asinh(in[0]); }), call([](tracer&, tensors in) { return atanh(in[0]); }),
        call([](tracer&, tensors in) { return sinh(in[0]); })}) {
    trace const traced = differentiated({{2}}, computed);
    reference::interpreter run(traced.list.nodes, traced.list.operands);
    run[traced.inputs[0]] = {0, -0.0};
    run[traced.seeds[0]] = {1, 1};
    run.run(traced.list.size());
    CHECK(run[traced.gradients[0]] == std::vector<double>{1, 1});
  }
}

TEST_CASE("gradients of reductions that are made of others") {
  check({{2, 5, 3}}, [](tracer& ops, tensors in) { return ops.prod(in[0], {1, 2}); });
  check({{2, 5, 3}}, [](tracer& ops, tensors in) { return ops.logsumexp(in[0], {0, 2}) + ops.l2_norm(in[0], 1); });
  check({{2, 5, 3}}, [](tracer& ops, tensors in) { return ops.cumsum(square(in[0]), 1, true); });
  check({{2, 5, 3}}, [](tracer& ops, tensors in) { return ops.cumprod(in[0], -2, false, true); });
  check_none([](tracer& ops, tensors in) { return ops.argmax(in[0]) + ops.argmin(in[0]); });
}

TEST_CASE("the gradient of a product and of a running one where elements are 0") {
  for (call const computed : {call([](tracer& ops, tensors in) { return ops.prod(in[0], 1); }),
                              call([](tracer& ops, tensors in) { return ops.cumprod(in[0], 1); })}) {
    trace const traced = differentiated({{2, 4}}, computed);
    reference::gradient_check checked(traced);
    checked.input_values(0) = {1.5, 0, 2, -1, 0, 3, 0, 2};
    CHECK(checked.check() == 8);
  }
}

TEST_CASE("gradients of movement that is made of others") {
  check({{2, 5}}, [](tracer& ops, tensors in) { return square(ops.tile(in[0], {3, 1, 2})); });
  check({{2, 5}}, [](tracer& ops, tensors in) { return square(ops.pad(in[0], 1, 2, 3, pad_mode::reflect)); });
  check({{2, 5}}, [](tracer& ops, tensors in) { return square(ops.pad(in[0], 1, 6, 7, pad_mode::wrap)); });
  check({{2, 5}}, [](tracer& ops, tensors in) { return square(ops.pad(in[0], 0, 1, 2, 3.0F)); });
  check({{2, 5}}, [](tracer& ops, tensors in) { return square(ops.slice(in[0], 1, 4, 3, -2)); });
  check({{2, 5}}, [](tracer& ops, tensors in) { return square(ops.take(in[0], {4, 0, 0, 0, 3, 2, 1, -1}, 1)); });
  check({{2, 5}}, [](tracer& ops, tensors in) { return square(ops.roll(in[0], 7, 1)); });
  check({{4, 4}}, [](tracer& ops, tensors in) { return square(ops.tril(in[0]) + ops.triu(in[0], 1) * 2.0F); });
  check({{1, 4, 2, 2}}, [](tracer& ops, tensors in) { return square(ops.space_to_depth(in[0], 2, false)); });
  check({{1, 2, 1, 8}}, [](tracer& ops, tensors in) { return square(ops.depth_to_space(in[0], 2, false)); });
  check({{2, 3}, {2, 3}}, [](tracer& ops, tensors in) { return square(ops.stack({in[0], in[1], in[0]}, 1)); });
}

TEST_CASE("gradients of choice by index and of order") {
  check({{3, 4, 2}}, [](tracer& ops, tensors in) {
    return square(ops.take(in[0], ops.iota({2, 2}) * 2.0F - 1.0F, 1));  // -1 and 1
  });
  check({{3, 4}},
        [](tracer& ops, tensors in) { return square(ops.take_along_axis(in[0], ops.iota({3, 3}) - 1.0F, 1)); });
  check({{3, 4}, {3, 2}},
        [](tracer& ops, tensors in) { return square(ops.put_along_axis(in[0], ops.iota({3, 2}) * 2.0F, in[1], 1)); });
  check({{3, 6}}, [](tracer& ops, tensors in) { return square(ops.top_k(in[0], 2).values); });
  check({{3, 6}}, [](tracer& ops, tensors in) { return ops.sort(in[0], 0) * in[0]; });
  check_none([](tracer& ops, tensors in) { return ops.argsort(in[0]) + ops.top_k(in[0], 4, -1, false).indices; });
  check_none([](tracer& ops, tensors in) { return ops.one_hot(in[0], 3); });
}

TEST_CASE("gradients of einsums and of axes of another length") {
  check({{2, 3, 4}, {4, 2, 3}}, [](tracer& ops, tensors in) { return ops.einsum("abc,cad->dab", {in[0], in[1]}); });
  check({{2, 3}, {4}}, [](tracer& ops, tensors in) { return square(ops.einsum("ab,c->ca", {in[0], in[1]})); });
  check({{2, 5, 3}}, [](tracer& ops, tensors in) { return square(ops.resize_linear(in[0], 1, 10)); });
  check({{2, 5, 3}}, [](tracer& ops, tensors in) { return square(ops.resize_linear(in[0], 1, 4)); });
  check({{2, 5}}, [](tracer& ops, tensors in) { return square(ops.resize_nearest(in[0], 1, 9)); });
}

TEST_CASE("indices outside choose nothing") {
  trace const traced =
      differentiated({{2, 3}, {2, 4}}, [](tracer& ops, tensors in) { return ops.take_along_axis(in[0], in[1], 1); });
  reference::gradient_check run(traced);
  run.input_values(0) = {1, 2, 3, 4, 5, 6};
  run.input_values(1) = {0, 3, -3, -4, 2, -1, 100, -100};
  CHECK(run.output() == reference::values{1, 0, 1, 0, 6, 6, 0, 0});
}

TEST_CASE("what does not fit is refused with the shape") {
  CHECK(refused({{2, 3}}, [](tracer& ops, tensors in) { return ops.take(in[0], {3}, 1); }) ==
        "a tensor of shape (2, 3) has no place 3 along axis 1 [E1070]");
  CHECK(refused({{2, 3}}, [](tracer& ops, tensors in) { return ops.pad(in[0], 1, 3, 0, pad_mode::reflect); }) ==
        "a tensor of shape (2, 3) cannot be padded by 3 and 0 along axis 1 [E1070]");
  CHECK(refused({{2, 3}}, [](tracer& ops, tensors in) { return ops.slice(in[0], 1, 0, 2, -1); }) ==
        "a tensor of shape (2, 3) has no slice of 2 from 0 along axis 1 [E1070]");
  CHECK(refused({{2, 3}}, [](tracer& ops, tensors in) { return ops.top_k(in[0], 4).values; }) ==
        "a tensor of shape (2, 3) has no 4 elements along axis -1 [E1070]");
  CHECK(refused({{2, 3}, {2, 4}}, [](tracer& ops, tensors in) { return ops.einsum("ab,ab->a", {in[0], in[1]}); }) ==
        "a tensor of shape (2, 3) cannot be multiplied by (2, 4) in an einsum [E1070]");
  CHECK(refused({{2, 3}}, [](tracer& ops, tensors in) { return ops.split(in[0], 2)[1]; }) ==
        "a tensor of shape (2, 3) has no 2 equal parts along axis -1 [E1070]");
  CHECK(refused({{2, 3}}, [](tracer& ops, tensors in) { return ops.argmax(in[0], 2); }) ==
        "a tensor of shape (2, 3) has no axis 2 [E1070]");
  CHECK(refused({{5000, 5000}}, [](tracer& ops, tensors in) { return ops.sort(in[0]); }).ends_with("[E1160]"));
  for (auto const computed : {call([](tracer& ops, tensors in) { return ops.einsum("ab", {in[0]}); }),
                              call([](tracer& ops, tensors in) { return ops.einsum("aa->a", {in[0]}); }),
                              call([](tracer& ops, tensors in) { return ops.einsum("ab->c", {in[0]}); }),
                              call([](tracer& ops, tensors in) { return ops.einsum("ab,bc->ac", {in[0]}); }),
                              call([](tracer& ops, tensors in) { return ops.einsum("...a->a", {in[0]}); })})
    CHECK(refused({{3, 3}}, computed).ends_with("[E1161]"));
}

}  // namespace stagecraft::operations
