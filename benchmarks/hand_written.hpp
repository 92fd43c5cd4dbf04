// SPDX-License-Identifier: BSD-3-Clause
// What somebody writes who trains a network with a library of matrix products or primitives alone: the loss, and the
// optimizer as one pass over weights, gradients and state. Plain loops, which the compiler vectorises with
// -fno-math-errno; divided among OpenMP's threads where the program has several.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stagecraft::benchmarks {

enum class optimizer_kind { sgd, rmsprop };

#if defined(_OPENMP)
#define STAGECRAFT_BENCHMARK_PARALLEL _Pragma("omp parallel for simd schedule(static) if (parallel: size > 16384)")
#else
#define STAGECRAFT_BENCHMARK_PARALLEL
#endif

inline void sgd_pass(float* __restrict w, float const* __restrict gradient, std::int64_t size) {
  STAGECRAFT_BENCHMARK_PARALLEL
  for (std::int64_t i = 0; i < size; ++i) w[i] -= 0.01F * gradient[i];
}

inline void rmsprop_pass(float* __restrict w, float* __restrict v, float const* __restrict gradient,
                         std::int64_t size) {
  STAGECRAFT_BENCHMARK_PARALLEL
  for (std::int64_t i = 0; i < size; ++i) {
    float const g = gradient[i];
    v[i] = 0.9F * v[i] + 0.1F * g * g;
    w[i] -= 0.001F * g / (std::sqrt(v[i]) + 1e-7F);
  }
}

#undef STAGECRAFT_BENCHMARK_PARALLEL

/// The state of an optimizer for one array of weights, and its pass.
template <optimizer_kind Optimizer>
class hand_written_optimizer {
 public:
  void update(float* w, float const* gradient, std::int64_t size) {
    if constexpr (Optimizer == optimizer_kind::sgd) {
      sgd_pass(w, gradient, size);
    } else {
      state_.resize(static_cast<std::size_t>(size));
      rmsprop_pass(w, state_.data(), gradient, size);
    }
  }

 private:
  std::vector<float> state_;
};

/// Mean loss of rows of logits, and its gradient.
template <int Classes>
inline float softmax_cross_entropy(int batch, float const* logits, std::int32_t const* labels, float* gradient) {
  float loss = 0;
  for (int row = 0; row < batch; ++row, logits += Classes, gradient += Classes) {
    float largest = logits[0];
    for (int i = 1; i < Classes; ++i) largest = logits[i] > largest ? logits[i] : largest;
    float sum = 0;
    for (int i = 0; i < Classes; ++i) {
      gradient[i] = std::exp(logits[i] - largest);
      sum += gradient[i];
    }
    loss += std::log(sum) + largest - logits[labels[row]];
    float const factor = 1.0F / (sum * static_cast<float>(batch));
    for (int i = 0; i < Classes; ++i) gradient[i] *= factor;
    gradient[labels[row]] -= 1.0F / static_cast<float>(batch);
  }
  return loss / static_cast<float>(batch);
}

}  // namespace stagecraft::benchmarks
