// SPDX-License-Identifier: BSD-3-Clause
// A callback's view of the model in training, and copies of its weights. Keras counterpart: `self.model` of a
// callback.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// Name, shape and values (row-major) of one weight, in Keras's layout, independent of how kernels store it.
/// `xt::adapt(weight.values, weight.shape)` makes an xtensor adaptor of it.
struct weight_array {
  std::string name;           ///< Keras's name of it, for example "dense/kernel:0"
  std::vector<int> shape;     ///< Keras's shape of it, for example (inputs, units)
  std::vector<float> values;  ///< all of it, row-major

  friend bool operator==(weight_array const&, weight_array const&) = default;
};

}  // namespace stagecraft

namespace stagecraft::trainers {

/// A model in training, without its type. Trainers implement it.
class trainable {
 public:
  /// If a callback sets it to true, `fit` ends after the current batch of training.
  bool stop_training = false;

  virtual ~trainable() = default;

  /// The model's name, as in its summary.
  [[nodiscard]] virtual std::string_view name() const = 0;

  /// The optimizer's learning rate (Keras: `model.optimizer.lr`).
  [[nodiscard]] virtual float learning_rate() const = 0;
  /// Sets the rate of the steps that follow.
  virtual void set_learning_rate(float value) = 0;

  /// Copies of all weights, in Keras's order.
  [[nodiscard]] virtual std::vector<weight_array> get_weights() const = 0;
  /// Writes all weights back. Throws data_error E4009 when number, shapes or names differ from the model's.
  virtual void set_weights(std::vector<weight_array> const& weights) = 0;

  /// Sets the states of stateful layers to zeros, for example at an epoch's end.
  virtual void reset_states() = 0;

  /// An address that identifies the class of a trained model without RTTI.
  [[nodiscard]] virtual void const* kind() const noexcept { return nullptr; }

 protected:
  trainable() = default;
  trainable(trainable const&) = default;
  trainable& operator=(trainable const&) = default;
};

}  // namespace stagecraft::trainers
