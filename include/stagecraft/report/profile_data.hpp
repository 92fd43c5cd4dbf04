// SPDX-License-Identifier: BSD-3-Clause
// A profile as plain values of the run time, for reports: what a model needs of the memory and of the time of IPUs.
// Graphcore's counterpart: the report that PopVision's graph analyser reads (libpva).
#pragma once

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

/// What lies in a tile's memory. All of it is there all the time, except `not_always_live`.
enum class memory_category : unsigned char {
  weights,
  optimizer_state,
  gradient_accumulators,
  activations,  ///< kept from pass to pass: the pipeline's queues, and what backward passes need of forward passes
  batches,      ///< inputs, targets and results, where they come from the host or go there
  code,
  vertex_state,
  exchange_code,
  not_always_live,  ///< what single steps need, where they need most at once
};
inline constexpr int memory_category_count = 9;

/// "weights", "optimizer state", ...
[[nodiscard]] constexpr std::string_view to_string(memory_category category) {
  constexpr std::string_view names[memory_category_count]{"weights",      "optimizer state", "gradient accumulators",
                                                          "activations",  "batches",         "code",
                                                          "vertex state", "exchange code",   "not always live"};
  return names[static_cast<int>(category)];
}

/// On what an IPU spends its time.
enum class cycle_kind : unsigned char {
  compute,
  exchange,   ///< between the tiles of the IPU
  sync,       ///< of its tiles, or of several IPUs
  inter_ipu,  ///< between IPUs: activations, gradients, reductions over replicas
  host,       ///< to and from the host
  streaming,  ///< to and from streaming memory
  idle,       ///< it waits for other IPUs
};
inline constexpr int cycle_kind_count = 7;

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
  int ipus_per_replica = 1;               ///< that have stages
  int tiles_per_ipu = 0;                  ///< with those for input and output
  int io_tiles = 0;                       ///< of them, which do not compute
  std::int64_t bytes_per_tile = 0;        ///< of memory
  std::int64_t tile_clock_frequency = 0;  ///< in Hz

  friend bool operator==(profile_machine const&, profile_machine const&) = default;

  /// The time of so many cycles.
  [[nodiscard]] double seconds(std::int64_t cycles) const {
    return tile_clock_frequency > 0 ? static_cast<double>(cycles) / static_cast<double>(tile_clock_frequency) : 0;
  }
};

/// The bytes of one tile, by memory_category.
struct profile_tile {
  std::array<std::int64_t, memory_category_count> bytes{};  ///< in the order of memory_category

  friend bool operator==(profile_tile const&, profile_tile const&) = default;

  /// The bytes of a category.
  [[nodiscard]] std::int64_t operator[](memory_category category) const {
    return bytes[static_cast<std::size_t>(category)];
  }
  [[nodiscard]] std::int64_t& operator[](memory_category category) { return bytes[static_cast<std::size_t>(category)]; }
  /// What is needed at the peak.
  [[nodiscard]] std::int64_t total() const {
    std::int64_t sum = 0;
    for (auto const part : bytes) sum += part;
    return sum;
  }
  /// What is there all the time.
  [[nodiscard]] std::int64_t always_live() const { return total() - (*this)[memory_category::not_always_live]; }
};

/// A step of an IPU's program, and what lies in the memory of the IPU's fullest tile meanwhile.
struct profile_step {
  std::string layer = {};                  ///< its name, or a loss's, or a weight's
  pass_kind pass = pass_kind::forward;     ///< forward, recompute, backward or weight_update
  int stage = -1;                          ///< -1: of no stage
  std::int64_t always_live_bytes = 0;      ///< the same in all steps
  std::int64_t not_always_live_bytes = 0;  ///< on top of them
  std::int64_t cycles = 0;                 ///< that the step takes; 0: not known

  friend bool operator==(profile_step const&, profile_step const&) = default;

  /// What the tile needs while the step runs.
  [[nodiscard]] std::int64_t bytes() const { return always_live_bytes + not_always_live_bytes; }
};

/// One IPU of a replica; those of other replicas are like it.
struct profile_ipu {
  int ipu = 0;                               ///< its number within the replica
  std::vector<profile_tile> tiles = {};      ///< each of the IPU's tiles, from 0
  std::vector<profile_step> steps = {};      ///< its program for one micro-batch and the weight update, in order
  std::int64_t streaming_bytes = 0;          ///< in streaming memory: what is offloaded
  std::vector<std::int64_t> cycles_of = {};  ///< per weight update, by cycle_kind; empty: not known

  friend bool operator==(profile_ipu const&, profile_ipu const&) = default;

  /// Of all of its tiles, in a category.
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
  /// What the fullest tile needs.
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

/// Something that an IPU does for a while.
struct profile_event {
  int ipu = 0;                            ///< its number within the replica
  cycle_kind kind = cycle_kind::compute;  ///< what the time goes to
  pass_kind pass = pass_kind::forward;    ///< what it is done for; infeed and outfeed: for the host; send: for an IPU
  int stage = -1;                         ///< -1: it belongs to none
  int micro_batch = -1;                   ///< -1: it belongs to none
  int layer = -1;                         ///< profile_data::layers' index; -1: it belongs to several, or to none
  std::int64_t begin = 0, end = 0;        ///< in cycles from the begin of the weight update

  friend bool operator==(profile_event const&, profile_event const&) = default;
};

/// A time, in cycles from the begin of the weight update.
struct profile_span {
  std::int64_t begin = 0, end = 0;  ///< the first cycle, and the one after the last

  friend bool operator==(profile_span const&, profile_span const&) = default;
};

/// What the IPUs of a replica do in one weight update (or, without training, with as many micro-batches). Of a long one
/// the steady state, which repeats, is left out but for its begin: then `left_out` says when that is.
struct profile_time_line {
  std::vector<profile_event> events = {};  ///< of an IPU in the order of time, without overlap; IPUs may be mixed
  std::vector<profile_span> slots = {};    ///< of the timetable, those that are not left out
  std::int64_t cycles = 0;                 ///< of all of it
  profile_span left_out = {};              ///< empty: nothing is
  int slots_left_out = 0;                  ///< how many slots are not in `slots`

  friend bool operator==(profile_time_line const&, profile_time_line const&) = default;
};

/// The cycles of a layer's step.
struct profile_cycles {
  std::int64_t compute = 0, exchange = 0,
               sync = 0;  ///< of the tile that takes longest in each compute set and exchange

  friend bool operator==(profile_cycles const&, profile_cycles const&) = default;

  /// All three.
  [[nodiscard]] std::int64_t total() const { return compute + exchange + sync; }
};

/// A call of a layer, a loss, or what else takes time.
struct profile_layer {
  std::string name = {};                        ///< as in the model's summary
  std::string class_name = {};                  ///< "Conv2D"
  int stage = 0;                                ///< that it belongs to
  int ipu = 0;                                  ///< of the replica, that it runs on
  profile_cycles forward, recompute, backward;  ///< per micro-batch
  profile_cycles update;                        ///< of its weights
  std::int64_t weight_bytes = 0;                ///< of all tiles
  std::int64_t temporary_bytes = 0;  ///< of the fullest tile: what the step that needs most allocates for itself
  std::int64_t bytes_exchanged = 0;  ///< per micro-batch, received by the tile that receives most
  std::int64_t flops = 0;            ///< per micro-batch, of all tiles
  double utilisation = 0;            ///< flops per time as a part of what the IPU's units can do at best, 0 to 1

  friend bool operator==(profile_layer const&, profile_layer const&) = default;

  /// Per micro-batch, without the update.
  [[nodiscard]] std::int64_t cycles() const { return forward.total() + recompute.total() + backward.total(); }
};

/// Of one weight update (or, without training, of as many micro-batches), and of one replica unless it says otherwise.
struct profile_totals {
  std::int64_t cycles_per_update = 0;  ///< from the begin of the first micro-batch to the end of the update
  std::int64_t latency_cycles = 0;     ///< from a micro-batch's arrival to its result, forward only
  double seconds_per_update = 0;       ///< the same as a time
  double samples_per_second = 0;       ///< of all replicas
  double latency_seconds = 0;          ///< latency_cycles as a time
  double bubble = 0;                   ///< the part of the IPUs' time in which they wait, 0 to 1
  double exchange_share = 0;           ///< the part of the IPUs' time that goes to exchange and sync, 0 to 1
  std::int64_t flops = 0;              ///< floating-point operations, with what is computed again
  double flops_per_second = 0;         ///< of all replicas
  double utilisation = 0;              ///< of what the IPUs can do at best, 0 to 1

  friend bool operator==(profile_totals const&, profile_totals const&) = default;
};

/// A model's profile. `profile_data_of` makes it, the functions of report/ show it.
struct profile_data {
  std::string model = {};                                         ///< its name
  profile_machine machine = {};                                   ///< what it runs on
  std::string dtype_policy = "float32";                           ///< Keras's name of it
  bool trains = true;                                             ///< false: predictions alone
  stagecraft::schedule schedule = stagecraft::schedule::grouped;  ///< of the pipeline
  std::vector<int> device_of_stage = {0};                         ///< the IPU of each stage
  std::vector<int> stages_beside = {};  ///< those that work at the same time as the one before
  int batch_size = 1;                   ///< samples of a micro-batch
  int micro_batches = 1;                ///< of a replica, per weight update
  int batch_serialization = 1;          ///< passes that each micro-batch is divided into, of the sequential schedule
  /// Which forward steps backward passes carry out again.
  stagecraft::recomputation_mode recomputation_mode = stagecraft::recomputation_mode::none;
  bool overlaps_io = false;                ///< micro-batches come, and results leave, while others are worked on
  std::vector<profile_ipu> ipus = {};      ///< of one replica
  profile_time_line time_line = {};        ///< when which IPU does what
  std::vector<profile_layer> layers = {};  ///< calls of layers, losses and the like
  profile_totals totals = {};              ///< time and work of all of it

  friend bool operator==(profile_data const&, profile_data const&) = default;

  /// How many stages there are.
  [[nodiscard]] int stages() const { return static_cast<int>(device_of_stage.size()); }
  /// Samples per weight update, of all replicas.
  [[nodiscard]] std::int64_t effective_batch_size() const {
    return std::int64_t{batch_size} * micro_batches * machine.replicas;
  }
  /// Whether no tile needs more than it has.
  [[nodiscard]] bool fits() const {
    return std::all_of(ipus.begin(), ipus.end(),
                       [&](auto const& ipu) { return ipu.most_bytes() <= machine.bytes_per_tile; });
  }
  /// When which pass works on which micro-batch.
  [[nodiscard]] stagecraft::timetable timetable() const {
    std::vector<pipeline::placed_stage> placed;
    for (int const device : device_of_stage) placed.push_back({device});
    for (int const stage : stages_beside)
      if (stage > 0 && stage < stages()) placed[static_cast<std::size_t>(stage)].is_beside = true;
    return {schedule, placed, micro_batches, trains, batch_serialization, recomputation_mode, overlaps_io};
  }
};

}  // namespace stagecraft
