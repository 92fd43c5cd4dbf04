// SPDX-License-Identifier: BSD-3-Clause
// E4085: a callback itself instead of its address.
// expect-error: a callback of type 'terminate_on_nan' is given itself
// expect-error: [E4085]
#include <stagecraft/training/callbacks/terminate_on_nan.hpp>
#include <stagecraft/training/data/fit_options.hpp>

namespace sc = stagecraft;

int main() {
  sc::callbacks::terminate_on_nan stopping;
#ifdef STAGECRAFT_BAD
  sc::fit_options const options{.epochs = 2, .callbacks = {stopping}};  // <- here
#else
  sc::fit_options const options{.epochs = 2, .callbacks = {&stopping}};
#endif
  return options.epochs - 2;
}
