// SPDX-License-Identifier: BSD-3-Clause
// E4141: an option that a callback does not have.
// expect-error: is given something that it does not take, such as an option
// expect-error: [E4141]
#include <stagecraft/training/callbacks/callbacks.hpp>

namespace sc = stagecraft;

#ifdef STAGECRAFT_BAD
sc::callbacks::early_stopping stop({.patient = 3});  // <- here
#else
sc::callbacks::early_stopping stop({.patience = 3});
#endif
