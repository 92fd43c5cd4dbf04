// SPDX-License-Identifier: BSD-3-Clause
// Metrics per output and weighted metrics against real Keras: names, their order, and values, of fit and evaluate.
#include "golden_trainer.hpp"

#include <stagecraft/ipu.hpp>

namespace {

using namespace sc::metrics;

struct two : sc::functional<two> {
  static constexpr auto build(auto& model) {
    auto shared = dense(6, sc::tanh, {.name = "shared"})(model.input(3));
    return sc::outputs(dense(4, {.name = "a"})(shared), dense(2, {.name = "b"})(shared));
  }
};

/// As a user writes them, of rows and of elements; under Keras's names, to be compared with its values.
struct own_mse : sc::own_metric<own_mse> {
  static constexpr std::string_view name = "mse";
  constexpr auto call(auto& ops, auto target, auto output) const { return ops.mean(square(output - target), -1); }
};
struct own_mae : sc::own_metric<own_mae> {
  static constexpr std::string_view name = "mean_absolute_error";
  constexpr auto call(auto target, auto output) const { return abs(output - target); }
};

template <metric_list Metrics, metric_list Weighted>
inline constexpr auto training =
    sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = 0.1F},
                 .loss = sc::losses::per_output(sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                                sc::losses::mean_squared_error{}),
                 .metrics = Metrics,
                 .weighted_metrics = Weighted,
                 .batch_size = 4};

inline constexpr auto masked = [] {
  auto result = training<per_output({"b", {mae{}, mse{}}}), per_output({"b", mse{}})>;
  result.pipeline.outfeed_mask = {true, false, false};
  return result;
}();

/// Fits to the first ten samples and evaluates the others.
template <class Trainer>
void check(std::string const& name) {
  CAPTURE(name);
  auto const file = golden::read("metrics_per_output.txt");
  Trainer model;
  golden::set_weights(model, file, "two/initial");
  auto const samples = [&](std::size_t first, std::size_t count) {
    auto const weights = file["two/weights"].values.begin() + static_cast<std::ptrdiff_t>(first);
    return sc::trainers::labelled_samples(
        golden::rows(file["two/x"], first, count),
        sc::targets(golden::labels(file["two/y/a"], first, count), golden::rows(file["two/y/b"], first, count)),
        std::vector<float>(weights, weights + static_cast<std::ptrdiff_t>(count)));
  };
  auto const first = samples(0, 10), others = samples(10, 8);
  auto const history = model.fit(
      first.x, first.y,
      {.epochs = 2, .verbose = 0, .validation_data = others, .shuffle = false, .sample_weight = first.sample_weight});
  golden::check_history(history.history, file, "two/" + name + "/history/");
  auto const evaluated = model.evaluate(others.x, others.y, {.verbose = 0, .sample_weight = others.sample_weight});
  std::vector<float> expected;
  for (auto const& key : file.names("two/" + name + "/evaluate/"))
    expected.push_back(file["two/" + name + "/evaluate/" + key][0]);
  CHECK(golden::deviation(evaluated, expected) < golden::loss_tolerance);
}

// The order in which outputs are named is not that of the reports.
constexpr auto dictionary = per_output({"a", accuracy{}}, {"b", {mae{}, own_mse{}}});
constexpr auto weighted_dictionary = per_output({"b", {mse{}, own_mae{}}}, {"a", {accuracy{}}});
static_assert(dictionary.size() == 3 && dictionary.entries == 2 && !dictionary.is_too_long);
static_assert(dictionary.is_of(0, 0, "a") && !dictionary.is_of(0, 1, "b") && dictionary.is_of(2, 1, "b"));
constexpr auto lists = per_output({}, mae{});
constexpr auto weighted_lists = per_output({accuracy{}, sparse_categorical_accuracy{}}, {});
static_assert(lists.is_of(0, 1, "b") && !lists.is_of(0, 0, "a") && weighted_lists.entries == 2);

constexpr auto nine = per_output(
    {accuracy{}, accuracy{}, accuracy{}, accuracy{}, accuracy{}, accuracy{}, accuracy{}, accuracy{}, accuracy{}});
static_assert(nine.size() == 9 && !nine.is_too_long);
constexpr metric_list eight{mae{}, mae{}, mae{}, mae{}, mae{}, mae{}, mae{}, mae{}};
static_assert(per_output({"a", eight}, {"b", eight}).size() == 16 &&
              !per_output({"a", eight}, {"b", eight}).is_too_long);
static_assert(per_output({"a", eight}, {"b", eight}, {"c", mae{}}).is_too_long);

}  // namespace

TEST_CASE("by name") { check<sc::trainer<two, training<dictionary, weighted_dictionary>>>("dictionary"); }
TEST_CASE("by name, on an emulated IPU") {
  check<sc::trainer<two, training<dictionary, weighted_dictionary>, sc::ipu<>>>("dictionary");
}
TEST_CASE("by place") { check<sc::trainer<two, training<lists, weighted_lists>>>("lists"); }
TEST_CASE("of one output only") { check<sc::trainer<two, training<per_output({"b", mse{}}), {}>>>("only_b"); }
TEST_CASE("weighted ones of all outputs") { check<sc::trainer<two, training<{}, accuracy{}>>>("all"); }
TEST_CASE("a mask has an entry for each metric that is written, plain ones first") {
  sc::trainer<two, masked> model;
  auto const file = golden::read("metrics_per_output.txt");
  auto const x = golden::rows(file["two/x"]);
  auto const y = sc::targets(golden::labels(file["two/y/a"]), golden::rows(file["two/y/b"]));
  std::vector<std::string> names;
  for (auto const& series : model.fit(x, y, {.verbose = 0, .validation_split = 0.5}).history)
    names.push_back(series.name);
  CHECK(names == std::vector<std::string>{"loss", "a_loss", "b_loss", "b_mse", "b_weighted_mse", "val_loss",
                                          "val_a_loss", "val_b_loss", "val_b_mae", "val_b_mse", "val_b_weighted_mse"});
}
