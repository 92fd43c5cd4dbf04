// SPDX-License-Identifier: BSD-3-Clause
// Data that stream: digits lie in files, as bytes, and a training reads them sample by sample, shuffles them in a
// buffer and scales them, on a thread of its own, while the model works. Only the buffer is in memory. The test's
// digits come from an .npz file. Fails if fewer than 95 % of them are read.
#include <stagecraft/data/data.hpp>
#include <stagecraft/data/npy.hpp>
#include <stagecraft/data/npz.hpp>
#include <stagecraft/io/npy.hpp>
#include <stagecraft/io/npz.hpp>
#include <stagecraft/stagecraft.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <tuple>
#include <unistd.h>

#include "command_line/command_line.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{128, sc::relu}, dense{64, sc::relu}, dense{10}>;
inline constexpr auto training = sc::training{.optimizer = sc::optimizers::adam{},
                                              .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .metrics = sc::metrics::accuracy{},
                                              .batch_size = 64,
                                              .infeed_queue = {.prefetch_depth = 3}};

/// Numbers from 0 to 255.
sc::stored_tensor bytes_of(std::string const& name, auto const& numbers, float scale) {
  sc::stored_tensor tensor;
  tensor.name = name;
  tensor.type = sc::element_type::uint8;
  for (auto const length : numbers.shape()) tensor.shape.push_back(static_cast<std::int64_t>(length));
  for (auto const number : numbers)
    tensor.bytes.push_back(static_cast<std::byte>(static_cast<float>(number) * scale + 0.5F));
  return tensor;
}

int main(int argc, char** argv) {
  auto const given = read_arguments(argc, argv, "Trains a perceptron on files that are not read into memory.", 3);
  auto const folder = std::filesystem::temp_directory_path() / ("streaming_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  auto const images = (folder / "images.npy").string(), labels = (folder / "labels.npy").string();
  auto const held = (folder / "test.npz").string();
  auto const [drawn, test] = load_data(given);
  sc::write_npy(images, bytes_of("x", drawn.x, 255));
  sc::write_npy(labels, bytes_of("y", drawn.y, 1));
  sc::write_npz(held, {{bytes_of("x", test.x, 255), bytes_of("y", test.y, 1)}, {}});

  auto const scaled = [](auto const& image, auto const& label) { return std::tuple(image / 255.0F, label); };
  auto const train = sc::data::zip(sc::data::npy(images), sc::data::npy(labels)).shuffle(4096).map(scaled);
  auto const held_back = sc::data::zip(sc::data::npz(held, "x"), sc::data::npz(held, "y")).map(scaled);
  for (auto const& [image, label] : train.take(3))
    std::printf("%zu x %zu pixels, a %.0f\n", image.shape()[0], image.shape()[1], static_cast<double>(label()));

  sc::trainer<mlp, training> model;
  model.fit(train, {.epochs = given.epochs, .validation_data = held_back});
  auto const [loss, accuracy] = model.evaluate(held_back, {.verbose = 0});

  // Keras's guides: arrays, in batches, without an end; then, an epoch that ends where whole weight updates do.
  auto const cast = [](auto const& shades, int label) { return std::tuple(shades * 1.0F, label); };
  auto const dataset = sc::data::from(drawn.x, drawn.y).shuffle(10'000).map(cast).batch(64, true);
  sc::trainer<mlp, training> other;
  other.fit(dataset.repeat().prefetch(16), {.epochs = 2, .verbose = 0, .steps_per_epoch = 50});
  auto const whole_updates = dataset.cardinality() / 10 * 10;
  other.fit(dataset.take(whole_updates), {.verbose = 2});

  std::printf("%lld samples in files, test loss %.4f, test accuracy %.4f\n",
              static_cast<long long>(train.cardinality()), loss, accuracy);
  std::filesystem::remove_all(folder);
  return accuracy >= 0.95 ? 0 : 1;
}
