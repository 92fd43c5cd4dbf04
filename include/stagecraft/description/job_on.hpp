// SPDX-License-Identifier: BSD-3-Clause
// The job that follows from a model, a description and a machine, as a user names them, and the training description as
// it holds on that machine.
#pragma once

#include <stagecraft/description/inference.hpp>
#include <stagecraft/description/job.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/machines/ipu_devices.hpp>
#include <stagecraft/pipeline/options.hpp>

namespace stagecraft::jobs {

template <auto Training, class Machine>
constexpr auto find_training_on() {
  auto result = Training;
  auto& types = result.dtype_policy;
  types.storage_dtype = is_ipu<Machine> ? dtype::float32 : types.compute_dtype;
  types.stores_halves = !is_ipu<Machine>;
  if constexpr (is_ipu<Machine>)
    if (Machine::config.io_tiles.place_ops_on_io_tiles) result.overlaps_io = true;
  if constexpr (only_infers<Training> && (is_ipu<Machine> || is_half(Training.dtype_policy.compute_dtype)))
    result.fold_batch_normalization = false;  // a normalization has vertices, or roundings, of its own there
  else if constexpr (is_ipu<Machine>)
    if (Machine::config.allow_recompute && result.pipeline.recomputation_mode == recomputation_mode::none)
      result.pipeline.recomputation_mode = recomputation_mode::automatic;
  return result;
}

}  // namespace stagecraft::jobs

namespace stagecraft {

/// The description that a model is trained with on a machine: the training description itself, but for IPUs with
/// `ipu_config::allow_recompute`, which recompute activations where nothing else is said of it; and that of an
/// inference, for IPUs and half precision, which fold no batch normalization into other layers. On the host, values
/// of half precision are stored as such (`dtype_policy::storage_dtype`). IPUs with
/// `io_tiles.place_ops_on_io_tiles` overlap input and output with what others compute. Everything that is made for a
/// machine asks this: sessions, lowered steps, profiles; and so does who wants to see its timetable:
///
///     static_assert(sc::timetable_of<two_stages, sc::training_on<training, machine>>.overlaps_io());
template <auto Training, class Machine>
inline constexpr auto training_on = detail::find_training_on<Training, Machine>();

}  // namespace stagecraft

namespace stagecraft::jobs {

/// The job of a trainer, of a predictor or of a profile: the description is the one that holds on the machine.
template <class M, auto Training, class Machine, execution_mode Mode = mode_of<Training>>
using job_on = job<M, training_on<Training, Machine>, Mode, Machine>;

}  // namespace stagecraft::jobs
