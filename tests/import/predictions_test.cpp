// SPDX-License-Identifier: BSD-3-Clause
// What imported models predict is what Keras predicted: their headers, and the weights and values that check_import.py
// has left in a folder.
#include "expected/amplifier.hpp"
#include "expected/attention.hpp"
#include "expected/branches.hpp"
#include "expected/by_hand.hpp"
#include "expected/cnn.hpp"
#include "expected/lstm.hpp"
#include "expected/mlp.hpp"
#include "expected/mobilenet.hpp"
#include "expected/nested.hpp"
#include "expected/operations_old.hpp"
#include "expected/operations_picture.hpp"
#include "expected/operations_sequence.hpp"
#include "expected/opset_18.hpp"
#include "expected/resnet.hpp"
#include "expected/shared.hpp"
#include "expected/stream.hpp"
#include "expected/synthesizer.hpp"
#include "expected/torch_2.hpp"
#include "expected/torch_attention.hpp"
#include "expected/torch_cnn.hpp"
#include "expected/torch_dynamo.hpp"
#include "expected/torch_mixer.hpp"
#include "expected/torch_mlp.hpp"
#include "expected/torch_parts.hpp"
#include "expected/torch_resnet.hpp"
#include "expected/torch_words.hpp"
#include "expected/wave.hpp"

#include "keras/hdf5_process.hpp"

#include <stagecraft/io/bundle.hpp>
#include <stagecraft/io/keras_files.hpp>
#include <stagecraft/io/safetensors.hpp>
#include <stagecraft/io/weights.hpp>
#include <stagecraft/pipeline/pipelined.hpp>
#include <stagecraft/pipeline/stages.hpp>
#include <stagecraft/training/predictor.hpp>
#include <stagecraft/training/trainer.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <doctest/doctest.h>
#include <filesystem>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace sc = stagecraft;

namespace {

inline constexpr auto run = sc::inference{.batch_size = 2};
inline constexpr auto one = sc::inference{.batch_size = 1};
inline constexpr auto two_steps = sc::inference{.batch_size = 2, .steps_per_execution = 2};

using staged = sc::pipelined<models::mlp, sc::stages<0, 0, 1, 1>>;

template <std::size_t Rank>
xt::xtensor<float, Rank> recorded(sc::tensor_file const& file, std::string const& name) {
  auto const* const found = file.find(name);
  REQUIRE(found != nullptr);
  REQUIRE(found->shape.size() == Rank);
  std::array<std::size_t, Rank> shape{};
  std::copy(found->shape.begin(), found->shape.end(), shape.begin());
  auto tensor = xt::xtensor<float, Rank>::from_shape(shape);
  auto const values = sc::io::to_floats(*found);
  std::copy(values.begin(), values.end(), tensor.begin());
  return tensor;
}

/// Both to 1e-5 of the largest value.
void check_close(auto const& found, sc::tensor_file const& file, std::string const& name) {
  auto const* const expected = file.find(name);
  REQUIRE(expected != nullptr);
  auto const values = sc::io::to_floats(*expected);
  REQUIRE(values.size() == found.size());
  float largest = 0, off = 0;
  std::size_t i = 0;
  for (float const value : found) {
    largest = std::max(largest, std::fabs(values[i]));
    off = std::max(off, std::fabs(value - values[i++]));
  }
  CHECK(largest > 0);
  CHECK(off <= 1e-5F * largest);
}

/// What tests/golden/continue_training.py has trained.
using trained = sc::sequential<sc::layers::input{4, 3}, sc::layers::lstm{3}, sc::layers::batch_normalization{},
                               sc::layers::dense{1}>;
inline constexpr auto adam =
    sc::training{.optimizer = sc::optimizers::adam{}, .loss = sc::losses::mean_squared_error{}, .batch_size = 4};

constexpr auto nothing = [](auto const& /*model*/, auto const& /*name*/) {};
constexpr auto save = [](auto const& model, std::string const& name) {  // for check_export.py
  sc::save_model(model, STAGECRAFT_IMPORTED_DIR "/saved/" + name);
};

/// Loads a model's weights, predicts from inputs of these ranks, batch included, and does something with the model.
template <class M, auto const& How, std::size_t... Ranks>
void check_model_run(std::string const& name, auto const& then) {
  CAPTURE(name);
  std::string const stem = STAGECRAFT_IMPORTED_DIR "/" + name;
  sc::predictor<M, How> model;
  model.load_weights(stem + ".safetensors");
  auto const weights = model.get_weights();
  for (auto const& keras : {stem + ".h5", stem + "_3.keras"})  // the same, as Keras has saved them
    if (std::filesystem::exists(keras)) {
      sc::predictor<M, How> other(7);
      CHECK(other.load_weights(keras).count == static_cast<int>(weights.size()));
      CHECK(other.get_weights() == weights);
    }
  then(model, name);
  auto const file = sc::read_safetensors(stem + "_values.safetensors");
  auto const x = [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    return std::tuple(recorded<Ranks>(file, "inputs:" + std::to_string(Index))...);
  }(std::make_index_sequence<sizeof...(Ranks)>{});
  auto const predicted = std::apply(
      [&](auto const&... each) {
        if constexpr (sizeof...(each) == 1)
          return model.predict(each...);
        else
          return model.predict(sc::inputs(each...));
      },
      x);
  if constexpr (requires { predicted.size(); }) {
    check_close(predicted, file, "outputs:0");
  } else {
    int output = 0;
    std::apply([&](auto const&... each) { (check_close(each, file, "outputs:" + std::to_string(output++)), ...); },
               predicted);
  }
}

template <class M, std::size_t... Ranks>
void check_model(std::string const& name, auto const& then) {
  check_model_run<M, run, Ranks...>(name, then);
}

}  // namespace

TEST_CASE("imported models predict what Keras predicted") {
  std::filesystem::create_directories(STAGECRAFT_IMPORTED_DIR "/saved");
  check_model<models::mlp, 2>("mlp", save);
  check_model<models::cnn, 4>("cnn", save);
  check_model<models::branches, 4, 2>("branches", save);
  check_model<models::resnet, 4>("resnet", save);
  check_model<models::mobilenet, 4>("mobilenet", save);
  check_model<models::shared, 2, 2>("shared", save);
  check_model<models::lstm_model, 2>("lstm", save);
  check_model<models::nested, 4, 4>("nested", save);
  check_model<models::attention_model, 3>("attention", save);
}

TEST_CASE("a model with stages is saved in Keras's files") {
  std::filesystem::create_directories(STAGECRAFT_IMPORTED_DIR "/saved");
  sc::predictor<staged, two_steps> model;
  model.load_weights(STAGECRAFT_IMPORTED_DIR "/mlp.safetensors");
  sc::save_model(model, STAGECRAFT_IMPORTED_DIR "/saved/staged");
  for (char const* const ending : {".h5", ".keras", ".weights.h5"})
    sc::save_model(model, STAGECRAFT_IMPORTED_DIR "/saved/staged" + std::string(ending));
  sc::predictor<staged, two_steps> other(7);
  other.load_weights(STAGECRAFT_IMPORTED_DIR "/saved/staged.weights.h5");
  CHECK(other.get_weights() == model.get_weights());
}

TEST_CASE("a training goes on from Keras's files, with the optimizer's numbers") {
  std::string const folder = STAGECRAFT_IMPORTED_DIR "/trained/";
  // Of Keras 2.6's optimizers, Keras 2.15's, and Keras 3's.
  for (std::string const name : {"adam.h5", "adam_newer.h5", "adam_3.keras"}) {
    CAPTURE(name);
    bool const is_3 = name.ends_with(".keras");
    auto const file = sc::read_safetensors(folder + (is_3 ? "values_3.safetensors" : "values.safetensors"));
    sc::trainer<trained, adam> model(7);
    model.load(folder + name);
    CHECK(model.progress().updates == 16);
    model.fit(recorded<3>(file, "x"), recorded<2>(file, "y"), {.epochs = 3, .verbose = 0, .shuffle = false});
    int weight = 0;
    auto const begin = is_3 ? std::string("adam") : name.substr(0, name.find('.'));
    for (auto const& each : model.get_weights()) check_close(each.values, file, begin + ":" + std::to_string(weight++));

    sc::save_model(model, folder + "bundle");  // for check_export.py
    for (std::string const ending : {".h5", ".keras", ".weights.h5"}) {
      CAPTURE(ending);
      sc::save_model(model, folder + "again" + ending);
      sc::trainer<trained, adam> again(8);
      again.load(folder + "again" + ending);
      CHECK(again.get_weights() == model.get_weights());
      CHECK(again.get_optimizer_weights() == model.get_optimizer_weights());
      CHECK(again.progress().updates == 40);
      CHECK(again.learning_rate() == model.learning_rate());
    }
  }
  sc::trainer<trained, adam> model(7);
  auto const refused = [&](char const* name, std::string const& text) {
    auto const before = model.get_weights();
    try {
      model.load(folder + name);
      FAIL("is loaded");
    } catch (sc::file_error const& why) {
      CHECK(why.code() == "E5120");
      INFO(why.what());
      CHECK(std::string(why.what()).find(text) != std::string::npos);
    }
    CHECK(model.get_weights() == before);
  };
  refused("amsgrad.h5", "'Adam/dense/bias/vhat:0' of the file has no counterpart");
  refused("amsgrad.h5", "option amsgrad is false, in the file true");
  refused("rmsprop.h5", R"(its optimizer is "rmsprop", the trainer's "adam")");
  refused("rmsprop_3.keras", R"(its optimizer is "rmsprop", the trainer's "adam")");
  refused("amsgrad_3.keras", "the file has 21 arrays of its numbers, the trainer's has 2 for each of 7 weights");
  auto const clipped = sc::io::json_of_object(sc::optimizers::adam{.clipnorm = 0.5F});
  auto progress = model.progress();
  std::vector<sc::weight_array> numbers;
  CHECK_THROWS_WITH_AS(
      sc::io::take_optimizer(sc::io::read_keras_training(folder + "adam.h5"), clipped, {}, {}, numbers, progress, "f"),
      doctest::Contains("option clipnorm is 0.5, which the file does not have"), sc::file_error);
}

TEST_CASE("models of ONNX files predict what onnxruntime predicted") {
  check_model<models::torch_mlp, 2>("torch_mlp", nothing);
  check_model<models::torch_cnn, 4>("torch_cnn", nothing);
  check_model<models::torch_resnet, 4>("torch_resnet", nothing);
  check_model<models::torch_words, 2>("torch_words", nothing);
  check_model<models::torch_mixer, 3>("torch_mixer", nothing);
  check_model<models::by_hand, 4, 2>("by_hand", nothing);
  check_model<models::torch_2, 3>("torch_2", nothing);
  check_model<models::torch_dynamo, 3>("torch_dynamo", nothing);
  check_model<models::torch_attention, 3>("torch_attention", nothing);
  check_model<models::torch_parts, 4>("torch_parts", nothing);
  check_model<models::opset_18, 4>("opset_18", nothing);
}

TEST_CASE("nodes that are no layers predict what onnxruntime predicted") {
  check_model<models::operations_picture, 4>("operations_picture", nothing);
  check_model<models::operations_sequence, 3>("operations_sequence", nothing);
  check_model<models::operations_old, 4>("operations_old", nothing);
}

TEST_CASE("models in RTNeural's format predict what Keras predicted") {
  check_model_run<models::amplifier, one, 3>("amplifier", nothing);
  check_model_run<models::synthesizer, one, 3>("synthesizer", nothing);
  check_model_run<models::stream, one, 3>("stream", nothing);
  check_model<models::wave, 3>("wave", nothing);
}

TEST_CASE("what is no file is no file of Keras's, and is not waited for") {
  try {
    sc::io::hdf5_file const file("/dev/zero");
    FAIL("a device is read");
  } catch (sc::file_error const& error) {
    CHECK(error.code() == "E5001");
  }
}

TEST_CASE("a process that reads a file for the tool is not waited for without end") {
  sc::io::hdf5_writer writer("names");
  writer.add_texts("model_weights", "layer_names", {"dense"});
  auto const bytes = writer.finish();
  CHECK(sc::tool::hdf5_process(bytes, "names").has_group("/model_weights"));
  CHECK_THROWS_WITH_AS(sc::tool::hdf5_process(bytes, "names", std::chrono::seconds(0)),
                       "names: takes longer to be read than a file of its size should [E5105]", sc::file_error);
}

TEST_CASE("numbers of HDF5 files that are beyond float32 are errors, which say where") {
  std::string const path = STAGECRAFT_IMPORTED_DIR "/doubles.h5";
  {
    namespace io = sc::io;
    io::hdf5_handle const file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
    hsize_t const lengths[]{2, 2};
    io::hdf5_handle const space(H5Screate_simple(2, lengths, nullptr), H5Sclose);
    constexpr double infinite = std::numeric_limits<double>::infinity();
    for (auto const& [name, last] : {std::pair("fits", infinite), std::pair("large", -1e39)}) {
      double const numbers[]{1, 1e-300, 3.4028235e38, last};
      io::hdf5_handle const array(H5Dcreate2(file, name, H5T_IEEE_F64BE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                                  H5Dclose);
      REQUIRE(H5Dwrite(array, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers) >= 0);
    }
  }
  sc::io::hdf5_file const file(path);
  sc::tool::hdf5_process const process(path);
  for (sc::io::hdf5_content const* const each :
       {static_cast<sc::io::hdf5_content const*>(&file), static_cast<sc::io::hdf5_content const*>(&process)}) {
    CHECK(each->array("/fits").values ==
          std::vector<float>{1, 0, 3.4028235e38F, std::numeric_limits<float>::infinity()});
    CHECK_THROWS_WITH_AS(static_cast<void>(each->array("/large")),
                         doctest::Contains("doubles.h5: array '/large': element[1, 1] is -1e+39, which is no number of "
                                           "type float32, of which the largest is 3.4028235e+38 [E5205]"),
                         sc::file_error);
  }
}

TEST_CASE("lists of texts that no attribute holds are divided as Keras divides them") {
  for (std::size_t const count : {4032U, 4033U, 9000U}) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < count; ++i) names.push_back("layer_" + std::to_string(i));
    sc::io::hdf5_writer writer("names");
    writer.add_texts("model_weights", "layer_names", names);
    sc::io::hdf5_file const file(writer.finish(), "names");
    CHECK(file.texts("/model_weights", "layer_names") == names);
    CHECK(file.texts("/model_weights", "layer_names0").size() == (count == 4032 ? 0 : count == 4033 ? 2017 : 3000));
  }
}
