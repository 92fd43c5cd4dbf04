// SPDX-License-Identifier: BSD-3-Clause
// The peer: oneDNN's convolution, forward and both gradients, each operand in the format of the primitive's choice.
// Packing and reordering are not part of what is measured.
#pragma once

#include <stagecraft/kernels/convolution/convolution_shape.hpp>
#include <cstddef>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

namespace stagecraft::benchmarks {

/// One primitive with memory of its own; to be called again and again.
class onednn_convolution {
 public:
  enum class product { forward, input_gradient, filter_gradient };

  /// `type` is that of the operands; what is summed is f32.
  onednn_convolution(product wanted, int batch, kernels::convolution_shape const& shape,
                     dnnl::memory::data_type type = dnnl::memory::data_type::f32) {
    using namespace dnnl;
    using dims = memory::dims;
    auto const any = [](dims const& extents, memory::data_type of) {
      return memory::desc(extents, of, memory::format_tag::any);
    };
    auto const x = any({batch, shape.channels, shape.height, shape.width}, type);
    auto const y = any({batch, shape.filters, shape.output_height(), shape.output_width()}, type);
    dims w{shape.group_filters(), shape.group_channels(), shape.kernel_height, shape.kernel_width};
    if (shape.groups > 1) w.insert(w.begin(), shape.groups);
    dims const strides{shape.stride_height, shape.stride_width};
    dims const dilation{shape.dilation_height - 1, shape.dilation_width - 1};
    dims const before{shape.top, shape.left}, after{shape.bottom, shape.right};
    auto const algorithm = algorithm::convolution_direct;
    bool const trains = wanted != product::forward;

    convolution_forward::primitive_desc const forward(
        {trains ? prop_kind::forward_training : prop_kind::forward_inference, algorithm, x, any(w, type), y, strides,
         dilation, before, after},
        engine_);
    if (wanted == product::forward) {
      primitive_ = convolution_forward(forward);
      arguments_ = {{DNNL_ARG_SRC, filled(forward.src_desc())},
                    {DNNL_ARG_WEIGHTS, filled(forward.weights_desc())},
                    {DNNL_ARG_DST, filled(forward.dst_desc())}};
    } else if (wanted == product::input_gradient) {
      convolution_backward_data::primitive_desc const backward(
          {algorithm, x, any(w, type), y, strides, dilation, before, after}, engine_, forward);
      primitive_ = convolution_backward_data(backward);
      arguments_ = {{DNNL_ARG_DIFF_DST, filled(backward.diff_dst_desc())},
                    {DNNL_ARG_WEIGHTS, filled(backward.weights_desc())},
                    {DNNL_ARG_DIFF_SRC, filled(backward.diff_src_desc())}};
    } else {
      convolution_backward_weights::primitive_desc const backward(
          {algorithm, x, any(w, type), y, strides, dilation, before, after}, engine_, forward);
      primitive_ = convolution_backward_weights(backward);
      arguments_ = {{DNNL_ARG_SRC, filled(backward.src_desc())},
                    {DNNL_ARG_DIFF_DST, filled(backward.diff_dst_desc())},
                    {DNNL_ARG_DIFF_WEIGHTS, filled(backward.diff_weights_desc())}};
    }
  }

  void operator()() {
    primitive_.execute(stream_, arguments_);
    stream_.wait();
  }

 private:
  dnnl::memory filled(dnnl::memory::desc const& desc) {
    dnnl::memory memory(desc, engine_);
    auto* const values = static_cast<float*>(memory.get_data_handle());
    for (std::size_t i = 0; i < desc.get_size() / sizeof(float); ++i)
      values[i] = static_cast<float>(i % 7) * 0.125F - 0.375F;
    return memory;
  }

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  dnnl::primitive primitive_;
  std::unordered_map<int, dnnl::memory> arguments_;
};

}  // namespace stagecraft::benchmarks
