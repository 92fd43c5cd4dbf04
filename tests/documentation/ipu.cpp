// SPDX-License-Identifier: BSD-3-Clause
// Snippets of README.md, docs/ipu.md, docs/plans.md and docs/reports.md that no other test has: they compile as they
// stand there (tests/architecture/snippets.py compares them).
#include <stagecraft/ipu.hpp>
#include <stagecraft/report/plan_data_of.hpp>
#include <stagecraft/report/plan_html.hpp>
#include <stagecraft/report/profile_data_of.hpp>
#include <stagecraft/report/profile_json.hpp>
#include <stagecraft/report/report.hpp>
#include <cstdio>
#include <iostream>

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{256, sc::relu}, dense{128, sc::relu}, dense{10}>;
inline constexpr auto training = sc::training{.loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .batch_size = 8,
                                              .steps_per_execution = 16,
                                              .pipeline = {.gradient_accumulation_steps_per_replica = 16}};

namespace readme {

using machine = sc::ipu<sc::ipu_config{.auto_select_ipus = 2}>;  // instead of sc::host<>, and nothing else
using staged = sc::auto_pipeline<mlp, training, machine>;        // by cycles and memory

inline constexpr auto profile = sc::profile<staged, training, machine>;
static_assert(profile.fits());  // or an error: which stage, which layer, what it needs, what there is
static_assert(profile.bubble() < 0.4 && profile.seconds() < 1e-3);

void train() { sc::trainer<staged, training, machine> model; }

}  // namespace readme

namespace ipus {

constexpr auto const& gc200 = sc::ipu_targets::ipu2;

constexpr auto product = sc::convolution_shape::matmul(sc::dtype::float16, 256, 1024, 1024);
constexpr auto plan = sc::plan_convolution(product, gc200, {.partials_type = sc::dtype::float16});
static_assert(plan.tiles_used() > 1300 && plan.utilisation(gc200, sc::dtype::float16) > 0.25);
static_assert(plan.cycles.compute > plan.cycles.exchange_in);

void print() { std::cout << plan.text().view(); }

using mlp_with_host = sc::sequential<input{4}, dense{8, sc::relu}.on_host(), dense{16, sc::relu}, dense{3}.on_host()>;
inline constexpr auto inference = sc::inference{.batch_size = 8};
sc::predictor<mlp_with_host, inference, sc::ipu<>> model;

using strict = sc::ipu<sc::ipu_config{.floating_point_behaviour = {.inv = true, .div0 = true, .oflo = true}}>;

struct samples {
  xt::xtensor<float, 3> x;
  xt::xtensor<int, 1> y;
};

void train_strictly(samples const& train) {
  try {
    sc::trainer<mlp, training, strict> model;
    model.fit(train.x, train.y, {.verbose = 0});
  } catch (sc::floating_point_error const& problem) {
    std::cerr << problem.what();  // weight 'dense/kernel': an overflow in weight update 1, which ... [E4105]
  }
}

}  // namespace ipus

namespace reports {

using two_stages = sc::pipelined<mlp, sc::stages<0, 0, 1, 1>>;
using machine = readme::machine;

void write() {
  sc::profile_data const data = sc::profile_data_of<two_stages, training, machine>();
  std::cout << sc::profile_text(data);
  sc::write_profile_html(data, "profile.html");         // memory, liveness, time line, layers: one page
  sc::write_profile_trace(data, "profile.trace.json");  // for ui.perfetto.dev or chrome://tracing
}

void write_both() {
  sc::profile_data const data = sc::profile_data_of<two_stages, training, machine>();

  std::fputs(sc::profile_text(data).c_str(), stdout);
  sc::write_profile_html(data, "profile.html");
  sc::write_profile_trace(data, "profile.trace.json");  // for ui.perfetto.dev or chrome://tracing
}

void write(sc::profile_data const& data) {
  sc::write_profile_json(data, "before.json");
  auto const before = sc::read_profile_json("before.json");
  std::printf("%.1f samples/s before\n", before.totals.samples_per_second);
}

}  // namespace reports

namespace plans {

using cnn = sc::sequential<input{12}, dense{8, sc::relu}, dense{10}>;
inline constexpr auto training =
    sc::training{.loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true}, .batch_size = 8};

inline constexpr sc::plan_choices choices{
    .ipus = {1, 2, 4}, .schedules = {sc::grouped, sc::interleaved}, .micro_batches = {16, 64}};

void write() {
  auto const plans = sc::plan_data_of<cnn, training, sc::ipu_devices<>, choices>();
  sc::write_plan_html(plans, "plan.html");
}

}  // namespace plans
