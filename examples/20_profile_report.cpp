// SPDX-License-Identifier: BSD-3-Clause
// What a model needs of the memory and the time of two IPUs that nobody has to own: asked at compile time, then shown
// as text, as a page to open in a browser, as JSON, and as a trace for ui.perfetto.dev. Nothing is trained, and neither
// xtensor nor xsimd is needed; `sc::ipu` with the same configuration trains on such IPUs.
#include <stagecraft/description/training.hpp>
#include <stagecraft/machines/ipu_devices.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/report/profile_data_of.hpp>
#include <stagecraft/report/report.hpp>
#if defined(STAGECRAFT_EXAMPLES_WITH_JSON)
#include <stagecraft/report/profile_json.hpp>
#endif
#include <cstdio>
#include <cstring>
#include <string>

namespace sc = stagecraft;
using namespace sc::layers;

using cnn = sc::sequential<input{28, 28, 1},              //
                           conv2d{32, {3, 3}, sc::relu},  //
                           max_pooling2d{2, 2},           //
                           conv2d{64, {3, 3}, sc::relu},  //
                           max_pooling2d{2, 2},           //
                           flatten{},                     //
                           dense{128, sc::relu},          //
                           dense{10}>;
using two_stages = sc::pipelined<cnn, sc::stages<0, 0, 1, 1, 1, 1, 1>>;

inline constexpr auto training =
    sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = 0.01F, .momentum = 0.9F},
                 .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                 .batch_size = 8,
                 .steps_per_execution = 32,
                 .pipeline = {.gradient_accumulation_steps_per_replica = 32},
                 .dtype_policy = sc::dtype_policies::mixed_float16};

using machine = sc::ipu_devices<sc::ipu_config{.auto_select_ipus = 2}>;

inline constexpr auto profile = sc::profile<two_stages, training, machine>;
static_assert(profile.fits());
static_assert(profile.ipus() == 2 && profile.replicas() == 1);
static_assert(profile.bubble() < 0.5);

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--help") == 0) {
    std::puts(
        "Prints the profile of a pipeline on two IPUs, and writes it as a page, as JSON and as a trace. Takes the "
        "folder for these.");
    return 0;
  }
  std::string const folder = argc > 1 ? argv[1] : ".";
  auto const data = sc::profile_data_of<two_stages, training, machine>();
  std::fputs(sc::profile_text(data).c_str(), stdout);

  sc::profile_report_options options{.title = "A small CNN on two IPUs"};
#if defined(STAGECRAFT_EXAMPLES_WITH_JSON)
  options.json = sc::profile_json(data);
  sc::write_profile_json(data, folder + "/profile.json");
  bool const same = sc::read_profile_json(folder + "/profile.json") == data;
  std::printf("profile.json %s the same profile\n", same ? "has" : "does not have");
#endif
  sc::write_profile_html(data, folder + "/profile.html", options);
  sc::write_profile_trace(data, folder + "/profile.trace.json");
}
