// SPDX-License-Identifier: BSD-3-Clause
// Layers of Graphcore's Keras: serial_dense, recomputation_checkpoint, capture_upstream_gradients.
#pragma once

#include <stagecraft/activations/activation.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/initializers/constant.hpp>
#include <stagecraft/initializers/variance_scaling.hpp>
#include <stagecraft/layers/count_limit.hpp>
#include <stagecraft/layers/layer.hpp>
#include <stagecraft/layers/option_layer.hpp>
#include <stagecraft/operations/composite_gradient.hpp>

namespace stagecraft {

/// The axis along which serial_dense divides its product (rows, features) * (features, units), in Graphcore's words.
enum class serialization_dimension : unsigned char {
  input_columns,              ///< the rows of a sample
  input_rows_kernel_columns,  ///< the features: parts are added
  kernel_rows,                ///< the units
};

}  // namespace stagecraft

namespace stagecraft::layers {

/// Graphcore's keyword arguments of SerialDense after the positional ones.
struct serial_dense_options {
  stagecraft::activation activation = linear;  ///< the function of the sums
  bool use_bias = true;  ///< true if the layer has weights `bias`, one per unit, which are added to the products
  initializer kernel_initializer = initializers::glorot_uniform{};  ///< the values that the kernel begins with
  initializer bias_initializer = initializers::zeros{};             ///< the values that the bias begins with
  regularizer kernel_regularizer = {};  ///< a penalty on the kernel that is added to the loss: l1, l2 or both
  regularizer bias_regularizer = {};    ///< a penalty on the bias that is added to the loss: l1, l2 or both
  /// A penalty on the output that is added to the loss, divided by the batch size: l1, l2 or both.
  regularizer activity_regularizer = {};
  /// The constraint on the kernel after each update: non_neg, max_norm and the like.
  constraint kernel_constraint = {};
  constraint bias_constraint = {};  ///< the constraint on the bias after each update: non_neg, max_norm and the like
#include <stagecraft/layers/common_options.hpp>
};

/// A dense layer whose product is made in parts, one after the other: SerialDense of Graphcore's Keras layers.
/// It computes the result of dense in `serialization_factor` products, one after the other, with less memory and more
/// time.
///
/// Shape: (..., features) to (..., units). Weights: kernel (features, units), bias (units). Cost: that of dense.
/// Errors: E1001; E1002 without features; E1012 units; E1078 a factor that does not divide its axis.
/// Definition: Graphcore's IPU TensorFlow Addons, keras.layers.SerialDense.
struct serial_dense : argument_layer<serial_dense, serial_dense_options> {
  static constexpr std::string_view class_name = "SerialDense";
  static constexpr std::string_view usage =
      "serial_dense{units, factor, sc::serialization_dimension::kernel_rows} or serial_dense{units, factor, "
      "sc::serialization_dimension::kernel_rows, {.activation = sc::relu, .name = ...}}"sv;

  int units = 1, serialization_factor = 1;
  stagecraft::serialization_dimension serialization_dimension = serialization_dimension::kernel_rows;
  using arguments =
      argument_list<&serial_dense::units, &serial_dense::serialization_factor, &serial_dense::serialization_dimension>;

  constexpr serial_dense(detail::whole_number units_, int factor, stagecraft::serialization_dimension along,
                         serial_dense_options const& options_ = {})
      : argument_layer(with{}, options_), units(units_), serialization_factor(factor), serialization_dimension(along) {}
  using argument_layer::argument_layer;

  constexpr auto call(auto& ops, auto x) const {
    using enum stagecraft::serialization_dimension;
    if (x.rank() < 2) return ops.error(1002, "has an input without features"), x;
    if (!detail::are_counts(units))
      return ops.error(1012, "has ", units, " units; it needs ", detail::count_limit(units)), x;
    int const features = x.length(-1), samples = x.length(0), parts = serialization_factor;
    int const rows = static_cast<int>(x.shape().size() / features);
    int const along = serialization_dimension == kernel_rows     ? units
                      : serialization_dimension == input_columns ? rows / samples
                                                                 : features;
    if (parts < 1 || along % parts != 0)
      return ops.error(1078, "has a serialization_factor of ", parts, ", which does not divide the ", along,
                       " elements of its axis"),
             x;
    if (parts > 4096)  // each part is an operation of its own
      return ops.error(1078, "has a serialization_factor of ", parts, "; it is at most 4096"), x;
    auto const kernel = ops.weight(parameter::with("kernel", {features, units}, options.kernel_initializer,
                                                   options.kernel_regularizer, options.kernel_constraint));
    auto const all = ops.reshape(x, {samples, rows / samples, features});
    tracing::growing_array<decltype(x)> products;
    for (int i = 0; i < parts; ++i) {
      int const count = along / parts, begin = i * count;
      auto const left = serialization_dimension == kernel_rows     ? all
                        : serialization_dimension == input_columns ? ops.slice(all, 1, begin, count)
                                                                   : ops.slice(all, 2, begin, count);
      auto const right = serialization_dimension == kernel_rows     ? ops.slice(kernel, 1, begin, count)
                         : serialization_dimension == input_columns ? kernel
                                                                    : ops.slice(kernel, 0, begin, count);
      products.push_back(ops.matmul(left, right));
    }
    auto sum = products[0];
    if (serialization_dimension != input_rows_kernel_columns)
      sum = ops.concatenate(products, serialization_dimension == kernel_rows ? 2 : 1);
    else
      for (int i = 1; i < parts; ++i) sum += products[static_cast<std::size_t>(i)];
    auto result = x.shape();
    result[-1] = units;
    auto y = ops.reshape(sum, result);
    if (options.use_bias)
      y += ops.weight(parameter::with("bias", {units}, options.bias_initializer, options.bias_regularizer,
                                      options.bias_constraint));
    return options.activation(y);
  }
};

/// A tensor that is kept for recomputation: ipu_tensorflow_addons.keras.layers.RecomputationCheckpoint.
/// Returns its input. Where a pipeline stage's forward steps are carried out again before its backward steps, piece by
/// piece (`recomputation_mode::recompute_and_backpropagate_interleaved`), a piece ends here: the tensor is kept from
/// the forward pass, and the steps after it are recomputed and finished before those in front of it. So a long stage
/// needs less memory at a time. In other recomputation modes, without recomputation and at inference it changes
/// nothing, and all of them have the same bits.
///
/// Shape unchanged. No weights, no cost: the output is the input's memory. May be called on any number of tensors, one
/// at a time, where Graphcore's layer also takes several in a structure. Errors: E1001 for more than one tensor.
/// Definition: Graphcore's IPU TensorFlow Addons, keras/layers/recomputation.
struct recomputation_checkpoint : layer<recomputation_checkpoint> {
  static constexpr std::string_view class_name = "RecomputationCheckpoint";
  static constexpr bool is_view = true;

  [[nodiscard]] constexpr shape output_shape(layer_inputs const& in) const {
    if (!in.expect_count(1, 1)) return in[0];
    return in[0];
  }
};

/// The tag, which is the layer's name, and nothing else.
struct capture_upstream_gradients_options {
  /// The layer's name in summaries and errors, and that of the gradient; empty: made from the class, as in Keras.
  fixed_name name = {};
  bool trainable = true;  ///< false changes nothing: gradients are captured all the same
};

/// Lets programs and loss scaling see a gradient on its way back. Graphcore counterpart:
/// keras.ipu.layers.CaptureUpstreamGradients, CaptureActivationGradients.
/// Returns its input, and keeps the input's gradient: `trainer.captured_gradients<"tag">()` returns that of the last
/// weight update, summed (or meant) over its micro-batches and replicas as gradients of weights are, and als_optimizer
/// counts it. Where Graphcore's wrappers take a layer, this stands after it: `dense{8}, capture_upstream_gradients{},
/// activation{relu}` is CaptureUpstreamGradients(Dense(8)) and, as it stands before the activation,
/// CaptureActivationGradients(Dense(8, "relu")).
///
/// Shape unchanged. It keeps a tensor of a whole batch as a weight of its own, beside the optimizer's numbers for it,
/// which files and counts leave out. Errors: E1001; E1087 in a model whose inputs fix no batch size
/// (`input{4}.of_batch_size(8)`). Definition: Graphcore's Keras, keras/ipu/layers/capture_upstream_gradients.py.
struct capture_upstream_gradients : option_layer<capture_upstream_gradients, capture_upstream_gradients_options> {
  static constexpr bool supports_masking = true;
  static constexpr std::string_view class_name = "CaptureUpstreamGradients";
  static constexpr std::string_view usage =
      "capture_upstream_gradients{} or capture_upstream_gradients{{.name = ...}}"sv;

  using option_layer::option_layer;

  constexpr auto call(auto& ops, auto x) const {
    auto const captured = ops.state("gradient", x.shape(), true);
    return ops.composite("capture", {x, captured}, [&] { return x + 0.0F; }, keep_gradient);
  }

 private:
  static constexpr void keep_gradient(operations::composite_gradient& of) {
    of.give(0, of.gradient());
    of.give(1, of.gradient());
  }
};

}  // namespace stagecraft::layers
