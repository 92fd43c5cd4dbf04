// SPDX-License-Identifier: BSD-3-Clause
// The products of a dense layer by Eigen, OpenBLAS and oneDNN: x (samples, inputs), w (inputs, units), y (samples,
// units), all row-major. `forward` gives y, `weight_gradient` w, `input_gradient` x.
#pragma once

#if defined(STAGECRAFT_BENCHMARK_EIGEN)
#include <Eigen/Core>
#endif
#if defined(STAGECRAFT_BENCHMARK_ONEDNN)
#include <oneapi/dnnl/dnnl.hpp>

#include <unordered_map>
#endif

#include "gemm_libraries.hpp"

namespace stagecraft::benchmarks {

#if defined(STAGECRAFT_BENCHMARK_EIGEN)
template <int M, int K, int N>
struct eigen_products {
  using row_major = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using view = Eigen::Map<row_major, Eigen::Aligned64>;
  using row_view = Eigen::Map<Eigen::RowVectorXf, Eigen::Aligned64>;

  static void forward(float* x, float* w, float* y) {
    if constexpr (M == 1)
      row_view(y, N).noalias() = row_view(x, K) * view(w, K, N);
    else
      view(y, M, N).noalias() = view(x, M, K) * view(w, K, N);
  }
  static void weight_gradient(float* x, float* w, float* y) {
    view(w, K, N).noalias() = view(x, M, K).transpose() * view(y, M, N);
  }
  static void input_gradient(float* x, float* w, float* y) {
    view(x, M, K).noalias() = view(y, M, N) * view(w, K, N).transpose();
  }
};
#endif

/// By a library of gemm_libraries.hpp.
template <class Library, int M, int K, int N>
struct gemm_products {
  static void forward(float* x, float* w, float* y) {
    if constexpr (M == 1) {
      for (int i = 0; i < N; ++i) y[i] = 0;
      Library::multiply_row(K, N, x, w, y);
    } else {
      Library::multiply(false, false, M, N, K, x, K, w, N, 0.0F, y);
    }
  }
  static void weight_gradient(float* x, float* w, float* y) {
    Library::multiply(true, false, K, N, M, x, K, y, N, 0.0F, w);
  }
  static void input_gradient(float* x, float* w, float* y) {
    Library::multiply(false, true, M, K, N, y, N, w, N, 0.0F, x);
  }
};

#if defined(STAGECRAFT_BENCHMARK_ONEDNN)
/// oneDNN's primitive, with the weights in the packed format of its choice; packing is not part of the product.
class onednn_matmul {
 public:
  onednn_matmul(int m, int k, int n, float* x, float* y) {
    using namespace dnnl;
    memory::desc const from({m, k}, memory::data_type::f32, memory::format_tag::ab);
    memory::desc const weights({k, n}, memory::data_type::f32, memory::format_tag::any);
    memory::desc const to({m, n}, memory::data_type::f32, memory::format_tag::ab);
    matmul::primitive_desc const description({from, weights, to}, engine_);
    memory packed(description.weights_desc(), engine_);
    auto* const first = static_cast<float*>(packed.get_data_handle());
    for (std::size_t i = 0; i < packed.get_desc().get_size() / sizeof(float); ++i) first[i] = 0.125F;
    primitive_ = matmul(description);
    arguments_ = {{DNNL_ARG_SRC, {from, engine_, x}}, {DNNL_ARG_WEIGHTS, packed}, {DNNL_ARG_DST, {to, engine_, y}}};
  }
  void operator()() {
    primitive_.execute(stream_, arguments_);
    stream_.wait();
  }

 private:
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  dnnl::primitive primitive_;
  std::unordered_map<int, dnnl::memory> arguments_;
};
#endif

}  // namespace stagecraft::benchmarks
