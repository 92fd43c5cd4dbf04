// SPDX-License-Identifier: BSD-3-Clause
// The products of dense layers, forward and both gradients, beside Eigen's and OpenBLAS's, and the limit of the core.
// One thread. Counter: floating-point operations per second.
//   taskset -c 0 env -u OPENBLAS_CORETYPE matmul_benchmark --benchmark_enable_random_interleaving=true
//       --benchmark_repetitions=5 --benchmark_report_aggregates_only=true
#include <stagecraft/kernels/matmul_gradient.hpp>
#include <benchmark/benchmark.h>

#include <Eigen/Core>
#include <string>

#include "aligned_floats.hpp"
#include "fma_peak.hpp"
#if defined(STAGECRAFT_BENCHMARK_OPENBLAS)
#include <cblas.h>
#endif

namespace {

namespace kernels = stagecraft::kernels;
using stagecraft::benchmarks::aligned_floats;
using row_major = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using view = Eigen::Map<row_major, Eigen::Aligned64>;
using vector_view = Eigen::Map<Eigen::RowVectorXf, Eigen::Aligned64>;

void count_operations(benchmark::State& state, double operations) {
  state.counters["FLOP/s"] = benchmark::Counter(operations, benchmark::Counter::kIsIterationInvariantRate);
}

void fma_peak(benchmark::State& state) {
  constexpr std::int64_t steps = 100'000;
  for (auto _ : state) benchmark::DoNotOptimize(stagecraft::benchmarks::multiply_add_chains(steps));
  count_operations(state, stagecraft::benchmarks::multiply_add_operations(steps));
}

/// The operands of a layer with M samples, K inputs and N units.
template <int M, int K, int N>
struct operands {
  aligned_floats x{M * K};
  aligned_floats w{kernels::packed_matrix<K, N>::size};
  aligned_floats y{M * N};
  aligned_floats workspace{kernels::input_gradient_workspace<K, N>};
};

template <int M, int K, int N, class Body>
void run(benchmark::State& state, Body const& body) {
  operands<M, K, N> buffers;
  for (auto _ : state) {
    body(buffers.x.data(), buffers.w.data(), buffers.y.data(), buffers.workspace.data());
    benchmark::ClobberMemory();
  }
  count_operations(state, 2.0 * M * K * N);
}

template <class Body>
void add(std::string const& name, Body const& body) {
  benchmark::RegisterBenchmark(name.c_str(), body);
}

template <int M, int K, int N>
void add_shape(bool gradients) {
  std::string const shape = std::to_string(M) + "x" + std::to_string(K) + "x" + std::to_string(N);

  add("forward/" + shape + "/stagecraft", [](benchmark::State& state) {
    run<M, K, N>(state, [](float* x, float* w, float* y, float*) { kernels::matmul<M, K, N>(x, w, y); });
  });
  add("forward/" + shape + "/eigen", [](benchmark::State& state) {
    run<M, K, N>(state, [](float* x, float* w, float* y, float*) {
      if constexpr (M == 1)
        vector_view(y, N).noalias() = vector_view(x, K) * view(w, K, N);
      else
        view(y, M, N).noalias() = view(x, M, K) * view(w, K, N);
    });
  });
#if defined(STAGECRAFT_BENCHMARK_OPENBLAS)
  add("forward/" + shape + "/openblas", [](benchmark::State& state) {
    run<M, K, N>(state, [](float* x, float* w, float* y, float*) {
      if constexpr (M == 1)
        cblas_sgemv(CblasRowMajor, CblasTrans, K, N, 1.0F, w, N, x, 1, 0.0F, y, 1);
      else
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, M, N, K, 1.0F, x, K, w, N, 0.0F, y, N);
    });
  });
#endif
  if (!gradients) return;

  add("weight_gradient/" + shape + "/stagecraft", [](benchmark::State& state) {
    run<M, K, N>(state,
                 [](float* x, float* w, float* y, float*) { kernels::matmul_weight_gradient<M, K, N>(x, y, w); });
  });
  add("weight_gradient/" + shape + "/eigen", [](benchmark::State& state) {
    run<M, K, N>(state, [](float* x, float* w, float* y, float*) {
      view(w, K, N).noalias() = view(x, M, K).transpose() * view(y, M, N);
    });
  });
  add("input_gradient/" + shape + "/stagecraft", [](benchmark::State& state) {
    run<M, K, N>(state, [](float* x, float* w, float* y, float* workspace) {
      kernels::matmul_input_gradient<M, K, N>(y, w, workspace, x);
    });
  });
  add("input_gradient/" + shape + "/eigen", [](benchmark::State& state) {
    run<M, K, N>(state, [](float* x, float* w, float* y, float*) {
      view(x, M, K).noalias() = view(y, M, N) * view(w, K, N).transpose();
    });
  });
#if defined(STAGECRAFT_BENCHMARK_OPENBLAS)
  add("weight_gradient/" + shape + "/openblas", [](benchmark::State& state) {
    run<M, K, N>(state, [](float* x, float* w, float* y, float*) {
      cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, K, N, M, 1.0F, x, K, y, N, 0.0F, w, N);
    });
  });
  add("input_gradient/" + shape + "/openblas", [](benchmark::State& state) {
    run<M, K, N>(state, [](float* x, float* w, float* y, float*) {
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, M, K, N, 1.0F, y, N, w, N, 0.0F, x, K);
    });
  });
#endif
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  Eigen::setNbThreads(1);
#if defined(STAGECRAFT_BENCHMARK_OPENBLAS)
  openblas_set_num_threads(1);
  benchmark::AddCustomContext("openblas kernels", openblas_get_corename());
#endif
  benchmark::AddCustomContext("floats in a register", std::to_string(kernels::lanes<>));

  add("fma_peak", fma_peak);
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
  add_shape<1, 784, 256>(false);
  add_shape<1, 256, 128>(false);

  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
