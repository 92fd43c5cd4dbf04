// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/machines/ipu_devices.hpp>
#include <doctest/doctest.h>
#include <limits>

namespace sc = stagecraft;

namespace {

constexpr int code_of(sc::ipu_config const& config) { return sc::tiles::ipu_config_problem(config).code; }

// Defaults are IPUConfig's, with one IPU.
static_assert(code_of({}) == 0);
static_assert(sc::ipu_devices<>::devices == 1 && sc::ipu_devices<>::target.tiles_per_ipu == 1472);
static_assert(sc::ipu_devices<>::target == sc::ipu_targets::ipu2);

// What a configuration makes of a kind of IPU.
using small = sc::ipu_devices<sc::ipu_config{.auto_select_ipus = 2,
                                             .ipu_model = {.version = sc::ipu_targets::bow, .tiles_per_ipu = 64},
                                             .io_tiles = {.num_io_tiles = 8}}>;
static_assert(small::devices == 2 && small::config.target().tiles_per_ipu == 64);
static_assert(small::target.tiles_per_ipu == 56 && small::io_tiles == 8);
static_assert(small::target.tile_clock_frequency == sc::ipu_targets::bow.tile_clock_frequency);

static_assert(code_of({.auto_select_ipus = 0}) == 3001 && code_of({.auto_select_ipus = -2}) == 3001);
static_assert(code_of({.auto_select_ipus = 256}) == 0 && code_of({.auto_select_ipus = 258}) == 3001);
static_assert(code_of({.auto_select_ipus = 2}) == 0 && code_of({.auto_select_ipus = 6}) == 0);
static_assert(code_of({.auto_select_ipus = 5}) == 3002);

static_assert(code_of({.ipu_model = {.tiles_per_ipu = 1472}}) == 0);
static_assert(code_of({.ipu_model = {.tiles_per_ipu = 1473}}) == 3003);
static_assert(code_of({.ipu_model = {.tiles_per_ipu = -1}}) == 3003);

static_assert(code_of({.matmuls = {.available_memory_proportion = 0.0F}}) == 0);
static_assert(code_of({.matmuls = {.available_memory_proportion = 1.0F}}) == 0);
static_assert(code_of({.matmuls = {.available_memory_proportion = -0.1F}}) == 3004);
static_assert(code_of({.convolutions = {.available_memory_proportion = 1.1F}}) == 3004);
static_assert(code_of({.io_tiles = {.available_memory_proportion = 2.0F}}) == 3004);
static_assert(code_of({.matmuls = {.available_memory_proportion = std::numeric_limits<float>::quiet_NaN()}}) == 3004);
static_assert(code_of({.matmuls = {.available_memory_proportion = std::numeric_limits<float>::infinity()}}) == 3004);

static_assert(code_of({.matmuls = {.partials_type = sc::dtype::float16}}) == 0);
static_assert(code_of({.matmuls = {.partials_type = sc::dtype::uint8}}) == 3005);

static_assert(code_of({.io_tiles = {.place_ops_on_io_tiles = true}}) == 3006);
static_assert(code_of({.io_tiles = {.num_io_tiles = 32, .place_ops_on_io_tiles = true}}) == 0);
static_assert(code_of({.io_tiles = {.num_io_tiles = 1471}}) == 0);
static_assert(code_of({.io_tiles = {.num_io_tiles = 1472}}) == 3007);
static_assert(code_of({.io_tiles = {.num_io_tiles = -1}}) == 3007);
static_assert(code_of({.ipu_model = {.tiles_per_ipu = 4}, .io_tiles = {.num_io_tiles = 4}}) == 3007);

inline constexpr sc::ipu_target no_memory{.name = "no memory", .bytes_per_tile = 0};
inline constexpr sc::ipu_target odd_width{.name = "odd width", .data_path_width = 48};
inline constexpr sc::ipu_target no_exchange{.name = "no exchange", .exchange_bytes_per_cycle = 0};
static_assert(code_of({.ipu_model = {.version = no_memory}}) == 3008);
static_assert(code_of({.ipu_model = {.version = odd_width}}) == 3008);
static_assert(code_of({.ipu_model = {.version = no_exchange}}) == 3008);
static_assert(code_of({.ipu_model = {.version = sc::ipu_targets::ipu1}}) == 0);
static_assert(code_of({.ipu_model = {.version = sc::ipu_targets::bow}}) == 0);
static_assert(code_of({.ipu_model = {.version = sc::ipu_targets::ipu21}}) == 0);

static_assert(code_of({.optimizations = {.minimum_remote_tensor_size = 0}}) == 0);
static_assert(code_of({.optimizations = {.minimum_remote_tensor_size = -1}}) == 3009);

}  // namespace

TEST_CASE("the first broken rule of a configuration is told") {
  auto const problem =
      sc::tiles::ipu_config_problem({.auto_select_ipus = 3, .matmuls = {.available_memory_proportion = 7}});
  CHECK(problem.text == "auto_select_ipus is 3; IPUs come in pairs, so it must be 1 or even: choose 4 [E3002]");
  auto const proportion = sc::tiles::ipu_config_problem({.matmuls = {.available_memory_proportion = 1.5F}});
  CHECK(proportion.text == "option matmuls.available_memory_proportion is 150 percent; it must be from 0 to 1 [E3004]");
}
