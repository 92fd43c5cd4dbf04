// SPDX-License-Identifier: BSD-3-Clause
// Applications: one that CMake has compiled, one that a program exports; what is refused; and the same outputs as the
// predictor's.
#include <stagecraft/ipu.hpp>
#include <stagecraft/serving/application.hpp>
#include <stagecraft/serving/export.hpp>

#include "scores.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/stat.h>
#include <utility>
#include <vector>

#include "../io/scratch_folder.hpp"
#include "../kernels/simd/flags_of_cpuinfo.hpp"

namespace sc = stagecraft;
namespace serving = stagecraft::serving;
namespace fs = std::filesystem;
using tests::contains;
using tests::error_of;

namespace {

inline constexpr auto inference = sc::inference{.batch_size = 3, .steps_per_execution = 4};
using model_type = sc::predictor<applications::staged, inference>;

inline constexpr auto equal_names = serving::application_options{.output_names = {"one", "one"}};
static_assert(serving::detail::application_problem<model_type::session_type, equal_names>.code == 5093);
inline constexpr auto many_names = []<std::size_t... I>(std::index_sequence<I...>) {
  return serving::application_options{.output_names = {(static_cast<void>(I), "one")...}};
}(std::make_index_sequence<65>{});
static_assert(serving::detail::application_problem<model_type::session_type, many_names>.text.view() ==
              "output_names has 65 names, of which there may be 64 [E5093]");

std::string const folder = STAGECRAFT_APPLICATION;

std::vector<std::vector<float>> make_inputs(std::int64_t samples, float scale) {
  std::vector<std::vector<float>> inputs(2);
  for (std::int64_t i = 0; i < samples * 6; ++i) inputs[0].push_back(static_cast<float>(i * 7919 % 256) * scale);
  for (std::int64_t i = 0; i < samples * 2; ++i) inputs[1].push_back(static_cast<float>(i * 31 % 17) / 8 - 1);
  return inputs;
}

/// The bytes of an application, and where its only marker stands.
std::pair<std::string, std::size_t> marked_bytes(std::string const& path) {
  std::ifstream file(path + "/application.so", std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  auto const& magic = serving::detail::application_marker::magic;
  auto const place = bytes.find(std::string(magic.data(), magic.size()));
  REQUIRE(place != std::string::npos);
  CHECK(bytes.find(std::string(magic.data(), magic.size()), place + 1) == std::string::npos);
  return {bytes, place};
}
std::uint32_t version_of(std::string const& path) {
  auto const [bytes, place] = marked_bytes(path);
  serving::detail::application_marker marker;
  std::memcpy(&marker, bytes.data() + place, sizeof marker);
  return marker.interface_version;
}
/// A copy of the application with other bytes where its marker says what it needs.
std::string changed_copy(std::string const& to, std::uint32_t version, std::uint64_t sets) {
  auto [bytes, place] = marked_bytes(folder);
  serving::detail::application_marker const marker{serving::detail::application_marker::magic, version, sets};
  std::memcpy(bytes.data() + place, &marker, sizeof marker);
  std::ofstream(to, std::ios::binary) << bytes;
  return to;
}

}  // namespace

TEST_CASE("an application has its steps' signature, and the outputs of the predictor with them") {
  model_type model(7);
  model.save_weights(folder + "/weights.safetensors");
  serving::application_file const file(folder);
  auto const& known = file.description();
  CHECK(known.name == "model");
  CHECK(known.batch_size == 3);
  CHECK(known.iterations == 4);
  CHECK(known.stages == 2);
  CHECK(known.inputs == std::vector<serving::tensor_spec>{{"pixels", {2, 3}}, {"size", {2}}});
  CHECK(known.outputs == std::vector<serving::tensor_spec>{{"class", {}}, {"scores", {2}}});

  serving::embedded_runtime engine(file.make_servable(), {.runtime_api_timeout_us = 500});
  auto const outputs = engine.call(make_inputs(8, 1), 8);
  auto const given = make_inputs(8, 1.0F / 255);
  std::array<std::size_t, 3> const images{8, 2, 3};
  std::array<std::size_t, 2> const sizes{8, 2};
  auto const [scores, other] = model.predict(sc::inputs(xt::adapt(given[0], images), xt::adapt(given[1], sizes)));
  for (std::size_t i = 0; i < 8; ++i) {
    std::size_t best = 0;
    for (std::size_t k = 1; k < 4; ++k)
      if (scores(i, k) > scores(i, best)) best = k;
    CHECK(outputs[0][i] == static_cast<float>(best));
    CHECK(outputs[1][2 * i] == doctest::Approx(scores(i, best)).epsilon(1e-5));
    CHECK(outputs[1][2 * i + 1] == doctest::Approx(other(i, 0)).epsilon(1e-5));
  }
  // Two programs of one application have weights of their own.
  tests::scratch_folder scratch;
  model_type(8).save_weights(scratch / "other.safetensors");
  serving::embedded_runtime second(file.make_servable(scratch / "other.safetensors"), {.runtime_api_timeout_us = 500});
  CHECK(second.call(make_inputs(2, 1), 2)[1] != engine.call(make_inputs(2, 1), 2)[1]);
  CHECK(contains(error_of<serving::application_runtime_error>([&] { (void)file.make_servable(scratch / "none"); }),
                 "none"));
}

TEST_CASE("what is no application, or one for another machine, is refused before anything of it runs") {
  tests::scratch_folder scratch;
  auto const load = [](std::string const& path) {
    return error_of<serving::link_error>([&] { serving::application_file file(path); });
  };
  CHECK(contains(load(scratch / "none.so"), "none.so: cannot be read: No such file or directory [E5087]"));
  std::ofstream(scratch / "text.so") << "a text";
  CHECK(contains(load(scratch / "text.so"), "text.so: is not an application [E5087]"));
  auto const sets = sc::kernels::compiled_instruction_sets;
  CHECK(version_of(folder) == 1);  // with one size of batches it uses nothing that came later
  CHECK(contains(load(changed_copy(scratch / "later.so", 3, sets)),
                 "later.so: has version 3 of the interface of applications, this program version 2 [E5089]"));
  CHECK_NOTHROW(serving::application_file(changed_copy(scratch / "second.so", 2, sets)));
  auto const present = tests::instruction_sets_of_cpuinfo();
  for (std::size_t i = 0; i < std::size(sc::kernels::detail::instruction_set_names); ++i)
    if ((present >> i & 1U) == 0) {  // no processor has all of them
      auto const text = load(changed_copy(scratch / "newer.so", 2, sets | 1ULL << i));
      CHECK(contains(text, "newer.so: is compiled for x86-64-"));
      CHECK(contains(text, std::string("but this processor lacks ") + sc::kernels::detail::instruction_set_names[i]));
      CHECK(contains(text, "[E5088]"));
    }
}

TEST_CASE("what runs is a copy of the file, and only a regular file is read") {
  tests::scratch_folder scratch;
  fs::copy(folder, scratch / "changes");
  auto const path = std::string(scratch / "changes") + "/application.so";
  auto const descriptors = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  };
  auto const expected =
      serving::embedded_runtime(serving::application_file(folder).make_servable()).call(make_inputs(2, 1), 2);
  auto const before = descriptors();
  for (int i = 0; i < 3; ++i) {  // each time it is another file, though it has the same descriptor
    fs::copy_file(folder + "/application.so", path, fs::copy_options::overwrite_existing);
    serving::embedded_runtime engine(serving::application_file(std::string(scratch / "changes")).make_servable());
    std::ofstream(path, std::ios::binary | std::ios::in) << std::string(fs::file_size(path), '\0');
    CHECK(engine.call(make_inputs(2, 1), 2) == expected);
    fs::resize_file(path, 0);
    CHECK(engine.call(make_inputs(2, 1), 2) == expected);
  }
  // One for each that has variables which are unique in the process, and stays for ever: GCC's.
  CHECK((descriptors() == before || descriptors() == before + 3));
  auto const load = [&](std::string const& of) {
    return error_of<serving::link_error>([&] { (void)serving::application_file(of).make_servable(); });
  };
  fs::resize_file(path, static_cast<std::uintmax_t>(serving::application_file::max_bytes) + 1);
  CHECK(contains(load(path), "application.so: has more than 1073741824 bytes, the most that are loaded [E5201]"));
  fs::remove(path);
  CHECK(::mkfifo(path.c_str(), 0600) == 0);
  CHECK(contains(load(path), "application.so: is not a regular file [E5200]"));
  CHECK(contains(load(std::string(scratch / "changes")), "application.so: is not a regular file [E5200]"));
  CHECK(contains(load("/dev/null"), "/dev/null: is not a regular file [E5200]"));
  fs::remove(path);
  fs::create_symlink(folder + "/application.so", path);
  CHECK(load(path) == "no error");
  fs::remove(std::string(scratch / "changes") + "/weights.safetensors");
  CHECK(::mkfifo((std::string(scratch / "changes") + "/weights.safetensors").c_str(), 0600) == 0);
  CHECK(contains(load(path), "weights.safetensors: is not a regular file [E5200]"));
}

TEST_CASE("a trained model is exported, compiled by the machine's compiler, and runs here") {
  tests::scratch_folder scratch;
  model_type model(7);
  // It stays there for the tests of `stagecraft run` and `serve`.
  auto const place = folder + "/../exported/1";
  fs::remove_all(place);
  auto const refusal = [&](sc::export_options const& options) {
    return error_of<sc::file_error>([&] { (void)model.export_for_ipu_serving(place, options); });
  };
  CHECK(contains(refusal({}), "the batch size is not known: set batch_size"));
  CHECK(contains(refusal({.batch_size = 2, .output_names = {"one"}}),
                 "output_names has 1 names, but there are 2 outputs [E5093]"));
  CHECK(contains(refusal({.batch_size = 2, .output_names = {"one", "one"}}), "output_names has 'one' twice [E5093]"));
  CHECK(contains(
      refusal({.batch_size = 2, .allowed_batch_sizes = {1, 2}}),
      "allowed_batch_sizes is given for a model in 2 stages; batches in a pipeline follow each other, and have "
      "one size [E5148]"));
  CHECK(contains(refusal({.batch_size = 2, .signatures = {{"price", sc::regression{.output = "price"}}}}),
                 "the signature 'price' names the output 'price', and there are 'output_0', 'output_1' [E4187]"));
  CHECK_FALSE(fs::exists(place));
  CHECK(contains(refusal({.batch_size = 2, .tool = "/none/stagecraft"}),
                 "the program '/none/stagecraft' compiles applications, and cannot be started: No such file"));
  CHECK_FALSE(fs::exists(place));  // nothing is left of what has failed
  fs::create_directories(place + "/former");
  CHECK(contains(refusal({.batch_size = 2}), "the folder is not empty: it holds 'former'"));
  CHECK(contains(refusal({.batch_size = 2, .purge_export_dir = true, .tool = "/bin/false"}), "[E5094]"));
  CHECK((fs::exists(place) && fs::is_empty(place)));
  // Three batches are no multiple of the two that a pipeline of two stages works on at once.
  CHECK(contains(error_of<sc::file_error>([&] {
                   (void)serving::export_pipeline(
                       model, scratch / "three", 3,
                       {.batch_size = 2, .compile_arguments = {"--flag", "-O0"}, .tool = STAGECRAFT_TOOL});
                 }),
                 "[E2025]"));

  std::vector<sc::example_signature> const signatures{
      {"best", sc::classification{.scores = "scores", .labels = {"a", "b", "c", "d"}, .top = 2}},
      {"other",
       sc::regression{.output = "other",
                      .features = {{.name = "image"},
                                   {.name = "width", .input = "size"},
                                   {.name = "height", .input = "size", .dtype = "DT_INT64", .default_value = {2}}}}}};
  auto run = model.export_for_ipu_serving(place, {.batch_size = 2,
                                                  .output_names = {"scores", "other"},
                                                  .signatures = signatures,
                                                  .purge_export_dir = true,
                                                  .compile_arguments = {"--flag", "-O0"},
                                                  .tool = STAGECRAFT_TOOL});
  CHECK(run.description().batch_size == 2);
  CHECK(run.description().iterations == 4);
  CHECK(run.description().stages == 2);
  CHECK(run.description().inputs == std::vector<serving::tensor_spec>{{"image", {2, 3}}, {"size", {2}}});
  CHECK(run.description().outputs == std::vector<serving::tensor_spec>{{"scores", {4}}, {"other", {1}}});
  auto const given = make_inputs(5, 1.0F / 255);
  std::array<std::size_t, 3> const images{5, 2, 3};
  std::array<std::size_t, 2> const sizes{5, 2};
  auto const x = sc::inputs(xt::adapt(given[0], images), xt::adapt(given[1], sizes));
  auto const results = run(x);
  auto const [scores, other] = model.predict(x);
  for (std::size_t i = 0; i < scores.size(); ++i)
    CHECK(results[0].data()[i] == doctest::Approx(scores.data()[i]).epsilon(1e-5));
  for (std::size_t i = 0; i < other.size(); ++i)
    CHECK(results[1].data()[i] == doctest::Approx(other.data()[i]).epsilon(1e-5));
}

namespace {

inline constexpr auto around = serving::application_options{.allowed_batch_sizes = {1, 3},
                                                            .output_names = {"class", "scores"},
                                                            .preprocessing_step = applications::scale_pixels{},
                                                            .postprocessing_step = applications::find_class{}};
using sized = serving::application<applications::network, inference, around>;

/// A feed of C, with one batch.
struct one_batch {
  std::vector<std::vector<float>> given, taken;
  int samples = 0;
  bool is_given = false;

  static int feed(void* context, int, float* const* inputs) {
    auto& own = *static_cast<one_batch*>(context);
    if (std::exchange(own.is_given, true)) return -1;
    for (std::size_t i = 0; i < own.given.size(); ++i) std::copy(own.given[i].begin(), own.given[i].end(), inputs[i]);
    return own.samples;
  }
  static void take(void* context, int, float const* const* outputs) {
    auto& own = *static_cast<one_batch*>(context);
    auto const count = static_cast<std::size_t>(own.samples);
    own.taken = {{outputs[0], outputs[0] + count}, {outputs[1], outputs[1] + 2 * count}};
  }
};

}  // namespace

TEST_CASE("an application of several sizes has the outputs of one size") {
  auto const* const table = sized::table();
  auto const& known = *table->describe();
  REQUIRE(known.batch_size_count == 2);
  CHECK(table->interface_version == 2);
  CHECK((known.batch_sizes[0] == 1 && known.batch_sizes[1] == 3 && known.batch_size == 3 && known.iterations == 4));
  CHECK(std::string(known.inputs[0].name) == "pixels");
  tests::scratch_folder scratch;
  model_type(7).save_weights(scratch / "weights.safetensors");
  stagecraft_program* own = nullptr;
  stagecraft_message message;
  REQUIRE(table->create((scratch / "weights.safetensors").c_str(), &own, &message) == stagecraft_ok);
  serving::embedded_runtime staged(serving::application_file(folder).make_servable(scratch / "weights.safetensors"),
                                   {.runtime_api_timeout_us = 500});
  for (int const samples : {1, 2, 3}) {
    one_batch batch{.given = make_inputs(3, 1), .taken = {}, .samples = samples};
    stagecraft_feed const feed{&batch, one_batch::feed, one_batch::take, [](void*) {}};
    CHECK(table->run(own, &feed, &message) == stagecraft_ended);  // it would take four batches
    auto const expected = staged.call(make_inputs(samples, 1), samples);
    CHECK(batch.taken[0] == expected[0]);
    for (std::size_t i = 0; i < expected[1].size(); ++i)
      CHECK(batch.taken[1][i] == doctest::Approx(expected[1][i]).epsilon(1e-5));
  }
  table->destroy(own);
}

TEST_CASE("what an export says of batches is in its folder, and the model's inputs may say it") {
  tests::scratch_folder scratch;
  std::string const tool = scratch / "tool";
  std::ofstream(tool) << "#!/bin/sh\ncp \"$2/application.json\" \"$0.json\"\nexit 1\n";
  fs::permissions(tool, fs::perms::owner_all);
  auto const seen = [&](auto const& export_model) {
    CHECK(contains(error_of<sc::file_error>(export_model), "[E5094]"));
    std::ifstream file(tool + ".json");
    return sc::io::json::parse(file);
  };
  auto const place = scratch / "export";
  sc::predictor<applications::network, inference> const model(7);
  auto const sized = seen([&] {
    (void)model.export_for_ipu_serving(place, {.batch_size = 8, .allowed_batch_sizes = {2, 8}, .tool = tool});
  });
  CHECK((sized["batch_size"] == 8 && sized["iterations"] == 4));
  CHECK(sized["allowed_batch_sizes"] == sc::io::json({2, 8}));
  auto const single =
      seen([&] { (void)serving::export_single_step(model, place, 5, {.batch_size = 1, .tool = tool}); });
  CHECK((single["batch_size"] == 1 && single["iterations"] == 5 && !single.contains("allowed_batch_sizes")));
  ::setenv("STAGECRAFT_TOOL", tool.c_str(), 1);
  CHECK(seen([&] { (void)serving::export_keras(model, place, 6); })["batch_size"] == 6);
  using fixed = sc::sequential<sc::layers::input{2}.of_batch_size(3), sc::layers::dense{1}>;
  static constexpr auto three = sc::inference{.batch_size = 3, .num_replicas = 2};
  sc::predictor<fixed, three> const given(1);
  CHECK(seen([&] { (void)serving::export_keras(given, place); })["batch_size"] == 3);
  auto const listed = seen([&] { (void)given.export_for_ipu_serving(place, {.allowed_batch_sizes = {3}}); });
  CHECK(listed["allowed_batch_sizes"] == sc::io::json::array({3}));
  ::unsetenv("STAGECRAFT_TOOL");
}
