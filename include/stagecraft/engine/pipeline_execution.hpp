// SPDX-License-Identifier: BSD-3-Clause
// What the passes of one execution share: where micro-batches come from, and where results go to.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/engine/trace.hpp>
#include <stagecraft/threads/thread_team.hpp>
#include <array>
#include <cstddef>
#include <cstdint>

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
  /// Number of samples of the micro-batch; the rows after them only fill it.
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

/// The place where the first stage's infeed writes a micro-batch.
template <class Session>
class pipeline_feed {
 public:
  pipeline_feed(std::array<float*, static_cast<std::size_t>(Session::input_count())> const& inputs,
                std::array<float*, Session::end_count> const& targets,
                std::array<float*, Session::end_count> const& scales, int& samples, float const** lent)
      : inputs_(inputs), targets_(targets), scales_(scales), samples_(samples), lent_(lent) {}

  /// (batch, shape...) of an input.
  [[nodiscard]] float* input(int index) const { return inputs_[index]; }
  /// True if samples need not be copied: `lend` says where all of the only input's lie until the step is over.
  [[nodiscard]] bool takes_loans() const { return lent_ != nullptr; }
  void lend(float const* samples) const { *lent_ = samples; }
  template <std::size_t Output>
  [[nodiscard]] auto* target() const {
    return reinterpret_cast<typename Session::template target_type<Output>*>(targets_[Output]);
  }
  /// The weight of each row of an output in the loss.
  [[nodiscard]] float* scale(std::size_t output) const { return scales_[output]; }
  /// Sets the number of samples of the micro-batch, which begin with the first row.
  void set_valid_samples(int count) const { samples_ = count; }

 private:
  std::array<float*, static_cast<std::size_t>(Session::input_count())> inputs_;
  std::array<float*, Session::end_count> targets_, scales_;
  int& samples_;
  float const** lent_;
};

/// The state that all passes of an execution share. Each thread has a copy, which it may read when the execution is
/// over.
template <class Session>
struct pipeline_execution {
  void const* feed = nullptr;
  void (*call_feed)(void const*, pipeline_feed<Session> const&, int replica, int step) = nullptr;
  void const* results = nullptr;
  void (*call_results)(void const*, step_view<Session> const&) = nullptr;
  void (*cancel)(pipeline_execution const&) noexcept = nullptr;  ///< ends every wait in `feed` and `results`
  bool has_targets = false;
  thread_team* team = nullptr;  ///< team of the devices' first threads; null: there is one thread
  std::uint64_t seed = 1;
  std::uint64_t first_step = 0;  ///< number of the first training step, counted over all replicas
  std::int64_t updates = 0;      ///< updates of the weights before this execution
  int accumulated = 0;           ///< micro-batches before this execution whose weight update is still to come
  float learning_rate = 0;
  float const* shared_weights = nullptr;  ///< weights of all replicas together, where each holds a part
  float* step_weights = nullptr;  ///< the weights that steps read in place of the stored ones, if the policy says so
  float* prepared_weights = nullptr;  ///< the weights as the policy has prepared them once
  trace* record = nullptr;
};

}  // namespace stagecraft::engine
