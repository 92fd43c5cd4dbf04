// SPDX-License-Identifier: BSD-3-Clause
// The distinct convolutions of Keras's ResNet50 at 224 x 224 pixels, batch 4. For tests.
#pragma once

#include <stagecraft/ipu/convolution/convolution_plan.hpp>
#include <array>
#include <cstdint>

namespace plan_tests {

/// Kernel and field are square; padding is Keras's "same".
constexpr stagecraft::convolution_shape square_convolution(stagecraft::dtype type, std::int64_t batch,
                                                           std::int64_t size, std::int64_t in, std::int64_t out,
                                                           std::int64_t kernel, std::int64_t stride,
                                                           std::int64_t groups = 1) {
  stagecraft::convolution_shape shape;
  shape.input = shape.output = type;
  shape.batch_size = batch;
  shape.num_conv_groups = groups;
  shape.input_channels_per_conv_group = in / groups;
  shape.output_channels_per_conv_group = out / groups;
  std::int64_t const outputs = (size + stride - 1) / stride;
  std::int64_t const padding = (outputs - 1) * stride + kernel - size;
  shape.input_field = {.height = size, .width = size};
  shape.kernel = {.height = kernel, .width = kernel};
  shape.output_field = {.height = outputs, .width = outputs};
  shape.stride = {.height = stride, .width = stride};
  if (padding > 0) shape.padding_lower = {.height = padding / 2, .width = padding / 2};
  return shape;
}

struct resnet50_layer {
  int size, in, out, kernel, stride;
};
inline constexpr std::array<resnet50_layer, 20> resnet50_layers{{
    {224, 3, 64, 7, 2},    {56, 64, 64, 1, 1},   {56, 64, 64, 3, 1},    {56, 64, 256, 1, 1},    {56, 256, 64, 1, 1},
    {56, 256, 128, 1, 2},  {28, 128, 128, 3, 1}, {28, 128, 512, 1, 1},  {56, 256, 512, 1, 2},   {28, 512, 128, 1, 1},
    {28, 512, 256, 1, 2},  {14, 256, 256, 3, 1}, {14, 256, 1024, 1, 1}, {28, 512, 1024, 1, 2},  {14, 1024, 256, 1, 1},
    {14, 1024, 512, 1, 2}, {7, 512, 512, 3, 1},  {7, 512, 2048, 1, 1},  {14, 1024, 2048, 1, 2}, {7, 2048, 512, 1, 1},
}};
constexpr stagecraft::convolution_shape resnet50_convolution(resnet50_layer const& layer, stagecraft::dtype type) {
  return square_convolution(type, 4, layer.size, layer.in, layer.out, layer.kernel, layer.stride);
}

}  // namespace plan_tests
