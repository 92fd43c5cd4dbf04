// SPDX-License-Identifier: BSD-3-Clause
// The lowered steps of dense and the convolution layers give what the host's kernels give, at the cost that is
// foretold.
#include <stagecraft/ipu/lowering/lowered_steps.hpp>
#include <stagecraft/ipu/lowering/lowerings.hpp>
#include <stagecraft/stagecraft.hpp>

#include <doctest/doctest.h>
#include "call_on_tiles.hpp"

namespace sc = stagecraft;

namespace {

struct images : sc::functional<images> {
  static constexpr auto build(auto& builder) {
    using namespace stagecraft::layers;
    auto const same = sc::padding::same;
    auto x = conv2d(6, 3, sc::relu, {.padding = same})(builder.input(9, 8, 3));
    auto a = conv2d(4, {3, 2}, sc::gelu, {.strides = 2, .padding = same})(x);
    auto b = conv2d(8, 3, {.dilation_rate = 2, .groups = 2, .use_bias = false})(x);
    auto c = conv2d(5, 1, sc::softmax, {.strides = {3, 2}})(x);
    auto d = conv2d_transpose(3, 3, sc::tanh, {.strides = 2})(a);
    auto e = conv2d_transpose(4, {2, 4}, {.padding = same})(b);
    auto f = depthwise_conv2d(3, sc::swish, {.depth_multiplier = 2})(x);
    auto g = depthwise_conv2d({2, 3}, {.strides = 2, .padding = same})(c);
    auto h = separable_conv2d(5, 3, sc::relu, {.padding = same})(d);
    auto i = separable_conv2d(4, 2, sc::gelu, {.depth_multiplier = 2})(f);
    return dense(
        3, sc::softmax)(concatenate()(dense(7, sc::sigmoid)(flatten()(e)), flatten()(g), flatten()(h), flatten()(i)));
  }
};

struct sequences : sc::functional<sequences> {
  static constexpr auto build(auto& builder) {
    using namespace stagecraft::layers;
    auto x = dense(5, sc::gelu)(builder.input(12, 3));
    auto a = conv1d(6, 3, sc::relu, {.padding = sc::padding::causal})(x);
    auto b = conv1d(4, 2, {.strides = 3})(a);
    auto c = separable_conv1d(4, 3, sc::elu, {.strides = 3, .padding = sc::padding::same})(a);
    return dense(2)(multiply()(b, c));
  }
};

/// Calls of one layer on images of two sizes: the weights lie as the first call's plan wants them.
struct sizes : sc::functional<sizes> {
  static constexpr auto build(auto& builder) {
    using namespace stagecraft::layers;
    conv2d shared(8, 3, {.padding = sc::padding::same});
    auto x = shared(builder.input(8, 8, 8));
    return flatten()(shared(max_pooling2d(2)(x)));
  }
};

// Of several micro-batches, whose gradients the host adds up, too.
inline constexpr auto training =
    sc::training{.batch_size = 3, .gradient_accumulation = {.gradient_accumulation_steps_per_replica = 2}};

template <class Model, sc::execution_mode Mode, int Tiles, int Index>
void check_call() {
  using layer = sc::layer_t<Model, Index>;
  if constexpr (requires { layer::use_bias; }) {
    CAPTURE(Tiles);
    CAPTURE(Index);
    tests::call_on_tiles<Model, training, Mode, Tiles, Index> call(1e-5F);
    call.check_forward();
    if constexpr (Mode == sc::execution_mode::training) call.check_backward();
  }
}

template <class Model, sc::execution_mode Mode, int Tiles>
void check_model() {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (check_call<Model, Mode, Tiles, static_cast<int>(I)>(), ...);
  }(std::make_index_sequence<sc::graph_of<Model>.calls.size()>{});
}

}  // namespace

TEST_CASE("images") { check_model<images, sc::execution_mode::training, 7>(); }

TEST_CASE("a layer that is called twice") {
  check_model<sizes, sc::execution_mode::training, 7>();
  using machine = tests::few_tiles<7>;
  auto const& first =
      sc::tiles::lowered_step_of<sc::jobs::job<sizes, training, sc::execution_mode::training, machine>, 0, 1, false>;
  auto const& second =
      sc::tiles::lowered_step_of<sc::jobs::job<sizes, training, sc::execution_mode::training, machine>, 0, 3, false>;
  CHECK(first.input_of(first.tasks[0], 1).planned != nullptr);
  CHECK(first.input_of(first.tasks[0], 1).planned == second.input_of(second.tasks[0], 1).planned);
  CHECK(sc::detail::division_of(first, first.tasks[0], machine::target).kernel_is_there);
  CHECK_FALSE(sc::detail::division_of(second, second.tasks[0], machine::target).kernel_is_there);
}

TEST_CASE("sequences") {
  check_model<sequences, sc::execution_mode::training, 20>();
  check_model<sequences, sc::execution_mode::inference, 1>();
}
