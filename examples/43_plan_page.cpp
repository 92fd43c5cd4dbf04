// SPDX-License-Identifier: BSD-3-Clause
// How many IPUs, which schedule, how many micro-batches? The compiler computes the profile of each combination, and the
// program writes a page on which a person compares them and reads why each is as fast as it is. Nothing is trained.
#include <stagecraft/description/training.hpp>
#include <stagecraft/machines/ipu_devices.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/report/plan_data_of.hpp>
#include <stagecraft/report/plan_html.hpp>
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

inline constexpr auto training =
    sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = 0.01F, .momentum = 0.9F},
                 .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                 .batch_size = 8,
                 .dtype_policy = sc::dtype_policies::mixed_float16};

inline constexpr sc::plan_choices choices{
    .ipus = {1, 2, 4}, .schedules = {sc::grouped, sc::interleaved}, .micro_batches = {16, 64}};

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--help") == 0) {
    std::puts("Writes plan.html, a page on which divisions of a model among IPUs are compared. Takes its folder.");
    return 0;
  }
  auto const plans = sc::plan_data_of<cnn, training, sc::ipu_devices<>, choices>();
  auto const& best = plans.entries[static_cast<std::size_t>(plans.best())];
  std::printf("of %d combinations, the fastest that fits has %d IPUs and %d micro-batches: %.0f samples/s\n",
              plans.choices.combinations(), best.choice.ipus, best.choice.micro_batches, best.samples_per_second());
  sc::write_plan_html(plans, std::string(argc > 1 ? argv[1] : ".") + "/plan.html",
                      {.title = "A small CNN on one to four IPUs"});
}
