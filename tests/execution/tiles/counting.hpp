// SPDX-License-Identifier: BSD-3-Clause
// Compares what the emulated IPUs of a session count while they run with the profile.
#pragma once

#include <stagecraft/execution/ipu.hpp>
#include <stagecraft/execution/session_of.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/program/profile.hpp>
#include <stagecraft/program/training.hpp>

#include <doctest/doctest.h>

#include <cstddef>

#include "../../pipelined/made_data.hpp"

namespace counting {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

template <bool Checked>
using machine = sc::ipu<sc::ipu_config{.auto_select_ipus = 4, .ipu_model = {.tiles_per_ipu = 8, .checked = Checked}}>;

using network =
    sc::sequential<input{12}, dense{16, sc::relu}, dropout{0.25F}, dense{12, sc::gelu}, dense{8, sc::tanh}, dense{4}>;
using two_stages = sc::pipelined<network, sc::stages<0, 0, 0, 1, 1>>;

inline constexpr sc::training plain{.loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                    .optimizer = sc::optimizers::adam{},
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

inline void check_same(sc::counted_pass const& counted, sc::operation_cost const& one) {
  CHECK(counted.cost.compute_cycles == counted.runs * one.compute_cycles);
  CHECK(counted.cost.exchange_cycles == counted.runs * one.exchange_cycles);
  CHECK(counted.cost.sync_cycles == counted.runs * one.sync_cycles);
  CHECK(counted.cost.flops == counted.runs * one.flops);
  CHECK(counted.cost.bytes_exchanged == counted.runs * one.bytes_exchanged);
}

template <class M, auto Training, class Machine>
void check_counts() {
  constexpr auto profile = sc::profile<M, Training, Machine>;
  constexpr auto predictions = sc::profile<M, Training, Machine, sc::execution_mode::inference>;
  sc::session_of<M, Training, Machine> session;
  using session_type = decltype(session);
  auto const ignore = [](auto const&) {};
  session.begin_run();
  session.train(16, random_runs::made_data<session_type>(0), ignore);
  // The ring of replicas makes no arenas.
  if constexpr (Machine::checked && session_type::replicas == 1) {
    for (int ipu = 0; ipu < profile.ipus(); ++ipu)
      CHECK(session.tiles(ipu).high_water_mark() == profile.memory(ipu).high_water_mark());
  }
  session.test(2, random_runs::made_data<session_type>(0), ignore);
  for (int replica = 0; replica < session_type::replicas; ++replica) {
    auto const& counted = session.counted(replica);
    for (int pass = 0; pass < profile.passes(); ++pass) {
      CAPTURE(pass);
      auto const& own = counted.training[static_cast<std::size_t>(pass)];
      CHECK(own.runs == 16);
      check_same(own, profile.pass(pass).work());
    }
    for (int pass = 0; pass < predictions.passes(); ++pass) {
      auto const& own = counted.inference[static_cast<std::size_t>(pass)];
      CHECK(own.runs == 2);
      check_same(own, predictions.pass(pass).work());
    }
    for (int device = 0; device < profile.ipus(); ++device) {
      auto const& own = counted.updates[static_cast<std::size_t>(device)];
      CHECK(own.runs == 2);
      check_same(own, profile.update(device).cost);
    }
  }
}

}  // namespace counting
