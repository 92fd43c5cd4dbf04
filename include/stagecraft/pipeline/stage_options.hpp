// SPDX-License-Identifier: BSD-3-Clause
// Options of Poplar's libraries for single stages of a pipeline: Graphcore's PipelineStageOptions.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/stage_poplar_options.hpp>
#include <stagecraft/pipeline/reserved_options.hpp>

namespace stagecraft {

/// Graphcore's PipelineStageOptions: what is planned otherwise in one stage. Options of other libraries of Poplar have
/// no counterpart, as there is nothing for them to change; slice_options (embeddings) is E2058.
struct pipeline_stage_options {
  /// What differs for convolutions.
  stage_poplar_options convolution_options = {};
  /// What differs for matrix products.
  stage_poplar_options matmul_options = {};
  [[no_unique_address]] detail::reserved_option<detail::reserved_key::slice_options> slice_options = {};

  /// Whether anything is given.
  [[nodiscard]] constexpr bool given() const noexcept { return convolution_options.given() || matmul_options.given(); }
};

}  // namespace stagecraft

namespace stagecraft::pipeline {

/// The options of all stages, in their order: those of `stage_options<...>`, or none.
///
/// It is an address, so that a training description stays small.
class stage_options_list {
 public:
  constexpr stage_options_list() = default;
  template <int Count>
  constexpr stage_options_list(pipeline_stage_options const (&options)[Count]) : first(options), count(Count) {}

  /// What is planned otherwise in a stage; of one that has no entry, nothing.
  [[nodiscard]] constexpr pipeline_stage_options of(int stage) const noexcept {
    return stage >= 0 && stage < count ? first[stage] : pipeline_stage_options{};
  }
  [[nodiscard]] constexpr bool given() const noexcept { return count > 0; }

  // Public, since a training description is a template argument.
  pipeline_stage_options const* first = nullptr;
  int count = 0;
};

template <pipeline_stage_options... Options>
inline constexpr pipeline_stage_options listed_options[]{Options...};

}  // namespace stagecraft::pipeline

namespace stagecraft {

/// Options of Poplar for each stage:
///
///     .pipeline = {.forward_propagation_stages_poplar_options = sc::stage_options<
///                      sc::pipeline_stage_options{.matmul_options = {.available_memory_proportion = 0.1F}},
///                      sc::pipeline_stage_options{}>}
template <pipeline_stage_options... Options>
  requires(sizeof...(Options) > 0)
inline constexpr pipeline::stage_options_list stage_options{detail::listed_options<Options...>};

}  // namespace stagecraft
