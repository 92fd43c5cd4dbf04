// SPDX-License-Identifier: BSD-3-Clause
// Several sizes of batches for one model: the runtime takes the least one that holds the samples that wait. TensorFlow
// Serving's counterpart is allowed_batch_sizes.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/serving/detail/batch_sizes_problem.hpp>
#include <stagecraft/serving/predictor_program.hpp>
#include <stagecraft/serving/program.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace stagecraft::serving {

/// Programs of one model for several batch sizes as one program. A batch of one sample is then not computed as one of
/// 32; one of 9 samples is, unless there is a size between them. Outputs of a sample may differ by rounding from size
/// to size, as those of predictors with another batch_size do.
class batch_sizes_program final : public program {
 public:
  /// `programs`: at least one, with the same inputs and outputs, by increasing batch size, without stages and replicas,
  /// each with one batch in an execution. `iterations`: of an execution of them together.
  batch_sizes_program(std::vector<std::unique_ptr<program>> programs, int iterations)
      : programs_(std::move(programs)), description_(programs_.back()->description()) {
    description_.iterations = iterations;
    for (auto const& each : programs_) description_.batch_sizes.push_back(each->description().batch_size);
    for (auto const& input : description_.inputs)
      inputs_.emplace_back(static_cast<std::size_t>(input.size() * description_.batch_size));
  }

  [[nodiscard]] program_description const& description() const noexcept override { return description_; }

  void run(program_feed& feed) override {
    std::vector<float*> places;
    for (auto& input : inputs_) places.push_back(input.data());
    for (int i = 0; i < description_.iterations; ++i) {
      int const samples = feed.feed(0, places.data());
      if (samples < 0) throw detail::no_more_batches{};
      int const size = description_.places_for(samples);
      auto const& chosen = *std::find_if(programs_.begin(), programs_.end() - 1,
                                         [&](auto const& each) { return each->description().batch_size == size; });
      one_batch batch(feed, *this, samples, size);
      chosen->run(batch);
    }
  }

 private:
  /// Gives a program a batch that is there already.
  class one_batch final : public program_feed {
   public:
    one_batch(program_feed& outer, batch_sizes_program const& of, int samples, int size)
        : outer_(outer), of_(of), samples_(samples), size_(size) {}
    int feed(int, float* const* inputs) override {
      for (std::size_t i = 0; i < of_.inputs_.size(); ++i)
        std::copy_n(of_.inputs_[i].data(), of_.description_.inputs[i].size() * size_, inputs[i]);
      return samples_;
    }
    void take(int replica, float const* const* outputs) override { outer_.take(replica, outputs); }
    void cancel() noexcept override { outer_.cancel(); }

   private:
    program_feed& outer_;
    batch_sizes_program const& of_;
    int samples_, size_;
  };

  std::vector<std::unique_ptr<program>> programs_;
  program_description description_;
  std::vector<std::vector<float>> inputs_;  // of the batch that comes next
};

namespace detail {

/// A description of predictions in batches of another size, one of them at a time.
template <auto Inference, int Size>
inline constexpr auto inference_of_size = [] {
  auto result = Inference;
  result.batch_size = Size;
  result.steps_per_execution = 1;
  return result;
}();

/// Makes the predictor of the same model for another size.
template <class Predictor>
struct predictor_sizes;
template <Model M, auto Inference, class Machine>
struct predictor_sizes<trainers::model_predictor<M, Inference, Machine>> {
  template <int Size>
  using of = predictor<M, inference_of_size<Inference, Size>, Machine>;
  static constexpr int iterations = Inference.steps_per_execution;
};

/// A program of all sizes, the last of which is the predictor's own. `wrap` makes a program of a predictor, which runs
/// one batch at a time.
template <batch_size_list Sizes, class Predictor, class Wrap>
[[nodiscard]] std::unique_ptr<program> make_batch_sizes_program(Predictor&& model, Wrap const& wrap) {
  using sizes = predictor_sizes<Predictor>;
  std::vector<std::unique_ptr<program>> programs;
  auto const weights = model.get_weights();
  [&]<std::size_t... Place>(std::index_sequence<Place...>) {
    auto const add = [&]<int Size>(std::integral_constant<int, Size>) {
      typename sizes::template of<Size> smaller;
      smaller.set_weights(weights);
      programs.push_back(wrap(std::move(smaller)));
    };
    (add(std::integral_constant<int, Sizes.sizes[Place]>{}), ...);
  }(std::make_index_sequence<static_cast<std::size_t>(Sizes.count) - 1>{});
  programs.push_back(wrap(std::move(model)));
  return std::make_unique<batch_sizes_program>(std::move(programs), sizes::iterations);
}

}  // namespace detail

/// A predictor whose weights are given as a program with several sizes of batches, the last of which is the predictor's
/// batch_size, for `engine` and `embedded_runtime`:
///
///     inline constexpr auto inference = sc::inference{.batch_size = 32};
///     sc::predictor<mlp, inference> model;
///     model.load_weights("digits.safetensors");
///     sc::serving::embedded_runtime runtime(sc::serving::allow_batch_sizes<1, 8, 32>(std::move(model)));
///
/// Each size has a plan, weights and memory of its own. `output_names`: as of predictor_program. Errors: E5148 sizes
/// that do not increase up to the batch size, or a model with stages or replicas; E5097.
template <int... Sizes, class Predictor>
  requires(sizeof...(Sizes) > 0 && !std::is_lvalue_reference_v<Predictor> &&
           requires { typename Predictor::session_type; })
[[nodiscard]] std::unique_ptr<program> allow_batch_sizes(Predictor&& model,
                                                         std::vector<std::string> const& output_names = {}) {
  using session_type = typename Predictor::session_type;
  static constexpr batch_size_list sizes(Sizes...);
  static_assert(stagecraft::detail::report<detail::batch_sizes_problem<session_type, sizes>>());
  if constexpr (detail::batch_sizes_problem<session_type, sizes>.failed())
    return nullptr;
  else
    return detail::make_batch_sizes_program<sizes>(
        std::move(model), [&]<class Each>(Each&& each) -> std::unique_ptr<program> {
          return std::make_unique<predictor_program<Each>>(std::move(each), output_names, 1);
        });
}

}  // namespace stagecraft::serving
