// SPDX-License-Identifier: BSD-3-Clause
// Snippets of docs/saving.md, docs/serving.md, docs/importing.md and docs/reports.md that no other test has: they
// compile as they stand there (tests/architecture/snippets.py compares them).
#include <stagecraft/io/backup_and_restore.hpp>
#include <stagecraft/io/bundle.hpp>
#include <stagecraft/io/keras_files.hpp>
#include <stagecraft/io/model_checkpoint.hpp>
#include <stagecraft/io/npz.hpp>
#include <stagecraft/io/onnx.hpp>
#include <stagecraft/io/safetensors.hpp>
#include <stagecraft/io/weights.hpp>
#include <stagecraft/serving/application.hpp>
#include <stagecraft/serving/embedded_runtime.hpp>
#include <stagecraft/serving/export.hpp>
#include <stagecraft/stagecraft.hpp>
#include <cstddef>
#include <span>
#include <string_view>
#include <thread>
#include <utility>

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{8, sc::relu}, dense{10}>;
inline constexpr auto training = sc::training{.loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .metrics = sc::metrics::accuracy{},
                                              .batch_size = 8};
using trainer = sc::trainer<mlp, training>;
struct samples {
  xt::xtensor<float, 3> x;
  xt::xtensor<int, 1> y;
};

namespace serving {

inline constexpr auto inference = sc::inference{.batch_size = 8, .steps_per_execution = 4};

void serve(xt::xtensor<float, 3> const& digits) {
  sc::predictor<mlp, inference> model;
  model.load_weights("digits.safetensors");
  sc::serving::embedded_runtime runtime(std::move(model), {.runtime_api_timeout_us = 5000});

  xt::xarray<float> logits = runtime(digits)[0];  // on any thread: the first output, for any number of samples
}

void two_threads(sc::predictor<mlp, inference>& model, xt::xtensor<float, 3> const& digit) {
  auto second = model.sharing_weights();
  std::thread other([&] { auto const row = second(digit); });  // while this thread calls model(...)
  other.join();
}

void write(trainer& model, xt::xtensor<float, 3> const& images) {
  auto run = model.export_for_ipu_serving("export/1", {.batch_size = 4, .output_names = {"probabilities"}});
  xt::xarray<float> probabilities = run(images)[0];  // the application, loaded and called here
}

void several_sizes(trainer& model, sc::predictor<mlp, sc::inference{.batch_size = 32}>& predictor) {
  auto run = model.export_for_ipu_serving("export/1", {.batch_size = 32, .allowed_batch_sizes = {1, 8, 32}});

  sc::serving::embedded_runtime runtime(sc::serving::allow_batch_sizes<1, 8, 32>(std::move(predictor)));
}

struct house : sc::functional<house> {
  static constexpr auto build(auto& model) {
    auto x = model.input({3}, "x");
    return sc::outputs(dense(1)(x), dense(3, sc::softmax)(x));
  }
};

void examples(sc::predictor<house, inference>& model) {
  auto run = model.export_for_ipu_serving(
      "houses/1",
      {.batch_size = 8,
       .output_names = {"price", "kind"},
       .signatures = {{"price", sc::regression{.output = "price"}},
                      {"kind", sc::classification{.scores = "kind", .labels = {"flat", "house", "farm"}, .top = 2}},
                      {"by_feature", sc::regression{.output = "price",
                                                    .features = {{.name = "rooms", .dtype = "DT_INT64"},
                                                                 {.name = "area"},
                                                                 {.name = "garden", .default_value = {0}}}}}}});
}

}  // namespace serving

namespace saving {

inline constexpr auto inference = sc::inference{.batch_size = 8};

void weights(trainer& model) {
  model.save_weights("w.safetensors");  // or "w.npz"
  sc::predictor<mlp, inference> net;
  net.load_weights("w.safetensors");
}

void whole_models(trainer& model, samples const& train) {
  sc::save_model(model, "digits");  // or model.save("digits"): a folder
  sc::trainer<mlp, training> again;
  again.load("digits");  // weights, optimizer, counters: goes on bit for bit
  again.fit(train.x, train.y, {.epochs = 5, .initial_epoch = 2});
}

void as_keras(trainer& model, sc::predictor<mlp, inference>& net) {
  sc::save_model(model, "digits.h5");          // tf.keras.models.load_model("digits.h5") reads it
  sc::save_model(model, "digits.keras");       // so does keras.models.load_model of Keras 3
  sc::save_model(model, "digits.weights.h5");  // model.load_weights of Keras 3
  net.load_weights("resnet50.h5");             // and what Keras has saved: also .keras and .weights.h5
}

void from_keras(samples const& train) {
  sc::trainer<mlp, training> model;
  model.load("digits.h5");  // weights, the optimizer's numbers, weight updates, learning rate
  model.fit(train.x, train.y, {.epochs = 5, .initial_epoch = 2});
}

void as_onnx(trainer& model) {
  sc::save_onnx(model, "digits.onnx", {.batch_size = 1});  // a trainer or predictor, on any machine
}

void checkpoints(trainer& model, samples const& train, samples const& test) {
  sc::callbacks::model_checkpoint saver(model, "digits_{epoch:02d}_{val_loss:.2f}", {.save_best_only = true});
  sc::callbacks::backup_and_restore backup(model, "backup");  // reads what a killed program has left
  model.fit(
      train.x, train.y,
      {.epochs = 50, .callbacks = {&saver, &backup}, .validation_data = test, .initial_epoch = backup.initial_epoch()});
}

void tensors() {
  sc::tensor_file file = sc::read_safetensors("w.safetensors");
  sc::stored_tensor const* kernel = file.find("dense/kernel:0");  // name, type, shape, bytes
  sc::write_npz("w.npz", file);
}

}  // namespace saving

namespace models {

using digits = mlp;

}  // namespace models

namespace application {

struct scale_pixels {
  using preprocessing_step_signature = sc::serving::signature<sc::serving::spec<"pixels", 28, 28>>;
  static void call(std::span<float const, 784> pixels, std::span<float, 784> image) {
    for (std::size_t i = 0; i < 784; ++i) image[i] = pixels[i] / 255;
  }
};

struct find_class {
  static void call(std::span<float const, 10> logits, std::span<float, 1> digit) { digit[0] = logits[0]; }
};

// digits.cpp

inline constexpr auto inference = sc::inference{.batch_size = 4, .steps_per_execution = 8};
inline constexpr auto around = sc::serving::application_options{
    .output_names = {"digit"}, .preprocessing_step = scale_pixels{}, .postprocessing_step = find_class{}};
extern "C" stagecraft_application const* stagecraft_get_application() {
  return sc::serving::application<models::digits, inference, around>::table();
}

}  // namespace application

inline constexpr auto single = sc::inference{.batch_size = 1};

int main() {
  sc::predictor<models::digits, single> net;
  net.load_weights("digits.safetensors");
}
