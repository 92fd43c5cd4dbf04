// SPDX-License-Identifier: BSD-3-Clause
// Which elements of a tensor lie on which tile: linearly, the counterpart of poputil::mapTensorLinearly, or as a
// convolution's plan wants its weights.
// A tensor of a lowered step: what it is to the layer, its type and size.
// Where the weights of a convolution or matrix product lie: on the tiles that multiply them, as poplin::createWeights
// and createMatMulInputRHS have it.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/dtype.hpp>
#include <stagecraft/ipu/convolution/convolution_division.hpp>
#include <stagecraft/ipu/convolution/convolution_plan.hpp>
#include <stagecraft/ipu/cycles/integers.hpp>
#include <stagecraft/ipu/steps/convolution_strides.hpp>
#include <stagecraft/machines/ipu_target.hpp>
#include <cstdint>

namespace stagecraft::tiles {

/// The mapping of a weight by a plan. Each tile has the slices that it multiplies, one for each serial part, in the
/// order in which its vertex reads them: channels in whole groups, of which the last may be filled up with zeros. Where
/// several tiles multiply the same slice, each has an even share of it (detail::convolution_division::kernel_share).
/// All tiles of the plan have as many places as the first.
struct weight_mapping {
  convolution_shape shape;  ///< the convolution that the plan is for
  convolution_plan plan;
  convolution_strides strides;  ///< strides of the weight's elements
  std::int64_t elements = 0;
  std::int64_t elements_per_tile = 0;  ///< places, of which some may be filled up
  std::int64_t tiles = 0;

  constexpr weight_mapping(convolution_shape const& of, convolution_plan const& by, convolution_strides const& places,
                           ipu_target const& target) noexcept
      : shape(of), plan(by), strides(places), elements(of.weights()), tiles(by.tiles_used()) {
    convolution_division const division(shape, plan, target, false);
    elements_per_tile = division.kernel_slices() * division.kernel_share();
  }

  /// Places on a tile, if there is only one of `parts` parts of the weight.
  [[nodiscard]] constexpr std::int64_t part_of_tile(std::int64_t parts) const noexcept {
    using detail::convolution_division;
    return ceil_div(ceil_div(elements_per_tile, parts), convolution_division::kernel_grain) *
           convolution_division::kernel_grain;
  }
  /// True if a convolution finds its weights where and as it multiplies them.
  [[nodiscard]] constexpr bool serves(convolution_shape const& of, convolution_plan const& by,
                                      convolution_strides const& places) const noexcept {
    return shape == of && strides.weights == places.weights && plan == by;
  }
};

struct weight_mapping;

/// The role of a tensor in a step.
enum class tensor_role : unsigned char {
  input,   ///< an input of the call, by its position
  output,  ///< the call's output
  weight,  ///< a weight of the layer, by its position; forward steps of training may change those that are not trained
  saved,   ///< kept by the forward step for the backward step, by its first float's number
  output_gradient,  ///< gradient of the call's output
  input_gradient,   ///< gradient of an input; written, or added to
  accumulator,      ///< the sum of a weight's gradients, by the weight's position
  target,           ///< a loss's target; class numbers stand as float32, too
  sample_scale,     ///< the weight of each row in a loss
  loss,             ///< the loss of an output: one number
  optimizer_state,  ///< the optimizer's state in a weight update, by its slot
  norm,             ///< a sum of squares for a norm of all weights, by the norm's number
  temporary         ///< a tensor of this step alone, by its number
};

/// A tensor in row-major order. tile_mapping says where it lies.
struct tile_tensor {
  tensor_role role = tensor_role::temporary;
  int index = 0;
  dtype type = dtype::float32;  ///< float32 or float16; uint8 for what is saved
  std::int64_t elements = 0;
  /// The mapping of a weight that a convolution or product multiplies, and of tensors that lie as it does; null: mapped
  /// linearly.
  weight_mapping const* planned = nullptr;

  friend constexpr bool operator==(tile_tensor const&, tile_tensor const&) = default;
};

}  // namespace stagecraft::tiles

namespace stagecraft {

/// Equal pieces of a tensor for the tiles of an IPU one after the other. No tile has more than tile 0.
///
/// Linearly, these are its elements in row-major order. Pieces are whole vectors of the data path, so the last ones may
/// be shorter or empty. Where a plan decides (weight_mapping), they are places: the weight's elements in the plan's
/// order, and zeros that fill up groups of channels.
struct tile_mapping {
  std::int64_t elements = 0;  ///< or places
  std::int64_t elements_per_tile = 0;

  constexpr tile_mapping() = default;
  constexpr tile_mapping(std::int64_t count, dtype type, ipu_target const& target) noexcept
      : elements(count),
        elements_per_tile(detail::ceil_div(detail::ceil_div(count, target.vector_width(type)), target.tiles_per_ipu) *
                          target.vector_width(type)) {}
  constexpr tile_mapping(tiles::tile_tensor const& tensor, ipu_target const& target) noexcept
      : tile_mapping(tensor.planned == nullptr ? tile_mapping(tensor.elements, tensor.type, target)
                                               : tile_mapping(*tensor.planned, tensor.elements)) {}

  friend constexpr bool operator==(tile_mapping const&, tile_mapping const&) = default;

  /// The first element of a tile, and the one after its last; the same for a tile that has none.
  [[nodiscard]] constexpr std::int64_t first(int tile) const noexcept {
    return detail::smaller(tile * elements_per_tile, elements);
  }
  [[nodiscard]] constexpr std::int64_t last(int tile) const noexcept { return first(tile + 1); }
  [[nodiscard]] constexpr std::int64_t elements_of(int tile) const noexcept { return last(tile) - first(tile); }
  [[nodiscard]] constexpr int tile_of(std::int64_t element) const noexcept {
    return static_cast<int>(element / elements_per_tile);
  }
  /// Tiles that have something.
  [[nodiscard]] constexpr int tiles_used() const noexcept {
    return elements == 0 ? 0 : static_cast<int>(detail::ceil_div(elements, elements_per_tile));
  }

 private:
  /// A replica that has a part of a weight only has that part of each tile's piece.
  constexpr tile_mapping(tiles::weight_mapping const& planned, std::int64_t count) noexcept
      : elements_per_tile(count == 0 ? 0 : planned.part_of_tile(detail::ceil_div(planned.elements, count))) {
    elements = planned.tiles * elements_per_tile;
  }
};

}  // namespace stagecraft

namespace stagecraft::tiles {

/// True if the elements of two tensors of one size lie side by side on the same tiles.
[[nodiscard]] constexpr bool lie_alike(tile_tensor const& a, tile_tensor const& b, ipu_target const& target) noexcept {
  return a.planned == b.planned &&
         tile_mapping(a, target).elements_per_tile == tile_mapping(b, target).elements_per_tile;
}

}  // namespace stagecraft::tiles
