// SPDX-License-Identifier: BSD-3-Clause
// A field that the list of a description's fields lacks would be lost when a job is named: the lists are whole.
#include <stagecraft/description/settings.hpp>
#include <stagecraft/graph/fields.hpp>
#include <stagecraft/stagecraft.hpp>
#include <doctest/doctest.h>

namespace sc = stagecraft;
namespace jobs = stagecraft::jobs;

namespace {

template <class Description>
constexpr bool lists_all_fields =
    jobs::fields_of<Description>::list::count == stagecraft::tracing::count_fields<Description>();

static_assert(lists_all_fields<sc::inference>);

constexpr sc::inference inference{.batch_size = 8, .num_replicas = 2, .seed = 7};
constexpr sc::training training{.optimizer = sc::optimizers::adam{.learning_rate = 0.25F},
                                .loss = sc::losses::mean_squared_error{},
                                .batch_size = 8,
                                .steps_per_execution = 3,
                                .seed = 7};

}  // namespace

TEST_CASE("settings: the list of a training's fields is whole") {
  // Does not compile where a training has another number of fields: then the list, too, needs another one.
  [[maybe_unused]] auto const& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s] = training;
  CHECK(jobs::fields_of<std::remove_const_t<decltype(training)>>::list::count == 19);
}

TEST_CASE("settings: a description comes back with each of its fields") {
  constexpr auto of_inference = jobs::settings_of<inference>::value;
  CHECK(of_inference.batch_size == 8);
  CHECK(of_inference.num_replicas == 2);
  CHECK(of_inference.seed == 7);
  constexpr auto of_training = jobs::settings_of<training>::value;
  CHECK(of_training.optimizer.learning_rate == 0.25F);
  CHECK(of_training.batch_size == 8);
  CHECK(of_training.steps_per_execution == 3);
  CHECK(of_training.seed == 7);
}

TEST_CASE("settings: descriptions that say the same are one type, whatever they leave out") {
  static constexpr sc::inference said{.batch_size = 8, .steps_per_execution = sc::inference{}.steps_per_execution};
  static constexpr sc::inference unsaid{.batch_size = 8};
  CHECK(std::is_same_v<jobs::settings_of<said>, jobs::settings_of<unsaid>>);
}
