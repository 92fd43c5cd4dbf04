// SPDX-License-Identifier: BSD-3-Clause
// Losses that read an output as what it is not: cross-entropy of probabilities after a linear layer, or of logits after
// softmax or sigmoid. Both train, to nothing or slowly, so that a trainer warns of them.
#pragma once

#include <stagecraft/losses/per_output.hpp>
#include <stagecraft/models/last_activation.hpp>
#include <cstddef>
#include <utility>

namespace stagecraft::jobs {

/// What a loss takes an output for.
enum class misread_output : unsigned char { none, logits_as_probabilities, probabilities_as_logits };

template <class M, auto Training, std::size_t Output>
constexpr misread_output find_misread_output() {
  constexpr auto const& loss = losses::loss_of_output<Output>(Training.loss);
  constexpr auto const& last = last_activations_of<M>[Output];
  if constexpr (requires { loss.from_logits; }) {
    if (last.is_known && !loss.from_logits && last.function.kind == activation_kind::linear && !last.is_layer)
      return misread_output::logits_as_probabilities;
    if (last.has_logits() && loss.from_logits) return misread_output::probabilities_as_logits;
  }
  return misread_output::none;
}

/// The first output that its loss takes for something else, unless the description says that it is meant.
template <class M, auto Training>
inline constexpr misread_output misread_output_of = [] {
  misread_output result = misread_output::none;
  if constexpr (!Training.outputs_are_meant)
    [&]<std::size_t... Output>(std::index_sequence<Output...>) {
      ((result = result == misread_output::none ? find_misread_output<M, Training, Output>() : result), ...);
    }(std::make_index_sequence<graph_of<M>.outputs_of(0).size()>());
  return result;
}();

}  // namespace stagecraft::jobs
