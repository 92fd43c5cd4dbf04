// SPDX-License-Identifier: BSD-3-Clause
// The snippets of docs/keras.md, section by section: what stands there compiles and does what is said of it.
#include <stagecraft/description/training.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/callbacks/callbacks.hpp>
#include <stagecraft/training/trainer.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

namespace {

// Models ------------------------------------------------------------------------------------------------------------

using mlp = sc::sequential<input{4}, dense{8, sc::relu}, dense{3}>;

struct classifier : sc::functional<classifier> {
  static constexpr auto build(auto& model) {
    auto x = model.input(4);
    x = dense(8, sc::relu)(x);
    return dense(3)(x);
  }
};

struct subclassed : sc::model<subclassed> {
  dense hidden{8, sc::relu}, logits{3};

  constexpr auto call(auto& /*model*/, auto x) { return logits(hidden(x)); }
};
using network = sc::build<subclassed, input{4}>;

// Names -------------------------------------------------------------------------------------------------------------

using named = sc::sequential<input{4}.named("pixels"), dense{8, sc::relu, {.name = "hidden"}}, dropout{0.2}.named("d"),
                             dense{3, {.name = "logits"}}>;

struct named_function : sc::functional<named_function> {
  static constexpr std::string_view name = "my_model";

  static constexpr auto build(auto& model) {
    auto x = model.input({4}, "pixels");
    return dense(3, {.name = "logits"})(x);
  }
};

// Several inputs and outputs ----------------------------------------------------------------------------------------

struct two_in_two_out : sc::functional<two_in_two_out> {
  static constexpr auto build(auto& model) {
    auto image = model.input({4}, "image"), size = model.input({2}, "size");
    auto x = dense(8, sc::relu)(concatenate{}(image, size));
    return sc::outputs(dense(3, {.name = "digit"})(x), dense(1, {.name = "weight"})(x));
  }
};

// Layers ------------------------------------------------------------------------------------------------------------

using convolutional = sc::sequential<input{28, 28}, reshape{28, 28, 1}, conv2d{32, 3, {.use_bias = false}},
                                     batch_normalization{}, re_lu{}, max_pooling2d{}, spatial_dropout2d{0.2},
                                     separable_conv2d{64, 3, sc::relu}, global_average_pooling2d{}, dense{10}>;
static_assert(sc::graph_of<convolutional>.parameters.size() == 10);

using fine_tuned = sc::sequential<input{28, 28}, flatten{}, dense{128, sc::relu, {.trainable = false}},
                                  batch_normalization{{.trainable = false}}, dense{10}>;
static_assert(sc::count_trainable_parameters<fine_tuned>() == 1290);

// The spellings of the table.
using sequences = sc::sequential<input{12, 4}, zero_padding1d{1}, conv1d{8, 3, {.padding = sc::padding::causal}},
                                 separable_conv1d{8, 3}, spatial_dropout1d{0.2}, max_pooling1d{}, up_sampling1d{2},
                                 cropping1d{1}, average_pooling1d{}, global_max_pooling1d{}>;
using images =
    sc::sequential<input{16, 16, 3}, zero_padding2d{{{1, 2}, {3, 4}}}, conv2d{8, {3, 5}, sc::relu, {.strides = 2}},
                   depthwise_conv2d{3, {.depth_multiplier = 2}}, separable_conv2d{8, 3},
                   conv2d_transpose{8, 3, {.strides = 2}}, max_pooling2d{3, {.strides = 1}}, average_pooling2d{},
                   up_sampling2d{2, {.interpolation = sc::interpolation::bilinear}}, cropping2d{2},
                   batch_normalization{{.momentum = 0.9}}, layer_normalization{}, re_lu{6}, leaky_re_lu{}, prelu{},
                   thresholded_re_lu{}, elu_layer{}, softmax_layer{}, activation{sc::gelu},
                   global_average_pooling2d{{.keepdims = true}}>;
static_assert(sc::graph_of<images>.calls.back().shape == sc::shape(1, 1, 8));
static_assert(sc::graph_of<sequences>.calls.back().shape == sc::shape(8));

// Compile -----------------------------------------------------------------------------------------------------------

inline constexpr auto training =
    sc::training{.optimizer = sc::optimizers::adam{.learning_rate = 0.01F},
                 .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                 .metrics = {sc::metrics::accuracy{}, sc::metrics::sparse_top_k_categorical_accuracy{.k = 2}},
                 .loss_weights = {1.0F},
                 .weighted_metrics = {},
                 .batch_size = 8,
                 .steps_per_execution = 1,
                 .pipeline = {},
                 .gradient_accumulation = {},
                 .num_replicas = 1,
                 .cross_replica_reduction = sc::cross_replica_reduction::sum,
                 .replicated_metric_reduction_method = sc::replicated_metric_reduction_method::none,
                 .infeed_queue = {},
                 .outfeed_queue = {},
                 .asynchronous_callbacks = false,
                 .dtype_policy = sc::dtype_policies::float32,
                 .seed = 1,
                 .outputs_are_meant = false};

inline constexpr auto two_losses =
    sc::training{.optimizer = sc::optimizers::rmsprop{},
                 .loss = sc::losses::per_output(sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                                sc::losses::mean_squared_error{}),
                 .loss_weights = {1, 0.2},
                 .batch_size = 8};

inline constexpr auto of_each_output =
    sc::training{.loss = two_losses.loss,
                 .metrics = sc::metrics::per_output({"digit", sc::metrics::accuracy{}},
                                                    {"weight", {sc::metrics::mse{}, sc::metrics::mae{}}}),
                 .weighted_metrics = sc::metrics::per_output({"digit", sc::metrics::accuracy{}}),
                 .batch_size = 8};

// Optimizers, initializers, regularizers ----------------------------------------------------------------------------

inline constexpr auto sgd =
    sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = 0.1F, .momentum = 0.9F, .nesterov = true}};
inline constexpr auto scheduled =
    sc::training{.optimizer = sc::optimizers::adamw{
                     .weight_decay = 1e-4F,
                     .learning_rate =
                         sc::optimizers::schedules::linear_warmup{
                             .learning_rate = sc::optimizers::schedules::cosine_decay{.initial_learning_rate = 0.01F,
                                                                                      .decay_steps = 1000},
                             .warmup_steps = 100},
                     .exclude_from_weight_decay = {"bias"}}};
static_assert(!sc::detail::optimizer_problem<scheduled.optimizer>.failed());

using options = sc::sequential<input{4}, dense{8,
                                               sc::relu,
                                               {.kernel_initializer = sc::initializers::he_normal{},
                                                .bias_initializer = sc::initializers::constant{0.1F},
                                                .kernel_regularizer = sc::regularizers::l2{1e-4F}}}>;

// Callbacks ---------------------------------------------------------------------------------------------------------

class stop_when_good : public sc::callback {
 public:
  void on_epoch_end(int /*epoch*/, sc::logs& logs) override {
    logs["rate"] = model().learning_rate();
    if (logs.at("loss") < 0.01) model().stop_training = true;
  }
};

// Pipelines ---------------------------------------------------------------------------------------------------------

struct staged : sc::functional<staged> {
  static constexpr auto build(auto& model) {
    auto x = model.input(4);
    {
      sc::pipeline_stage stage(model, 0);
      x = dense(8, sc::relu)(x);
    }
    sc::pipeline_stage stage(model, 1);
    return dense(3)(x);
  }
};

using by_list = sc::pipelined<mlp, sc::stages<0, 1>>;
using by_function = sc::pipelined<classifier, [](auto& assignment) {
  for (auto& call : assignment) call.pipeline_stage = call.layer_name() == "dense" ? 0 : 1;
}>;
inline constexpr auto assignment = sc::get_pipeline_stage_assignment<staged>();
using copied = sc::pipelined<classifier, assignment>;
using plain = sc::unpipelined<staged>;
using on_one_device = sc::pipelined<mlp, sc::stages<0, 1>, sc::device_mapping<0, 0>>;

static_assert(sc::stage_of<by_function, sc::find_call<by_function>("dense_1")> == 1);

inline constexpr auto pipelined_training =
    sc::training{.loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                 .batch_size = 8,
                 .steps_per_execution = 4,
                 .pipeline = {.gradient_accumulation_steps_per_replica = 2,
                              .reduction_method = sc::gradient_accumulation_reduction_method::mean,
                              .schedule = sc::interleaved}};

// Executions, queues and callbacks ----------------------------------------------------------------------------------

inline constexpr auto queued_training =
    sc::training{.loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                 .metrics = sc::metrics::accuracy{},
                 .batch_size = 8,
                 .steps_per_execution = 4,
                 .pipeline = {.gradient_accumulation_steps_per_replica = 4},
                 .infeed_queue = {.prefetch_depth = 2},
                 .outfeed_queue = {.buffer_depth = 8},
                 .asynchronous_callbacks = true};

class watch : public sc::callback {
 public:
  std::vector<double> losses;

  void on_train_batch_end(int /*batch*/, sc::logs& logs) override {
    losses.push_back(logs.at("loss"));
    if (losses.back() < 0.01) model().stop_training = true;
  }
};

inline constexpr auto replicated_training =
    sc::training{.loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                 .metrics = sc::metrics::accuracy{},
                 .batch_size = 8,
                 .num_replicas = 2,
                 .replicated_metric_reduction_method = sc::replicated_metric_reduction_method::list};

// -------------------------------------------------------------------------------------------------------------------

/// Samples of three classes.
struct data {
  xt::xtensor<float, 2> x;
  xt::xtensor<std::int32_t, 1> y;

  explicit data(std::size_t count)
      : x(xt::xtensor<float, 2>::from_shape({count, 4})), y(xt::xtensor<std::int32_t, 1>::from_shape({count})) {
    for (std::size_t i = 0; i < count; ++i) {
      y(i) = static_cast<std::int32_t>(i % 3);
      for (std::size_t k = 0; k < 4; ++k) x(i, k) = (k == i % 3 ? 1.0F : 0.0F) + 0.01F * static_cast<float>(i % 7);
    }
  }
};

template <class Trainer>
auto kernel_of(Trainer& model) {
  return model.template weight<"dense/kernel">();
}

}  // namespace

TEST_CASE("models") {
  CHECK(sc::graph_of<mlp>.layers.size() == sc::graph_of<classifier>.layers.size());
  CHECK(sc::graph_of<network>.layers.size() == 3);
  CHECK(sc::find_call<named>("logits") == 3);
  CHECK(sc::graph_of<named_function>.name() == "my_model");
  CHECK(sc::graph_of<named_function>.layer(0).name == "pixels");
}

TEST_CASE("several inputs and outputs") {
  data const train(32);
  xt::xtensor<float, 2> sizes({32, 2}, 0.5F), weights({32, 1}, 0.1F);

  sc::trainer<two_in_two_out, two_losses> model;
  model.fit(sc::inputs(train.x, sizes), sc::targets(train.y, weights), {.epochs = 2, .verbose = 0});
  auto const [digit, weight] = model.predict(sc::inputs(train.x, sizes));
  auto const [loss, digit_loss, weight_loss] =
      model.evaluate(sc::inputs(train.x, sizes), sc::targets(train.y, weights), {.verbose = 0});
  CHECK(digit.shape()[1] == 3);
  CHECK(weight.shape()[1] == 1);
  CHECK(loss == doctest::Approx(digit_loss + 0.2 * weight_loss));

  sc::trainer<two_in_two_out, of_each_output> measured;
  auto const history =
      measured.fit(sc::inputs(train.x, sizes), sc::targets(train.y, weights), {.epochs = 1, .verbose = 0});
  std::vector<std::string> names;
  for (auto const& series : history.history) names.push_back(series.name);
  CHECK(names == std::vector<std::string>{"loss", "digit_loss", "weight_loss", "digit_accuracy",
                                          "digit_weighted_accuracy", "weight_mse", "weight_mae"});
}

TEST_CASE("compile") {
  CHECK(training.metrics.size() == 2);
  CHECK(sgd.batch_size == 32);
  CHECK(sc::graph_of<options>.parameters.size() == 2);
}

TEST_CASE("fit and its options") {
  data const train(64), validation(16);
  std::vector<double> const sample_weights(64, 0.5);
  sc::callbacks::terminate_on_nan no_nan;

  sc::trainer<mlp, training> model;
  auto h = model.fit(train.x, train.y,
                     {.batch_size = 4,
                      .epochs = 3,
                      .verbose = 0,
                      .callbacks = {&no_nan},
                      .validation_split = 0,
                      .validation_data = {validation.x, validation.y},
                      .shuffle = true,
                      .class_weight = {{0, 1.0F}, {1, 5.0F}, {2, 1.0F}},
                      .sample_weight = sample_weights,
                      .initial_epoch = 0,
                      .steps_per_epoch = 10,
                      .validation_steps = 2,
                      .validation_freq = 1,
                      .seed = 3,
                      .drop_remainder = true});
  CHECK(h.history["loss"].size() == 3);
  CHECK(&h.at("loss") == &h.history["loss"]);
  CHECK(h.at("val_accuracy").size() == 3);
  CHECK(h.epoch.back() == 2);
  CHECK_THROWS_AS(model.fit(train.x, train.y, {.batch_size = 16, .verbose = 0}), sc::data_error);

  model.fit(train.x, train.y, {.verbose = 0, .validation_data = validation});
  model.fit(train.x, train.y, {.verbose = 0, .validation_split = 0.25});
}

TEST_CASE("data") {
  sc::trainer<mlp, training> model;
  data train(32);

  xt::xtensor<std::uint8_t, 2> bytes({32, 4}, 200);
  std::vector<int> labels(32, 1);
  model.fit(bytes / 255.0F, labels, {.verbose = 0});               // an expression is evaluated once
  model.fit(bytes, std::span<int const>(labels), {.verbose = 0});  // any arithmetic type
  model.fit(xt::view(train.x, xt::range(0, 16)), xt::view(train.y, xt::range(0, 16)), {.verbose = 0});
  xt::xarray<double> doubles = train.x;
  model.fit(std::move(doubles), train.y, {.verbose = 0});  // kept for the time of the call
  CHECK(model.evaluate(train.x, labels, {.verbose = 0})[0] > 0);
}

TEST_CASE("callbacks") {
  data const train(64), validation(16);
  std::string printed;

  sc::callbacks::early_stopping stopping({.monitor = "val_loss", .patience = 2, .restore_best_weights = true});
  sc::callbacks::reduce_lr_on_plateau plateau({.monitor = "loss", .factor = 0.5, .patience = 1});
  sc::callbacks::learning_rate_scheduler schedule([](int epoch, double rate) { return epoch < 2 ? rate : rate * 0.9; });
  sc::callbacks::terminate_on_nan no_nan;
  sc::callbacks::csv_logger log("training.csv");  // not given to fit here, so that it writes no file
  sc::callbacks::lambda_callback note(
      {.on_epoch_end = [&](int epoch, sc::logs&) { printed += std::to_string(epoch); }});
  stop_when_good good;

  sc::trainer<mlp, training> model;
  auto const h = model.fit(train.x, train.y,
                           {.epochs = 3,
                            .verbose = 0,
                            .callbacks = {&schedule, &plateau, &no_nan, &note, &good, &stopping},
                            .validation_data = validation});
  CHECK(printed == "012");
  CHECK(h.at("lr").size() == 3);
  CHECK(h.at("rate").size() == 3);
  CHECK(stopping.best_epoch() >= 0);
}

TEST_CASE("evaluate, predict and single batches") {
  data const test(20), batch(8);
  sc::trainer<mlp, training> model;

  auto const [loss, accuracy, in_top_2] = model.evaluate(test.x, test.y, {.verbose = 0});
  xt::xtensor<float, 2> const logits = model.predict(test.x);
  auto const values = model.train_on_batch(batch.x, batch.y);
  auto const tested = model.test_on_batch(batch.x, batch.y);
  auto const predicted = model.predict_on_batch(batch.x);
  static_assert(std::is_same_v<decltype(values), std::array<double, 3> const>);
  CHECK(loss > 0);
  CHECK(accuracy <= in_top_2);
  CHECK(logits.shape()[0] == 20);
  CHECK(tested[0] < values[0]);
  CHECK(predicted.shape()[0] == 8);
}

TEST_CASE("weights, learning rate and summary") {
  sc::trainer<mlp, training> model, other(7);

  auto const weights = model.get_weights();
  other.set_weights(weights);
  CHECK(other.get_weights() == weights);
  CHECK(weights[0].name == "dense/kernel:0");
  auto const first = xt::adapt(weights[0].values, weights[0].shape);
  CHECK(first(0, 0) == weights[0].values[0]);

  auto kernel = model.weight<"dense/kernel">();
  kernel(0, 0) = 1;
  kernel *= 0.5F;
  CHECK(model.get_weights()[0].values[0] == 0.5F);
  CHECK(kernel_of(model)(0, 0) == 0.5F);

  model.set_learning_rate(model.learning_rate() * 0.1F);
  CHECK(model.learning_rate() == doctest::Approx(0.001F));

  std::string text;
  sc::summary<mlp>({.line_length = 80, .print_fn = [&](std::string_view line) { text += std::string(line) + '\n'; }});
  CHECK(text.find("Total params: 67") != std::string::npos);
}

TEST_CASE("pipelines") {
  CHECK(sc::pipeline_stages<staged> == 2);
  CHECK(sc::pipeline_stages<by_list> == 2);
  CHECK(sc::pipeline_stages<copied> == 2);
  CHECK(!sc::is_pipelined<plain>);
  CHECK(sc::device_of<on_one_device, 1> == 0);
  CHECK(assignment[1].layer_name() == "dense_1");

  data const train(64);
  sc::trainer<by_list, pipelined_training> model;
  auto const h = model.fit(train.x, train.y, {.epochs = 2, .verbose = 0});
  CHECK(h.at("loss")[1] < h.at("loss")[0]);
}

TEST_CASE("executions, queues and callbacks") {
  data const train(64), test(32);
  watch each_step;
  sc::trainer<by_list, queued_training> queued;
  queued.fit(train.x, train.y, {.verbose = 0, .callbacks = {&each_step}});
  CHECK(each_step.losses.size() == 8);

  sc::trainer<mlp, replicated_training, sc::host<2>> model;  // a thread for each replica
  model.fit(train.x, train.y, {.verbose = 0});
  auto const [losses, accuracies] = model.evaluate(test.x, test.y, {.verbose = 0});
  std::array<double, 2> const of_each_replica = accuracies;
  CHECK(losses[0] > 0);
  CHECK(of_each_replica[0] <= 1);
}
