// SPDX-License-Identifier: BSD-3-Clause
// The same vector at each step of a sequence: tf.keras.layers.RepeatVector.
#pragma once

#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/layers/argument_list.hpp>
#include <stagecraft/layers/count_limit.hpp>
#include <stagecraft/layers/option_layer.hpp>

namespace stagecraft::layers {

/// Repeats its input n times.
///
/// Shape: (features) to (n, features). No weights, no arithmetic. Errors: E1001; E1012 if n is below 1; E1041 for an
/// input of another number of axes. Definition: Keras API, layers/reshaping_layers/repeat_vector.
struct repeat_vector : layer<repeat_vector> {
  static constexpr std::string_view class_name = "RepeatVector";
  static constexpr std::string_view usage = "repeat_vector{n}"sv;

  int n = 1;
  using arguments = argument_list<&repeat_vector::n>;

  constexpr explicit repeat_vector(detail::whole_number n_) : n(n_) {}

  /// Nothing, or anything else: E1025.
  template <class L = repeat_vector>
  constexpr repeat_vector() : repeat_vector(1) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }
  using layer::layer;
  template <class L = repeat_vector>
  constexpr explicit repeat_vector(detail::wrong_options, ...) : repeat_vector(1) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  constexpr auto call(auto& ops, auto x) const {
    if (n < 1)
      ops.error(1012, "repeats its input ", n, " times; it must do so at least once");
    else if (!detail::are_counts(n))
      ops.error(1012, "repeats its input ", n, " times; it may do so ", detail::count_limit(n));
    else if (x.rank() != 2)
      ops.error(1041, "expects an input of shape (features,), but got ", detail::sample_shape(x));
    else
      return ops.broadcast(ops.reshape(x, {x.length(0), 1, x.length(1)}), {x.length(0), n, x.length(1)});
    return x;
  }
};

}  // namespace stagecraft::layers
