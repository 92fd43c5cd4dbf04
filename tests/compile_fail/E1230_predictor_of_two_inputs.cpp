// SPDX-License-Identifier: BSD-3-Clause
// expect-error: model 'model' has several inputs or outputs, or a batch size beyond 1, which a static_predictor does not have; use sc::predictor [E1230]
#include <stagecraft/predict.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct sums : sc::functional<sums> {
  static constexpr auto build(auto& model) {
    auto const a = model.input(4);
#ifdef STAGECRAFT_BAD
    auto const b = model.input(4);
#else
    auto const b = a;
#endif
    return dense(3)(add()(a, b));
  }
};
inline constexpr float kernel[12]{}, bias[3]{};
inline constexpr sc::constant_weight weights[]{kernel, bias};

sc::static_predictor<sums, weights> predictor;  // <- here
