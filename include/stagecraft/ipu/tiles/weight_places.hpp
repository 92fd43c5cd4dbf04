// SPDX-License-Identifier: BSD-3-Clause
// Which element of a weight lies at which place, where a plan decides.
// Which element of a tensor stands at an index of a transformed convolution.
// The boxes of a convolution's operands and results, element by element in the order in which vertices read and write
// them.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/convolution/convolution_division.hpp>
#include <stagecraft/ipu/convolution/convolution_plan.hpp>
#include <stagecraft/ipu/convolution/convolution_view.hpp>
#include <stagecraft/ipu/steps/convolution_strides.hpp>
#include <stagecraft/ipu/steps/tile_mapping.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stagecraft::tiles {

/// visit(group, batch, row, column, channel)
template <class Visit>
void visit_inputs(convolution_division const& division, convolution_part const& part, Visit const& visit) {
  if (part.weights() == 0) return;
  auto const box = division.inputs_of(part);
  for (auto g = part.conv_groups.first; g < part.conv_groups.last; ++g)
    for (auto b = part.batch.first; b < part.batch.last; ++b)
      for (auto y = box.rows.first; y < box.rows.last; ++y)
        for (auto x = box.columns.first; x < box.columns.last; ++x)
          for (auto c = part.in_chans.first; c < part.in_chans.last; ++c) visit(g, b, y, x, c);
}
/// visit(group, row, column, input channel, output channel)
template <class Visit>
void visit_weights(convolution_part const& part, Visit const& visit) {
  for (auto g = part.conv_groups.first; g < part.conv_groups.last; ++g)
    for (auto y = part.kernel_rows.first; y < part.kernel_rows.last; ++y)
      for (auto x = part.kernel_columns.first; x < part.kernel_columns.last; ++x)
        for (auto i = part.in_chans.first; i < part.in_chans.last; ++i)
          for (auto o = part.out_chans.first; o < part.out_chans.last; ++o) visit(g, y, x, i, o);
}
/// visit(group, batch, row, column, channel)
template <class Visit>
void visit_outputs(convolution_part const& part, Visit const& visit) {
  for (auto g = part.conv_groups.first; g < part.conv_groups.last; ++g)
    for (auto b = part.batch.first; b < part.batch.last; ++b)
      for (auto y = part.rows.first; y < part.rows.last; ++y)
        for (auto x = part.columns.first; x < part.columns.last; ++x)
          for (auto o = part.out_chans.first; o < part.out_chans.last; ++o) visit(g, b, y, x, o);
}

/// Undoes the transform of a plan: returns the number of an element in its tensor, or -1 for a zero (of padding, or
/// after the last channel, group or kernel row), or for a result that nobody wants.
class convolution_elements {
 public:
  convolution_elements(convolution_shape const& shape, convolution_transform const& transform,
                       convolution_strides const& strides)
      : shape_(shape), transform_(transform), strides_(strides) {}

  [[nodiscard]] std::int64_t input(std::int64_t group, std::int64_t batch, std::int64_t row, std::int64_t column,
                                   std::int64_t channel) const {
    if (transform_.swap_operands) return original_weight(group, 0, 0, channel, column);
    return original_input(group, batch, row, column, channel);
  }
  [[nodiscard]] std::int64_t weight(std::int64_t group, std::int64_t row, std::int64_t column, std::int64_t in,
                                    std::int64_t out) const {
    if (transform_.swap_operands) return out < places() ? original_input(group, 0, 0, out, in) : -1;
    return original_weight(group, row, column, in, out);
  }
  [[nodiscard]] std::int64_t output(std::int64_t group, std::int64_t batch, std::int64_t row, std::int64_t column,
                                    std::int64_t channel) const {
    if (transform_.swap_operands) {
      auto const filter = column;
      column = channel;
      channel = filter;
      if (column >= places()) return -1;
    }
    if (group >= shape_.num_conv_groups || channel >= shape_.output_channels_per_conv_group) return -1;
    unflatten(batch, row, column);
    return strides_.outputs(group, batch, row, column, channel);
  }

 private:
  /// The element of the input as it was before operands changed places.
  [[nodiscard]] std::int64_t original_input(std::int64_t group, std::int64_t batch, std::int64_t row,
                                            std::int64_t column, std::int64_t channel) const {
    kernel_place const of = place_of(channel);
    if (group >= shape_.num_conv_groups || !of.exists) return -1;
    unflatten(batch, row, column);
    // The output says which element an expanded input is.
    if (transform_.expand_height)
      row = row * shape_.stride.height + of.row * shape_.kernel_dilation.height - shape_.padding_lower.height;
    if (transform_.expand_width)
      column = column * shape_.stride.width + of.column * shape_.kernel_dilation.width - shape_.padding_lower.width;
    if (row < 0 || row >= shape_.input_field.height || column < 0 || column >= shape_.input_field.width) return -1;
    return strides_.inputs(group, batch, row, column, of.channel);
  }
  [[nodiscard]] std::int64_t original_weight(std::int64_t group, std::int64_t row, std::int64_t column, std::int64_t in,
                                             std::int64_t out) const {
    kernel_place const of = place_of(in);
    if (group >= shape_.num_conv_groups || !of.exists || out >= shape_.output_channels_per_conv_group) return -1;
    if (transform_.expand_height) row = of.row;
    if (transform_.expand_width) column = of.column;
    if (row >= shape_.kernel.height || column >= shape_.kernel.width) return -1;
    return strides_.weights(group, row, column, of.channel, out);
  }

  /// The place of an input channel before the kernel was expanded.
  struct kernel_place {
    std::int64_t row = 0, column = 0, channel = 0;
    bool exists = false;
  };
  [[nodiscard]] kernel_place place_of(std::int64_t channel) const {
    std::int64_t const channels = shape_.input_channels_per_conv_group;
    kernel_place result{.channel = channel % channels};
    std::int64_t rest = channel / channels;
    if (transform_.expand_width) {
      result.column = rest % shape_.kernel.width;
      rest /= shape_.kernel.width;
    }
    if (transform_.expand_height) {
      result.row = rest % shape_.kernel.height;
      rest /= shape_.kernel.height;
    }
    result.exists = rest == 0;
    return result;
  }
  [[nodiscard]] std::int64_t places() const { return shape_.batch_size * shape_.output_field.elements(); }
  void unflatten(std::int64_t& batch, std::int64_t& row, std::int64_t& column) const {
    if (!transform_.flatten_field) return;
    batch = column / shape_.output_field.elements();
    row = column / shape_.output_field.width % shape_.output_field.height;
    column %= shape_.output_field.width;
  }

  convolution_shape shape_;
  convolution_transform transform_;
  convolution_strides strides_;
};

/// Places are those of weight_mapping, tile by tile.
class weight_places {
 public:
  weight_places(weight_mapping const& mapping, ipu_target const& target)
      : element_(static_cast<std::size_t>(mapping.tiles * mapping.elements_per_tile), -1),
        place_(static_cast<std::size_t>(mapping.elements), -1) {
    convolution_division const division(mapping.shape, mapping.plan, target, false);
    convolution_elements const elements(mapping.shape, mapping.plan.transform, mapping.strides);
    bool const is_input = division.kernel_is_input();
    for (std::int64_t tile = 0; tile < mapping.tiles; ++tile)
      for (std::int64_t out = 0; out < (is_input ? 1 : division.serial_out_parts); ++out)
        for (std::int64_t in = 0; in < division.serial_in_parts; ++in) {
          auto const part = division.part(tile, out, in);
          auto const own = division.kernel_share_of(tile, part);
          std::int64_t const first =
              tile * mapping.elements_per_tile + division.kernel_slice_of(out, in) * division.kernel_share();
          std::int64_t index = 0;
          auto const add = [&](std::int64_t element) {
            std::int64_t const i = index++;
            if (i < own.first || i >= own.last || element < 0) return;
            element_[first + i - own.first] = element;
            place_[element] = first + i - own.first;
          };
          if (!is_input) {
            visit_weights(part, [&](auto... i) { add(elements.weight(i...)); });
            continue;
          }
          for (auto g = part.conv_groups.first; g < part.conv_groups.last; ++g)
            for (auto x = part.columns.first; x < part.columns.last; ++x)
              for (auto c = part.in_chans.first; c < part.in_chans.last; ++c) add(elements.input(g, 0, 0, x, c));
        }
  }

  /// -1 for a zero that fills up.
  [[nodiscard]] std::int64_t element_at(std::int64_t place) const { return element_[place]; }
  [[nodiscard]] std::int64_t place_of(std::int64_t element) const { return place_[element]; }

 private:
  std::vector<std::int64_t> element_;
  std::vector<std::int64_t> place_;
};

}  // namespace stagecraft::tiles
