// SPDX-License-Identifier: BSD-3-Clause
// The steps of layer_normalization on the host: rows, divided among threads, or the operations of its call.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/host/steps/layer_steps.hpp>
#include <stagecraft/kernels/elementwise/elementwise.hpp>
#include <stagecraft/kernels/normalization/channel_rows.hpp>
#include <stagecraft/kernels/normalization/layer_normalization.hpp>
#include <algorithm>
#include <type_traits>

namespace stagecraft::cpu {

/// The steps of a layer normalization along the last axes, carried out by kernels of rows.
struct row_normalization {
  static constexpr bool has_phases = true;

  template <class Call>
  struct shapes {
    using arch = typename Call::architecture;
    static constexpr auto const& layer = Call::layer;
    static constexpr int columns = layer.normalized_shape(Call::input_shape(0)).size();
    static constexpr int rows = Call::batch * (Call::size / columns);
    static constexpr int gamma = 0, beta = layer.options.scale ? 1 : 0;
    static constexpr bool trains_weights = (layer.options.scale || layer.options.center) && layer.trainable;

    // `saved` holds mean and reciprocal deviation of each row, then the sums of the rows' items.
    static constexpr int row_floats = (rows + 15) / 16 * 16;
    using items = kernels::channel_items<rows, columns, arch>;
    static constexpr int array = items::layout::channel_floats;
    static_assert(!Call::plan::trains || Call::planned.needs.saved >= 2LL * row_floats + items::partial_floats);

    static float const* gamma_of(Call const& call) { return layer.options.scale ? call.weight(gamma) : nullptr; }
    static float const* beta_of(Call const& call) { return layer.options.center ? call.weight(beta) : nullptr; }
  };

  template <class Call>
  static constexpr long long workspace() {
    using s = shapes<Call>;
    return std::max(kernels::layer_normalization_workspace<s::columns, typename s::arch>, 2LL * s::array);
  }

  template <class Call>
  static void forward(Call const& call) {
    using s = shapes<Call>;
    float* const mean = Call::plan::trains ? call.saved() : nullptr;
    call.divide([&](Call const& part) {
      kernels::layer_normalize<s::columns, typename s::arch>(
          part.input(0), s::rows, Call::layer.options.epsilon, s::gamma_of(part), s::beta_of(part), part.output(), mean,
          Call::plan::trains ? mean + s::row_floats : nullptr, part.share());
    });
  }

  template <class Call>
  static void backward(Call const& call) {
    using s = shapes<Call>;
    using arch = typename s::arch;
    float const* const mean = call.saved();
    float* const partial = call.saved() + 2 * s::row_floats;
    float* gradient = nullptr;
    if constexpr (Call::wants_input_gradient(0)) gradient = call.input_gradient(0);
    call.divide([&](Call const& part) {
      kernels::layer_normalization_gradient<s::rows, s::columns, Call::adds_input_gradient(0), arch>(
          part.input(0), part.output_gradient(), mean, mean + s::row_floats, s::gamma_of(part), part.memory.workspace,
          gradient, s::trains_weights ? partial : nullptr, part.share());
    });
    if constexpr (s::trains_weights) {
      call.divide([&](Call const& part) {
        if (part.share().is_first()) add_weight_gradients(part, partial);
      });
    }
  }

 private:
  template <class Call>
  static void add_weight_gradients(Call const& call, float const* partial) {
    using s = shapes<Call>;
    using arch = typename s::arch;
    float* const sums = call.memory.workspace;
    constexpr bool add = Call::adds_parameter_gradient;
    kernels::add_item_sums<s::rows, s::columns, arch>(partial, s::rows, sums);
    if constexpr (Call::layer.options.center)
      kernels::scaled_add<add, arch>(1.0F, sums, call.parameter_gradient(s::beta), s::columns);
    if constexpr (Call::layer.options.scale)
      kernels::scaled_add<add, arch>(1.0F, sums + s::array, call.parameter_gradient(s::gamma), s::columns);
  }
};

/// Along other axes than the last, its call's operations.
template <class L>
struct kernel_steps<layer_kernel::layer_normalization, L> {
  static constexpr bool has_phases = true;

  template <class Call>
  using steps = std::conditional_t<Call::layer.normalizes_rows(Call::input_shape(0)), row_normalization, call_steps>;

  template <class Call>
  static constexpr long long workspace() {
    return steps<Call>::template workspace<Call>();
  }
  template <class Call>
  static constexpr long long shared_workspace() {
    return shared_floats<steps<Call>, Call>;
  }
  template <class Call>
  static void forward(Call const& call) {
    steps<Call>::forward(call);
  }
  template <class Call>
  static void backward(Call const& call) {
    steps<Call>::backward(call);
  }
};

}  // namespace stagecraft::cpu
