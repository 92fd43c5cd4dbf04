// SPDX-License-Identifier: BSD-3-Clause
// The result of a call of a layer that may have several outputs.
#pragma once

#include <stagecraft/graph/model_builder.hpp>
#include <stagecraft/graph/symbolic_tensor.hpp>
#include <cstddef>
#include <utility>

namespace stagecraft {

/// The first output, and the others for who names them all: `auto [y, h, c] = lstm{8, {.return_state = true}}(x);`.
/// Wherever one tensor is meant, it is the first output. `Names` of at most `Most` outputs can be named; of calls that
/// have another number, because of an option, `all` has them.
template <int Most, int Names = Most>
struct layer_outputs : symbolic_tensor {
  symbolic_tensor all[Most]{};
  int count = 1;  ///< the number of outputs

  constexpr layer_outputs() = default;
  constexpr explicit(false) layer_outputs(symbolic_tensor first) : symbolic_tensor(first) { all[0] = first; }

  /// E1084: an output that the call does not have.
  template <std::size_t Index>
  [[nodiscard]] constexpr symbolic_tensor get() const {
    if (model != nullptr && count < Names)
      model->problem.report(1084, "layer '", model->name_of(model->calls[call].layer), "' gives ", count,
                            count == 1 ? " output" : " outputs", ", but ", Names,
                            " are named; with `return_state` it gives its states, too");
    return model != nullptr && count < Names ? *this : all[Index];
  }
};

}  // namespace stagecraft

template <int Most, int Names>
struct std::tuple_size<stagecraft::layer_outputs<Most, Names>> {
  static constexpr std::size_t value = Names;
};
template <std::size_t Index, int Most, int Names>
struct std::tuple_element<Index, stagecraft::layer_outputs<Most, Names>> {
  using type = stagecraft::symbolic_tensor;
};
