// SPDX-License-Identifier: BSD-3-Clause
// IPUs whose I/O tiles talk to the host while the others compute: the bits of the host without stages, for a number of
// micro-batches that is no multiple of those that are worked on at once.
#include <stagecraft/layers/layers.hpp>
#include <stagecraft/models/sequential.hpp>
#include <stagecraft/pipeline.hpp>

#include "policies.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

using network =
    sc::sequential<input{6}, dense{9, sc::tanh}, dense{7, sc::relu}, dropout{0.25F}, dense{5, sc::tanh}, dense{3}>;
using two_stages = sc::pipelined<network, sc::stages<0, 0, 1, 1, 1>>;
using bent = sc::pipelined<network, sc::stages<0, 1, 1, 2, 2>, sc::device_mapping<0, 1, 0>>;

constexpr sc::ipu_config placed{.auto_select_ipus = 4, .io_tiles = {.num_io_tiles = 8, .place_ops_on_io_tiles = true}};
template <int Threads>
using overlapping = sc::ipu<placed, Threads>;
constexpr sc::ipu_config placed_on_few_tiles{.auto_select_ipus = 4,
                                             .ipu_model = {.tiles_per_ipu = 12, .checked = true},
                                             .io_tiles = {.num_io_tiles = 4, .place_ops_on_io_tiles = true}};

template <int MicroBatches>
constexpr sc::training training{.optimizer = sc::optimizers::adam{},
                                .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                .batch_size = 4,
                                .steps_per_execution = MicroBatches,
                                .pipeline = {.gradient_accumulation_steps_per_replica = MicroBatches}};
template <int MicroBatches>
constexpr auto of_one_replica = [] {
  auto result = training<MicroBatches>;
  result.num_replicas = 1;
  return result;
}();

}  // namespace

TEST_CASE("overlapped input and output change no bit") {
  auto const expected = laws::groups_of<network, of_one_replica<7>, sc::host<>>();
  CHECK(laws::different_bits(expected, laws::groups_of<two_stages, of_one_replica<7>, overlapping<1>>()) == "");
  CHECK(laws::different_bits(expected, laws::groups_of<two_stages, of_one_replica<7>, overlapping<2>>()) == "");
  CHECK(laws::different_bits(expected, laws::groups_of<network, of_one_replica<7>, overlapping<1>>()) == "");
  CHECK(laws::different_bits(laws::groups_of<network, of_one_replica<9>, sc::host<>>(),
                             laws::groups_of<bent, of_one_replica<9>, overlapping<2>>()) == "");
  auto const found =
      laws::largest_deviation(expected, laws::groups_of<two_stages, of_one_replica<7>, sc::ipu<placed_on_few_tiles>>());
  CAPTURE(found.where);
  CHECK(found.relative <= 1e-5);
}
