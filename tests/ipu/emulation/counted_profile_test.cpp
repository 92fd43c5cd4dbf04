// SPDX-License-Identifier: BSD-3-Clause
// What emulated IPUs count while they run is what the profile said before.
#include <stagecraft/description/job_on.hpp>
#include <stagecraft/ipu/emulation/tile_step.hpp>
#include <stagecraft/ipu/placement/tile_places.hpp>
#include <stagecraft/ipu/profile/profile.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "counting.hpp"

using namespace counting;  // NOLINT: the tests' own

namespace {

/// Puts the tensors of all steps of a device where the plan says, and carries the steps out on zeros.
template <class M, auto Training, class Machine, int Device>
class all_steps {
  static constexpr auto mode = sc::execution_mode::training;
  static constexpr auto const& table = sc::timetable_of<M, Training>;
  using places = sc::tiles::tile_places<sc::jobs::job<M, Training, mode, Machine>>;

 public:
  static std::int64_t high_water_mark() {
    // No more memory than that: whatever lies higher throws.
    using job = sc::jobs::job_on<M, Training, Machine>;
    sc::tiles::tile_machine tiles(Machine::target, std::max(profiled_mark<typename job::in_training>(),
                                                            profiled_mark<typename job::in_inference>()));
    [&]<std::size_t... Pass>(std::index_sequence<Pass...>) {
      (run_pass<static_cast<int>(Pass)>(tiles), ...);
    }(std::make_index_sequence<static_cast<std::size_t>(table.passes())>{});
    [&]<std::size_t... Weight>(std::index_sequence<Weight...>) {
      (run_update<Weight>(tiles), ...);
    }(std::make_index_sequence<sc::graph_of<M>.parameters.size()>{});
    return tiles.high_water_mark();
  }

 private:
  template <class Job>
  static constexpr std::int64_t profiled_mark() {
    return sc::tiles::device_memory_profile_of<Job, Device>.tile.high_water_mark();
  }
  template <class Place>
  static void run(sc::tiles::tile_machine& tiles, sc::tiles::lowered_step const& step, std::int64_t end,
                  Place const& place) {
    auto const offsets = sc::tiles::offsets_of(step, place);
    for (int i = 0; i < step.tensor_count; ++i) CHECK(offsets[static_cast<std::size_t>(i)] >= 0);
    auto const nothing = [](auto const&...) { return false; };
    sc::tiles::run_step(tiles, step, offsets.data(), end, {.valid_samples = Training.batch_size}, nothing, nothing,
                        nothing);
  }
  template <int Pass>
  static void run_pass(sc::tiles::tile_machine& tiles) {
    if constexpr (table.device_of_pass(Pass) == Device) {
      [&]<std::size_t... Step>(std::index_sequence<Step...>) {
        (run_step<Pass, static_cast<int>(Step)>(tiles), ...);
      }(std::make_index_sequence<sc::plan::pass_plan_of<sc::jobs::job<M, Training, mode>, Pass>.steps.size()>{});
      if constexpr (Pass + 1 == table.stages())
        for (int micro_batch = 0; micro_batch < 8; ++micro_batch)
          run(tiles, sc::tiles::lowered_loss_of<sc::jobs::job<M, Training, mode, Machine>, 0>, places::end_of_losses(),
              [&](auto const& tensor) { return places::template of_loss<0>(tensor, micro_batch); });
    }
  }
  template <int Pass, int Step>
  static void run_step(sc::tiles::tile_machine& tiles) {
    constexpr auto own = sc::plan::pass_plan_of<sc::jobs::job<M, Training, mode>, Pass>.steps[Step];
    constexpr int lowered_in = own.backward ? Pass : table.forward_pass(table.stage_of_pass(Pass));
    for (int micro_batch = 0; micro_batch < 8; ++micro_batch)
      run(tiles,
          sc::tiles::lowered_step_of<sc::jobs::job<M, Training, mode, Machine>, lowered_in, own.call, own.backward>,
          places::template end_of_step<Pass>(Step),
          [&](auto const& tensor) { return places::template of_step<Pass>(Step, tensor, micro_batch); });
  }
  template <std::size_t Weight>
  static void run_update(sc::tiles::tile_machine& tiles) {
    if constexpr (sc::tiles::weight_profile_of<sc::jobs::job_on<M, Training, Machine>, Weight>.device == Device) {
      auto const place = [&](auto const& tensor) { return places::template of_update<Weight>(tensor); };
      run(tiles, sc::tiles::lowered_penalty_of<sc::jobs::job_on<M, Training, Machine>, Weight>,
          places::template end_of_update<Weight>(), place);
      run(tiles, sc::tiles::lowered_update_of<sc::jobs::job_on<M, Training, Machine>, Weight>,
          places::template end_of_update<Weight>(), place);
      run(tiles, sc::tiles::lowered_constraint_of<sc::jobs::job<M, Training>, Weight>,
          places::template end_of_update<Weight>(), place);
    }
  }
};

template <class M, auto Training, class Machine, int Device = 0>
void check_high_water_marks() {
  constexpr auto profile = sc::profile<M, Training, Machine>;
  CAPTURE(Device);
  CHECK(all_steps<M, Training, Machine, Device>::high_water_mark() == profile.memory(Device).high_water_mark());
  if constexpr (Device + 1 < profile.ipus()) check_high_water_marks<M, Training, Machine, Device + 1>();
}

}  // namespace

TEST_CASE("the host's kernels count what was priced") {
  check_counts<network, plain, machine<false>>();
  check_counts<two_stages, plain, machine<false>>();
  check_counts<two_stages, recomputing, machine<false>>();
  check_counts<two_stages, sharded, machine<false>>();
  check_counts<two_stages, mixed, machine<false>>();
}

TEST_CASE("tiles count what was priced") {
  check_counts<network, plain, machine<true>>();
  check_counts<two_stages, recomputing, machine<true>>();
  check_counts<two_stages, replicated, machine<true>>();
}

TEST_CASE("tiles use as much memory as the profile says") {
  check_high_water_marks<network, plain, machine<true>>();
  check_high_water_marks<two_stages, plain, machine<true>>();
  check_high_water_marks<two_stages, recomputing, machine<true>>();
  check_high_water_marks<two_stages, offloading, machine<true>>();
  check_high_water_marks<two_stages, mixed, machine<true>>();
}

namespace sequences {

using model = sc::sequential<sc::layers::input{6, 3}, sc::layers::dense{4}>;
inline constexpr auto training = sc::training{.loss = sc::losses::ctc{.max_label_length = 3}, .batch_size = 4};

}  // namespace sequences

TEST_CASE("a loss of sequences has its values between in the tiles' memory") {
  counting::check_training<sequences::model, sequences::training, 1, 8>();
}
