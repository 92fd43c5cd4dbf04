// SPDX-License-Identifier: BSD-3-Clause
// E4141: an option that a callback does not have, after another argument.
// expect-error: the callback csv_logger is given something that it does not take, such as an option
// expect-error: [E4141]
#include <stagecraft/training/callbacks/callbacks.hpp>

namespace sc = stagecraft;

#ifdef STAGECRAFT_BAD
sc::callbacks::csv_logger table("run.csv", {.delimiter = ";"});  // <- here
#else
sc::callbacks::csv_logger table("run.csv", {.separator = ";"});
#endif
