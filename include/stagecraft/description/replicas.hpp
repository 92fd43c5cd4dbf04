// SPDX-License-Identifier: BSD-3-Clause
// How many replicas of a model are trained, and how many samples a weight update sees.
#pragma once

#include <stagecraft/description/effective_options.hpp>
#include <stagecraft/pipeline/pipelined.hpp>

namespace stagecraft::jobs {

/// The devices that one copy of a model takes: up to the highest that a stage is mapped to. One for a model without
/// stages, and for one whose stages have had a compile error.
template <Model M>
inline constexpr int shards_of = [] {
  staged_graph const& model = checked_stages<M>;
  int highest = 0;
  for (int stage = 0; is_pipelined<M> && !has_invalid_stages<M> && stage < model.stage_count(); ++stage)
    if (model.device(stage) > highest) highest = model.device(stage);
  return highest + 1;
}();

/// The devices that are set aside for each of several replicas: Graphcore's devices are grouped by powers of two.
constexpr long long devices_of_replica(int shards) noexcept {
  long long rounded = 1;
  while (rounded < shards) rounded *= 2;
  return rounded;
}

/// 0 wanted: as many as there are devices for, but at least one, which need not fill a power of two.
constexpr int count_replicas(int wanted, int shards, int devices) noexcept {
  if (wanted > 0) return wanted;
  auto const count = static_cast<int>((devices > 0 ? devices : 0) / devices_of_replica(shards));
  return count > 0 ? count : 1;
}

/// Stands in for a machine that has any number of devices.
struct machine_without_limit {
  static constexpr int devices = 0;
};

}  // namespace stagecraft::jobs

namespace stagecraft {

/// The number of replicas of M that train on batches of their own: `num_replicas`. Where that is 0 and the machine has
/// a number of devices, as many as fit, if each takes the devices of its stages, rounded up to a power of two: a model
/// in three stages has two replicas on eight devices. Else one. Definition: keras.ipu, replication_factor of a model in
/// an IPUStrategy.
template <Model M, auto Training, class Machine = detail::machine_without_limit>
inline constexpr int replicas_of =
    detail::count_replicas(Training.num_replicas, detail::shards_of<M>, Machine::devices);

}  // namespace stagecraft

namespace stagecraft::jobs {

template <class M, auto Training, class Machine>
constexpr auto count_samples_of_update() {
  constexpr long long replicas = replicas_of<M, Training, Machine>;
  if constexpr (has_invalid_stages<M>)
    return any_number{};
  else
    return Training.batch_size * replicas * options_of<M, Training>.accumulation_steps();
}

}  // namespace stagecraft::jobs

namespace stagecraft {

/// Samples that a weight update sees: those of a micro-batch, times micro-batches per weight update, times replicas.
///
///     static_assert(sc::effective_batch_size<two_stages, training> == 512);
template <Model M, auto Training, class Machine = detail::machine_without_limit>
inline constexpr auto effective_batch_size = detail::count_samples_of_update<M, Training, Machine>();

}  // namespace stagecraft
