// SPDX-License-Identifier: BSD-3-Clause
// ResNet-50 (224 x 224 pixels, batches of 4) on one and on four IPUs, in half precision: whether it fits, what a
// weight update takes, and how the compiler divides it into stages. All of it is known when this file is compiled,
// which takes a minute or so; nothing is trained. The pictures are written as pages.
#include <stagecraft/ipu/profile/auto_pipeline.hpp>
#include <stagecraft/machines/ipu_devices.hpp>
#include <stagecraft/report/profile_data_of.hpp>
#include <stagecraft/report/report.hpp>
#include <cstdio>
#include <cstring>
#include <string>

#include "models/resnet50.hpp"

namespace sc = stagecraft;
using resnet::resnet50;

inline constexpr auto training = sc::training{.optimizer = sc::optimizers::sgd{.momentum = 0.9F},
                                              .loss = sc::losses::sparse_categorical_crossentropy{},
                                              .batch_size = 4,
                                              .steps_per_execution = 16,
                                              .pipeline = {.gradient_accumulation_steps_per_replica = 16},
                                              .dtype_policy = sc::dtype_policies::mixed_float16};

template <int Ipus>
using machine = sc::ipu_devices<sc::ipu_config{.auto_select_ipus = Ipus}>;

/// Divided by what the layers cost, and by the layers' floating point operations alone.
using by_cycles = sc::auto_pipeline<resnet50, training, machine<4>, sc::auto_pipeline_options{.min_ipus = 4}>;
using by_flops = sc::even_pipeline<resnet50, 4>;

inline constexpr auto on_one = sc::profile<resnet50, training, machine<1>>;
inline constexpr auto on_four = sc::profile<by_cycles, training, machine<4>>;
inline constexpr auto on_four_by_flops = sc::profile<by_flops, training, machine<4>>;

static_assert(on_one.fits() && on_four.fits());
static_assert(on_four.cycles() < on_one.cycles());
static_assert(on_four.cycles() < on_four_by_flops.cycles(), "automatic stages beat an even split");
static_assert(on_four.bubble() < 0.25);

namespace {

template <class Profile>
void print(char const* name, Profile const& profile) {
  std::printf("%-22s %8.2f ms  %6.0f images/s  bubble %4.1f %%  exchange %4.1f %%  %3.0f KiB of a tile\n", name,
              1e3 * profile.seconds(), profile.samples_per_second(), 100 * profile.bubble(),
              100 * profile.exchange_share(), static_cast<double>(profile.memory(0).peak()) / 1024);
}

template <class M, class Machine>
void write(std::string const& folder, char const* name, char const* title) {
  sc::write_profile_html(sc::profile_data_of<M, training, Machine>(), folder + "/" + name,
                         sc::profile_report_options{.title = title});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--help") == 0) {
    std::puts(
        "Profiles ResNet-50 on one and on four IPUs, and writes pages with pictures. Takes the folder for these.");
    return 0;
  }
  std::string const folder = argc > 1 ? argv[1] : ".";
  std::puts("a weight update from 16 micro-batches of 4 images:");
  print("one IPU", on_one);
  print("four IPUs", on_four);
  print("four IPUs, by flops", on_four_by_flops);
  write<resnet50, machine<1>>(folder, "resnet50_on_1.html", "ResNet-50 on one IPU");
  write<by_cycles, machine<4>>(folder, "resnet50_on_4.html", "ResNet-50 on four IPUs");
}
