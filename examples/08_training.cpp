// SPDX-License-Identifier: BSD-3-Clause
// What can be said about a training: two outputs with a loss each and their weights, sample weights, callbacks of the
// library and one of one's own, weights that are saved and restored, and a view of one weight by its name.
// Writes the file 08_training.csv into the current directory.
#include <stagecraft/stagecraft.hpp>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <vector>

#include "command_line/command_line.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

/// The model finds which digit it is, and how much ink it takes.
struct digit_and_ink : sc::functional<digit_and_ink> {
  static constexpr std::string_view name = "digit_and_ink";

  static constexpr auto build(auto& model) {
    auto x = flatten{}(model.input({28, 28}, "image"));
    x = dense(128, sc::relu, {.name = "hidden"})(x);
    return sc::outputs(dense(10, {.name = "digit"})(x), dense(1, {.name = "ink"})(x));
  }
};

// The fields stand in the order in which they are declared; C++ asks for that.
inline constexpr auto training =
    sc::training{.optimizer = sc::optimizers::adam{},
                 .loss = sc::losses::per_output(sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                                sc::losses::mean_squared_error{}),
                 .loss_weights = {1, 0.5},
                 .batch_size = 64};

/// The images with both targets.
struct samples {
  xt::xtensor<float, 3> x;
  xt::xtensor<std::int32_t, 1> digit;
  xt::xtensor<float, 1> ink;

  explicit samples(sc::datasets::labelled_data const& data)
      : x(data.x), digit(data.y), ink(10.0F * xt::mean(data.x, {1, 2})) {}
};

/// A callback of one's own: keeps the weights of the epoch with the best digits, and counts the epochs.
class keep_best : public sc::callback {
 public:
  std::vector<sc::weight_array> weights;
  int epoch = -1;

  void on_train_begin(sc::logs&) override { epoch = -1; }
  void on_epoch_end(int number, sc::logs& logs) override {
    double const loss = logs.at("val_digit_loss");
    if (epoch >= 0 && loss >= best_) return;
    best_ = loss;
    epoch = number;
    weights = model().get_weights();
  }

 private:
  double best_ = 0;
};

int main(int argc, char** argv) {
  auto const given = read_arguments(argc, argv, "Trains a model of two outputs with callbacks and sample weights.", 6);
  auto const [train_digits, test_digits] = load_data(given);
  samples const train(train_digits), test(test_digits);
  auto const targets = sc::targets(train.digit, train.ink), test_targets = sc::targets(test.digit, test.ink);

  // An image of an eight counts twice.
  std::vector<float> sample_weight(train.digit.size(), 1.0F);
  for (std::size_t i = 0; i < sample_weight.size(); ++i)
    if (train.digit(i) == 8) sample_weight[i] = 2;

  sc::callbacks::learning_rate_scheduler schedule([](int epoch, double rate) { return epoch < 2 ? rate : rate * 0.7; });
  sc::callbacks::early_stopping stopping({.monitor = "val_digit_loss", .patience = 2, .verbose = 1});
  sc::callbacks::csv_logger log("08_training.csv");
  keep_best best;

  sc::trainer<digit_and_ink, training> model;
  auto const history = model.fit(train.x, targets,
                                 {.epochs = given.epochs,
                                  .callbacks = {&schedule, &stopping, &log, &best},
                                  .validation_data = {test.x, test_targets},
                                  .sample_weight = sample_weight});
  std::printf("%zu epochs are in 08_training.csv\n", history.epoch.size());

  // The best epoch's weights, in another trainer of the same model.
  sc::trainer<digit_and_ink, training> restored;
  if (best.epoch >= 0) restored.set_weights(best.weights);
  auto const [loss, digit_loss, ink_loss] = restored.evaluate(test.x, test_targets, {.verbose = 0});
  std::printf("weights of epoch %d: test loss %.4f = %.4f (digit) + 0.5 * %.4f (ink)\n", best.epoch + 1, loss,
              digit_loss, ink_loss);

  auto const [logits, ink] = restored.predict(test.x);
  int digit = 0;
  for (int i = 1; i < 10; ++i)
    if (logits(0, i) > logits(0, digit)) digit = i;
  std::printf("the first test image: digit %d, predicted %d; ink %.3f, predicted %.3f\n", test.digit(0), digit,
              static_cast<double>(test.ink(0)), static_cast<double>(ink(0, 0)));

  // A view of a weight reads and writes the model's own memory: without its bias, no digit is favoured.
  auto bias = restored.weight<"digit/bias">();
  std::printf("the bias of digit 0 is %.4f\n", static_cast<double>(bias(0)));
  for (float& value : bias) value = 0;
  std::printf("without biases, the test loss is %.4f\n", restored.evaluate(test.x, test_targets, {.verbose = 0})[0]);
}
