// SPDX-License-Identifier: BSD-3-Clause
// The lowered steps of activations, merging layers and dropout give what the host's kernels give.
#include "../tiles/codelets/run_on_tiles.hpp"

#include <stagecraft/ipu/lowering/traced.hpp>
#include <stagecraft/ipu/tiles/codelets/run_task.hpp>
#include <stagecraft/stagecraft.hpp>
#include <cstddef>
#include <cstdint>
#include <doctest/doctest.h>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

namespace sc = stagecraft;
namespace layers = stagecraft::layers;

namespace {

struct activated : sc::functional<activated> {
  static constexpr auto build(auto& builder) {
    using namespace stagecraft::layers;
    auto x = dense(4)(builder.input(5, 3, 2));
    auto a = activation(sc::gelu)(x);
    auto b = activation(sc::softmax)(re_lu({.max_value = 6.0F})(a));
    auto c = leaky_re_lu()(softmax_layer(1)(b));
    auto d = thresholded_re_lu(0.5F)(elu_layer()(x));
    auto e = add()(a, c, d);
    auto f = prelu({.alpha_initializer = sc::initializers::constant{0.25F}, .shared_axes = {1, 2}})(e);
    auto g = prelu()(prelu({.shared_axes = {2}})(f));
    auto h = prelu({.shared_axes = {1, 2, 3}})(prelu({.shared_axes = {3}})(g));
    auto i = spatial_dropout2d(0.5F)(dropout(0.25F, 7)(h));
    auto j =
        prelu({.shared_axes = {2, 4}})(reshape(5, 3, 2, 2)(activation(sc::softsign)(recomputation_checkpoint()(i))));
    return dense(2)(flatten()(j));
  }
};

/// Draws a number for each element, of a seed of its own, while an input is repeated.
struct noisy : sc::layer<noisy> {
  static constexpr std::string_view class_name = "Noisy";
  constexpr auto call(auto& ops, auto x, auto scale) const { return x + scale * ops.uniform(x.shape(), 5); }
};

struct merged : sc::functional<merged> {
  static constexpr auto build(auto& builder) {
    using namespace stagecraft::layers;
    auto x = builder.input(6);
    auto a = dense(7)(x), b = dense(7)(x), c = dense(7)(x);
    auto m = maximum()(a, b, c, a, b, c, b, a, c);
    auto n = multiply()(a, m, c, b, a, c, b, m, a, b);
    auto o = average()(a, b, c, m, n, a, b, c, m, n);
    auto p = 1.0F - a / 4.0F, q = -(p * (multiply()(b, b) + 1.0F));
    auto r = noisy()(q, dense(1)(x));
    return dense(2)(dropout(0.5F)(add()(r, subtract()(maximum()(o, a), average()(b, multiply()(c, c))))));
  }
};

struct sequences : sc::functional<sequences> {
  static constexpr auto build(auto& builder) {
    using namespace stagecraft::layers;
    return dense(2)(flatten()(spatial_dropout1d(0.3F)(dense(5)(builder.input(8, 3)))));
  }
};

inline constexpr auto training = sc::training{.batch_size = 3};
inline constexpr auto half_training = sc::training{.batch_size = 3, .dtype_policy = sc::dtype_policies::mixed_float16};

template <int Tiles>
struct machine {
  static constexpr sc::ipu_config config{};
  static constexpr sc::ipu_target target = [] {
    auto result = sc::ipu_targets::ipu2;
    result.tiles_per_ipu = Tiles;
    return result;
  }();
};

/// A call whose tensors are arrays, as the host's operations want it. They may be read beyond their ends.
template <class Lowered>
struct array_call : Lowered {
  using architecture = sc::kernels::default_architecture;
  using array = std::vector<float>;
  static constexpr int size = Lowered::output_shape().size();
  static constexpr bool adds_parameter_gradient = false;
  struct plan {
    static constexpr bool trains = Lowered::trains;
    static constexpr auto training = sc::training{};
    static constexpr int epilogue(int) { return -1; }
  };

  struct {
    std::uint64_t seed = 11, step = 3;
  } memory;
  mutable std::vector<array> inputs, input_gradients, weights, parameter_gradients;
  mutable array results, result_gradients;

  explicit array_call(std::mt19937& random) {
    auto const numbers = [&](long long count) {
      array result(static_cast<std::size_t>(count) + 64);
      for (auto& value : result) value = static_cast<float>(std::uniform_int_distribution<int>(-6, 6)(random)) / 4;
      return result;
    };
    for (int i = 0; i < Lowered::input_count; ++i) {
      inputs.push_back(numbers(Lowered::input_elements(i)));
      input_gradients.push_back(numbers(Lowered::input_elements(i)));
    }
    for (int i = 0; i < Lowered::parameter_count; ++i) {
      weights.push_back(numbers(Lowered::parameter_info(i).size()));
      parameter_gradients.push_back(numbers(Lowered::parameter_info(i).size()));
    }
    results = numbers(Lowered::output_elements());
    result_gradients = numbers(Lowered::output_elements());
  }

  [[nodiscard]] float const* input(int index) const { return inputs[static_cast<std::size_t>(index)].data(); }
  [[nodiscard]] float* input_gradient(int index) const {
    return input_gradients[static_cast<std::size_t>(index)].data();
  }
  [[nodiscard]] float const* weight(int index) const { return weights[static_cast<std::size_t>(index)].data(); }
  [[nodiscard]] float* parameter_gradient(int index) const {
    return parameter_gradients[static_cast<std::size_t>(index)].data();
  }
  [[nodiscard]] float* output() const { return results.data(); }
  [[nodiscard]] float* output_gradient() const { return result_gradients.data(); }
  [[nodiscard]] static sc::kernels::share share() { return {}; }
  [[nodiscard]] static sc::kernels::share::range elements(long long count) { return {0, count}; }
  [[nodiscard]] static constexpr bool wants_parameter_gradient(int) { return true; }
  template <class Work>
  void divide(Work const& work) const {
    work(*this);
  }

  /// A tensor of the step; none if it is a temporary one.
  [[nodiscard]] array tensor(sc::tiles::tile_tensor const& which) const {
    auto const index = static_cast<std::size_t>(which.index);
    auto const first = [&](array const& all) { return array(all.begin(), all.begin() + which.elements); };
    switch (which.role) {
      case sc::tiles::tensor_role::input: return first(inputs[index]);
      case sc::tiles::tensor_role::output: return first(results);
      case sc::tiles::tensor_role::weight: return first(weights[index]);
      case sc::tiles::tensor_role::accumulator: return first(parameter_gradients[index]);
      case sc::tiles::tensor_role::output_gradient: return first(result_gradients);
      case sc::tiles::tensor_role::input_gradient: return first(input_gradients[index]);
      default: return {};
    }
  }
};

/// Runs the step on tiles and on the host, and compares what the tensors hold that it writes.
template <class Call, class OnHost>
void compare(sc::tiles::lowered_step const& step, Call const& call, OnHost const& on_host) {
  constexpr double error = Call::type == sc::dtype::float16 ? 4e-3 : 1e-5;
  std::vector<std::vector<float>> before;
  for (int i = 0; i < step.tensor_count; ++i) before.push_back(call.tensor(step.tensors[i]));
  auto const result = tests::run_on_tiles(
      step, Call::target, before, [](auto& machine, auto const& operation) { run_task(machine, operation); },
      {.seed = call.memory.seed, .step = call.memory.step, .call = Call::call, .accumulated = 0});
  on_host();
  for (int i = 0; i < step.tensor_count; ++i) {
    auto const expected = call.tensor(step.tensors[i]);
    for (std::size_t k = 0; k < expected.size(); ++k)
      CHECK(result.tensors[static_cast<std::size_t>(i)][k] == doctest::Approx(expected[k]).epsilon(error));
  }
}

template <class Layer>
constexpr bool is_here = !std::is_same_v<Layer, layers::input> && !std::is_same_v<Layer, layers::dense> &&
                         !std::is_same_v<Layer, layers::flatten> && !std::is_same_v<Layer, layers::reshape> &&
                         !std::is_same_v<Layer, layers::recomputation_checkpoint>;

template <class Model, auto Training, int Tiles, int Index>
int check_call() {
  using layer = sc::layer_t<Model, Index>;
  using forward =
      sc::tiles::lowered_call<sc::jobs::job<Model, Training, sc::execution_mode::training, machine<Tiles>>, 0, Index>;
  using backward =
      sc::tiles::lowered_call<sc::jobs::job<Model, Training, sc::execution_mode::training, machine<Tiles>>, 1, Index>;
  if constexpr (is_here<layer>) {
    CAPTURE(Tiles);
    CAPTURE(Index);
    std::mt19937 random(Index);
    array_call<forward> call(random);
    static constexpr auto forward_step = sc::detail::lower_forward<forward>();
    compare(forward_step, call, [&] { sc::cpu::layer_steps_of<array_call<forward>>::forward(call); });
    array_call<backward> back(random);
    back.inputs = call.inputs;
    back.results = call.results;
    back.weights = call.weights;
    static constexpr auto backward_step = sc::detail::lower_backward<backward>();
    compare(backward_step, back, [&] { sc::cpu::layer_steps_of<array_call<backward>>::backward(back); });
    return 1;
  }
  return 0;
}

template <class Model, int Tiles, auto Training = training>
int check_model() {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return (check_call<Model, Training, Tiles, static_cast<int>(I)>() + ...);
  }(std::make_index_sequence<sc::graph_of<Model>.calls.size()>{});
}

TEST_CASE("activations, slopes of their own, dropout") {
  CHECK(check_model<activated, 1>() == 17);
  CHECK(check_model<activated, 7>() == 17);
  CHECK(check_model<activated, 3, half_training>() == 17);
}
TEST_CASE("merging layers") {
  CHECK(check_model<merged, 1>() == 16);
  CHECK(check_model<merged, 7>() == 16);
  CHECK(check_model<merged, 3, half_training>() == 16);
}
TEST_CASE("dropout of whole channels of sequences") { CHECK(check_model<sequences, 5>() == 1); }

}  // namespace
