// SPDX-License-Identifier: BSD-3-Clause
// E1196: inside a scan, a gradient by a tensor from outside of it.
// expect-error: layer 'scanned_slopes' asks inside a scan for a gradient by a tensor from outside of it, of
// expect-error: shape (2, 3); ask after the scan, of what it gives [E1196]
#include <stagecraft/operations/words.hpp>
#include <stagecraft/pipeline.hpp>
#include <array>

namespace sc = stagecraft;
using namespace sc::layers;

struct scanned_slopes : sc::layer<scanned_slopes> {
  static constexpr std::string_view class_name = "ScannedSlopes";
  constexpr auto call(auto& ops, auto x) const {
    auto const zeros = ops.full({x.length(0), x.length(2)}, 0);
    auto const step = [&](auto here, auto states) {
#ifdef STAGECRAFT_BAD
      return std::array{ops.gradient(tanh(here * (states[0] + zeros)), zeros)};
#else
      return std::array{ops.gradient(tanh(here * (states[0] + zeros)), here)};
#endif
    };
    return ops.scan(x, 1, std::array{zeros}, step).last[0];
  }
};

using net = sc::sequential<input{5, 3}, scanned_slopes{}>;  // <- here
static_assert(sc::call_count<net> == 2);
