// SPDX-License-Identifier: BSD-3-Clause
// Convolutions and their gradients as plain loops, summed in double precision: what the fast ones are tested against.
#pragma once

#include <stagecraft/kernels/convolution/convolution_shape.hpp>

namespace stagecraft::kernels::reference {

namespace detail {

/// Calls product(element of x, element of w, element of y) for every product of the convolution of `batch` samples.
/// w is row-major: (kernel_height, kernel_width, channels / groups, filters).
template <class Product>
void for_each_product(int batch, convolution_shape const& shape, Product const& product) {
  for (int sample = 0; sample < batch; ++sample)
    for (int oh = 0; oh < shape.output_height(); ++oh)
      for (int ow = 0; ow < shape.output_width(); ++ow)
        for (int filter = 0; filter < shape.filters; ++filter)
          for (int kh = 0; kh < shape.kernel_height; ++kh)
            for (int kw = 0; kw < shape.kernel_width; ++kw) {
              int const h = oh * shape.stride_height + kh * shape.dilation_height - shape.top;
              int const w = ow * shape.stride_width + kw * shape.dilation_width - shape.left;
              if (h < 0 || h >= shape.height || w < 0 || w >= shape.width) continue;
              int const first_channel = filter / shape.group_filters() * shape.group_channels();
              for (int channel = 0; channel < shape.group_channels(); ++channel)
                product(((sample * shape.height + h) * shape.width + w) * shape.channels + first_channel + channel,
                        ((kh * shape.kernel_width + kw) * shape.group_channels() + channel) * shape.filters + filter,
                        ((sample * shape.output_height() + oh) * shape.output_width() + ow) * shape.filters + filter);
            }
}

/// A sum in double precision for each of `size` elements.
class sums {
 public:
  explicit sums(int size) : size_(size), sum_(new double[static_cast<unsigned>(size)]()) {}
  ~sums() { delete[] sum_; }
  sums(sums const&) = delete;
  sums& operator=(sums const&) = delete;

  double& operator[](int element) { return sum_[element]; }
  void store(float* to) const {
    for (int i = 0; i < size_; ++i) to[i] = static_cast<float>(sum_[i]);
  }

 private:
  int size_;
  double* sum_;
};

}  // namespace detail

/// y = the convolution of x with w. w: (kernel_height, kernel_width, channels / groups, filters), row by row.
inline void convolution(int batch, convolution_shape const& shape, float const* x, float const* w, float* y) {
  detail::sums sum(batch * shape.output_size());
  detail::for_each_product(batch, shape,
                           [&](int in, int weight, int out) { sum[out] += static_cast<double>(x[in]) * w[weight]; });
  sum.store(y);
}

/// dx = what dy means for x.
inline void convolution_input_gradient(int batch, convolution_shape const& shape, float const* dy, float const* w,
                                       float* dx) {
  detail::sums sum(batch * shape.input_size());
  detail::for_each_product(batch, shape,
                           [&](int in, int weight, int out) { sum[in] += static_cast<double>(dy[out]) * w[weight]; });
  sum.store(dx);
}

/// dw = what dy means for w, laid out as w.
inline void convolution_filter_gradient(int batch, convolution_shape const& shape, float const* x, float const* dy,
                                        float* dw) {
  detail::sums sum(shape.steps() * shape.filters);
  detail::for_each_product(batch, shape,
                           [&](int in, int weight, int out) { sum[weight] += static_cast<double>(x[in]) * dy[out]; });
  sum.store(dw);
}

}  // namespace stagecraft::kernels::reference
