// SPDX-License-Identifier: BSD-3-Clause
// Training and inference of the small convolutional network: stagecraft's trainer, and oneDNN's primitives by hand, on
// as many threads as OMP_NUM_THREADS says.
#include <benchmark/benchmark.h>

#include "cnn_trainer.hpp"
#include "hand_written.hpp"
#include "network_benchmark.hpp"
#if defined(STAGECRAFT_BENCHMARK_ONEDNN)
#include "cnn_onednn.hpp"
#include "onednn_runner.hpp"
#endif

namespace {

using namespace stagecraft::benchmarks;

template <int Batch, auto Optimizer, optimizer_kind Kind>
void add_training(network_benchmark& benchmarks, char const* job) {
  benchmarks.add_training<cnn_trainer<Batch, Optimizer>, Batch>(
      job, threads_of_this_run() == 1 ? "stagecraft" : "one_thread");
  if (threads_of_this_run() > 1) benchmarks.add_training<cnn_trainer<Batch, Optimizer, 2>, Batch>(job, "stagecraft");
#if defined(STAGECRAFT_BENCHMARK_ONEDNN)
  benchmarks.add_training<onednn_training<cnn_onednn, Batch, Kind>, Batch>(job, "onednn");
#endif
}

template <int Batch>
void add_inference(network_benchmark& benchmarks) {
  constexpr stagecraft::optimizers::sgd sgd{};
  benchmarks.add_inference<cnn_trainer<Batch, sgd>, Batch>(threads_of_this_run() == 1 ? "stagecraft" : "one_thread");
  if (threads_of_this_run() > 1) benchmarks.add_inference<cnn_trainer<Batch, sgd, 2>, Batch>("stagecraft");
#if defined(STAGECRAFT_BENCHMARK_ONEDNN)
  benchmarks.add_inference<onednn_inference<cnn_onednn, Batch>, Batch>("onednn");
#endif
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  network_benchmark benchmarks("cnn", cnn_weights(), cnn_training_operations, cnn_forward_operations);
  constexpr stagecraft::optimizers::sgd sgd{};
  constexpr stagecraft::optimizers::rmsprop rmsprop{};
  add_fma_peak();
  add_training<32, rmsprop, optimizer_kind::rmsprop>(benchmarks, "rmsprop");
  if (threads_of_this_run() == 1) {
    add_training<32, sgd, optimizer_kind::sgd>(benchmarks, "sgd");
    add_training<128, rmsprop, optimizer_kind::rmsprop>(benchmarks, "rmsprop");
    add_training<128, sgd, optimizer_kind::sgd>(benchmarks, "sgd");
  }
  add_inference<1>(benchmarks);
  add_inference<128>(benchmarks);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
