// SPDX-License-Identifier: BSD-3-Clause
// The interleaved schedule without training: stages may share a device, which then does one thing at a time. Results
// are those of the model without stages, to the bit.
#include <stagecraft/description/inference.hpp>
#include <stagecraft/description/training.hpp>
#include <stagecraft/ipu/emulation/ipu.hpp>
#include <stagecraft/ipu/profile/profile.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/predictor.hpp>
#include <stagecraft/training/trainer.hpp>

#include <doctest/doctest.h>

#include <cstddef>

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

namespace {

using network = sc::sequential<input{5}, dense{8, sc::tanh}, dense{9, sc::relu}, dense{7, sc::tanh}, dense{3}>;
template <int... Device>
using staged = sc::pipelined<network, sc::stages<0, 1, 2, 3>, sc::device_mapping<Device...>>;
using back_and_forth = staged<0, 1, 1, 0>;
using in_turn = staged<0, 1, 0, 1>;
using in_pairs = staged<0, 0, 1, 1>;
using on_one_device = staged<0, 0, 0, 0>;

template <int Steps>
constexpr sc::inference predicting{
    .batch_size = 4, .steps_per_execution = Steps, .pipeline = {.schedule = sc::interleaved}};

// As many micro-batches at once as devices have time for; no device does two things in a slot.
static_assert(sc::pipeline_overlap_length<back_and_forth, predicting<4>> == 2);
static_assert(sc::pipeline_overlap_length<in_turn, predicting<4>> == 2);
static_assert(sc::pipeline_overlap_length<in_pairs, predicting<4>> == 2);
static_assert(sc::pipeline_overlap_length<on_one_device, predicting<4>> == 1);
template <class M>
constexpr bool does_one_thing_at_a_time = [] {
  auto const& table = sc::timetable_of<M, predicting<6>>;
  for (int slot = 0; slot < table.slots(); ++slot)
    for (int device = 0; device < table.devices(); ++device) {
      int passes = 0;
      for (auto const& step : table.steps(slot, device)) passes += step.kind == sc::pass_kind::forward ? 1 : 0;
      if (passes > 1) return false;
    }
  return true;
}();
static_assert(does_one_thing_at_a_time<back_and_forth> && does_one_thing_at_a_time<in_turn> &&
              does_one_thing_at_a_time<in_pairs> && does_one_thing_at_a_time<on_one_device>);
// Six micro-batches on two devices that are never idle but at the ends: three blocks of four slots; the last
// micro-batch begins two slots after the block.
static_assert(sc::pipeline_slots<in_pairs, predicting<6>> == 3 * 4 + 2);

using two_ipus = sc::ipu<sc::ipu_config{.auto_select_ipus = 2}, 2>;
static_assert(sc::profile<back_and_forth, predicting<6>, two_ipus>.fits());
static_assert(sc::profile<back_and_forth, predicting<600>, two_ipus>.latency_cycles() ==
              sc::profile<back_and_forth, predicting<60>, two_ipus>.latency_cycles());

constexpr std::size_t samples = 4 * 11 + 3;  // executions of six, five and a part of a batch
xt::xtensor<float, 2> made_data(std::size_t columns) {
  auto data = xt::xtensor<float, 2>::from_shape({samples, columns});
  for (std::size_t i = 0; i < data.size(); ++i) data.data()[i] = 0.1F * static_cast<float>(i * 37 % 23) - 1.1F;
  return data;
}

template <class Model>
xt::xtensor<float, 2> predictions() {
  Model model;
  return model.predict(made_data(5), {.verbose = 0});
}

// Without a number of micro-batches per weight update, a trainer evaluates and predicts.
constexpr auto evaluating = sc::training{.loss = sc::losses::mean_squared_error{},
                                         .batch_size = 4,
                                         .steps_per_execution = 6,
                                         .pipeline = {.schedule = sc::interleaved}};

}  // namespace

TEST_CASE("predictors of stages that share devices") {
  auto const expected = predictions<sc::predictor<network, predicting<6>>>();
  REQUIRE(expected.size() == samples * 3);
  CHECK(predictions<sc::predictor<back_and_forth, predicting<6>, sc::host<1>>>() == expected);
  CHECK(predictions<sc::predictor<back_and_forth, predicting<6>, sc::host<2>>>() == expected);
  CHECK(predictions<sc::predictor<in_turn, predicting<6>, sc::host<2>>>() == expected);
  CHECK(predictions<sc::predictor<in_pairs, predicting<6>, sc::host<3>>>() == expected);
  CHECK(predictions<sc::predictor<on_one_device, predicting<5>, sc::host<2>>>() == expected);
  CHECK(predictions<sc::predictor<back_and_forth, predicting<6>, two_ipus>>() == expected);
}

TEST_CASE("trainers that only evaluate") {
  auto const evaluate = [](auto&& model) { return model.evaluate(made_data(5), made_data(3), {.verbose = 0}); };
  auto const expected = evaluate(sc::trainer<network, evaluating>());
  CHECK(evaluate(sc::trainer<back_and_forth, evaluating, sc::host<2>>()) == expected);
  CHECK(evaluate(sc::trainer<in_turn, evaluating, sc::host<1>>()) == expected);
}
