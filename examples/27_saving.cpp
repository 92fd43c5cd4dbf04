// SPDX-License-Identifier: BSD-3-Clause
// A training that is stopped, saved to a folder, and goes on from there, with the bits of one that was not interrupted;
// and a model that only predicts, which reads the weights.
#include <stagecraft/io/bundle.hpp>
#include <stagecraft/stagecraft.hpp>
#include <cstdio>
#include <filesystem>

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

  std::filesystem::remove_all(path);
  std::filesystem::remove(weights);
}
