// SPDX-License-Identifier: BSD-3-Clause
// E4138: a callback has a function that no run calls, and that is named like a hook.
// expect-error: callback 'watch' has a function on_epoch_start, which no run calls; the hook is on_epoch_begin
// expect-error: [E4138]
#include <stagecraft/training/callbacks/callback.hpp>
#include <stagecraft/training/data/fit_options.hpp>

namespace sc = stagecraft;

struct watch : sc::callback {
  int epochs = 0;
#ifdef STAGECRAFT_BAD
  void on_epoch_start(int, sc::logs&) { ++epochs; }
#else
  void on_epoch_begin(int, sc::logs&) override { ++epochs; }
#endif
};

int main() {
  watch each;
  sc::fit_options const options{.epochs = 2, .callbacks = {&each}};  // <- here
  return options.epochs - 2;
}
