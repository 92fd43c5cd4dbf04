// SPDX-License-Identifier: BSD-3-Clause
// E2082: a field of sc::training is misspelt. C++ refuses it itself, and compilers show a line of the library.
// expect-error: template argument
// expect-source: [E2082] a field is misspelt, or its value has another type
// most-error-lines: 2 (GCC: it has an error of its own for what it does not match)
// text-line: 7 (GCC: its own error comes first)
// text-line: 6 (Clang: its own error comes first)
#include <stagecraft/pipeline.hpp>
#include <stagecraft/description/training.hpp>

namespace sc = stagecraft;

#ifdef STAGECRAFT_BAD
inline constexpr auto training = sc::training{.loss = sc::losses::huber{}, .batchsize = 64};  // <- here
#else
inline constexpr auto training = sc::training{.loss = sc::losses::huber{}, .batch_size = 64};
#endif
static_assert(training.batch_size == 64);
