// SPDX-License-Identifier: BSD-3-Clause
// A pipeline on two emulated IPUs: the compiler says that it fits, how long a weight update takes and how much of that
// is waiting; then it is trained as on any other machine, and the cycles that were counted are those that were
// promised.
#include <stagecraft/ipu.hpp>
#include <cstdint>
#include <cstdio>

#include "command_line/command_line.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{256, sc::relu}, dense{128, sc::relu}, dense{10}>;

inline constexpr auto training = sc::training{.optimizer = sc::optimizers::rmsprop{},
                                              .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .metrics = sc::metrics::accuracy{},
                                              .batch_size = 32,
                                              .steps_per_execution = 128,
                                              .pipeline = {.gradient_accumulation_steps_per_replica = 16}};

// Instead of sc::host<2>, and nothing else.
using machine = sc::ipu<sc::ipu_config{.auto_select_ipus = 2}, 2>;

// The compiler chooses the stages by what the layers cost on these tiles, and names what it has chosen.
using two_stages = sc::auto_pipeline<mlp, training, machine>;

inline constexpr auto profile = sc::profile<two_stages, training, machine>;
static_assert(profile.fits());
static_assert(profile.seconds() < 1e-3);
static_assert(profile.bubble() < 0.4);
static_assert(profile.exchange_share() < 0.6);
static_assert(profile.memory(0).weights < 4096 && profile.free_bytes(0) > 500'000);

// If some tiles talk to the host while the others compute, most of the host's transfers take no time.
using overlapping = sc::ipu_devices<sc::ipu_config{.auto_select_ipus = 2,
                                                   .io_tiles = {.num_io_tiles = 32, .place_ops_on_io_tiles = true}}>;
inline constexpr auto overlapped = sc::profile<two_stages, training, overlapping>;
static_assert(overlapped.host_cycles() < profile.host_cycles() / 4);
static_assert(overlapped.timetable().infeed_slot(0) == 0 && overlapped.timetable().slot(0, 0) == 1);

int main(int argc, char** argv) {
  auto const given = read_arguments(argc, argv, "Trains a perceptron on two emulated IPUs.", 8);
  auto const [train, test] = load_data(given);
  sc::print_pipeline_stage_assignment_summary<two_stages>();
  std::printf("a weight update from %d micro-batches: %lld cycles, %.1f us\n", profile.micro_batches(),
              static_cast<long long>(profile.cycles()), 1e6 * profile.seconds());
  std::printf("%.0f samples/s, bubble %.1f %%, exchange %.1f %%, %.1f KiB of a tile's %d\n",
              profile.samples_per_second(), 100 * profile.bubble(), 100 * profile.exchange_share(),
              static_cast<double>(profile.memory(0).peak()) / 1024, machine::target.bytes_per_tile / 1024);

  std::printf("with I/O tiles: %.0f samples/s, %lld of %lld cycles for the host\n", overlapped.samples_per_second(),
              static_cast<long long>(overlapped.host_cycles()), static_cast<long long>(profile.host_cycles()));

  int const executions = static_cast<int>(train.y.size()) / (training.batch_size * training.steps_per_execution);
  sc::trainer<two_stages, training, machine> model;
  model.fit(
      train.x, train.y,
      {.epochs = given.epochs, .validation_data = test, .steps_per_epoch = executions * training.steps_per_execution});
  auto const [loss, accuracy] = model.evaluate(test.x, test.y, {.verbose = 0});
  std::printf("test loss %.4f, test accuracy %.4f\n", loss, accuracy);

  // Cycles of the passes, as they were counted while they ran.
  bool same = true;
  auto const& counted = model.session().counted();
  for (std::size_t pass = 0; pass < counted.training.size(); ++pass) {
    auto const promised = profile.pass(static_cast<int>(pass)).work().cycles();
    same = same && counted.training[pass].cost.cycles() == counted.training[pass].runs * promised;
    std::printf("pass %zu: %lld runs of %lld cycles\n", pass, static_cast<long long>(counted.training[pass].runs),
                static_cast<long long>(promised));
  }
  std::printf("counted cycles are %s\n", same ? "those of the profile" : "others than the profile's");
  return same ? 0 : 1;
}
