// SPDX-License-Identifier: BSD-3-Clause
// E2062: a loss of one's own, which has a kernel for the host, on emulated IPUs.
// expect-error: the training has a loss of its own, which emulated IPUs cannot compute
// expect-error: [E2062]
#include <stagecraft/ipu/emulation/ipu.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>
#include <cmath>
#include <string_view>

namespace sc = stagecraft;
using namespace sc::layers;

/// The mean of log cosh(prediction - target).
struct log_cosh {
  static constexpr std::string_view name = "log_cosh";
  static constexpr bool sparse_targets = false;
};

namespace stagecraft::kernels {

template <auto Loss, int Columns, class Arch>
struct loss_row<Loss, Columns, Arch, log_cosh> {
  static float evaluate(float const* target, float const* prediction, float scale, float* gradient) {
    float sum = 0;
    for (int i = 0; i < Columns; ++i) {
      float const error = prediction[i] - target[i];
      sum += std::log(std::cosh(error));
      if (gradient != nullptr) gradient[i] = scale * std::tanh(error) / Columns;
    }
    return sum / Columns;
  }
};

}  // namespace stagecraft::kernels

using line = sc::sequential<input{3}, dense{1}>;
inline constexpr auto training = sc::training{.optimizer = sc::optimizers::sgd{}, .loss = log_cosh{}};

#ifdef STAGECRAFT_BAD
using trainer = sc::trainer<line, training, sc::ipu<>>;  // <- here
#else
using trainer = sc::trainer<line, training>;
#endif
