// SPDX-License-Identifier: BSD-3-Clause
// The interface of a compiled model that computes batches: a predictor, or an application in a file, without its type.
// TensorFlow Serving's word.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stagecraft::serving {

/// The name and the shape of an input or output, without the batch. Elements are float32. TensorFlow's TensorSpec.
struct tensor_spec {
  std::string name;
  std::vector<std::int64_t> shape;  ///< the shape of one sample; empty: a single number
  /// True if a server's clients send bytes, of which each is a number from 0 to 255, followed by zeros.
  bool is_bytes = false;

  /// The number of elements of one sample.
  [[nodiscard]] std::int64_t size() const noexcept {
    std::int64_t product = 1;
    for (auto const length : shape) product *= length;
    return product;
  }
  friend bool operator==(tensor_spec const&, tensor_spec const&) = default;
};

/// Names, shapes and sizes of a servable, known before it runs.
struct servable_description {
  std::string name;                  ///< name of the model
  int batch_size = 1;                ///< the most samples of a batch
  int iterations = 1;                ///< batches of an execution: the model's steps_per_execution
  int stages = 1;                    ///< stages of the pipeline; 1 without one
  int replicas = 1;                  ///< copies of the model, each of which takes batches of its own
  std::vector<tensor_spec> inputs;   ///< in the model's order
  std::vector<tensor_spec> outputs;  ///< in the model's order
  /// Sizes of batches that it computes, increasing up to batch_size; empty: batch_size alone.
  std::vector<int> batch_sizes = {};

  /// The least size of a batch that holds `samples` samples.
  [[nodiscard]] int places_for(std::int64_t samples) const noexcept {
    for (int const size : batch_sizes)
      if (samples <= size) return size;
    return batch_size;
  }
};

/// The caller's side of an execution: it fills the batches and takes the outputs. Functions may be called on several
/// threads at once; for each replica, outputs come in the order of the batches.
class servable_feed {
 public:
  /// Fills a batch: each input has `places_for(samples)` places, one after the other. It may wait. Returns the number
  /// of samples, 0 for a batch that only pushes others through a pipeline, or `no_more` to end the execution at once.
  virtual int feed(int replica, float* const* inputs) = 0;
  /// Receives the outputs of a batch, which are valid during the call.
  virtual void take(int replica, float const* const* outputs) = 0;
  /// Wakes a waiting `feed`, which then returns `no_more`, since the execution has failed elsewhere.
  virtual void cancel() noexcept = 0;

  static constexpr int no_more = -1;

 protected:
  ~servable_feed() = default;
};

namespace detail {

/// Thrown to end an execution from within.
struct no_more_batches {};

}  // namespace detail

/// A compiled model that runs executions, one at a time.
class servable {
 public:
  servable() = default;
  servable(servable const&) = delete;
  servable& operator=(servable const&) = delete;
  virtual ~servable() = default;

  /// Names, shapes and sizes; the reference is valid as long as the servable.
  [[nodiscard]] virtual servable_description const& description() const noexcept = 0;

  /// Runs one execution of `iterations` batches for each replica. Throws what a layer or the feed throws.
  virtual void run(servable_feed& feed) = 0;
};

}  // namespace stagecraft::serving
