// SPDX-License-Identifier: BSD-3-Clause
// What tiles count in whole sessions is what the profile said before: gradients that are added, also between stages, in
// sequence and with offloading.
#include "counting.hpp"

using namespace counting;  // NOLINT: the tests' own

namespace {

/// Both sums add gradients of their first stage; one of them comes from the second. The loss takes the logits.
struct residual : sc::functional<residual> {
  static constexpr auto build(auto& model) {
    auto x = dense(8, sc::tanh)(model.input(6));
    auto a = add()(dense(8, sc::relu)(x), x);
    return dense(4, sc::softmax)(add()(dense(8, sc::swish)(a), x));
  }
};
using staged_residual = sc::pipelined<residual, sc::stages<0, 0, 0, 1, 1, 1>>;

template <auto Training>
inline constexpr auto of_probabilities = [] {
  auto result = Training;
  result.loss.from_logits = false;
  return result;
}();

inline constexpr auto sequential = [] {
  auto result = recomputing;
  result.pipeline.schedule = sc::schedule::sequential;
  return result;
}();

}  // namespace

TEST_CASE("gradients that are added") {
  check_counts<residual, of_probabilities<plain>, machine<true>>();
  check_counts<staged_residual, of_probabilities<plain>, machine<true>>();
  check_counts<staged_residual, of_probabilities<sequential>, machine<true>>();
  check_counts<staged_residual, of_probabilities<offloading>, machine<true>>();
}
