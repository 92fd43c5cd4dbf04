// SPDX-License-Identifier: BSD-3-Clause
// Networks of audio's and control's size, one sample a call, with their states kept: beside their
// loops by hand.
#include <benchmark/benchmark.h>

#include <stagecraft/description/inference.hpp>
#include <stagecraft/kernels/simd/special_values.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/predictor.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "allocation/counted_memory.hpp"
#include "machine_benchmark.hpp"
#include "realtime_by_hand.hpp"

namespace {

using namespace stagecraft::benchmarks;
using namespace stagecraft::layers;
namespace sc = stagecraft;

inline constexpr auto single = sc::inference{.batch_size = 1};

/// A signal that repeats.
template <std::size_t Inputs>
class samples {
 public:
  samples() : values_(count * Inputs) {
    unsigned state = 1;
    for (float& value : values_)
      value = static_cast<float>((state = state * 1664525U + 1013904223U) >> 8U) / 8388608.0F - 1.0F;
  }
  [[nodiscard]] float const* operator[](std::size_t i) const { return values_.data() + i % count * Inputs; }

 private:
  static constexpr std::size_t count = 4096;
  std::vector<float> values_;
};

template <class Net>
class predictor_call {
  using model_type = sc::predictor<Net, single>;

 public:
  static constexpr std::size_t inputs = model_type::call_inputs, outputs = model_type::call_outputs;

  std::vector<std::vector<float>> weights() const {
    std::vector<std::vector<float>> result;
    for (auto const& weight : model_.get_weights()) result.push_back(weight.values);
    return result;
  }
  float const* call(float const* x) {
    model_.call(std::span<float const, inputs>(x, inputs), y_);
    return y_.data();
  }

 private:
  model_type model_{1};
  std::array<float, outputs> y_{};
};

/// Ends the program unless both give the same but for rounding.
template <class A, class B, std::size_t Inputs, std::size_t Outputs>
void check(char const* name, A& a, B& b) {
  samples<Inputs> const x;
  for (std::size_t i = 0; i < 100; ++i) {
    float const *const one = a.call(x[i]), *const other = b.call(x[i]);
    for (std::size_t k = 0; k < Outputs; ++k)
      if (!(std::fabs(one[k] - other[k]) < 1e-4F)) {
        std::fprintf(stderr, "%s: sample %zu: %g and %g\n", name, i, one[k], other[k]);
        std::exit(1);
      }
  }
}

template <std::size_t Inputs, class Program>
void time_calls(benchmark::State& state, Program& program) {
  samples<Inputs> const x;
  sc::kernels::flush_denormals const flush;
  std::size_t i = 0;
  long const before = allocations();
  for (auto _ : state) {
    benchmark::DoNotOptimize(program.call(x[i++]));
    benchmark::ClobberMemory();
  }
  state.counters["allocations/step"] = static_cast<double>(allocations() - before) / static_cast<double>(i);
  // What one call in a thousand takes at least: each is timed, which takes some 20 ns by itself.
  std::vector<double> each(20000);
  for (double& nanoseconds : each) {
    auto const begin = std::chrono::steady_clock::now();
    benchmark::DoNotOptimize(program.call(x[i++]));
    benchmark::ClobberMemory();
    nanoseconds = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
  }
  auto const late = each.end() - static_cast<std::ptrdiff_t>(each.size() / 1000);
  std::nth_element(each.begin(), late, each.end());
  state.counters["p99.9"] = *late * 1e-9;
}

template <class Net, class ByHand>
void add_network(std::string const& name) {
  using own = predictor_call<Net>;
  static own model;
  static ByHand by_hand(model.weights());
  check<own, ByHand, own::inputs, own::outputs>(name.c_str(), model, by_hand);
  benchmark::RegisterBenchmark(("realtime/" + name + "/stagecraft").c_str(),
                               [](benchmark::State& state) { time_calls<own::inputs>(state, model); });
  benchmark::RegisterBenchmark(("realtime/" + name + "/by_hand").c_str(),
                               [](benchmark::State& state) { time_calls<own::inputs>(state, by_hand); });
}

template <std::size_t N>
void add_dense() {
  add_network<sc::sequential<input{int{N}}, dense{int{N}}>, dense_by_hand<N, N>>("dense " + std::to_string(N));
}
template <std::size_t In, std::size_t Filters, std::size_t Kernel, std::size_t Dilation = 1>
void add_conv1d(std::string const& name) {
  constexpr conv1d layer{
      int{Filters}, int{Kernel}, {.padding = sc::padding::causal, .dilation_rate = int{Dilation}, .stateful = true}};
  add_network<sc::sequential<input{1, int{In}}.of_batch_size(1), layer>, conv1d_by_hand<In, Filters, Kernel, Dilation>>(
      name);
}
template <std::size_t N>
void add_lstm() {
  add_network<sc::sequential<input{1, int{N}}.of_batch_size(1), lstm{int{N}, {.stateful = true}}>, lstm_by_hand<N, N>>(
      "lstm " + std::to_string(N));
}
template <std::size_t N>
void add_gru() {
  add_network<sc::sequential<input{1, int{N}}.of_batch_size(1), gru{int{N}, {.stateful = true}}>, gru_by_hand<N, N>>(
      "gru " + std::to_string(N));
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  add_fma_peak();
  if (threads_of_this_run() == 1) {
    add_dense<8>();
    add_dense<32>();
    add_dense<64>();
    add_conv1d<4, 4, 3>("conv1d 4, kernel 3");
    add_conv1d<8, 8, 7, 2>("conv1d 8, kernel 7, dilation 2");
    add_conv1d<16, 16, 15, 4>("conv1d 16, kernel 15, dilation 4");
    add_conv1d<1, 16, 3, 512>("conv1d 1 to 16, kernel 3, dilation 512");
    add_gru<8>();
    add_gru<64>();
    add_lstm<16>();
    add_lstm<64>();
    add_network<sc::sequential<input{1, 1}.of_batch_size(1), lstm{40, {.stateful = true}}, dense{1}>,
                then_dense<lstm_by_hand<1, 40>, 40, 1>>("amplifier: lstm 40, dense 1");
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
