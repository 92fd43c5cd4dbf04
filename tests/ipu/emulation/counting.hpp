// SPDX-License-Identifier: BSD-3-Clause
// Compares what the emulated IPUs of a session count while they run with the profile.
#pragma once

#include <stagecraft/description/training.hpp>
#include <stagecraft/engine/session.hpp>
#include <stagecraft/host/host_policy.hpp>
#include <stagecraft/ipu/emulation/ipu.hpp>
#include <stagecraft/ipu/profile/profile.hpp>
#include <stagecraft/pipeline.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <type_traits>

#include "../../pipelined/made_data.hpp"

namespace counting {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

template <bool Checked>
using machine = sc::ipu<sc::ipu_config{.auto_select_ipus = 4, .ipu_model = {.tiles_per_ipu = 8, .checked = Checked}}>;

/// As many tiles as a model needs.
template <int Ipus, int Tiles>
using checked_ipus =
    sc::ipu<sc::ipu_config{.auto_select_ipus = Ipus, .ipu_model = {.tiles_per_ipu = Tiles, .checked = true}}>;

/// A penalty of a weight as a whole.
struct norm_of_all : sc::own_regularizer<norm_of_all> {
  constexpr auto call(auto& ops, auto weight) const { return sqrt(ops.sum(square(weight), {0, 1})) * 0.01F; }
};

using network = sc::sequential<
    input{12}, dense{16, sc::relu}, dropout{0.25F}, dense{12, sc::gelu},
    dense{8, sc::tanh, {.kernel_regularizer = norm_of_all{}, .kernel_constraint = sc::constraints::max_norm{0.5F}}},
    dense{4}>;
using two_stages = sc::pipelined<network, sc::stages<0, 0, 0, 1, 1>>;

inline constexpr sc::training plain{.optimizer = sc::optimizers::adam{.global_clipnorm = 0.5F},
                                    .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                    .batch_size = 4,
                                    .steps_per_execution = 8,
                                    .pipeline = {.gradient_accumulation_steps_per_replica = 8},
                                    .num_replicas = 1};
inline constexpr auto recomputing = [] {
  auto result = plain;
  result.pipeline.recomputation_mode = sc::recomputation_mode::automatic;
  return result;
}();
inline constexpr auto offloading = [] {
  auto result = plain;
  result.pipeline.offload_activations = sc::offload::remote;
  result.pipeline.offload_weights = sc::offload::remote;
  result.pipeline.offload_gradient_accumulation_buffers = sc::offload::remote;
  result.pipeline.offload_weight_update_variables = sc::offload::remote;
  return result;
}();
inline constexpr auto replicated = [] {
  auto result = plain;
  result.num_replicas = 2;
  return result;
}();
inline constexpr auto sharded = [] {
  auto result = replicated;
  result.pipeline.replicated_optimizer_state_sharding = true;
  return result;
}();
inline constexpr auto mixed = [] {
  auto result = plain;
  result.dtype_policy = sc::dtype_policies::mixed_float16;
  return result;
}();

inline void check_same(sc::tiles::counted_pass const& counted, sc::tiles::operation_cost const& one) {
  CHECK(counted.cost.compute_cycles == counted.runs * one.compute_cycles);
  CHECK(counted.cost.exchange_cycles == counted.runs * one.exchange_cycles);
  CHECK(counted.cost.sync_cycles == counted.runs * one.sync_cycles);
  CHECK(counted.cost.flops == counted.runs * one.flops);
  CHECK(counted.cost.bytes_exchanged == counted.runs * one.bytes_exchanged);
}

/// `Updates` weight updates with all their micro-batches, then `Evaluated` micro-batches of inference, which is not
/// compiled if there are none.
template <class M, auto Training, class Machine, int Updates = 2, int Evaluated = 2>
void check_counts() {
  constexpr auto profile = sc::profile<M, Training, Machine>;
  constexpr int micro_batches = Updates * profile.micro_batches();
  sc::engine::session_of<M, Training, Machine> session;
  using session_type = decltype(session);
  auto const ignore = [](auto const&) {};
  session.begin_run();
  session.train(micro_batches, random_runs::made_data<session_type>(0), ignore);
  // The ring of replicas makes no arenas.
  if constexpr (Machine::checked && session_type::replicas == 1) {
    for (int ipu = 0; ipu < profile.ipus(); ++ipu) {
      CAPTURE(ipu);
      CHECK(session.tiles(ipu).high_water_mark() == profile.memory(ipu).high_water_mark());
    }
  }
  if constexpr (Evaluated > 0) session.test(Evaluated, random_runs::made_data<session_type>(0), ignore);
  for (int replica = 0; replica < session_type::replicas; ++replica) {
    auto const& counted = session.counted(replica);
    for (int pass = 0; pass < profile.passes(); ++pass) {
      CAPTURE(pass);
      auto const& own = counted.training[static_cast<std::size_t>(pass)];
      CHECK(own.runs == micro_batches);
      check_same(own, profile.pass(pass).work());
    }
    if constexpr (Evaluated > 0) {
      constexpr auto predictions = sc::profile<M, Training, Machine, sc::execution_mode::inference>;
      for (int pass = 0; pass < predictions.passes(); ++pass) {
        CAPTURE(pass);
        auto const& own = counted.inference[static_cast<std::size_t>(pass)];
        CHECK(own.runs == Evaluated);
        check_same(own, predictions.pass(pass).work());
      }
    }
    for (int device = 0; device < profile.ipus(); ++device) {
      CAPTURE(device);
      auto const& own = counted.updates[static_cast<std::size_t>(device)];
      CHECK(own.runs == Updates);
      check_same(own, profile.update(device).cost);
    }
  }
}

/// Of training alone, on checked IPUs.
template <class M, auto Training, int Ipus, int Tiles = 64, int Updates = 2>
void check_training() {
  check_counts<M, Training, checked_ipus<Ipus, Tiles>, Updates, 0>();
}

/// What devices know of a training: metrics, queues, callbacks and the steps of an execution are the host's.
template <auto Training>
inline constexpr auto of_devices = [] {
  auto result = Training;
  result.metrics = {};
  result.steps_per_execution = 1;
  result.infeed_queue = {};
  result.outfeed_queue = {};
  result.asynchronous_callbacks = false;
  return result;
}();
template <auto>
struct constant;
template <auto A, auto B>
inline constexpr bool same_for_devices = std::is_same_v<constant<of_devices<A>>, constant<of_devices<B>>>;

}  // namespace counting
