// SPDX-License-Identifier: BSD-3-Clause
// A training that is stopped, saved to a folder, and goes on from there, with the bits of one that was not interrupted;
// a model that only predicts, which reads the weights; and a subclass in two stages, whose stages and members are saved
// without a line of its own.
#include <stagecraft/io/bundle.hpp>
#include <stagecraft/stagecraft.hpp>
#include <cstdio>
#include <filesystem>
#include <string>

#include "command_line/command_line.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{64, sc::relu}, dropout{0.2F}, dense{10}>;

inline constexpr auto training = sc::training{.optimizer = sc::optimizers::adam{},
                                              .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .metrics = sc::metrics::accuracy{},
                                              .batch_size = 64,
                                              .steps_per_execution = 64};
inline constexpr auto inference = sc::inference{.batch_size = 64};

/// A subclass needs no get_config and from_config: its type says what its members are. Their options, and the stages,
/// are in the file, and held against the type when it is read.
struct classifier : sc::model<classifier> {
  dense hidden{32, sc::relu}, digit{10};

  constexpr auto call(auto& model, auto x) {
    {
      sc::pipeline_stage stage(model, 0);
      x = hidden(flatten{}(x));
    }
    sc::pipeline_stage stage(model, 1);
    return digit(x);
  }
};
using two_devices = sc::pipelined<sc::build<classifier, input{28, 28}>, [](auto&) {}, sc::device_mapping<0, 1>>;
using one_device = sc::pipelined<sc::build<classifier, input{28, 28}>, [](auto&) {}, sc::device_mapping<0, 0>>;

/// What Keras's set_pipelining_options and set_gradient_accumulation_options say is in the type as well: nothing of it
/// has to be said again after loading, as the guides ask for of what Keras does not save.
inline constexpr auto pipelined =
    sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = 0.1F, .momentum = 0.9F},
                 .loss = training.loss,
                 .batch_size = 32,
                 .steps_per_execution = 16,
                 .pipeline = {.gradient_accumulation_steps_per_replica = 4}};

inline constexpr auto staged = sc::inference{.batch_size = 32, .steps_per_execution = 2};

void save_stages(sc::datasets::labelled_data const& train, std::string const& path) {
  sc::trainer<two_devices, pipelined, sc::host<2>> model;
  model.fit(train.x, train.y, {.verbose = 0, .steps_per_epoch = 16});
  model.save(path);
  sc::trainer<two_devices, pipelined, sc::host<2>> again(7);
  again.load(path);
  std::printf("stages: %s\n", again.get_optimizer_weights() == model.get_optimizer_weights() ? "read" : "not read");

  sc::predictor<one_device, staged> other;
  try {
    other.load(path);  // the devices are others, which changes no number of a prediction: read
    std::printf("devices: read\n");
  } catch (sc::file_error const& why) {
    std::printf("%s\n", why.what());
  }
  std::filesystem::remove_all(path);
}

int main(int argc, char** argv) {
  auto const given = read_arguments(argc, argv, "Stops a training, saves it, and goes on.", 3);
  auto const [train, test] = load_data(given);
  auto const path = (std::filesystem::temp_directory_path() / "stagecraft_example_digits").string();

  sc::trainer<mlp, training> whole;
  whole.fit(train.x, train.y, {.epochs = given.epochs, .verbose = 0});

  sc::trainer<mlp, training> begun;
  begun.fit(train.x, train.y, {.epochs = 1, .verbose = 0});
  sc::save_model(begun, path);  // a folder: model.json, weights.safetensors, training.json

  // As another process would.
  sc::trainer<mlp, training> again;
  again.load(path);
  again.fit(train.x, train.y, {.epochs = given.epochs, .verbose = 2, .initial_epoch = 1});
  std::printf("%s\n", again.get_weights() == whole.get_weights() ? "the bits of a training that was not interrupted"
                                                                 : "the weights differ");

  // Weights alone, for a model that only predicts.
  auto const weights = path + ".safetensors";
  again.save_weights(weights);
  sc::predictor<mlp, inference> net;
  auto const loaded = net.load_weights(weights);
  std::printf("%d weights are read; logits are %s\n", loaded.count,
              net.predict(test.x) == again.predict(test.x) ? "the same" : "others");

  save_stages(train, path + "_stages");
  std::filesystem::remove_all(path);
  std::filesystem::remove(weights);
}
