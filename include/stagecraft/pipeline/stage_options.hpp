// SPDX-License-Identifier: BSD-3-Clause
// Options of Poplar's libraries for single stages of a pipeline: Graphcore's PipelineStageOptions.
#pragma once

#include <stagecraft/graph/dtype.hpp>
#include <stagecraft/pipeline/reserved_options.hpp>

namespace stagecraft {

namespace detail {

/// A number that is given, or not: then the machine's holds. All is zero if it is not, which keeps names short.
template <class T>
struct own_setting {
  T value{};
  bool is_given = false;

  constexpr own_setting() = default;
  constexpr own_setting(T number) : value(number), is_given(true) {}

  [[nodiscard]] constexpr T or_else(T other) const noexcept { return is_given ? value : other; }
  friend constexpr bool operator==(own_setting const&, own_setting const&) = default;
};

}  // namespace detail

/// What is planned otherwise in one stage than the machine's `matmuls` or `convolutions` say: each option that is not
/// given is theirs.
struct stage_poplar_options {
  /// Poplar's availableMemoryProportion: plans take at most this part of a tile's memory for temporary data, where such
  /// a plan exists. From 0 to 1 (E3004).
  detail::own_setting<float> available_memory_proportion = {};
  /// Poplar's partialsType: the type of partial sums, float32 or float16 (E3005). Products of float32 have float32
  /// partial sums in any case.
  detail::own_setting<dtype> partials_type = {};
  /// Poplar's use128BitConvUnitLoad: weights are loaded into the units at twice the speed.
  detail::own_setting<bool> use_128bit_conv_unit_load = {};

  /// Whether anything is given.
  [[nodiscard]] constexpr bool given() const noexcept { return *this != stage_poplar_options{}; }
  friend constexpr bool operator==(stage_poplar_options const&, stage_poplar_options const&) = default;
};

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

namespace detail {

template <pipeline_stage_options... Options>
inline constexpr pipeline_stage_options listed_options[]{Options...};

}  // namespace detail

/// Options of Poplar for each stage:
///
///     .pipeline = {.forward_propagation_stages_poplar_options = sc::stage_options<
///                      sc::pipeline_stage_options{.matmul_options = {.available_memory_proportion = 0.1F}},
///                      sc::pipeline_stage_options{}>}
template <pipeline_stage_options... Options>
  requires(sizeof...(Options) > 0)
inline constexpr stage_options_list stage_options{detail::listed_options<Options...>};

}  // namespace stagecraft
