// SPDX-License-Identifier: BSD-3-Clause
// E5148: the last size of an application's batches is another one than its batch size.
// expect-error: allowed_batch_sizes ends with 8, but batch_size is 4; the last size is the batch size
// expect-error: [E5148]
#include <stagecraft/serving/application.hpp>
#include <stagecraft/stagecraft.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using network = sc::sequential<input{4}, dense{2}>;
inline constexpr auto inference = sc::inference{.batch_size = 4};
#ifdef STAGECRAFT_BAD
inline constexpr auto around = sc::serving::application_options{.allowed_batch_sizes = {1, 8}};
#else
inline constexpr auto around = sc::serving::application_options{.allowed_batch_sizes = {1, 4}};
#endif

stagecraft_application const* get_application() {
  return sc::serving::application<network, inference, around>::table();  // <- here
}
