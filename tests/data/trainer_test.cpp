// SPDX-License-Identifier: BSD-3-Clause
// Trainers on datasets: the bits that the same samples in memory give, and what is said of datasets that do not fit.
#include <doctest/doctest.h>

#include <stagecraft/data/data.hpp>
#include <stagecraft/stagecraft.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

using model = sc::sequential<input{6}, dense{8, sc::relu}, dropout{0.2}, dense{3}>;
inline constexpr auto plain = sc::training{.optimizer = sc::optimizers::adam{.learning_rate = 0.01F},
                                           .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                           .metrics = sc::metrics::accuracy{},
                                           .batch_size = 8};
using staged = sc::pipelined<model, sc::stages<0, 0, 1>>;
inline constexpr auto in_stages = sc::training{.optimizer = sc::optimizers::adam{.learning_rate = 0.01F},
                                               .loss = plain.loss,
                                               .metrics = sc::metrics::accuracy{},
                                               .batch_size = 4,
                                               .steps_per_execution = 4,
                                               .pipeline = {.gradient_accumulation_steps_per_replica = 4},
                                               .num_replicas = 2};

struct samples {
  xt::xtensor<float, 2> x;
  xt::xtensor<int, 1> y;
  xt::xtensor<float, 1> weight;
};
samples draw(std::size_t count) {
  samples drawn{xt::zeros<float>({count, std::size_t{6}}), xt::zeros<int>({count}), xt::ones<float>({count})};
  std::uint32_t state = 1;
  auto const next = [&state] { return (state = state * 1664525 + 1013904223) >> 8; };
  for (auto& value : drawn.x) value = static_cast<float>(next() % 2000) / 1000 - 1;
  for (std::size_t i = 0; i < count; ++i) drawn.y(i) = drawn.x(i, 0) > drawn.x(i, 1) ? 0 : drawn.x(i, 2) > 0 ? 1 : 2;
  for (auto& value : drawn.weight) value = static_cast<float>(next() % 3);
  return drawn;
}

bool same(std::vector<sc::weight_array> const& a, std::vector<sc::weight_array> const& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i].values != b[i].values) return false;
  return true;
}

struct preprocessing : sc::functional<preprocessing> {
  static constexpr auto build(auto& network) {
    auto x = network.input(6);
    return sc::outputs(normalization({.name = "features"})(x), discretization({.num_bins = 4, .name = "bins"})(x));
  }
};

template <class Call>
void fails(char const* code, Call const& call) {
  CHECK_THROWS_WITH_AS(call(), doctest::Contains(code), sc::data_error);
}

}  // namespace

TEST_CASE("fit, evaluate and predict give the bits of the same samples in memory") {
  auto const [x, y, weight] = draw(45);  // the last batch is not full
  auto const streamed = sc::data::from(x, y);
  sc::trainer<model, plain> in_memory, streaming, batched;
  auto const a = in_memory.fit(x, y, {.epochs = 3, .verbose = 0, .validation_split = 0, .shuffle = false});
  auto const b = streaming.fit(streamed, {.epochs = 3, .verbose = 0});
  CHECK(a.history.at("loss") == b.history.at("loss"));
  CHECK(a.history.at("accuracy") == b.history.at("accuracy"));
  CHECK(same(in_memory.get_weights(), streaming.get_weights()));
  batched.fit(streamed.prefetch().batch(8), {.epochs = 3, .verbose = 0});
  CHECK(same(in_memory.get_weights(), batched.get_weights()));

  int given = 0;  // no more elements are asked for than batches take
  auto const counted =
      streamed.map([&given](auto const& image, int label) { return ++given, std::pair(image, label); });
  static_cast<void>(streaming.predict(counted, {.steps = 2}));
  CHECK(given == 16);

  CHECK(in_memory.evaluate(x, y, {.verbose = 0}) == streaming.evaluate(streamed, {.verbose = 0}));
  CHECK(in_memory.predict(x) == streaming.predict(streamed));
  CHECK(in_memory.predict(x) == streaming.predict(sc::data::from(x)));
  xt::xtensor<float, 2> const first = streaming.predict(streamed.batch(7).repeat(), {.steps = 2});
  REQUIRE(first.shape()[0] == 14);  // batches that are not full, one after the other
  CHECK(first == xt::view(in_memory.predict(x), xt::range(0, 14)));

  // Weights of samples and classes, validation, epochs of some batches, which go on in the data.
  auto const c = in_memory.fit(x, y,
                               {.epochs = 4,
                                .verbose = 0,
                                .validation_data = {x, y},
                                .shuffle = false,
                                .class_weight = {{0, 1.0F}, {1, 2.0F}, {2, 0.5F}},
                                .sample_weight = weight,
                                .steps_per_epoch = 4});
  auto const d = streaming.fit(sc::data::from(x, y, weight), {.epochs = 4,
                                                              .verbose = 0,
                                                              .validation_data = streamed,
                                                              .class_weight = {{0, 1.0F}, {1, 2.0F}, {2, 0.5F}},
                                                              .steps_per_epoch = 4});
  CHECK(c.history.at("loss") == d.history.at("loss"));
  CHECK(c.history.at("val_loss") == d.history.at("val_loss"));
  CHECK(same(in_memory.get_weights(), streaming.get_weights()));
}

TEST_CASE("Pipelines and replicas take batches from a dataset, which threads make") {
  auto const all = draw(64);
  sc::trainer<staged, in_stages, sc::host<2>> in_memory, streaming, continued;
  auto const shuffled =
      sc::data::from(all.x, all.y).shuffle(16).map([](auto const& x, int y) { return std::pair(x * 0.5F, y); });
  xt::xtensor<float, 3> drawn = xt::zeros<float>({std::size_t{2}, std::size_t{64}, std::size_t{6}});
  xt::xtensor<int, 2> labels = xt::zeros<int>({std::size_t{2}, std::size_t{64}});
  for (std::size_t epoch = 0; epoch < 2; ++epoch) {
    auto const pass = shuffled.begin_pass(epoch);
    for (std::size_t row = 0; row < 64; ++row) {
      auto const element = *pass->next();
      xt::view(drawn, epoch, row) = std::get<0>(element);
      labels(epoch, row) = std::get<1>(element);
    }
  }
  for (std::size_t epoch = 0; epoch < 2; ++epoch)
    in_memory.fit(xt::xtensor<float, 2>(xt::view(drawn, epoch)), xt::xtensor<int, 1>(xt::view(labels, epoch)),
                  {.epochs = static_cast<int>(epoch) + 1,
                   .verbose = 0,
                   .shuffle = false,
                   .initial_epoch = static_cast<int>(epoch)});
  streaming.fit(shuffled, {.epochs = 2, .verbose = 0});
  CHECK(same(in_memory.get_weights(), streaming.get_weights()));
  // In two runs, and from a dataset that does not end.
  continued.fit(shuffled, {.epochs = 1, .verbose = 0});
  continued.fit(shuffled.repeat(), {.epochs = 2, .verbose = 0, .initial_epoch = 1, .steps_per_epoch = 16});
  CHECK(same(continued.get_weights(), streaming.get_weights()));
  CHECK(in_memory.predict(all.x) == streaming.predict(sc::data::from(all.x).prefetch()));
  // From one that says that it has fewer elements than it gives.
  auto const fewer = shuffled.assert_cardinality(48);
  streaming.fit(fewer, {.epochs = 3, .verbose = 0, .steps_per_epoch = 8});
  continued.fit(fewer, {.epochs = 2, .verbose = 0, .steps_per_epoch = 8});
  continued.fit(fewer, {.epochs = 3, .verbose = 0, .initial_epoch = 2, .steps_per_epoch = 8});
  CHECK(same(continued.get_weights(), streaming.get_weights()));
}

TEST_CASE("Batches that functions have changed, kept or chosen are trained on as the same samples in memory are") {
  auto const [x, y, weight] = draw(45);
  xt::xtensor<float, 2> const scaled = x / 2.0F;
  sc::trainer<model, plain> in_memory, of_batches, resumed, chosen;
  auto const a = in_memory.fit(scaled, y, {.epochs = 3, .verbose = 0, .validation_split = 0, .shuffle = false});
  // The guide's own order: batch, then map, cache and prefetch.
  auto const batches =
      sc::data::from(x, y)
          .batch(8)
          .map([](auto const& images, auto const& labels) { return std::tuple(images / 2.0F, labels * 1); },
               {.num_parallel_calls = 2})
          .cache()
          .prefetch(sc::data::autotune);
  auto const b = of_batches.fit(batches, {.epochs = 3, .verbose = 0});
  CHECK(a.history.at("loss") == b.history.at("loss"));
  CHECK(same(in_memory.get_weights(), of_batches.get_weights()));
  CHECK(in_memory.evaluate(scaled, y, {.verbose = 0}) == of_batches.evaluate(batches, {.verbose = 0}));
  CHECK(in_memory.predict(scaled) == of_batches.predict(batches));
  // A run that stops within an epoch and goes on.
  resumed.fit(batches, {.epochs = 3, .verbose = 0, .steps_per_epoch = 4});
  resumed.fit(batches, {.epochs = 4, .verbose = 0, .initial_epoch = 3, .steps_per_epoch = 4});
  sc::trainer<model, plain> whole;
  whole.fit(batches, {.epochs = 4, .verbose = 0, .steps_per_epoch = 4});
  CHECK(same(whole.get_weights(), resumed.get_weights()));
  // Samples that others make room for.
  auto const all = sc::data::from(scaled, y).enumerate();
  auto const kept = all.filter([](std::int64_t number, auto const&) { return number < 24; })
                        .map([](std::int64_t, auto const& sample) { return sample; });
  chosen.fit(kept.assert_cardinality(24), {.verbose = 0, .validation_data = kept.batch(8).assert_cardinality(3)});
  fails("dataset: expected steps_per_epoch, since the dataset does not know how many elements it has",
        [&] { chosen.fit(kept, {.verbose = 0}); });
  auto const failing = sc::data::from(x, y).batch(8).map(
      [](auto const& images, auto const& labels) {
        if (labels.size() < 8) throw std::runtime_error("the last batch");
        return std::tuple(images * 1.0F, labels * 1);
      },
      {.num_parallel_calls = 3});
  CHECK_THROWS_WITH_AS(chosen.fit(failing, {.verbose = 0}), "the last batch", std::runtime_error);
  auto const ragged = sc::data::from(x, y).batch(8).map([](auto const& images, auto const& labels) {
    return std::tuple(images * 1.0F, xt::view(labels, xt::range(0, 4)));
  });
  fails("dataset: expected arrays of 8 samples in a batch, as many as its first one has, found 4 [E4117]",
        [&] { chosen.fit(ragged, {.verbose = 0}); });
  fails("E4066",
        [&] { chosen.predict(sc::data::from(x).batch(9).map([](auto const& images) { return images * 1.0F; })); });
}

TEST_CASE("Layers are adapted to a dataset as to the same samples in memory") {
  auto const [x, y, weight] = draw(70);
  sc::predictor<preprocessing, sc::inference{.batch_size = 8}> in_memory, streaming;
  auto const untouched = streaming.get_weights();
  in_memory.adapt<"features">(x);
  in_memory.adapt<"bins">(x);
  auto const both = sc::data::from(x, y);
  auto const adapted_to = [&](auto const& features, auto const& bins, sc::data::adapt_options const& options = {}) {
    streaming.set_weights(untouched);
    streaming.adapt<"features">(features, options);
    streaming.adapt<"bins">(bins, options);
    return same(in_memory.get_weights(), streaming.get_weights());
  };
  CHECK(adapted_to(both, sc::data::from(x)));
  CHECK(adapted_to(both.shuffle(1).batch(7), both.batch(32)));  // batches may be larger than the program's
  auto const arrays =
      both.batch(32).map([](auto const& images, auto const& labels) { return std::tuple(images, labels); });
  CHECK(adapted_to(arrays, arrays));
  CHECK(adapted_to(both.filter([](auto const&, int) { return true; }),
                   both.map([](auto const& sample, int) { return sample; })));
  CHECK(adapted_to(arrays.repeat(), arrays.repeat(), {.steps = 3}));
  in_memory.adapt<"features">(xt::xtensor<float, 2>(xt::view(x, xt::range(0, 64))));
  in_memory.adapt<"bins">(xt::xtensor<float, 2>(xt::view(x, xt::range(0, 64))));
  CHECK(adapted_to(both.repeat(), arrays, {.steps = 2}));
  fails("dataset: expected steps, since the dataset has no end, found none [E4063]",
        [&] { streaming.adapt<"features">(both.repeat()); });
  fails("data: expected samples of shape (6,), found () [E4001]",
        [&] { streaming.adapt<"features">(sc::data::from(y)); });
  fails("data: expected 1 array, found 2 [E4010]",
        [&] { streaming.adapt<"features">(sc::data::from(std::tie(x, x), y)); });
  fails("E4003", [&] { streaming.adapt<"features">(both.take(0)); });
}

TEST_CASE("What is wrong with a dataset is said with its code") {
  auto const [x, y, weight] = draw(32);
  auto const good = sc::data::from(x, y);
  sc::trainer<model, plain> trained;
  auto const before = trained.get_weights();
  auto const fit = [&](auto const& dataset, sc::data::fit_options options = {}) {
    options.verbose = 0;
    return [&trained, dataset, options] { trained.fit(dataset, options); };
  };
  fails("E4063", fit(good.repeat()));
  fails(
      "dataset: expected steps_per_epoch, since the dataset does not know how many elements it has, found none [E4063]",
      fit(sc::data::from_generator(
          [] { return [] { return std::optional<std::pair<xt::xtensor<float, 1>, int>>(); }; })));
  fails("E4003", fit(good.take(0)));
  fails("E4003", fit(good, {.steps_per_epoch = 5}));
  fails("E4063", [&] { trained.evaluate(good.repeat(), {.verbose = 0}); });
  fails("E4063", [&] { trained.predict(good.repeat()); });
  fails("validation_data.dataset: expected validation_steps, since the dataset has no end, found none [E4063]",
        fit(good, {.validation_data = good.repeat()}));
  fails("E4010", fit(sc::data::from(x)));
  fails("E4001", fit(sc::data::from(xt::xtensor<float, 2>(xt::view(x, xt::all(), xt::range(0, 5))), y)));
  fails("validation_data.y: expected samples of shape (), found (6,)",
        fit(good, {.validation_data = sc::data::from(x, x)}));
  CHECK(same(trained.get_weights(), before));
  // These are found while it trains.
  fails("dataset: expected 5 batches, found 4 [E4064]", fit(good.assert_cardinality(40)));
  auto const short_one = sc::data::from_generator([&] {
    return [&, i = std::size_t{0}]() mutable -> std::optional<std::pair<xt::xtensor<float, 1>, int>> {
      if (i == 20) return std::nullopt;
      ++i;
      return std::pair(xt::xtensor<float, 1>(xt::view(x, i)), y(i));
    };
  });
  fails("E4064", fit(short_one, {.steps_per_epoch = 4}));
  trained.fit(short_one, {.epochs = 4, .verbose = 0, .steps_per_epoch = 2});  // begins anew
  fails("x: expected samples of shape (6,), as the first one is, found (4,) at sample 3 of the pass [E4065]",
        fit(sc::data::from_generator(
            [&] {
              return [&, i = std::size_t{0}]() mutable {
                ++i;
                return std::optional(
                    std::pair(xt::xtensor<float, 1>(xt::zeros<float>({std::size_t{i == 4 ? 4u : 6u}})), 1));
              };
            },
            32)));
  fails("y: expected class numbers from 0 to 2, found 7 at sample 9 [E4004]",
        fit(sc::data::zip(sc::data::from(x), sc::data::range(32).map([](std::int64_t i) { return i == 9 ? 7 : 1; }))));
  fails("E4066", fit(good.batch(9)));
}
