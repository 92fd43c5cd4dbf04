// SPDX-License-Identifier: BSD-3-Clause
// Inference with the perceptron, one sample (latency) and 256 (throughput): stagecraft's trainer, and the peers by
// hand, on as many threads as OMP_NUM_THREADS says.
#include <benchmark/benchmark.h>

#include "gemm_libraries.hpp"
#include "mlp_gemm.hpp"
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

template <int Batch>
void add_programs(network_benchmark& benchmarks) {
  constexpr stagecraft::optimizers::sgd sgd{};
  benchmarks.add_inference<mlp_trainer<Batch, sgd>, Batch>(threads_of_this_run() == 1 ? "stagecraft" : "one_thread");
  if (threads_of_this_run() == 1) {
#if defined(STAGECRAFT_BENCHMARK_EIGEN)
    benchmarks.add_inference<mlp_eigen<Batch, optimizer_kind::sgd>, Batch>("eigen");
#endif
#if defined(STAGECRAFT_BENCHMARK_OPENBLAS)
    benchmarks.add_inference<mlp_gemm<openblas, Batch, optimizer_kind::sgd>, Batch>("openblas");
#endif
  } else {
    benchmarks.add_inference<mlp_trainer<Batch, sgd, 2>, Batch>("stagecraft");
  }
#if defined(STAGECRAFT_BENCHMARK_ONEDNN)
  benchmarks.add_inference<onednn_inference<mlp_onednn, Batch>, Batch>("onednn");
  benchmarks.add_inference<mlp_gemm<onednn_sgemm, Batch, optimizer_kind::sgd>, Batch>("onednn_sgemm");
#endif
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  network_benchmark benchmarks("mlp", mlp_weights(), mlp_training_operations, mlp_forward_operations);
  add_fma_peak();
  if (threads_of_this_run() == 1) add_programs<1>(benchmarks);
  add_programs<256>(benchmarks);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
