// SPDX-License-Identifier: BSD-3-Clause
// The vertex that computes partial sums of a convolution or matrix product, whatever its plan calls it.
#pragma once

#include <stagecraft/ipu/convolution/convolution_division.hpp>
#include <stagecraft/ipu/tiles/codelets/convolution_operand.hpp>
#include <stagecraft/ipu/tiles/tile_view.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stagecraft::tiles {

/// Which operands of a vertex are elements of a tensor; the others are zeros that only fill up.
struct convolution_real_elements {
  std::vector<char> inputs, weights;
};

/// Computes a tile's partial sums from its boxes of operands. Gives the number of products, of real elements only.
inline std::int64_t multiply_convolution_part(convolution_division const& division, convolution_part const& part,
                                              convolution_operand const& inputs, convolution_operand const& weights,
                                              tile_view const& partials, convolution_real_elements const& real) {
  auto const& view = division.view;
  auto const values_of = [](convolution_operand const& from) {
    std::vector<float> values(from.size());
    for (std::int64_t i = 0; i < from.size(); ++i) values[i] = from[i];
    return values;
  };
  auto const x = values_of(inputs), w = values_of(weights);
  bool const is_empty = x.empty() || w.empty();
  auto const box = is_empty ? convolution_division::input_box{} : division.inputs_of(part);
  field_size const padding = division.padding();
  // The input that an output meets with a kernel element, or -1.
  auto const meeting = [](std::int64_t output, std::int64_t stride, std::int64_t kernel, std::int64_t kernel_dilation,
                          std::int64_t zeros, std::int64_t dilation, std::int64_t inputs_there) -> std::int64_t {
    std::int64_t const place = output * stride + kernel * kernel_dilation - zeros;
    return place < 0 || place % dilation != 0 || place / dilation >= inputs_there ? -1 : place / dilation;
  };
  std::int64_t const channels = part.in_chans.size(), outs = part.out_chans.size();
  std::int64_t products = 0, index = 0;
  std::vector<double> sums(outs);
  for (std::int64_t g = 0; g < part.conv_groups.size(); ++g)
    for (std::int64_t b = 0; b < part.batch.size(); ++b)
      for (auto row = part.rows.first; row < part.rows.last; ++row)
        for (auto column = part.columns.first; column < part.columns.last; ++column) {
          sums.assign(sums.size(), 0.0);
          for (std::int64_t ky = 0; !is_empty && ky < part.kernel_rows.size(); ++ky) {
            auto const in_row =
                meeting(row, view.stride.height, part.kernel_rows.first + ky, view.kernel_dilation.height,
                        padding.height, view.input_dilation.height, view.input_field.height);
            // Rows that only fill up a kernel may look beyond what was received.
            if (in_row < box.rows.first || in_row >= box.rows.last) continue;
            for (std::int64_t kx = 0; kx < part.kernel_columns.size(); ++kx) {
              auto const in_column =
                  meeting(column, view.stride.width, part.kernel_columns.first + kx, view.kernel_dilation.width,
                          padding.width, view.input_dilation.width, view.input_field.width);
              if (in_column < box.columns.first || in_column >= box.columns.last) continue;
              std::int64_t const from =
                  (((g * part.batch.size() + b) * box.rows.size() + in_row - box.rows.first) * box.columns.size() +
                   in_column - box.columns.first) *
                  channels;
              std::int64_t const with =
                  ((g * part.kernel_rows.size() + ky) * part.kernel_columns.size() + kx) * channels * outs;
              for (std::int64_t c = 0; c < channels; ++c) {
                auto const i = static_cast<std::size_t>(from + c);
                for (std::int64_t o = 0; o < outs; ++o) {
                  auto const k = static_cast<std::size_t>(with + c * outs + o);
                  sums[o] += static_cast<double>(x[i]) * static_cast<double>(w[k]);
                  products += real.inputs[i] & real.weights[k];
                }
              }
            }
          }
          for (double const sum : sums) partials.set(index++, static_cast<float>(sum));
        }
  return products;
}

}  // namespace stagecraft::tiles
