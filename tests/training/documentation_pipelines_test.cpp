// SPDX-License-Identifier: BSD-3-Clause
// The snippets of docs/pipelines.md, section by section: what stands there compiles and does what is said of it.
#include <stagecraft/ipu.hpp>
#include <stagecraft/report/report.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <type_traits>
#include <utility>

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

namespace {

using mlp = sc::sequential<input{4}, dense{8, sc::relu}, dense{16, sc::relu}, dense{16, sc::relu}, dense{3}>;
using two_stages = sc::pipelined<mlp, sc::stages<0, 0, 1, 1>>;

inline constexpr auto training = sc::training{.loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .metrics = sc::metrics::accuracy{},
                                              .batch_size = 8,
                                              .steps_per_execution = 16,
                                              .pipeline = {.gradient_accumulation_steps_per_replica = 8}};

// Stages ------------------------------------------------------------------------------------------------------------

using by_list = sc::pipelined<mlp, sc::stages<0, 0, 1, 1>>;

using stage_by_stage = sc::pipeline_sequential<sc::stage{input{4}, dense{8, sc::relu}, dense{16, sc::relu}},
                                               sc::stage{dense{16, sc::relu}, dense{3}}>;
static_assert(std::is_same_v<stage_by_stage, by_list>);

struct by_scopes : sc::functional<by_scopes> {
  static constexpr auto build(auto& model) {
    auto x = model.input(4);
    {
      sc::pipeline_stage stage(model, 0);
      x = dense(8, sc::relu)(x);
      x = dense(16, sc::relu)(x);
    }
    {
      sc::pipeline_stage stage(model, 1);
      x = dense(16, sc::relu)(x);
      x = dense(3)(x);
    }
    return x;
  }
};

struct nested_stages : sc::functional<nested_stages> {
  static constexpr auto build(auto& model) {
    auto x = two_stages{}(model.input(4));
    sc::pipeline_stage stage(model, 2);
    return dense(3)(x);
  }
};
using nested_on_two_devices = sc::pipelined<nested_stages, [](auto&) {}, sc::device_mapping<0, 1, 0>>;
static_assert(sc::pipeline_stages<nested_on_two_devices> == 3);

using by_function = sc::pipelined<mlp, [](auto& assignment) {
  int stage = 0;
  for (auto& call : assignment) {
    call.pipeline_stage = stage;
    if (call.layer_name() == "dense_1") stage = 1;
  }
}>;

struct existing : sc::model<existing> {
  dense hidden{8, sc::relu}, decide{3};
  constexpr auto call(auto& /*model*/, auto x) { return decide(hidden(hidden(hidden(x)))); }
};
using network = sc::build<existing, input{8}>;
using by_layer = sc::pipelined<network,
                               [](auto& assignment) {
                                 auto const& model = sc::members_of<network>;
                                 for (auto& call : assignment)
                                   call.pipeline_stage = call.layer() == model.hidden && call.node_index() < 2 ? 0 : 1;
                               },
                               sc::device_mapping<0, 0>>;
static_assert(sc::calls_of_stage<by_layer, 0>.size() == 2 && sc::calls_of_stage<by_layer, 1>.size() == 2);
using by_assignment = sc::pipelined<mlp, sc::get_pipeline_stage_assignment<by_scopes>()>;

using by_name = sc::manual_pipeline<mlp, ".*", "dense_[2-9]">;
using by_name_or_else = sc::manual_pipeline<mlp, "dense$", "dense_[2-9]", sc::unmatched_in_stage<0>>;
using by_names =
    sc::manual_pipeline<mlp, "dense(_1)?$", sc::name_patterns<"dense_2", "dense_3">, sc::device_mapping<0, 0>>;
inline constexpr char solution[] = R"({"device_mapping": [0, 1],
                                       "pipeline_mapping": {"dense": 0, "dense_1": 0, "dense_2": 1, "dense_3": 1}})";
using by_file = sc::pipelined<mlp, sc::pipeline::solution_file<solution>>;
using by_work = sc::even_pipeline<mlp, 2>;
using one_more = sc::pipelined<by_work, [](auto& assignment) { assignment.back().pipeline_stage = 2; }>;

using on_one_device = sc::pipelined<mlp, sc::stages<0, 0, 1, 1>, sc::device_mapping<0, 0>>;
using mapped = sc::pipelined<by_scopes, [](auto&) {}, sc::device_mapping<0, 0>>;

static_assert(sc::pipeline_stages<two_stages> == 2);
static_assert(sc::stage_of<two_stages, sc::find_call<two_stages>("dense_2")> == 1);
static_assert(sc::calls_of_stage<two_stages, 0>.size() == 2);

template <class Model, int Stage>
constexpr long long work = [] {
  long long flops = 0;
  for (int const call : sc::calls_of_stage<Model, Stage>) flops += sc::graph_of<Model>.call(call).flops;
  return flops;
}();
static_assert(work<two_stages, 1> > work<two_stages, 0>);

template <class Model>
constexpr bool is_staged_alike = sc::calls_of_stage<Model, 0> == sc::calls_of_stage<two_stages, 0> &&
                                 sc::calls_of_stage<Model, 1> == sc::calls_of_stage<two_stages, 1>;
static_assert(is_staged_alike<by_list> && is_staged_alike<by_scopes> && is_staged_alike<by_function> &&
              is_staged_alike<by_assignment> && is_staged_alike<by_name> && is_staged_alike<by_names> &&
              is_staged_alike<by_work> && is_staged_alike<by_file> && is_staged_alike<on_one_device> &&
              is_staged_alike<mapped>);
static_assert(sc::pipeline_stages<one_more> == 3 && sc::device_of<by_names, 1> == 0);
static_assert(sc::device_of<on_one_device, 1> == 0 && sc::device_of<mapped, 1> == 0);

// Schedules ---------------------------------------------------------------------------------------------------------

static_assert(sc::pipeline_overlap_length<two_stages, training> == 4);
static_assert(sc::pipeline_slots<two_stages, training> == 11);
static_assert(sc::pipeline_bubble<two_stages, training> == 3.0 / 11);
static_assert(sc::pipeline_activations_alive<two_stages, training, 0> == 3);
static_assert(sc::timetable_of<two_stages, training>.slot(1, 0) == 1);  // stage 1 begins in slot 1

static_assert(sc::timetable_of<two_stages, training, sc::execution_mode::inference>.passes() == 2);

struct branches : sc::functional<branches> {
  static constexpr auto build(auto& model) {
    auto const x = dense(16, sc::relu)(model.input(4));
    auto const left = dense(16, sc::relu)(x);
    auto const right = dense(16, sc::tanh)(x);
    return dense(3)(concatenate()(left, right));
  }
};
using in_parallel = sc::pipelined<branches, sc::stages<0, 1, 2, 3, 3>, sc::device_mapping<0, sc::parallel<1, 2>, 3>>;
static_assert(sc::pipeline_stages<in_parallel> == 4 && sc::device_of<in_parallel, 2> == 2);

inline constexpr auto tuned = sc::training{
    .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
    .batch_size = 8,
    .steps_per_execution = 8,
    .pipeline = {
        .gradient_accumulation_steps_per_replica = 8,
        .forward_propagation_stages_poplar_options =
            sc::stage_options<sc::pipeline_stage_options{.matmul_options = {.available_memory_proportion = 0.1F}},
                              sc::pipeline_stage_options{}>}};
using two_ipus = sc::ipu_devices<sc::ipu_config{.auto_select_ipus = 2}>;
static_assert(sc::profile<two_stages, tuned, two_ipus>.fits());

using overlapping =
    sc::ipu<sc::ipu_config{.auto_select_ipus = 2, .io_tiles = {.num_io_tiles = 32, .place_ops_on_io_tiles = true}}>;
constexpr auto overlapped = sc::timetable_of<two_stages, sc::training_on<training, overlapping>>;
static_assert(overlapped.infeed_slot(0) == 0 && overlapped.slot(0, 0) == 1 && overlapped.outfeed_slot(0) == 3);

/// The formulas of the table, with 24 micro-batches per weight update.
template <int Stages, sc::schedule Schedule, auto Assignment>
constexpr bool follows_formulas = [] {
  using staged = sc::pipelined<mlp, Assignment>;
  constexpr int n = 24;
  constexpr auto described = sc::training{
      .steps_per_execution = n, .pipeline = {.gradient_accumulation_steps_per_replica = n, .schedule = Schedule}};
  auto const& table = sc::timetable_of<staged, described>;
  constexpr bool is_grouped = Schedule == sc::grouped, is_interleaved = Schedule == sc::interleaved;
  constexpr int overlap = is_grouped ? 2 * Stages : is_interleaved ? Stages : 1;
  constexpr int slots = is_grouped ? n + 2 * Stages - 1 : is_interleaved ? 2 * n + 2 * Stages - 2 : 2 * Stages * n;
  constexpr double bubble = is_grouped       ? (2.0 * Stages - 1) / (n + 2 * Stages - 1)
                            : is_interleaved ? (Stages - 1.0) / (n + Stages - 1)
                                             : 1 - 1.0 / Stages;
  double const difference = table.bubble() - bubble;
  bool result = table.overlap_length() == overlap && table.slots() == slots && difference < 1e-9 && difference > -1e-9;
  for (int s = 0; s < Stages; ++s)
    result = result && table.activations_alive(s) == (is_grouped       ? 2 * (Stages - 1 - s) + 1
                                                      : is_interleaved ? Stages - s
                                                                       : 1);
  return result;
}();
static_assert(follows_formulas<2, sc::schedule::grouped, sc::stages<0, 0, 1, 1>>);
static_assert(follows_formulas<2, sc::schedule::interleaved, sc::stages<0, 0, 1, 1>>);
static_assert(follows_formulas<2, sc::schedule::sequential, sc::stages<0, 0, 1, 1>>);
static_assert(follows_formulas<4, sc::schedule::grouped, sc::stages<0, 1, 2, 3>>);
static_assert(follows_formulas<4, sc::schedule::interleaved, sc::stages<0, 1, 2, 3>>);
static_assert(follows_formulas<4, sc::schedule::sequential, sc::stages<0, 1, 2, 3>>);

// Numbers that must fit, gradient accumulation ----------------------------------------------------------------------

inline constexpr auto evaluated = sc::training{.loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                               .metrics = sc::metrics::accuracy{},
                                               .batch_size = 8,
                                               .steps_per_execution = 4,
                                               .pipeline = {.schedule = sc::interleaved}};
using back_and_forth = sc::pipelined<mlp, sc::stages<0, 1, 2, 3>, sc::device_mapping<0, 1, 1, 0>>;
static_assert(
    std::is_base_of_v<sc::trainers::model_trainer<back_and_forth, sc::jobs::settings_of<evaluated>, sc::host<>>,
                      sc::trainer<back_and_forth, evaluated>>);

static_assert(sc::effective_batch_size<two_stages, training> == 8 * 8);

inline constexpr auto accumulating =
    sc::training{.loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                 .batch_size = 16,
                 .steps_per_execution = 4,
                 .gradient_accumulation = {.gradient_accumulation_steps_per_replica = 4,
                                           .reduction_method = sc::gradient_accumulation_reduction_method::mean}};
static_assert(sc::effective_batch_size<mlp, accumulating> == 64);

// Options -----------------------------------------------------------------------------------------------------------

inline constexpr auto frugal = sc::training{.loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                            .metrics = sc::metrics::accuracy{},
                                            .batch_size = 8,
                                            .steps_per_execution = 16,
                                            .pipeline = {.gradient_accumulation_steps_per_replica = 8,
                                                         .schedule = sc::interleaved,
                                                         .recomputation_mode = sc::recomputation_mode::automatic,
                                                         .offload_weight_update_variables = sc::offload::remote}};

constexpr sc::device_memory plain_memory = sc::device_memory_of<two_stages, training, 0>;
constexpr sc::device_memory frugal_memory = sc::device_memory_of<two_stages, frugal, 0>;
static_assert(frugal_memory.activations.on_device < plain_memory.activations.on_device);
static_assert(frugal_memory.optimizer_state.remote == plain_memory.optimizer_state.on_device);
static_assert(sc::recomputed_steps<two_stages, frugal, 0> == 1);     // the other output is sent on, not read again
static_assert(sc::bytes_sent<two_stages, frugal, 0> == 8 * 16 * 4);  // 8 samples of 16 floats

// Replicas ----------------------------------------------------------------------------------------------------------

inline constexpr auto replicated =
    sc::training{.loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                 .metrics = sc::metrics::accuracy{},
                 .batch_size = 8,
                 .steps_per_execution = 8,
                 .pipeline = {.gradient_accumulation_steps_per_replica = 8},
                 .num_replicas = 2,
                 .cross_replica_reduction = sc::cross_replica_reduction::mean,
                 .replicated_metric_reduction_method = sc::replicated_metric_reduction_method::mean};
static_assert(sc::effective_batch_size<two_stages, replicated> == 8 * 8 * 2);

static_assert(sc::replicas_of<two_stages, training, sc::host<2, 8>> == 4);

// Executions, queues, callbacks -------------------------------------------------------------------------------------

inline constexpr auto queued = sc::training{.loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                            .metrics = sc::metrics::accuracy{},
                                            .batch_size = 8,
                                            .steps_per_execution = 16,
                                            .infeed_queue = {.prefetch_depth = 2},
                                            .outfeed_queue = {.buffer_depth = 2},
                                            .asynchronous_callbacks = true};

// From the older classes --------------------------------------------------------------------------------------------

using ported =
    sc::pipelined<sc::sequential<input{2, 2}, flatten{}, dense{16, sc::relu}, dense{16, sc::relu}, dense{10}>,
                  sc::stages<0, 0, 1, 1>>;
inline constexpr auto ported_training =
    sc::training{.optimizer = sc::optimizers::rmsprop{},
                 .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                 .batch_size = 8,
                 .steps_per_execution = 16,
                 .pipeline = {.gradient_accumulation_steps_per_replica = 16}};
static_assert(sc::pipeline_slots<ported, ported_training> == 16 + 2 * 2 - 1);

// -------------------------------------------------------------------------------------------------------------------

/// Samples of three classes: two executions of 16 micro-batches.
struct data {
  xt::xtensor<float, 2> x = xt::xtensor<float, 2>::from_shape({256, 4});
  xt::xtensor<std::int32_t, 1> y = xt::xtensor<std::int32_t, 1>::from_shape({256});

  data() {
    for (std::size_t i = 0; i < y.size(); ++i) {
      y(i) = static_cast<std::int32_t>(i % 3);
      for (std::size_t k = 0; k < 4; ++k) x(i, k) = (k == i % 3 ? 1.0F : 0.0F) + 0.01F * static_cast<float>(i % 7);
    }
  }
};

class count_calls : public sc::callback {
 public:
  int calls = 0;

  void on_train_batch_end(int, sc::logs&) override { ++calls; }
};

/// The weights after two epochs.
template <class Model, auto const& Training, class Machine = sc::host<>>
auto train() {
  data const train;
  sc::trainer<Model, Training, Machine> model;
  model.fit(train.x, train.y, {.epochs = 2, .verbose = 0});
  return model.get_weights();
}

}  // namespace

TEST_CASE("a whole pipeline") {
  data const train, test;
  sc::trainer<two_stages, training, sc::host<2>> model;
  model.fit(train.x, train.y, {.epochs = 2, .verbose = 0});
  auto const [loss, accuracy] = model.evaluate(test.x, test.y, {.verbose = 0});
  CHECK(loss < 1.1);
  CHECK(accuracy > 0.3);
}

TEST_CASE("pictures") {
  std::string const text = sc::timetable_text(sc::timetable_of<two_stages, training>);
  CHECK(text.find("Grouped schedule: 2 stages on 2 devices") == 0);

  sc::plot_timetable(sc::timetable_of<two_stages, training>, "timetable.svg");
  sc::plot_model<two_stages>("model.svg", {.show_shapes = true});  // stages have colours

  data const train;
  sc::trainer<two_stages, training, sc::host<2>> model;
  sc::trace record;
  model.session().record(&record);
  model.fit(train.x, train.y, {.verbose = 0});
  CHECK(!record.events().empty());
  sc::write_chrome_trace(record, "run.json");  // for ui.perfetto.dev or chrome://tracing
  for (char const* file : {"timetable.svg", "model.svg", "run.json"}) CHECK(std::remove(file) == 0);
}

TEST_CASE("the same bits") {
  auto const weights = train<mlp, training>();
  CHECK(train<two_stages, training>() == weights);
  CHECK(train<two_stages, training, sc::host<2>>() == weights);
  CHECK(train<two_stages, frugal, sc::host<2>>() == weights);
  CHECK(train<on_one_device, training>() == weights);
}

TEST_CASE("replicas report their mean, and have the same bits with stages and without") {
  CHECK(train<two_stages, replicated, sc::host<2>>() == train<mlp, replicated>());
}

TEST_CASE("callbacks of every step") {
  data const train;
  count_calls counter;
  sc::trainer<mlp, queued> model;
  model.fit(train.x, train.y, {.verbose = 0, .callbacks = {&counter}});
  CHECK(counter.calls == 32);
}

TEST_CASE("gradients that are accumulated") {
  data const train;
  sc::trainer<mlp, accumulating> model;
  auto const history = model.fit(train.x, train.y, {.epochs = 3, .verbose = 0});
  CHECK(history.at("loss").back() < history.at("loss").front());
}
