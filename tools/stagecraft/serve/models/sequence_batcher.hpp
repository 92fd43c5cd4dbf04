// SPDX-License-Identifier: BSD-3-Clause
// Sequences of requests to a model that has its states as inputs and outputs: the server keeps them from one request of
// a sequence to the next. Triton's sequence batcher with implicit state management.
#pragma once

#include "serve/models/model_engines.hpp"

#include <stagecraft/serving/servable.hpp>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace stagecraft::tool {

/// What a model's config.pbtxt says of sequences.
struct sequence_settings {
  struct state {
    std::string input, output;
    std::optional<std::vector<std::int64_t>> shape;  ///< `dims`; none: it is not said
  };
  std::vector<state> states;
  std::chrono::microseconds idle{1000000};  ///< a sequence without a request for so long is forgotten
  std::size_t most = 10000;                 ///< sequences that may be open: max_candidate_sequences
};

/// What a request says of its sequence: Triton's parameters sequence_id, sequence_start and sequence_end.
struct sequence_request {
  std::string id;        ///< a number above 0, or a text; empty: the request belongs to no sequence
  bool is_text = false;  ///< the number 5 and the text "5" are different sequences
  bool starts = false, ends = false;
};

/// The sequences of one version. Requests of different sequences share batches; those of one are answered one by one,
/// in the order in which they came.
class sequence_batcher {
 public:
  using tensors = std::vector<std::vector<float>>;

  /// Throws file_error E5301 if the model's inputs and outputs are not such states.
  sequence_batcher(std::string model, sequence_settings settings, serving::servable_description const& of);

  /// The model without its states, as callers see it.
  [[nodiscard]] serving::servable_description const& visible() const noexcept { return visible_; }

  /// The longest time that a sequence may be without a request.
  [[nodiscard]] std::chrono::microseconds idle() const noexcept { return settings_.idle; }

  /// Runs one sample of a sequence, from zeros if it starts. If the call fails, the state stays what it was, so that it
  /// can be repeated. Throws http_error: 400 no sequence, more than one sample, or a sequence that has not been
  /// started, or not for too long; 503 too many sequences; 504 the earlier requests took all of the time; and what
  /// `embedded_runtime::call` throws.
  [[nodiscard]] tensors call(model_engines& runtime, tensors inputs, std::int64_t samples,
                             sequence_request const& request, std::chrono::microseconds time, int priority);

  /// True if this sequence is open.
  [[nodiscard]] bool has(sequence_request const& request);
  /// The number of sequences that are open.
  [[nodiscard]] std::size_t count();

 private:
  using clock = std::chrono::steady_clock;

  struct sequence {
    std::string key;
    tensors states;                     // only who has the turn uses it
    std::deque<std::uint64_t> waiting;  // the turns of requests, the first of which is being answered
    clock::time_point last;
    bool is_open = true;
  };
  using sequence_pointer = std::shared_ptr<sequence>;

  [[nodiscard]] sequence_pointer find_or_start(sequence_request const& request);
  void forget_idle(clock::time_point now);
  void close(sequence_pointer const& which);
  [[nodiscard]] tensors run(model_engines& runtime, tensors& states, tensors inputs, std::chrono::microseconds time,
                            int priority) const;

  std::string model_;
  sequence_settings settings_;
  serving::servable_description visible_;
  std::size_t input_count_ = 0;                                    // of the model, with its states
  std::vector<std::size_t> inputs_, outputs_;                      // places of what is visible
  std::vector<std::size_t> state_inputs_, state_outputs_, sizes_;  // places and lengths of the states
  std::mutex mutex_;
  std::condition_variable turns_;
  std::uint64_t next_turn_ = 0;
  std::list<sequence_pointer> by_use_;  // the one that has not been used for longest is the first
  std::unordered_map<std::string, std::list<sequence_pointer>::iterator> open_;
};

}  // namespace stagecraft::tool
