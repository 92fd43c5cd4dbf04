// SPDX-License-Identifier: BSD-3-Clause
// Training with labels that have no places in time: ten steps as Keras's, on the host and on tiles; what data must be;
// the loss in a layer of one's own, for a batch.
#include <stagecraft/ipu.hpp>

#include <stagecraft/diagnostics/exceptions.hpp>

#include <stagecraft/data/ctc_decode.hpp>

#include "golden_trainer.hpp"

namespace {

using network = sc::sequential<input{6, 3}, dense{4}>;
inline constexpr auto training = sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = 0.05F},
                                              .loss = sc::losses::ctc{.max_label_length = 4},
                                              .batch_size = 5};

xt::xtensor<float, 3> sequences(golden::tensor const& from, std::size_t first) {
  xt::xtensor<float, 3> result = xt::xtensor<float, 3>::from_shape({5, from.shape[1], from.shape[2]});
  std::copy_n(from.values.data() + first * from.shape[1] * from.shape[2], result.size(), result.data());
  return result;
}
xt::xtensor<int, 2> sequences_of_labels(golden::tensor const& from, std::size_t first) {
  xt::xtensor<int, 2> result = xt::xtensor<int, 2>::from_shape({5, 4});
  std::copy_n(from.integers().data() + first * 4, 20, result.data());
  return result;
}

template <class Machine>
void check_ten_steps() {
  auto const file = golden::read("ctc.txt");
  sc::trainer<network, training, Machine> model;
  model.template weight<"dense/kernel">() = golden::rows(file["training/kernel"]);
  std::vector<double> losses;
  for (std::size_t step = 0; step < 10; ++step) {
    std::size_t const first = step % 2 * 5;
    losses.push_back(
        model.train_on_batch(sequences(file["training/x"], first), sequences_of_labels(file["training/y"], first))[0]);
  }
  CHECK(golden::deviation(losses, file["training/losses"].values) < golden::loss_tolerance);
  auto const weights = model.get_weights();
  CHECK(golden::deviation(weights[0].values, file["training/trained_kernel"].values) < golden::weight_tolerance);
  CHECK(golden::deviation(weights[1].values, file["training/trained_bias"].values) < golden::weight_tolerance);
}

/// Keras 2's layer of examples: adds the batch's loss, and returns the probabilities.
struct ctc_layer : sc::layer<ctc_layer> {
  static constexpr std::string_view class_name = "CTCLayer";
  constexpr auto call(auto& ops, sc::tensor_list in) const {
    auto const labels = in[0], y = in[1], label_length = in[2], input_length = in[3];
    ops.add_loss(ops.ctc_loss(labels, log(y + 1e-7F), label_length, input_length, -1));
    return y;
  }
};
struct with_layer : sc::functional<with_layer> {
  static constexpr auto build(auto& model) {
    auto labels = model.input(3), y = model.input(6, 4), label_length = model.input(1), input_length = model.input(1);
    auto const one = ctc_layer()(labels, y, label_length, input_length);
    return dense(1, {.use_bias = false, .kernel_initializer = sc::initializers::zeros{}})(flatten()(one));
  }
};

template <class Call>
std::string code_of(Call const& call) {
  try {
    call();
  } catch (sc::data_error const& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("ten steps on the host") { check_ten_steps<sc::host<>>(); }
TEST_CASE("ten steps on tiles") {
  check_ten_steps<sc::ipu<sc::ipu_config{.ipu_model = {.tiles_per_ipu = 4, .checked = true}}>>();
}

TEST_CASE("labels stand before zeros, are classes, and fit the steps; E4004, E4132, E4133") {
  sc::trainer<network, training> model;
  xt::xtensor<float, 3> const x = xt::zeros<float>({std::size_t{5}, std::size_t{6}, std::size_t{3}});
  auto const fit = [&](std::vector<int> const& last) {
    xt::xtensor<int, 2> y = xt::zeros<int>({std::size_t{5}, std::size_t{4}});
    std::copy(last.begin(), last.end(), &y(4, 0));
    return code_of([&] { model.fit(x, y, {.verbose = 0}); });
  };
  CHECK(fit({1, 2, 2, 3}) == "no error");
  CHECK(fit({1, 4, 0, 0}).find("expected class numbers from 0 to 3, found 4 at sample 4 [E4004]") != std::string::npos);
  CHECK(fit({1, 0, 2, 0}).find("expected 0 only after the last label, found label 2 after a 0 at sample 4 [E4132]") !=
        std::string::npos);
  CHECK(fit({1, 1, 1, 1}).find("6 steps, found 4 labels at sample 4, which need 7") != std::string::npos);
  CHECK(code_of([&] { model.evaluate(x, xt::xtensor<int, 2>(xt::zeros<int>({5, 6}))); }) ==
        "y: expected samples of shape (4,), found (6,) [E4001]");
}

TEST_CASE("the loss of a batch in a layer of one's own: ctc_batch_cost") {
  auto const file = golden::read("ctc.txt");
  sc::trainer<with_layer, sc::training{.loss = sc::losses::mean_squared_error{}, .batch_size = 3}> model;
  auto const array = [&](std::string const& name) {
    auto const& from = file[name];
    return xt::xarray<float>(xt::adapt(from.values, from.shape));
  };
  auto const rows = xt::xtensor<float, 2>(xt::zeros<float>({std::size_t{3}, std::size_t{1}}));
  std::vector<sc::trainers::sample_source> x;
  for (auto const* name :
       {"batch_cost/target", "batch_cost/prediction", "lengths/label_length", "lengths/logit_length"})
    x.emplace_back(array(name));
  CHECK(std::abs(model.evaluate(sc::sample_set(std::move(x)), rows, {.verbose = 0})[0] -
                 static_cast<double>(file["batch_cost/loss"].scalar())) < 1e-5);
}

// docs/keras.md, "Sequences of labels: CTC".
namespace {

using reader = sc::sequential<input{20, 8}, bidirectional{lstm{32, {.return_sequences = true}}}, dense{27}>;
inline constexpr auto reading =
    sc::training{.optimizer = sc::optimizers::adam{}, .loss = sc::losses::ctc{.max_label_length = 6}, .batch_size = 16};

}  // namespace

TEST_CASE("a reader of lines, as docs/keras.md has it, learns them") {
  xt::xtensor<float, 3> lines = xt::zeros<float>({std::size_t{16}, std::size_t{20}, std::size_t{8}});
  xt::xtensor<int, 2> letters = xt::zeros<int>({std::size_t{16}, std::size_t{6}});
  for (std::size_t line = 0; line < 16; ++line)  // three strokes, and a letter for each
    for (std::size_t i = 0; i < 3; ++i) {
      std::size_t const letter = (line * 5 + i * 3) % 8;
      letters(line, i) = static_cast<int>(letter) + 1;
      for (std::size_t step = 0; step < 3; ++step) lines(line, 6 * i + line % 3 + step, letter) = 1;
    }
  sc::trainer<reader, reading> model;
  model.set_learning_rate(0.02F);
  model.fit(lines, letters, {.epochs = 150, .verbose = 0});
  auto const [best, scores] = sc::ctc_decode(model.predict(lines, {.verbose = 0}));
  auto const beams = sc::ctc_decode(model.predict(lines, {.verbose = 0}),
                                    {.strategy = sc::ctc_strategy::beam_search, .beam_width = 20, .top_paths = 3});
  int right = 0;
  for (std::size_t line = 0; line < 16; ++line)
    for (std::size_t i = 0; i < 3; ++i)
      right += best(0, line, i) == letters(line, i) && beams.labels(0, line, i) == letters(line, i);
  CHECK(right == 48);
}
