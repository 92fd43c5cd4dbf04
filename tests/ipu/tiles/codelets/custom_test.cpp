// SPDX-License-Identifier: BSD-3-Clause
// Layers of a user's own on tile 0 of an emulated IPU: the values that the host computes, and the costs foretold.
#include <stagecraft/description/job.hpp>
#include <stagecraft/description/training.hpp>
#include <stagecraft/engine/step_plan.hpp>
#include <stagecraft/host/host.hpp>
#include <stagecraft/ipu/lowering/lowered_call.hpp>
#include <stagecraft/ipu/tiles/codelets/custom.hpp>
#include <stagecraft/kernels/product/packed_matrix.hpp>
#include <stagecraft/machines/ipu_devices.hpp>
#include <stagecraft/pipeline.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include "../../lowering/call_on_tiles.hpp"

namespace sc = stagecraft;
using enum sc::execution_mode;

namespace {

/// y = (x factor) matrix + shift, where the matrix stands in the kernels' layout and the shift is not trained; keeps
/// x factor. Says what it costs.
struct mixture : sc::layer<mixture> {
  static constexpr std::string_view class_name = "Mixture";
  int units;
  constexpr explicit mixture(int units_) : units(units_) {}

  constexpr sc::shape output_shape(sc::layer_inputs const&) const { return units; }
  constexpr int saved_size(sc::layer_inputs const& in) const { return in[0].size(); }
  constexpr std::int64_t forward_cycles(sc::layer_inputs const& in, int batch) const {
    return 100 + 3LL * batch * in[0].size() * units;
  }
  constexpr void parameters(sc::layer_inputs const& in, sc::parameter_list& weights) const {
    weights.add({.name = "factor", .shape = in[0], .initializer = sc::initializers::ones{}});
    weights.add({.name = "matrix",
                 .shape = {in[0].back(), units},
                 .initializer = sc::initializers::zeros{},
                 .layout = sc::tracing::parameter_layout::matrix});
    weights.add({.name = "shift", .shape = units, .initializer = sc::initializers::zeros{}, .trainable = false});
  }
  template <class Call>
  static constexpr std::size_t index(int row, int column) {
    return static_cast<std::size_t>(
        sc::kernels::packed_matrix<Call::input_shape().back(), Call::output_shape().back()>::index(row, column));
  }
  static constexpr std::size_t at(int index) { return static_cast<std::size_t>(index); }

  template <class Call>
  void forward(Call const& call) const {
    int const inputs = call.input_shape().back();
    for (int row = 0; row < call.batch; ++row) {
      for (int i = 0; i < inputs; ++i) {
        float const product = call.input()[at(row * inputs + i)] * call.weight(0)[at(i)];
        if (call.training) call.saved()[at(row * inputs + i)] = product;
      }
      for (int unit = 0; unit < units; ++unit) {
        float sum = call.weight(2)[at(unit)];
        for (int i = 0; i < inputs; ++i)
          sum += call.input()[at(row * inputs + i)] * call.weight(0)[at(i)] * call.weight(1)[index<Call>(i, unit)];
        call.output()[at(row * units + unit)] = sum;
      }
    }
  }
  template <class Call>
  void backward(Call const& call) const {
    int const inputs = call.input_shape().back();
    for (int row = 0; row < call.batch; ++row)
      for (int unit = 0; unit < units; ++unit)
        for (int i = 0; i < inputs; ++i) {
          float const dy = call.output_gradient()[at(row * units + unit)];
          float const slope = dy * call.weight(1)[index<Call>(i, unit)];
          call.input_gradient()[at(row * inputs + i)] += slope * call.weight(0)[at(i)];
          call.weight_gradient(0)[at(i)] += slope * call.input()[at(row * inputs + i)];
          call.weight_gradient(1)[index<Call>(i, unit)] += dy * call.saved()[at(row * inputs + i)];
          call.weight_gradient(2)[at(unit)] += dy;  // of a weight that is not trained: memory without a use
        }
  }
};

/// Says nothing of its costs, and has more weights than one operation names tensors.
struct many_weights : sc::layer<many_weights> {
  static constexpr std::string_view class_name = "ManyWeights";
  static constexpr int count = 7;

  constexpr sc::shape output_shape(sc::layer_inputs const& in) const { return in[0]; }
  constexpr void parameters(sc::layer_inputs const& in, sc::parameter_list& weights) const {
    constexpr std::string_view names[]{"a", "b", "c", "d", "e", "f", "g"};
    for (auto const& name : names) weights.add({.name = name, .shape = in[0]});
  }
  constexpr long long flops(sc::layer_inputs const& in) const { return 2LL * count * in[0].size(); }
  void forward(auto const& call) const {
    for (std::size_t i = 0; i < call.output().size(); ++i) {
      float sum = 0;
      for (int w = 0; w < count; ++w) sum += call.weight(w)[i % call.weight(w).size()];
      call.output()[i] = call.input(0)[i] * sum + call.input(1)[i];
    }
  }
  void backward(auto const& call) const {
    for (std::size_t i = 0; i < call.output().size(); ++i) {
      float const dy = call.output_gradient()[i];
      for (int w = 0; w < count; ++w) {
        auto const at = i % call.weight(w).size();
        call.input_gradient(0)[i] += dy * call.weight(w)[at];
        call.weight_gradient(w)[at] += dy * call.input(0)[i];
      }
      call.input_gradient(1)[i] += dy;
    }
  }
};

struct with_both : sc::functional<with_both> {
  static constexpr auto build(auto& model) {
    auto x = model.input(5);
    auto a = sc::layers::dense(3)(x), b = sc::layers::dense(3)(x);
    return sc::layers::dense(2)(mixture(4)(many_weights()(a, b)));
  }
};

constexpr auto in_float32 = sc::training{.optimizer = sc::optimizers::sgd{}, .batch_size = 6};
constexpr auto in_float16 =
    sc::training{.optimizer = sc::optimizers::sgd{}, .batch_size = 6, .dtype_policy = sc::dtype_policies::float16};

template <auto Training, int Tiles, int Call>
void check_call(float tolerance) {
  tests::call_on_tiles<with_both, Training, training, Tiles, Call>(tolerance).check_forward();
  tests::call_on_tiles<with_both, Training, training, Tiles, Call>(tolerance).check_backward();
  tests::call_on_tiles<with_both, Training, inference, Tiles, Call>(tolerance).check_forward();
}

template <auto Training, int Tiles>
void check_calls(float tolerance) {
  check_call<Training, Tiles, 3>(tolerance);  // many_weights
  check_call<Training, Tiles, 4>(tolerance);  // mixture
}

template <int Call>
using lowered_on_8 =
    sc::tiles::lowered_call<sc::jobs::job<with_both, in_float32, training, tests::few_tiles<8>>, 0, Call>;

// 100 + 3 * 6 * 3 * 4, as the layer says; and 3 for each of 7 * 6 * 3 multiply-adds, 1 for each of 6 * 3 outputs.
static_assert(sc::detail::custom_cycles<lowered_on_8<4>>(false) == 316);
static_assert(sc::detail::custom_cycles<lowered_on_8<3>>(false) == 3 * 126 + 18);
static_assert(sc::detail::custom_cycles<lowered_on_8<3>>(true) == 2 * (3 * 126 + 18));
static_assert(sc::detail::custom_flops<lowered_on_8<3>>(false) == 252);

}  // namespace

TEST_CASE("in float32") {
  check_calls<in_float32, 1>(1e-6F);
  check_calls<in_float32, 3>(1e-6F);
  check_calls<in_float32, 8>(1e-6F);
}
TEST_CASE("in float16") { check_calls<in_float16, 3>(1e-2F); }
