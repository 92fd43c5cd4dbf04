// SPDX-License-Identifier: BSD-3-Clause
// The options of a layer by name: Keras's `get_config`.
#pragma once

#include <stagecraft/graph/fields.hpp>
#include <stagecraft/layers/layer.hpp>
#include <string_view>

namespace stagecraft::layers::detail {

/// The name of a member, from the spelling of a pointer to it.
template <auto Member>
inline constexpr std::string_view member_name = last_name(spelling<Member>());

template <auto... Members, class L, class F>
constexpr void for_each_argument(argument_list<Members...>, L const& layer, F const& f) {
  (f(member_name<Members>, layer.*Members), ...);
}

}  // namespace stagecraft::layers::detail

namespace stagecraft {

/// Calls f(name, value) for each option of a layer, in Keras's order: first the arguments that stand in front of the
/// options in braces (`using arguments`), then those in braces (the member `options`). Names are those of the members,
/// which are Keras's; `name` and `trainable` are among them. Layers of one's own are listed if they have either.
///
///     sc::for_each_option(sc::layers::dense{64, sc::relu}, [](std::string_view name, auto const& value) { ... });
///
/// Costs nothing at run time but the calls of f; usable in constant evaluation.
/// Definition: Keras API, layers/base_layer/get_config.
template <class L, class F>
constexpr void for_each_option([[maybe_unused]] L const& layer, [[maybe_unused]] F const& f) {
  if constexpr (requires { typename L::arguments; }) detail::for_each_argument(typename L::arguments{}, layer, f);
  if constexpr (requires { layer.options; }) detail::for_each_field(layer.options, f);
}

}  // namespace stagecraft
