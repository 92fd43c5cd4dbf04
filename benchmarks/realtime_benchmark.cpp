// SPDX-License-Identifier: BSD-3-Clause
// Networks of audio's and control's size, one sample a call, with their states kept: beside their loops by hand and, if
// CMake is given its folder (-D STAGECRAFT_RTNEURAL=...), RTNeural with its back ends Eigen and xsimd.
#include <benchmark/benchmark.h>

#include <stagecraft/description/inference.hpp>
#include <stagecraft/kernels/simd/special_values.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/predictor.hpp>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "machine_benchmark.hpp"
#include "realtime_by_hand.hpp"
#include "realtime_rows.hpp"
#if defined(STAGECRAFT_BENCHMARK_RTNEURAL)
#include "realtime_rtneural.hpp"
#endif

namespace {

using namespace stagecraft::benchmarks;
using namespace stagecraft::layers;
namespace sc = stagecraft;

inline constexpr auto single = sc::inference{.batch_size = 1};
inline constexpr auto fast_single = sc::inference{.batch_size = 1, .activations = sc::fast};

template <class Net, auto const& Description = single>
class predictor_call {
  using model_type = sc::predictor<Net, Description>;

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

enum class has_functions : bool { no, yes };

/// A row; networks with tanh and the like have their fast forms, too.
template <class Net, class ByHand, has_functions Functions = has_functions::no>
void add_network(std::string const& name) {
  using own = predictor_call<Net>;
  static own model;
  network_row row{name, model.weights(), {}};
  samples<own::inputs> const x;
  for (std::size_t i = 0; i < checked_calls; ++i) {
    float const* const y = model.call(x[i]);
    row.results.emplace_back(y, y + own::outputs);
  }
  static ByHand by_hand(row.weights);
  check<own::inputs>(row, "by hand", by_hand);
  add_program<own::inputs>(row, "stagecraft", model);
  if constexpr (Functions == has_functions::yes) {
    static predictor_call<Net, fast_single> fast;
    check<own::inputs>(row, "fast activations", fast);
    add_program<own::inputs>(row, "fast_activations", fast);
  }
  add_program<own::inputs>(row, "by_hand", by_hand);
#if defined(STAGECRAFT_BENCHMARK_RTNEURAL)
  add_rtneural_eigen(row);
  add_rtneural_xsimd(row);
#endif
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
  add_network<sc::sequential<input{1, int{N}}.of_batch_size(1), lstm{int{N}, {.stateful = true}}>, lstm_by_hand<N, N>,
              has_functions::yes>("lstm " + std::to_string(N));
}
template <std::size_t N>
void add_gru() {
  add_network<sc::sequential<input{1, int{N}}.of_batch_size(1), gru{int{N}, {.stateful = true}}>, gru_by_hand<N, N>,
              has_functions::yes>("gru " + std::to_string(N));
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
                then_dense<lstm_by_hand<1, 40>, 40, 1>, has_functions::yes>("amplifier: lstm 40, dense 1");
    add_network<
        sc::sequential<input{64, 1}.of_batch_size(1), lstm{40, {.return_sequences = true, .stateful = true}}, dense{1}>,
        block_by_hand<then_dense<lstm_by_hand<1, 40>, 40, 1>, 64>, has_functions::yes>("amplifier, 64 samples a call");
  }
  sc::kernels::flush_denormals const flush;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
