// SPDX-License-Identifier: BSD-3-Clause
// What a pipeline costs and what it gains: the perceptron in four stages on one thread beside the same model without
// stages, and on two threads, or in two replicas, beside one. Executions of sessions, fed with what is there already.
// Names: pipeline/<what>/threads:<cores of this run>/<whose>. On two cores the schedule's threads are beside one.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <iostream>
#include <string>

#include "allocation/counted_memory.hpp"
#include "machine_benchmark.hpp"
#include "pipelined_mlp.hpp"

namespace {

using namespace stagecraft::benchmarks;
using stagecraft::host;
using stagecraft::schedule;

prepared_batches const& batches() {
  static prepared_batches const made;
  return made;
}

/// One iteration is one execution: `run(steps)`.
template <class Steps, class Run>
void add(std::string const& what, std::string const& whose, double operations, Run const& run) {
  auto const name = "pipeline/" + what + "/threads:" + std::to_string(threads_of_this_run()) + "/" + whose;
  auto* const registered = benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
    Steps steps(batches());
    run(steps);
    long const before = allocations();
    for (auto _ : state) benchmark::DoNotOptimize(run(steps));
    state.counters["allocations/step"] =
        static_cast<double>(allocations() - before) / static_cast<double>(state.iterations());
    state.counters["samples/s"] =
        benchmark::Counter(Steps::samples_of_execution, benchmark::Counter::kIsIterationInvariantRate);
    count_operations(state, operations * Steps::samples_of_execution);
  });
  if (threads_of_this_run() > 1) registered->UseRealTime();
}

/// Ends the program unless both find the same bits.
template <class Steps, class Other>
void check_same(char const* what) {
  Steps steps(batches());
  Other other(batches());
  for (int i = 0; i < 3; ++i) {
    if (steps.train() == other.train() && steps.predict() == other.predict()) continue;
    std::cerr << what << ": execution " << i << " has other results\n";
    std::exit(1);
  }
}

template <class Steps>
void add_training(std::string const& what, std::string const& whose) {
  add<Steps>("training_" + what, whose, pipelined_training_operations, [](Steps& steps) { return steps.train(); });
}
template <class Steps>
void add_inference(std::string const& what, std::string const& whose) {
  add<Steps>("inference_" + what, whose, pipelined_forward_operations, [](Steps& steps) { return steps.predict(); });
}

/// A model on one thread beside the same with neither stages nor replicas; or on two beside one.
template <class M, auto Training>
void add_programs(std::string const& what) {
  using one_thread = pipelined_steps<M, Training, host<1>>;
  if (threads_of_this_run() == 1) {
    using plain = pipelined_steps<unpipelined_mlp, pipelined_training<schedule::grouped>, host<1>>;
    if constexpr (one_thread::session::replicas == 1) check_same<one_thread, plain>(what.c_str());
    add_training<one_thread>(what, "stagecraft");
    add_training<plain>(what, "no_stages");
    add_inference<one_thread>(what, "stagecraft");
    add_inference<plain>(what, "no_stages");
  } else {
    using two_threads = pipelined_steps<M, Training, host<2>>;
    check_same<one_thread, two_threads>(what.c_str());
    add_training<two_threads>(what, "stagecraft");
    add_training<one_thread>(what, "one_thread");
    add_inference<two_threads>(what, "stagecraft");
    add_inference<one_thread>(what, "one_thread");
  }
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  add_fma_peak();
  add_programs<pipelined_mlp, pipelined_training<schedule::grouped>>("grouped");
  add_programs<pipelined_mlp, pipelined_training<schedule::interleaved>>("interleaved");
  add_programs<pipelined_mlp, pipelined_training<schedule::sequential>>("sequential");
  add_programs<unpipelined_mlp, pipelined_training<schedule::grouped, 2>>("two_replicas");
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
