// SPDX-License-Identifier: BSD-3-Clause
// E5093: an application has more names than outputs.
// expect-error: output_names has 2 names, but there are 1 outputs
// expect-error: [E5093]
#include <stagecraft/serving/application.hpp>
#include <stagecraft/stagecraft.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using network = sc::sequential<input{4}, dense{2}>;
inline constexpr auto inference = sc::inference{.batch_size = 1};
#ifdef STAGECRAFT_BAD
inline constexpr auto around = sc::serving::application_options{.output_names = {"class", "score"}};
#else
inline constexpr auto around = sc::serving::application_options{.output_names = {"score"}};
#endif

stagecraft_application const* get_application() {
  return sc::serving::application<network, inference, around>::table();  // <- here
}
