// SPDX-License-Identifier: BSD-3-Clause
// What a call of a layer draws its random numbers from.
#pragma once

#include <stagecraft/kernels/random/random.hpp>
#include <cstdint>

namespace stagecraft::cpu {

/// Each call of each step draws from a sequence of its own, which is none of the weights' first values either.
template <class Call>
constexpr std::uint64_t stream_of_call(Call const& call) {
  return ~((call.memory.step << 16U) + static_cast<std::uint64_t>(Call::call));
}
/// `seed`: of the layer, or 0: that of the program.
template <class Call>
constexpr kernels::random_key random_key_of_call(Call const& call, std::uint64_t seed) {
  return {seed != 0 ? seed : call.memory.seed, stream_of_call(call)};
}

}  // namespace stagecraft::cpu
