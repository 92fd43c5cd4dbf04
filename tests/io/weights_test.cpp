// SPDX-License-Identifier: BSD-3-Clause
// Weights in files: a trainer's become a predictor's; names are Keras's; all differences are one error, and change
// nothing.
#include <stagecraft/io/weights.hpp>
#include <stagecraft/training/predictor.hpp>
#include <stagecraft/training/trainer.hpp>

#include <stagecraft/layers/layers.hpp>
#include <stagecraft/losses/losses.hpp>
#include <stagecraft/models/functional.hpp>
#include <stagecraft/models/sequential.hpp>
#include <stagecraft/optimizers/optimizers.hpp>
#include <array>
#include <cstddef>
#include <doctest/doctest.h>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scratch_folder.hpp"

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

namespace {

using tests::contains;
using tests::error_of;

using encoder = sc::sequential<dense{3, sc::relu}, batch_normalization{}>;
struct classifier : sc::functional<classifier> {
  static constexpr std::string_view name = "classifier";
  static constexpr auto build(auto& model) {
    auto const x = model.input(4);
    return dense{2}(dense{3}(encoder{}.named("encoder")(x)));
  }
};
/// A layer more, one of another width, one of the same.
using other = sc::sequential<input{3}, dense{2}, dense{5}>;

inline constexpr auto training = sc::training{.loss = sc::losses::mean_squared_error{}, .batch_size = 2};
inline constexpr auto inference = sc::inference{.batch_size = 2};
inline constexpr auto in_halves = sc::inference{.batch_size = 2, .dtype_policy = sc::dtype_policies::float16};

}  // namespace

TEST_CASE("a trainer's weights are read by a predictor, from each format") {
  tests::scratch_folder const folder;
  sc::trainer<classifier, training> const trained(3);
  for (char const* const name : {"w.safetensors", "w.npz"}) {
    trained.save_weights(folder / name);
    sc::predictor<classifier, inference> model(4);
    CHECK(model.get_weights() != trained.get_weights());
    auto const loaded = model.load_weights(folder / name);
    CHECK(loaded.count == 10);
    CHECK(loaded.skipped.empty());
    CHECK(model.get_weights() == trained.get_weights());
  }
  auto const file = sc::read_safetensors(folder / "w.safetensors");
  std::vector<std::string> names;
  for (auto const& tensor : file.tensors) names.push_back(tensor.name);
  CHECK(names == std::vector<std::string>{"encoder/dense/kernel:0", "encoder/dense/bias:0",
                                          "encoder/batch_normalization/gamma:0", "encoder/batch_normalization/beta:0",
                                          "encoder/batch_normalization/moving_mean:0",
                                          "encoder/batch_normalization/moving_variance:0", "dense_1/kernel:0",
                                          "dense_1/bias:0", "dense_2/kernel:0", "dense_2/bias:0"});

  // Other types of numbers, and names as Keras 3 has them.
  auto changed = file;
  auto& bias = changed.tensors.back();
  bias = {
      "dense_2/bias", sc::element_type::float16, {2}, {std::byte{0}, std::byte{0x3c}, std::byte{0}, std::byte{0xc0}}};
  sc::write_safetensors(folder / "half.safetensors", changed);
  sc::predictor<classifier, inference> model;
  model.load_weights(folder / "half.safetensors");
  CHECK(model.get_weights().back().values == std::vector{1.F, -2.F});

  // Keras's names of weights in nested models do not name these.
  for (auto& tensor : changed.tensors)
    if (tensor.name.starts_with("encoder/")) tensor.name.erase(0, 8);
  sc::write_npz(folder / "keras.npz", changed);
  sc::predictor<classifier, inference> again;
  CHECK(again.load_weights(folder / "keras.npz", {.by_name = true}).count == 10);
  CHECK(again.get_weights() == model.get_weights());
}

TEST_CASE("a weight that its type cannot hold is an error, and not an infinity") {
  tests::scratch_folder const folder;
  using small = sc::sequential<input{2}, dense{1}>;
  sc::predictor<small, inference> model;
  std::vector<double> const values{1, 1e39};
  sc::tensor_file file{{{"dense/kernel:0", sc::element_type::float64, {2, 1}, {}},
                        sc::io::float_tensor("dense/bias:0", std::array{1}, std::array{1e6F})},
                       {}};
  auto const bytes = std::as_bytes(std::span(values));
  file.tensors[0].bytes.assign(bytes.begin(), bytes.end());
  for (char const* const name : {"w.safetensors", "w.npz"}) {
    name[2] == 's' ? sc::write_safetensors(folder / name, file) : sc::write_npz(folder / name, file);
    CHECK(contains(
        error_of([&] { model.load_weights(folder / name); }),
        std::string(name) + ": tensor 'dense/kernel:0': element[1, 0] is 1e+39, which is no number of type float32"));
  }
  // In half precision, 65504 is the largest.
  file.tensors[0] = sc::io::float_tensor("dense/kernel:0", std::array{2, 1}, std::array{1.F, 65504.F});
  sc::write_safetensors(folder / "w.safetensors", file);
  sc::predictor<small, in_halves> halves;
  auto const before = halves.get_weights();
  CHECK(contains(error_of([&] { halves.load_weights(folder / "w.safetensors"); }),
                 "value 0 of weight 'dense/bias:0' is 1e+06, and beyond float16, in which it is kept [E5206]"));
  CHECK(halves.get_weights() == before);
  model.load_weights(folder / "w.safetensors");
  CHECK(model.get_weights()[1].values[0] == 1e6F);
}

TEST_CASE("each difference is named in one error, which changes nothing") {
  tests::scratch_folder const folder;
  sc::predictor<other, inference> const theirs(5);
  theirs.save_weights(folder / "w.safetensors");
  sc::predictor<classifier, inference> model;
  auto const before = model.get_weights();
  auto const error = error_of([&] { model.load_weights(folder / "w.safetensors"); });
  CHECK(contains(error, "w.safetensors: does not fit model 'classifier', 10 differences:\n"));
  CHECK(contains(error, "\n  weight 'encoder/batch_normalization/gamma:0' is not in the file\n"));
  CHECK(contains(error, "\n  weight 'dense/kernel:0' has shape (4, 3), in the file (3, 2)\n"));
  CHECK(contains(error, "\n  weight 'dense_1/kernel:0' has shape (3, 3), in the file (2, 5)\n"));
  CHECK(contains(error, "[E5021]"));
  CHECK(model.get_weights() == before);

  auto const by_name = error_of([&] { model.load_weights(folder / "w.safetensors", {.by_name = true}); });
  CHECK(contains(by_name, "4 differences:\n"));
  CHECK(contains(error_of([&] { model.load_weights(folder / "w.safetensors", {.skip_mismatch = true}); }), "[E5022]"));
  CHECK(contains(error_of([&] { model.load_weights(folder / "w.bin"); }), ".safetensors, .npz [E5042]"));
  CHECK(contains(error_of([&] { model.save_weights(folder / "w.bin"); }), "[E5042]"));
  CHECK(contains(error_of([&] { model.load_weights(folder / "none.npz"); }), "[E5001]"));
  CHECK(contains(
      error_of([&] { model.load_weights(folder / "w.safetensors", {.by_name = true, .skip_mismatch = true}); }),
      "no layer of model 'classifier' has the name"));

  auto file = sc::read_safetensors(folder / "w.safetensors");
  file.tensors.push_back(sc::io::float_tensor("dense_9/kernel:0", std::array{1}, std::array{1.F}));
  for (auto& tensor : file.tensors)
    if (tensor.name == "dense/bias:0") tensor = sc::io::number_tensor("dense/bias:0", sc::element_type::int64, 7LL);
  sc::write_safetensors(folder / "v.safetensors", file);
  sc::predictor<other, inference> own(6);
  auto const old = own.get_weights();
  auto const types = error_of([&] { own.load_weights(folder / "v.safetensors"); });
  CHECK(contains(types, "2 differences:\n  weight 'dense/bias:0' has elements of type int64 in the file\n"));
  CHECK(contains(types, "\n  weight 'dense_9/kernel:0' of the file is not in the model [E5021]"));
  auto const loaded = own.load_weights(folder / "v.safetensors", {.by_name = true, .skip_mismatch = true});
  CHECK(loaded.count == 2);
  CHECK(loaded.skipped == std::vector<std::string>{"dense", "dense_9"});
  CHECK(own.get_weights()[0] == old[0]);  // a layer is read as a whole, or not at all
  CHECK(own.get_weights()[2] == theirs.get_weights()[2]);
}
