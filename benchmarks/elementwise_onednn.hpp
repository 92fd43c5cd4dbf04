// SPDX-License-Identifier: BSD-3-Clause
// Elementwise functions, softmax, layer normalization and reductions of oneDNN on raw pointers, for comparison.
#pragma once

#include <dnnl.hpp>

#include <cstdint>
#include <unordered_map>

namespace stagecraft::benchmarks::onednn {

/// A primitive with its memory, made once; `run` executes it and waits.
class runner {
 public:
  runner(dnnl::engine const& engine, dnnl::primitive const& primitive,
         std::unordered_map<int, dnnl::memory> const& arguments)
      : stream_(engine), primitive_(primitive), arguments_(arguments) {}

  void run() {
    primitive_.execute(stream_, arguments_);
    stream_.wait();
  }

 private:
  dnnl::stream stream_;
  dnnl::primitive primitive_;
  std::unordered_map<int, dnnl::memory> arguments_;
};

inline dnnl::engine const& engine() {
  static dnnl::engine const result(dnnl::engine::kind::cpu, 0);
  return result;
}

inline dnnl::memory::desc matrix(std::int64_t rows, std::int64_t columns) {
  return {{rows, columns}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::ab};
}

inline runner elementwise(dnnl::algorithm algorithm, float* x, float* y, std::int64_t n) {
  auto const shape = matrix(1, n);
  dnnl::eltwise_forward::primitive_desc const description(
      {dnnl::prop_kind::forward_inference, algorithm, shape, 0.0F, 0.0F}, engine());
  return {engine(),
          dnnl::eltwise_forward(description),
          {{DNNL_ARG_SRC, {shape, engine(), x}}, {DNNL_ARG_DST, {shape, engine(), y}}}};
}

inline runner softmax(float* x, float* y, std::int64_t rows, std::int64_t columns) {
  auto const shape = matrix(rows, columns);
  dnnl::softmax_forward::primitive_desc const description({dnnl::prop_kind::forward_inference, shape, 1}, engine());
  return {engine(),
          dnnl::softmax_forward(description),
          {{DNNL_ARG_SRC, {shape, engine(), x}}, {DNNL_ARG_DST, {shape, engine(), y}}}};
}

/// Softmax's gradient: y is the result of the forward pass.
inline runner softmax_gradient(float* y, float* dy, float* dx, std::int64_t rows, std::int64_t columns) {
  auto const shape = matrix(rows, columns);
  dnnl::softmax_forward::primitive_desc const forward({dnnl::prop_kind::forward_training, shape, 1}, engine());
  dnnl::softmax_backward::primitive_desc const description({shape, shape, 1}, engine(), forward);
  return {engine(),
          dnnl::softmax_backward(description),
          {{DNNL_ARG_DST, {shape, engine(), y}},
           {DNNL_ARG_DIFF_DST, {shape, engine(), dy}},
           {DNNL_ARG_DIFF_SRC, {shape, engine(), dx}}}};
}

inline runner layer_normalization(float* x, float* gamma, float* beta, float* y, std::int64_t rows,
                                  std::int64_t columns) {
  auto const shape = matrix(rows, columns);
  dnnl::memory::desc const scale({columns}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::a);
  dnnl::layer_normalization_forward::primitive_desc const description(
      {dnnl::prop_kind::forward_inference, shape, 1e-3F,
       dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift},
      engine());
  return {engine(),
          dnnl::layer_normalization_forward(description),
          {{DNNL_ARG_SRC, {shape, engine(), x}},
           {DNNL_ARG_DST, {shape, engine(), y}},
           {DNNL_ARG_SCALE, {scale, engine(), gamma}},
           {DNNL_ARG_SHIFT, {scale, engine(), beta}}}};
}

/// y[0] = the sum of x.
inline runner sum(float* x, float* y, std::int64_t n) {
  auto const from = matrix(1, n);
  auto const to = matrix(1, 1);
  dnnl::reduction::primitive_desc const description({dnnl::algorithm::reduction_sum, from, to, 0.0F, 0.0F}, engine());
  return {
      engine(), dnnl::reduction(description), {{DNNL_ARG_SRC, {from, engine(), x}}, {DNNL_ARG_DST, {to, engine(), y}}}};
}

}  // namespace stagecraft::benchmarks::onednn
