// SPDX-License-Identifier: BSD-3-Clause
// What is known of one micro-batch when its forward pass and its losses are done.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <array>
#include <cstddef>

namespace stagecraft::engine {

/// Handed to the function that a session calls once per micro-batch. Tensors are valid during that call only.
template <class Session>
class step_view {
 public:
  struct numbers {
    int replica = 0;
    int step = 0;  ///< counts the replica's micro-batches of this execution
    int valid_samples = 0;
    bool training = false;
    float total_loss = 0;
  };

  step_view(numbers const& known, std::array<float, Session::end_count> const& losses,
            std::array<float const*, Session::output_count> const& predictions,
            std::array<void const*, Session::end_count> const& targets,
            std::array<float const*, Session::end_count> const& scales)
      : known_(known), losses_(losses), predictions_(predictions), targets_(targets), scales_(scales) {}

  [[nodiscard]] int replica() const { return known_.replica; }
  [[nodiscard]] int step() const { return known_.step; }
  /// Samples of the micro-batch; the rows behind them only fill it.
  [[nodiscard]] int valid_samples() const { return known_.valid_samples; }
  [[nodiscard]] bool training() const { return known_.training; }
  /// The weighted sum of the outputs' losses, what layers add, and the regularizers' penalties; 0 in `predict`.
  [[nodiscard]] float total_loss() const { return known_.total_loss; }
  [[nodiscard]] float loss(std::size_t output) const { return losses_[output]; }
  /// (batch, shape...) of an output.
  [[nodiscard]] float const* prediction(std::size_t output) const { return predictions_[output]; }
  /// The targets of an output; see Session::target_type.
  template <std::size_t Output>
  [[nodiscard]] auto const* target() const {
    return static_cast<typename Session::template target_type<Output> const*>(targets_[Output]);
  }
  /// The weight of each row of an output in its loss: the sample's, divided by the number of rows that are valid.
  [[nodiscard]] float const* scale(std::size_t output) const { return scales_[output]; }

 private:
  numbers known_;
  std::array<float, Session::end_count> losses_;
  std::array<float const*, Session::output_count> predictions_;
  std::array<void const*, Session::end_count> targets_;
  std::array<float const*, Session::end_count> scales_;
};

}  // namespace stagecraft::engine
