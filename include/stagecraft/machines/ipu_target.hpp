// SPDX-License-Identifier: BSD-3-Clause
// What an IPU is, in numbers: the counterpart of Poplar's Target and IPUModel.
//
// Sources, as named below:
//   [data sheet]  Graphcore's public data sheets and product pages of GC2, GC200, Bow and C600
//   [guide]       Graphcore's IPU programmer's guide
//   [Jia]         Jia, Tillman, Maggioni, Scarpazza: Dissecting the Graphcore IPU Architecture, arXiv 1912.03413
//   [poplibs]     graphcore/poplibs, lib/poplin (planner), lib/poplibs_test/Util.cpp (the model of its tests)
//   [addons]      graphcore/ipu_tensorflow_addons, keras/experimental/auto_pipeline
//   [generator]   constants in an independent code generator for the C600; taken for all IPUs
//   [derived]     follows from the others
#pragma once

#include <stagecraft/diagnostics/text.hpp>
#include <stagecraft/graph/dtype.hpp>
#include <cstdint>

namespace stagecraft {

/// A kind of IPU, alone or in a system of several. A structural type: a description of one's own is written like those
/// of `ipu_targets`, whole or as a changed copy, and checked where it is used (E3008). Every default is GC200's.
/// Elements of 8 bits (the C600's fp8) are not described, since no tensor here has them.
struct ipu_target {
  fixed_text<15> name = "ipu";

  // The tiles.
  int tiles_per_ipu = 1472;                           ///< [data sheet]
  int bytes_per_tile = 624 * 1024;                    ///< [data sheet]
  int num_worker_contexts = 6;                        ///< [guide]: threads, each of which issues every 6th cycle
  std::int64_t tile_clock_frequency = 1'330'000'000;  ///< in Hz. [data sheet]; 1.325 to 1.35 GHz are quoted
  int data_path_width = 64;                           ///< bits of a load or store [guide]
  int memcpy_bytes_per_cycle = 8;                     ///< copies within a tile's memory [generator]

  // The units for matrix products and convolutions (AMP). [poplibs] lib/poplin/ConvVertexType.cpp
  int fp16_in_fp16_out_conv_units_per_tile = 16;
  int fp16_in_fp32_out_conv_units_per_tile = 8;  ///< half of them: 4 x 2 partial sums fill 64 bits per cycle
  int fp32_in_fp32_out_conv_units_per_tile = 16;
  int conv_unit_max_pipeline_depth = 4;               ///< weights that an element passes in a unit
  int fp16_conv_unit_input_load_elems_per_cycle = 4;  ///< 64 bits
  int fp32_conv_unit_input_load_elems_per_cycle = 2;  ///< 64 bits
  int conv_unit_coeff_load_bytes_per_cycle = 16;      ///< the most; half of it without loads of 128 bits

  // Exchange between the tiles of an IPU.
  float exchange_bytes_per_cycle = 4;     ///< that a tile receives. [generator]; [data sheet]'s total follows from it
  int tiles_per_shared_exchange_bus = 2;  ///< neighbours that receive the same data at the same time [generator]
  int max_ipu_sync_delay = 126;           ///< cycles from the last tile's arrival to its release [generator]

  // Several IPUs: pairs, one above the other like the rungs of a ladder. [poplibs] lib/poplibs_test/Util.cpp
  std::int64_t ipu_link_bits_per_second =
      128LL * 1024 * 1024 * 1024;  ///< bits per second of one link, in each direction
  int ipu_link_efficiency_percent = 85;
  int links_within_pair = 4;    ///< links between the two IPUs of a pair
  int links_across_ladder = 2;  ///< links to the other side of the ladder
  int links_along_ladder = 2;   ///< links to the next pair, in each direction
  int sync_hop_nanoseconds = 15;
  int global_sync_cycles = 600;  ///< the least cycles of a sync of several IPUs [generator]

  // The host, and the streaming memory beside the IPU.
  std::int64_t host_bytes_per_second = 7LL * 1024 * 1024 * 1024;  ///< [addons]
  int host_latency_cycles = 50'000;                               ///< [addons], before the first byte of a transfer
  std::int64_t streaming_memory_bytes = 64'000'000'000;  ///< an IPU's share. [data sheet]: 256 GB for 4 (Bow-2000)
  /// No figure is published. It lies beyond the gateway to the host, and is taken to be as fast.
  std::int64_t streaming_memory_bytes_per_second = 7LL * 1024 * 1024 * 1024;
  int streaming_memory_latency_cycles = 50'000;

  friend constexpr bool operator==(ipu_target const&, ipu_target const&) = default;

  /// Elements in the width of the data path: 2 float32, 4 float16.
  [[nodiscard]] constexpr int vector_width(dtype type) const noexcept { return data_path_width / (8 * size_of(type)); }

  /// Units that work on inputs and partial sums of these types; float32 inputs have float32 partial sums.
  [[nodiscard]] constexpr int conv_units(dtype in, dtype partials) const noexcept {
    if (in != dtype::float16) return fp32_in_fp32_out_conv_units_per_tile;
    return partials == dtype::float16 ? fp16_in_fp16_out_conv_units_per_tile : fp16_in_fp32_out_conv_units_per_tile;
  }
  [[nodiscard]] constexpr int conv_unit_input_load_elems_per_cycle(dtype in) const noexcept {
    return in == dtype::float16 ? fp16_conv_unit_input_load_elems_per_cycle : fp32_conv_unit_input_load_elems_per_cycle;
  }
  /// Input channels that a unit multiplies: 16 of float16, 8 of float32.
  [[nodiscard]] constexpr int weights_per_conv_unit(dtype in) const noexcept {
    return conv_unit_max_pipeline_depth * conv_unit_input_load_elems_per_cycle(in);
  }
  [[nodiscard]] constexpr int weight_bytes_per_conv_unit(dtype in) const noexcept {
    return weights_per_conv_unit(in) * size_of(in);
  }
  /// Cycles in which each unit works off an element of the output's field, all of its weights.
  /// [poplibs] PerformanceEstimation.hpp, "core cycles"
  [[nodiscard]] static constexpr int conv_unit_cycles_per_element(dtype in) noexcept {
    return in == dtype::float16 ? 4 : 8;
  }

  /// Multiplications with addition that a tile does in a cycle at best: on GC200 64 with float16 partial sums, 32 with
  /// float32 ones, 16 in float32.
  [[nodiscard]] constexpr int macs_per_cycle(dtype in, dtype partials) const noexcept {
    return conv_units(in, partials) * weights_per_conv_unit(in) / conv_unit_cycles_per_element(in);
  }
  /// Peak FLOPs of the whole IPU; an addition and a multiplication count as two.
  [[nodiscard]] constexpr std::int64_t peak_flops_per_second(dtype in, dtype partials) const noexcept {
    return 2 * macs_per_cycle(in, partials) * tiles_per_ipu * tile_clock_frequency;
  }
  [[nodiscard]] constexpr std::int64_t bytes_per_ipu() const noexcept {
    return std::int64_t{tiles_per_ipu} * bytes_per_tile;
  }
  [[nodiscard]] constexpr int threads_per_ipu() const noexcept { return tiles_per_ipu * num_worker_contexts; }
  /// Bytes that all tiles of an IPU receive in a second of exchange.
  [[nodiscard]] constexpr std::int64_t exchange_bytes_per_second() const noexcept {
    return static_cast<std::int64_t>(static_cast<double>(exchange_bytes_per_cycle) * tiles_per_ipu *
                                     static_cast<double>(tile_clock_frequency));
  }
  /// Bytes of a unit's weights that are loaded in a cycle.
  [[nodiscard]] constexpr int coeff_load_bytes_per_cycle(bool use_128bit_conv_unit_load) const noexcept {
    return use_128bit_conv_unit_load ? conv_unit_coeff_load_bytes_per_cycle : conv_unit_coeff_load_bytes_per_cycle / 2;
  }
  [[nodiscard]] constexpr double seconds(std::int64_t cycles) const noexcept {
    return static_cast<double>(cycles) / static_cast<double>(tile_clock_frequency);
  }
};

/// The IPUs that were built.
namespace ipu_targets {

/// Colossus Mk1, GC2: IPUConfig's version "ipu1".
inline constexpr ipu_target ipu1{
    .name = "ipu1",
    .tiles_per_ipu = 1216,                  // [Jia], table 1
    .bytes_per_tile = 256 * 1024,           // [Jia]: 304 MiB in all
    .tile_clock_frequency = 1'600'000'000,  // [Jia]
    // 8 units for everything [poplibs]: 124.5 and 31.1 TFLOP/s of [Jia] follow from it.
    .fp16_in_fp16_out_conv_units_per_tile = 8,
    .fp16_in_fp32_out_conv_units_per_tile = 8,
    .fp32_in_fp32_out_conv_units_per_tile = 8,
};

/// Colossus Mk2, GC200, of the IPU-M2000: IPUConfig's version "ipu2".
inline constexpr ipu_target ipu2{.name = "ipu2"};

/// Bow, of the Bow-2000: GC200's tiles with a faster clock [data sheet]. IPUConfig calls it "ipu2", too.
inline constexpr ipu_target bow{.name = "bow", .tile_clock_frequency = 1'850'000'000};

/// C600: IPUConfig's version "ipu21". The clock is [derived] from the 280 TFLOP/s of [data sheet].
inline constexpr ipu_target ipu21{.name = "ipu21", .tile_clock_frequency = 1'490'000'000};

}  // namespace ipu_targets

}  // namespace stagecraft

namespace stagecraft::machines {

/// True if a number is what was published, up to 1 percent: published figures are rounded, and so are clocks.
constexpr bool is_about(std::int64_t number, std::int64_t published) {
  auto const difference = number < published ? published - number : number - published;
  return difference <= published / 100;
}

constexpr std::int64_t fp32_peak(ipu_target const& ipu) {
  return ipu.peak_flops_per_second(dtype::float32, dtype::float32);
}
constexpr std::int64_t fp16_peak(ipu_target const& ipu) {
  return ipu.peak_flops_per_second(dtype::float16, dtype::float16);
}

// The published figures follow from the numbers above.
static_assert(is_about(fp32_peak(ipu_targets::ipu1), 31'100'000'000'000));
static_assert(is_about(fp16_peak(ipu_targets::ipu1), 124'500'000'000'000));
static_assert(ipu_targets::ipu1.peak_flops_per_second(dtype::float16, dtype::float32) == fp16_peak(ipu_targets::ipu1));
static_assert(is_about(fp32_peak(ipu_targets::ipu2), 62'500'000'000'000));
static_assert(is_about(fp16_peak(ipu_targets::ipu2), 250'000'000'000'000));
static_assert(is_about(fp32_peak(ipu_targets::bow), 87'500'000'000'000));
static_assert(is_about(fp16_peak(ipu_targets::bow), 350'000'000'000'000));
static_assert(is_about(fp16_peak(ipu_targets::ipu21), 280'000'000'000'000));
static_assert(is_about(ipu_targets::ipu1.exchange_bytes_per_second(), 7'800'000'000'000));
static_assert(is_about(ipu_targets::ipu2.exchange_bytes_per_second(), 7'800'000'000'000));
static_assert(is_about(ipu_targets::bow.exchange_bytes_per_second(), 10'900'000'000'000));
static_assert(ipu_targets::ipu1.bytes_per_ipu() == 304LL * 1024 * 1024);
static_assert(ipu_targets::ipu2.bytes_per_ipu() == 897LL * 1024 * 1024);  // "900 MB"
static_assert(ipu_targets::ipu1.threads_per_ipu() == 7296 && ipu_targets::ipu2.threads_per_ipu() == 8832);

}  // namespace stagecraft::machines
