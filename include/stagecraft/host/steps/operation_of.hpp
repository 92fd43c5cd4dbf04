// SPDX-License-Identifier: BSD-3-Clause
// Which operation carries out the steps of a call.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <type_traits>

namespace stagecraft::cpu {

template <class L>
struct operation;
struct view_operation;

/// The steps of a call, which may be a view where other calls of its layer are none (host/steps/operation.hpp).
template <class Call>
using operation_of =
    std::conditional_t<Call::planned.needs.view, view_operation, operation<std::remove_cvref_t<decltype(Call::layer)>>>;

}  // namespace stagecraft::cpu
