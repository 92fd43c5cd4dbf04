// SPDX-License-Identifier: BSD-3-Clause
// E2082: a field of sc::training is misspelt. C++ refuses it itself, and compilers show a line of the library.
// expect-error: template argument
// expect-source: [E2082] a field is misspelt, or its value has another type
// most-error-lines: 2 (GCC: designator)
// text-line: 7 (GCC: designator)
// text-line: 6 (Clang: designator)
#include <stagecraft/pipeline.hpp>
#include <stagecraft/description/training.hpp>

namespace sc = stagecraft;

#ifdef STAGECRAFT_BAD
inline constexpr auto training = sc::training{.loss = sc::losses::huber{}, .batchsize = 64};  // <- here
#else
inline constexpr auto training = sc::training{.loss = sc::losses::huber{}, .batch_size = 64};
#endif
static_assert(training.batch_size == 64);
