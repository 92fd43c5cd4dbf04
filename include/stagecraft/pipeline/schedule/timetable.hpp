// SPDX-License-Identifier: BSD-3-Clause
// Which device of a pipeline works on which micro-batch when: Graphcore's PipelineSchedule.Grouped, Interleaved and
// Sequential, known to the compiler.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/pipeline/schedule/schedule.hpp>
#include <stagecraft/pipeline/schedule/timetable_steps.hpp>
#include <cstddef>
#include <initializer_list>

namespace stagecraft::pipeline {

/// A stage as a timetable sees it.
struct placed_stage {
  int device = 0;
  /// True if it works in the slots of the stage before it, which is on another device: Graphcore's list of functions in
  /// place of a stage.
  bool is_beside = false;
};

}  // namespace stagecraft::pipeline

namespace stagecraft {

/// The slots of one weight update (training) or one execution (inference) of a pipeline.
///
/// A pass is one stage's forward or backward work on one micro-batch. Pass 0 to S - 1 are forward of stage 0 to S - 1;
/// if the pipeline trains, pass S + i is backward of stage S - 1 - i. Micro-batch m of N goes through them in this
/// order, in slot(pass, m):
///
///     grouped      m + pass
///     interleaved  start(m) + pass, and a device does one thing at a time; 2 m + pass in training and m + pass in
///                  inference, if each stage has a device of its own
///     sequential   one micro-batch after the other: passes() * m + pass. With batch serialization each stage works on
///                  B of them before the next begins: passes() * B * (m / B) + m % B + B * pass
///
/// Within one slot a device carries out backward passes first, then forward passes, each in ascending order of stages,
/// then what it recomputes for the next slot. Nothing that a device does in a slot needs what another does in it.
///
/// Recomputation, recompute_slot(stage, m), comes one slot before the backward pass, as in Graphcore's programs: an
/// interleaved device then has a forward pass to do, so that such a slot takes as long as the two of them or as another
/// device's backward pass, whichever is longer. Two kinds of it belong to the backward pass itself, and to its slot:
/// recompute_and_backpropagate_interleaved, and that of a device on which several stages are recomputed, each right
/// before its backward pass, so that the activations of one are there at a time (Graphcore's programs hold all of
/// them).
///
/// Stages beside each other (placed_stage) have one place, so that their forward passes are in one slot, and their
/// backward passes. Above, S is the number of places, and the place of a pass stands for its number.
///
/// Overlapped input and output, of devices whose I/O tiles talk to the host while the others compute: a micro-batch
/// comes in one slot, infeed_slot(m), the first pass works on it in the next, and its results leave in the slot after
/// the last forward pass, outfeed_slot(m). All passes are then one slot later than above, and the ramps are longer.
///
/// All questions can be asked at compile time and at run time, and take time in proportion to the number of stages at
/// most, bubble() to its square.
///
/// N is a positive multiple of overlap_length() (times B), otherwise the last block of an interleaved pipeline has
/// gaps. Definition: Graphcore's pipelining_ops.pipeline, and the pipeline visitors of its compiler.
class timetable {
  // First, since Clang's constant evaluation only knows function templates that stand before what calls them.
  template <class Stage>
  constexpr timetable(stagecraft::schedule schedule, std::size_t stages, int micro_batches, bool trains,
                      int batch_serialization, recomputation_mode recomputation, bool overlaps_io,
                      Stage const& stage_at)
      : schedule_(schedule),
        trains_(trains),
        overlaps_io_(overlaps_io),
        recomputation_(trains ? pipeline::mode_in(schedule, recomputation) : recomputation_mode::none) {
    if (stages > 0) stages_ = stages < capacity ? static_cast<int>(stages) : capacity;
    micro_batches_ = micro_batches < 1 ? 1 : micro_batches;
    if (schedule == stagecraft::schedule::sequential && batch_serialization > 1) serialized_ = batch_serialization;
    for (int stage = 0; stage < stages_; ++stage) {
      pipeline::placed_stage const own =
          stages > 0 ? stage_at(static_cast<std::size_t>(stage)) : pipeline::placed_stage{};
      device_of_stage_[stage] = own.device;
      if (own.device >= devices_) devices_ = own.device + 1;
      if (stage > 0 && !own.is_beside) ++places_;
      place_of_stage_[stage] = static_cast<unsigned char>(places_ - 1);
    }
    chain_stages_of_devices();
    if (schedule == stagecraft::schedule::interleaved) {
      int devices[2 * capacity]{}, places[2 * capacity]{};
      for (int pass = 0; pass < passes(); ++pass) {
        devices[pass] = device_of_pass(pass);
        places[pass] = place(pass);
      }
      auto const count = static_cast<std::size_t>(passes());
      rotations_ = {{devices, count}, {places, count}, micro_batches_};
    }
  }

 public:
  static constexpr int capacity = 64;  ///< the most stages

  /// @param device_of_stage        one entry per stage, at most `capacity`; none: one stage on device 0
  /// @param micro_batches          N, with batch serialization counted in
  /// @param trains                 whether there are backward passes and a weight update
  /// @param batch_serialization    B of the sequential schedule; the others do not have it
  /// @param recomputation          whether all stages but the last carry out forward steps again, and how
  /// @param overlaps_io            whether what comes from the host comes a slot before it is needed, and goes a slot
  ///                               after
  constexpr timetable(stagecraft::schedule schedule, tracing::array_view<int const> device_of_stage, int micro_batches,
                      bool trains, int batch_serialization = 1,
                      recomputation_mode recomputation = recomputation_mode::none, bool overlaps_io = false)
      : timetable(schedule, device_of_stage.size(), micro_batches, trains, batch_serialization, recomputation,
                  overlaps_io, [&](std::size_t stage) { return pipeline::placed_stage{device_of_stage[stage]}; }) {}
  /// The timetable of stages whose devices are listed in braces: `{sc::grouped, {0, 1}, 8, true}`.
  constexpr timetable(stagecraft::schedule schedule, std::initializer_list<int> device_of_stage, int micro_batches,
                      bool trains, int batch_serialization = 1,
                      recomputation_mode recomputation = recomputation_mode::none, bool overlaps_io = false)
      : timetable(schedule, tracing::array_view<int const>(device_of_stage.begin(), device_of_stage.end()),
                  micro_batches, trains, batch_serialization, recomputation, overlaps_io) {}
  /// The timetable of stages that may be beside each other.
  template <class Stages>
    requires requires(Stages const& stages) { stages[0].is_beside; }
  constexpr timetable(stagecraft::schedule schedule, Stages const& stages, int micro_batches, bool trains,
                      int batch_serialization = 1, recomputation_mode recomputation = recomputation_mode::none,
                      bool overlaps_io = false)
      : timetable(schedule, stages.size(), micro_batches, trains, batch_serialization, recomputation, overlaps_io,
                  [&](std::size_t stage) { return stages[stage]; }) {}

  /// The order of passes that it follows.
  [[nodiscard]] constexpr stagecraft::schedule schedule() const { return schedule_; }
  /// The number of stages; 1 without a pipeline.
  [[nodiscard]] constexpr int stages() const { return stages_; }
  /// Devices that the pipeline takes: the highest of a stage, plus one.
  [[nodiscard]] constexpr int devices() const { return devices_; }
  /// N: those of a weight update, or of an execution.
  [[nodiscard]] constexpr int micro_batches() const { return micro_batches_; }
  /// True if there are backward passes and a weight update.
  [[nodiscard]] constexpr bool trains() const { return trains_; }
  /// Parts that each micro-batch is divided into.
  [[nodiscard]] constexpr int batch_serialization() const { return serialized_; }
  /// `none`, or how: automatic has become what it stands for.
  [[nodiscard]] constexpr recomputation_mode recomputation() const { return recomputation_; }
  /// True if micro-batches come and results leave in slots of their own, beside the passes of others.
  [[nodiscard]] constexpr bool overlaps_io() const { return overlaps_io_; }

  // Passes.
  /// S in inference, 2 S in training.
  [[nodiscard]] constexpr int passes() const { return trains_ ? 2 * stages_ : stages_; }
  /// The number of a stage's forward pass.
  [[nodiscard]] constexpr int forward_pass(int stage) const { return stage; }
  /// The number of a stage's backward pass.
  [[nodiscard]] constexpr int backward_pass(int stage) const { return 2 * stages_ - 1 - stage; }
  /// True for backward passes.
  [[nodiscard]] constexpr bool is_backward(int pass) const { return pass >= stages_; }
  /// The stage of a pass.
  [[nodiscard]] constexpr int stage_of_pass(int pass) const { return is_backward(pass) ? backward_pass(pass) : pass; }
  /// The device of a stage.
  [[nodiscard]] constexpr int device_of_stage(int stage) const { return device_of_stage_[stage]; }
  /// The device of a pass.
  [[nodiscard]] constexpr int device_of_pass(int pass) const { return device_of_stage_[stage_of_pass(pass)]; }
  /// The first stage of a device; stages() if there is none.
  [[nodiscard]] constexpr int first_stage_on(int device) const {
    if (device >= 0 && device < capacity) return first_stage_[device];
    int stage = 0;
    while (stage < stages_ && device_of_stage_[stage] != device) ++stage;
    return stage;
  }
  /// The stage of the same device after another; stages() if there is none.
  [[nodiscard]] constexpr int next_stage_on_device(int stage) const { return next_stage_[stage]; }
  /// Stages that follow each other: S, or fewer where stages are beside each other.
  [[nodiscard]] constexpr int places() const { return places_; }
  /// The place of a pass among those of its micro-batch, from 0: its number, where no stages are beside each other.
  [[nodiscard]] constexpr int place(int pass) const {
    int const own = place_of_stage_[stage_of_pass(pass)];
    return is_backward(pass) ? 2 * places_ - 1 - own : own;
  }
  /// True if a stage works in the slots of the one before it.
  [[nodiscard]] constexpr bool is_beside(int stage) const {
    return stage > 0 && place_of_stage_[stage] == place_of_stage_[stage - 1];
  }
  /// True if the next pass is on another device, and needs a copy.
  [[nodiscard]] constexpr bool sends(int pass) const {
    for (int next = pass + 1; next < passes() && place(next) <= place(pass) + 1; ++next)
      if (place(next) > place(pass) && device_of_pass(next) != device_of_pass(pass)) return true;
    return false;
  }
  /// True if a stage's forward steps are carried out again before its backward steps. The last stage's are not, except
  /// what lies before its last recomputation checkpoint, which is no step of its own here.
  [[nodiscard]] constexpr bool recomputes(int stage) const {
    return recomputation_ != recomputation_mode::none && stage + 1 < stages_;
  }
  /// True if it does so in the slot before that of the backward pass.
  [[nodiscard]] constexpr bool recomputes_ahead(int stage) const {
    if (recomputation_ != recomputation_mode::recompute_then_backpropagate || schedule_ == schedule::sequential ||
        !recomputes(stage))
      return false;
    int const other = next_stage_[stage];
    return first_stage_on(device_of_stage_[stage]) == stage && !recomputes(other);
  }

  // Slots.
  /// Slots in which there are passes, or micro-batches that come or leave. A pipeline that trains updates its weights
  /// in the slot after them.
  [[nodiscard]] constexpr int slots() const {
    int const last = slot(passes() - 1, micro_batches_ - 1), left = outfeed_slot(micro_batches_ - 1);
    return (last > left ? last : left) + 1;
  }
  /// When a pass works on a micro-batch.
  [[nodiscard]] constexpr int slot(int pass, int micro_batch) const {
    return start(micro_batch) + serialized_ * place(pass) + (overlaps_io_ ? 1 : 0);
  }
  /// When a micro-batch comes from the host: in the slot of its first pass, or, with overlapped input and output, in
  /// the one before.
  [[nodiscard]] constexpr int infeed_slot(int micro_batch) const {
    return slot(0, micro_batch) - (overlaps_io_ ? 1 : 0);
  }
  /// When its results go to the host: in the slot of its last forward pass, or in the one after.
  [[nodiscard]] constexpr int outfeed_slot(int micro_batch) const {
    return slot(forward_pass(stages_ - 1), micro_batch) + (overlaps_io_ ? 1 : 0);
  }
  /// The micro-batch on which a pass works in a slot; -1: none.
  [[nodiscard]] constexpr int micro_batch_at(int pass, int slot) const {
    int const from_start = slot - serialized_ * place(pass) - (overlaps_io_ ? 1 : 0);
    if (from_start < 0) return -1;
    int micro_batch = from_start;
    if (schedule_ == stagecraft::schedule::interleaved) {
      micro_batch = rotations_.started_in(from_start);
    } else if (schedule_ == stagecraft::schedule::sequential) {
      int const block = length() * serialized_, in_block = from_start % block;
      micro_batch = in_block < serialized_ ? from_start / block * serialized_ + in_block : -1;
    }
    return micro_batch < micro_batches_ ? micro_batch : -1;
  }
  /// The micro-batch that comes from the host in a slot; -1: none.
  [[nodiscard]] constexpr int infed_at(int slot) const { return micro_batch_at(0, slot + (overlaps_io_ ? 1 : 0)); }
  /// The micro-batch whose results go to the host in a slot; -1: none.
  [[nodiscard]] constexpr int outfed_at(int slot) const {
    return micro_batch_at(forward_pass(stages_ - 1), slot - (overlaps_io_ ? 1 : 0));
  }
  /// When a stage carries out forward steps again for its backward pass over a micro-batch.
  [[nodiscard]] constexpr int recompute_slot(int stage, int micro_batch) const {
    return slot(backward_pass(stage), micro_batch) - (recomputes_ahead(stage) ? 1 : 0);
  }
  /// The micro-batch for which it does so in a slot; -1: none.
  [[nodiscard]] constexpr int recomputed_at(int stage, int slot) const {
    return recomputes(stage) ? micro_batch_at(backward_pass(stage), slot + (recomputes_ahead(stage) ? 1 : 0)) : -1;
  }
  /// The steps of a device in a slot, in order; in slot `slots()` it updates its weights.
  [[nodiscard]] constexpr pipeline::timetable_steps<timetable> steps(int slot, int device) const& {
    return {*this, slot, device};
  }
  pipeline::timetable_steps<timetable> steps(int slot, int device) const&& = delete;

  // The cost of the schedule.
  /// Micro-batches that are in flight at once, between ramp-up and ramp-down: 2 S (grouped, training), S (grouped,
  /// inference), one per rotation of the devices that collides with no other (interleaved: S, if each stage has a
  /// device of its own), 1 (sequential). The number of micro-batches (per batch serialization) is a multiple of it.
  [[nodiscard]] constexpr int overlap_length() const {
    switch (schedule_) {
      case stagecraft::schedule::grouped: return length();
      case stagecraft::schedule::interleaved: return rotations_.count();
      case stagecraft::schedule::sequential: return 1;
    }
    return 1;
  }
  /// Slots before all of them are in flight.
  [[nodiscard]] constexpr int ramp_up_slots() const { return start(most_in_flight() - 1); }
  /// Slots after.
  [[nodiscard]] constexpr int ramp_down_slots() const {
    return start(micro_batches_ - 1) - start(micro_batches_ - most_in_flight());
  }
  /// Slots in between.
  [[nodiscard]] constexpr int steady_slots() const { return slots() - ramp_up_slots() - ramp_down_slots(); }
  /// Passes for which a slot has time: the most that a device carries out in one. 1, except in a grouped pipeline:
  /// there 2 in training (a device alternates between forward and backward), times the stages of the busiest device.
  [[nodiscard]] constexpr int passes_per_slot() const {
    int most = 1;
    if (schedule_ != stagecraft::schedule::grouped) return most;
    for (int pass = 0; pass < passes(); ++pass) {
      int together = 0;
      for (int other = 0; other <= pass; ++other)
        together +=
            place(pass) - place(other) < micro_batches_ && device_of_pass(other) == device_of_pass(pass) ? 1 : 0;
      if (together > most) most = together;
    }
    return most;
  }
  /// The part of the devices' time in which they have nothing to do, from 0 to 1, if all passes take the same time and
  /// all slots the time of passes_per_slot() passes:
  ///
  ///     1 - passes() N / (devices() slots() passes_per_slot())
  ///
  /// With each stage on a device of its own these are Graphcore's numbers: (2 S - 1) / (N + 2 S - 1) in grouped
  /// training, where each device and slot have room for a forward and a backward pass; (S - 1) / (N + S - 1) in
  /// interleaved training and in grouped or interleaved inference; 1 - 1 / S sequentially. The weight update and
  /// what is recomputed do not count.
  [[nodiscard]] constexpr double bubble() const {
    auto const room = static_cast<long long>(devices_) * slots() * passes_per_slot();
    auto const used = static_cast<long long>(passes()) * micro_batches_;
    return static_cast<double>(room - used) / static_cast<double>(room);
  }

  // Tensors that wait in memory.
  /// The depth of the queue between a stage's forward and its backward pass: micro-batches that wait while the stage
  /// works on another. With each stage on a device of its own 2 (S - 1 - stage) grouped, S - 1 - stage interleaved; 0
  /// sequentially and in inference.
  [[nodiscard]] constexpr int fifo_depth(int stage) const {
    return schedule_ == stagecraft::schedule::sequential ? 0 : activations_alive(stage) - 1;
  }
  /// Micro-batches of which a stage holds activations, with the one it works on: fifo_depth(stage) + 1; all of a batch
  /// serialization; 1 in inference.
  [[nodiscard]] constexpr int activations_alive(int stage) const {
    return trains_ ? alive(forward_pass(stage), backward_pass(stage)) : 1;
  }
  /// The least number of buffers in a ring, so that what `first_pass` writes for micro-batch m, into buffer m % depth,
  /// does not destroy what `last_pass` has still to read of m - depth: that pass has come before, in an earlier slot or
  /// in the same slot on the same device.
  [[nodiscard]] constexpr int alive(int first_pass, int last_pass) const {
    int const distance = place(last_pass) - place(first_pass);
    if (distance <= 0) return 1;
    int depth = serialized_;
    if (schedule_ == stagecraft::schedule::grouped)
      depth = finishes_before(last_pass, 0, first_pass, distance) ? distance : distance + 1;
    else if (schedule_ == stagecraft::schedule::interleaved)
      depth = rotations_.most_started_in(distance + 1);
    return depth < micro_batches_ ? depth : micro_batches_;
  }
  /// True if a pass over a micro-batch comes before another pass over another one: in an earlier slot, or in the same
  /// slot, but earlier on the same device.
  [[nodiscard]] constexpr bool finishes_before(int pass, int micro_batch, int other_pass, int other_micro_batch) const {
    int const distance = slot(other_pass, other_micro_batch) - slot(pass, micro_batch);
    return distance > 0 || (distance == 0 && device_of_pass(pass) == device_of_pass(other_pass) &&
                            order_in_slot(pass) < order_in_slot(other_pass));
  }

 private:
  /// The slots from a micro-batch's first pass to the one after its last.
  [[nodiscard]] constexpr int length() const { return trains_ ? 2 * places_ : places_; }
  /// The slot of a micro-batch's first pass.
  [[nodiscard]] constexpr int start(int micro_batch) const {
    switch (schedule_) {
      case stagecraft::schedule::grouped: break;
      case stagecraft::schedule::interleaved: return rotations_.start(micro_batch);
      case stagecraft::schedule::sequential:
        return micro_batch / serialized_ * length() * serialized_ + micro_batch % serialized_;
    }
    return micro_batch;
  }
  /// Micro-batches in flight, including those that arrive or leave during the passes of others.
  [[nodiscard]] constexpr int most_in_flight() const {
    int const most = overlap_length() + (overlaps_io_ ? (trains_ ? 1 : 2) : 0);
    return most < micro_batches_ ? most : micro_batches_;
  }
  [[nodiscard]] constexpr int order_in_slot(int pass) const {
    constexpr int forward = pipeline::place_in_slot(pass_kind::forward),
                  backward = pipeline::place_in_slot(pass_kind::backward);
    return stage_of_pass(pass) + (is_backward(pass) ? backward : forward) * stages_;
  }

  constexpr void chain_stages_of_devices() {
    for (auto& stage : first_stage_) stage = static_cast<unsigned char>(stages_);
    for (int stage = stages_ - 1; stage >= 0; --stage) {
      int const device = device_of_stage_[stage];
      int next = stage + 1;
      if (device >= 0 && device < capacity) {
        next = first_stage_[device];
        first_stage_[device] = static_cast<unsigned char>(stage);
      } else {
        while (next < stages_ && device_of_stage_[next] != device) ++next;
      }
      next_stage_[stage] = static_cast<unsigned char>(next);
    }
  }

  stagecraft::schedule schedule_;
  bool trains_;
  bool overlaps_io_;
  recomputation_mode recomputation_;
  int stages_ = 1;
  int places_ = 1;
  int devices_ = 1;
  int micro_batches_ = 1;
  int serialized_ = 1;
  int device_of_stage_[capacity]{};
  unsigned char place_of_stage_[capacity]{};
  unsigned char first_stage_[capacity]{};  ///< the first stage of each device below `capacity`
  unsigned char next_stage_[capacity]{};   ///< the next stage of the same device
  detail::rotations rotations_;
};

}  // namespace stagecraft
