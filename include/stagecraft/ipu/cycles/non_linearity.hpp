// SPDX-License-Identifier: BSD-3-Clause
// Cycles of activations and their gradients (popnn's NonLinearity1D, NonLinearityGrad1D and the 2D ones), and of losses
// and their gradients from predicted and expected values (LossSumSquaredTransform and LossCrossEntropyTransform).
#pragma once

#include <stagecraft/ipu/cycles/integers.hpp>
#include <stagecraft/machines/ipu_target.hpp>
#include <cstdint>

namespace stagecraft::vertices {

/// popnn::NonLinearityType, as far as it works element by element. `gelu` is the approximation by tanh, `gelu_erf` the
/// exact function.
enum class non_linearity_type : unsigned char { relu, sigmoid, tanh, gelu, gelu_erf, swish };

/// An activation of `elements` elements, or its gradient, which all workers of a tile share.
///
/// Source: poplibs, lib/popnn/popnnCycleEstimators.cpp, NonLinearity1D, NonLinearityGrad1D and the 2D ones;
/// lib/popnn/PerformanceEstimation.hpp, getNonLinearityOpCycles and getNonLinearityGradOpCycles. Data are aligned, and
/// pointers need no unpacking. (In place, the source charges swish a branch more, under a name that says the opposite.)
struct non_linearity {
  non_linearity_type type = non_linearity_type::relu;
  dtype data = dtype::float32;  ///< float32 or float16
  std::int64_t elements = 0;
  bool in_place = false;  ///< changes the cycles of swish only

  /// Cycles of the operation on one element, or on 64 bits.
  [[nodiscard]] constexpr int operation_cycles(bool of_vector) const noexcept {
    switch (type) {
      case non_linearity_type::sigmoid: return (is_half() ? 2 : 5) * (of_vector ? 2 : 1);
      case non_linearity_type::tanh: return (is_half() ? 1 : 5) * (of_vector ? 2 : 1);
      case non_linearity_type::gelu: return is_half() ? 5 : 10;
      case non_linearity_type::gelu_erf: return is_half() ? 15 : 30;
      case non_linearity_type::swish: return of_vector ? (is_half() ? 5 : 11) : (is_half() ? 3 : 6);
      default: return 1;
    }
  }
  [[nodiscard]] constexpr int gradient_operation_cycles(bool of_vector) const noexcept {
    switch (type) {
      case non_linearity_type::gelu: return is_half() ? 5 : 10;
      case non_linearity_type::gelu_erf: return is_half() ? 15 : 30;
      case non_linearity_type::swish: return of_vector ? (is_half() ? 9 : 15) : (is_half() ? 7 : 10);
      default: return 3;
    }
  }

  /// Tile cycles of the vertex.
  [[nodiscard]] constexpr std::int64_t cycles(ipu_target const& target) const noexcept {
    int const workers = target.num_worker_contexts;
    std::int64_t const vectors = detail::ceil_div(elements / target.vector_width(data), workers);
    std::int64_t const rest = elements % target.vector_width(data);
    return 9 + workers * (20 + shared_branch() + of_vectors(vectors) + (is_half() ? 4 : 3) + of_rest(rest));
  }
  /// Tile cycles of the vertex that computes the gradient of the input from that of the output, and the output.
  [[nodiscard]] constexpr std::int64_t gradient_cycles(ipu_target const& target) const noexcept {
    int const workers = target.num_worker_contexts;
    std::int64_t const vectors = detail::ceil_div(elements / target.vector_width(data), workers);
    std::int64_t const rest = elements % target.vector_width(data);
    return 9 + workers * (20 + gradient_of_vectors(vectors) + (is_half() ? 6 : 4) + gradient_of_rest(rest));
  }

  [[nodiscard]] constexpr std::int64_t flops() const noexcept {
    switch (type) {
      case non_linearity_type::gelu:
      case non_linearity_type::gelu_erf: return 8 * elements;
      case non_linearity_type::swish: return 2 * elements;
      default: return elements;
    }
  }
  [[nodiscard]] constexpr std::int64_t gradient_flops() const noexcept {
    switch (type) {
      case non_linearity_type::gelu:
      case non_linearity_type::gelu_erf: return 15 * elements;
      case non_linearity_type::swish: return 5 * elements;
      case non_linearity_type::relu: return elements;
      default: return 2 * elements;
    }
  }

 private:
  [[nodiscard]] constexpr bool is_half() const noexcept { return data == dtype::float16; }
  [[nodiscard]] constexpr int shared_branch() const noexcept {
    return type == non_linearity_type::swish && in_place ? 1 : 0;
  }
  /// The loop over vectors, whose first and last ones are outside it.
  [[nodiscard]] constexpr std::int64_t of_vectors(std::int64_t vectors) const noexcept {
    if (vectors == 0) return 0;
    return 2 + operation_cycles(false) + (vectors - 1) * operation_cycles(true) + 1 + operation_cycles(false);
  }
  [[nodiscard]] constexpr std::int64_t of_rest(std::int64_t rest) const noexcept {
    int const operation = operation_cycles(false);
    if (!is_half()) return rest % 2 != 0 ? 2 + operation : 0;
    return ((rest & 2) != 0 ? 2 + operation : 0) + ((rest & 1) != 0 ? 3 + operation : 0);
  }
  [[nodiscard]] constexpr std::int64_t gradient_of_vectors(std::int64_t vectors) const noexcept {
    return vectors == 0 ? 0 : 4 + (vectors - 1) * gradient_operation_cycles(true) + 1;
  }
  [[nodiscard]] constexpr std::int64_t gradient_of_rest(std::int64_t rest) const noexcept {
    int const operation = gradient_operation_cycles(false);
    if (!is_half()) return rest % 2 != 0 ? 1 + operation : 0;
    return ((rest & 2) != 0 ? 2 + operation : 0) + ((rest & 1) != 0 ? 4 + operation : 0);
  }
};

/// The loss of `elements` predicted values and the gradient for each: squared differences, or cross entropy after
/// softmax. A vertex of one worker.
///
/// Source: poplibs, lib/popnn/PerformanceEstimation.hpp, getLossTransformCycles.
struct loss_transform {
  bool is_cross_entropy = true;
  dtype type = dtype::float32;  ///< float32 or float16
  std::int64_t elements = 0;

  /// Cycles of the worker.
  [[nodiscard]] constexpr std::int64_t worker_cycles() const noexcept {
    bool const is_half = type == dtype::float16;
    std::int64_t const loop = (is_cross_entropy ? 9 : 4) * (is_half ? elements / 2 : elements);
    std::int64_t const last = is_half && elements % 2 != 0 ? (is_cross_entropy ? 11 : 6) : 0;
    return 5 + (is_cross_entropy ? 6 : 5) + 5 + 2 + 1 + loop + (is_half ? 1 + 2 : 0) + last + 1;
  }
  [[nodiscard]] constexpr std::int64_t flops() const noexcept {
    return is_cross_entropy ? 6 * elements + 2 : 3 * elements;
  }
};

}  // namespace stagecraft::vertices
