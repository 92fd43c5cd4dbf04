// SPDX-License-Identifier: BSD-3-Clause
// A sequential model of as many layers as asked, all different, its stages checked and each call asked for its layer:
// what the compiler does for a model of 2n layers must be at most 2.2 times what it does for n.
#pragma once

#include <stagecraft/pipeline.hpp>
#include <type_traits>
#include <utility>

namespace chain {

namespace sc = stagecraft;
using namespace sc::layers;

template <int Layers, class Indices = std::make_integer_sequence<int, Layers>>
struct make;
template <int Layers, int... Index>
struct make<Layers, std::integer_sequence<int, Index...>> {
  using model = sc::sequential<input{8}, dense{8 + Index}...>;
  using staged = sc::pipelined<model, sc::stages<(Index < Layers / 2 ? 0 : 1)...>>;

  // Arrays, since GCC takes quadratic time to check the operands of a long `... && ...`.
  static constexpr bool is_dense[]{std::is_same_v<sc::layer_t<staged, Index + 1>, dense>...};
  static constexpr int units[]{sc::layer_of<staged, Index + 1>.units...};
  static constexpr int stage[]{sc::stage_of<staged, Index + 1>...};
};

template <int Layers>
constexpr bool check() {
  using chain = make<Layers>;
  for (int i = 0; i < Layers; ++i)
    if (!chain::is_dense[i] || chain::units[i] != 8 + i || chain::stage[i] != (i < Layers / 2 ? 0 : 1)) return false;
  return true;
}

}  // namespace chain
