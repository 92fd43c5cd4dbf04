// SPDX-License-Identifier: BSD-3-Clause
// The kernels for poolings inside of a layer give what plain loops over the windows give.
#include <stagecraft/host/steps/traced_layer.hpp>
#include <stagecraft/layers/layers.hpp>
#include <doctest/doctest.h>
#include <tuple>
#include <vector>

#include "../../kernels/share_check.hpp"

namespace {

namespace sc = stagecraft;
namespace operations = stagecraft::operations;
using namespace share_check;
using operations::window, sc::shape;

/// Images whose poolings have kernels, but for the last one.
struct images : sc::layer<images> {
  static constexpr int kernels = 4;

  constexpr auto call(auto& ops, auto x) const {
    operations::windows const same(window::same(7, 3), window::same(6, 2)), apart(window{2, 2}, window{3, 3});
    auto const batch = x.length(0);
    auto const sum = [&](auto y) { return ops.reshape(ops.sum(y, {1, 2}), {batch, x.length(-1)}); };
    return sum(ops.max_pool(x, same)) + sum(ops.average_pool(x, same)) + sum(ops.max_pool(x, apart)) +
           sum(ops.average_pool(x, apart)) + sum(ops.max_pool(x, {window{2, 1, 2}, window{1}}));
  }
};
struct sequences : sc::layer<sequences> {
  static constexpr int kernels = 2;

  constexpr auto call(auto& ops, auto x) const {
    return ops.concatenate({ops.max_pool(x, window::same(9, 4, 3)), ops.average_pool(x, window::same(9, 2, 3))}, 1);
  }
};

template <auto Layer, int Batch, shape In, class Arch>
void check() {
  CAPTURE(kernels::lanes<Arch>);
  static constexpr auto const& plan =
      sc::detail::plan_of_layer<sc::detail::layer_of_calls<Layer>, Batch, true, true, true, 1, 1, In>::value;
  auto const& found = sc::cpu::pooling_kernels<plan, Arch>;
  REQUIRE(found.size() == plan.nodes.size());
  int forward = 0, backward = 0;
  for (std::size_t id = 0; id < found.size(); ++id) {
    auto const& node = plan.nodes[id];
    auto const operand = [&](int index) {
      return plan.nodes[static_cast<std::size_t>(operations::operand_of(plan, static_cast<int>(id), index))].shape;
    };
    if (found[id].forward != nullptr) {
      ++forward;
      auto const& what = node.what.template as<operations::pooling>();
      buffer x(static_cast<int>(operand(0).size())), y(static_cast<int>(node.shape.size()));
      shuffled(x, 1);
      std::vector<float> expected(static_cast<std::size_t>(y.size()));
      found[id].forward(x.data(), y.data(), Batch);
      kernels::pool_windows<Arch>(what.kind == operations::pooling_kind::max, {what.windows, operand(0), node.shape},
                                  x.data(), expected.data());
      CHECK(deviation(y.data(), {expected.begin(), expected.end()}) < 1e-6);
      CHECK(y.guard_is_intact());
    }
    if (found[id].backward != nullptr) {
      ++backward;
      auto const& what = node.what.template as<operations::pooling_gradient>();
      bool const is_max = what.kind == operations::pooling_kind::max;
      int const size = static_cast<int>(node.shape.size()), windows = static_cast<int>(operand(1).size());
      buffer x(size), y(windows), dy(windows), dx(size), workspace(2 * size + 64);
      x.fill(5);  // with ties
      shuffled(dy, 2);
      std::vector<float> expected(static_cast<std::size_t>(size));
      kernels::pool_windows<Arch>(is_max, {what.windows, node.shape, operand(1)}, x.data(), y.data());
      kernels::pool_windows_gradient<Arch>(is_max, {what.windows, node.shape, operand(1)}, x.data(), y.data(),
                                           dy.data(), expected.data(), workspace.data());
      found[id].backward(x.data(), dy.data(), dx.data(), workspace.data(), Batch);
      CHECK(deviation(dx.data(), {expected.begin(), expected.end()}) < 2e-6);
      CHECK((dx.guard_is_intact() && workspace.guard_is_intact()));
    }
  }
  CHECK(forward == Layer.kernels);
  CHECK(backward == Layer.kernels);
}

template <auto Layer, int Batch, shape In, class... Arch>
void check_all(std::tuple<Arch...>*) {
  (check<Layer, Batch, In, Arch>(), ...);
}

}  // namespace

TEST_CASE("poolings of images and sequences") {
  constexpr auto all = static_cast<std::tuple<MATMUL_ARCHITECTURES>*>(nullptr);
  check_all<images{}, 2, shape(7, 6, 5)>(all);
  check_all<images{}, 1, shape(7, 6, 33)>(all);
  check_all<sequences{}, 3, shape(9, 17)>(all);
}
TEST_CASE("a plan without poolings has no kernels") {
  using plan = sc::detail::plan_of_layer<sc::detail::layer_of_calls<sc::layers::flatten{}>, 2, true, true, true, 1, 1,
                                         shape(3, 4)>;
  static_assert(sc::cpu::pooling_kernels<plan::value, kernels::default_architecture>.empty());
}
