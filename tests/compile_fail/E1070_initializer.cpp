// SPDX-License-Identifier: BSD-3-Clause
// E1070: an initializer of one's own that gives values of another shape.
// expect-error: initializer 'half': it gives a tensor of shape () for a weight of shape (3, 4)
// expect-error: [E1070]
// text-line: 11 (GCC: its own notes come first)
// text-line: 5 (Clang: its own notes come first)
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct half : sc::own_initializer<half> {
  static constexpr std::string_view name = "half";
  constexpr auto call(auto& ops, auto const& shape) const {
#ifdef STAGECRAFT_BAD
    return ops.full({}, 0.5F);
#else
    return ops.full(shape, 0.5F);
#endif
  }
};

using line = sc::sequential<input{3}, dense{4, {.kernel_initializer = half{}}}>;
inline constexpr auto training = sc::training{.loss = sc::losses::mean_squared_error{}, .batch_size = 8};

using trainer = sc::trainer<line, training>;  // <- here
static_assert(sizeof(trainer) > 0);
