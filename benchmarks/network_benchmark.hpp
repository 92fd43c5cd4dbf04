// SPDX-License-Identifier: BSD-3-Clause
// Benchmarks of programs that train or use one network. Names are <network>/<job>/batch:<size>/threads:<n>/<program>,
// where n is the number of threads of the run.
// All programs start with the same weights and see the same batches; their first losses must be the same.
#pragma once

#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "allocation/counted_memory.hpp"
#include "first_weights.hpp"
#include "machine_benchmark.hpp"
#include "training_data.hpp"

namespace stagecraft::benchmarks {

class network_benchmark {
 public:
  network_benchmark(std::string name, network_weights weights, double training_operations, double forward_operations)
      : name_(std::move(name)),
        weights_(std::move(weights)),
        training_operations_(training_operations),
        forward_operations_(forward_operations) {}

  /// A program with train_on_batch(samples, labels), which gives the loss, and which is made from the first weights.
  template <class Program, int Batch>
  void add_training(std::string const& job, std::string const& program) {
    check<Program, Batch>(job, program, [](Program& made, training_data<Batch>& data) {
      std::vector<float> losses;
      for (int step = 0; step < 4; ++step) losses.push_back(made.train_on_batch(data.x(step), data.labels(step)));
      return losses;
    });
    add<Program, Batch>(job, program, training_operations_, [](Program& made, training_data<Batch>& data, int step) {
      made.train_on_batch(data.x(step), data.labels(step));
    });
  }

  /// A program with predict_on_batch(samples), which gives the logits, and which is made from the first weights.
  template <class Program, int Batch>
  void add_inference(std::string const& program) {
    check<Program, Batch>("predict", program, [](Program& made, training_data<Batch>& data) {
      float const* const logits = made.predict_on_batch(data.x(0));
      return std::vector<float>(logits, logits + Batch * 10);
    });
    add<Program, Batch>("predict", program, forward_operations_,
                        [](Program& made, training_data<Batch>& data, int step) {
                          benchmark::DoNotOptimize(made.predict_on_batch(data.x(step)));
                        });
  }

 private:
  template <class Program, int Batch, class Step>
  void add(std::string const& job, std::string const& program, double operations, Step step) {
    std::string const name = name_ + "/" + job + "/batch:" + std::to_string(Batch) +
                             "/threads:" + std::to_string(threads_of_this_run()) + "/" + program;
    auto* const registered = benchmark::RegisterBenchmark(name.c_str(), [=, this](benchmark::State& state) {
      training_data<Batch> data;
      Program made(weights_);
      step(made, data, 0);
      int batch = 1;
      long const before = allocations();
      for (auto _ : state) {
        step(made, data, batch++);
        benchmark::ClobberMemory();
      }
      state.counters["allocations/step"] = static_cast<double>(allocations() - before) / (batch - 1);
      state.counters["samples/s"] = benchmark::Counter(Batch, benchmark::Counter::kIsIterationInvariantRate);
      count_operations(state, operations * Batch);
    });
    if (threads_of_this_run() > 1) registered->UseRealTime();
  }

  /// Ends the program unless the first numbers are those of the first program that was added for this job.
  template <class Program, int Batch, class Numbers>
  void check(std::string const& job, std::string const& program, Numbers const& numbers) {
    training_data<Batch> data;
    Program made(weights_);
    std::vector<float> const found = numbers(made, data);
    auto const& expected = first_numbers_.try_emplace(job + std::to_string(Batch), found).first->second;
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (std::abs(found[i] - expected[i]) <= 2e-3F * (1.0F + std::abs(expected[i]))) continue;
      std::cerr << name_ << "/" << job << "/batch:" << Batch << ": number " << i << " of " << program << " is "
                << found[i] << ", that of the first program is " << expected[i] << "\n";
      std::exit(1);
    }
  }

  std::string name_;
  network_weights weights_;
  double training_operations_, forward_operations_;
  std::map<std::string, std::vector<float>> first_numbers_;
};

}  // namespace stagecraft::benchmarks
