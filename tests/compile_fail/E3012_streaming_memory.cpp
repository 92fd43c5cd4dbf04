// SPDX-License-Identifier: BSD-3-Clause
// E3012: more is offloaded than an IPU's streaming memory holds.
// expect-error: model 'sequential' on IPU 0: 1640448 bytes are offloaded, but its streaming memory has 1000000
// expect-error: [E3012]
#include <stagecraft/description/training.hpp>
#include <stagecraft/ipu/profile/profile.hpp>
#include <stagecraft/layers/layers.hpp>
#include <stagecraft/machines/ipu_devices.hpp>
#include <stagecraft/models/sequential.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

inline constexpr sc::ipu_target with_little_memory = [] {
  auto target = sc::ipu_targets::ipu2;
  target.streaming_memory_bytes = 1'000'000;
  return target;
}();
using machine = sc::ipu_devices<sc::ipu_config{.ipu_model = {.version = with_little_memory}}>;
inline constexpr auto training =
    sc::training{.optimizer = sc::optimizers::adam{},
                 .gradient_accumulation = {.offload_weight_update_variables = sc::offload::remote}};

#ifdef STAGECRAFT_BAD
using mlp = sc::sequential<input{784}, dense{256, sc::relu}, dense{16}>;
#else
using mlp = sc::sequential<input{784}, dense{64, sc::relu}, dense{16}>;
#endif

static_assert(sc::profile<mlp, training, machine>.fits());  // <- here
