// SPDX-License-Identifier: BSD-3-Clause
// The snippets of docs/ipu.md, section by section: what stands there compiles and does what is said of it.
#include <stagecraft/ipu.hpp>
#include <stagecraft/ipu/steps/tile_mapping.hpp>
#include <stagecraft/report/profile_data_of.hpp>
#include <stagecraft/report/report.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

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

using machine = sc::ipu<sc::ipu_config{.auto_select_ipus = 2}>;

// The configuration -------------------------------------------------------------------------------------------------

inline constexpr sc::ipu_target half_a_bow = [] {
  auto target = sc::ipu_targets::bow;
  target.name = "half a bow";
  target.tiles_per_ipu = 736;
  return target;
}();
using small_machine = sc::ipu<sc::ipu_config{.ipu_model = {.version = half_a_bow}}>;
static_assert(small_machine::target.bytes_per_ipu() == 736LL * 624 * 1024);

// Ask before you run --------------------------------------------------------------------------------------------------

inline constexpr auto known = sc::profile<two_stages, training, machine>;
static_assert(known.fits());
static_assert(known.samples_per_second() > 500'000);
static_assert(known.bubble() < 0.3 && known.exchange_share() < 0.4);
static_assert(known.stage(1).cycles() < 2 * known.stage(0).cycles());
static_assert(known.memory(0).peak() < 20'000 && known.peak_step<0>() == "dense_1");

// How a program lies on tiles -----------------------------------------------------------------------------------------

constexpr sc::tile_mapping values(784 * 256, sc::dtype::float32, sc::ipu_targets::ipu2);
static_assert(values.elements_per_tile == 138 && values.tile_of(1000) == 7);

constexpr auto layer = sc::convolution_shape::matmul(sc::dtype::float32, 32, 784, 256);
constexpr auto const& kernel = sc::tiles::weight_mapping_of<layer, sc::ipu_targets::ipu2, sc::poplar_options{}>;
static_assert(kernel.tiles == kernel.plan.tiles_used() && kernel.tiles * kernel.elements_per_tile >= 784 * 256);

constexpr auto const& gc200 = sc::ipu_targets::ipu2;
static_assert(sc::exchange_cycles(gc200, 1000) == 250 && sc::exchange_cycles(gc200, 1000, 2) == 125);
static_assert(sc::sync_cycles(gc200) == 126 && sc::sync_cycles(gc200, 2) == 600);
static_assert(sc::inter_ipu_cycles(gc200, {.from = 0, .to = 1, .bytes = 1'000'000}) == 22'770);  // within a pair
static_assert(sc::inter_ipu_cycles(gc200, {.from = 0, .to = 2, .bytes = 1'000'000}) == 45'539);  // along the ladder
static_assert(sc::host_cycles(gc200, 4096) > 50'000);  // the latency; batches that are prefetched do without it

constexpr auto product = sc::convolution_shape::matmul(sc::dtype::float16, 256, 1024, 1024);
constexpr auto plan = sc::plan_convolution(product, gc200, {.partials_type = sc::dtype::float16});
static_assert(plan.tiles_used() > 1300 && plan.utilisation(gc200, sc::dtype::float16) > 0.25);
static_assert(plan.cycles.compute > plan.cycles.exchange_in);

// Half precision ------------------------------------------------------------------------------------------------------

inline constexpr auto in_half = sc::training{.loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                             .metrics = sc::metrics::accuracy{},
                                             .batch_size = 8,
                                             .steps_per_execution = 16,
                                             .pipeline = {.gradient_accumulation_steps_per_replica = 8},
                                             .dtype_policy = sc::dtype_policies::mixed_float16};

// What stops a program ------------------------------------------------------------------------------------------------

using strict = sc::ipu<sc::ipu_config{.floating_point_behaviour = {.inv = true, .div0 = true, .oflo = true}}>;

// Checked -------------------------------------------------------------------------------------------------------------

using checked_machine =
    sc::ipu<sc::ipu_config{.auto_select_ipus = 2, .ipu_model = {.tiles_per_ipu = 16, .checked = true}}>;

// Stages for IPUs -----------------------------------------------------------------------------------------------------

using by_cycles = sc::auto_pipeline<mlp, training, machine>;
static_assert(sc::pipeline_stages<by_cycles> == 2);

/// Samples of three classes: two executions of 16 micro-batches.
struct data {
  xt::xtensor<float, 2> x = xt::xtensor<float, 2>::from_shape({256, 4});
  xt::xtensor<std::int32_t, 1> y = xt::xtensor<std::int32_t, 1>::from_shape({256});

  explicit data(float scale = 1) {
    for (std::size_t i = 0; i < y.size(); ++i) {
      y(i) = static_cast<std::int32_t>(i % 3);
      for (std::size_t k = 0; k < 4; ++k)
        x(i, k) = scale * ((k == i % 3 ? 1.0F : 0.0F) + 0.01F * static_cast<float>(i % 7));
    }
  }
};

using mlp_with_host = sc::sequential<input{4}, dense{8, sc::relu}.on_host(), dense{16, sc::relu}, dense{3}.on_host()>;
inline constexpr auto inference = sc::inference{.batch_size = 8};
static_assert(sc::profile<mlp_with_host, inference, sc::ipu<>>.fits());

}  // namespace

TEST_CASE("the host is replaced, and results stay") {
  data const train;
  sc::trainer<two_stages, training, machine> model;
  model.fit(train.x, train.y, {.epochs = 2, .verbose = 0});
  sc::trainer<two_stages, training, sc::host<>> on_host;
  on_host.fit(train.x, train.y, {.epochs = 2, .verbose = 0});
  CHECK(model.get_weights() == on_host.get_weights());
}

TEST_CASE("a plan in words") {
  std::string const text(plan.text().view());
  CHECK(text ==
        "conv_partial_1x1, float16 partial sums, groups of 16 x 16 channels\n"
        "splits: field 2 out channels 64 in channels 11 = 1408 tiles\n"
        "cycles: 10130 = exchange in 3408 compute 4661 exchange partials 960 reduce 849 sync 252\n"
        "temporary bytes per tile: 31744\n");
}

TEST_CASE("half precision learns") {
  data const train;
  sc::trainer<two_stages, in_half, machine> model;
  model.fit(train.x, train.y, {.epochs = 2, .verbose = 0});
  auto const [loss, accuracy] = model.evaluate(train.x, train.y, {.verbose = 0});
  CHECK(loss < 1.1);
  CHECK(accuracy > 0.3);
}

TEST_CASE("an overflow stops a program, and has a place") {
  data const train(3e38F);
  try {
    sc::trainer<mlp, training, strict> model;
    model.fit(train.x, train.y, {.verbose = 0});
    FAIL("nothing was thrown");
  } catch (sc::floating_point_error const& problem) {
    std::string const text = problem.what();
    CAPTURE(text);
    CHECK(text.find("weight 'dense/kernel': an overflow in weight update 1") == 0);
  }
}

TEST_CASE("what is counted on tiles is what the profile says") {
  data const train;
  sc::trainer<two_stages, training, checked_machine> model;
  model.fit(train.x, train.y, {.verbose = 0});
  sc::counted_work const& counted = model.session().counted();
  CHECK(counted.training[0].cost.cycles() ==
        counted.training[0].runs * sc::profile<two_stages, training, checked_machine>.stage(0).forward_cycles());
}

TEST_CASE("reports") {
  sc::profile_data const data = sc::profile_data_of<two_stages, training, machine>();
  CHECK(sc::profile_text(data).find("dense_1") != std::string::npos);
  sc::write_profile_html(data, "profile.html");         // memory, liveness, time line, layers: one page
  sc::write_profile_trace(data, "profile.trace.json");  // for ui.perfetto.dev or chrome://tracing
  for (char const* file : {"profile.html", "profile.trace.json"}) CHECK(std::remove(file) == 0);
}
