// SPDX-License-Identifier: BSD-3-Clause
// Which IPUs are emulated, and how models are laid out on them: those options of Graphcore's IPUConfig that mean
// something where no hardware is attached.
#pragma once

#include <stagecraft/graph/dtype.hpp>
#include <stagecraft/machines/ipu_target.hpp>

namespace stagecraft {

/// Names a description that is a constant: `ipu_targets::bow`, or one's own `inline constexpr stagecraft::ipu_target`.
/// It is only named, so that types and messages that depend on a configuration do not hold all its numbers.
struct ipu_version {
  ipu_target const* target;

  constexpr ipu_version(ipu_target const& named) noexcept : target(&named) {}
  ipu_version(ipu_target const&&) = delete;  // give the description a name: a constant at namespace scope

  [[nodiscard]] constexpr ipu_target const& operator*() const noexcept { return *target; }
  [[nodiscard]] constexpr ipu_target const* operator->() const noexcept { return target; }
  friend constexpr bool operator==(ipu_version, ipu_version) = default;
};

/// IPUConfig.ipu_model.
struct ipu_model_options {
  /// IPUConfig's "ipu1", "ipu2" and "ipu21" are `ipu_targets::ipu1`, `ipu2` and `ipu21`; `ipu_targets::bow`; or a
  /// constant with a description of one's own (E3008).
  ipu_version version = ipu_targets::ipu2;
  /// 0: all tiles of the version. Fewer make a smaller machine (E3003).
  int tiles_per_ipu = 0;
  /// True if vertices run tile by tile, each tile with a memory of its own, and every access of one is checked: slow,
  /// for small machines and models. Otherwise the work of all tiles is done by kernels for the host.
  bool checked = false;

  friend constexpr bool operator==(ipu_model_options const&, ipu_model_options const&) = default;
};

/// IPUConfig's `matmuls.poplar_options` and `convolutions.poplar_options`: how matrix products and convolutions are
/// divided among tiles. Defaults: poplibs, ConvOptions.
struct poplar_options {
  /// Plans take at most this part of a tile's memory for temporary data, where such a plan exists; 0 asks for the plan
  /// that takes least. From 0 to 1 (E3004).
  float available_memory_proportion = 0.6F;
  /// The type of partial sums, float32 or float16 (E3005; Poplar says "float" and "half"). Products of float32 have
  /// float32 partial sums in any case.
  dtype partials_type = dtype::float32;
  /// Poplar's use128BitConvUnitLoad: weights are loaded into the units at twice the speed.
  bool use_128bit_conv_unit_load = false;

  friend constexpr bool operator==(poplar_options const&, poplar_options const&) = default;
};

/// IPUConfig's `floating_point_behaviour.esr`: whether results in float16 are rounded at random, up or down with the
/// probabilities that make their mean right. With `replica_identical_only`, only where all replicas do the same.
enum class stochastic_rounding_behaviour : unsigned char { off, on, replica_identical_only };

/// IPUConfig.floating_point_behaviour: what stops a run. `set_all` of the original is to write all of them.
struct floating_point_behaviour_options {
  bool inv = false;    ///< an invalid operation, such as 0 / 0
  bool div0 = false;   ///< a division by zero
  bool oflo = false;   ///< a result that is too large for its type
  bool nanoo = false;  ///< float16 results that are too large become NaN; otherwise the largest number
  /// True if results in float16 are rounded at random (stochastic rounding).
  stochastic_rounding_behaviour esr = stochastic_rounding_behaviour::off;

  friend constexpr bool operator==(floating_point_behaviour_options const&,
                                   floating_point_behaviour_options const&) = default;
};

/// IPUConfig.io_tiles: tiles that only talk to the host and to streaming memory.
struct io_tiles_options {
  int num_io_tiles = 0;  ///< I/O tiles of each IPU; at least one tile is left to compute (E3007)
  /// They do so while the others compute, which needs I/O tiles (E3006): a micro-batch comes a slot before its first
  /// pass, and its results leave a slot after. Of models with stages, in the grouped schedule only (E2059), and with at
  /// least two more micro-batches than it works on at once (E2024, E2025). If it is not set, the tiles do nothing.
  bool place_ops_on_io_tiles = false;
  /// The part of the I/O tiles' memory that data may take; the rest is for code. From 0 to 1 (E3004). If what comes and
  /// goes does not fit in, Graphcore's TensorFlow warns and places nothing there; here it is an error (E3046).
  float available_memory_proportion = 0.9F;

  friend constexpr bool operator==(io_tiles_options const&, io_tiles_options const&) = default;
};

/// IPUConfig.optimizations. Those for code that Poplar would write have no counterpart.
struct optimization_options {
  bool prefetch_data_streams = true;     ///< the host has data ready before the IPU asks for them
  bool enable_graph_outlining = true;    ///< steps that are alike share one copy of their code
  int minimum_remote_tensor_size = 128;  ///< smaller tensors, in bytes, are never offloaded (E3009)

  friend constexpr bool operator==(optimization_options const&, optimization_options const&) = default;
};

/// The emulated IPUs. Defaults are IPUConfig's; the rules are `ipu_config_problem`'s.
///
/// Not here: select_ipus, selection_order, device_connection and the like, which choose hardware; compile_ipu_code, the
/// options of libraries that are not emulated, and the scheduler's.
struct ipu_config {
  /// The number of IPUs: 1, or an even number, since IPUs come in pairs (E3001, E3002). One program uses all of
  /// them. A list of numbers, for several programs, is not taken.
  int auto_select_ipus = 1;
  /// Backward passes may repeat forward steps instead of finding what they kept: a training description that leaves
  /// its recomputation_mode at `none` then has `automatic`.
  bool allow_recompute = false;
  /// The kind of IPU, its number of tiles, and whether it is emulated tile by tile.
  ipu_model_options ipu_model = {};
  /// The options of matrix products: memory and the type of partial sums.
  poplar_options matmuls = {};
  /// The options of convolutions: memory and the type of partial sums.
  poplar_options convolutions = {};
  /// The exceptions that stop a run, such as an overflow, and the rounding of results in float16.
  floating_point_behaviour_options floating_point_behaviour = {};
  /// The tiles that talk to the host while the others compute.
  io_tiles_options io_tiles = {};
  /// Options for speed and memory: data ready ahead, code that is shared, what may be offloaded.
  optimization_options optimizations = {};

  friend constexpr bool operator==(ipu_config const&, ipu_config const&) = default;

  /// The kind of IPU, with as many tiles as are emulated.
  [[nodiscard]] constexpr ipu_target target() const {
    ipu_target result = *ipu_model.version;
    if (ipu_model.tiles_per_ipu > 0) result.tiles_per_ipu = ipu_model.tiles_per_ipu;
    return result;
  }
  /// The kind of IPU, with as many tiles as compute: those that are no I/O tiles.
  [[nodiscard]] constexpr ipu_target compute_target() const {
    ipu_target result = target();
    result.tiles_per_ipu -= io_tiles.num_io_tiles;
    return result;
  }
};

}  // namespace stagecraft
