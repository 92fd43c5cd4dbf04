// SPDX-License-Identifier: BSD-3-Clause
// Feeds HDF5 files that arbitrary bytes describe to the readers of Keras's files. The first byte chooses: whole models
// of Keras 2, weights of both, what is in a .keras archive, or a training. Anything but a file_error, or arrays of as
// many numbers as their shapes say, fails.
#include "hdf5_tree.hpp"
#include "source/source_model.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/io/detail/bundle_contents.hpp>
#include <stagecraft/io/keras/read_keras_training.hpp>
#include <stagecraft/io/keras/read_keras_weights.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace sc = stagecraft;

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}
void check(sc::stored_tensor const& tensor) {
  require(sc::io::bytes_of(tensor.shape, sc::size_of(tensor.type)) == tensor.bytes.size());
}
void check(sc::tensor_file const& file) {
  for (auto const& tensor : file.tensors) check(tensor);
}
void check(sc::tool::source_model const& model) {
  sc::tool::for_each_weighted_layer(model, "", [&](sc::tool::model_layer const& layer, std::string const&) {
    require(layer.weights.size() == layer.values.size());
    for (std::size_t i = 0; i < layer.values.size(); ++i) {
      require(layer.values[i].shape == layer.weights[i].shape);
      require(sc::io::bytes_of(layer.values[i].shape, 1) == layer.values[i].values.size());
    }
  });
}

/// As the tool reads a .h5 file.
void read_model(sc::io::hdf5_file const& file) {
  auto const config = file.text("/", "model_config");
  if (!config) return;
  auto model = sc::tool::read_config(sc::io::parse_json(*config, "fuzz"), "fuzz", {});
  sc::tool::read_h5_weights(file, model);
  check(model);
}
/// As the tool, and a program, read what is in a .keras archive.
void read_archive(sc::io::hdf5_file const& file, std::string_view text) {
  auto const config = sc::io::parse_json(text, "fuzz");
  try {
    sc::io::layer_tree const tree(config, {}, {});
    check(sc::io::keras_weights_reader(file).read_keras_3(tree.root()));
  } catch (nlohmann::json::exception const&) {
    return;
  }
  auto model = sc::tool::read_config(config, "fuzz", {});
  sc::tool::read_keras_weights(file, model);
  check(model);
}
/// As a trainer of one dense layer reads it.
void read_training(sc::io::hdf5_file const& file) {
  auto training = sc::io::read_keras_training(file);
  check(training.weights);
  for (auto const& slot : training.slots) check(slot.values);
  for (auto const& each : training.numbers.value_or(std::vector<sc::stored_tensor>())) check(each);
  sc::weight_array const kernel{"", {4, 3}, std::vector<float>(12)}, bias{"", {3}, std::vector<float>(3)};
  std::vector numbers{kernel, kernel, bias, bias};
  sc::engine::training_progress progress{};
  static sc::io::json const adam{{"class_name", "adam"}, {"config", {{"learning_rate", 0.001}}}};
  sc::io::take_optimizer(training, adam, {"dense/kernel:0", "dense/bias:0"}, {"m", "v"}, numbers, progress, "fuzz");
  for (std::size_t i = 0; i < numbers.size(); ++i) require(numbers[i].values.size() == (i < 2 ? 12 : 3));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* bytes, std::size_t size) {
  if (size < 2) return 0;
  fuzz::byte_stream from(std::span(bytes + 1, size - 1));
  auto const text = bytes[0] % 4 == 2 ? from.text(fuzz::configurations) : std::string();
  auto contents = fuzz::hdf5_tree(from).make();
  if (contents.empty()) return 0;
  try {
    sc::io::hdf5_file const file(std::move(contents), "fuzz");
    switch (bytes[0] % 4) {
      case 0: read_model(file); break;
      case 1: check(sc::io::read_keras_h5(file)); break;
      case 2: read_archive(file, text); break;
      default: read_training(file);
    }
  } catch (sc::file_error const& error) {
    auto const code = error.code();
    require(code == "E5030" || code == "E5120" || code == "E5205" || code == "E5220" || code == "E5221" ||
            (code >= "E5061" && code <= "E5065"));
  }
  return 0;
}
