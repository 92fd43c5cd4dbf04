// SPDX-License-Identifier: BSD-3-Clause
// A profile as plain run-time values, for reports: the memory and the time that a model needs on IPUs.
// Graphcore's counterpart: the report that PopVision's graph analyser reads (libpva).
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/pipeline/schedule/schedule.hpp>
#include <stagecraft/pipeline/schedule/timetable.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// Categories of a tile's memory. All but `not_always_live` are in use all the time.
enum class memory_category : unsigned char {
  weights,
  optimizer_state,
  gradient_accumulators,
  activations,  ///< tensors kept between passes: rings of the pipeline, and values saved for backward passes
  batches,      ///< inputs, targets and results that come from the host or go there
  code,
  vertex_state,
  exchange_code,
  not_always_live,  ///< temporary tensors of the step that needs most
};
inline constexpr int memory_category_count = 9;  ///< the number of categories

/// "weights", "optimizer state", ...
[[nodiscard]] constexpr std::string_view to_string(memory_category category) {
  constexpr std::string_view names[memory_category_count]{"weights",      "optimizer state", "gradient accumulators",
                                                          "activations",  "batches",         "code",
                                                          "vertex state", "exchange code",   "not always live"};
  return names[static_cast<int>(category)];
}

/// The uses of an IPU's time.
enum class cycle_kind : unsigned char {
  compute,
  exchange,   ///< exchange between the tiles of the IPU
  sync,       ///< syncs of its tiles, or of several IPUs
  inter_ipu,  ///< transfers between IPUs: activations, gradients, reductions over replicas
  host,       ///< transfers with the host
  streaming,  ///< transfers with streaming memory
  idle,       ///< waiting for other IPUs
};
inline constexpr int cycle_kind_count = 7;  ///< the number of kinds

/// "compute", "exchange", ...
[[nodiscard]] constexpr std::string_view to_string(cycle_kind kind) {
  constexpr std::string_view names[cycle_kind_count]{"compute", "exchange",  "sync", "between IPUs",
                                                     "host",    "streaming", "idle"};
  return names[static_cast<int>(kind)];
}

/// The IPUs that a model runs on.
struct profile_machine {
  std::string name = {};                  ///< "ipu2"
  int replicas = 1;                       ///< copies of the model
  int ipus_per_replica = 1;               ///< IPUs of a replica that have stages
  int tiles_per_ipu = 0;                  ///< all tiles of an IPU, I/O tiles included
  int io_tiles = 0;                       ///< I/O tiles of an IPU, which do not compute
  std::int64_t bytes_per_tile = 0;        ///< memory of a tile
  std::int64_t tile_clock_frequency = 0;  ///< Hz

  friend bool operator==(profile_machine const&, profile_machine const&) = default;

  /// The time of `cycles` cycles.
  [[nodiscard]] double seconds(std::int64_t cycles) const {
    return tile_clock_frequency > 0 ? static_cast<double>(cycles) / static_cast<double>(tile_clock_frequency) : 0;
  }
};

/// The bytes of one tile, by memory_category.
struct profile_tile {
  std::array<std::int64_t, memory_category_count> bytes{};  ///< bytes by memory_category

  friend bool operator==(profile_tile const&, profile_tile const&) = default;

  /// The bytes of a category.
  [[nodiscard]] std::int64_t operator[](memory_category category) const {
    return bytes[static_cast<std::size_t>(category)];
  }
  [[nodiscard]] std::int64_t& operator[](memory_category category) { return bytes[static_cast<std::size_t>(category)]; }
  /// Bytes that are needed at the peak.
  [[nodiscard]] std::int64_t total() const {
    std::int64_t sum = 0;
    for (auto const part : bytes) sum += part;
    return sum;
  }
  /// Bytes that are in use all the time.
  [[nodiscard]] std::int64_t always_live() const { return total() - (*this)[memory_category::not_always_live]; }
};

/// A step of an IPU, and the memory of the IPU's fullest tile meanwhile.
struct profile_step {
  std::string layer = {};                  ///< name of the layer, the loss or the weight
  pass_kind pass = pass_kind::forward;     ///< forward, recompute, backward or weight_update
  int stage = -1;                          ///< number of the stage; -1: none
  std::int64_t always_live_bytes = 0;      ///< bytes in use all the time, equal in all steps
  std::int64_t not_always_live_bytes = 0;  ///< further bytes in use while the step runs
  std::int64_t cycles = 0;                 ///< cycles of the step; 0: not known

  friend bool operator==(profile_step const&, profile_step const&) = default;

  /// Bytes that the tile needs while the step runs.
  [[nodiscard]] std::int64_t bytes() const { return always_live_bytes + not_always_live_bytes; }
};

/// One IPU of a replica; the IPUs of other replicas are alike.
struct profile_ipu {
  int ipu = 0;                               ///< its number within the replica
  std::vector<profile_tile> tiles = {};      ///< each of the IPU's tiles, from 0
  std::vector<profile_step> steps = {};      ///< its steps for one micro-batch and the weight update, in order
  std::int64_t streaming_bytes = 0;          ///< bytes offloaded to streaming memory
  std::vector<std::int64_t> cycles_of = {};  ///< cycles of a weight update by cycle_kind; empty: not known

  friend bool operator==(profile_ipu const&, profile_ipu const&) = default;

  /// Bytes of a category on all of its tiles.
  [[nodiscard]] std::int64_t bytes(memory_category category) const {
    std::int64_t sum = 0;
    for (auto const& tile : tiles) sum += tile[category];
    return sum;
  }
  /// The tile that needs most, the first of several; -1: there is none.
  [[nodiscard]] int fullest_tile() const {
    int fullest = -1;
    for (std::size_t i = 0; i < tiles.size(); ++i)
      if (fullest < 0 || tiles[i].total() > tiles[static_cast<std::size_t>(fullest)].total())
        fullest = static_cast<int>(i);
    return fullest;
  }
  /// Bytes that the fullest tile needs.
  [[nodiscard]] std::int64_t most_bytes() const {
    int const fullest = fullest_tile();
    return fullest < 0 ? 0 : tiles[static_cast<std::size_t>(fullest)].total();
  }
  /// The step that needs most, the first of several; -1: there is none.
  [[nodiscard]] int peak_step() const {
    int peak = -1;
    for (std::size_t i = 0; i < steps.size(); ++i)
      if (peak < 0 || steps[i].bytes() > steps[static_cast<std::size_t>(peak)].bytes()) peak = static_cast<int>(i);
    return peak;
  }
};

/// An activity of an IPU.
struct profile_event {
  int ipu = 0;                            ///< its number within the replica
  cycle_kind kind = cycle_kind::compute;  ///< the use of the time
  pass_kind pass = pass_kind::forward;    ///< the pass; infeed and outfeed: a transfer with the host; send: to an IPU
  int stage = -1;                         ///< number of the stage; -1: none
  int micro_batch = -1;                   ///< number of the micro-batch; -1: none
  int layer = -1;                         ///< index into profile_data::layers; -1: several, or none
  std::int64_t begin = 0, end = 0;        ///< cycles from the begin of the weight update

  friend bool operator==(profile_event const&, profile_event const&) = default;
};

/// A time, in cycles from the begin of the weight update.
struct profile_span {
  std::int64_t begin = 0, end = 0;  ///< the first cycle, and the one after the last

  friend bool operator==(profile_span const&, profile_span const&) = default;
};

/// The activities of a replica's IPUs in one weight update (in inference: over as many micro-batches). A long time line
/// has only the begin of the steady state, which repeats; `left_out` is the time that is missing.
struct profile_time_line {
  std::vector<profile_event> events =
      {};  ///< events, those of an IPU in the order of time, without overlap; IPUs may be mixed
  std::vector<profile_span> slots = {};  ///< slots of the timetable that are not left out
  std::int64_t cycles = 0;               ///< cycles of the whole time line
  profile_span left_out = {};            ///< the time that is left out; may be empty
  int slots_left_out = 0;                ///< number of slots that are not in `slots`

  friend bool operator==(profile_time_line const&, profile_time_line const&) = default;
};

/// The cycles of a layer's step.
struct profile_cycles {
  std::int64_t compute = 0, exchange = 0,
               sync = 0;  ///< cycles of the tile that takes longest in each compute set and exchange

  friend bool operator==(profile_cycles const&, profile_cycles const&) = default;

  /// The sum of the three.
  [[nodiscard]] std::int64_t total() const { return compute + exchange + sync; }
};

/// A call of a layer, a loss, or another thing that takes time.
struct profile_layer {
  std::string name = {};                        ///< name in the model's summary
  std::string class_name = {};                  ///< "Conv2D"
  int stage = 0;                                ///< the stage that it belongs to
  int ipu = 0;                                  ///< the IPU of the replica that it runs on
  profile_cycles forward, recompute, backward;  ///< cycles per micro-batch
  profile_cycles update;                        ///< cycles of updating its weights
  std::int64_t weight_bytes = 0;                ///< bytes of weights on all tiles
  std::int64_t temporary_bytes = 0;  ///< bytes on the fullest tile of temporary tensors, in the step that needs most
  std::int64_t bytes_exchanged = 0;  ///< bytes per micro-batch that the tile which receives most receives
  std::int64_t flops = 0;            ///< floating-point operations per micro-batch on all tiles
  double utilisation = 0;            ///< flops per second divided by the most that the IPU's units can do, 0 to 1

  friend bool operator==(profile_layer const&, profile_layer const&) = default;

  /// Cycles per micro-batch, the update excluded.
  [[nodiscard]] std::int64_t cycles() const { return forward.total() + recompute.total() + backward.total(); }
};

/// Totals of one weight update (in inference: of as many micro-batches), for one replica unless a field says otherwise.
struct profile_totals {
  std::int64_t cycles_per_update = 0;  ///< cycles from the begin of the first micro-batch to the end of the update
  std::int64_t latency_cycles = 0;     ///< cycles from a micro-batch's arrival to its result, forward passes only
  double seconds_per_update = 0;       ///< cycles_per_update as a time
  double samples_per_second = 0;       ///< samples of all replicas in a second
  double latency_seconds = 0;          ///< latency_cycles as a time
  double bubble = 0;                   ///< the part of the IPUs' time in which they wait, 0 to 1
  double exchange_share = 0;           ///< the part of the IPUs' time that goes to exchange and sync, 0 to 1
  std::int64_t flops = 0;              ///< floating-point operations, recomputed steps included
  double flops_per_second = 0;         ///< floating-point operations of all replicas in a second
  double utilisation = 0;              ///< flops_per_second divided by the most that the IPUs can do, 0 to 1

  friend bool operator==(profile_totals const&, profile_totals const&) = default;
};

/// A model's profile. `profile_data_of` makes it, the functions of report/ show it.
struct profile_data {
  std::string model = {};                                         ///< name of the model
  profile_machine machine = {};                                   ///< IPUs that it runs on
  std::string dtype_policy = "float32";                           ///< Keras's name of the dtype policy
  bool trains = true;                                             ///< false: predictions alone
  stagecraft::schedule schedule = stagecraft::schedule::grouped;  ///< schedule of the pipeline
  std::vector<int> device_of_stage = {0};                         ///< the IPU of each stage
  std::vector<int> stages_beside = {};  ///< stages that work at the same time as the one before
  int batch_size = 1;                   ///< samples of a micro-batch
  int micro_batches = 1;                ///< micro-batches of a replica per weight update
  int batch_serialization = 1;          ///< passes that the sequential schedule divides each micro-batch into
  /// The forward steps that backward passes carry out again.
  stagecraft::recomputation_mode recomputation_mode = stagecraft::recomputation_mode::none;
  bool overlaps_io = false;                ///< micro-batches come, and results leave, while others are worked on
  std::vector<profile_ipu> ipus = {};      ///< IPUs of one replica
  profile_time_line time_line = {};        ///< activities of the IPUs over time
  std::vector<profile_layer> layers = {};  ///< calls of layers, losses and the like
  profile_totals totals = {};              ///< time and work of the whole model

  friend bool operator==(profile_data const&, profile_data const&) = default;

  /// The number of stages.
  [[nodiscard]] int stages() const { return static_cast<int>(device_of_stage.size()); }
  /// Samples per weight update, of all replicas.
  [[nodiscard]] std::int64_t effective_batch_size() const {
    return std::int64_t{batch_size} * micro_batches * machine.replicas;
  }
  /// True if no tile needs more memory than it has.
  [[nodiscard]] bool fits() const {
    return std::all_of(ipus.begin(), ipus.end(),
                       [&](auto const& ipu) { return ipu.most_bytes() <= machine.bytes_per_tile; });
  }
  /// The timetable: the slot in which each pass works on each micro-batch.
  [[nodiscard]] stagecraft::timetable timetable() const {
    std::vector<pipeline::placed_stage> placed;
    for (int const device : device_of_stage) placed.push_back({device});
    for (int const stage : stages_beside)
      if (stage > 0 && stage < stages()) placed[static_cast<std::size_t>(stage)].is_beside = true;
    return {schedule, placed, micro_batches, trains, batch_serialization, recomputation_mode, overlaps_io};
  }
};

}  // namespace stagecraft

#include <stagecraft/diagnostics/end_headers.hpp>
