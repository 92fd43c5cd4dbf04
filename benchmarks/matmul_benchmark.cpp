// SPDX-License-Identifier: BSD-3-Clause
// The products of dense layers, forward and both gradients, beside Eigen's, OpenBLAS's and oneDNN's, and the limit of
// the core. One thread. Names: <product>/<samples>x<inputs>x<units>/<library>; counter: floating-point operations per
// second.
#include <stagecraft/kernels/product/matmul_gradient.hpp>
#include <benchmark/benchmark.h>

#include <string>

#include "aligned_floats.hpp"
#include "machine_benchmark.hpp"
#include "matmul_peers.hpp"

namespace {

namespace kernels = stagecraft::kernels;
using namespace stagecraft::benchmarks;

/// The operands of a layer with M samples, K inputs and N units.
template <int M, int K, int N>
struct operands {
  aligned_floats x{M * K};
  aligned_floats w{kernels::packed_matrix<K, N>::size};
  aligned_floats y{M * N};
  aligned_floats workspace{kernels::input_gradient_workspace<K, N>};
};

/// Runs what `prepare` gives for the operands.
template <int M, int K, int N, class Prepare>
void add(std::string const& product, std::string const& library, Prepare const& prepare) {
  std::string const shape = std::to_string(M) + "x" + std::to_string(K) + "x" + std::to_string(N);
  benchmark::RegisterBenchmark((product + "/" + shape + "/" + library).c_str(), [prepare](benchmark::State& state) {
    operands<M, K, N> buffers;
    auto body = prepare(buffers);
    for (auto _ : state) {
      body();
      benchmark::ClobberMemory();
    }
    count_operations(state, 2.0 * M * K * N, 4.0 * (M * K + K * N), 4.0 * M * N);
  });
}

template <class Products, int M, int K, int N>
void add_products(std::string const& library, bool gradients) {
  using buffers = operands<M, K, N>;
  add<M, K, N>("forward", library, [](buffers& b) {
    return [x = b.x.data(), w = b.w.data(), y = b.y.data()] { Products::forward(x, w, y); };
  });
  if (!gradients) return;
  add<M, K, N>("weight_gradient", library, [](buffers& b) {
    return [x = b.x.data(), w = b.w.data(), y = b.y.data()] { Products::weight_gradient(x, w, y); };
  });
  add<M, K, N>("input_gradient", library, [](buffers& b) {
    return [x = b.x.data(), w = b.w.data(), y = b.y.data()] { Products::input_gradient(x, w, y); };
  });
}

template <int M, int K, int N>
void add_shape(bool gradients) {
  using buffers = operands<M, K, N>;
  add<M, K, N>("forward", "stagecraft", [](buffers& b) {
    return [x = b.x.data(), w = b.w.data(), y = b.y.data()] { kernels::matmul<M, K, N>(x, w, y); };
  });
  if (gradients) {
    add<M, K, N>("weight_gradient", "stagecraft", [](buffers& b) {
      return [x = b.x.data(), w = b.w.data(), y = b.y.data()] { kernels::matmul_weight_gradient<M, K, N>(x, y, w); };
    });
    add<M, K, N>("input_gradient", "stagecraft", [](buffers& b) {
      return [x = b.x.data(), w = b.w.data(), y = b.y.data(), workspace = b.workspace.data()] {
        kernels::matmul_input_gradient<M, K, N>(y, w, workspace, x);
      };
    });
  }
#if defined(STAGECRAFT_BENCHMARK_EIGEN)
  add_products<eigen_products<M, K, N>, M, K, N>("eigen", gradients);
#endif
#if defined(STAGECRAFT_BENCHMARK_OPENBLAS)
  add_products<gemm_products<openblas, M, K, N>, M, K, N>("openblas", gradients);
#endif
#if defined(STAGECRAFT_BENCHMARK_ONEDNN)
  add_products<gemm_products<onednn_sgemm, M, K, N>, M, K, N>("onednn_sgemm", gradients);
  add<M, K, N>("forward", "onednn", [](buffers& b) { return onednn_matmul(M, K, N, b.x.data(), b.y.data()); });
#endif
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
#if defined(STAGECRAFT_BENCHMARK_OPENBLAS)
  benchmark::AddCustomContext("openblas kernels", openblas_get_corename());
#endif
  benchmark::AddCustomContext("floats in a register", std::to_string(kernels::lanes<>));

  add_limits();
  add_shape<32, 784, 256>(true);
  add_shape<32, 256, 128>(true);
  add_shape<32, 128, 10>(true);
  add_shape<128, 784, 256>(true);
  add_shape<128, 256, 128>(true);
  add_shape<128, 128, 10>(true);
  add_shape<32, 32, 32>(false);
  add_shape<64, 64, 64>(false);
  add_shape<128, 128, 128>(false);
  add_shape<256, 256, 256>(false);
  add_shape<512, 512, 512>(false);
  add_shape<1024, 1024, 1024>(false);
  add_shape<1, 784, 256>(false);
  add_shape<1, 256, 128>(false);

  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
