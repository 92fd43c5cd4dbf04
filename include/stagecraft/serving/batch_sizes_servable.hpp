// SPDX-License-Identifier: BSD-3-Clause
// Several batch sizes for one model: a batch has the least size that holds the waiting samples. TensorFlow Serving's
// counterpart is allowed_batch_sizes.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/serving/application_options.hpp>
#include <stagecraft/serving/predictor_servable.hpp>
#include <stagecraft/serving/servable.hpp>
#include <stagecraft/training/predictor.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace stagecraft::serving {

/// Joins servables of one model for several batch sizes. With sizes 1 and 32, one sample is computed as a batch of 1,
/// and 9 samples as a batch of 32. Outputs of a sample may differ by rounding from size to size, as those of predictors
/// with another batch_size do.
class batch_sizes_servable final : public servable {
 public:
  /// `servables`: at least one, with the same inputs and outputs, by increasing batch size, without stages and
  /// replicas, each with one batch in an execution. `iterations`: batches of an execution of the whole.
  batch_sizes_servable(std::vector<std::unique_ptr<servable>> servables, int iterations)
      : servables_(std::move(servables)), description_(servables_.back()->description()) {
    description_.iterations = iterations;
    for (auto const& each : servables_) description_.batch_sizes.push_back(each->description().batch_size);
    for (auto const& input : description_.inputs)
      inputs_.emplace_back(static_cast<std::size_t>(input.size() * description_.batch_size));
  }

  [[nodiscard]] servable_description const& description() const noexcept override { return description_; }

  void run(servable_feed& feed) override {
    std::vector<float*> places;
    for (auto& input : inputs_) places.push_back(input.data());
    for (int i = 0; i < description_.iterations; ++i) {
      int const samples = feed.feed(0, places.data());
      if (samples < 0) throw detail::no_more_batches{};
      int const size = description_.places_for(samples);
      auto const& chosen = *std::find_if(servables_.begin(), servables_.end() - 1,
                                         [&](auto const& each) { return each->description().batch_size == size; });
      one_batch batch(feed, *this, samples, size);
      chosen->run(batch);
    }
  }

 private:
  /// Feeds one servable with a batch that is already filled.
  class one_batch final : public servable_feed {
   public:
    one_batch(servable_feed& outer, batch_sizes_servable const& of, int samples, int size)
        : outer_(outer), of_(of), samples_(samples), size_(size) {}
    int feed(int, float* const* inputs) override {
      for (std::size_t i = 0; i < of_.inputs_.size(); ++i)
        std::copy_n(of_.inputs_[i].data(), of_.description_.inputs[i].size() * size_, inputs[i]);
      return samples_;
    }
    void take(int replica, float const* const* outputs) override { outer_.take(replica, outputs); }
    void cancel() noexcept override { outer_.cancel(); }

   private:
    servable_feed& outer_;
    batch_sizes_servable const& of_;
    int samples_, size_;
  };

  std::vector<std::unique_ptr<servable>> servables_;
  servable_description description_;
  std::vector<std::vector<float>> inputs_;  // the next batch
};

namespace detail {

/// The description of predictions in batches of `Size` samples, one batch in an execution.
template <auto Inference, int Size>
inline constexpr auto inference_of_size = [] {
  auto result = Inference;
  result.batch_size = Size;
  result.steps_per_execution = 1;
  return result;
}();

/// Names the predictor type of the same model for another batch size.
template <class Predictor>
struct predictor_sizes;
template <Model M, class Settings, class Machine>
struct predictor_sizes<trainers::model_predictor<M, Settings, Machine>> {
  template <int Size>
  using of = predictor<M, inference_of_size<Settings::value, Size>, Machine>;
  static constexpr int iterations = Settings::value.steps_per_execution;
};

/// Makes a servable of all sizes, the last of which is the predictor's own. `wrap` makes a servable of a predictor; it
/// runs one batch at a time.
template <batch_size_list Sizes, class Predictor, class Wrap>
[[nodiscard]] std::unique_ptr<servable> make_batch_sizes_servable(Predictor&& model, Wrap const& wrap) {
  using sizes = predictor_sizes<Predictor>;
  std::vector<std::unique_ptr<servable>> servables;
  auto const weights = model.get_weights();
  [&]<std::size_t... Place>(std::index_sequence<Place...>) {
    auto const add = [&]<int Size>(std::integral_constant<int, Size>) {
      typename sizes::template of<Size> smaller;
      smaller.set_weights(weights);
      servables.push_back(wrap(std::move(smaller)));
    };
    (add(std::integral_constant<int, Sizes.sizes[Place]>{}), ...);
  }(std::make_index_sequence<static_cast<std::size_t>(Sizes.count) - 1>{});
  servables.push_back(wrap(std::move(model)));
  return std::make_unique<batch_sizes_servable>(std::move(servables), sizes::iterations);
}

}  // namespace detail

/// Makes a servable with several batch sizes of a predictor whose weights are given, for `embedded_runtime`; the last
/// size is the predictor's batch_size:
///
///     inline constexpr auto inference = sc::inference{.batch_size = 32};
///     sc::predictor<mlp, inference> model;
///     model.load_weights("digits.safetensors");
///     sc::serving::embedded_runtime runtime(sc::serving::allow_batch_sizes<1, 8, 32>(std::move(model)));
///
/// Each size has a plan, weights and memory of its own. `output_names`: as for predictor_servable. Errors: E5148 sizes
/// that do not increase up to the batch size, or a model with stages or replicas; E5097.
template <int... Sizes, class Predictor>
  requires(sizeof...(Sizes) > 0 && !std::is_lvalue_reference_v<Predictor> &&
           requires { typename Predictor::session_type; })
[[nodiscard]] std::unique_ptr<servable> allow_batch_sizes(Predictor&& model,
                                                          std::vector<std::string> const& output_names = {}) {
  using session_type = typename Predictor::session_type;
  static constexpr batch_size_list sizes(Sizes...);
  static_assert(stagecraft::detail::report<detail::batch_sizes_problem<session_type, sizes>>());
  if constexpr (detail::batch_sizes_problem<session_type, sizes>.failed())
    return nullptr;
  else
    return detail::make_batch_sizes_servable<sizes>(
        std::move(model), [&]<class Each>(Each&& each) -> std::unique_ptr<servable> {
          return std::make_unique<predictor_servable<Each>>(std::move(each), output_names, 1);
        });
}

}  // namespace stagecraft::serving
