// SPDX-License-Identifier: BSD-3-Clause
// The ways to compute a convolution: transforms, vertices and groups of channels that a plan may choose from.
#pragma once

#include <stagecraft/ipu/convolution/convolution_plan.hpp>
#include <stagecraft/ipu/cycles/conv_partials.hpp>
#include <stagecraft/ipu/cycles/integers.hpp>
#include <stagecraft/machines/ipu_target.hpp>
#include <cstdint>

namespace stagecraft::tiles {

/// A convolution after its transforms, with the vertex that computes it, in the units that are divided.
struct convolution_view {
  convolution_vertex vertex = convolution_vertex::conv_partial_1x1;
  convolution_transform transform;
  dtype partials = dtype::float32;
  int conv_units = 0;
  int conv_groups_per_group = 1;
  int in_chans_per_group = 1;
  int out_chans_per_group = 1;
  int filter_height = 1;
  int filter_width = 1;

  std::int64_t batch = 1;
  std::int64_t conv_groups = 1;  ///< groups of conv_groups_per_group
  std::int64_t in_chan_groups = 1;
  std::int64_t out_chan_groups = 1;
  field_size field;   ///< rows and columns of outputs
  field_size kernel;  ///< the kernel / filter_height, / filter_width
  field_size input_field;
  field_size stride;
  field_size kernel_dilation;
  field_size input_dilation;

  bool rearranges_inputs = false;
  bool rearranges_weights = false;
  bool rearranges_output = false;

  /// A convolution after a transform, before a vertex is chosen.
  [[nodiscard]] static constexpr convolution_view transformed(convolution_shape const& shape, dtype partials,
                                                              convolution_transform transform) noexcept {
    convolution_view view{.transform = transform,
                          .partials = partials,
                          .batch = shape.batch_size,
                          .conv_groups = shape.num_conv_groups,
                          .in_chan_groups = shape.input_channels_per_conv_group,
                          .out_chan_groups = shape.output_channels_per_conv_group,
                          .field = shape.output_field,
                          .kernel = shape.kernel,
                          .input_field = shape.input_field,
                          .stride = shape.stride,
                          .kernel_dilation = shape.kernel_dilation,
                          .input_dilation = shape.input_dilation};
    if (transform.expand_width) {
      view.in_chan_groups *= view.kernel.width;
      view.kernel.width = view.stride.width = view.kernel_dilation.width = 1;
      view.input_field.width = view.field.width;
    }
    if (transform.expand_height) {
      view.in_chan_groups *= view.kernel.height;
      view.kernel.height = view.stride.height = view.kernel_dilation.height = 1;
      view.input_field.height = view.field.height;
    }
    if (transform.flatten_field) {
      view.field = view.input_field = {.height = 1, .width = view.batch * view.field.elements()};
      view.batch = 1;
    }
    if (transform.swap_operands) {
      auto const field = view.field.width;
      view.field.width = view.input_field.width = view.out_chan_groups;
      view.out_chan_groups = field;
    }
    view.rearranges_inputs = shape.pass == convolution_pass::filter_gradient || transform.expand_width ||
                             transform.expand_height || transform.swap_operands;
    view.rearranges_weights = view.rearranges_inputs || shape.pass == convolution_pass::input_gradient;
    view.rearranges_output = transform.swap_operands;
    return view;
  }
  /// This view with `groups` groups of the convolution computed at once.
  [[nodiscard]] constexpr convolution_view with_conv_groups(int groups) const noexcept {
    auto view = *this;
    view.conv_groups_per_group = groups;
    view.conv_groups = ceil_div(conv_groups, groups);
    return view;
  }
  /// This view with a vertex and its groups of channels.
  [[nodiscard]] constexpr convolution_view with_vertex(convolution_vertex of, int units, int in_chans, int out_chans,
                                                       int rows, int columns = 1) const noexcept {
    auto view = *this;
    view.vertex = of;
    view.conv_units = units;
    view.in_chans_per_group = in_chans;
    view.out_chans_per_group = out_chans;
    view.filter_height = rows;
    view.filter_width = columns;
    bool const pads_inputs = in_chan_groups % in_chans != 0;
    bool const pads_outputs = out_chan_groups % out_chans != 0;
    view.rearranges_inputs = rearranges_inputs || pads_inputs;
    view.rearranges_weights = rearranges_weights || pads_inputs || pads_outputs;
    view.rearranges_output = rearranges_output || pads_outputs;
    view.in_chan_groups = ceil_div(in_chan_groups, in_chans);
    view.out_chan_groups = ceil_div(out_chan_groups, out_chans);
    view.kernel.height = ceil_div(kernel.height, rows);
    view.kernel.width = ceil_div(kernel.width, columns);
    return view;
  }
  /// The view of a plan.
  [[nodiscard]] static constexpr convolution_view of(convolution_shape const& shape,
                                                     convolution_plan const& plan) noexcept {
    auto const view = transformed(shape, plan.partials, plan.transform);
    return (plan.conv_groups_per_group > 1 ? view.with_conv_groups(plan.conv_groups_per_group) : view)
        .with_vertex(plan.vertex, plan.conv_units, plan.in_chans_per_group, plan.out_chans_per_group,
                     plan.filter_height, plan.filter_width);
  }
  /// True if the vertex works on these groups of channels on a tile: SLIC takes one of inputs and one of outputs.
  [[nodiscard]] constexpr bool takes(std::int64_t in_groups, std::int64_t out_groups) const noexcept {
    return vertex != convolution_vertex::conv_partial_slic || (in_groups == 1 && out_groups == 1);
  }

  /// Outputs that one kernel element reaches: where inputs are dilated, others meet zeros only.
  [[nodiscard]] constexpr field_size reached(field_size of) const noexcept {
    return {.height = ceil_div(of.height, input_dilation.height), .width = ceil_div(of.width, input_dilation.width)};
  }
  /// Inputs that `outputs` of a field's rows or columns and `kernels` of a kernel's need, at most.
  [[nodiscard]] constexpr field_size inputs_of(field_size outputs, field_size kernels) const noexcept {
    std::int64_t const rows =
        (outputs.height - 1) * stride.height + (kernels.height * filter_height - 1) * kernel_dilation.height;
    std::int64_t const columns =
        (outputs.width - 1) * stride.width + (kernels.width * filter_width - 1) * kernel_dilation.width;
    return {.height = smaller(rows / input_dilation.height + 1, input_field.height),
            .width = smaller(columns / input_dilation.width + 1, input_field.width)};
  }
  /// Cycles for a group of input channels by one of output channels and an element of field and kernel, at least.
  [[nodiscard]] constexpr std::int64_t cycles_per_element(ipu_target const& target, dtype input) const noexcept {
    switch (vertex) {
      case convolution_vertex::conv_partial_1x1:
      case convolution_vertex::conv_partial_nx1: return target.conv_unit_cycles_per_element(input);
      case convolution_vertex::conv_partial_slic: return conv_units == 16 ? 1 : 2;
      case convolution_vertex::horizontal_mac:
        return ceil_div(out_chans_per_group, partials == dtype::float16 ? 2 : 1) *
               (6 + ceil_div(in_chans_per_group, target.vector_width(input)));
      case convolution_vertex::outer_product: return 5;
      default:
        if (conv_groups_per_group < 8) return (11 + 2 * kernel.width) / kernel.width;
        return (19 + 3 * kernel.width) * (conv_groups_per_group / 8) / kernel.width;
    }
  }
  /// Fewer cycles than any plan on `tiles` tiles takes.
  [[nodiscard]] constexpr std::int64_t least_cycles(ipu_target const& target, dtype input) const noexcept {
    std::int64_t const inner = kernel.elements() * in_chan_groups * out_chan_groups * conv_groups;
    std::int64_t result =
        batch * reached(field).elements() * inner / target.tiles_per_ipu * cycles_per_element(target, input);
    std::int64_t const bytes =
        size_of(input) * in_chan_groups * in_chans_per_group * conv_groups * conv_groups_per_group;
    if (rearranges_inputs) result += bytes * batch * input_field.elements() / target.tiles_per_ipu / 2;
    if (rearranges_weights)
      result += bytes * kernel.elements() * out_chan_groups * out_chans_per_group / target.tiles_per_ipu / 2;
    return result;
  }
};

/// All that a plan of one convolution may choose from.
struct convolution_views {
  static constexpr int capacity = 24;
  convolution_view views[capacity];
  std::int64_t least_cycles[capacity]{};
  int count = 0;

  constexpr convolution_views(convolution_shape const& shape, ipu_target const& target, dtype partials) {
    bool const is_point = shape.kernel.elements() == 1 && shape.stride == field_size{} &&
                          shape.input_dilation == field_size{} && shape.input_field == shape.output_field &&
                          shape.padding_lower == field_size{.height = 0, .width = 0};
    bool const may_expand = shape.input_dilation == field_size{};
    if (is_point) {
      add_all(shape, target, partials, {.flatten_field = true});
      add_all(shape, target, partials, {.swap_operands = true, .flatten_field = true});
    } else {
      add_all(shape, target, partials, {});
      if (may_expand) {
        if (shape.kernel.height > 1) add_all(shape, target, partials, {.expand_width = true});
        add_all(shape, target, partials, {.expand_height = true, .expand_width = true, .flatten_field = true});
        add_all(shape, target, partials,
                {.swap_operands = true, .expand_height = true, .expand_width = true, .flatten_field = true});
      }
    }
    sort();
  }

 private:
  constexpr void add(convolution_view const& view, ipu_target const& target, dtype input) {
    if (count == capacity) return;
    least_cycles[count] = view.least_cycles(target, input);
    views[count++] = view;
  }
  /// Sorts the views, the most promising first.
  constexpr void sort() {
    for (int i = 0; i < count; ++i) {
      int best = i;
      for (int j = i + 1; j < count; ++j)
        if (least_cycles[j] < least_cycles[best]) best = j;
      if (best == i) continue;
      auto const view = views[i];
      auto const cycles = least_cycles[i];
      views[i] = views[best];
      least_cycles[i] = least_cycles[best];
      views[best] = view;
      least_cycles[best] = cycles;
    }
  }

  /// Adds all vertices and groups of channels for one transform.
  constexpr void add_all(convolution_shape const& shape, ipu_target const& target, dtype partials,
                         convolution_transform transform) {
    auto const view = convolution_view::transformed(shape, partials, transform);
    add_vertices(view, shape, target);
  }

  constexpr void add_vertices(convolution_view const& view, convolution_shape const& shape, ipu_target const& target) {
    bool const is_half = shape.operand() == dtype::float16;
    bool const is_flat = view.transform.flatten_field;
    int const units = target.conv_units(shape.operand(), view.partials);
    int const weights = target.weights_per_conv_unit(shape.operand());
    // Vertices of the units for matrix products. With few input channels they take several kernel rows at once.
    for (int rows = 1; rows <= 4; rows *= 2) {
      if (rows > 1 && (rows >= 2 * view.kernel.height || view.in_chan_groups > weights / rows)) break;
      add_grouped(view, shape, target,
                  is_flat ? convolution_vertex::conv_partial_1x1 : convolution_vertex::conv_partial_nx1, units,
                  weights / rows, units, rows);
    }
    // Half of the units, where the others would have nothing to do.
    if (units == 16 && (view.out_chan_groups + 15) % 16 < 8)
      add_grouped(view, shape, target,
                  is_flat ? convolution_vertex::conv_partial_1x1 : convolution_vertex::conv_partial_nx1, 8, weights, 8,
                  1);
    if (view.transform.swap_operands) return;
    if (is_half) add_slic(view, shape, target);
    // Vertices of the workers' own arithmetic, for few channels.
    if (view.in_chan_groups <= weights || view.out_chan_groups <= 2) {
      int in_chans = 1;
      while (in_chans < view.in_chan_groups && in_chans < weights) in_chans *= 2;
      int const at_least = view.partials == dtype::float16 ? 2 : 1;
      add_grouped(view, shape, target, convolution_vertex::horizontal_mac, 0, in_chans, at_least, 1);
      if (view.out_chan_groups > at_least)
        add_grouped(view, shape, target, convolution_vertex::horizontal_mac, 0, in_chans,
                    static_cast<int>(smaller(view.out_chan_groups, 8)), 1);
    }
    bool const is_single = view.in_chan_groups == 1;
    if (is_single && view.out_chan_groups == 1 && is_half && view.conv_groups > 1)
      for (int channels = 4; channels <= (view.partials == dtype::float16 ? 16 : 4); channels *= 2) {
        add_grouped(view.with_conv_groups(channels), shape, target, convolution_vertex::vertical_mac, 0, 1, 1, 1);
      }
    if (is_single && is_flat) {
      auto copy = view;
      copy.partials = shape.operand();
      add_grouped(copy, shape, target, convolution_vertex::outer_product, 0, 1,
                  static_cast<int>(smaller(view.out_chan_groups, is_half ? 16 : 8)), 1);
    }
  }

  /// Adds the units that slide over rows (SLIC). Groups of the convolution are joined if they have 2 channels at most.
  /// The vertex computes no matrix products, and no dilated inputs or kernel columns.
  ///
  /// Source: poplibs, lib/poplin/ConvVertexType.cpp, getConvVertexSLICCandidates, of which there are more: 8 and 16
  /// groups of 1 channel, and groups that are filled up.
  constexpr void add_slic(convolution_view const& view, convolution_shape const& shape, ipu_target const& target) {
    bool const is_product = shape.input_field.elements() == 1 && shape.kernel.elements() == 1;
    bool const is_expanded = view.transform.expand_height || view.transform.expand_width;
    if (is_product || is_expanded || view.input_dilation != field_size{} || view.kernel_dilation.width != 1 ||
        view.stride.width > 2 || target.weights_per_conv_unit(dtype::float16) != 16)
      return;
    std::int64_t const channels = larger(view.in_chan_groups, view.out_chan_groups);
    int const groups = view.conv_groups == 1 || channels > 2 ? 1 : channels == 2 ? 2 : 4;
    int const each = vertices::conv_partial_slic::channels / groups;
    auto const units = static_cast<int>(
        smaller(target.conv_units(dtype::float16, view.partials), view.partials == dtype::float16 ? 16 : 8));
    auto const slic = view.with_conv_groups(groups).with_vertex(convolution_vertex::conv_partial_slic, units, each,
                                                                each, 1, vertices::conv_partial_slic::window);
    // Sliding is not needed if the units take as few cycles with the whole kernel as channels.
    std::int64_t const without = ceil_div(view.kernel.elements() * view.in_chan_groups, 16) *
                                 ceil_div(view.out_chan_groups, units) * groups *
                                 target.conv_unit_cycles_per_element(dtype::float16);
    std::int64_t const products = slic.kernel.elements() * slic.in_chan_groups * slic.out_chan_groups;
    if (units < 8 || products * slic.cycles_per_element(target, dtype::float16) >= without) return;
    add(slic, target, shape.operand());
  }

  constexpr void add_grouped(convolution_view const& view, convolution_shape const& shape, ipu_target const& target,
                             convolution_vertex vertex, int units, int in_chans, int out_chans, int rows) {
    add(view.with_vertex(vertex, units, in_chans, out_chans, rows), target, shape.operand());
  }
};

}  // namespace stagecraft::tiles
