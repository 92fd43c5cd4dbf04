// SPDX-License-Identifier: BSD-3-Clause
// The lowered steps of pooling, borders, up-sampling and concatenation give what the host's kernels give.
#include <stagecraft/host/layer_steps/pooling.hpp>
#include <stagecraft/ipu/lowering/pooling.hpp>
#include <stagecraft/ipu/lowering/traced.hpp>
#include <stagecraft/ipu/tiles/codelets/run_task.hpp>
#include <stagecraft/stagecraft.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <doctest/doctest.h>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>
#include "../tiles/codelets/run_on_tiles.hpp"

namespace sc = stagecraft;
namespace layers = stagecraft::layers;

namespace {

struct images : sc::functional<images> {
  static constexpr auto build(auto& builder) {
    using namespace stagecraft::layers;
    auto const same = sc::padding::same;
    auto x = conv2d(6, 3, {.padding = same})(builder.input(9, 8, 3));
    auto a = max_pooling2d(2)(x), b = average_pooling2d(3, 2, {.padding = same})(zero_padding2d({{0, 1}, {0, 2}})(x));
    auto c = max_pooling2d(3, 1, {.padding = same})(a), d = cropping2d({{1, 0}, {0, 1}})(b);
    auto e = up_sampling2d({1, 2}, {.interpolation = sc::interpolation::bilinear})(d);
    auto f = up_sampling2d({2, 1})(c), g = up_sampling2d(3, {.interpolation = sc::interpolation::bilinear})(a);
    auto rows = concatenate(2)(a, c, a);
    auto pooled = max_pooling2d({2, 3})(conv2d(5, 3, sc::relu)(x));
    return dense(3)(concatenate()(global_max_pooling2d()(e), global_average_pooling2d()(f), global_max_pooling2d()(g),
                                  global_max_pooling2d()(c), global_max_pooling2d()(rows),
                                  global_average_pooling2d()(pooled)));
  }
};

struct sequences : sc::functional<sequences> {
  static constexpr auto build(auto& builder) {
    using namespace stagecraft::layers;
    auto x = dense(5)(builder.input(12, 3));
    auto a = max_pooling1d(3, 1)(zero_padding1d(1)(x));
    auto b = up_sampling1d(2)(average_pooling1d(2)(x));
    auto c = cropping1d({1, 2})(concatenate()(a, b));
    return dense(2)(concatenate()(global_average_pooling1d()(c), global_max_pooling1d()(c)));
  }
};

inline constexpr auto training = sc::training{.batch_size = 3};

template <int Tiles>
struct machine {
  static constexpr sc::ipu_config config{};
  static constexpr sc::ipu_target target = [] {
    auto result = sc::ipu_targets::ipu2;
    result.tiles_per_ipu = Tiles;
    return result;
  }();
};

template <class Job, auto Variant, int Call, class WeightMachine>
Job job_of(sc::tiles::lowered_call_variant<Job, Variant, Call, WeightMachine> const*);

/// A call whose tensors are arrays, as the host's operations want it. They may be read beyond their ends.
template <class Lowered>
struct array_call : Lowered {
  using architecture = sc::kernels::default_architecture;
  using array = std::vector<float>;
  static constexpr int size = Lowered::output_shape().size();
  static constexpr bool adds_parameter_gradient = false;
  struct plan {
    using job = decltype(job_of(static_cast<Lowered const*>(nullptr)));
    static constexpr bool trains = Lowered::trains;
    static constexpr int epilogue(int) { return -1; }
    static constexpr int threads = 1;
  };
  struct memory_type {
    std::uint64_t seed = 11, step = 3;
    float* workspace = nullptr;
    [[nodiscard]] float* shared_workspace() const { return workspace; }
  };

  mutable std::vector<array> inputs, input_gradients;
  mutable array results, result_gradients, kept, workspace;
  memory_type memory;

  explicit array_call(std::mt19937& random) {
    auto const numbers = [&](long long count) {
      array result(static_cast<std::size_t>(count) + 64);
      for (auto& value : result) value = static_cast<float>(std::uniform_int_distribution<int>(-6, 6)(random));
      return result;
    };
    for (int i = 0; i < Lowered::input_count; ++i) {
      inputs.push_back(numbers(Lowered::input_elements(i)));
      input_gradients.push_back(numbers(Lowered::input_elements(i)));
    }
    results = numbers(Lowered::output_elements());
    result_gradients = numbers(Lowered::output_elements());
    kept = array(static_cast<std::size_t>(Lowered::planned.needs.saved) + 64);
    workspace = array(std::size_t{1} << 16);
    memory.workspace = workspace.data();
  }

  [[nodiscard]] float const* input(int index) const { return inputs[static_cast<std::size_t>(index)].data(); }
  [[nodiscard]] float* input_gradient(int index) const {
    return input_gradients[static_cast<std::size_t>(index)].data();
  }
  [[nodiscard]] float* output() const { return results.data(); }
  [[nodiscard]] float* output_gradient() const { return result_gradients.data(); }
  [[nodiscard]] float* saved() const { return kept.data(); }
  [[nodiscard]] static sc::kernels::share share() { return {}; }
  [[nodiscard]] static sc::kernels::share::range elements(long long count) { return {0, count}; }
  template <class Work>
  void divide(Work const& work) const {
    work(*this);
  }
  [[nodiscard]] static constexpr bool wants_parameter_gradient(int) { return false; }
  [[nodiscard]] static float* mutable_weight(int) { return nullptr; }
  [[nodiscard]] static float* parameter_gradient(int) { return nullptr; }
  [[nodiscard]] static float const* weight(int) { return nullptr; }

  /// A tensor of the step; none if it is a temporary one.
  [[nodiscard]] array tensor(sc::tiles::tile_tensor const& which) const {
    auto const index = static_cast<std::size_t>(which.index);
    auto const first = [&](array const& all) { return array(all.begin(), all.begin() + which.elements); };
    switch (which.role) {
      case sc::tiles::tensor_role::input: return first(inputs[index]);
      case sc::tiles::tensor_role::output: return first(results);
      case sc::tiles::tensor_role::output_gradient: return first(result_gradients);
      case sc::tiles::tensor_role::input_gradient: return first(input_gradients[index]);
      case sc::tiles::tensor_role::saved: {
        std::vector<std::uint8_t> bytes(static_cast<std::size_t>(which.elements));
        std::memcpy(bytes.data(), kept.data(), bytes.size());
        return {bytes.begin(), bytes.end()};
      }
      default: return {};
    }
  }
};

/// Runs the step on tiles and on the host, and compares what the tensors hold that it writes.
template <class Call, class OnHost>
void compare(sc::tiles::lowered_step const& step, Call const& call, OnHost const& on_host) {
  std::vector<std::vector<float>> before;
  for (int i = 0; i < step.tensor_count; ++i) before.push_back(call.tensor(step.tensors[i]));
  auto const result = tests::run_on_tiles(step, Call::target, before,
                                          [](auto& machine, auto const& operation) { run_task(machine, operation); });
  on_host();
  for (int i = 0; i < step.tensor_count; ++i) {
    if (step.tensors[i].role == sc::tiles::tensor_role::output_gradient) continue;
    auto const expected = call.tensor(step.tensors[i]);
    for (std::size_t k = 0; k < expected.size(); ++k)
      CHECK(result.tensors[static_cast<std::size_t>(i)][k] == doctest::Approx(expected[k]).epsilon(1e-5));
  }
}

template <class Layer>
constexpr bool is_here = !std::is_same_v<Layer, layers::input> && !std::is_same_v<Layer, layers::conv2d> &&
                         !std::is_same_v<Layer, layers::dense>;

template <class Model, int Tiles, int Index>
void check_call() {
  using layer = sc::layer_t<Model, Index>;
  using forward =
      sc::tiles::lowered_call<sc::jobs::job<Model, training, sc::execution_mode::training, machine<Tiles>>, 0, Index>;
  using backward =
      sc::tiles::lowered_call<sc::jobs::job<Model, training, sc::execution_mode::training, machine<Tiles>>, 1, Index>;
  if constexpr (is_here<layer>) {
    CAPTURE(Tiles);
    CAPTURE(forward::graph.layer_of(Index).name.characters);
    std::mt19937 random(Index);
    array_call<forward> call(random);
    static constexpr auto forward_step = sc::detail::lower_forward<forward>();
    compare(forward_step, call, [&] { sc::cpu::layer_steps_of<array_call<forward>>::forward(call); });
    array_call<backward> back(random);
    back.inputs = call.inputs;
    back.results = call.results;
    back.kept = call.kept;
    static constexpr auto backward_step = sc::detail::lower_backward<backward>();
    compare(backward_step, back, [&] { sc::cpu::layer_steps_of<array_call<backward>>::backward(back); });
  }
}

template <class Model, int Tiles>
void check_model() {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (check_call<Model, Tiles, static_cast<int>(I)>(), ...);
  }(std::make_index_sequence<sc::graph_of<Model>.calls.size()>{});
}

}  // namespace

TEST_CASE("images") {
  check_model<images, 1>();
  check_model<images, 7>();
}
TEST_CASE("sequences") {
  check_model<sequences, 1>();
  check_model<sequences, 7>();
}
