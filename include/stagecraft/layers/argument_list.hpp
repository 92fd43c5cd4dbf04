// SPDX-License-Identifier: BSD-3-Clause
// What a layer is given in front of its options in braces.
#pragma once

namespace stagecraft {

/// A layer's positional arguments, as its members in Keras's order, for who lists its options (layers/option_list.hpp):
///
///     int units = 1;
///     using arguments = sc::argument_list<&my_dense::units>;
template <auto... Members>
struct argument_list {};

}  // namespace stagecraft
