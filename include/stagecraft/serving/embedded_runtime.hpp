// SPDX-License-Identifier: BSD-3-Clause
// A predictor that any number of threads may call at once: Graphcore's embedded application runtime.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/serving/engine.hpp>
#include <stagecraft/serving/predictor_program.hpp>
#include <stagecraft/training/data/data_checks.hpp>
#include <stagecraft/training/data/sample_set.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace stagecraft::serving {

/// Runs a predictor on a thread of its own. Samples of all callers share batches of the predictor's batch_size, which
/// follow each other in executions of its steps_per_execution; each caller gets its own samples' outputs, with the bits
/// that `predict` gives.
///
///     inline constexpr auto inference = sc::inference{.batch_size = 8, .steps_per_execution = 4};
///     sc::predictor<mlp, inference> model;
///     model.load_weights("digits.safetensors");
///     sc::serving::embedded_runtime runtime(std::move(model), {.runtime_api_timeout_us = 5000});
///     xt::xarray<float> const logits = runtime(digits)[0];                  // on any thread
///
/// How calls become batches, and what a starved pipeline does: `engine`, whose functions are here, too: `submit` and
/// `call` for plain arrays, `drain`, `stop`, `restart`, `statistics`, `description`.
class embedded_runtime : public engine {
 public:
  /// Takes a predictor whose weights are given. `output_names`: what the description calls its outputs.
  /// Throws std::system_error if the system gives no more threads.
  template <class Predictor>
    requires(!std::is_lvalue_reference_v<Predictor> && requires { typename Predictor::session_type; })
  explicit embedded_runtime(Predictor&& model, runtime_options const& options = {},
                            std::vector<std::string> const& output_names = {})
      : engine(std::make_unique<predictor_program<Predictor>>(std::move(model), output_names), options) {}
  using engine::engine;

  /// The outputs for samples in any number and of any type that `predict` takes: a tensor (samples, shape...) for each
  /// output of the model. Waits for them, for at most `time` if it is not 0. Throws data_error E4001 to E4003, E4010
  /// data that do not fit; serving_error E5081 to E5086 as `submit` and `reply::get`.
  [[nodiscard]] std::vector<xt::xarray<float>> operator()(sample_set const& x, std::chrono::microseconds time = {}) {
    auto const& known = description();
    std::vector<shape> shapes(known.inputs.size());
    for (std::size_t i = 0; i < shapes.size(); ++i)
      for (auto const length : known.inputs[i].shape) shapes[i].push_back(static_cast<int>(length));
    trainers::check_shapes("x", x, shapes);
    trainers::check_count("x", x.count());
    trainers::check_lengths("x", x, "x", {});
    std::vector<std::vector<float>> inputs(shapes.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      inputs[i].resize(static_cast<std::size_t>(x.count() * known.inputs[i].size()));
      x[static_cast<int>(i)].gather(0, x.count(), inputs[i].data());
    }
    auto const values = call(std::move(inputs), x.count(), time);
    std::vector<xt::xarray<float>> results;
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::vector<std::size_t> extents{static_cast<std::size_t>(x.count())};
      for (auto const length : known.outputs[i].shape) extents.push_back(static_cast<std::size_t>(length));
      results.emplace_back(xt::adapt(values[i], extents));
    }
    return results;
  }
};

}  // namespace stagecraft::serving

#include <stagecraft/diagnostics/end_headers.hpp>
