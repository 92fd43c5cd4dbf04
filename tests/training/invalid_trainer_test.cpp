// SPDX-License-Identifier: BSD-3-Clause
// What stands in for a trainer after a compile error can be declared and called like one, so that no second error
// follows.
#include <stagecraft/training/invalid_trainer.hpp>

#include <doctest/doctest.h>

#include <type_traits>

using stagecraft::trainers::invalid_predictor;
using stagecraft::trainers::invalid_trainer;

static_assert(!std::is_abstract_v<invalid_trainer<2>>);
static_assert(requires(invalid_trainer<2> trainer, invalid_predictor<> predictor) {
  trainer.reset_states();
  trainer.reset_states<"lstm">({});
  trainer.captured_gradients<"probe">();
  predictor.reset_states();
  predictor.get_states<"lstm">();
});

TEST_CASE("an evaluation has as many results as the description says") {
  invalid_trainer<3> trainer;
  auto const [loss, first, second] = trainer.evaluate({}, {});
  CHECK(loss + first + second == 0);
}
