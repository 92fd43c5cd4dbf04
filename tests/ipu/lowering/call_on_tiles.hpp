// SPDX-License-Identifier: BSD-3-Clause
// Carries out a layer's lowered steps on few tiles, and compares what comes out with what the host computes, and what
// was counted with what was foretold.
#pragma once

#include <stagecraft/description/job.hpp>
#include <stagecraft/engine/policy/weight_storage.hpp>
#include <stagecraft/engine/step_plan.hpp>
#include <stagecraft/host/host_policy.hpp>
#include <stagecraft/host/layer_steps/layer_steps.hpp>
#include <stagecraft/ipu/lowering/lowering.hpp>
#include <stagecraft/ipu/tasks/tasks.hpp>
#include <stagecraft/ipu/tiles/codelets/custom.hpp>
#include <stagecraft/ipu/tiles/codelets/run_task.hpp>
#include <stagecraft/machines/ipu_config.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <doctest/doctest.h>
#include <type_traits>
#include <utility>
#include <vector>
#include "../tiles/codelets/run_on_tiles.hpp"

namespace tests {

template <int Tiles>
struct few_tiles {
  static constexpr stagecraft::ipu_config config{};
  static constexpr int devices = 1;
  static constexpr stagecraft::ipu_target target = [] {
    auto target = stagecraft::ipu_targets::ipu2;
    target.tiles_per_ipu = Tiles;
    return target;
  }();
};

/// Call number `Index` of a model without stages.
template <class M, auto Training, stagecraft::execution_mode Mode, int Tiles, int Index>
class call_on_tiles {
  /// Each step by itself, also if the host does it as the epilogue of another one: what then is never stored has a
  /// place behind the others.
  struct plan : stagecraft::engine::step_plan<stagecraft::jobs::job<M, Training, Mode, stagecraft::host<>>, 0> {
    using base = stagecraft::engine::step_plan<stagecraft::jobs::job<M, Training, Mode, stagecraft::host<>>, 0>;
    [[nodiscard]] static constexpr int epilogue(int) { return -1; }
    [[nodiscard]] static constexpr bool is_epilogue(int) { return false; }
    /// Tiles make all gradients.
    [[nodiscard]] static constexpr bool updates_rows(int, int) { return false; }
    [[nodiscard]] static constexpr stagecraft::plan::buffer_place value(int call) {
      return base::epilogue(call) >= 0
                 ? stagecraft::plan::buffer_place{base::pass.places.scratch_floats + place_behind(call)}
                 : base::value(call);
    }
    /// Floats of the calls before this one.
    [[nodiscard]] static constexpr long long place_behind(int call) {
      long long before = 0;
      for (int i = 0; i < call; ++i)
        before += (static_cast<long long>(base::model_plan.batch) * base::graph.call(i).shape.size() + 15) / 16 * 16;
      return before;
    }
    static constexpr long long floats =
        base::pass.places.scratch_floats + place_behind(static_cast<int>(base::graph.calls.size())) + 64;
  };
  using on_host = stagecraft::cpu::host_call<plan, Index>;
  template <int Pass>
  using lowered =
      stagecraft::tiles::lowered_call<stagecraft::jobs::job<M, Training, Mode, few_tiles<Tiles>>, Pass, Index>;
  using layer_type = std::remove_cvref_t<decltype(on_host::layer)>;
  using layout = stagecraft::engine::weight_layout<M, typename plan::architecture>;
  static constexpr auto first = static_cast<std::size_t>(on_host::first_parameter);

 public:
  explicit call_on_tiles(float tolerance, int valid_samples = Training.batch_size) : tolerance_(tolerance) {
    memory_.valid_samples = valid_samples;
    for (long long i = 0; i < plan::floats; ++i) block_.data()[i] = number();
    for_each_weight([this]<std::size_t Parameter>() {
      std::vector<float> values(static_cast<std::size_t>(plan::graph.parameters[Parameter].size()));
      for (float& value : values) value = number() / 4 + 1;
      layout::template write<Parameter>(values.data(), weights_.data());
    });
  }

  void check_forward() {
    compare(stagecraft::detail::lower_forward<lowered<0>>(),
            [this] { stagecraft::cpu::layer_steps<layer_type>::forward(call_); });
  }
  /// Behind a forward step.
  void check_backward() {
    stagecraft::cpu::layer_steps<layer_type>::forward(call_);
    std::size_t const used = static_cast<std::size_t>(memory_.valid_samples) * on_host::size;
    for (std::size_t i = 0; i < static_cast<std::size_t>(on_host::batch) * on_host::size; ++i)
      call_.output_gradient()[i] = i < used ? number() : 0;
    compare(stagecraft::detail::lower_backward<lowered<1>>(),
            [this] { stagecraft::cpu::layer_steps<layer_type>::backward(call_); });
  }

 private:
  /// Between -2 and 2; a float16 holds it.
  float number() {
    state_ = state_ * 1664525U + 1013904223U;
    return static_cast<float>(static_cast<int>(state_ >> 24) - 128) / 64.0F;
  }

  template <class Host>
  void compare(stagecraft::tiles::lowered_step const& step, Host const& host) {
    auto const& target = few_tiles<Tiles>::target;
    stagecraft::tiles::step_cost const foretold(step, target);
    std::vector<std::vector<float>> values;
    for (int i = 0; i < step.tensor_count; ++i) values.push_back(read(step.tensors[i]));
    auto const result = run_on_tiles(
        step, target, values,
        [this](auto& machine, auto const& operation) {
          if (operation.what.template is<stagecraft::tiles::own_layer_step>())
            run_custom<on_host>(machine, operation, call_);
          else
            run_task(machine, operation);
        },
        {.seed = memory_.seed, .step = memory_.step, .call = Index, .valid_samples = memory_.valid_samples},
        foretold.temporary_bytes);
    host();
    for (int i = 0; i < step.tensor_count; ++i) {
      if (step.tensors[i].role == stagecraft::tiles::tensor_role::temporary) continue;
      auto const expected = read(step.tensors[i]);
      auto const& actual = result.tensors[static_cast<std::size_t>(i)];
      for (std::size_t k = 0; k < actual.size(); ++k)
        if (!(std::fabs(actual[k] - expected[k]) <= tolerance_ * (1 + std::fabs(expected[k]))))
          FAIL_CHECK("tensor " << i << " with role " << static_cast<int>(step.tensors[i].role) << ", element " << k
                               << " is " << actual[k] << ", not " << expected[k]);
    }
    auto cost = foretold.cost;
    cost.temporary_bytes = 0;
    CHECK(result.counted == cost);
    CHECK(stagecraft::tiles::rounded_bytes(result.high_water_mark) == result.tensor_bytes + foretold.temporary_bytes);
  }

  template <class Each>
  static void for_each_weight(Each const& each) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (each.template operator()<first + I>(), ...);
    }(std::make_index_sequence<static_cast<std::size_t>(on_host::parameter_count)>{});
  }
  /// A tensor as the host has it now, row by row.
  std::vector<float> read(stagecraft::tiles::tile_tensor const& tensor) {
    using stagecraft::tiles::tensor_role;
    std::vector<float> result(static_cast<std::size_t>(tensor.elements));
    auto const copy = [&](float const* from) { std::copy_n(from, tensor.elements, result.data()); };
    auto const copy_weight = [&](float const* from) {
      for_each_weight([&]<std::size_t Parameter>() {
        if (Parameter == first + static_cast<std::size_t>(tensor.index))
          layout::template unpack<Parameter>(from + plan::weights.offset[Parameter], result.data());
      });
    };
    switch (tensor.role) {
      case tensor_role::input: copy(call_.input(tensor.index)); break;
      case tensor_role::output: copy(call_.output()); break;
      case tensor_role::saved: copy(call_.saved() + tensor.index); break;
      case tensor_role::output_gradient: copy(call_.output_gradient()); break;
      case tensor_role::input_gradient: copy(call_.input_gradient(tensor.index)); break;
      case tensor_role::weight: copy_weight(weights_.data()); break;
      case tensor_role::accumulator: copy_weight(gradients_.data() + plan::gradients.shift[Index]); break;
      default: result.clear();
    }
    return result;
  }

  static constexpr long long workspace = stagecraft::cpu::layer_steps<layer_type>::template workspace<on_host>();
  stagecraft::engine::aligned_block block_{plan::floats}, weights_{plan::weights.floats},
      gradients_{plan::gradients.floats}, workspace_{workspace};
  stagecraft::engine::pass_memory memory_{
      {.block = block_.data(), .weights = weights_.data(), .gradients = gradients_.data()},
      {},
      {},
      {.workspace = workspace_.data()}};
  on_host call_{memory_};
  float tolerance_;
  std::uint32_t state_ = 7;
};

}  // namespace tests
