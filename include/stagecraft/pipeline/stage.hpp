// SPDX-License-Identifier: BSD-3-Clause
// The layers of one pipeline stage, as a value for a template argument. Counterpart: one of the lists that
// ipu.keras.PipelineSequential took.
#pragma once

#include <cstddef>
#include <utility>

namespace stagecraft::pipeline {

/// One of a stage's layers. Bases side by side cost the compiler less than layers inside each other.
template <std::size_t Index, class Layer>
struct stage_entry {
  Layer layer;
};

template <class Indices, class... Layers>
struct stage_entries;
template <std::size_t... Index, class... Layers>
struct stage_entries<std::index_sequence<Index...>, Layers...> : stage_entry<Index, Layers>... {
  constexpr explicit stage_entries(Layers const&... layer) : stage_entry<Index, Layers>{layer}... {}
};

}  // namespace stagecraft::pipeline

namespace stagecraft {

/// The layers of a pipeline stage, written as in a sequential model: `stage{dense{128, sc::relu}, dense{10}}`.
template <class... Layers>
struct stage : detail::stage_entries<std::index_sequence_for<Layers...>, Layers...> {
  static constexpr std::size_t size = sizeof...(Layers);

  constexpr stage(Layers const&... layer)
      : detail::stage_entries<std::index_sequence_for<Layers...>, Layers...>(layer...) {}
};
template <class... Layers>
stage(Layers const&...) -> stage<Layers...>;

}  // namespace stagecraft

namespace stagecraft::pipeline {

template <class T>
inline constexpr bool is_stage = false;
template <class... Layers>
inline constexpr bool is_stage<stage<Layers...>> = true;

template <std::size_t Index, class Layer>
constexpr Layer const& layer_in(stage_entry<Index, Layer> const& entry) {
  return entry.layer;
}

}  // namespace stagecraft::pipeline
