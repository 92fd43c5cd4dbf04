// SPDX-License-Identifier: BSD-3-Clause
// E5090: a step before the model writes less than the model's input takes.
// expect-error: preprocessing_step writes 3 numbers as array 0, but that input of the model has 4
// expect-error: [E5090]
#include <stagecraft/serving/application.hpp>
#include <stagecraft/stagecraft.hpp>
#include <cstddef>
#include <span>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
constexpr int size = 3;
#else
constexpr int size = 4;
#endif

struct scale {
  using preprocessing_step_signature = sc::serving::signature<sc::serving::spec<"pixels", 4>>;
  static void call(std::span<float const, 4> pixels, std::span<float, size> image) {
    for (std::size_t i = 0; i < image.size(); ++i) image[i] = pixels[i] / 255;
  }
};

using network = sc::sequential<input{4}, dense{2}>;
inline constexpr auto inference = sc::inference{.batch_size = 1};
inline constexpr auto around = sc::serving::application_options{.preprocessing_step = scale{}};

stagecraft_application const* get_application() {
  return sc::serving::application<network, inference, around>::table();  // <- here
}
