// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/description/effective_options.hpp>
#include <stagecraft/description/replicas.hpp>
#include <stagecraft/description/training.hpp>
#include <stagecraft/pipeline.hpp>

#include <doctest/doctest.h>

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

namespace {

using plain = sc::sequential<input{4}, dense{4}, dense{4}, dense{4}, dense{4}, dense{2}>;
using two = sc::pipelined<plain, sc::stages<0, 0, 0, 1, 1>>;
using three = sc::pipelined<plain, sc::stages<0, 0, 1, 1, 2>>;
using five = sc::pipelined<plain, sc::stages<0, 1, 2, 3, 4>>;
using one_device = sc::pipelined<plain, sc::stages<0, 0, 0, 1, 1>, sc::device_mapping<0, 0>>;
using far_device = sc::pipelined<plain, sc::stages<0, 0, 0, 1, 1>, sc::device_mapping<0, 3>>;

template <int Devices>
struct machine {
  static constexpr int devices = Devices;
};

inline constexpr auto defaults = sc::training{};
inline constexpr auto three_replicas = sc::training{.num_replicas = 3};

template <class M, int Devices>
constexpr int automatic = sc::replicas_of<M, defaults, machine<Devices>>;

// As many replicas as there are devices for, each with its devices rounded up to a power of two.
static_assert(automatic<plain, 0> == 1 && automatic<three, 0> == 1, "a machine without an end has one");
static_assert(automatic<plain, 1> == 1 && automatic<plain, 8> == 8 && automatic<plain, 7> == 7);
static_assert(automatic<two, 2> == 1 && automatic<two, 3> == 1 && automatic<two, 8> == 4);
static_assert(automatic<three, 8> == 2 && automatic<three, 4> == 1 && automatic<three, 7> == 1);
static_assert(automatic<three, 3> == 1, "a single one need not fill a power of two");
static_assert(automatic<five, 8> == 1 && automatic<five, 16> == 2);
static_assert(automatic<one_device, 8> == 8);
static_assert(automatic<far_device, 8> == 2, "devices count up to the highest that is used");
static_assert(sc::replicas_of<three, three_replicas, machine<16>> == 3);
static_assert(sc::replicas_of<plain, three_replicas> == 3);

inline constexpr auto pipelined_training =
    sc::training{.batch_size = 5,
                 .pipeline = {.gradient_accumulation_steps_per_replica = 12,
                              .reduction_method = sc::gradient_accumulation_reduction_method::mean,
                              .schedule = sc::interleaved,
                              .accumulate_outfeed = true,
                              .offload_activations = sc::offload::remote}};
inline constexpr auto serialized_training = sc::training{.batch_size = 5,
                                                         .pipeline = {.gradient_accumulation_steps_per_replica = 4,
                                                                      .schedule = sc::schedule::sequential,
                                                                      .batch_serialization_iterations = 3}};
inline constexpr auto accumulating_training =
    sc::training{.batch_size = 5,
                 .pipeline = {.gradient_accumulation_steps_per_replica = 12, .accumulate_outfeed = true},
                 .gradient_accumulation = {.gradient_accumulation_steps_per_replica = 2,
                                           .gradient_accumulation_dtype = sc::dtype::float16}};

static_assert(sc::effective_batch_size<plain, defaults> == 32);
static_assert(sc::effective_batch_size<plain, three_replicas> == 96);
static_assert(sc::effective_batch_size<three, pipelined_training> == 5 * 12);
static_assert(sc::effective_batch_size<three, pipelined_training, machine<8>> == 5 * 12 * 2);
static_assert(sc::effective_batch_size<one_device, serialized_training> == 5 * 4 * 3);
static_assert(sc::effective_batch_size<plain, serialized_training> == 5 * 4 * 3, "without stages as with them");
static_assert(sc::effective_batch_size<three, accumulating_training> == 5 * 12);
static_assert(sc::effective_batch_size<plain, accumulating_training> == 5 * 2);

// With stages, `pipeline` holds as it is.
static_assert(sc::jobs::options_of<three, pipelined_training>.schedule == sc::interleaved);
static_assert(sc::jobs::options_of<three, pipelined_training>.offload_activations == sc::offload::remote);
static_assert(sc::jobs::options_of<three, accumulating_training>.accumulate_outfeed);
static_assert(sc::jobs::options_of<three, accumulating_training>.gradient_accumulation_dtype == sc::dtype::float32);

// Without them, what it says of weight updates and results does.
static_assert(sc::jobs::options_of<plain, pipelined_training>.schedule == sc::schedule::sequential);
static_assert(sc::jobs::options_of<plain, pipelined_training>.offload_activations == sc::offload::automatic);
static_assert(sc::jobs::options_of<plain, pipelined_training>.accumulation_steps() == 12);
static_assert(sc::jobs::options_of<plain, pipelined_training>.accumulate_outfeed);
static_assert(sc::jobs::options_of<plain, pipelined_training>.reduction_method ==
              sc::gradient_accumulation_reduction_method::mean);
static_assert(sc::jobs::options_of<sc::unpipelined<three>, pipelined_training>.schedule == sc::schedule::sequential);

// ...unless gradient_accumulation says it.
static_assert(sc::jobs::options_of<plain, accumulating_training>.accumulation_steps() == 2);
static_assert(sc::jobs::options_of<plain, accumulating_training>.gradient_accumulation_dtype == sc::dtype::float16);
static_assert(!sc::jobs::options_of<plain, accumulating_training>.accumulate_outfeed);

static_assert(!sc::gradient_accumulation_options{}.given());
static_assert(sc::gradient_accumulation_options{.replicated_optimizer_state_sharding = true}.given());
static_assert(
    sc::gradient_accumulation_options{.reduction_method = sc::gradient_accumulation_reduction_method::mean}.given());

}  // namespace

TEST_CASE("offloading follows from sharding where it is automatic") {
  sc::pipelining_options options;
  CHECK(!options.offloads_weights());
  CHECK(!options.offloads_optimizer_state());
  options.replicated_weight_sharding = options.replicated_optimizer_state_sharding = true;
  CHECK(options.offloads_weights());
  CHECK(options.offloads_optimizer_state());
  options.offload_weights = options.offload_weight_update_variables = sc::offload::on_device;
  CHECK(!options.offloads_weights());
  CHECK(!options.offloads_optimizer_state());
  options.replicated_weight_sharding = options.replicated_optimizer_state_sharding = false;
  options.offload_weights = options.offload_weight_update_variables = sc::offload::remote;
  CHECK(options.offloads_weights());
  CHECK(options.offloads_optimizer_state());
}
