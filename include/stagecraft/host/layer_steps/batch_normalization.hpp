// SPDX-License-Identifier: BSD-3-Clause
// The steps of batch_normalization on the host. Sums over the batch are divided among threads at fixed places and then
// joined by each thread for itself.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/host/steps/layer_steps.hpp>
#include <stagecraft/host/steps/step_epilogue.hpp>
#include <stagecraft/host/steps/step_weights.hpp>
#include <stagecraft/kernels/elementwise/elementwise.hpp>
#include <stagecraft/kernels/normalization/batch_normalization.hpp>
#include <stagecraft/kernels/normalization/batch_normalization_planes.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace stagecraft::cpu {

template <class L>
struct kernel_steps<layer_kernel::batch_normalization, L> {
  static constexpr bool has_phases = true;

  template <class Call>
  static constexpr bool is_folded = folded_into<typename Call::plan, Call::call> >= 0;

  template <class Call>
  struct shapes {
    using arch = typename Call::architecture;
    static constexpr auto const& layer = Call::layer;
    static constexpr int axis = layer.shape_axis(Call::input_shape(0));
    static constexpr int channels = layer.channels(Call::input_shape(0));
    /// Floats of one channel that lie together; 1 if the channels are the last axis.
    static constexpr int inner = Call::input_shape(0).size(axis + 1, Call::input_shape(0).rank());
    static constexpr int outer_per_sample = Call::input_shape(0).size(0, axis);
    static constexpr int outer = Call::batch * outer_per_sample;
    /// A frozen layer uses its moving statistics, in training too.
    static constexpr bool uses_batch = Call::plan::trains && layer.trainable;
    static constexpr normalization_weights numbers{layer};
    static constexpr int gamma = numbers.gamma, beta = numbers.beta;
    static constexpr int moving_mean = numbers.moving_mean, moving_variance = numbers.moving_variance;

    // Arrays with one number per channel: in `saved` mean and reciprocal deviation, then the items' sums; in the
    // workspace four of them, then what the kernels need.
    using rows = kernels::channel_rows<channels, arch>;
    static constexpr int array = rows::channel_floats;
    using items = kernels::channel_items<outer, channels, arch>;
    static_assert(inner > 1 || !uses_batch || Call::planned.needs.saved >= 2LL * array + items::partial_floats);

    static float const* gamma_of(Call const& call) { return layer.options.scale ? call.weight(gamma) : nullptr; }
    static float const* beta_of(Call const& call) { return layer.options.center ? call.weight(beta) : nullptr; }
    static float gamma_at(Call const& call, int c) { return layer.options.scale ? call.weight(gamma)[c] : 1.0F; }
    static float beta_at(Call const& call, int c) { return layer.options.center ? call.weight(beta)[c] : 0.0F; }

    /// The factor of the batch's variance before it is averaged into the moving variance.
    static float correction(Call const& call) {
      auto const n = static_cast<float>(call.valid_samples()) * static_cast<float>(outer_per_sample * inner);
      return layer.moves_unbiased_variance(Call::input_shape(0)) && n > 1 ? n / (n - 1) : 1.0F;
    }
    static void move_statistics(Call const& call, float const* mean, float const* variance, int first, int count) {
      float* const moving[]{call.mutable_weight(moving_mean) + first, call.mutable_weight(moving_variance) + first};
      kernels::move_statistic<arch>(layer.options.momentum, 1.0F, mean, moving[0], count);
      kernels::move_statistic<arch>(layer.options.momentum, correction(call), variance, moving[1], count);
    }
  };

  template <class Call>
  static constexpr long long workspace() {
    using s = shapes<Call>;
    return s::inner > 1 ? 0 : 4LL * s::array + kernels::batch_normalization_workspace<s::channels, typename s::arch>;
  }

  template <class Call>
  static void forward(Call const& call) {
    using s = shapes<Call>;
    if constexpr (s::inner > 1) {
      call.divide([](Call const& part) { forward_planes(part); });
    } else {
      if constexpr (s::uses_batch) call.divide([](Call const& part) { measure_rows(part); });
      call.divide([](Call const& part) { forward_rows(part); });
    }
  }

  /// Floats for a normalization by moving statistics: reciprocal deviations, then scales and offsets of the channels.
  /// There is nothing, or a bias, where it is a part of the weights before it.
  template <class Call>
  static constexpr long long epilogue_floats() {
    return is_folded<Call> ? 0 : 3LL * shapes<Call>::array;
  }
  template <int Input, class Call>
  [[nodiscard]] static auto epilogue(Call const& call, [[maybe_unused]] float* workspace) {
    using s = shapes<Call>;
    if constexpr (is_folded<Call>) {
      if constexpr (layer_of<typename Call::model, Call::input_call(Input)>.options.use_bias)
        return kernels::no_epilogue{};
      else
        return kernels::bias_epilogue{call.weight(s::moving_mean)};
    } else {
      float* const scale = workspace + s::array;
      kernels::reciprocal_deviation<typename s::arch>(call.weight(s::moving_variance), Call::layer.options.epsilon,
                                                      workspace, s::channels);
      kernels::normalization_scale<s::channels, typename s::arch>(workspace, s::gamma_of(call), s::beta_of(call),
                                                                  scale);
      return kernels::normalization_epilogue{call.weight(s::moving_mean), scale, scale + s::array};
    }
  }

  template <class Call>
  static void backward(Call const& call) {
    using s = shapes<Call>;
    // Rows that only fill a partial batch have no part in the loss.
    auto const clear_rest = [](Call const& part) {
      if constexpr (Call::wants_input_gradient(0) && !Call::adds_input_gradient(0)) {
        auto const used = static_cast<std::size_t>(part.valid_samples()) * Call::size;
        if (part.share().is_first())
          std::memset(part.input_gradient(0) + used, 0, sizeof(float) * (std::size_t{Call::batch} * Call::size - used));
      }
    };
    if constexpr (!s::uses_batch) {
      call.divide([&](Call const& part) {
        clear_rest(part);
        backward_of_frozen(part);
      });
    } else if constexpr (s::inner > 1) {
      call.divide([&](Call const& part) {
        clear_rest(part);
        backward_planes(part);
      });
    } else {
      call.divide([&](Call const& part) {
        clear_rest(part);
        find_gradient_sums(part);
      });
      call.divide([](Call const& part) { backward_rows(part); });
    }
  }

 private:
  template <class Call>
  static void measure_rows(Call const& call) {
    using s = shapes<Call>;
    std::int64_t const rows = std::int64_t{call.valid_samples()} * s::outer_per_sample;
    float* const workspace = call.memory.workspace + 4 * s::array;
    float* const partial = call.saved() + 2 * s::array;
    kernels::batch_statistics<s::outer, s::channels, typename s::arch>(call.input(0), rows, workspace, partial,
                                                                       call.share());
  }

  template <class Call>
  static void forward_rows(Call const& call) {
    using s = shapes<Call>;
    using arch = typename s::arch;
    float* const mean = call.memory.workspace;
    float* const variance = mean + s::array;
    float* const reciprocal = variance + s::array;
    float* const workspace = mean + 4 * s::array;
    float const* used_mean = mean;
    if constexpr (s::uses_batch) {
      std::int64_t const rows = std::int64_t{call.valid_samples()} * s::outer_per_sample;
      float const* const partial = call.saved() + 2 * s::array;
      kernels::join_batch_statistics<s::outer, s::channels, arch>(call.input(0), partial, rows, workspace, mean,
                                                                  variance);
      kernels::reciprocal_deviation<arch>(variance, Call::layer.options.epsilon, reciprocal, s::channels);
      if (call.share().is_first()) {
        std::memcpy(call.saved(), mean, sizeof(float) * s::channels);
        std::memcpy(call.saved() + s::array, reciprocal, sizeof(float) * s::channels);
        s::move_statistics(call, mean, variance, 0, s::channels);
      }
    } else {
      used_mean = call.weight(s::moving_mean);
      kernels::reciprocal_deviation<arch>(call.weight(s::moving_variance), Call::layer.options.epsilon, reciprocal,
                                          s::channels);
    }
    kernels::batch_normalize<s::channels, arch>(call.input(0), s::outer, used_mean, reciprocal, s::gamma_of(call),
                                                s::beta_of(call), workspace, call.output(), call.share(),
                                                epilogues_of(call));
  }

  template <class Call>
  static void find_gradient_sums(Call const& call) {
    using s = shapes<Call>;
    std::int64_t const rows = std::int64_t{call.valid_samples()} * s::outer_per_sample;
    float* const partial = call.saved() + 2 * s::array;
    float* const workspace = call.memory.workspace + 4 * s::array;
    kernels::batch_normalization_sums<s::outer, s::channels, typename s::arch>(
        call.input(0), call.output_gradient(), rows, call.saved(), workspace, partial, call.share());
  }

  template <class Call>
  static void backward_rows(Call const& call) {
    using s = shapes<Call>;
    using arch = typename s::arch;
    std::int64_t const rows = std::int64_t{call.valid_samples()} * s::outer_per_sample;
    float const *const mean = call.saved(), *const reciprocal = mean + s::array;
    float const* const partial = call.saved() + 2 * s::array;
    float* const sums = call.memory.workspace;
    float* const workspace = sums + 4 * s::array;
    kernels::add_item_sums<s::outer, s::channels, arch>(partial, rows, sums);
    if (call.share().is_first()) {
      constexpr bool add = Call::adds_parameter_gradient;
      if constexpr (Call::layer.options.center)
        kernels::scaled_add<add, arch>(1.0F, sums, call.parameter_gradient(s::beta), s::channels);
      if constexpr (Call::layer.options.scale)
        kernels::batch_normalization_scale_gradient<add, arch>(sums + s::array, reciprocal,
                                                               call.parameter_gradient(s::gamma), s::channels);
    }
    if constexpr (Call::wants_input_gradient(0))
      kernels::batch_normalization_gradient<s::channels, Call::adds_input_gradient(0), arch>(
          call.input(0), call.output_gradient(), rows, mean, reciprocal, s::gamma_of(call), sums, workspace,
          call.input_gradient(0), call.share());
  }

  /// The moving statistics do not depend on the input.
  template <class Call>
  static void backward_of_frozen(Call const& call) {
    using s = shapes<Call>;
    using arch = typename s::arch;
    std::int64_t const used = std::int64_t{call.valid_samples()} * s::outer_per_sample;
    if constexpr (s::inner > 1) {
      using planes = kernels::channel_planes<s::channels, s::inner, arch>;
      auto const [first, last] = call.share().of(s::channels);
      for (int c = static_cast<int>(first); c < last; ++c) {
        float const deviation = std::sqrt(call.weight(s::moving_variance)[c] + Call::layer.options.epsilon);
        planes::normalize(call.output_gradient(), used, c, 0.0F, s::gamma_at(call, c) / deviation, 0.0F,
                          call.input_gradient(0));
      }
    } else {
      float* const zeros = call.memory.workspace;
      float* const reciprocal = zeros + 2 * s::array;
      std::fill_n(zeros, s::array, 0.0F);
      kernels::reciprocal_deviation<arch>(call.weight(s::moving_variance), Call::layer.options.epsilon, reciprocal,
                                          s::channels);
      kernels::batch_normalize<s::channels, arch>(call.output_gradient(), used, zeros, reciprocal, s::gamma_of(call),
                                                  nullptr, zeros + 4 * s::array, call.input_gradient(0), call.share());
    }
  }

  template <class Call>
  static void forward_planes(Call const& call) {
    using s = shapes<Call>;
    using planes = kernels::channel_planes<s::channels, s::inner, typename s::arch>;
    std::int64_t const used = std::int64_t{call.valid_samples()} * s::outer_per_sample;
    auto const [first, last] = call.share().of(s::channels);
    for (int c = static_cast<int>(first); c < last; ++c) {
      float mean = call.weight(s::moving_mean)[c], variance = call.weight(s::moving_variance)[c];
      if constexpr (s::uses_batch) {
        auto const found = planes::measure(call.input(0), used, c);
        mean = found.mean;
        variance = found.variance;
        s::move_statistics(call, &mean, &variance, c, 1);
      }
      float const reciprocal = 1.0F / std::sqrt(variance + Call::layer.options.epsilon);
      if constexpr (s::uses_batch) {
        call.saved()[c] = mean;
        call.saved()[s::array + c] = reciprocal;
      }
      planes::normalize(call.input(0), s::outer, c, mean, reciprocal * s::gamma_at(call, c), s::beta_at(call, c),
                        call.output());
    }
  }

  template <class Call>
  static void backward_planes(Call const& call) {
    using s = shapes<Call>;
    using planes = kernels::channel_planes<s::channels, s::inner, typename s::arch>;
    std::int64_t const used = std::int64_t{call.valid_samples()} * s::outer_per_sample;
    float const per_value = 1.0F / (static_cast<float>(used) * s::inner);
    auto const write = [](float& to, float gradient) { to = Call::adds_parameter_gradient ? to + gradient : gradient; };
    auto const [first, last] = call.share().of(s::channels);
    for (int c = static_cast<int>(first); c < last; ++c) {
      float const mean = call.saved()[c], reciprocal = call.saved()[s::array + c];
      auto const sums = planes::gradient_sums(call.input(0), call.output_gradient(), used, c, mean);
      if constexpr (Call::layer.options.center) write(call.parameter_gradient(s::beta)[c], sums.of_gradient);
      if constexpr (Call::layer.options.scale)
        write(call.parameter_gradient(s::gamma)[c], sums.of_gradient_deviation * reciprocal);
      if constexpr (Call::wants_input_gradient(0))
        planes::template gradient<Call::adds_input_gradient(0)>(
            call.input(0), call.output_gradient(), used, c, mean, reciprocal * s::gamma_at(call, c),
            sums.of_gradient * per_value, sums.of_gradient_deviation * per_value * reciprocal * reciprocal,
            call.input_gradient(0));
    }
  }
};

}  // namespace stagecraft::cpu
