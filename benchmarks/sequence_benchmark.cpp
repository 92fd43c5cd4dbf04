// SPDX-License-Identifier: BSD-3-Clause
// Layers of sequences, alone in a model: training with the mean squared error and stochastic gradient descent, and
// inference, beside oneDNN's LSTM, attention and a transformer's block that are written by hand on a library's matrix
// products, and a table of vectors by hand.
// Names: sequence/<layer>/<job>/threads:<n>/<program>. All programs begin with the same weights and see the same
// samples; their first losses and outputs must be the same.
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "attention_gemm.hpp"
#include "embedding_by_hand.hpp"
#include "gemm_libraries.hpp"
#include "machine_benchmark.hpp"
#include "sequence_layers.hpp"
#include "transformer_gemm.hpp"
#if defined(STAGECRAFT_BENCHMARK_ONEDNN)
#include "lstm_onednn.hpp"
#endif

namespace {

using namespace stagecraft::benchmarks;
namespace sc = stagecraft;

using lstm_model = sc::sequential<sc::layers::input{lstm_steps, lstm_features}, sc::layers::lstm{lstm_units}>;

using embedding_model =
    sc::sequential<sc::layers::input{embedding_steps}, sc::layers::embedding{embedding_rows, embedding_width}>;

struct attention_model : sc::functional<attention_model> {
  static constexpr auto build(auto& model) {
    auto x = model.input(attention_places, attention_features);
    return sc::layers::multi_head_attention(attention_heads, attention_features / attention_heads)(x, x);
  }
};

struct block_model : sc::functional<block_model> {
  static constexpr auto build(auto& model) {
    auto x = model.input(attention_places, attention_features);
    auto const seen = sc::layers::layer_normalization()(x);
    x = x + sc::layers::multi_head_attention(attention_heads, attention_features / attention_heads)(seen, seen);
    auto const inner = sc::layers::dense(block_units, sc::relu)(sc::layers::layer_normalization()(x));
    return x + sc::layers::dense(attention_features)(inner);
  }
};

/// What a user's trainer does for each batch.
template <class M, int Batch, int Threads>
class own_layer {
  static constexpr sc::training training{.optimizer = sc::optimizers::sgd{.learning_rate = 0.01F},
                                         .loss = sc::losses::mean_squared_error{},
                                         .batch_size = Batch};

 public:
  own_layer(layer_weights const& weights, bool /*trains*/) {
    [&]<std::size_t... Weight>(std::index_sequence<Weight...>) {
      (session_.template write_weight<Weight>(weights[Weight].data()), ...);
    }(std::make_index_sequence<sc::graph_of<M>.parameters.size()>{});
  }
  float const* predict_on_batch(float const* x) {
    float const* result = nullptr;
    session_.predict(
        1, [&](auto const& to, int, int) { copy_samples(x, to); },
        [&](auto const& step) { result = step.prediction(0); });
    return result;
  }
  float train_on_batch(float const* x, float const* target) {
    constexpr int rows = Batch * session_type::rows_per_sample(0);
    float loss = 0;
    auto const feed = [&](auto const& to, int, int) {
      copy_samples(x, to);
      std::copy_n(target, Batch * session_type::output_shape(0).size(), to.template target<0>());
      std::fill_n(to.scale(0), rows, 1.0F / static_cast<float>(rows));
    };
    session_.train(1, feed, [&](auto const& step) { loss = step.total_loss(); });
    return loss;
  }

 private:
  using session_type = sc::engine::session_of<M, training, sc::host<Threads>>;

  static void copy_samples(float const* x, auto const& to) {
    std::copy_n(x, Batch * session_type::input_shape(0).size(), to.input(0));
  }

  session_type session_{1};
};

/// One layer: its weights, samples and targets.
struct layer_case {
  std::string name;
  layer_weights weights;
  std::vector<float> x, target;
  int samples;
  double forward_operations;         // of a batch
  double input_gradient_operations;  // that nobody asks for: of products with the samples themselves
  std::map<std::string, std::vector<float>> first_numbers{};
};

void check(layer_case& of, std::string const& job, std::string const& program, std::vector<float> const& found) {
  auto const& expected = of.first_numbers.try_emplace(job, found).first->second;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (std::abs(found[i] - expected[i]) <= 2e-3F * (1.0F + std::abs(expected[i]))) continue;
    std::cerr << of.name << "/" << job << ": number " << i << " of " << program << " is " << found[i]
              << ", that of the first program is " << expected[i] << "\n";
    std::exit(1);
  }
}

template <class Step>
void add(layer_case const& of, std::string const& job, std::string const& program, double operations,
         Step const& step) {
  auto const name =
      "sequence/" + of.name + "/" + job + "/threads:" + std::to_string(threads_of_this_run()) + "/" + program;
  auto* const registered = benchmark::RegisterBenchmark(name.c_str(), [=, &of](benchmark::State& state) {
    auto const run = step();
    run();
    for (auto _ : state) run();
    state.counters["samples/s"] = benchmark::Counter(of.samples, benchmark::Counter::kIsIterationInvariantRate);
    count_operations(state, operations);
  });
  if (threads_of_this_run() > 1) registered->UseRealTime();
}

/// A program that is made of the weights and whether it trains.
template <class Program>
void add_program(layer_case& of, std::string const& program) {
  {
    Program trained(of.weights, true), used(of.weights, false);
    std::vector<float> losses;
    for (int i = 0; i < 3; ++i) losses.push_back(trained.train_on_batch(of.x.data(), of.target.data()));
    check(of, "training", program, losses);
    float const* const y = used.predict_on_batch(of.x.data());
    check(of, "inference", program, {y, y + of.target.size()});
  }
  add(of, "training", program, 3 * of.forward_operations - of.input_gradient_operations, [&of] {
    auto const made = std::make_shared<Program>(of.weights, true);
    return [&of, made] { benchmark::DoNotOptimize(made->train_on_batch(of.x.data(), of.target.data())); };
  });
  add(of, "inference", program, of.forward_operations, [&of] {
    auto const made = std::make_shared<Program>(of.weights, false);
    return [&of, made] { benchmark::DoNotOptimize(made->predict_on_batch(of.x.data())); };
  });
}

template <class M, int Batch>
void add_own(layer_case& of) {
  add_program<own_layer<M, Batch, 1>>(of, threads_of_this_run() == 1 ? "stagecraft" : "one_thread");
  if (threads_of_this_run() > 1) add_program<own_layer<M, Batch, 2>>(of, "stagecraft");
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  add_fma_peak();

  layer_case lstm{.name = "lstm",
                  .weights = lstm_weights(),
                  .x = drawn_floats(std::size_t{lstm_batch} * lstm_steps * lstm_features, 1, 11),
                  .target = drawn_floats(std::size_t{lstm_batch} * lstm_units, 1, 12),
                  .samples = lstm_batch,
                  .forward_operations = 2.0 * lstm_batch * lstm_steps * (lstm_features + lstm_units) * 4 * lstm_units,
                  .input_gradient_operations = 2.0 * lstm_batch * lstm_steps * lstm_features * 4 * lstm_units};
  add_own<lstm_model, lstm_batch>(lstm);
#if defined(STAGECRAFT_BENCHMARK_ONEDNN)
  add_program<lstm_onednn>(lstm, "onednn");
#endif

  constexpr std::size_t floats = std::size_t{attention_batch} * attention_places * attention_features;
  layer_case attention{.name = "attention",
                       .weights = attention_weights(),
                       .x = drawn_floats(floats, 1, 13),
                       .target = drawn_floats(floats, 1, 14),
                       .samples = attention_batch,
                       .forward_operations = 2.0 * attention_batch * attention_places * attention_features *
                                             (4 * attention_features + 2 * attention_places),
                       .input_gradient_operations = 6.0 * floats * attention_features};
  add_own<attention_model, attention_batch>(attention);
#if defined(STAGECRAFT_BENCHMARK_OPENBLAS)
  add_program<attention_gemm<openblas>>(attention, "openblas");
#endif
#if defined(STAGECRAFT_BENCHMARK_ONEDNN)
  add_program<attention_gemm<onednn_sgemm>>(attention, "onednn_sgemm");
#endif

  layer_case block{.name = "transformer_block",
                   .weights = block_weights(),
                   .x = attention.x,
                   .target = attention.target,
                   .samples = attention_batch,
                   .forward_operations = attention.forward_operations + 4.0 * floats * block_units,
                   .input_gradient_operations = 0};
  add_own<block_model, attention_batch>(block);
#if defined(STAGECRAFT_BENCHMARK_OPENBLAS)
  add_program<transformer_gemm<openblas>>(block, "openblas");
#endif
#if defined(STAGECRAFT_BENCHMARK_ONEDNN)
  add_program<transformer_gemm<onednn_sgemm>>(block, "onednn_sgemm");
#endif

  constexpr std::size_t vectors = std::size_t{embedding_batch} * embedding_steps * embedding_width;
  layer_case embedding{.name = "embedding",
                       .weights = {drawn_floats(std::size_t{embedding_rows} * embedding_width, 1, 16)},
                       .x = drawn_tokens(),
                       .target = drawn_floats(vectors, 1, 17),
                       .samples = embedding_batch,
                       .forward_operations = 0,
                       .input_gradient_operations = 0};
  add_own<embedding_model, embedding_batch>(embedding);
  if (threads_of_this_run() == 1) add_program<embedding_by_hand>(embedding, "by_hand");

  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
