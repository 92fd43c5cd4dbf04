// SPDX-License-Identifier: BSD-3-Clause
// E4137: a callback's hook has other parameters than the library calls.
// expect-error: callback 'watch' has a function on_epoch_end with other parameters than the hook
// expect-error: [E4137]
// text-line: 8 (Clang: its own notes come first)
#include <stagecraft/training/callbacks/callback.hpp>
#include <stagecraft/training/data/fit_options.hpp>

namespace sc = stagecraft;

struct watch : sc::callback {
  int epochs = 0;
#ifdef STAGECRAFT_BAD
  void on_epoch_end(int, sc::logs const&) { ++epochs; }
#else
  void on_epoch_end(int, sc::logs&) override { ++epochs; }
#endif
};

int main() {
  watch each;
  sc::fit_options const options{.epochs = 2, .callbacks = {&each}};  // <- here
  return options.epochs - 2;
}
