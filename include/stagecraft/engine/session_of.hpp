// SPDX-License-Identifier: BSD-3-Clause
// Which session runs a model on the host.
#pragma once

#include <stagecraft/description/training_on.hpp>
#include <stagecraft/engine/host_pipeline.hpp>
#include <stagecraft/host/host_session.hpp>
#include <type_traits>

namespace stagecraft {

/// Whether a model needs devices of its own: the machine is not just the host, or the model has stages or replicas, or
/// keeps something in remote memory, or is not trained. A device is the work of one thread: more threads than devices
/// do not help.
template <Model M, auto Training, class Machine>
inline constexpr bool runs_on_devices =
    !std::is_same_v<policy_of<Machine>, host_policy> || detail::only_infers<Training> || is_pipelined<M> ||
    replicas_of<M, Training, Machine> > 1 ||
    options_of<M, Training>.offloads_optimizer_state() || options_of<M, Training>.offloads_weights() ||
    options_of<M, Training>.offload_gradient_accumulation_buffers == offload::remote;

/// The session of a model: host_session, whose threads divide each step, or host_pipeline, whose threads carry out the
/// work of devices. They are used in the same way.
template <Model M, auto Training, class Machine>
using session_of =
    std::conditional_t<runs_on_devices<M, Training, Machine>, host_pipeline<M, training_on<Training, Machine>, Machine>,
                       host_session<M, Training, Machine>>;

}  // namespace stagecraft
