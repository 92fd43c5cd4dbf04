// SPDX-License-Identifier: BSD-3-Clause
// How the losses of the rows of a batch become one number.
// Keras counterpart: tf.keras.losses.Reduction.
#pragma once

namespace stagecraft::losses {

/// What is made of the losses of rows, each times its sample weight. There is no `NONE`, since a training wants one
/// number. As wide as what stands before it in losses: Clang 19 reads a member of a template argument in a wrong place
/// if the argument has holes inside and at its end.
enum class reduction : int {
  sum_over_batch_size,  ///< their sum divided by their number: Keras's default, AUTO
  sum                   ///< their sum
};

namespace detail {

/// That of any loss; one of the user's own may have a member `reduction`, too.
template <class Loss>
constexpr bool is_summed(Loss const& loss) {
  if constexpr (requires { loss.reduction == reduction::sum; })
    return loss.reduction == reduction::sum;
  else
    return false;
}

}  // namespace detail

}  // namespace stagecraft::losses
