// SPDX-License-Identifier: BSD-3-Clause
// Whole models as ONNX: shared layers, masks, several outputs, states, groups, layers of one's own; and what is
// refused.
#include <stagecraft/io/onnx.hpp>
#include <stagecraft/operations/words.hpp>
#include <stagecraft/stagecraft.hpp>
#include <cstdlib>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>
#include <xtensor/xadapt.hpp>

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

namespace {

struct own_scores : sc::layer<own_scores> {
  static constexpr std::string_view class_name = "OwnScores";
  constexpr auto call(auto& ops, auto x) const {
    auto const scale = ops.weight({.name = "scale", .shape = {x.length(-1)}, .initializer = sc::initializers::ones{}});
    return ops.cumsum(ops.top_k(x, 2).values, -1) * ops.reshape(ops.slice(scale, 0, 0, 2), {1, 2});
  }
};
/// Draws in predictions.
struct own_noise : sc::layer<own_noise> {
  static constexpr std::string_view class_name = "OwnNoise";
  constexpr auto call(auto& ops, auto x) const { return x + ops.uniform(x.shape()); }
};

struct words_net : sc::functional<words_net> {
  static constexpr auto build(auto& model) {
    auto const ids = model.input(5);
    auto x = embedding{7, 4, {.mask_zero = true}}(ids);
    x = bidirectional{lstm{3, {.return_sequences = true}}}(x);
    x = gru{4}(x);
    auto shared = dense{4, sc::tanh};
    x = shared(shared(x));
    return own_scores{}(x);
  }
};
struct picture_net : sc::functional<picture_net> {
  static constexpr auto build(auto& model) {
    auto const x = model.input(6, 6, 4);
    auto const y = conv2d{8, 3, sc::relu, {.padding = sc::padding::same, .groups = 2}}(x);
    auto const z = max_pooling2d{}(batch_normalization{}(y));
    return dense{3, sc::softmax}(global_average_pooling2d{}(z));
  }
};
using stateful_net = sc::sequential<input{4, 2}.of_batch_size(2), lstm{3, {.stateful = true}}, dense{1}>;
using noisy_net = sc::sequential<input{3}, own_noise{}>;

constexpr auto of_two = sc::inference{.batch_size = 2};

std::string place(char const* name) {
  return (std::filesystem::temp_directory_path() / (std::string("stagecraft_") + name)).string();
}
std::string bytes_of(std::string const& path) {
  std::ifstream from(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(from), {}};
}
/// Writes a model, and beside it inputs and predictions where a folder is named (tests/golden/check_onnx_lists.py).
template <class Net>
std::string saved(std::string const& name, std::initializer_list<int> shape, bool whole_numbers = false) {
  sc::predictor<Net, of_two> net;
  std::string folder = std::filesystem::temp_directory_path().string();
  if (char const* named = std::getenv("STAGECRAFT_ONNX_FOLDER")) folder = named;
  std::string const path = folder + "/model_" + name + ".onnx";
  sc::save_onnx(net, path, {.batch_size = 2});
  std::size_t count = 2;
  for (int const length : shape) count *= static_cast<std::size_t>(length);
  std::vector<float> x(count);
  for (std::size_t i = 0; i < count; ++i)
    x[i] = whole_numbers ? static_cast<float>(i * 5 % 7) : static_cast<float>(i * 37 % 101) / 50 - 1;
  std::vector<std::size_t> all{2};
  for (int const length : shape) all.push_back(static_cast<std::size_t>(length));
  auto const y = net.predict(xt::adapt(x, all));
  auto const write = [&](std::string const& kind, float const* values, std::size_t size) {
    std::ofstream(folder + "/model_" + name + "." + kind, std::ios::binary)
        .write(reinterpret_cast<char const*>(values), static_cast<std::streamsize>(4 * size));
  };
  write("input", x.data(), x.size());
  write("output", y.data(), y.size());
  return bytes_of(path);
}

}  // namespace

TEST_CASE("a model with masks, recurrent layers, a shared layer and one of its own") {
  auto const file = saved<words_net>("words", {5}, true);
  CHECK(file.find("own_scores/scale") != std::string::npos);
}
TEST_CASE("groups of a convolution are in the file") {
  auto const file = saved<picture_net>("picture", {6, 6, 4});
  // The attribute's name, its number and its type.
  CHECK(file.find("\x0a\x05group\x18\x02\xa0\x01\x02") != std::string::npos);
}
TEST_CASE("states are inputs and outputs") {
  auto const file = saved<stateful_net>("stateful", {4, 2});
  CHECK(file.find("lstm/states_0_next") != std::string::npos);
}
TEST_CASE("equal models make equal files") {
  sc::predictor<picture_net, of_two> net;
  sc::save_onnx(net, place("one.onnx"));
  sc::save_onnx(net, place("two.onnx"));
  CHECK(bytes_of(place("one.onnx")) == bytes_of(place("two.onnx")));
}
TEST_CASE("what is refused") {
  sc::predictor<noisy_net, of_two> net;
  CHECK_THROWS_WITH_AS(sc::save_onnx(net, place("noise.onnx")), doctest::Contains("E5260"), sc::file_error);
  CHECK_THROWS_WITH_AS(sc::save_onnx(net, place("noise.onnx"), {.batch_size = 0}), doctest::Contains("E5262"),
                       sc::file_error);
}
