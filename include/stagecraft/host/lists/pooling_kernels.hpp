// SPDX-License-Identifier: BSD-3-Clause
// Kernels for the poolings and normalizations among a plan's operations, each made for its shape.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/host/lists/list_workspace.hpp>
#include <stagecraft/kernels/normalization/batch_normalization.hpp>
#include <stagecraft/kernels/normalization/layer_normalization.hpp>
#include <stagecraft/kernels/pooling/average_pooling.hpp>
#include <stagecraft/kernels/pooling/max_pooling.hpp>
#include <stagecraft/operations/composite_gradient.hpp>
#include <stagecraft/operations/operation_list.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace stagecraft::cpu {

/// The kernels of a pooling and of its gradient, for `samples` samples; null if there is no kernel for it.
struct pooling_kernel {
  void (*forward)(float const* x, float* y, int samples) = nullptr;
  /// `workspace`: floats for a sample's outputs and the places of its maxima.
  void (*backward)(float const* x, float const* dy, float* dx, float* workspace, int samples) = nullptr;
};

/// The shape of a pooling of images of these extents. Kernels know up to two axes, and no window that is all padding.
constexpr bool find_pooling_shape(operations::windows const& windows, operations::extents const& image,
                                  kernels::pooling_shape& result) {
  if (windows.count > 2) return false;
  for (int i = 0; i < windows.count; ++i)
    if (windows[i].dilation != 1 || windows[i].before >= windows[i].size || windows[i].after >= windows[i].size)
      return false;
  auto const &rows = windows[0], &columns = windows[windows.count - 1];
  if (windows.count == 2) {
    result.height = image[1];
    result.pool_height = rows.size;
    result.stride_height = rows.stride;
    result.top = rows.before;
    result.bottom = rows.after;
  }
  result.width = image[-2];
  result.channels = image[-1];
  result.pool_width = columns.size;
  result.stride_width = columns.stride;
  result.left = columns.before;
  result.right = columns.after;
  return result.output_size() <= result.input_size();
}

template <bool IsMax, kernels::pooling_shape Shape, class Arch>
struct pooling_of_samples {
  static void forward(float const* x, float* y, int samples) {
    for (int sample = 0; sample < samples; ++sample, x += Shape.input_size(), y += Shape.output_size())
      if constexpr (IsMax)
        kernels::max_pooling<1, Shape, Arch>(x, y);
      else
        kernels::average_pooling<1, Shape, Arch>(x, y);
  }
  static void backward(float const* x, float const* dy, float* dx, float* workspace, int samples) {
    for (int sample = 0; sample < samples; ++sample) {
      if constexpr (IsMax) {
        auto* const positions = kernels::positions_in<Shape>(workspace + Shape.output_size());
        kernels::max_pooling<1, Shape, Arch>(x, workspace, positions);
        kernels::max_pooling_gradient<1, Shape, false, Arch>(positions, dy, dx);
        x += Shape.input_size();
      } else {
        kernels::average_pooling_gradient<1, Shape, false, Arch>(dy, dx);
      }
      dy += Shape.output_size();
      dx += Shape.input_size();
    }
  }
};

template <auto const& Plan, std::size_t Id, class Arch>
constexpr pooling_kernel find_pooling_kernel() {
  constexpr auto const& node = Plan.nodes[Id];
  constexpr auto const* forward = node.what.template if_is<operations::pooling>();
  constexpr auto const* backward = node.what.template if_is<operations::pooling_gradient>();
  if constexpr (forward != nullptr || backward != nullptr) {
    constexpr auto const& image = Plan.nodes[operand_of(Plan, static_cast<int>(Id), 0)].shape;
    constexpr auto found = [] {
      std::pair<bool, kernels::pooling_shape> result{};
      result.first =
          find_pooling_shape(forward != nullptr ? forward->windows : backward->windows, image, result.second);
      return result;
    }();
    constexpr auto kind = forward != nullptr ? forward->kind : backward->kind;
    using steps = pooling_of_samples<kind == operations::pooling_kind::max, found.second, Arch>;
    if constexpr (found.first && forward != nullptr) return {.forward = &steps::forward};
    if constexpr (found.first && backward != nullptr) return {.backward = &steps::backward};
  }
  return {};
}

/// One for each operation of a frozen plan; none at all if none is a pooling.
template <auto const& Plan, class Arch>
inline constexpr auto pooling_kernels = [] {
  constexpr bool has_some = [] {
    for (auto const& node : Plan.nodes)
      if (node.what.template is<operations::pooling>()) return true;
    return false;
  }();
  return []<std::size_t... Id>(std::index_sequence<Id...>) {
    return std::array<pooling_kernel, sizeof...(Id)>{find_pooling_kernel<Plan, Id, Arch>()...};
  }(std::make_index_sequence<has_some ? Plan.nodes.size() : 0>{});
}();

/// The kernel of a group that `has_kernel`, on the values of its operands; null for others.
using group_kernel = void (*)(float const* const* in, float* y, float* workspace);

template <int Rows, operations::row_normalization What, class Arch>
struct normalization_of_rows {
  static constexpr auto const& what = What;
  static constexpr int columns = static_cast<int>(what.columns);

  static void forward(float const* const* in, float* y, float*) {
    kernels::layer_normalize<columns, Arch>(in[0], Rows, what.epsilon, what.scales ? in[1] : nullptr,
                                            what.centers ? in[what.scales ? 2 : 1] : nullptr, y, nullptr, nullptr);
  }
  /// Writes the gradient by x. `in` has x, the gradient of the result and, if there is one, gamma.
  static void backward(float const* const* in, float* dx, float* workspace) {
    constexpr int row_floats = (Rows + 15) / 16 * 16;
    float *const mean = workspace, *const reciprocal = mean + row_floats;
    kernels::layer_normalize<columns, Arch>(in[0], Rows, what.epsilon, nullptr, nullptr, dx, mean, reciprocal);
    kernels::layer_normalization_gradient<Rows, columns, false, Arch>(
        in[0], in[1], mean, reciprocal, what.scales ? in[2] : nullptr, reciprocal + row_floats, dx, nullptr);
  }
};

/// The groups of a normalization of channels. Arrays of one number for each channel in the workspace are padded to
/// whole registers, which the kernels read.
template <int Rows, int Channels, operations::channel_normalization What, class Arch>
struct normalization_of_channels {
  static constexpr auto const& what = What;
  using layout = kernels::channel_rows<Channels, Arch>;
  using items = kernels::channel_items<Rows, Channels, Arch>;
  static constexpr int array = layout::channel_floats;
  static constexpr long long workspace_floats =
      4LL * array + items::partial_floats + kernels::batch_normalization_workspace<Channels, Arch>;
  static_assert(workspace_floats <= list_workspace<Arch>::of_channels(Rows, Channels));

  /// Writes the mean and the variance of each channel. `in`: x.
  static void statistics(float const* const* in, float* y, float* workspace) {
    float *const mean = workspace, *const variance = mean + array, *const partial = workspace + 4 * array,
                 *const rest = partial + items::partial_floats;
    kernels::batch_statistics<Rows, Channels, Arch>(in[0], Rows, rest, partial);
    kernels::join_batch_statistics<Rows, Channels, Arch>(in[0], partial, Rows, rest, mean, variance);
    std::memcpy(y, mean, sizeof(float) * Channels);
    std::memcpy(y + Channels, variance, sizeof(float) * Channels);
  }
  /// Writes the normalized x. `in`: x, the statistics, then gamma and beta if there are any.
  static void forward(float const* const* in, float* y, float* workspace) {
    float const* const mean = find_reciprocal(in[1], workspace);
    kernels::batch_normalize<Channels, Arch>(in[0], Rows, mean, workspace + array, what.scales ? in[2] : nullptr,
                                             what.centers ? in[what.scales ? 3 : 2] : nullptr, workspace + 4 * array,
                                             y);
  }
  /// Writes the sums that the gradient by x needs. `in`: x, the statistics and the gradient of the result.
  static void sums(float const* const* in, float* y, float* workspace) {
    float *const mean = copy_row(in[1], workspace), *const found = workspace + 2 * array,
                 *const partial = workspace + 4 * array;
    kernels::batch_normalization_sums<Rows, Channels, Arch>(in[0], in[2], Rows, mean, partial + items::partial_floats,
                                                            partial);
    kernels::add_item_sums<Rows, Channels, Arch>(partial, Rows, found);
    std::memcpy(y, found, sizeof(float) * Channels);
    std::memcpy(y + Channels, found + array, sizeof(float) * Channels);
  }
  /// Writes the gradient by x. `in`: x, the statistics, the gradient of the result, the sums and, if there is one,
  /// gamma.
  static void backward(float const* const* in, float* dx, float* workspace) {
    float const* const mean = find_reciprocal(in[1], workspace);
    float* const sums = workspace + 2 * array;
    copy_row(in[3], sums);
    copy_row(in[3] + Channels, sums + array);
    kernels::batch_normalization_gradient<Channels, false, Arch>(
        in[0], in[2], Rows, mean, workspace + array, what.scales ? in[4] : nullptr, sums, workspace + 4 * array, dx);
  }

 private:
  static float* copy_row(float const* from, float* to) {
    std::memcpy(to, from, sizeof(float) * Channels);
    std::memset(to + Channels, 0, sizeof(float) * (array - Channels));
    return to;
  }
  /// Writes two arrays to the workspace: means, which it returns, and reciprocal deviations.
  static float const* find_reciprocal(float const* statistics, float* workspace) {
    copy_row(statistics + Channels, workspace + array);
    kernels::reciprocal_deviation<Arch>(workspace + array, what.epsilon, workspace + array, Channels);
    return copy_row(statistics, workspace);
  }
};

template <auto const& Plan, std::size_t Id, class Arch>
constexpr group_kernel find_group_kernel() {
  constexpr auto const* group = Plan.nodes[Id].what.template if_is<operations::composite>();
  if constexpr (group != nullptr) {
    if constexpr (group->has_kernel && operations::channel_normalization::has(*group)) {
      constexpr auto what = operations::channel_normalization::of(*group);
      constexpr auto const& x = Plan.nodes[Plan.operands[Plan.nodes[Id].first_operand + 1]].shape;
      using steps = normalization_of_channels<static_cast<int>(x.size() / x[-1]), x[-1], what, Arch>;
      if constexpr (group->name == what.statistics)
        return &steps::statistics;
      else if constexpr (group->name == what.sums)
        return &steps::sums;
      else
        return group->is_gradient ? &steps::backward : &steps::forward;
    } else if constexpr (group->has_kernel) {
      constexpr auto what = operations::row_normalization::of(*group);
      constexpr auto rows = static_cast<int>(Plan.nodes[Id].shape.size() / static_cast<std::int64_t>(what.columns));
      using steps = normalization_of_rows<rows, what, Arch>;
      return group->is_gradient ? &steps::backward : &steps::forward;
    }
  }
  return nullptr;
}

/// One for each operation of a frozen plan; none at all if no group has a kernel.
template <auto const& Plan, class Arch>
inline constexpr auto group_kernels = [] {
  constexpr bool has_some = [] {
    for (auto const& node : Plan.nodes)
      if (auto const* group = node.what.template if_is<operations::composite>(); group != nullptr && group->has_kernel)
        return true;
    return false;
  }();
  return []<std::size_t... Id>(std::index_sequence<Id...>) {
    return std::array<group_kernel, sizeof...(Id)>{find_group_kernel<Plan, Id, Arch>()...};
  }(std::make_index_sequence<has_some ? Plan.nodes.size() : 0>{});
}();

}  // namespace stagecraft::cpu
