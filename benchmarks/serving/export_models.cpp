// SPDX-License-Identifier: BSD-3-Clause
// The models that load.py puts behind a server: `export_models FOLDER` makes FOLDER/perceptron/1 and FOLDER/cnn/1, with
// random weights.
#include <stagecraft/serving/export.hpp>
#include <stagecraft/stagecraft.hpp>

#include <cstdio>
#include <string>

namespace sc = stagecraft;
using namespace sc::layers;

using perceptron = sc::sequential<input{784}, dense{256, sc::relu}, dense{128, sc::relu}, dense{10, sc::softmax}>;
using cnn =
    sc::sequential<input{28, 28, 1}, conv2d{32, {3, 3}, sc::relu}, max_pooling2d{2}, conv2d{64, {3, 3}, sc::relu},
                   max_pooling2d{2}, flatten{}, dense{128, sc::relu}, dense{10, sc::softmax}>;
inline constexpr auto inference = sc::inference{.batch_size = 16};

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: export_models FOLDER\n"), 2;
  std::string const folder = argv[1];
  try {
    sc::export_options const options{
        .batch_size = 16, .allowed_batch_sizes = {1, 2, 4, 8, 16}, .purge_export_dir = true};
    (void)sc::predictor<perceptron, inference>(7).export_for_ipu_serving(folder + "/perceptron/1", options);
    (void)sc::predictor<cnn, inference>(7).export_for_ipu_serving(folder + "/cnn/1", options);
  } catch (sc::error const& why) {
    std::fprintf(stderr, "%s\n", why.what());
    return 1;
  }
}
