// SPDX-License-Identifier: BSD-3-Clause
// Bundles: training that goes on from one has the bits of training that was not interrupted; all that differs is one
// error; whenever the writer is killed, the former bundle or the new one is there.
#include <stagecraft/io/bundle.hpp>
#include <stagecraft/io/keras/keras_config.hpp>
#include <stagecraft/training/predictor.hpp>
#include <stagecraft/training/trainer.hpp>

#include <stagecraft/datasets/digits.hpp>
#include <stagecraft/layers/layers.hpp>
#include <stagecraft/losses/losses.hpp>
#include <stagecraft/models/sequential.hpp>
#include <stagecraft/optimizers/optimizers.hpp>
#include <stagecraft/pipeline/pipelined.hpp>
#include <stagecraft/pipeline/stages.hpp>
#include <stagecraft/regularizers/regularizers.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <string_view>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "scratch_folder.hpp"

namespace sc = stagecraft;
namespace fs = std::filesystem;
using namespace sc::layers;  // NOLINT: as a program writes it

namespace {

using tests::contains;
using tests::error_of;

using mlp =
    sc::sequential<input{28, 28}, flatten{}, dense{12, sc::relu, {.kernel_regularizer = sc::regularizers::l2{0.01F}}},
                   batch_normalization{}, dropout{0.3F}, dense{10}>;
using staged = sc::pipelined<mlp, sc::stages<0, 0, 1, 1, 2>>;
using other = sc::sequential<input{28, 28}, flatten{}, dense{12, sc::tanh}, dropout{0.3F}, dense{10}>;

/// A layer of one's own, with an option that it lists.
struct scaled : sc::layer<scaled> {
  static constexpr std::string_view class_name = "Scaled";
  float factor;
  using arguments = sc::argument_list<&scaled::factor>;

  constexpr explicit scaled(float by) : factor(by) {}
  constexpr auto call(auto& /*ops*/, auto x) const { return x * factor; }
};

constexpr auto loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true};
inline constexpr auto training = sc::training{.optimizer = sc::optimizers::adam{}, .loss = loss, .batch_size = 16};
inline constexpr auto momentum =
    sc::training{.optimizer = sc::optimizers::sgd{.momentum = 0.9F}, .loss = loss, .batch_size = 16};
/// Two replicas, each of which keeps a part of the optimizer's numbers; and a factor of the loss that grows.
inline constexpr auto pipelined = sc::training{
    .optimizer =
        sc::optimizers::loss_scale_optimizer<sc::optimizers::adam>{.initial_scale = 64, .dynamic_growth_steps = 4},
    .loss = loss,
    .batch_size = 8,
    .steps_per_execution = 12,
    .pipeline = {.gradient_accumulation_steps_per_replica = 12, .replicated_optimizer_state_sharding = true},
    .num_replicas = 2};
inline constexpr auto inference = sc::inference{.batch_size = 8};

auto const& digits() {
  static auto const data = sc::datasets::digits({.train = 576, .test = 16});
  return data;
}
template <class Trainer>
void fit(Trainer& model, int epochs, int first = 0) {
  model.fit(digits().train.x, digits().train.y, {.epochs = epochs, .verbose = 0, .initial_epoch = first});
}

std::string read(std::string const& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void write(std::string const& path, std::string const& text) { std::ofstream(path, std::ios::binary) << text; }

/// 2 epochs, saved; 3 more in another trainer of another seed: the bits of 5.
template <class Trainer>
void check_continued(std::string const& path) {
  Trainer whole(5), begun(5), again(6);
  fit(whole, 5);
  fit(begun, 2);
  begun.set_learning_rate(begun.learning_rate());
  sc::save_model(begun, path);
  CHECK(again.get_weights() != begun.get_weights());
  again.load(path);
  CHECK(again.get_weights() == begun.get_weights());
  CHECK(again.get_optimizer_weights() == begun.get_optimizer_weights());
  CHECK(again.progress() == begun.progress());
  fit(again, 5, 2);
  CHECK(again.get_weights() == whole.get_weights());
  CHECK(again.progress() == whole.progress());
  // Another training, with orders of its own.
  fit(again, 1);
  fit(whole, 1);
  CHECK(again.get_weights() == whole.get_weights());
}

/// Writes at most so many bytes, and counts other steps as one byte; then the process ends.
std::size_t bytes_left = 0;
std::size_t kill_when_used_up(std::size_t bytes) {
  if (bytes_left == 0) ::_exit(9);
  auto const written = bytes == 0 ? 0 : std::min(bytes, bytes_left);
  bytes_left -= bytes == 0 ? 1 : written;
  return written;
}

}  // namespace

TEST_CASE("training goes on from a bundle with the bits of training that was not interrupted") {
  tests::scratch_folder const folder;
  check_continued<sc::trainer<mlp, training>>(folder / "plain");
  check_continued<sc::trainer<staged, pipelined, sc::host<2>>>(folder / "pipelined");
  auto const file = sc::read_safetensors(folder / "pipelined/weights.safetensors");
  CHECK(sc::io::to_floats(*file.find("counters/loss_scale")) == std::vector{128.F});
  CHECK(sc::io::to_floats(*file.find("counters/good_steps")) == std::vector{2.F});
}

TEST_CASE("a bundle has files that others read, and a predictor reads its weights") {
  tests::scratch_folder const folder;
  sc::trainer<mlp, training> model;
  fit(model, 1);
  model.save(folder / "digits/");
  CHECK(std::distance(fs::directory_iterator(folder / "digits"), {}) == 3);

  auto const file = sc::read_safetensors(folder / "digits/weights.safetensors");
  CHECK(sc::io::to_floats(*file.find("dense/kernel:0")) == model.get_weights()[0].values);
  CHECK(sc::io::to_floats(*file.find("optimizer_weights/adam/dense/kernel/m:0")) ==
        model.get_optimizer_weights()[0].values);
  CHECK(model.get_optimizer_weights()[1].name == "dense/kernel/v:0");
  CHECK(file.find("optimizer_weights/adam/batch_normalization/moving_mean/m:0") == nullptr);
  CHECK(sc::io::to_floats(*file.find("counters/iterations")) == std::vector{36.F});

  auto const description = sc::io::json::parse(read(folder / "digits/model.json"));
  CHECK(description["class_name"] == "Sequential");
  auto const& layers = description["config"]["layers"];
  CHECK(layers.size() == 6);
  CHECK(layers[0]["config"]["batch_input_shape"] == sc::io::json({nullptr, 28, 28}));
  CHECK(layers[2]["config"]["units"] == 12);
  CHECK(layers[2]["config"]["activation"] == "relu");
  CHECK(layers[2]["config"]["kernel_regularizer"]["config"]["l2"] == 0.01);
  CHECK(layers[4]["config"]["rate"] == 0.3);

  sc::predictor<mlp, inference> net(9), by_weights(9);
  net.load(folder / "digits");
  CHECK(net.get_weights() == model.get_weights());
  CHECK(by_weights.load_weights(folder / "digits").count == 8);
  CHECK(by_weights.get_weights() == model.get_weights());

  net.save(folder / "net");
  CHECK(contains(error_of([&] { model.load(folder / "net"); }),
                 "the file is of a predictor: it has no optimizer [E5032]"));
  CHECK(model.load_weights(folder / "net").count == 8);
}

TEST_CASE("every difference between a bundle and a model is in one error, and nothing is read") {
  tests::scratch_folder const folder;
  sc::trainer<mlp, training>().save(folder / "digits");
  sc::trainer<other, momentum> model;
  auto const before = model.get_weights();
  auto const error = error_of([&] { model.load(folder / "digits"); });
  CHECK(contains(error, "digits: does not fit model 'sequential', 8 differences:\n"));
  CHECK(contains(error, "\n  layer 'dense': activation is \"tanh\", in the file \"relu\"\n"));
  CHECK(contains(error, "\n  layer 'dense': kernel_regularizer is None, in the file {\"class_name\":\"L2\""));
  CHECK(contains(error, "\n  layer 'batch_normalization' of the file is not in the model\n"));
  CHECK(contains(error, "\n  optimizer is \"sgd\", in the file \"adam\"\n"));
  CHECK(contains(error, "\n  weight 'batch_normalization/gamma:0' of the file is not in the model\n"));
  CHECK(contains(error, " [E5032]"));
  CHECK(model.get_weights() == before);

  sc::trainer<staged, pipelined, sc::host<2>> stages;
  auto const options = error_of([&] { stages.load(folder / "digits"); });
  CHECK(contains(options, "\n  pipelining_gradient_accumulation_steps_per_replica is 12, in the file None\n"));
  CHECK(contains(options, "\n  pipeline_stages is {\"flatten\":0,"));

  // Stages and numbers of a bundle of another assignment.
  sc::trainer<staged, pipelined, sc::host<2>>().save(folder / "stages");
  auto description = sc::io::json::parse(read(folder / "stages/model.json"));
  CHECK(description["config"]["pipeline_stage_assignment"] == sc::io::json({0, 0, 1, 1, 2}));
  auto changed = description;
  changed["config"]["pipeline_stages"]["dropout"] = 2;
  sc::io::difference_list differences;
  sc::io::compare_config(description, changed, "", differences);
  CHECK(differences.texts() == std::vector<std::string>{"layer 'dropout': pipeline stage is 1, in the file 2"});
}

TEST_CASE("a layer of one's own is saved with the options that it lists, and held against them") {
  tests::scratch_folder const folder;
  sc::predictor<sc::sequential<input{4}, scaled{2}, dense{2}>, inference> model(1), same(2);
  model.save(folder / "own");
  same.load(folder / "own");
  CHECK(same.get_weights() == model.get_weights());
  sc::predictor<sc::sequential<input{4}, scaled{3}, dense{2}>, inference> other_factor;
  CHECK(contains(error_of([&] { other_factor.load(folder / "own"); }),
                 "layer 'scaled': factor is 3.0, in the file 2.0 [E5032]"));
}

TEST_CASE("bundles that are damaged are errors, wherever") {
  tests::scratch_folder const folder;
  sc::predictor<mlp, inference> model(3), net(4);
  model.save(folder / "digits");
  auto const before = net.get_weights();
  for (char const* const name : {"digits/model.json", "digits/weights.safetensors", "digits/training.json"}) {
    auto const whole = read(folder / name);
    auto const step = std::max<std::size_t>(whole.size() / 150, 1);
    for (std::size_t at = 0; at < whole.size(); at += step) {
      auto changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ 1);
      write(folder / name, changed);
      CHECK(error_of([&] { net.load(folder / "digits"); }) != "no error");
      write(folder / name, whole.substr(0, at));
      CHECK(error_of([&] { net.load(folder / "digits"); }) != "no error");
    }
    fs::remove(folder / name);
    CHECK(contains(error_of([&] { net.load(folder / "digits"); }), "No such file or directory [E5001]"));
    write(folder / name, whole);
  }
  CHECK(net.get_weights() == before);

  auto const changed = [&](std::string_view from, std::string_view to) {
    auto text = read(folder / "digits/training.json");
    auto const at = text.find(from);
    REQUIRE(at != std::string::npos);
    write(folder / "digits/training.json", text.replace(at, from.size(), to));
    auto const error = error_of([&] { net.load(folder / "digits"); });
    write(folder / "digits/training.json", text.replace(at, to.size(), from));
    return error;
  };
  CHECK(contains(changed("\"format_version\": 1", "\"format_version\": 2"),
                 "a newer release of the library wrote it [E5030]"));
  CHECK(contains(changed("stagecraft bundle", "another"), "it is not that of a bundle [E5030]"));
  CHECK(contains(changed("\"training\": null", "\"training\": " + std::string(9000, '[')), "nested deeper"));
  net.load(folder / "digits");
  CHECK(net.get_weights() == model.get_weights());
}

TEST_CASE("what is no bundle is not overwritten") {
  tests::scratch_folder const folder;
  sc::predictor<mlp, inference> const model;
  fs::create_directories(folder / "mine");
  write(folder / "mine/thesis.txt", "all of it");
  CHECK(contains(error_of([&] { model.save(folder / "mine"); }), "holds 'thesis.txt', which is not a bundle's"));
  write(folder / "file", "");
  CHECK(contains(error_of([&] { model.save(folder / "file"); }), "something else stands there [E5033]"));
  CHECK(contains(error_of([&] { model.save("/nowhere/digits"); }), "No such file or directory [E5041]"));
  auto const refusal = [&](char const* name) { return error_of([&] { model.save(folder / name); }); };
  CHECK(contains(refusal("digits.onnx"), "stagecraft export <folder> --to " + (folder / "digits.onnx") + " [E5042]"));
  CHECK(contains(refusal("web/model.json"), "stagecraft export"));
  CHECK(contains(refusal("digits.npz"), "save_weights writes [E5042]"));
  CHECK(!std::filesystem::exists(folder / "digits.onnx"));
  CHECK(std::distance(fs::directory_iterator(folder.path), {}) == 2);
}

TEST_CASE("whenever the writer is killed, the former bundle or the new one is there, whole") {
  tests::scratch_folder const folder;
  auto const path = folder / "digits";
  sc::predictor<mlp, inference> former(1), next(2), net(3);
  former.save(path);
  auto const old_weights = former.get_weights(), new_weights = next.get_weights();
  std::size_t all = 6;  // what is done beside writing
  for (auto const& entry : fs::directory_iterator(path)) all += fs::file_size(entry);
  std::mt19937 random(1);
  int killed = 0;
  for (int run = 0; run < 200; ++run) {
    bytes_left = run < 20 ? all - static_cast<std::size_t>(run) : random() % all;
    auto const child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      sc::io::write_hook = &kill_when_used_up;
      next.save(path);
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    killed += WEXITSTATUS(status) == 9 ? 1 : 0;
    net.load(path);
    auto const found = net.get_weights();
    bool const is_former = found == old_weights;
    CHECK((is_former || found == new_weights));
    if (!is_former) former.save(path);  // which removes what the other one has left
  }
  CHECK(killed > 150);
  former.save(path);
  CHECK(std::distance(fs::directory_iterator(folder.path), {}) == 1);
}

TEST_CASE("what a version of Keras has not is one error") {
  auto const model = sc::io::json::parse(R"({"class_name": "Sequential", "config": {"name": "m", "layers": [
    {"class_name": "ActivityRegularization", "config": {"name": "a", "l1": 0.0, "l2": 0.5}},
    {"class_name": "Dense", "config": {"name": "d",
     "kernel_constraint": {"class_name": "RadialConstraint", "config": {}}}},
    {"class_name": "EinsumDense", "config": {"name": "e", "equation": "abc,cd->abd"}},
    {"class_name": "ThresholdedReLU", "config": {"name": "t"}}]}})");
  auto const written = [&](sc::io::keras_version version) { return sc::io::keras_config(model, version, "m.keras"); };
  CHECK(written(sc::io::keras_version::keras_2)["config"]["layers"].size() == 4);
  auto const error = error_of([&] { (void)written(sc::io::keras_version::keras_3); });
  CHECK(contains(error,
                 "\n  layer 'd': kernel_constraint is RadialConstraint\n  layer 't' is a ThresholdedReLU [E5043]"));
  CHECK(!contains(error, "'a'"));
  CHECK(!contains(error, "'e'"));
  auto const options = sc::io::layer_options(sc::layers::einsum_dense{"abc,cd->abd", {-1, 2}});
  CHECK(options["output_shape"].dump() == "[null,2]");
  CHECK(options["equation"] == "abc,cd->abd");
  CHECK(options["bias_axes"].is_null());
}

TEST_CASE("penalties on what layers give are options of the layers") {
  using penalized = sc::sequential<input{4}, dense{2, {.activity_regularizer = sc::regularizers::l1{0.5F}}}, dense{3}>;
  auto const layers = sc::io::model_config<penalized>()["config"]["layers"];
  REQUIRE(layers.size() == 3);
  CHECK(layers[1]["config"]["activity_regularizer"]["class_name"] == "L1");
  CHECK(layers[2]["class_name"] == "Dense");
  sc::io::difference_list differences;
  sc::io::compare_layers(layers, layers, "", differences);  // as a load does
  CHECK(differences.empty());
}

TEST_CASE("a symbolic link stays, and what it points to is replaced, whole") {
  tests::scratch_folder const folder;
  sc::predictor<mlp, inference> former(1), next(2), net(3);
  fs::create_directories(folder / "disk");
  former.save(folder / "disk/digits");
  fs::create_directory_symlink("disk/digits", folder / "link");
  next.save(folder / "link");
  CHECK(fs::is_symlink(folder / "link"));
  net.load(folder / "disk/digits");
  CHECK(net.get_weights() == next.get_weights());
  fs::create_directory_symlink("later", folder / "disk/dangling");
  former.save(folder / "disk/dangling/");
  net.load(folder / "disk/later");
  CHECK(net.get_weights() == former.get_weights());
  former.save_weights(folder / "disk/w.npz");
  fs::create_symlink(folder / "disk/w.npz", folder / "w.npz");
  next.save_weights(folder / "w.npz");
  CHECK(fs::is_symlink(folder / "w.npz"));
  net.load_weights(folder / "disk/w.npz");
  CHECK(net.get_weights() == next.get_weights());
  // What is called as if it were left over is not followed.
  fs::create_directory_symlink("disk/digits", folder / "other.saving-999999999");
  former.save(folder / "other");
  net.load(folder / "disk/digits");
  CHECK(net.get_weights() == next.get_weights());
}

TEST_CASE("who reads while another process saves finds one of the two, whole") {
  tests::scratch_folder const folder;
  auto const path = folder / "digits";
  sc::predictor<mlp, inference> former(1), next(2), net(3);
  former.save(path);
  auto const writer = ::fork();
  REQUIRE(writer >= 0);
  if (writer == 0) {
    for (int run = 0; run < 4000; ++run) (run % 2 == 0 ? next : former).save(path);
    ::_exit(0);
  }
  int errors = 0, read = 0, status = 0;
  while (::waitpid(writer, &status, WNOHANG) == 0 && read < 1000) {
    try {
      (++read % 3 == 0) ? static_cast<void>(net.load_weights(path)) : net.load(path);
    } catch (sc::error const& problem) {
      MESSAGE(problem.what());
      ++errors;
    }
    auto const found = net.get_weights();
    if (found != former.get_weights() && found != next.get_weights()) ++errors;
  }
  ::kill(writer, SIGKILL);
  ::waitpid(writer, &status, 0);
  CHECK(read > 20);
  CHECK(errors == 0);
  former.save(path);
  CHECK(std::distance(fs::directory_iterator(folder.path), {}) == 1);
}

TEST_CASE("what ended programs have left is removed, and nothing that is written") {
  tests::scratch_folder const folder;
  sc::predictor<mlp, inference> const model(1);
  auto const child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  auto const ended = std::to_string(child), living = std::to_string(::getppid());
  auto const half_written = [&](std::string const& process) {
    auto const name = folder / ("digits.saving-" + process).c_str();
    fs::create_directories(name);
    write(name + "/model.json", "{");
    return name;
  };
  auto const left = half_written(ended), written = half_written(living);
  auto const other = half_written(ended + "-notes"), locked = half_written("999999999");
  int const lock = ::open(locked.c_str(), O_RDONLY);
  REQUIRE(::flock(lock, LOCK_EX) == 0);
  model.save(folder / "digits");
  CHECK(!fs::exists(left));
  CHECK(fs::exists(written));
  CHECK(fs::exists(other));
  CHECK(fs::exists(locked));
  ::close(lock);
  // The number of a process that has ended may be another one's now, which is younger than the folder.
  fs::last_write_time(written, fs::file_time_type::clock::now() - std::chrono::hours(24 * 3650));
  write(folder / ("w.npz.saving-" + ended).c_str(), "half");
  model.save(folder / "digits");
  model.save_weights(folder / "w.npz");
  CHECK(!fs::exists(locked));
  CHECK(!fs::exists(written));
  CHECK(!fs::exists(folder / ("w.npz.saving-" + ended).c_str()));
}
