// SPDX-License-Identifier: BSD-3-Clause
// Inference by predictors, as programs call them: the perceptron for one sample, the small convolutional network for
// one and for 128; beside the trainer's steps, and the peers by hand.
#include <benchmark/benchmark.h>

#include <stagecraft/description/inference.hpp>

#include "cnn_trainer.hpp"
#include "gemm_libraries.hpp"
#include "hand_written.hpp"
#include "mlp_gemm.hpp"
#include "mlp_trainer.hpp"
#include "network_benchmark.hpp"
#include "predictor_steps.hpp"
#if defined(STAGECRAFT_BENCHMARK_ONEDNN)
#include "cnn_onednn.hpp"
#include "mlp_onednn.hpp"
#include "onednn_runner.hpp"
#endif

namespace {

using namespace stagecraft::benchmarks;
constexpr stagecraft::optimizers::sgd sgd{};
template <int Batch>
inline constexpr auto in_batches = stagecraft::inference{.batch_size = Batch};

template <int Batch>
void add_perceptron(network_benchmark& benchmarks) {
  benchmarks.add_inference<predictor_steps<mlp, in_batches<Batch>>, Batch>("stagecraft");
  benchmarks.add_inference<mlp_trainer<Batch, sgd>, Batch>("trainer");
#if defined(STAGECRAFT_BENCHMARK_OPENBLAS)
  benchmarks.add_inference<mlp_gemm<openblas, Batch, optimizer_kind::sgd>, Batch>("openblas");
#endif
#if defined(STAGECRAFT_BENCHMARK_ONEDNN)
  benchmarks.add_inference<onednn_inference<mlp_onednn, Batch>, Batch>("onednn");
  benchmarks.add_inference<mlp_gemm<onednn_sgemm, Batch, optimizer_kind::sgd>, Batch>("onednn_sgemm");
#endif
}

template <int Batch>
void add_convolutions(network_benchmark& benchmarks) {
  benchmarks.add_inference<predictor_steps<cnn, in_batches<Batch>>, Batch>("stagecraft");
  benchmarks.add_inference<cnn_trainer<Batch, sgd>, Batch>("trainer");
#if defined(STAGECRAFT_BENCHMARK_ONEDNN)
  benchmarks.add_inference<onednn_inference<cnn_onednn, Batch>, Batch>("onednn");
#endif
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  network_benchmark perceptron("mlp_predictor", mlp_weights(), mlp_training_operations, mlp_forward_operations);
  network_benchmark convolutions("cnn_predictor", cnn_weights(), cnn_training_operations, cnn_forward_operations);
  add_fma_peak();
  if (threads_of_this_run() == 1) {
    add_perceptron<1>(perceptron);
    add_convolutions<1>(convolutions);
    add_convolutions<128>(convolutions);
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
