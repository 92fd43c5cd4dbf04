// SPDX-License-Identifier: BSD-3-Clause
// Models that are exported as applications, without and with stages, and called: the two programs of Graphcore's guide.
// They can be served then: stagecraft serve --model_base_path <the folder>. Exporting needs the program `stagecraft`.
#include <stagecraft/serving/export.hpp>
#include <stagecraft/stagecraft.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "command_line/command_line.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

/// Adds its two inputs.
struct sum : sc::functional<sum> {
  static constexpr auto build(auto& model) {
    auto input_1 = model.input({4}, "input_1"), input_2 = model.input({4}, "input_2");
    return add{}(input_1, input_2);
  }
};

/// Multiplies them in one stage, and adds the second one in another.
struct product_and_sum : sc::functional<product_and_sum> {
  static constexpr auto build(auto& model) {
    auto input_1 = model.input({4}, "input_1"), input_2 = model.input({4}, "input_2");
    return add{}(multiply{}(input_1, input_2), input_2);
  }
};
using staged = sc::pipelined<product_and_sum, sc::stages<0, 1>>;

/// The number of batches in an execution.
inline constexpr auto inference = sc::inference{.batch_size = 1, .steps_per_execution = 16};

void print_all(sc::serving::embedded_runtime& run) {
  for (int i = 0; i < inference.steps_per_execution; ++i) {
    xt::xtensor<float, 2> const input_1({1, 4}, static_cast<float>(i)), input_2({1, 4}, 2.0F);
    xt::xarray<float> const output = run(sc::inputs(input_1, input_2))[0];
    std::printf("%g ", static_cast<double>(output(0, 0)));
  }
  std::printf("\n");
}

int main(int argc, char** argv) {
  (void)read_arguments(argc, argv, "Exports two models as applications, and calls them.", 1,
                       "not used: the models are not trained");
  auto const folder = std::filesystem::temp_directory_path() / "stagecraft_exported";

  sc::predictor<sum, inference> single;
  auto run = single.export_for_ipu_serving(folder / "sum/1", {.batch_size = 1, .purge_export_dir = true});
  print_all(run);  // 2 3 4 ... 17

  sc::predictor<staged, inference> pipelined;
  auto run_pipeline =
      pipelined.export_for_ipu_serving(folder / "staged/1", {.batch_size = 1, .purge_export_dir = true});
  print_all(run_pipeline);  // 2 4 6 ... 32
  std::printf("stagecraft serve --model sum=%s --model staged=%s\n", (folder / "sum").c_str(),
              (folder / "staged").c_str());
}
