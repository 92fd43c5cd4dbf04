// SPDX-License-Identifier: BSD-3-Clause
// Thousands of executions, with trainings that callbacks stop or leave with an exception, at any batch: nothing hangs,
// and neither memory nor threads are left behind.
#include <stagecraft/description/training.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/callbacks/callback.hpp>
#include <stagecraft/training/trainer.hpp>

#include "counted_memory.hpp"

#include <doctest/doctest.h>

#include <dirent.h>

#include <chrono>
#include <cmath>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

namespace {

using network = sc::sequential<input{4}, dense{6, sc::relu}, dropout{0.125F}, dense{6, sc::tanh}, dense{3}>;
using two_stages = sc::pipelined<network, sc::stages<0, 0, 1, 1>>;

template <bool Asynchronous, int Replicas, int PrefetchDepth>
inline constexpr auto training = sc::training{.optimizer = sc::optimizers::adam{},
                                              .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .metrics = sc::metrics::accuracy{},
                                              .batch_size = 2,
                                              .steps_per_execution = 4,
                                              .pipeline = {.gradient_accumulation_steps_per_replica = 4},
                                              .num_replicas = Replicas,
                                              .infeed_queue = {.prefetch_depth = PrefetchDepth},
                                              .outfeed_queue = {.buffer_depth = 2},
                                              .asynchronous_callbacks = Asynchronous};

struct samples {
  xt::xtensor<float, 2> x;
  std::vector<int> y;
  explicit samples(std::size_t count) : x(xt::xtensor<float, 2>::from_shape({count, 4})), y(count) {
    for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = static_cast<float>(i * 7919 % 1000) / 1000;
    for (std::size_t i = 0; i < count; ++i) y[i] = static_cast<int>(i % 3);
  }
};

int threads_of_program() {
  int count = 0;
  if (DIR* const tasks = opendir("/proc/self/task")) {
    while (dirent const* const entry = readdir(tasks)) count += entry->d_name[0] != '.' ? 1 : 0;
    closedir(tasks);
  }
  return count;
}

/// Whether the program gets down to so many threads: a thread that has been joined may still be listed for a while.
bool has_threads(int count) {
  auto const end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (threads_of_program() != count) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

/// The program's own, and those of a sanitizer.
int threads_at_rest() {
  static int const count = [] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return threads_of_program();
  }();
  return count;
}

struct broken_off : std::runtime_error {
  broken_off() : std::runtime_error("thrown by a callback") {}
};

/// Stops a training, or throws, at a hook that is drawn.
class disturber : public sc::callback {
 public:
  enum class action { none, stop, fail };
  int batches = 0;

  void prepare(action what, int hooks) {
    what_ = what;
    left_ = hooks;
  }

  void on_train_begin(sc::logs&) override { look(); }
  void on_train_end(sc::logs&) override { look(); }
  void on_epoch_begin(int, sc::logs&) override { look(); }
  void on_epoch_end(int, sc::logs&) override { look(); }
  void on_train_batch_begin(int, sc::logs&) override { look(); }
  void on_train_batch_end(int, sc::logs& values) override {
    ++batches;
    CHECK(std::isfinite(values.value(0)));
    look();
  }
  void on_test_batch_begin(int, sc::logs&) override { look(); }
  void on_test_batch_end(int, sc::logs&) override {
    ++batches;
    look();
  }
  void on_predict_batch_end(int, sc::logs&) override {
    ++batches;
    look();
  }

 private:
  void look() {
    if (--left_ != 0) return;
    if (what_ == action::stop) model().stop_training = true;
    if (what_ == action::fail) throw broken_off();
  }
  action what_ = action::none;
  int left_ = 0;
};

/// Runs a trainer until its callbacks have seen so many batches.
template <class Trainer>
void disturb(int batches, int threads) {
  using action = disturber::action;
  samples const data(16 * 2 * std::size_t{Trainer::training.num_replicas}), few(24);
  std::mt19937 random(20261121);
  disturber callback;
  Trainer model;
  int failed = 0, stopped = 0;
  long live = 0;
  for (int round = 0; callback.batches < batches; ++round) {
    auto const what = static_cast<action>(random() % 3);
    callback.prepare(what, 1 + static_cast<int>(random() % 60));
    model.stop_training = false;
    try {
      switch (random() % 4) {
        case 0: model.evaluate(data.x, data.y, {.verbose = 0, .callbacks = {&callback}}); break;
        case 1: model.predict(data.x, {.callbacks = {&callback}}); break;
        case 2:
          model.fit(data.x, data.y,
                    {.epochs = 4, .verbose = 0, .callbacks = {&callback}, .validation_data = {few.x, few.y}});
          break;
        default: model.fit(data.x, data.y, {.epochs = 6, .verbose = 0, .callbacks = {&callback}});
      }
      stopped += model.stop_training ? 1 : 0;
    } catch (broken_off const&) {
      ++failed;
    }
    // After the first rounds, nothing more is taken and not given back.
    if (round == 8) live = live_allocations();
    if (round > 8) REQUIRE(live_allocations() == live);
    if (round > 8) REQUIRE(has_threads(threads + Trainer::session_type::threads - 1));
  }
  CHECK(failed > 0);
  CHECK(stopped > 0);
  auto const [loss, accuracy] = model.evaluate(data.x, data.y, {.verbose = 0});
  CHECK(std::isfinite(loss));
  CHECK(accuracy >= 0);
}

template <class Trainer>
void soak(int batches) {
  // What is made once, by the first run and the first thread.
  std::thread([] {}).join();
  int const threads = threads_at_rest();
  disturb<Trainer>(400, threads);
  long const live = live_allocations();
  disturb<Trainer>(batches, threads);
  CHECK(has_threads(threads));
  CHECK(live_allocations() == live);
}

}  // namespace

// An execution has four steps, each of which asynchronous callbacks see.
TEST_CASE("callbacks that are called once per execution") {
  soak<sc::trainer<two_stages, training<false, 1, 0>, sc::host<2>>>(5000);
}

TEST_CASE("asynchronous callbacks") { soak<sc::trainer<two_stages, training<true, 1, 2>, sc::host<2>>>(4 * 5000); }

TEST_CASE("replicas with asynchronous callbacks and a prefetch thread") {
  soak<sc::trainer<two_stages, training<true, 2, 1>, sc::host<4>>>(2 * 4 * 5000);  // each of both sees a step
}

TEST_CASE("no stages, with a prefetch thread") { soak<sc::trainer<network, training<false, 1, 3>, sc::host<1>>>(5000); }
