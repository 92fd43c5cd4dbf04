// SPDX-License-Identifier: BSD-3-Clause
// Lowering of normalizations: statistics in two passes, mean first, in float32.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/lowering/lowering.hpp>
#include <stagecraft/ipu/lowering/traced.hpp>
#include <stagecraft/ipu/tasks/map.hpp>
#include <stagecraft/ipu/tasks/reduce.hpp>
#include <stagecraft/ipu/tasks/update.hpp>
#include <cstdint>

namespace stagecraft::tiles {

/// The floats that a normalization reserves for an array of `numbers` numbers: whole cache lines, as on the host.
constexpr int saved_array(std::int64_t numbers) { return static_cast<int>((numbers + 15) / 16 * 16); }

/// The tensor to which a reduction in float32 writes the gradient of a weight.
template <class Call>
constexpr int float32_gradient(lowered_step& step, int index) {
  return Call::type == dtype::float32 ? Call::weight_gradient(step, index)
                                      : step.temporary(Call::parameter_info(index).size(), dtype::float32);
}
/// Turns a gradient that was reduced in float32 into the gradient of its weight.
template <class Call>
constexpr void append_gradient_of_float32(lowered_step& step, int index, int gradient) {
  if (int const to = Call::weight_gradient(step, index); to != gradient)
    append_map(step, map_function::copy, to, {{gradient}});
}

/// Replaces t by g - t, a gradient without its means. `t` = normalised * slope + mean.
constexpr void append_rest_of_gradient(lowered_step& step, int gradient, int deviations, map_operand const& slope,
                                       map_operand const& mean) {
  append_map(step, map_function::multiply_add, deviations, {{deviations}, slope, mean});
  append_map(step, map_function::subtract, deviations, {{gradient}, {deviations}});
}

template <class L>
struct kernel_lowering<layer_kernel::batch_normalization, L> {
  template <class Call>
  static constexpr void forward(lowered_step& step) {
    using s = shapes<Call>;
    int const x = Call::input(step), y = Call::output(step);
    int const deviations = step.temporary(s::elements, Call::type);
    int mean = -1, reciprocal = -1;
    if constexpr (Call::trains && Call::layer.trainable) {
      mean = Call::saved(step, 0, s::channels, dtype::float32);
      reciprocal = Call::saved(step, saved_array(s::channels), s::channels, dtype::float32);
      int const variance = s::numbers(step);
      append_sums<s>(step, reduce_function::sum, {x}, mean, s::per_value, Call::batch);
      append_map(step, map_function::subtract, deviations, {{x}, s::of_channel(mean)});
      append_sums<s>(step, reduce_function::sum_of_squares, {deviations}, variance, s::per_value, Call::batch);
      append_map(step, map_function::rsqrt, reciprocal, {{variance}}, {Call::layer.options.epsilon});
      append_move_statistic(step, Call::stored_weight(step, s::moving_mean), mean, Call::layer.options.momentum);
      append_move_statistic(step, Call::stored_weight(step, s::moving_mean + 1), variance, Call::layer.options.momentum,
                            Call::layer.moves_unbiased_variance(Call::input_shape()), s::values_per_sample);
    } else {
      mean = Call::stored_weight(step, s::moving_mean);
      reciprocal = s::numbers(step);
      append_map(step, map_function::subtract, deviations, {{x}, s::of_channel(mean)});
      append_map(step, map_function::rsqrt, reciprocal, {{Call::stored_weight(step, s::moving_mean + 1)}},
                 {Call::layer.options.epsilon});
    }
    auto const scale = s::of_channel(append_scale<Call>(step, reciprocal));
    if constexpr (Call::layer.options.center)
      append_map(step, map_function::multiply_add, y,
                 {{deviations}, scale, s::of_channel(Call::stored_weight(step, s::beta))});
    else
      append_map(step, map_function::multiply, y, {{deviations}, scale});
  }

  /// Sets the input's gradient of samples that only fill the batch to 0, as the output's is.
  template <class Call>
  static constexpr void backward(lowered_step& step) {
    using s = shapes<Call>;
    if constexpr (!Call::layer.trainable) return backward_of_frozen<Call>(step);
    int const x = Call::input(step), dy = Call::output_gradient(step);
    int const mean = Call::saved(step, 0, s::channels, dtype::float32);
    int const reciprocal = Call::saved(step, saved_array(s::channels), s::channels, dtype::float32);
    int const deviations = step.temporary(s::elements, Call::type);
    append_map(step, map_function::subtract, deviations, {{x}, s::of_channel(mean)});
    int of_gradient = -1;
    if constexpr (Call::layer.options.center)
      of_gradient = float32_gradient<Call>(step, s::beta);
    else
      of_gradient = s::numbers(step);
    int const of_product = s::numbers(step);
    append_sums<s>(step, reduce_function::sum, {dy}, of_gradient);
    append_sums<s>(step, reduce_function::sum_of_products, {dy, deviations}, of_product);
    if constexpr (Call::layer.options.center) append_gradient_of_float32<Call>(step, s::beta, of_gradient);
    if constexpr (Call::layer.options.scale)
      append_map(step, map_function::multiply, Call::weight_gradient(step, s::gamma), {{of_product}, {reciprocal}});
    if constexpr (Call::wants_input_gradient(0)) {
      int const dx = Call::input_gradient(step), mean_gradient = s::numbers(step), slope = s::numbers(step);
      append_valid_mean(step, of_gradient, mean_gradient, s::values_per_sample);
      append_valid_mean(step, of_product, slope, s::values_per_sample);
      for (int i = 0; i < 2; ++i) append_map(step, map_function::multiply, slope, {{slope}, {reciprocal}});
      append_rest_of_gradient(step, dy, deviations, s::of_channel(slope), s::of_channel(mean_gradient));
      append_map(step, map_function::multiply, dx, {{deviations}, s::of_channel(append_scale<Call>(step, reciprocal))});
      append_clear_filling(step, dx, Call::input_shape().size());
    }
  }

 private:
  /// The moving statistics do not depend on the input.
  template <class Call>
  static constexpr void backward_of_frozen(lowered_step& step) {
    using s = shapes<Call>;
    if (!Call::wants_input_gradient(0)) return;
    int const dx = Call::input_gradient(step), reciprocal = s::numbers(step);
    append_map(step, map_function::rsqrt, reciprocal, {{Call::stored_weight(step, s::moving_mean + 1)}},
               {Call::layer.options.epsilon});
    append_map(step, map_function::multiply, dx,
               {{Call::output_gradient(step)}, s::of_channel(append_scale<Call>(step, reciprocal))});
    append_clear_filling(step, dx, Call::input_shape().size());
  }

  /// Tensors are (rows, channels, inner).
  template <class Call>
  struct shapes {
    static constexpr int axis = Call::layer.shape_axis(Call::input_shape());
    static constexpr std::int64_t channels = Call::layer.channels(Call::input_shape());
    static constexpr std::int64_t inner = Call::input_shape().size(axis + 1, Call::input_shape().rank());
    static constexpr std::int64_t elements = Call::input_elements();
    static constexpr std::int64_t rows = elements / (channels * inner);
    static constexpr std::int64_t values_per_sample = Call::input_shape().size() / channels;
    static constexpr float per_value = 1.0F / static_cast<float>(rows * inner);
    static constexpr int gamma = 0, beta = Call::layer.options.scale ? 1 : 0;
    static constexpr int moving_mean = beta + (Call::layer.options.center ? 1 : 0);

    /// A temporary tensor with a number for each channel.
    static constexpr int numbers(lowered_step& step) { return step.temporary(channels, dtype::float32); }
    /// A tensor of channels as an operand of a task on all elements.
    static constexpr map_operand of_channel(int tensor) { return {tensor, {inner, channels}}; }
  };

  /// Appends a sum for each channel.
  template <class Shapes>
  static constexpr void append_sums(lowered_step& step, reduce_function function, std::initializer_list<int> inputs,
                                    int result, float scale = 1, std::int64_t samples = 0) {
    int const of_rows = Shapes::inner > 1 ? step.temporary(Shapes::channels * Shapes::inner, dtype::float32) : result;
    append_reduce(step, function, inputs, of_rows, 1, Shapes::rows, Shapes::channels * Shapes::inner, scale, samples);
    if (Shapes::inner > 1)
      append_reduce(step, reduce_function::sum, {of_rows}, result, Shapes::channels, Shapes::inner, 1);
  }
  /// The tensor that deviations are multiplied with.
  template <class Call>
  static constexpr int append_scale(lowered_step& step, int reciprocal) {
    if (!Call::layer.options.scale) return reciprocal;
    int const scale = shapes<Call>::numbers(step);
    append_map(step, map_function::multiply, scale, {{reciprocal}, {Call::stored_weight(step, shapes<Call>::gamma)}});
    return scale;
  }
};

/// Lowers the steps of a layer normalization along the last axes of its input: each row is normalized by itself.
struct row_normalization_lowering {
  template <class Call>
  static constexpr void forward(lowered_step& step) {
    using s = shapes<Call>;
    int const x = Call::input(step), y = Call::output(step);
    int const mean = s::template kept<Call::trains>(step, 0);
    int const reciprocal = s::template kept<Call::trains>(step, saved_array(s::rows));
    int const variance = s::numbers(step), deviations = step.temporary(s::elements, Call::type);
    append_reduce(step, reduce_function::mean, {x}, mean, s::rows, s::columns, 1);
    append_map(step, map_function::subtract, deviations, {{x}, s::of_row(mean)});
    append_reduce(step, reduce_function::sum_of_squares, {deviations}, variance, s::rows, s::columns, 1, s::per_column);
    append_map(step, map_function::rsqrt, reciprocal, {{variance}}, {Call::layer.options.epsilon});
    bool const changes = Call::layer.options.scale || Call::layer.options.center;
    int const normalised = changes ? deviations : y;
    append_map(step, map_function::multiply, normalised, {{deviations}, s::of_row(reciprocal)});
    if constexpr (Call::layer.options.scale && Call::layer.options.center)
      append_map(step, map_function::multiply_add, y,
                 {{normalised}, s::of_weight(step, s::gamma), s::of_weight(step, s::beta)});
    else if (changes)
      append_map(step, Call::layer.options.scale ? map_function::multiply : map_function::add, y,
                 {{normalised}, s::of_weight(step, 0)});
  }

  template <class Call>
  static constexpr void backward(lowered_step& step) {
    using s = shapes<Call>;
    int const x = Call::input(step), dy = Call::output_gradient(step);
    int const mean = s::template kept<true>(step, 0);
    int const reciprocal = s::template kept<true>(step, saved_array(s::rows));
    int const normalised = step.temporary(s::elements, Call::type);
    append_map(step, map_function::subtract, normalised, {{x}, s::of_row(mean)});
    append_map(step, map_function::multiply, normalised, {{normalised}, s::of_row(reciprocal)});
    if constexpr (Call::layer.options.scale && Call::layer.trainable)
      append_reduce(step, reduce_function::sum_of_products, {dy, normalised}, Call::weight_gradient(step, s::gamma), 1,
                    s::rows, s::columns);
    if constexpr (Call::layer.options.center && Call::layer.trainable)
      append_reduce(step, reduce_function::sum, {dy}, Call::weight_gradient(step, s::beta), 1, s::rows, s::columns);
    if constexpr (Call::wants_input_gradient(0)) {
      int gradient = dy;
      if constexpr (Call::layer.options.scale) {
        gradient = step.temporary(s::elements, Call::type);
        append_map(step, map_function::multiply, gradient, {{dy}, s::of_weight(step, s::gamma)});
      }
      int const of_gradient = s::numbers(step), of_product = s::numbers(step);
      append_reduce(step, reduce_function::mean, {gradient}, of_gradient, s::rows, s::columns, 1);
      append_reduce(step, reduce_function::sum_of_products, {gradient, normalised}, of_product, s::rows, s::columns, 1,
                    s::per_column);
      append_rest_of_gradient(step, gradient, normalised, s::of_row(of_product), s::of_row(of_gradient));
      append_map(step, map_function::multiply, Call::input_gradient(step), {{normalised}, s::of_row(reciprocal)});
    }
  }

 private:
  /// Tensors are (rows, columns).
  template <class Call>
  struct shapes {
    static constexpr std::int64_t columns = Call::layer.normalized_shape(Call::input_shape()).size();
    static constexpr std::int64_t elements = Call::input_elements();
    static constexpr std::int64_t rows = elements / columns;
    static constexpr float per_column = 1.0F / static_cast<float>(columns);
    static constexpr int gamma = 0, beta = Call::layer.options.scale ? 1 : 0;

    /// A temporary tensor with a number for each row.
    static constexpr int numbers(lowered_step& step) { return step.temporary(rows, dtype::float32); }
    /// A tensor with a number for each row, which is saved if there is a backward step.
    template <bool Keeps>
    static constexpr int kept(lowered_step& step, int offset) {
      return Keeps ? Call::saved(step, offset, rows, dtype::float32) : numbers(step);
    }
    // Tensors as operands of a task on all elements.
    static constexpr map_operand of_row(int tensor) { return {tensor, {columns, rows}}; }
    static constexpr map_operand of_weight(lowered_step& step, int index) {
      return {Call::stored_weight(step, index), {1, columns}};
    }
  };
};

/// The lowering of a layer normalization. Along other axes than the last, the operations of its call are lowered.
template <class L>
struct kernel_lowering<layer_kernel::layer_normalization, L> {
  template <class Call>
  static constexpr void forward(lowered_step& step) {
    if constexpr (Call::layer.normalizes_rows(Call::input_shape()))
      row_normalization_lowering::forward<Call>(step);
    else
      append_call<Call, false>(step);
  }
  template <class Call>
  static constexpr void backward(lowered_step& step) {
    if constexpr (Call::layer.normalizes_rows(Call::input_shape()))
      row_normalization_lowering::backward<Call>(step);
    else
      append_call<Call, true>(step);
  }
};

}  // namespace stagecraft::tiles
