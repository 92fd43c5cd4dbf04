// SPDX-License-Identifier: BSD-3-Clause
// A weight as its layer describes it, with its constraint. Keras counterparts: `add_weight`, tf.keras.constraints.
#pragma once

#include <stagecraft/diagnostics/own_options.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/diagnostics/text.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/graph/shape.hpp>
#include <stagecraft/initializers/constant.hpp>
#include <stagecraft/initializers/initializer.hpp>
#include <stagecraft/initializers/variance_scaling.hpp>
#include <stagecraft/regularizers/regularizer.hpp>
#include <string_view>

namespace stagecraft {

namespace operations {
struct tensor;
class tracer;
}  // namespace operations

/// Any constraint; `constraint{}` is none. Its members have no initializers, as those of own_options.
struct constraint {
  using own_call = operations::tensor(operations::tracer&, operations::tensor);
  static constexpr std::string_view own_name = "constraint";
  static constexpr std::string_view own_usage = "constexpr auto call(auto& ops, auto weight) const";

  diagnostics::own_rules<own_call> const* rules;
  diagnostics::own_options options;

  friend constexpr bool operator==(constraint const&, constraint const&) = default;

  /// True if a weight stays what its update made of it.
  [[nodiscard]] constexpr bool empty() const { return rules == nullptr; }
};

}  // namespace stagecraft

namespace stagecraft::tracing {

/// The ways in which a policy may store a weight.
enum class parameter_layout : unsigned char {
  plain,   ///< row-major, as in its shape
  matrix,  ///< the right factor of matrix products, (rows..., columns): kept packed in SIMD panels
};

}  // namespace stagecraft::tracing

namespace stagecraft {

/// One weight: Keras's `add_weight`.
struct parameter {
  fixed_name name;          ///< Keras's name of it, such as "kernel"
  stagecraft::shape shape;  ///< has no batch dimension
  /// The rule for its first values. If none is named: glorot_uniform, which is the default of Keras's `add_weight`,
  /// whether it is trainable or not; but zeros if the last word of its name is "bias", as in "bias", "recurrent_bias",
  /// "scope/bias".
  stagecraft::initializer initializer = {};
  stagecraft::regularizer regularizer = {};
  bool trainable = true;
  stagecraft::constraint constraint = {};
  bool frozen = false;        ///< its layer is not trainable: nothing changes it, and `trainable` is false
  bool frozen_state = false;  ///< its layer would change it in forward steps if it were not frozen
  tracing::parameter_layout layout = tracing::parameter_layout::plain;
  int groups = 1;  ///< the number of matrices that stand side by side in a matrix, each a factor of its own
  /// True for the state that a stateful layer keeps of each sample from batch to batch: the first axis of its shape is
  /// the batch, its layer changes it in evaluation and prediction as well, and weights, counts and files leave it out.
  /// If it is `trainable`, it is what capture_upstream_gradients keeps of a batch, and updates put its gradient in its
  /// place.
  bool between_batches = false;

  /// A weight with Keras's three options for it.
  [[nodiscard]] static constexpr parameter with(std::string_view name, stagecraft::shape const& each,
                                                stagecraft::initializer const& initializer,
                                                stagecraft::regularizer const& regularizer,
                                                stagecraft::constraint const& constraint,
                                                tracing::parameter_layout layout = tracing::parameter_layout::plain,
                                                int groups = 1) {
    return {.name = name,
            .shape = each,
            .initializer = initializer,
            .regularizer = regularizer,
            .constraint = constraint,
            .layout = layout,
            .groups = groups};
  }

  /// The rule of `initializer`, for one that is not named. States, which are no weights in Keras, begin with 0.
  constexpr void choose_initializer() {
    if (initializer.kind != initializer_kind::unsaid) return;
    auto const word = name.view();
    bool const is_bias =
        word.ends_with("bias") && (word.size() == 4 || word[word.size() - 5] == '_' || word[word.size() - 5] == '/');
    stagecraft::initializer chosen = initializers::glorot_uniform{};
    if (is_bias || between_batches) chosen = initializers::zeros{};
    chosen.unit_forget_bias = initializer.unit_forget_bias;
    initializer = chosen;
  }
  /// Makes it a weight of a layer that is not trainable, which keeps its states from batch to batch all the same.
  constexpr void freeze() noexcept {
    if (between_batches) return;
    frozen_state = frozen_state || is_state();
    trainable = false;
    frozen = true;
  }
  /// True if its layer changes it in forward steps of training, as batch_normalization its moving mean; what is kept
  /// between batches even if the layer is frozen.
  [[nodiscard]] constexpr bool is_state() const noexcept { return !trainable && !frozen; }
  /// True if steps of a mixed policy read it rounded: all but what forward steps change. Keras's AutoCastVariable.
  [[nodiscard]] constexpr bool is_cast() const noexcept { return trainable || (frozen && !frozen_state); }
  [[nodiscard]] constexpr int size() const noexcept { return shape.size(); }
  /// True if it is a gradient that is kept.
  [[nodiscard]] constexpr bool is_captured() const noexcept { return between_batches && trainable; }
  /// The numbers of it that Keras's `count_params` counts.
  [[nodiscard]] constexpr int counted_size() const noexcept { return between_batches ? 0 : size(); }
  /// The columns of a matrix are its last axis, its rows all others together.
  [[nodiscard]] constexpr int columns() const noexcept { return shape.back(); }
  [[nodiscard]] constexpr int rows() const noexcept { return shape.size() / shape.back(); }
};

/// The weights of one layer, in Keras's order. It allocates: nothing keeps it beyond constant evaluation.
struct parameter_list {
  static constexpr int most = 32;  ///< the number of weights that call_needs has bits for

  tracing::growing_array<parameter> entries;  ///< entries from `count` on are left from another layer
  int count = 0;

  /// E1028 for more than `most`, of which the first are kept.
  constexpr void add(parameter const& weight) {
    if (count < static_cast<int>(entries.size()))
      entries[count] = weight;
    else if (count < most)
      entries.push_back(weight);
    ++count;
  }
};

}  // namespace stagecraft
