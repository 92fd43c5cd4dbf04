// SPDX-License-Identifier: BSD-3-Clause
// One loss for each output of a model: Keras's list of losses.
#pragma once

#include <cstddef>
#include <utility>

namespace stagecraft::losses {

namespace detail {

template <std::size_t Index, class Loss>
struct output_loss {
  Loss loss;
};

template <class Indices, class... Losses>
struct output_losses;
template <std::size_t... Index, class... Losses>
struct output_losses<std::index_sequence<Index...>, Losses...> : output_loss<Index, Losses>... {};

template <std::size_t Index, class Loss>
constexpr Loss const& loss_at(output_loss<Index, Loss> const& entry) {
  return entry.loss;
}

}  // namespace detail

/// `.loss = sc::losses::per_output(mean_squared_error{}, binary_crossentropy{})`. A single loss serves all outputs.
template <class... Losses>
struct output_loss_list : detail::output_losses<std::index_sequence_for<Losses...>, Losses...> {
  static constexpr int size = sizeof...(Losses);
};

/// One loss for each output, in the order of the outputs: `.loss = sc::losses::per_output(mean_squared_error{},
/// huber{})`. Errors: E4022 if there are fewer or more than outputs.
template <class... Losses>
constexpr output_loss_list<Losses...> per_output(Losses const&... loss) {
  return {{{loss}...}};
}

/// The loss of one output. If a list is too short (E4022), the first loss stands in.
template <std::size_t Output, class Loss>
constexpr auto const& loss_of_output(Loss const& loss) {
  if constexpr (requires { Loss::size; })
    return detail::loss_at<(Output < Loss::size ? Output : 0)>(loss);
  else
    return loss;
}

}  // namespace stagecraft::losses
