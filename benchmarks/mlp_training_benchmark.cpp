// SPDX-License-Identifier: BSD-3-Clause
// Training a perceptron, 784 -> 256 relu -> 128 relu -> 10, softmax cross-entropy: samples per second on one thread.
//   taskset -c 0 mlp_training_benchmark --benchmark_enable_random_interleaving=true --benchmark_repetitions=5
//       --benchmark_report_aggregates_only=true
#include <benchmark/benchmark.h>

#include <random>
#include <string>
#include <vector>

#include "aligned_floats.hpp"
#include "mlp_eigen.hpp"
#include "mlp_kernels.hpp"
#include "mlp_trainer.hpp"

namespace {

using namespace stagecraft::benchmarks;

/// Batches of noise around one pattern per class, in turn.
template <int Batch, class Label>
class training_data {
 public:
  static constexpr int batches = 16;

  training_data() : x_(batches * Batch * 784), labels_(batches * Batch) {
    std::mt19937 generator(7);
    std::uniform_real_distribution<float> uniform(0.0F, 1.0F);
    for (int sample = 0; sample < batches * Batch; ++sample) {
      labels_[static_cast<std::size_t>(sample)] = static_cast<Label>(generator() % 10);
      for (int pixel = 0; pixel < 784; ++pixel)
        x_.data()[sample * 784 + pixel] =
            uniform(generator) * (pixel % 10 == labels_[static_cast<std::size_t>(sample)] ? 1.0F : 0.5F);
    }
  }

  [[nodiscard]] float const* x(int batch) { return x_.data() + batch % batches * Batch * 784; }
  /// Labels wander from batch to batch: what could be learnt by heart would let gradients, and with them the
  /// optimizer's state, shrink to denormal numbers, whose arithmetic is slow.
  [[nodiscard]] Label const* labels(int batch) const {
    return labels_.data() + (batch + batch / batches) % batches * Batch;
  }

 private:
  aligned_floats x_;
  std::vector<Label> labels_;
};

template <class Model, int Batch, class Label>
void train(benchmark::State& state) {
  training_data<Batch, Label> data;
  Model model;
  float loss = 0;
  int batch = 0;
  for (auto _ : state) {
    loss = model.train_on_batch(data.x(batch), data.labels(batch));
    benchmark::ClobberMemory();  // DoNotOptimize of Google Benchmark 1.7 changes a float that GCC keeps in a register
    ++batch;
  }
  state.counters["samples/s"] = benchmark::Counter(Batch, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["last loss"] = loss;
}

template <int Batch>
void register_batch_size() {
  using stagecraft::optimizers::rmsprop;
  using stagecraft::optimizers::sgd;
  std::string const batch = "/batch:" + std::to_string(Batch);
  auto const add = [&](char const* name, void (*function)(benchmark::State&)) {
    benchmark::RegisterBenchmark((name + batch).c_str(), function);
  };
  add("rmsprop/stagecraft", train<mlp_trainer<Batch, rmsprop{}>, Batch, std::int32_t>);
  add("rmsprop/kernels", train<mlp_kernels<Batch, rmsprop{}>, Batch, std::int32_t>);
  add("rmsprop/eigen", train<mlp_eigen<Batch, mlp_optimizer::rmsprop>, Batch, std::uint8_t>);
  add("sgd/stagecraft", train<mlp_trainer<Batch, sgd{}>, Batch, std::int32_t>);
  add("sgd/kernels", train<mlp_kernels<Batch, sgd{}>, Batch, std::int32_t>);
  add("sgd/eigen", train<mlp_eigen<Batch, mlp_optimizer::sgd>, Batch, std::uint8_t>);
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  register_batch_size<32>();
  register_batch_size<128>();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
