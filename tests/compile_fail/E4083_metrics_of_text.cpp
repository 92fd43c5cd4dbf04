// SPDX-License-Identifier: BSD-3-Clause
// E4083: metrics as texts.
// expect-error: the training's metrics are not at most sixteen values of metrics' classes
// expect-error: [E4083]
#include <stagecraft/description/training.hpp>

namespace sc = stagecraft;

#ifdef STAGECRAFT_BAD
inline constexpr auto training = sc::training{.metrics = {"accuracy"}, .batch_size = 8};  // <- here
#else
inline constexpr auto training = sc::training{.metrics = {sc::metrics::accuracy{}}, .batch_size = 8};
#endif

static_assert(training.batch_size == 8);
