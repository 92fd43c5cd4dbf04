// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/operations/differentiation.hpp>
#include <stagecraft/operations/flops.hpp>
#include <doctest/doctest.h>

#include <span>

namespace stagecraft::operations {

namespace {

using tensors = std::span<tensor const>;

/// Forward, and forward with gradients.
struct cost {
  long long forward, training;
  friend constexpr bool operator==(cost const&, cost const&) = default;
};
template <class Call, class... Shapes>
constexpr cost cost_of(Call const& call, Shapes const&... shapes) {
  extents const all[]{shapes...};
  trace traced = trace_call(call, all);
  differentiate(traced);
  return {flops(traced.list, 0, traced.forward_count), flops(traced.list, 0, traced.list.size())};
}

// Three products of 2 * 8 * 16 * 4.
static_assert(cost_of([](tracer& ops, tensors in) { return ops.matmul(in[0], in[1]); }, extents(8, 16),
                      extents(16, 4)) == cost{1024, 3072});
static_assert(cost_of([](tracer&, tensors in) { return in[0] + in[1]; }, extents(8, 16), extents(16)) ==
              cost{128, 256});  // and the sum over the batch
static_assert(cost_of([](tracer& ops, tensors in) { return ops.reshape(in[0], {4, 4}); }, extents(16)) == cost{0, 0});
// 2 * (3 * 3 * 4) for each of 2 * 5 * 5 * 6 outputs, three times.
constexpr windows over(window::same(5, 3), window::same(5, 3));
static_assert(cost_of([](tracer& ops, tensors in) { return ops.conv(in[0], in[1], over); }, extents(2, 5, 5, 4),
                      extents(3, 3, 4, 6)) == cost{21600, 64800});
// Seven trips of a product of 2 * 3 * 3 * 1.
static_assert(cost_of(
                  [](tracer& ops, tensors in) {
                    auto const step = [&](tensor, std::array<tensor, 1> state) {
                      return std::array{ops.matmul(in[1], state[0])};
                    };
                    return ops.scan(in[0], 0, std::array{ops.full({3, 1}, 1)}, step).last[0];
                  },
                  extents(7, 2), extents(3, 3))
                  .forward == 7 * 18);

}  // namespace

}  // namespace stagecraft::operations
