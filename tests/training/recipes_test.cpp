// SPDX-License-Identifier: BSD-3-Clause
// The recipes of docs/recipes.md: each compiles, does what is said of it, and stands there as it stands here.
#include <doctest/doctest.h>

#include <stagecraft/data/data.hpp>
#include <stagecraft/models/fine_tuning.hpp>
#include <stagecraft/stagecraft.hpp>
#include <stagecraft/training/shares.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <unistd.h>
#include <utility>
#include <vector>

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

namespace {

// Windows and single steps ------------------------------------------------------------------------------------------

using of_windows = sc::sequential<input{16, 1}, lstm{8}, dense{1}>;
using of_steps = sc::sequential<input{1, 1}.of_batch_size(1), lstm{8, {.stateful = true}}, dense{1}>;

inline constexpr auto forecasting =
    sc::training{.optimizer = sc::optimizers::adam{.learning_rate = 0.01F}, .batch_size = 16};
inline constexpr auto one = sc::inference{.batch_size = 1};

float forecast(xt::xtensor<float, 2> const& series) {  // (steps, 1)
  auto const steps = series.shape()[0];
  auto const next = xt::eval(xt::view(series, xt::range(16, steps), 0));  // the step after each window
  auto const windows = sc::data::timeseries_dataset_from_array(series, next, 16, {.shuffle = true});
  sc::trainer<of_windows, forecasting> trained;
  trained.fit(windows, {.epochs = 8, .verbose = 0});

  sc::predictor<of_steps, one> live;
  live.set_weights(trained.get_weights());
  xt::xtensor<float, 3> step({1, 1, 1});
  float expected = 0;
  for (std::size_t i = steps - 16; i < steps; ++i) {
    step(0, 0, 0) = series(i, 0);
    expected = live(step)(0, 0);  // the lstm remembers the steps before
  }
  live.reset_states();  // before another series begins
  return expected;
}

// Generative adversarial networks -----------------------------------------------------------------------------------

struct generator : sc::functional<generator> {
  static constexpr std::string_view name = "generator";
  static constexpr auto build(auto& model) { return dense(1)(dense(8, sc::relu)(model.input(2))); }
};

struct discriminator : sc::functional<discriminator> {
  static constexpr std::string_view name = "discriminator";
  static constexpr auto build(auto& model) { return dense(1)(dense(16, sc::relu)(model.input(1))); }
};

struct gan : sc::functional<gan> {
  static constexpr auto build(auto& model) { return sc::frozen<discriminator>{}(generator{}(model.input(2))); }
};

inline constexpr auto adversarial =
    sc::training{.optimizer = sc::optimizers::adam{.learning_rate = 0.01F, .beta_1 = 0.5F},
                 .loss = sc::losses::binary_crossentropy{.from_logits = true},
                 .batch_size = 64};
inline constexpr auto drawing = sc::inference{.batch_size = 32};

template <class Real, class Noise>
auto train_gan(int steps, Real const& real, Noise const& noise) {
  sc::trainer<gan, adversarial> both;
  sc::trainer<discriminator, adversarial> judge{sc::shares<"discriminator">(both)};
  sc::predictor<generator, drawing> draw{sc::shares<"generator">(both)};
  xt::xtensor<float, 1> const is_real = xt::concatenate(std::tuple(xt::ones<float>({32}), xt::zeros<float>({32})));
  xt::xtensor<float, 1> const should_be_real = xt::ones<float>({64});
  for (int step = 0; step < steps; ++step) {
    xt::xtensor<float, 2> const x = xt::concatenate(std::tuple(real(32), draw.predict(noise(32))));
    judge.train_on_batch(x, is_real);
    both.train_on_batch(noise(64), should_be_real);
  }
  return draw.predict(noise(256));
}

// Distillation ------------------------------------------------------------------------------------------------------

inline constexpr float temperature = 4;

struct student : sc::functional<student> {
  static constexpr auto build(auto& model) {
    auto const logits = dense(3, {.name = "logits"})(dense(4, sc::relu)(model.input(6)));
    return sc::outputs(logits, rescaling(1 / temperature, {.name = "soft"})(logits));
  }
};

inline constexpr auto distilling = sc::training{
    .optimizer = sc::optimizers::adam{.learning_rate = 0.02F},
    .loss = sc::losses::per_output(sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                   sc::losses::categorical_crossentropy{.from_logits = true}),
    .metrics = sc::metrics::per_output({"logits", sc::metrics::accuracy{}}),
    .loss_weights = {0.1, 0.9 * temperature* temperature},  // gradients of soft targets shrink by its square
    .batch_size = 16};

template <class Teacher>
auto distil(Teacher& teacher, xt::xtensor<float, 2> const& x, std::vector<int> const& labels) {
  xt::xtensor<float, 2> const powers = xt::exp(teacher.predict(x) / temperature);
  xt::xtensor<float, 2> const soft = powers / xt::sum(powers, {1}, xt::keep_dims | xt::evaluation_strategy::immediate);
  sc::trainer<student, distilling> learner;
  return learner.fit(x, sc::targets(labels, soft), {.epochs = 10, .verbose = 0, .validation_split = 0});
}

// Saliency ----------------------------------------------------------------------------------------------------------

using classifier = sc::sequential<input{6}, dense{8, sc::tanh}, dense{3}>;
using explained = sc::sequential<input{6}.of_batch_size(1), capture_upstream_gradients{{.name = "pixels"}},
                                 dense{8, sc::tanh}, dense{3}>;

struct score : sc::loss<score> {  // of the classes that the target has a 1 for
  constexpr auto call(auto target, auto output) const { return target * output * 3; }  // 3 classes: losses are means
};

inline constexpr auto explaining =
    sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = 0}, .loss = score{}, .batch_size = 1};

/// How much each input raises the score of a class.
template <class Trained>
std::vector<float> saliency(Trained const& trained, xt::xtensor<float, 2> const& sample, int of_class) {
  sc::trainer<explained, explaining> probe;
  probe.set_weights(trained.get_weights());
  xt::xtensor<float, 2> target = xt::zeros<float>({1, 3});
  target(0, of_class) = 1;
  probe.train_on_batch(sample, target);  // a rate of 0: no weight changes
  return probe.template captured_gradients<"pixels">().values;
}

// Several seeds -----------------------------------------------------------------------------------------------------

inline constexpr auto classifying =
    sc::training{.optimizer = sc::optimizers::adam{.learning_rate = 0.02F},
                 .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                 .metrics = sc::metrics::accuracy{},
                 .batch_size = 16};

std::pair<double, double> accuracy_of_seeds(xt::xtensor<float, 2> const& x, std::vector<int> const& labels, int seeds) {
  std::vector<double> found;
  for (int seed = 1; seed <= seeds; ++seed) {
    sc::trainer<classifier, classifying> model(static_cast<std::uint64_t>(seed));  // weights, dropout and shuffling
    model.fit(x, labels, {.epochs = 5, .verbose = 0, .validation_split = 0});
    found.push_back(model.evaluate(x, labels, {.verbose = 0})[1]);
  }
  double mean = 0, variance = 0;
  for (double const each : found) mean += each / seeds;
  for (double const each : found) variance += (each - mean) * (each - mean) / (seeds - 1);
  std::printf("accuracy %.3f +- %.3f\n", mean, std::sqrt(variance));
  return {mean, std::sqrt(variance)};
}

// Sweeps ------------------------------------------------------------------------------------------------------------

struct trial {  // what can be chosen while the program runs
  double learning_rate;
  int batch_size, epochs;
  double loss = 0;
};

trial best_of(std::vector<trial> trials, xt::xtensor<float, 2> const& x, std::vector<int> const& labels) {
  for (auto& each : trials) {
    sc::trainer<classifier, classifying> model;
    model.set_learning_rate(each.learning_rate);
    auto const history = model.fit(x, labels,
                                   {.batch_size = each.batch_size,  // at most that of the description
                                    .epochs = each.epochs,
                                    .verbose = 0,
                                    .validation_split = 0.25F});
    each.loss = history.at("val_loss").back();
  }
  return *std::min_element(trials.begin(), trials.end(), [](auto const& a, auto const& b) { return a.loss < b.loss; });
}

template <int Units>  // what is compiled: one program for each value
double loss_with_units(xt::xtensor<float, 2> const& x, std::vector<int> const& labels) {
  sc::trainer<sc::sequential<input{6}, dense{Units, sc::relu}, dense{3}>, classifying> model;
  return model.fit(x, labels, {.verbose = 0, .validation_split = 0.25F}).at("val_loss").back();
}
inline constexpr std::array widths{std::pair(4, &loss_with_units<4>), std::pair(8, &loss_with_units<8>)};

// A history as a picture --------------------------------------------------------------------------------------------

void write_history(auto const& history, std::string const& path) {
  std::ofstream file(path);
  file << "epoch";
  auto const is_whole = [&](auto const& values) { return values.size() == history.epoch.size(); };
  for (auto const& [name, values] : history.history)
    if (is_whole(values)) file << ',' << name;
  for (std::size_t row = 0; row < history.epoch.size(); ++row) {
    file << '\n' << history.epoch[row];
    for (auto const& [name, values] : history.history)
      if (is_whole(values)) file << ',' << values[row];
  }
  file << '\n';
}

// A predictor for each thread ---------------------------------------------------------------------------------------

inline constexpr auto single = sc::inference{.batch_size = 1};

template <class Trained>
std::vector<int> classify(Trained const& trained, xt::xtensor<float, 2> const& x, int threads) {
  auto const weights = trained.get_weights();
  std::vector<int> classes(x.shape()[0]);
  auto const work = [&](int thread) {
    sc::predictor<classifier, single> own;  // its memory holds one step: no two threads share it
    own.set_weights(weights);
    for (std::size_t i = static_cast<std::size_t>(thread); i < classes.size(); i += static_cast<std::size_t>(threads)) {
      auto const sample = xt::view(x, xt::range(i, i + 1));
      auto const scores = own(sample);
      classes[i] = static_cast<int>(std::max_element(scores.begin(), scores.end()) - scores.begin());
    }
  };
  std::vector<std::thread> team;
  for (int thread = 0; thread < threads; ++thread) team.emplace_back(work, thread);
  for (auto& thread : team) thread.join();
  return classes;
}

// Sound in real time ------------------------------------------------------------------------------------------------

inline constexpr int block = 32;  // samples between two calls: 0.7 ms at 48 kHz
using amplifier = sc::sequential<input{256, 1}, lstm{8, {.return_sequences = true}}, dense{1}>;  // to be trained
using amplifier_live =
    sc::sequential<input{block, 1}.of_batch_size(1), lstm{8, {.return_sequences = true, .stateful = true}}, dense{1}>;

class effect {
 public:
  explicit effect(std::vector<sc::weight_array> const& weights) {  // allocates: not on the audio thread
    model_.set_weights(weights);
    std::array<float, block> silence{};
    process(silence);  // the first call prepares the weights
    model_.reset_states();
  }
  /// Allocates nothing, takes no lock and makes no system call: it may run in the callback of the sound card.
  void process(std::span<float, block> samples) noexcept {
    sc::kernels::flush_denormals const flush;  // a decaying sound is full of denormal numbers
    auto const out = model_.call(samples);
    std::copy(out.begin(), out.end(), samples.begin());
  }

 private:
  sc::predictor<amplifier_live, sc::inference{.batch_size = 1}> model_;
};

/// Convolutions over ever longer times, each added to what it reads: an output sees 511 samples.
template <int Samples, bool Live>
struct dilated : sc::functional<dilated<Samples, Live>> {
  static constexpr auto build(auto& model) {
    auto const samples = Live ? input{Samples, 1}.of_batch_size(1) : input{Samples, 1};
    auto x = dense(8)(samples(model));
    for (int dilation = 1; dilation < 256; dilation *= 2)
      x = sc::layers::add()(
          x, conv1d(8, 3, sc::tanh, {.padding = sc::padding::causal, .dilation_rate = dilation, .stateful = Live})(x));
    return dense(1)(x);
  }
};

// -------------------------------------------------------------------------------------------------------------------

struct labelled {
  xt::xtensor<float, 2> x;
  std::vector<int> y;
};
labelled draw_samples(std::size_t count) {
  labelled drawn{xt::zeros<float>({count, std::size_t{6}}), std::vector<int>(count)};
  std::mt19937 engine(1);
  for (float& value : drawn.x) value = static_cast<float>(engine() % 2000) / 1000 - 1;
  for (std::size_t i = 0; i < count; ++i) drawn.y[i] = drawn.x(i, 0) > 0.3F ? 0 : drawn.x(i, 1) > 0 ? 1 : 2;
  return drawn;
}

/// A file without its blanks and ends of lines.
std::string characters_of(std::string const& path) {
  std::ifstream file(path);
  REQUIRE_MESSAGE(file.good(), path);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
  return text;
}

}  // namespace

TEST_CASE("docs/recipes.md has the code of this file") {
  std::string const golden = STAGECRAFT_GOLDEN_DIR;
  auto const page = characters_of(golden + "/../../docs/recipes.md");
  auto const here = characters_of(golden + "/../training/recipes_test.cpp");
  int blocks = 0;
  for (std::size_t at = 0; (at = page.find("```cpp", at)) != std::string::npos; ++blocks) {
    at += 6;
    auto const end = page.find("```", at);
    REQUIRE(end != std::string::npos);
    auto const block_of_page = page.substr(at, end - at);
    CHECK_MESSAGE(here.find(block_of_page) != std::string::npos, block_of_page.substr(0, 80));
    at = end + 3;
  }
  CHECK(blocks == 11);
}

TEST_CASE("A model that is trained on windows predicts step by step") {
  xt::xtensor<float, 2> series = xt::zeros<float>({std::size_t{144}, std::size_t{1}});
  for (std::size_t i = 0; i < 144; ++i) series(i, 0) = std::sin(0.4F * static_cast<float>(i));
  CHECK(forecast(series) == doctest::Approx(std::sin(0.4F * 144)).epsilon(0.3));
  // Steps give what a window gives.
  sc::predictor<of_windows, one> whole;
  sc::predictor<of_steps, one> live;
  live.set_weights(whole.get_weights());
  float last = 0;
  for (std::size_t i = 0; i < 16; ++i)
    last = live(xt::xtensor<float, 3>(xt::reshape_view(xt::view(series, xt::range(i, i + 1)), {1, 1, 1})))(0, 0);
  xt::xtensor<float, 3> const window = xt::reshape_view(xt::view(series, xt::range(0, 16)), {1, 16, 1});
  CHECK(last == doctest::Approx(whole(window)(0, 0)).epsilon(1e-5));
}

TEST_CASE("Two trainers make a generative adversarial network") {
  std::mt19937 engine(1);
  auto const noise = [&engine](std::size_t count) {
    xt::xtensor<float, 2> drawn = xt::zeros<float>({count, std::size_t{2}});
    for (float& value : drawn) value = static_cast<float>(engine() % 2000) / 1000 - 1;
    return drawn;
  };
  auto const real = [&noise](std::size_t count) {  // about 2
    xt::xtensor<float, 2> const drawn = noise(count);
    return xt::xtensor<float, 2>(xt::view(drawn, xt::all(), xt::range(0, 1)) * 0.5F + 2.0F);
  };
  auto const before = xt::mean(train_gan(0, real, noise))();
  auto const after = xt::mean(train_gan(300, real, noise))();
  CHECK(std::abs(before - 2) > 1);
  CHECK(std::abs(after - 2) < 0.5);
}

TEST_CASE("Recipes of classifiers") {
  auto const [x, y] = draw_samples(128);
  sc::trainer<classifier, classifying> trained;
  auto const history = trained.fit(x, y, {.epochs = 12, .verbose = 0, .validation_split = 0});

  SUBCASE("Distillation") {
    auto const learnt = distil(trained, x, y);
    CHECK(learnt.at("logits_accuracy").back() > learnt.at("logits_accuracy").front());
    CHECK(learnt.at("logits_accuracy").back() > 0.7);
  }
  SUBCASE("Saliency is the slope of the score") {
    xt::xtensor<float, 2> sample = xt::view(x, xt::range(0, 1));
    auto const slopes = saliency(trained, sample, 1);
    REQUIRE(slopes.size() == 6);
    for (std::size_t i = 0; i < 6; ++i) {
      constexpr float h = 0.01F;
      auto const original = sample(0, i);
      sample(0, i) = original + h;
      float const above = trained.predict(sample)(0, 1);
      sample(0, i) = original - h;
      float const below = trained.predict(sample)(0, 1);
      sample(0, i) = original;
      CHECK(std::abs(slopes[i] - (above - below) / (2 * h)) < 1e-3);
    }
  }
  SUBCASE("Seeds and sweeps") {
    auto const [mean, deviation] = accuracy_of_seeds(x, y, 3);
    CHECK(mean > 0.5);
    CHECK(deviation < 0.3);
    CHECK(deviation > 0);
    auto const best = best_of({{1e-5, 16, 2}, {0.02, 16, 2}, {0.02, 8, 2}}, x, y);
    CHECK(best.learning_rate == 0.02);
    for (auto const& [units, loss_of] : widths) CHECK(loss_of(x, y) < 2);
  }
  SUBCASE("A file of a history") {
    auto const path =
        (std::filesystem::temp_directory_path() / ("stagecraft_recipes_" + std::to_string(getpid()))).string();
    write_history(history, path);
    std::ifstream file(path);
    std::string header;
    std::getline(file, header);
    CHECK(header.find("loss") != std::string::npos);
    CHECK(std::count(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>(), '\n') == 12);
    std::remove(path.c_str());
  }
  SUBCASE("Threads with predictors of their own agree with one") {
    CHECK(classify(trained, x, 3) == classify(trained, x, 1));
    auto const classes = classify(trained, x, 2);
    int right = 0;
    for (std::size_t i = 0; i < y.size(); ++i) right += classes[i] == y[i] ? 1 : 0;
    CHECK(right > 90);
  }
}

TEST_CASE("Blocks of sound give what the whole sound gives") {
  sc::predictor<amplifier, sc::inference{.batch_size = 1}> whole;
  xt::xtensor<float, 3> sound = xt::zeros<float>({std::size_t{1}, std::size_t{256}, std::size_t{1}});
  for (std::size_t i = 0; i < 256; ++i) sound(0, i, 0) = std::sin(0.3F * static_cast<float>(i));
  xt::xtensor<float, 3> const expected = whole(sound);
  effect live(whole.get_weights());
  float differs = 0;
  for (std::size_t first = 0; first < 256; first += block) {
    live.process(std::span<float, block>(sound.data() + first, block));
    for (std::size_t i = first; i < first + block; ++i)
      differs = std::max(differs, std::abs(sound(0, i, 0) - expected(0, i, 0)));
  }
  CHECK(differs < 1e-6F);
}

TEST_CASE("Dilated convolutions give sample by sample what they give of the whole sound") {
  sc::predictor<dilated<64, false>, sc::inference{.batch_size = 1}> whole;
  sc::predictor<dilated<1, true>, sc::inference{.batch_size = 1}> live;
  live.set_weights(whole.get_weights());
  std::array<float, 64> sound{};
  for (std::size_t i = 0; i < sound.size(); ++i) sound[i] = std::sin(0.3F * static_cast<float>(i));
  auto const expected = whole.call(sound);
  for (std::size_t i = 0; i < sound.size(); ++i)
    CHECK(live.call(std::array{sound[i]})[0] == doctest::Approx(expected[i]).epsilon(1e-4));
}
