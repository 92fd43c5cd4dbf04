// SPDX-License-Identifier: BSD-3-Clause
// The numbers of plans are those of sc::profile, and the page has no others.
#include <stagecraft/description/training.hpp>
#include <stagecraft/ipu/profile/auto_pipeline.hpp>
#include <stagecraft/ipu/profile/profile.hpp>
#include <stagecraft/machines/ipu_devices.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/report/plan_data_of.hpp>
#include <stagecraft/report/plan_json.hpp>

#include <cstdint>
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

using mlp = sc::sequential<input{64}, dense{96, sc::relu}, dense{64, sc::relu}, dense{10}>;

inline constexpr auto base =
    sc::training{.loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true}, .batch_size = 8};
template <sc::schedule Schedule, int MicroBatches, int Replicas>
inline constexpr auto training = [] {
  auto result = base;
  result.steps_per_execution = result.pipeline.gradient_accumulation_steps_per_replica = MicroBatches;
  result.pipeline.schedule = Schedule;
  result.num_replicas = Replicas;
  return result;
}();
template <int Ipus>
using machine = sc::ipu_devices<sc::ipu_config{.auto_select_ipus = Ipus}>;

inline constexpr sc::plan_choices choices{
    .ipus = {1, 2}, .schedules = {sc::grouped, sc::interleaved}, .micro_batches = {8, 18}, .replicas = {1, 2}};
static_assert(choices.combinations() == 32);
static_assert(choices.choice(0) == sc::plan_choice{.micro_batches = 8});
static_assert(choices.choice(31) == sc::plan_choice{2, 2, true, sc::interleaved, 18, 2});
static_assert(choices.combination(choices.places(21)) == 21);
static_assert(choices.representative(15) == 3 && choices.representative(31) == 31);

sc::plan_entry const& entry_of(sc::plan_data const& data, sc::plan_choice const& choice) {
  for (int i = 0; i < data.choices.combinations(); ++i)
    if (data.choices.choice(i) == choice)
      return data.entries[static_cast<std::size_t>(data.entry_of[static_cast<std::size_t>(i)])];
  FAIL("there is no such combination");
  return data.entries[0];
}

/// True if an entry, and its part of the JSON, has a profile's numbers.
template <class Profile>
void check(sc::plan_data const& data, sc::plan_choice const& choice, Profile) {
  CAPTURE(choice.ipus);
  CAPTURE(choice.micro_batches);
  CAPTURE(choice.replicas);
  auto const& entry = entry_of(data, choice);
  REQUIRE(entry.problem == "");
  auto const& totals = entry.profile.totals;
  CHECK(totals.cycles_per_update == Profile::cycles());
  CHECK(totals.samples_per_second == Profile::samples_per_second());
  CHECK(totals.bubble == Profile::bubble());
  CHECK(entry.bounds.cycles() == Profile::cycles());
  CHECK(entry.bounds.update == Profile::update_cycles());
  auto const json = nlohmann::json::parse(sc::plan_json(data))
                        .at("entries")
                        .at(static_cast<std::size_t>(&entry - data.entries.data()));
  CHECK(json.at("cycles_per_update").template get<std::int64_t>() == Profile::cycles());
  CHECK(json.at("samples_per_second").template get<double>() == Profile::samples_per_second());
  CHECK(json.at("bubble").template get<double>() == Profile::bubble());
  CHECK(json.at("latency_cycles").template get<std::int64_t>() == Profile::latency_cycles());
  CHECK(json.at("exchange_share").template get<double>() == Profile::exchange_share());
  for (int ipu = 0; ipu < Profile::ipus(); ++ipu)
    CHECK(json.at("bytes_of_fullest_tile").at(static_cast<std::size_t>(ipu)).template get<std::int64_t>() ==
          Profile::memory(ipu).peak());
}

template <sc::schedule Schedule, int MicroBatches, int Replicas>
void check_divided(sc::plan_data const& data) {
  using staged = sc::auto_pipeline<mlp, training<Schedule, MicroBatches, Replicas>, machine<2>,
                                   sc::auto_pipeline_options{.min_ipus = 2, .max_ipus = 2}>;
  check(data, {2, 2, false, Schedule, MicroBatches, Replicas},
        sc::profile<staged, training<Schedule, MicroBatches, Replicas>, machine<2 * Replicas>>);
}

}  // namespace

TEST_CASE("the numbers of plans are those of the profile of the same training") {
  auto const data = sc::plan_data_of<mlp, base, machine<1>, choices>();
  CHECK(data.model == "sequential");
  CHECK(data.trains);
  CHECK(data.entries.size() == 4 + 16);
  check(data, {1, 1, false, sc::grouped, 8, 1}, sc::profile<mlp, training<sc::grouped, 8, 1>, machine<1>>);
  check(data, {1, 1, true, sc::interleaved, 18, 2}, sc::profile<mlp, training<sc::grouped, 18, 2>, machine<2>>);
  check_divided<sc::grouped, 8, 1>(data);
  check_divided<sc::interleaved, 18, 2>(data);

  // A rule is told in place of a profile.
  auto const& refused = entry_of(data, {2, 2, false, sc::grouped, 18, 1});
  CHECK(refused.problem.find("[E2024]") != std::string::npos);
  CHECK(!refused.fits());
  CHECK(nlohmann::json::parse(sc::plan_json(data))
            .at("entries")
            .at(static_cast<std::size_t>(&refused - data.entries.data()))
            .at("problem")
            .get<std::string>() == refused.problem);

  // The second best split is another one, and is not better.
  auto const& best = entry_of(data, {2, 2, false, sc::grouped, 8, 1});
  auto const& next = entry_of(data, {2, 2, true, sc::grouped, 8, 1});
  CHECK(best.layers_of_stage[1].first != next.layers_of_stage[1].first);
  CHECK(best.profile.totals.samples_per_second >= next.profile.totals.samples_per_second);
  CHECK(best.sent_forward[0] > 0);
  CHECK(best.sent_forward[1] == 0);
  CHECK(best.sent_backward[1] > 0);
}

TEST_CASE("several stages on an IPU, more stages than there are parts, and predictions") {
  static constexpr sc::plan_choices few{
      .ipus = {1, 4}, .stages_per_ipu = {1, 2}, .schedules = {sc::grouped}, .next_best = false};
  auto const data = sc::plan_data_of<mlp, sc::inference{.batch_size = 4, .steps_per_execution = 4}, machine<1>, few>();
  REQUIRE(data.entries.size() == 4);
  CHECK(!data.trains);
  CHECK(data.choices.micro_batches[0] == 4);
  CHECK(data.entries[0].profile.totals.samples_per_second ==
        sc::profile<mlp, sc::inference{.batch_size = 4, .steps_per_execution = 4}, machine<1>>.samples_per_second());
  CHECK(data.entries[1].problem == "");
  CHECK(data.entries[1].choice.stages == 2);
  CHECK(data.entries[1].profile.device_of_stage == std::vector<int>{0, 0});
  CHECK(data.entries[1].bounds.ipus.size() == 1);
  CHECK(data.entries[2].problem.find("parts that can be apart") != std::string::npos);
  CHECK(data.entries[3].problem.find("8 parts") != std::string::npos);
  CHECK(data.best() < 2);
}
