// SPDX-License-Identifier: BSD-3-Clause
// E2063: an optimizer of one's own, which has a kernel for the host, on emulated IPUs.
// expect-error: the training has an optimizer of its own, which emulated IPUs cannot carry out
// expect-error: [E2063]
#include <stagecraft/execution/ipu.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>
#include <cstdint>
#include <string_view>

namespace sc = stagecraft;
using namespace sc::layers;

/// w -= learning_rate * g / (1 + |g|).
struct bounded {
  float learning_rate = 0.01F;
  static constexpr std::string_view name = "bounded";
  [[nodiscard]] constexpr int slots() const { return 0; }
};

namespace stagecraft::kernels {

template <auto Optimizer, class Arch>
struct update_function<Optimizer, Arch, bounded> {
  using value = batch<Arch>;
  value learning_rate;

  explicit update_function(float rate, std::int64_t) : learning_rate(rate) {}
  void operator()(value& w, value const& g, value*) const { w = w - learning_rate * g / (value(1.0F) + xsimd::abs(g)); }
};

}  // namespace stagecraft::kernels

using line = sc::sequential<input{3}, dense{1}>;
inline constexpr auto training = sc::training{.optimizer = bounded{}, .loss = sc::losses::mean_squared_error{}};

#ifdef STAGECRAFT_BAD
using trainer = sc::trainer<line, training, sc::ipu<>>;  // <- here
#else
using trainer = sc::trainer<line, training>;
#endif
