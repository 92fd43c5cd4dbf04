// SPDX-License-Identifier: BSD-3-Clause
// Passes that need nothing of each other still share what the first stage was fed with.
#include <stagecraft/description/training.hpp>
#include <stagecraft/engine/session.hpp>
#include <stagecraft/host/host_policy.hpp>
#include <stagecraft/pipeline.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <string_view>
#include <type_traits>

#include "../pipelined/made_data.hpp"

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

namespace {

/// y = x + weight. Its backward step looks at neither x nor y.
struct offset : sc::layer<offset> {
  static constexpr std::string_view class_name = "Offset";
  static constexpr bool backward_uses_input = false;
  static constexpr bool backward_uses_output = false;

  [[nodiscard]] constexpr sc::shape output_shape(sc::layer_inputs const& in) const { return in[0]; }
  constexpr void parameters(sc::layer_inputs const& in, sc::parameter_list& weights) const {
    weights.add({.name = "offset", .shape = {in[0].back()}, .initializer = sc::initializers::constant{0.1F}});
  }
  void forward(auto const& call) const {
    for (std::size_t i = 0; i < call.input().size(); ++i)
      call.output()[i] = call.input()[i] + call.weight()[i % call.weight().size()];
  }
  void backward(auto const& call) const {
    auto const dy = call.output_gradient();
    for (std::size_t i = 0; i < dy.size(); ++i) {
      call.input_gradient()[i] += dy[i];
      call.weight_gradient()[i % call.weight().size()] += dy[i];
    }
  }
};

/// Nothing is trained in the first stage: its backward passes wait for none, and those of the second keep no tensor of
/// it. Batch normalization looks at how many samples a micro-batch has, forward and backward.
struct network : sc::functional<network> {
  static constexpr auto build(auto& model) {
    auto const x = model.input(12);
    auto const first = activation(sc::tanh)(x);
    auto const second = offset()(first);
    auto const third = batch_normalization()(dense(12, sc::relu)(second));
    return dense(5)(add()(third, first));
  }
};
using staged = sc::pipelined<network, sc::stages<0, 1, 2, 2, 3, 3>>;

/// The second stage has nothing to do: its output is its input.
using with_view = sc::sequential<input{3, 4}, dense{6, sc::tanh}, flatten{}, batch_normalization{}, dense{5}>;
using staged_view = sc::pipelined<with_view, sc::stages<0, 1, 2, 3>>;

template <sc::schedule Schedule, int Replicas = 1>
inline constexpr auto training =
    sc::training{.optimizer = sc::optimizers::sgd{},
                 .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                 .batch_size = 4,
                 .steps_per_execution = 8,
                 .pipeline = {.gradient_accumulation_steps_per_replica = 8, .schedule = Schedule},
                 .num_replicas = Replicas};

template <class Expected, class Actual>
void check_same() {
  Expected expected(1);
  Actual actual(1);
  expected.begin_run();
  actual.begin_run();
  auto const execute = [](auto& session, int first) {
    using session_type = std::remove_reference_t<decltype(session)>;
    random_runs::made_data<session_type> const data(first);
    random_runs::seen_results<session_type> seen(16);
    session.train(16, data, [&](auto const& view) { seen.add(view); });
    return seen.floats();
  };
  for (int i = 0; i < 40; ++i)
    REQUIRE(random_runs::first_difference(execute(expected, 16 * i), execute(actual, 16 * i)) == -1);
  CHECK(random_runs::first_difference(random_runs::weights_of(expected), random_runs::weights_of(actual)) == -1);
}

}  // namespace

TEST_CASE_TEMPLATE("a first stage without weights, each device on a thread of its own", Schedule,
                   std::integral_constant<sc::schedule, sc::schedule::grouped>,
                   std::integral_constant<sc::schedule, sc::schedule::interleaved>,
                   std::integral_constant<sc::schedule, sc::schedule::sequential>) {
  check_same<sc::engine::session_of<network, training<sc::schedule::grouped>, sc::host<>>,
             sc::engine::session_of<staged, training<Schedule::value>, sc::host<4>>>();
}

TEST_CASE_TEMPLATE("a stage in the middle that has nothing to do, each device on a thread of its own", Schedule,
                   std::integral_constant<sc::schedule, sc::schedule::grouped>,
                   std::integral_constant<sc::schedule, sc::schedule::interleaved>,
                   std::integral_constant<sc::schedule, sc::schedule::sequential>) {
  check_same<sc::engine::session_of<with_view, training<sc::schedule::grouped>, sc::host<>>,
             sc::engine::session_of<staged_view, training<Schedule::value>, sc::host<4>>>();
}

TEST_CASE("an execution of training has whole weight updates") {
  using session = sc::engine::session_of<staged, training<sc::schedule::grouped>, sc::host<2>>;
  session pipeline(1);
  random_runs::made_data<session> const data(0);
  try {
    pipeline.train(12, data, [](auto const&) {});
    FAIL("12 steps are no multiple of 8");
  } catch (sc::data_error const& error) {
    CHECK(std::string_view(error.what()).find("E4070") != std::string_view::npos);
  }
}

TEST_CASE("replicas of a model without stages, on as many threads") {
  check_same<sc::engine::session_of<network, training<sc::schedule::grouped, 3>, sc::host<>>,
             sc::engine::session_of<network, training<sc::schedule::grouped, 3>, sc::host<3>>>();
}

TEST_CASE("devices whose steps several threads divide among them: two have one thread, two have two") {
  using alone = sc::engine::session_of<network, training<sc::schedule::grouped>, sc::host<>>;
  check_same<alone, sc::engine::session_of<staged, training<sc::schedule::interleaved>, sc::host<6>>>();
  check_same<alone, sc::engine::session_of<network, training<sc::schedule::grouped>, sc::host<3>>>();
}

TEST_CASE("replicas whose steps several threads divide among them") {
  check_same<sc::engine::session_of<network, training<sc::schedule::grouped, 2>, sc::host<>>,
             sc::engine::session_of<network, training<sc::schedule::grouped, 2>, sc::host<5>>>();
}
