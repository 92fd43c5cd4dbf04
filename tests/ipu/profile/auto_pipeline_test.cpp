// SPDX-License-Identifier: BSD-3-Clause
// Stages that the compiler chooses are the best that there are: compared with all ways to cut small models.
#include <stagecraft/description/job_on.hpp>
#include <stagecraft/ipu/emulation/ipu.hpp>
#include <stagecraft/ipu/profile/auto_pipeline.hpp>
#include <stagecraft/ipu/profile/profile.hpp>
#include <stagecraft/layers/layers.hpp>
#include <stagecraft/models/functional.hpp>
#include <stagecraft/models/sequential.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

inline constexpr sc::training training{.optimizer = sc::optimizers::adam{},
                                       .batch_size = 4,
                                       .steps_per_execution = 24,
                                       .pipeline = {.gradient_accumulation_steps_per_replica = 24}};

template <int Ipus>
inline constexpr sc::ipu_config small_ipus{.auto_select_ipus = Ipus, .ipu_model = {.tiles_per_ipu = 16}};

// Tiles of 44 KiB: models must be divided to fit.
inline constexpr sc::ipu_target narrow{.name = "narrow", .tiles_per_ipu = 16, .bytes_per_tile = 44 * 1024};
inline constexpr sc::ipu_config narrow_ipus{.auto_select_ipus = 4, .ipu_model = {.version = narrow}};

using uneven = sc::sequential<input{96}, dense{16, sc::relu}, dense{128, sc::relu}, dense{128, sc::relu}, dense{8},
                              dense{64, sc::tanh}, dense{200, sc::relu}, dense{3}>;
using image = sc::sequential<input{12, 12, 3}, conv2d{8, 3, sc::relu}, conv2d{16, 3}, batch_normalization{}, re_lu{},
                             max_pooling2d{}, conv2d{32, 3, sc::relu}, flatten{}, dropout{0.25F}, dense{10}>;
struct residual : sc::functional<residual> {
  static constexpr auto build(auto& model) {
    auto x = model.input(48);
    auto shortcut = x = dense{64, sc::relu}(x);
    for (int i = 0; i < 3; ++i) {
      x = dense{64, sc::gelu}(x);
      x = shortcut = add{}(x, shortcut);
    }
    return dense{20}(x);
  }
};
struct shared : sc::functional<shared> {
  static constexpr auto build(auto& model) {
    auto x = model.input(40);
    x = dense{40, sc::relu}(x);
    dense twice{40, sc::tanh};
    x = twice(x);
    x = dense{40}(x);
    x = twice(x);
    x = dense{80, sc::relu}(x);
    return dense{8}(x);
  }
};

/// A way to cut: what it makes small, in the order of the priority.
struct division {
  bool fits = false;
  long long first = 0, second = 0;
};
division divide(sc::pipeline::partition_costs const& costs, std::vector<int> const& cuts,
                sc::auto_pipeline_priority priority) {
  long long cycles = 0, transfer = 0, memory = 0;
  for (std::size_t s = 0; s + 1 < cuts.size(); ++s) {
    cycles = std::max(cycles, costs.cycles_of(cuts[s], cuts[s + 1]));
    memory = std::max(memory, costs.memory_of(cuts[s], cuts[s + 1]));
    if (s > 0) transfer = std::max(transfer, costs.transfer_before(cuts[s]));
  }
  bool const fits = costs.capacity < 0 || memory <= costs.capacity;
  if (priority == sc::auto_pipeline_priority::memory) return {fits, memory, cycles + transfer};
  return {fits, cycles + transfer, 0};
}
bool is_better(division const& a, division const& b) {
  return a.fits && (!b.fits || a.first < b.first || (a.first == b.first && a.second < b.second));
}

/// Tries all divisions into a number of stages.
division best_of_all(sc::pipeline::partition_costs const& costs, int stages, sc::auto_pipeline_priority priority) {
  division best;
  std::vector<int> cuts(static_cast<std::size_t>(stages) + 1, 0);
  cuts.back() = costs.size();
  auto const choose = [&](auto const& self, std::size_t cut) -> void {
    if (cut + 1 == cuts.size()) {
      auto const one = divide(costs, cuts, priority);
      if (is_better(one, best)) best = one;
      return;
    }
    for (int at = cuts[cut - 1] + 1; at < costs.size(); ++at) {
      if (!costs.may_cut_before(at)) continue;
      cuts[cut] = at;
      self(self, cut + 1);
    }
  };
  choose(choose, 1);
  return best;
}

template <class M, class Machine, sc::auto_pipeline_priority Priority, int Stages>
void check_stages(bool& found, sc::pipeline::partition const& chosen) {
  auto const costs = sc::detail::auto_pipeline_costs_of<sc::jobs::job_on<M, training, Machine>, Stages>.costs(
      Machine::target.bytes_per_tile);
  auto const best = best_of_all(costs, Stages, Priority);
  if (found) return;
  if (!best.fits) {
    CHECK(chosen.stages > Stages);
    return;
  }
  found = true;
  REQUIRE(chosen.stages == Stages);
  std::vector<int> cuts;
  for (int s = 0; s <= Stages; ++s) cuts.push_back(chosen.first[static_cast<std::size_t>(s)]);
  auto const own = divide(costs, cuts, Priority);
  CHECK(own.fits);
  CHECK(own.first == best.first);
  CHECK(own.second == best.second);
  CHECK(own.first == (Priority == sc::auto_pipeline_priority::cycle ? chosen.period() : chosen.memory));
}

template <class M, class Machine, int Least, sc::auto_pipeline_priority Priority>
void compare() {
  constexpr sc::auto_pipeline_options options{.min_ipus = Least, .priority = Priority};
  constexpr auto const& chosen = sc::tiles::auto_partition<M, training, Machine, options>;
  REQUIRE(chosen.found());
  bool found = false;
  [&]<int... Stages>(std::integer_sequence<int, Stages...>) {
    ((Stages >= Least ? check_stages<M, Machine, Priority, Stages>(found, chosen) : void()), ...);
  }(std::integer_sequence<int, 1, 2, 3, 4>{});
  CHECK(found);
}
template <class M, class Machine, int Least>
void compare() {
  CAPTURE(sc::graph_of<M>.order.size());
  CAPTURE(Least);
  compare<M, Machine, Least, sc::auto_pipeline_priority::cycle>();
  compare<M, Machine, Least, sc::auto_pipeline_priority::memory>();
}

using four = sc::ipu<small_ipus<4>>;

// A small model stays whole, and one that must be divided is divided once.
inline constexpr sc::auto_pipeline_options from_one{.min_ipus = 1};
static_assert(std::is_same_v<sc::auto_pipeline<uneven, training, sc::ipu<sc::ipu_config{}>, from_one>, uneven>);
using divided = sc::auto_pipeline<uneven, training, four, sc::auto_pipeline_options{.min_ipus = 3}>;
static_assert(sc::pipeline_stages<divided> == 3);
static_assert(sc::profile<divided, training, four>.fits());

// It beats a cut that looks as even, in cycles of the whole pipeline.
using by_number = sc::pipelined<uneven, sc::stages<0, 0, 0, 1, 1, 2, 2>>;
static_assert(sc::profile<divided, training, four>.cycles() < sc::profile<by_number, training, four>.cycles());

}  // namespace

TEST_CASE("automatic stages are the best of all divisions") {
  SUBCASE("layers of different sizes") {
    compare<uneven, four, 1>();
    compare<uneven, four, 2>();
    compare<uneven, four, 3>();
    compare<uneven, four, 4>();
  }
  SUBCASE("an image") {
    compare<image, four, 2>();
    compare<image, four, 3>();
    compare<image, four, 4>();
  }
  SUBCASE("residual connections") {
    compare<residual, four, 2>();
    compare<residual, four, 4>();
  }
  SUBCASE("shared weights, whose calls stay together") {
    compare<shared, four, 2>();
    compare<shared, four, 4>();
  }
}

TEST_CASE("numbers of IPUs are bounds") {
  // More than the machine has are as many as it has; two are the least, unless one is allowed.
  constexpr auto staged_with =
      []<sc::auto_pipeline_options Options, class Machine>() -> sc::diagnostics::diagnostic const& {
    return sc::detail::stage_problem<sc::pipeline::pipelined_model<
        uneven, sc::detail::auto_stages<training, Machine, Options>{}, sc::device_mapping<>>>;
  };
  constexpr auto text = [](sc::diagnostics::diagnostic const& problem) { return problem.text.view(); };
  CHECK(staged_with.operator()<sc::auto_pipeline_options{.max_ipus = 64}, four>().code == 0);
  static_assert(sc::tiles::auto_partition<uneven, training, four, sc::auto_pipeline_options{.max_ipus = 64}>.stages ==
                2);
  CHECK(text(staged_with.operator()<sc::auto_pipeline_options{}, sc::ipu<small_ipus<1>>>()) ==
        "auto_pipeline is to divide model 'sequential' among at least 2 IPUs (min_ipus), but the machine has 1 "
        "[E3020]");
  CHECK(text(staged_with.operator()<sc::auto_pipeline_options{.min_ipus = 3, .max_ipus = 2}, four>()) ==
        "auto_pipeline is to divide model 'sequential' among at least 3 IPUs (min_ipus), but among at most 2 "
        "(max_ipus) [E3020]");
  CHECK(staged_with.operator()<sc::auto_pipeline_options{.max_ipus = -1}, four>().code == 3020);
  CHECK(staged_with.operator()<sc::auto_pipeline_options{.min_ipus = 65}, four>().code == 3020);
  CHECK(staged_with.operator()<sc::auto_pipeline_options{}, sc::host<1, 2>>().code == 3022);
}

TEST_CASE("as few IPUs as the memory asks for") {
  using machine = sc::ipu<narrow_ipus>;
  constexpr auto const& found = sc::tiles::auto_partition<uneven, training, machine>;
  using staged = sc::auto_pipeline<uneven, training, machine>;
  static_assert(found.stages > 1);
  // All that the program takes fits, not only what layers cost by themselves.
  static_assert(!sc::profile<staged, training, machine>.out_of_memory());
  // With one IPU fewer, neither the fastest division does nor the one that takes least memory.
  constexpr int fewer = found.stages - 1;
  constexpr auto cycle = sc::auto_pipeline_priority::cycle;
  constexpr auto const& fastest =
      sc::detail::best_partition_into<sc::jobs::job_on<uneven, training, machine>, cycle, fewer>;
  constexpr auto const& least = sc::detail::least_partition_into<sc::jobs::job_on<uneven, training, machine>, fewer>;
  static_assert(!sc::detail::partition_fits<sc::jobs::job_on<uneven, training, machine>, fastest>());
  static_assert(!sc::detail::partition_fits<sc::jobs::job_on<uneven, training, machine>, least>());
  // Where the fastest does not fit, the one that is found by a lower bound is no slower than the one of least memory.
  constexpr sc::auto_pipeline_options at_once{.min_ipus = found.stages, .max_ipus = found.stages, .fine_tune_iter = 0};
  constexpr auto const& untuned = sc::tiles::auto_partition<uneven, training, machine, at_once>;
  static_assert(untuned.stages == found.stages && found.period() <= untuned.period());
}

// Tiles of 48 KiB hold what the layers of two stages cost by themselves, but not their code and exchanges as well.
inline constexpr sc::ipu_target barely{.name = "barely", .tiles_per_ipu = 16, .bytes_per_tile = 48 * 1024};
inline constexpr sc::ipu_config barely_ipus{.auto_select_ipus = 4, .ipu_model = {.version = barely}};

TEST_CASE("a division that does not fit with all that its program takes is made anew, as often as it may be") {
  using job = sc::jobs::job_on<uneven, training, sc::ipu<barely_ipus>>;
  constexpr auto const& tuned = sc::detail::tuned_partition_into<job, sc::auto_pipeline_options{}, 2>;
  static_assert(tuned.found() && sc::detail::partition_fits<job, tuned>());
  static_assert(!sc::detail::tuned_partition_into<job, sc::auto_pipeline_options{.fine_tune_iter = 0}, 2>.found());
}

TEST_CASE("stages of the model itself are replaced") {
  using machine = sc::ipu<small_ipus<4>>;
  using staged = sc::pipelined<uneven, sc::stages<0, 0, 0, 0, 0, 0, 1>>;
  using again = sc::auto_pipeline<staged, training, machine>;
  static_assert(sc::pipeline_stages<again> == 2);
  using directly = sc::auto_pipeline<uneven, training, machine>;
  for (int const call : sc::graph_of<uneven>.order)
    CHECK(sc::detail::checked_stages<again>.stage(call) == sc::detail::checked_stages<directly>.stage(call));
}

TEST_CASE("the stages are an ordinary assignment") {
  sc::pipeline::partition const& found =
      sc::tiles::auto_partition<uneven, training, four, sc::auto_pipeline_options{.min_ipus = 3}>;
  for (std::size_t i = 0; i < sc::graph_of<uneven>.order.size(); ++i)
    CHECK(sc::detail::checked_stages<divided>.stage(sc::graph_of<uneven>.order[i]) ==
          found.stage_of(static_cast<int>(i)));
}
