// SPDX-License-Identifier: BSD-3-Clause
// Which element of a weight lies at which place, where a plan decides.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/steps/weight_mapping.hpp>
#include <stagecraft/ipu/tiles/convolution_boxes.hpp>
#include <stagecraft/ipu/tiles/convolution_elements.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stagecraft::tiles {

/// Places are those of weight_mapping, tile by tile.
class weight_places {
 public:
  weight_places(weight_mapping const& mapping, ipu_target const& target)
      : element_(static_cast<std::size_t>(mapping.tiles * mapping.elements_per_tile), -1),
        place_(static_cast<std::size_t>(mapping.elements), -1) {
    convolution_division const division(mapping.shape, mapping.plan, target, false);
    convolution_elements const elements(mapping.shape, mapping.plan.transform, mapping.strides);
    bool const is_input = division.kernel_is_input();
    for (std::int64_t tile = 0; tile < mapping.tiles; ++tile)
      for (std::int64_t out = 0; out < (is_input ? 1 : division.serial_out_parts); ++out)
        for (std::int64_t in = 0; in < division.serial_in_parts; ++in) {
          auto const part = division.part(tile, out, in);
          auto const own = division.kernel_share_of(tile, part);
          std::int64_t const first =
              tile * mapping.elements_per_tile + division.kernel_slice_of(out, in) * division.kernel_share();
          std::int64_t index = 0;
          auto const add = [&](std::int64_t element) {
            std::int64_t const i = index++;
            if (i < own.first || i >= own.last || element < 0) return;
            element_[first + i - own.first] = element;
            place_[element] = first + i - own.first;
          };
          if (!is_input) {
            visit_weights(part, [&](auto... i) { add(elements.weight(i...)); });
            continue;
          }
          for (auto g = part.conv_groups.first; g < part.conv_groups.last; ++g)
            for (auto x = part.columns.first; x < part.columns.last; ++x)
              for (auto c = part.in_chans.first; c < part.in_chans.last; ++c) add(elements.input(g, 0, 0, x, c));
        }
  }

  /// -1 for a zero that fills up.
  [[nodiscard]] std::int64_t element_at(std::int64_t place) const { return element_[place]; }
  [[nodiscard]] std::int64_t place_of(std::int64_t element) const { return place_[element]; }

 private:
  std::vector<std::int64_t> element_;
  std::vector<std::int64_t> place_;
};

}  // namespace stagecraft::tiles
