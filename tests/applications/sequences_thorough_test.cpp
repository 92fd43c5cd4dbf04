// SPDX-License-Identifier: BSD-3-Clause
// A thousand streams of a recurrent network whose states a server keeps, on sixteen threads at once: each gets the bits
// of a stateful predictor of its own.
#include "serve/http/http_message.hpp"
#include "serve/models/sequence_batcher.hpp"

#include <stagecraft/serving/batch_sizes_servable.hpp>
#include <stagecraft/stagecraft.hpp>
#include <algorithm>
#include <atomic>
#include <doctest/doctest.h>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace sc = stagecraft;
using namespace sc::layers;
using sc::tool::sequence_batcher;
using sc::tool::sequence_request;

constexpr int streams = 1000, steps = 12, features = 3;
constexpr int batch = 16;  // of both, since sizes of batches may differ by rounding

struct listener : sc::functional<listener> {
  static constexpr auto build(auto& model) {
    auto x = model.input({1, 3}, "x"), h = model.input({8}, "h"), c = model.input({8}, "c");
    auto [y, next_h, next_c] = lstm(8, {.return_state = true})(x, h, c);
    return sc::outputs(dense(2)(y), next_h, next_c);
  }
};
using alone = sc::sequential<input{1, features}.of_batch_size(batch), lstm{8, {.stateful = true}}, dense{2}>;
inline constexpr auto inference = sc::inference{.batch_size = batch};

sc::tool::sequence_settings settings() { return {.states = {{"h", "next_h", {}}, {"c", "next_c", {}}}}; }

/// The input of a stream at a step.
std::vector<float> input_of(int stream, int step) {
  std::mt19937 numbers(static_cast<unsigned>(stream * steps + step));
  std::vector<float> x(features);
  for (auto& each : x) each = static_cast<float>(numbers() >> 8) * 0x1p-23F - 1;
  return x;
}

TEST_CASE("a thousand streams have the bits of a thousand predictors") {
  sc::predictor<listener, inference> model(3);
  auto const weights = model.get_weights();
  std::vector<std::unique_ptr<sc::serving::embedded_runtime>> runtimes;
  runtimes.push_back(std::make_unique<sc::serving::embedded_runtime>(
      std::move(model), sc::serving::runtime_options{.batch_timeout_us = 200},
      std::vector<std::string>{"y", "next_h", "next_c"}));
  sc::tool::model_engines runtime(std::move(runtimes));
  sequence_batcher sequences("listener", settings(), runtime.description());
  REQUIRE(sequences.visible().inputs.size() == 1);
  REQUIRE(sequences.visible().outputs.size() == 1);

  std::vector<std::vector<float>> found(streams);
  std::atomic<int> failures = 0;
  std::vector<std::thread> callers;
  constexpr int threads = 16;
  for (int thread = 0; thread < threads; ++thread)
    callers.emplace_back([&, thread] {
      try {
        // All streams of a thread go on in turns, so that all thousand are open at once.
        for (int step = 0; step < steps; ++step)
          for (int stream = thread; stream < streams; stream += threads) {
            sequence_request const request{
                .id = std::to_string(stream + 1), .starts = step == 0, .ends = step + 1 == steps};
            auto const y = sequences.call(runtime, {input_of(stream, step)}, 1, request, {}, 0);
            auto& to = found[static_cast<std::size_t>(stream)];
            to.insert(to.end(), y[0].begin(), y[0].end());
          }
      } catch (...) {
        ++failures;
      }
    });
  for (auto& each : callers) each.join();
  CHECK(failures == 0);
  CHECK(sequences.count() == 0);
  auto const batches = runtime.statistics().batches;
  CHECK(batches < streams * steps);  // they did share batches

  sc::predictor<alone, inference> predictor(3);
  predictor.set_weights(weights);
  int differences = 0;
  xt::xtensor<float, 3> rows({batch, 1, features}, 0.0F);
  for (int stream = 0; stream < streams; ++stream) {
    predictor.reset_states();
    for (int step = 0; step < steps; ++step) {
      auto const x = input_of(stream, step);
      std::copy(x.begin(), x.end(), rows.begin());
      auto const y = predictor.predict(rows);
      for (int i = 0; i < 2; ++i)
        differences += y.data()[i] != found[static_cast<std::size_t>(stream)][static_cast<std::size_t>(2 * step + i)];
    }
  }
  CHECK(differences == 0);
}

}  // namespace
