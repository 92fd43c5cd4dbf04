// SPDX-License-Identifier: BSD-3-Clause
// The weights of applications are Keras's, by name and shape (applications.txt, from real Keras); and the smallest
// predicts what Keras predicts with the same weights, which both make from their names.
#include <stagecraft/applications/efficientnet_b0.hpp>
#include <stagecraft/applications/mobilenet_v2.hpp>
#include <stagecraft/applications/resnet101.hpp>
#include <stagecraft/applications/resnet152.hpp>
#include <stagecraft/applications/resnet50.hpp>
#include <stagecraft/applications/vgg16.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/stagecraft.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <doctest/doctest.h>
#include <fstream>
#include <string>
#include <vector>

namespace sc = stagecraft;
namespace applications = sc::applications;

namespace {

std::uint64_t hash_of(std::string_view text) {  // FNV-1a
  std::uint64_t result = 0xcbf29ce484222325;
  for (char const c : text) result = (result ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return result;
}

/// Numbers that look random, and follow from a name: those of `values_of` in make_applications.py.
std::vector<float> values_of(std::string_view name, std::vector<int> const& shape) {
  std::size_t size = 1, fan_in = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    size *= static_cast<std::size_t>(shape[i]);
    if (i + (name.ends_with("depthwise_kernel:0") ? 2U : 1U) < shape.size())
      fan_in *= static_cast<std::size_t>(shape[i]);
  }
  auto const kind = name.substr(name.rfind('/') + 1);
  std::vector<float> result;
  for (std::size_t i = 0; i < size; ++i) {
    auto x = static_cast<std::uint32_t>(i * 2654435761U + hash_of(name));
    for (int k = 0; k < 2; ++k) x = ((x >> 16) ^ x) * 0x45d9f3bU;
    double v = ((x >> 16) ^ x) / 4294967296.0 - 0.5;
    if (kind.ends_with("kernel:0"))
      v *= 2 * std::sqrt(3.0 / static_cast<double>(fan_in));
    else if (kind == "gamma:0" || kind == "moving_variance:0")
      v = 1 + 0.5 * v;
    else if (kind != "picture")
      v *= 0.2;
    result.push_back(static_cast<float>(v));
  }
  return result;
}

inline constexpr auto single = sc::inference{.batch_size = 1};

/// "name weights numbers hash", as make_applications.py writes it.
template <class M>
std::string line_of() {
  auto const& graph = sc::graph_of<M>;
  std::vector<std::string> lines;
  for (auto const& each : graph.layers) {
    for (int i = 0; i < each.parameter_count; ++i) {
      auto const& weight = graph.parameters[each.first_parameter + i];
      std::string line = std::string(each.name.view()) + "/" + std::string(weight.name.view()) + ":0";
      for (int const length : weight.shape) line += " " + std::to_string(length);
      lines.push_back(line + "\n");
    }
  }
  std::sort(lines.begin(), lines.end());
  std::string all;
  for (auto const& line : lines) all += line;
  char text[96];
  std::snprintf(text, sizeof text, " %zu %lld %016llx", lines.size(), static_cast<long long>(sc::count_parameters<M>()),
                static_cast<unsigned long long>(hash_of(all)));
  return std::string(M::name) + text;
}

}  // namespace

TEST_CASE("applications have Keras's weights") {
  std::ifstream file(STAGECRAFT_GOLDEN_DIR "/applications.txt");
  std::vector<std::string> expected;
  for (std::string line; std::getline(file, line);) expected.push_back(line);
  std::vector<std::string> const found{
      line_of<applications::resnet50<>>(),     line_of<applications::resnet101<>>(),
      line_of<applications::resnet152<>>(),    line_of<applications::vgg16<>>(),
      line_of<applications::mobilenet_v2<>>(), line_of<applications::efficientnet_b0<>>()};
  CHECK(found == expected);
}

TEST_CASE("MobileNetV2 predicts what Keras predicts") {
  using small = applications::mobilenet_v2<applications::application_options{.height = 32, .width = 32, .classes = 10}>;
  sc::predictor<small, single> model;
  auto weights = model.get_weights();
  for (auto& weight : weights) weight.values = values_of(weight.name, weight.shape);
  model.set_weights(weights);
  auto const pixels = values_of("picture", {1, 32, 32, 3});
  auto picture = xt::xtensor<float, 4>::from_shape({1, 32, 32, 3});
  std::copy(pixels.begin(), pixels.end(), picture.begin());
  auto const found = model.predict(picture);
  std::ifstream file(STAGECRAFT_GOLDEN_DIR "/mobilenet_v2.txt");
  REQUIRE(found.size() == 10);
  for (float const value : found) {
    float expected = 0;
    file >> expected;
    CHECK(std::fabs(value - expected) < 1e-6F);
  }
}
