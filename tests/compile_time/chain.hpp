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

template <int... Index>
constexpr auto make(std::integer_sequence<int, Index...>) {
  return sc::sequential<input{8}, dense{8 + Index}...>{};
}
template <class Model, int... Index>
constexpr auto assign(std::integer_sequence<int, Index...>) {
  return sc::pipelined<Model, sc::stages<(Index < static_cast<int>(sizeof...(Index)) / 2 ? 0 : 1)...>>{};
}

template <class Staged, int... Index>
constexpr bool check_calls(std::integer_sequence<int, Index...>) {
  bool const is_dense[]{std::is_same_v<sc::layer_t<Staged, Index + 1>, dense>...};
  int const units[]{sc::layer_of<Staged, Index + 1>.units...};
  int const stages[]{sc::stage_of<Staged, Index + 1>...};
  int const layers = sizeof...(Index);
  for (int i = 0; i < layers; ++i)
    if (!is_dense[i] || units[i] != 8 + i || stages[i] != (i < layers / 2 ? 0 : 1)) return false;
  return true;
}

template <int Layers>
constexpr bool check() {
  using indices = std::make_integer_sequence<int, Layers>;
  using model = decltype(make(indices{}));
  return check_calls<decltype(assign<model>(indices{}))>(indices{});
}

}  // namespace chain
