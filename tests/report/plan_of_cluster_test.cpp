// SPDX-License-Identifier: BSD-3-Clause
// Plan pages of clusters: the numbers are those of sc::profile of the cluster.
#include <stagecraft/description/training.hpp>
#include <stagecraft/mpi/cluster_plan.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/report/plan_html.hpp>
#include <stagecraft/report/plan_json.hpp>

#include <cstddef>
#include <cstdint>
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <string>

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

using mlp = sc::sequential<input{64}, dense{96, sc::relu}, dense{10}>;
using ipus = sc::ipu_devices<sc::ipu_config{.auto_select_ipus = 1}>;
using two_ipus = sc::ipu_devices<sc::ipu_config{.auto_select_ipus = 2}>;
inline constexpr sc::network cable{.gigabits = 10, .latency_us = 5, .ranks_of_host = 2};

template <int Replicas>
inline constexpr auto training = [] {
  sc::training result{.loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true}, .batch_size = 8};
  result.steps_per_execution = result.pipeline.gradient_accumulation_steps_per_replica = 4;
  result.num_replicas = Replicas;
  return result;
}();
template <int Ranks>
using cluster_of = sc::cluster<ipus, sc::ranks{Ranks}, cable>;

inline constexpr sc::plan_choices choices{.ipus = {1},
                                          .schedules = {sc::grouped},
                                          .micro_batches = {4},
                                          .replicas = {1, 2},
                                          .ranks = {1, 3, 16},
                                          .next_best = false};
static_assert(choices.combinations() == 6);
static_assert(choices.choice(5) == sc::plan_choice{.micro_batches = 4, .replicas = 2, .ranks = 16});

// docs/plans.md has these lines.
using rack = sc::cluster<sc::ipu_devices<>, sc::ranks{1}, sc::network{.gigabits = 100, .latency_us = 2}>;
inline constexpr sc::plan_choices of_rack{.ipus = {1}, .micro_batches = {16}, .ranks = {1, 2, 4, 8}};

std::string reasons_of(sc::plan_data const& data, int entry) {
  std::string text;
  for (auto const& sentence : sc::reports::plan_reasons(data, entry).sentences()) text += sentence + "\n";
  return text;
}

}  // namespace

TEST_CASE("the plans of a cluster have the numbers of its profile") {
  auto const data = sc::plan_data_of<mlp, training<1>, cluster_of<2>, choices>();
  REQUIRE(data.entries.size() == 6);

  auto const& one = data.entries[0];
  CHECK(one.samples_per_second() == sc::profile<mlp, training<1>, ipus>.samples_per_second());
  CHECK(one.network_seconds == 0);
  CHECK(one.efficiency() == 1);

  constexpr auto const& of_cluster = sc::profile<mlp, training<16>, cluster_of<16>>;
  auto const& many = data.entries[2];
  CHECK(many.choice.ranks == 16);
  CHECK(many.network_seconds == of_cluster.exchange().seconds);
  CHECK(many.network_bytes == of_cluster.exchange().bytes);
  CHECK(many.seconds_per_update() == doctest::Approx(of_cluster.seconds()).epsilon(1e-12));
  CHECK(many.samples_per_second() == doctest::Approx(of_cluster.samples_per_second()).epsilon(1e-12));
  CHECK(many.efficiency() == doctest::Approx(of_cluster.efficiency()).epsilon(1e-12));
  CHECK(static_cast<double>(many.bounds.network) / static_cast<double>(many.bounds.cycles()) ==
        doctest::Approx(1 - many.efficiency()).epsilon(1e-4));
  CHECK(many.profile == one.profile);  // a rank's own work does not depend on the others

  constexpr auto const& of_replicas = sc::profile<mlp, training<32>, sc::cluster<two_ipus, sc::ranks{16}, cable>>;
  CHECK(data.entries[5].samples_per_second() == doctest::Approx(of_replicas.samples_per_second()).epsilon(1e-12));

  // Three ranks cannot be on hosts of two.
  CHECK(data.entries[1].problem.find("[E2121]") != std::string::npos);

  auto const json = nlohmann::json::parse(sc::plan_json(data)).at("entries").at(2);
  CHECK(json.at("ranks") == 16);
  CHECK(json.at("samples_per_second").get<double>() == many.samples_per_second());
  CHECK(json.at("network_seconds").get<double>() == many.network_seconds);
  CHECK(json.at("network_bytes").get<std::int64_t>() == many.network_bytes);
}

TEST_CASE("the sentences say what ranks cost and give") {
  auto const data = sc::plan_data_of<mlp, training<1>, cluster_of<2>, choices>();
  CHECK(reasons_of(data, 0).find("over the ranks") == std::string::npos);
  auto const text = reasons_of(data, 2);
  CHECK(text.find("The sum of gradients over the ranks takes ") != std::string::npos);
  CHECK(text.find("of the time, in which a rank sends ") != std::string::npos);
  CHECK(text.find("All ranks together have ") != std::string::npos);
  auto const page = sc::plan_html(data);
  CHECK(page.find("1 replica on each of 16 ranks") != std::string::npos);
  CHECK(page.find("of the time ranks work") != std::string::npos);
}

TEST_CASE("more ranks give more samples per second, as far as the network lets them") {
  auto const data = sc::plan_data_of<mlp, training<1>, rack, of_rack>();
  REQUIRE(data.entries.size() == 4);  // one stage has neither a split nor a schedule
  CHECK(data.best() == 3);
  for (std::size_t i = 1; i < 4; ++i) {
    CHECK(data.entries[i].samples_per_second() > data.entries[i - 1].samples_per_second());
    CHECK(data.entries[i].efficiency() < data.entries[i - 1].efficiency());
  }
}

TEST_CASE("predictions of ranks need no network") {
  static constexpr sc::plan_choices two{.ipus = {1}, .schedules = {sc::grouped}, .ranks = {1, 2}, .next_best = false};
  using without_network = sc::cluster<ipus, sc::ranks{1}>;
  auto const data = sc::plan_data_of<mlp, sc::inference{.batch_size = 4}, without_network, two>();
  CHECK(data.entries[1].samples_per_second() == 2 * data.entries[0].samples_per_second());
  CHECK(reasons_of(data, 1).find("Predictions of ranks do not depend on each other. All ranks together have 2 times") !=
        std::string::npos);
  auto const trained = sc::plan_data_of<mlp, training<1>, without_network, two>();
  CHECK(trained.entries[1].problem.find("[E2120]") != std::string::npos);
}
