// SPDX-License-Identifier: BSD-3-Clause
// All words of `ops`, and all functions of tensors: for the `call` of a layer, loss, metric or optimizer of one's own.
// They stand apart from the entry headers, so that programs without them do not pay for them.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/operations/bitwise_words.hpp>
#include <stagecraft/operations/composed/choice_words.hpp>
#include <stagecraft/operations/composed/movement_words.hpp>
#include <stagecraft/operations/composed/notation_words.hpp>
#include <stagecraft/operations/composed/reduction_words.hpp>
#include <stagecraft/operations/functions.hpp>
#include <stagecraft/operations/gradients.hpp>

#include <stagecraft/diagnostics/end_headers.hpp>
