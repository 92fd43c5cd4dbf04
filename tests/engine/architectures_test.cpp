// SPDX-License-Identifier: BSD-3-Clause
// Kernels of several architectures in one program give the same training.
#include "../session_steps.hpp"
#include "session_data.hpp"

namespace {

struct model : sc::functional<model> {
  static constexpr auto build(auto& builder) {
    auto x = builder.input(13);
    auto a = dense(37, sc::gelu)(x), b = dense(37, sc::tanh)(x);
    return dense(5)(dropout(0.25F)(concatenate()(multiply()(a, b), a)));
  }
};

inline constexpr auto training = sc::training{.optimizer = sc::optimizers::adam{},
                                              .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .batch_size = 7};

template <class Arch>
std::vector<float> train() {
  session_steps<model, training, sc::host_machine<1, Arch>> s(5);
  for (int k = 0; k < 10; ++k) data::step(s, 7 * k);
  auto result = data::weights(s);
  result.push_back(s.total_loss());
  return result;
}

}  // namespace

TEST_CASE("architectures agree") {
  auto const expected = train<sc::kernels::default_architecture>();
  CHECK(data::deviation(train<sc::kernels::portable_architecture>(), expected) < 1e-5);
#if defined(__x86_64__)
  CHECK(data::deviation(train<xsimd::sse2>(), expected) < 1e-5);
#if defined(__AVX2__) && defined(__FMA__)
  CHECK(data::deviation(train<xsimd::fma3<xsimd::avx2>>(), expected) < 1e-5);
#endif
#endif
}
