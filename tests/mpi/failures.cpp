// SPDX-License-Identifier: BSD-3-Clause
// What happens when ranks do not do the same: `failures <what>`, on two or more ranks. Each has to end with a code that
// is not 0, and to say which rank is why.
#include <stagecraft/data/data.hpp>
#include <stagecraft/mpi.hpp>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>
#include <xtensor/xtensor.hpp>

namespace {

namespace sc = stagecraft;
using namespace sc::layers;

using network = sc::sequential<input{4}, dense{2}>;
using other_network = sc::sequential<input{4}, dense{2, sc::relu}>;
constexpr auto training = sc::training{
    .optimizer = sc::optimizers::sgd{}, .loss = sc::losses::mean_squared_error{}, .batch_size = 2, .num_replicas = 4};
using machine = sc::cluster<sc::host<1>, sc::ranks{.count = 4, .timeout_s = 1}>;
using trainer = sc::trainer<network, training, machine>;

/// Does something at the end of the first epoch, where callbacks are called.
struct at_epoch : sc::callback {
  void on_epoch_end(int, sc::logs&) override { throw std::runtime_error("the disk is full"); }
};

/// Begins MPI as a program may that uses it for something else, too, so that a trainer cannot use it.
void begin_otherwise(std::string const& what) {
  int level = 0;
  MPI_Init_thread(nullptr, nullptr, what == "single" ? MPI_THREAD_SINGLE : MPI_THREAD_FUNNELED, &level);
  if (what == "finalized") MPI_Finalize();
  if (what != "thread") return;
  std::string said;
  std::thread([&] {
    try {
      trainer const model;
    } catch (std::exception const& problem) {
      said = problem.what();
    }
  }).join();
  throw std::runtime_error(said);
}

void run(std::string const& what) {
  if (what == "single" || what == "thread" || what == "finalized") begin_otherwise(what);
  bool const is_last = trainer::rank() + 1 == trainer::ranks_here();
  if (what == "model" && is_last) sc::trainer<other_network, training, machine> another;
  trainer model;
  xt::xtensor<float, 2> x = xt::ones<float>({64, 4}), y = xt::ones<float>({64, 2});
  sc::fit_options options{.epochs = 3, .verbose = 0};
  at_epoch fails;
  if (what == "callback") options.callbacks = {&fails};
  if (what == "fewer" && is_last) options.epochs = 2;
  if (what == "data" && is_last) x = xt::ones<float>({64, 5});
  if (what == "shorter" && is_last) x = xt::ones<float>({48, 4}), y = xt::ones<float>({48, 2});
  if (what == "late" && is_last) std::this_thread::sleep_for(std::chrono::seconds(4));
  if (what == "third_late" && trainer::rank() == 2) std::this_thread::sleep_for(std::chrono::seconds(4));
  if (what == "killed" && is_last) std::raise(SIGKILL);
  if (what == "leaves" && is_last) return;
  if (what == "evaluates" && is_last) {
    model.evaluate(x, y, {.verbose = 0});
    return;
  }
  if (what == "other" && is_last) sc::trainer<other_network, training, machine> another;
  if (what == "scattered") {
    auto const sent = model.scattered(x);
    is_last ? model.fit(x, y, options) : model.fit(sent, y, options);
    return;
  }
  if (what == "ends") {
    if (is_last) x = xt::ones<float>({40, 4}), y = xt::ones<float>({40, 2});
    model.fit(sc::data::from(x, y).assert_cardinality(64).batch(2), {.epochs = 3, .verbose = 0});
    return;
  }
  model.fit(x, y, options);
}

}  // namespace

int main(int count, char** arguments) {
  try {
    run(count > 1 ? arguments[1] : "");
  } catch (std::exception const& problem) {
    std::fprintf(stderr, "caught: %s\n", problem.what());
    return 1;
  }
  return 0;
}
