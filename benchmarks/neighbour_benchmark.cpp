// SPDX-License-Identifier: BSD-3-Clause
// Two threads beside another program that keeps one core busy: a thread of this one that computes as long as the
// benchmark runs. Each beside one thread in the same company. Names: neighbour/<network>/threads:2/<whose>; nothing in
// a run on one core.
#include <benchmark/benchmark.h>

#include <atomic>
#include <string>
#include <thread>

#include "cnn_trainer.hpp"
#include "fma_peak.hpp"
#include "machine_benchmark.hpp"
#include "mlp_trainer.hpp"
#include "pipelined_mlp.hpp"
#include "training_data.hpp"

namespace {

using namespace stagecraft::benchmarks;
using stagecraft::host;

class busy_neighbour {
 public:
  busy_neighbour() = default;
  busy_neighbour(busy_neighbour const&) = delete;
  busy_neighbour& operator=(busy_neighbour const&) = delete;
  ~busy_neighbour() {
    stopped_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> stopped_ = false;
  std::thread thread_{[this] {
    while (!stopped_.load(std::memory_order_relaxed)) benchmark::DoNotOptimize(multiply_add_chains(1000));
  }};
};

/// `Program` has a step(), and is made without arguments.
template <class Program>
void add(std::string const& what, char const* whose, double samples) {
  auto const name = "neighbour/" + what + "/threads:2/" + whose;
  benchmark::RegisterBenchmark(name.c_str(), [samples](benchmark::State& state) {
    Program program;
    program.step();
    busy_neighbour const neighbour;
    for (auto _ : state) program.step();
    state.counters["samples/s"] = benchmark::Counter(samples, benchmark::Counter::kIsIterationInvariantRate);
  })->UseRealTime();
}

template <class Trainer, network_weights (*Weights)()>
class training_program {
 public:
  static constexpr int batch = 32;
  void step() {
    trainer_.train_on_batch(data_.x(number_), data_.labels(number_));
    ++number_;
  }

 private:
  training_data<batch> data_;
  Trainer trainer_{Weights()};
  int number_ = 0;
};

template <class Machine>
class pipeline_program {
 public:
  using steps = pipelined_steps<pipelined_mlp, pipelined_training<>, Machine>;
  void step() { benchmark::DoNotOptimize(steps_.train()); }

 private:
  prepared_batches batches_;
  steps steps_{batches_};
};

template <int Threads>
void add_all(char const* whose) {
  constexpr stagecraft::optimizers::rmsprop rmsprop{};
  add<training_program<mlp_trainer<32, rmsprop, Threads>, mlp_weights>>("mlp", whose, 32);
  add<training_program<cnn_trainer<32, rmsprop, Threads>, cnn_weights>>("cnn", whose, 32);
  using pipeline = pipeline_program<host<Threads>>;
  add<pipeline>("pipeline", whose, pipeline::steps::samples_of_execution);
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  add_fma_peak();
  if (threads_of_this_run() >= 2) {
    add_all<2>("stagecraft");
    add_all<1>("one_thread");
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
