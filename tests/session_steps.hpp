// SPDX-License-Identifier: BSD-3-Clause
// A session whose steps are carried out one at a time, from arrays that the test fills.
#pragma once

#include <stagecraft/description/training.hpp>
#include <stagecraft/engine/session.hpp>
#include <stagecraft/host/host_policy.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

/// Of one replica. What is filled stays there from step to step.
template <class M, auto Training, class Machine = stagecraft::host<>>
class session_steps : public stagecraft::engine::session_of<M, Training, Machine> {
  using base = stagecraft::engine::session_of<M, Training, Machine>;

 public:
  using base::output_count;

  explicit session_steps(std::uint64_t seed = 1) : base(seed) {
    for (int i = 0; i < base::input_count(); ++i)
      inputs_.emplace_back(static_cast<std::size_t>(base::batch) * base::input_shape(i).size());
    for (std::size_t i = 0; i < output_count; ++i) {
      targets_[i].resize(static_cast<std::size_t>(base::batch) * base::output_shape(i).size());
      scales_[i].resize(static_cast<std::size_t>(base::batch) * base::scales_per_sample(i));
    }
  }

  /// Where the samples of an input go: (batch, shape...).
  [[nodiscard]] float* input(int index) { return inputs_[static_cast<std::size_t>(index)].data(); }
  [[nodiscard]] float const* input(int index) const { return inputs_[static_cast<std::size_t>(index)].data(); }
  template <std::size_t Output>
  [[nodiscard]] auto* target() {
    return reinterpret_cast<typename base::template target_type<Output>*>(targets_[Output].data());
  }
  [[nodiscard]] float* scale(std::size_t output) { return scales_[output].data(); }
  void set_valid_samples(int count) { valid_samples_ = count; }

  /// `look()` is called when losses and predictions are there.
  template <class Look>
  void train_step(Look const& look) {
    base::train(1, feed(), results(look));
  }
  void test_step() {
    base::test(1, feed(), results([] {}));
  }
  void predict_step() {
    base::predict(1, feed(), results([] {}));
  }

  [[nodiscard]] float loss(std::size_t output) const { return losses_[output]; }
  [[nodiscard]] float total_loss() const { return total_loss_; }
  /// Of the last step, in the session's memory, until the next one.
  [[nodiscard]] float const* prediction(std::size_t output) const { return predictions_[output]; }

 private:
  [[nodiscard]] auto feed() {
    return [this](auto const& to, int, int) {
      for (std::size_t i = 0; i < inputs_.size(); ++i)
        std::copy(inputs_[i].begin(), inputs_[i].end(), to.input(static_cast<int>(i)));
      if constexpr (base::has_losses)
        [&]<std::size_t... Output>(std::index_sequence<Output...>) {
          (std::copy_n(target<Output>(), targets_[Output].size(), to.template target<Output>()), ...);
          (std::copy(scales_[Output].begin(), scales_[Output].end(), to.scale(Output)), ...);
        }(std::make_index_sequence<output_count>{});
      to.set_valid_samples(valid_samples_);
    };
  }
  template <class Look>
  [[nodiscard]] auto results(Look const& look) {
    return [this, &look](auto const& view) {
      total_loss_ = view.total_loss();
      for (std::size_t i = 0; i < output_count; ++i) {
        losses_[i] = view.loss(i);
        predictions_[i] = view.prediction(i);
      }
      look();
    };
  }

  std::vector<std::vector<float>> inputs_;
  std::array<std::vector<float>, output_count> targets_, scales_;
  std::array<float, output_count> losses_{};
  std::array<float const*, output_count> predictions_{};
  float total_loss_ = 0;
  int valid_samples_ = base::batch;
};
