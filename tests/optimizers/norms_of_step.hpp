// SPDX-License-Identifier: BSD-3-Clause
// The norms that an optimizer's step reads, of a weight that is all there is.
#pragma once

#include <stagecraft/kernels/update/update.hpp>
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace laws {

/// Slot number s of weight i is slots[s * n + i].
template <auto Optimizer>
std::array<double, stagecraft::update_tracer::most_norms> norms_of_step(float rate, std::int64_t step, float const* w,
                                                                        float const* g, float const* slots,
                                                                        std::size_t n) {
  namespace detail = stagecraft::detail;
  std::array<double, stagecraft::update_tracer::most_norms> norms{};
  constexpr int count = detail::slots_of<Optimizer>;
  // Whole registers, as weights have; what fills up must not count.
  std::size_t const stride = (n + 15) / 16 * 16;
  std::vector<float> padded((2 + count) * stride + 64, 3.0F);
  std::copy_n(w, n, padded.begin());
  std::copy_n(g, n, padded.begin() + static_cast<std::ptrdiff_t>(stride));
  for (std::size_t s = 0; s < count; ++s)
    std::copy_n(slots + s * n, n, padded.begin() + static_cast<std::ptrdiff_t>((2 + s) * stride));
  auto const round = [&]<int Round>() {
    constexpr unsigned which = detail::norms_of_round<Optimizer>(Round);
    double sums[std::popcount(which) + 1]{};
    stagecraft::kernels::add_squares<Optimizer, which>(
        stagecraft::kernels::given_everywhere<Optimizer>(rate, step, norms.data()), padded.data(),
        padded.data() + stride, padded.data() + 2 * stride, static_cast<std::int64_t>(stride),
        static_cast<std::int64_t>(stride), [n](std::int64_t i) { return static_cast<int>(n) - static_cast<int>(i); },
        sums);
    int next = 0;
    for (std::size_t i = 0; i < norms.size(); ++i)
      if ((which >> i & 1U) != 0) norms[i] = std::sqrt(sums[next++]);
  };
  if constexpr (detail::norms_of<Optimizer>.rounds > 0) round.template operator()<0>();
  if constexpr (detail::norms_of<Optimizer>.rounds > 1) round.template operator()<1>();
  static_assert(detail::norms_of<Optimizer>.rounds <= 2);
  return norms;
}

}  // namespace laws
