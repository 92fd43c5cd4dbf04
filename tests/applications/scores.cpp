// SPDX-License-Identifier: BSD-3-Clause
// An application as a person writes it.
#include "scores.hpp"

#include <stagecraft/host/host.hpp>
#include <stagecraft/serving/application.hpp>

namespace sc = stagecraft;

inline constexpr auto inference = sc::inference{.batch_size = 3, .steps_per_execution = 4};
inline constexpr auto around = sc::serving::application_options{.output_names = {"class", "scores"},
                                                                .preprocessing_step = applications::scale_pixels{},
                                                                .postprocessing_step = applications::find_class{}};

extern "C" stagecraft_application const* stagecraft_get_application() {
  return sc::serving::application<applications::staged, inference, around>::table();
}
