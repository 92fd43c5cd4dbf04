// SPDX-License-Identifier: BSD-3-Clause
// Training the perceptron: stagecraft's trainer, its kernels by hand, and the peers by hand, on as many threads as
// OMP_NUM_THREADS says (Eigen and OpenBLAS, which do not gain from a second one here, on one).
#include <benchmark/benchmark.h>

#include "gemm_libraries.hpp"
#include "mlp_gemm.hpp"
#include "mlp_kernels.hpp"
#include "mlp_trainer.hpp"
#include "network_benchmark.hpp"
#if defined(STAGECRAFT_BENCHMARK_EIGEN)
#include "mlp_eigen.hpp"
#endif
#if defined(STAGECRAFT_BENCHMARK_ONEDNN)
#include "mlp_onednn.hpp"
#include "onednn_runner.hpp"
#endif

namespace {

using namespace stagecraft::benchmarks;

template <int Batch, auto Optimizer, optimizer_kind Kind>
void add_programs(network_benchmark& benchmarks, char const* job) {
  benchmarks.add_training<mlp_trainer<Batch, Optimizer>, Batch>(
      job, threads_of_this_run() == 1 ? "stagecraft" : "one_thread");
  if (threads_of_this_run() == 1) {
    benchmarks.add_training<mlp_kernels<Batch, Optimizer>, Batch>(job, "kernels");
#if defined(STAGECRAFT_BENCHMARK_EIGEN)
    benchmarks.add_training<mlp_eigen<Batch, Kind>, Batch>(job, "eigen");
#endif
#if defined(STAGECRAFT_BENCHMARK_OPENBLAS)
    benchmarks.add_training<mlp_gemm<openblas, Batch, Kind>, Batch>(job, "openblas");
#endif
  } else {
    benchmarks.add_training<mlp_trainer<Batch, Optimizer, 2>, Batch>(job, "stagecraft");
  }
#if defined(STAGECRAFT_BENCHMARK_ONEDNN)
  benchmarks.add_training<onednn_training<mlp_onednn, Batch, Kind>, Batch>(job, "onednn");
  benchmarks.add_training<mlp_gemm<onednn_sgemm, Batch, Kind>, Batch>(job, "onednn_sgemm");
#endif
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  network_benchmark benchmarks("mlp", mlp_weights(), mlp_training_operations, mlp_forward_operations);
  constexpr stagecraft::optimizers::sgd sgd{};
  constexpr stagecraft::optimizers::rmsprop rmsprop{};
  add_fma_peak();
  add_programs<32, sgd, optimizer_kind::sgd>(benchmarks, "sgd");
  add_programs<128, sgd, optimizer_kind::sgd>(benchmarks, "sgd");
  add_programs<32, rmsprop, optimizer_kind::rmsprop>(benchmarks, "rmsprop");
  add_programs<128, rmsprop, optimizer_kind::rmsprop>(benchmarks, "rmsprop");
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
