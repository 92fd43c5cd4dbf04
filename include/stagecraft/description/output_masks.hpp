// SPDX-License-Identifier: BSD-3-Clause
// Which rows of an output do not count: those of steps that the model's inputs mask. Keras counterpart: the masks in
// compile_utils.LossesContainer and MetricsContainer.
#pragma once

#include <stagecraft/models/queries.hpp>
#include <cstddef>

namespace stagecraft::jobs {

/// True if the steps that an output's mask leaves out can be told by the inputs alone, which is so where the layers
/// that make masks read inputs. Errors: E4093.
constexpr bool is_mask_of_inputs(graph_view const& graph, int output) {
  auto const* const mask = graph.mask_of(output);
  if (mask == nullptr) return true;
  auto const& rows = graph.call(output).shape;
  for (int i = 0; i < mask->masks.count; ++i) {
    if (mask->sources[i] < 0) return false;
    auto const& source = graph.call(mask->sources[i]);
    if (!source.is_input || rows.rank() < 2 || source.shape.rank() < 1 || source.shape[0] != rows[0]) return false;
  }
  return true;
}

/// The weight of a row in the loss whose step is masked. No weight of a user is -0.
inline constexpr float masked_weight = -0.0F;
[[nodiscard]] inline bool is_masked(float weight) noexcept { return weight == 0 && __builtin_signbit(weight) != 0; }

/// Masks the weights of the rows of `samples` samples. `input(call)` returns the values of an input's call.
template <Model M, std::size_t Output, class Input>
void mask_rows(Input const& input, std::size_t samples, float* weights) {
  constexpr auto const& graph = graph_of<M>;
  constexpr int output = outputs_of<M>[Output];
  if constexpr (graph.mask_of(output) != nullptr) {
    constexpr auto const& mask = *graph.mask_of(output);
    constexpr auto steps = static_cast<std::size_t>(graph.call(output).shape[0]);
    constexpr auto rows = static_cast<std::size_t>(graph.call(output).shape.size() / graph.call(output).shape.back());
    for (int i = 0; i < mask.masks.count; ++i) {
      auto const& rule = mask.masks.rules[i];
      float const* const source = input(mask.sources[i]);
      auto const features = static_cast<std::size_t>(graph.call(mask.sources[i]).shape.size()) / steps;
      for (std::size_t step = 0; step < samples * steps; ++step) {
        bool counts = false;
        for (std::size_t k = 0; k < features; ++k) counts = counts || source[step * features + k] != rule.value;
        for (std::size_t k = 0; k < rows / steps && !counts; ++k) weights[step * (rows / steps) + k] = masked_weight;
      }
    }
  }
}

}  // namespace stagecraft::jobs
