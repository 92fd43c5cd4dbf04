// SPDX-License-Identifier: BSD-3-Clause
// A convolution or matrix product in numbers (the counterpart of poplin's ConvParams), and the plan that divides it
// among the tiles of an IPU, with its cost (the counterpart of poplin's Plan).
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/diagnostics/text.hpp>
#include <stagecraft/graph/dtype.hpp>
#include <stagecraft/ipu/cycles/integers.hpp>
#include <stagecraft/machines/ipu_target.hpp>
#include <cstdint>
#include <string_view>

namespace stagecraft::tiles {

/// Rows and columns.
struct field_size {
  std::int64_t height = 1;
  std::int64_t width = 1;

  [[nodiscard]] constexpr std::int64_t elements() const noexcept { return height * width; }
  friend constexpr bool operator==(field_size const&, field_size const&) = default;
};

}  // namespace stagecraft::tiles

namespace stagecraft {

/// The three convolutions of a layer. Data of the other two are laid out for the first.
enum class convolution_pass : unsigned char { forward, input_gradient, filter_gradient };

/// A convolution: output (o) is the sum over kernel elements (k) and input channels of kernel times input at
/// (o * stride + k * kernel_dilation - padding_lower) / input_dilation, where that is a whole number within the input.
///
/// A matrix product is one with a field of one element, whose batch are the rows (`matmul`). Both gradients of a
/// convolution are convolutions, too, which `input_gradient()` and `filter_gradient()` describe; the gradients of a
/// matrix product are those of its left and right operand.
/// Sources: poplibs, lib/poplin/ConvParams, getGradientParams and getWeightUpdateParams.
struct convolution_shape {
  dtype input = dtype::float32;   ///< type of stored and exchanged inputs and weights: float32 or float16
  dtype output = dtype::float32;  ///< float32 or float16
  /// float32 inputs and weights are multiplied as float16: tiles convert what they have received.
  bool multiplies_float16 = false;
  convolution_pass pass = convolution_pass::forward;
  std::int64_t batch_size = 1;
  std::int64_t num_conv_groups = 1;
  std::int64_t input_channels_per_conv_group = 1;
  std::int64_t output_channels_per_conv_group = 1;
  tiles::field_size input_field;
  tiles::field_size kernel;
  tiles::field_size output_field;
  tiles::field_size stride;
  tiles::field_size kernel_dilation;
  tiles::field_size input_dilation;  ///< zeros between input elements: 2 puts one between each two
  tiles::field_size padding_lower{.height = 0,
                                  .width = 0};  ///< zeros above and to the left; negative cuts the input off

  friend constexpr bool operator==(convolution_shape const&, convolution_shape const&) = default;

  /// (rows x depth) times (depth x columns), `groups` times; both operands and the result are of one type.
  [[nodiscard]] static constexpr convolution_shape matmul(dtype type, std::int64_t rows, std::int64_t depth,
                                                          std::int64_t columns, std::int64_t groups = 1) noexcept {
    convolution_shape result;
    result.input = result.output = type;
    result.batch_size = rows;
    result.num_conv_groups = groups;
    result.input_channels_per_conv_group = depth;
    result.output_channels_per_conv_group = columns;
    return result;
  }

  /// The convolution that makes the input's gradient of the output's gradient and the kernel, turned by 180 degrees.
  [[nodiscard]] constexpr convolution_shape input_gradient() const noexcept {
    convolution_shape result = *this;
    result.pass = convolution_pass::input_gradient;
    result.input_channels_per_conv_group = output_channels_per_conv_group;
    result.output_channels_per_conv_group = input_channels_per_conv_group;
    result.input_field = output_field;
    result.output_field = input_field;
    result.stride = input_dilation;
    result.input_dilation = stride;
    result.padding_lower = {.height = (kernel.height - 1) * kernel_dilation.height - padding_lower.height,
                            .width = (kernel.width - 1) * kernel_dilation.width - padding_lower.width};
    return result;
  }

  /// The convolution that makes the kernel's gradient of the input and the output's gradient: channels are the batch,
  /// the batch are the channels, and the output's gradient is the kernel.
  [[nodiscard]] constexpr convolution_shape filter_gradient() const noexcept {
    convolution_shape result = *this;
    result.pass = convolution_pass::filter_gradient;
    result.batch_size = input_channels_per_conv_group;
    result.input_channels_per_conv_group = batch_size;
    result.kernel = output_field;
    result.output_field = kernel;
    result.stride = kernel_dilation;
    result.kernel_dilation = stride;
    return result;
  }

  /// The type of the operands when they are multiplied.
  [[nodiscard]] constexpr dtype operand() const noexcept { return multiplies_float16 ? dtype::float16 : input; }
  [[nodiscard]] constexpr std::int64_t inputs() const noexcept {
    return batch_size * num_conv_groups * input_channels_per_conv_group * input_field.elements();
  }
  [[nodiscard]] constexpr std::int64_t weights() const noexcept {
    return num_conv_groups * input_channels_per_conv_group * output_channels_per_conv_group * kernel.elements();
  }
  [[nodiscard]] constexpr std::int64_t outputs() const noexcept {
    return batch_size * num_conv_groups * output_channels_per_conv_group * output_field.elements();
  }

  /// Multiplications with addition that are not with zeros of padding or dilation: as many in each of the three passes.
  [[nodiscard]] constexpr std::int64_t macs() const noexcept {
    return batch_size * num_conv_groups * input_channels_per_conv_group * output_channels_per_conv_group *
           pairs(output_field.height, kernel.height, input_field.height, stride.height, kernel_dilation.height,
                 input_dilation.height, padding_lower.height) *
           pairs(output_field.width, kernel.width, input_field.width, stride.width, kernel_dilation.width,
                 input_dilation.width, padding_lower.width);
  }
  [[nodiscard]] constexpr std::int64_t flops() const noexcept { return 2 * macs(); }

 private:
  /// The number of pairs of an output and a kernel element that meet an element of the input.
  [[nodiscard]] static constexpr std::int64_t pairs(std::int64_t outputs, std::int64_t kernels, std::int64_t inputs,
                                                    std::int64_t output_step, std::int64_t kernel_step,
                                                    std::int64_t input_step, std::int64_t padding) noexcept {
    // The three are alike: a loop over the smaller of outputs and kernel elements is enough where all inputs count.
    if (input_step == 1 && kernels > outputs)
      return pairs(kernels, outputs, inputs, kernel_step, output_step, input_step, padding);
    std::int64_t result = 0;
    for (std::int64_t k = 0; k < kernels; ++k) {
      std::int64_t const first = k * kernel_step - padding;  // where output 0 looks, in steps of the dilated input
      if (input_step == 1) {
        std::int64_t const begin = first >= 0 ? 0 : detail::ceil_div(-first, output_step);
        std::int64_t const last = inputs - 1 - first;
        std::int64_t const end = last < 0 ? 0 : detail::smaller(outputs, last / output_step + 1);
        if (end > begin) result += end - begin;
      } else {
        for (std::int64_t o = 0; o < outputs; ++o) {
          std::int64_t const place = first + o * output_step;
          if (place >= 0 && place % input_step == 0 && place / input_step < inputs) ++result;
        }
      }
    }
    return result;
  }
};

}  // namespace stagecraft

namespace stagecraft::tiles {

/// The vertex that computes partial sums: poplin's Plan::Method. Namespace `vertices` has them under the same names.
enum class convolution_vertex : unsigned char {
  conv_partial_1x1,
  conv_partial_nx1,
  conv_partial_slic,
  horizontal_mac,
  vertical_mac,
  outer_product
};

[[nodiscard]] constexpr std::string_view name(convolution_vertex vertex) noexcept {
  switch (vertex) {
    case convolution_vertex::conv_partial_1x1: return "conv_partial_1x1";
    case convolution_vertex::conv_partial_nx1: return "conv_partial_nx1";
    case convolution_vertex::conv_partial_slic: return "conv_partial_slic";
    case convolution_vertex::horizontal_mac: return "horizontal_mac";
    case convolution_vertex::vertical_mac: return "vertical_mac";
    default: return "outer_product";
  }
}

/// The transform of a convolution before it is divided: poplin's ConvTransform.
struct convolution_transform {
  /// Inputs and weights change places, and the output's field and batch its channels.
  bool swap_operands = false;
  bool expand_height = false;  ///< rows of the kernel become input channels; inputs are copied for each
  bool expand_width = false;   ///< so do columns
  bool flatten_field = false;  ///< batch, rows and columns become one row

  friend constexpr bool operator==(convolution_transform const&, convolution_transform const&) = default;
};

/// Into how many parts the dimensions of the transformed convolution are cut: poplin's Partition.
struct convolution_partition {
  int conv_group_split = 1;
  int batch_split = 1;
  field_size field_split;
  field_size kernel_split;
  int out_chan_split = 1;         ///< poplin's outChanSplit.parallel
  int in_chan_split = 1;          ///< poplin's inChanSplit.parallel
  int serial_out_chan_split = 1;  ///< parts that are done one after the other by all tiles
  int serial_in_chan_split = 1;   ///< parts that follow one another and whose results are added up

  friend constexpr bool operator==(convolution_partition const&, convolution_partition const&) = default;

  [[nodiscard]] constexpr std::int64_t tiles() const noexcept {
    return conv_group_split * batch_split * field_split.elements() * reduction_depth() * out_chan_split;
  }
  /// The number of tiles that have partial sums of the same outputs.
  [[nodiscard]] constexpr std::int64_t reduction_depth() const noexcept {
    return in_chan_split * kernel_split.elements();
  }
  [[nodiscard]] constexpr std::int64_t serial_splits() const noexcept {
    return std::int64_t{serial_out_chan_split} * serial_in_chan_split;
  }
};

/// Cycles of a plan by purpose, all serial parts together.
struct convolution_cycles {
  std::int64_t rearrange = 0;          ///< copies and exchanges that lay data out for the plan
  std::int64_t slice = 0;              ///< serial parts: taken from and put into the whole, added up
  std::int64_t exchange_in = 0;        ///< inputs and weights come to the tiles that multiply them
  std::int64_t cast = 0;               ///< conversions of inputs and outputs
  std::int64_t compute = 0;            ///< partial sums
  std::int64_t exchange_partials = 0;  ///< partial sums come to the tiles that add them up
  std::int64_t reduce = 0;             ///< they are added up
  std::int64_t sync = 0;               ///< syncs, one before each exchange

  friend constexpr bool operator==(convolution_cycles const&, convolution_cycles const&) = default;

  [[nodiscard]] constexpr std::int64_t total() const noexcept {
    return rearrange + slice + exchange_in + cast + compute + exchange_partials + reduce + sync;
  }
};

/// The part of the fullest tile in one serial part of the transformed convolution; channels are rounded up to whole
/// groups.
struct convolution_tile {
  std::int64_t conv_groups = 1;
  std::int64_t batch = 1;
  field_size field;
  field_size kernel;
  std::int64_t in_chans = 1;
  std::int64_t out_chans = 1;
  std::int64_t inputs = 0;    ///< elements that it multiplies, wherever they come from
  std::int64_t weights = 0;   ///< weights that it multiplies
  std::int64_t partials = 0;  ///< partial sums

  friend constexpr bool operator==(convolution_tile const&, convolution_tile const&) = default;
};

/// The text of a plan.
using convolution_plan_text = fixed_text<800>;

/// A plan. `plan_convolution` finds the best one.
struct convolution_plan {
  convolution_vertex vertex = convolution_vertex::conv_partial_1x1;
  dtype partials = dtype::float32;
  int conv_units = 0;  ///< units that conv_partial_1x1, conv_partial_nx1 and conv_partial_slic use
  int conv_groups_per_group = 1;
  int in_chans_per_group = 1;
  int out_chans_per_group = 1;
  int filter_height = 1;  ///< kernel rows that conv_partial_nx1 takes at once
  int filter_width = 1;   ///< kernel columns that conv_partial_slic takes at once
  convolution_transform transform;
  convolution_partition partition;
  convolution_tile tile;
  int reduce_stages = 0;
  bool broadcasts_before_loop = false;  ///< inputs of all serial parts are sent once, before the first
  convolution_cycles cycles;
  std::int64_t temporary_bytes = 0;  ///< temporary bytes of the fullest tile
  std::int64_t macs = 0;             ///< convolution_shape::macs
  /// The part of a tile's memory that the plan was allowed, in percent; -1: no plan fits into two whole tiles; 0: the
  /// plan with least memory was asked for.
  int memory_bound_percent = 0;

  friend constexpr bool operator==(convolution_plan const&, convolution_plan const&) = default;

  [[nodiscard]] constexpr std::int64_t tiles_used() const noexcept { return partition.tiles(); }
  [[nodiscard]] constexpr std::int64_t flops() const noexcept { return 2 * macs; }
  /// `macs` divided by those that all tiles of the IPU could do at best with these types, from 0 to 1.
  [[nodiscard]] constexpr double utilisation(ipu_target const& target, dtype input) const noexcept {
    return static_cast<double>(macs) /
           (static_cast<double>(cycles.total()) * target.tiles_per_ipu * target.macs_per_cycle(input, partials));
  }
  [[nodiscard]] constexpr double flops_per_second(ipu_target const& target) const noexcept {
    return static_cast<double>(flops()) / target.seconds(cycles.total());
  }
  /// The plan in words, a line each for the vertex, the division, the cycles and the memory.
  [[nodiscard]] constexpr convolution_plan_text text() const {
    convolution_plan_text out;
    out.append(name(vertex)).append(", ").append(name(partials)).append(" partial sums, groups of ");
    if (conv_groups_per_group > 1) out.append(conv_groups_per_group).append(" x ");
    out.append(in_chans_per_group).append(" x ").append(out_chans_per_group).append(" channels");
    if (filter_height > 1) out.append(" x ").append(filter_height).append(" kernel rows");
    if (filter_width > 1) out.append(" x ").append(filter_width).append(" kernel columns");
    if (transform.swap_operands) out.append(", operands swapped");
    if (transform.expand_width) out.append(transform.expand_height ? ", kernel expanded" : ", kernel width expanded");
    out.append("\nsplits:");
    append_split(out, " conv groups ", partition.conv_group_split);
    append_split(out, " batch ", partition.batch_split);
    append_split(out, " rows ", partition.field_split.height);
    append_split(out, transform.flatten_field ? " field " : " columns ", partition.field_split.width);
    append_split(out, " kernel rows ", partition.kernel_split.height);
    append_split(out, " kernel columns ", partition.kernel_split.width);
    append_split(out, " out channels ", partition.out_chan_split);
    append_split(out, " in channels ", partition.in_chan_split);
    append_split(out, " serial out channels ", partition.serial_out_chan_split);
    append_split(out, " serial in channels ", partition.serial_in_chan_split);
    out.append(" = ").append(static_cast<long long>(tiles_used())).append(" tiles\ncycles: ");
    out.append(static_cast<long long>(cycles.total())).append(" =");
    append_cycles(out, " rearrange ", cycles.rearrange);
    append_cycles(out, " slice ", cycles.slice);
    append_cycles(out, " exchange in ", cycles.exchange_in);
    append_cycles(out, " cast ", cycles.cast);
    append_cycles(out, " compute ", cycles.compute);
    append_cycles(out, " exchange partials ", cycles.exchange_partials);
    append_cycles(out, " reduce ", cycles.reduce);
    append_cycles(out, " sync ", cycles.sync);
    out.append("\ntemporary bytes per tile: ").append(static_cast<long long>(temporary_bytes)).append("\n");
    return out;
  }

 private:
  static constexpr void append_split(convolution_plan_text& out, std::string_view what, long long count) {
    if (count > 1) out.append(what).append(count);
  }
  static constexpr void append_cycles(convolution_plan_text& out, std::string_view what, long long count) {
    if (count > 0) out.append(what).append(count);
  }
};

}  // namespace stagecraft::tiles
