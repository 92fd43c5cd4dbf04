// SPDX-License-Identifier: BSD-3-Clause
// Convolutions, forward and both gradients, beside oneDNN's. One thread. Names: <product>/<input>-<kernel>[options]/
// batch:<size>/<library>; counter: floating-point operations per second.
#include <stagecraft/kernels/convolution/byte_convolution.hpp>
#include <stagecraft/kernels/convolution/convolution.hpp>
#include <stagecraft/kernels/convolution/convolution_filter_gradient.hpp>
#include <stagecraft/kernels/convolution/convolution_input_gradient.hpp>
#include <stagecraft/kernels/convolution/depthwise_convolution.hpp>
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "aligned_floats.hpp"
#include "machine_benchmark.hpp"
#if defined(STAGECRAFT_BENCHMARK_ONEDNN)
#include "convolution_onednn.hpp"
#endif

namespace {

namespace kernels = stagecraft::kernels;
using namespace stagecraft::benchmarks;
using kernels::convolution_shape;

std::string name_of(convolution_shape const& shape) {
  auto const by = [](int a, int b) { return std::to_string(a) + "x" + std::to_string(b); };
  std::string name = by(shape.height, shape.width) + "x" + std::to_string(shape.channels) + "-" +
                     by(shape.kernel_height, shape.kernel_width);
  if (shape.groups == 1) name += "x" + std::to_string(shape.filters);
  if (shape.stride_height > 1) name += " stride " + std::to_string(shape.stride_height);
  if (shape.has_padding()) name += " same";
  return name;
}

template <int Batch, convolution_shape Shape>
struct operands {
  aligned_floats x{static_cast<std::size_t>(Batch) * Shape.input_size()};
  aligned_floats w{static_cast<std::size_t>(kernels::filter_floats<Shape>)};
  aligned_floats y{static_cast<std::size_t>(Batch) * Shape.output_size()};
  aligned_floats workspace{static_cast<std::size_t>(
      Shape.groups == 1 ? kernels::convolution_workspace<Shape> + kernels::convolution_input_gradient_workspace<Shape> +
                              kernels::convolution_filter_gradient_workspace<Shape>
                        : kernels::depthwise_convolution_workspace<Shape> +
                              kernels::depthwise_convolution_input_gradient_workspace<Shape> +
                              kernels::depthwise_convolution_filter_gradient_workspace<Shape>)};
};

template <int Batch, convolution_shape Shape, class Body>
void add(std::string const& product, std::string const& library, Body const& body) {
  std::string const name = product + "/" + name_of(Shape) + "/batch:" + std::to_string(Batch) + "/" + library;
  benchmark::RegisterBenchmark(name.c_str(), [body](benchmark::State& state) {
    operands<Batch, Shape> buffers;
    auto run = body(buffers);
    for (auto _ : state) {
      run();
      benchmark::ClobberMemory();
    }
    count_operations(state, 1.0 * Batch * Shape.flops(),
                     4.0 * (1.0 * Batch * Shape.input_size() + 1.0 * Shape.steps() * Shape.filters),
                     4.0 * Batch * Shape.output_size());
  });
}

#if defined(STAGECRAFT_BENCHMARK_ONEDNN)
template <int Batch, convolution_shape Shape>
void add_onednn(std::string const& name, onednn_convolution::product product) {
  add<Batch, Shape>(name, "onednn", [product](auto&) { return onednn_convolution(product, Batch, Shape); });
}
#endif

template <int Batch, convolution_shape Shape>
void add_forward() {
  if constexpr (Shape.groups == 1)
    add<Batch, Shape>("conv2d", "stagecraft", [](auto& b) {
      return [x = b.x.data(), w = b.w.data(), y = b.y.data(), workspace = b.workspace.data()] {
        kernels::convolution<Batch, Shape>(x, w, workspace, y);
      };
    });
  else
    add<Batch, Shape>("depthwise_conv2d", "stagecraft", [](auto& b) {
      return [x = b.x.data(), w = b.w.data(), y = b.y.data(), workspace = b.workspace.data()] {
        kernels::depthwise_convolution<Batch, Shape>(x, w, workspace, y);
      };
    });
#if defined(STAGECRAFT_BENCHMARK_ONEDNN)
  add_onednn<Batch, Shape>(Shape.groups == 1 ? "conv2d" : "depthwise_conv2d", onednn_convolution::product::forward);
#endif
}

/// Whole numbers of 8 bits, which are floats in memory before and after: beside the rows of floats.
template <int Batch, convolution_shape Shape>
void add_bytes() {
  add<Batch, Shape>("conv2d_of_bytes", "stagecraft", [](auto& b) {
    constexpr int shift = 128;
    auto const filter = std::make_shared<aligned_floats>(static_cast<std::size_t>(kernels::byte_filter_floats<Shape>)),
               bytes = std::make_shared<aligned_floats>(
                   static_cast<std::size_t>(kernels::byte_picture_floats<Batch, Shape>));
    kernels::pack_byte_filter<Shape>(b.w.data(), nullptr, shift, filter->data());
    return [x = b.x.data(), y = b.y.data(), filter, bytes] {
      auto* const to = reinterpret_cast<std::uint8_t*>(bytes->data());
      kernels::picture_to_bytes<Batch, Shape>(x, shift, to);
      kernels::convolution_of_bytes<Batch, Shape>(to, filter->data(), y);
    };
  });
}

template <int Batch, convolution_shape Shape>
void add_gradients() {
  std::string const layer = Shape.groups == 1 ? "conv2d" : "depthwise_conv2d";
  add<Batch, Shape>(layer + "_input_gradient", "stagecraft", [](auto& b) {
    return [x = b.x.data(), w = b.w.data(), y = b.y.data(), workspace = b.workspace.data()] {
      if constexpr (Shape.groups == 1)
        kernels::convolution_input_gradient<Batch, Shape>(y, w, workspace, x);
      else
        kernels::depthwise_convolution_input_gradient<Batch, Shape>(y, w, workspace, x);
    };
  });
  add<Batch, Shape>(layer + "_filter_gradient", "stagecraft", [](auto& b) {
    return [x = b.x.data(), w = b.w.data(), y = b.y.data(), workspace = b.workspace.data()] {
      if constexpr (Shape.groups == 1)
        kernels::convolution_filter_gradient<Batch, Shape>(x, y, workspace, w);
      else
        kernels::depthwise_convolution_filter_gradient<Batch, Shape>(x, y, workspace, w);
    };
  });
#if defined(STAGECRAFT_BENCHMARK_ONEDNN)
  add_onednn<Batch, Shape>(layer + "_input_gradient", onednn_convolution::product::input_gradient);
  add_onednn<Batch, Shape>(layer + "_filter_gradient", onednn_convolution::product::filter_gradient);
#endif
}

// Those of the small network, and shapes of larger ones.
constexpr convolution_shape first{
    .height = 28, .width = 28, .channels = 1, .filters = 32, .kernel_height = 3, .kernel_width = 3};
constexpr convolution_shape second{
    .height = 26, .width = 26, .channels = 32, .filters = 64, .kernel_height = 3, .kernel_width = 3};
constexpr convolution_shape same{.height = 28,
                                 .width = 28,
                                 .channels = 64,
                                 .filters = 64,
                                 .kernel_height = 3,
                                 .kernel_width = 3,
                                 .top = 1,
                                 .left = 1,
                                 .bottom = 1,
                                 .right = 1};
constexpr convolution_shape strided{.height = 28,
                                    .width = 28,
                                    .channels = 64,
                                    .filters = 128,
                                    .kernel_height = 3,
                                    .kernel_width = 3,
                                    .stride_height = 2,
                                    .stride_width = 2,
                                    .bottom = 1,
                                    .right = 1};
constexpr convolution_shape pointwise{.height = 14, .width = 14, .channels = 256, .filters = 64};
constexpr convolution_shape depthwise{.height = 28,
                                      .width = 28,
                                      .channels = 64,
                                      .filters = 64,
                                      .kernel_height = 3,
                                      .kernel_width = 3,
                                      .groups = 64,
                                      .top = 1,
                                      .left = 1,
                                      .bottom = 1,
                                      .right = 1};

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  add_limits();
  add_forward<1, first>();
  add_forward<1, second>();
  add_forward<32, first>();
  add_forward<32, second>();
  add_gradients<32, second>();
  add_forward<8, same>();
  add_gradients<8, same>();
  add_bytes<8, same>();
  add_forward<8, strided>();
  add_forward<8, pointwise>();
  add_bytes<8, pointwise>();
  add_forward<8, depthwise>();
  add_gradients<8, depthwise>();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
