// SPDX-License-Identifier: BSD-3-Clause
// Snippets of README.md and docs/ that no other test has, on the host: they compile as they stand there
// (tests/architecture/snippets.py compares them).
#include <stagecraft/data/ctc_decode.hpp>
#include <stagecraft/data/data.hpp>
#include <stagecraft/data/image_dataset_from_directory.hpp>
#include <stagecraft/report/report.hpp>
#include <stagecraft/stagecraft.hpp>
#include <stagecraft/training/call_costs.hpp>
#include <stagecraft/training/voices.hpp>
#include <array>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

using mlp = sc::sequential<input{784}, dense{8, sc::relu}, dense{10}>;
using two_stages = sc::pipelined<mlp, sc::stages<0, 1>>;
inline constexpr auto training = sc::training{.loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .metrics = sc::metrics::accuracy{},
                                              .batch_size = 16};
using rows = xt::xtensor<float, 2>;
struct samples {
  rows x;
  xt::xtensor<int, 1> y;
};

namespace readme {

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{256, sc::relu}, dense{128, sc::relu}, dense{10}>;

using four_stages = sc::pipelined<mlp, sc::stages<0, 1, 2, 3>>;
inline constexpr auto training = sc::training{.loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .steps_per_execution = 128,
                                              .pipeline = {.gradient_accumulation_steps_per_replica = 16}};
static_assert(sc::pipeline_activations_alive<four_stages, training, 0> == 7);  // micro-batches that stage 0 holds

void pipeline() { sc::trainer<four_stages, training, sc::host<2>> model; }

}  // namespace readme

namespace keras {

inline constexpr auto in_half =
    sc::training{.optimizer = sc::optimizers::loss_scale_optimizer{sc::optimizers::adam{}},
                 .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                 .dtype_policy = sc::dtype_policies::mixed_float16};  // set_global_policy("mixed_float16")

inline constexpr auto single = sc::inference{.batch_size = 1};

void predict(sc::trainer<mlp, training> const& trained, rows const& digit, samples const& test) {
  sc::predictor<mlp, single> model;  // the same model, on the host
  model.set_weights(trained.get_weights());
  auto const one = model(digit);                               // an xtensor adaptor of the model's memory
  xt::xtensor<float, 2> const logits = model.predict(test.x);  // all of them
}

void weights(sc::trainer<mlp, training>& model, sc::trainer<mlp, training>& other) {
  auto const weights = model.get_weights();
  other.set_weights(weights);

  auto kernel = model.weight<"dense/kernel">();
  kernel(0, 0) = 1;
  kernel *= 0.5F;

  model.set_learning_rate(model.learning_rate() * 0.1F);
}

using reader = sc::sequential<input{20, 8}, bidirectional{lstm{32, {.return_sequences = true}}}, dense{27}>;
inline constexpr auto reading =
    sc::training{.optimizer = sc::optimizers::adam{}, .loss = sc::losses::ctc{.max_label_length = 6}, .batch_size = 16};

void read_lines(xt::xtensor<float, 3> const& lines, xt::xtensor<int, 2> const& letters) {
  sc::trainer<reader, reading> model;
  model.fit(lines, letters, {.epochs = 2, .verbose = 0});
  auto const [best, scores] = sc::ctc_decode(model.predict(lines));
  auto const beams = sc::ctc_decode(model.predict(lines),
                                    {.strategy = sc::ctc_strategy::beam_search, .beam_width = 20, .top_paths = 3});
  int const first_letter = best(0, 0, 0);  // of the best path of the first sample
}

}  // namespace keras

namespace data {

void from_arrays(sc::trainer<mlp, training>& model, rows const& images, xt::xtensor<int, 1> const& labels) {
  auto const test = sc::data::from(images, labels);
  auto train = sc::data::from(images, labels)
                   .shuffle(10'000)
                   .map([](auto const& image, int label) { return std::pair(image / 255.0F, label); })
                   .prefetch();
  model.fit(train, {.epochs = 3, .validation_data = test});
  auto [loss, accuracy] = model.evaluate(test);
}

void in_batches(rows const& images, xt::xtensor<int, 1> const& labels) {
  auto const train = sc::data::from(images, labels)
                         .cache()
                         .shuffle(10'000)
                         .batch(32, true)
                         .map([](auto const& x, auto const& y) { return std::tuple(x / 255.0F, y); },
                              {.num_parallel_calls = sc::data::autotune})
                         .prefetch(sc::data::autotune);
}

void from_csv() {
  auto const rows = sc::data::csv("iris.csv", {.header = true, .select_cols = {0, 1, 2, 3, 4}}).assert_cardinality(150);
  auto const train = rows.map([](std::vector<float> const& row) {
    return std::pair(std::vector<float>(row.begin(), row.end() - 1), row.back());
  });
}

using pictures = sc::sequential<input{64, 64, 3}, flatten{}, dense{3}>;
void from_folders(sc::trainer<pictures, training>& model) {
  sc::data::image_dataset_options options{.image_size = {64, 64}, .seed = 123, .validation_split = 0.2F};
  options.subset = sc::data::subset::training;
  auto const train = sc::data::image_dataset_from_directory("flowers", options);
  options.subset = sc::data::subset::validation;
  auto const test = sc::data::image_dataset_from_directory("flowers", options);
  auto const scaled = [](auto const& image, auto const& label) { return std::pair(image / 255.0F, label); };
  model.fit(train.map(scaled).prefetch(16), {.epochs = 3, .validation_data = test.map(scaled)});
  for (auto const& name : train.class_names) std::puts(name.c_str());
}

}  // namespace data

namespace callbacks {

void nan(sc::trainer<mlp, training>& model, samples const& train) {
  sc::callbacks::terminate_on_nan no_nan;
  model.fit(train.x, train.y, {.callbacks = {&no_nan}});
}

}  // namespace callbacks

namespace real_time {

using amplifier = sc::sequential<input{1, 1}.of_batch_size(1), lstm{40, {.stateful = true}}, dense{1}>;
sc::predictor<amplifier, sc::inference{.batch_size = 1}> model;

void process(std::span<float> block) {
  sc::kernels::flush_denormals const flush;  // for this thread, as long as it lives
  for (float& sample : block) sample = model.call(std::array{sample})[0];
}

void several_voices(float sample) {
  sc::voices<decltype(model)> voices(model, 16);          // 16 times the states, all zeros; one set of weights
  float const y = voices.call(3, std::array{sample})[0];  // the next step of the fourth voice
  voices.reset_states(3);
}

static_assert(sc::worst_case_flops<decltype(model)> < 20'000);        // operations of a call
static_assert(sc::predictor_memory_bytes<decltype(model)> < 65'536);  // kept from the constructor on
static_assert(sc::call_stack_bytes<decltype(model)> < 32'768);        // at most, in an optimized program

}  // namespace real_time

namespace processors {

void train_v4();
void train();

void choose() {
  if (__builtin_cpu_supports("x86-64-v4"))  // main.cpp; both functions include the same header
    train_v4();                             // in model_v4.cpp
  else
    train();  // in model.cpp
}

}  // namespace processors

namespace pictures {

inline constexpr auto training = sc::training{.loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .batch_size = 16,
                                              .steps_per_execution = 8,
                                              .pipeline = {.gradient_accumulation_steps_per_replica = 8}};

void draw(sc::trainer<two_stages, training>& model, samples const& train) {
  std::string const text = sc::timetable_text(sc::timetable_of<two_stages, training>);
  sc::plot_timetable(sc::timetable_of<two_stages, training>, "timetable.svg");
  sc::plot_model<two_stages>("model.svg", {.show_shapes = true});  // stages have colours

  sc::trace record;
  model.session().record(&record);
  model.fit(train.x, train.y, {.verbose = 0});
  sc::write_chrome_trace(record, "run.json");  // for ui.perfetto.dev or chrome://tracing
}

}  // namespace pictures

namespace own {

struct quantile : sc::loss<quantile> {
  float q = 0.5F;
  constexpr auto call(auto target, auto output) const {
    auto const error = target - output;
    return sc::maximum(error * q, error * (q - 1));
  }
};

struct at_most_one : sc::own_constraint<at_most_one> {
  static constexpr std::string_view name = "at_most_one";
  constexpr auto call(auto& ops, auto weight) const { return weight / sc::maximum(ops.max(abs(weight), 0), 1.0F); }
};

struct sparse : sc::own_initializer<sparse> {
  static constexpr std::string_view name = "sparse";
  constexpr auto call(auto& ops, auto const& shape) const {
    auto const values = ops.normal(shape) * 0.05F;
    auto const kept = ops.uniform(shape) < 0.5F;
    return values * kept;
  }
};

struct hoyer : sc::own_regularizer<hoyer> {
  static constexpr std::string_view name = "hoyer";
  float factor;
  constexpr explicit hoyer(float factor_ = 0.01F) : factor(factor_) {}
  constexpr auto call(auto& ops, auto weight) const {
    return square(ops.sum(abs(weight), {0, 1})) / ops.sum(square(weight), {0, 1}) * factor;
  }
};

}  // namespace own
