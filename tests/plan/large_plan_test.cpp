// SPDX-License-Identifier: BSD-3-Clause
// A model as large as ResNet-50 is planned within the compilers' limits for constants.
#include <stagecraft/description/job.hpp>
#include <stagecraft/description/training.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/plan/whole_pass.hpp>

#include <doctest/doctest.h>

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

namespace {

struct residual : sc::functional<residual> {
  static constexpr auto build(auto& model) {
    auto x = model.input(8);
    for (int block = 0; block < 58; ++block) {
      auto y = dense(8)(x);
      x = activation(sc::gelu)(add()(x, y));
    }
    return dense(2)(x);
  }
};

static_assert(sc::call_count<residual> == 176);

}  // namespace

TEST_CASE("a large program") {
  using job = sc::jobs::job<residual, sc::training{.batch_size = 2}>;
  // At inference, a block is one step, since the sum and the activation are dense's epilogues: from its input to its
  // output.
  static_assert(sc::plan::whole_places_of<job::in_inference>.scratch_floats == 2 * 16);
  // While training, each dense layer keeps its input and each gelu its own: two tensors a block, and a few gradients.
  constexpr auto floats = sc::plan::whole_places_of<job>.scratch_floats;
  static_assert(floats >= 2 * 58 * 16 && floats < (2 * 58 + 8) * 16);
  CHECK(sc::plan::model_plan_for<job>.batch == 2);
}
