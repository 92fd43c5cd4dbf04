// SPDX-License-Identifier: BSD-3-Clause
// E1070: the tensors of a loss's `call` do not fit its operations.
// expect-error: loss 'first_two': shapes (1, 3) and (1, 2) do not broadcast in 'subtract'
// expect-error: [E1070]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>
#include <string_view>

namespace sc = stagecraft;
using namespace sc::layers;

struct first_two : sc::loss<first_two> {
  static constexpr std::string_view name = "first_two";
  constexpr auto call(auto& ops, auto target, auto output) const {
#ifdef STAGECRAFT_BAD
    return square(output - ops.slice(target, -1, 0, 2));
#else
    return ops.mean(square(ops.slice(output - target, -1, 0, 2)), -1);
#endif
  }
};

inline constexpr auto training = sc::training{.loss = first_two{}};
using trainer = sc::trainer<sc::sequential<input{4}, dense{3}>, training>;  // <- here
static_assert(sizeof(trainer) > 0);
