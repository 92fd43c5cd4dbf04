// SPDX-License-Identifier: BSD-3-Clause
// The weights of applications are Keras's, by name and shape (applications.txt, from real Keras); and the smallest predicts
// what Keras predicts with the same weights, which both make from their names.
#include "../golden/golden.hpp"

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
      line_of<applications::resnet50<>>(),  line_of<applications::resnet101<>>(),    line_of<applications::resnet152<>>(),
      line_of<applications::vgg16<>>(),     line_of<applications::mobilenet_v2<>>(), line_of<applications::efficientnet_b0<>>()};
  CHECK(found == expected);
}
