// SPDX-License-Identifier: BSD-3-Clause
// A compiled model that runs executions of a fixed number of batches of a fixed size, whatever its type was: what
// servers and runtimes see of a predictor, or of an application in a file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stagecraft::serving {

/// The name and the shape of an input or output, without the batch. Elements are float32. TensorFlow's TensorSpec.
struct tensor_spec {
  std::string name;
  std::vector<std::int64_t> shape;  ///< of one sample; empty: a single number

  /// Elements of one sample.
  [[nodiscard]] std::int64_t size() const noexcept {
    std::int64_t product = 1;
    for (auto const length : shape) product *= length;
    return product;
  }
  friend bool operator==(tensor_spec const&, tensor_spec const&) = default;
};

/// What is known of a program before it runs.
struct program_description {
  std::string name;                  ///< the model's
  int batch_size = 1;                ///< samples of a step, at most
  int iterations = 1;                ///< steps of an execution: the model's steps_per_execution
  int stages = 1;                    ///< of the pipeline; 1 without one
  int replicas = 1;                  ///< copies of the model, each of which takes batches of its own
  std::vector<tensor_spec> inputs;   ///< in the model's order
  std::vector<tensor_spec> outputs;  ///< in the model's order
  /// Sizes of batches that it computes, increasing, the last one the batch_size; none: that one alone.
  std::vector<int> batch_sizes = {};

  /// The size of the batch for so many samples: the least one that holds them.
  [[nodiscard]] int places_for(std::int64_t samples) const noexcept {
    for (int const size : batch_sizes)
      if (samples <= size) return size;
    return batch_size;
  }
};

/// Who gives an execution its batches and takes its results. Functions may be called on several threads at once; for
/// each replica, results come in the order of the batches.
class program_feed {
 public:
  /// Fills a batch: each input has `places_for` the batch's samples, one after the other. It may wait. Returns how many
  /// samples count, 0 for a batch that only pushes others through a pipeline, or `no_more` to end the execution at
  /// once.
  virtual int feed(int replica, float* const* inputs) = 0;
  /// Sees the outputs of a batch, which are valid during the call.
  virtual void take(int replica, float const* const* outputs) = 0;
  /// Ends what `feed` waits for, since the execution has failed elsewhere: it returns `no_more` then.
  virtual void cancel() noexcept = 0;

  static constexpr int no_more = -1;

 protected:
  ~program_feed() = default;
};

namespace detail {

/// Ends an execution from within.
struct no_more_batches {};

}  // namespace detail

/// Runs executions, one at a time.
class program {
 public:
  program() = default;
  program(program const&) = delete;
  program& operator=(program const&) = delete;
  virtual ~program() = default;

  /// What is known of it before it runs.
  [[nodiscard]] virtual program_description const& description() const noexcept = 0;

  /// One execution of `iterations` batches for each replica. Throws what a layer throws, and what the feed throws.
  virtual void run(program_feed& feed) = 0;
};

}  // namespace stagecraft::serving
