// SPDX-License-Identifier: BSD-3-Clause
// Replicas whose stages take different times, on fewer threads than they have devices: a thread that waits for one
// replica's batch or callback must not be what another replica waits for.
#include <stagecraft/description/training.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <string_view>
#include <vector>

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

namespace {

/// Gives what it gets, after some microseconds.
struct slow : sc::layer<slow> {
  int microseconds = 100;

  static constexpr std::string_view class_name = "Slow";
  static constexpr bool backward_uses_input = false;
  static constexpr bool backward_uses_output = false;

  constexpr slow() = default;
  constexpr explicit slow(int of_each_step) : microseconds(of_each_step) {}
  [[nodiscard]] constexpr sc::shape output_shape(sc::layer_inputs const& in) const { return in[0]; }
  void forward(auto const& call) const {
    wait();
    for (std::size_t i = 0; i < call.input().size(); ++i) call.output()[i] = call.input()[i];
  }
  void backward(auto const& call) const {
    wait();
    auto const dy = call.output_gradient();
    for (std::size_t i = 0; i < dy.size(); ++i) call.input_gradient()[i] += dy[i];
  }

 private:
  void wait() const {
    auto const end = std::chrono::steady_clock::now() + std::chrono::microseconds(microseconds);
    while (std::chrono::steady_clock::now() < end) {
    }
  }
};

using network = sc::sequential<input{4}, dense{8}, slow{50}, dense{8}, slow{100}, dense{3}>;
using staged = sc::pipelined<network, sc::stages<0, 0, 1, 1, 1>>;

template <sc::schedule Schedule, bool Asynchronous>
inline constexpr auto training =
    sc::training{.optimizer = sc::optimizers::sgd{},
                 .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                 .batch_size = 2,
                 .steps_per_execution = 64,
                 .pipeline = {.gradient_accumulation_steps_per_replica = 64, .schedule = Schedule},
                 .num_replicas = 3,
                 .infeed_queue = {.prefetch_depth = 1},
                 .outfeed_queue = {.buffer_depth = 1},
                 .asynchronous_callbacks = Asynchronous};

template <auto Training, class Machine>
std::vector<sc::weight_array> weights_after_fit() {
  constexpr std::size_t count = 2 * 64 * 3;
  xt::xtensor<float, 2> x = xt::xtensor<float, 2>::from_shape({count, 4});
  for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = static_cast<float>(i % 7) / 7;
  std::vector<int> y(count);
  for (std::size_t i = 0; i < count; ++i) y[i] = static_cast<int>(i % 3);
  sc::trainer<staged, Training, Machine> model;
  model.fit(x, y, {.epochs = 2, .verbose = 0});
  return model.get_weights();
}

template <sc::schedule Schedule, bool Asynchronous>
void check_threads() {
  auto const expected = weights_after_fit<training<Schedule, false>, sc::host<1>>();
  CHECK(weights_after_fit<training<Schedule, Asynchronous>, sc::host<2>>() == expected);
  CHECK(weights_after_fit<training<Schedule, Asynchronous>, sc::host<4>>() == expected);
}

}  // namespace

TEST_CASE("sequential, with batches that are made ready") { check_threads<sc::schedule::sequential, false>(); }
TEST_CASE("grouped, with asynchronous callbacks") { check_threads<sc::schedule::grouped, true>(); }
