// SPDX-License-Identifier: BSD-3-Clause
// The lowered steps of normalizations give what the host's kernels give, also where a batch is partial.
#include <stagecraft/description/training.hpp>
#include <stagecraft/ipu/lowering/normalization.hpp>
#include <stagecraft/ipu/tiles/tile_machine.hpp>
#include <stagecraft/pipeline.hpp>

#include "call_on_tiles.hpp"

namespace sc = stagecraft;
using enum sc::execution_mode;

namespace {

constexpr auto in_float32 = sc::training{.optimizer = sc::optimizers::sgd{}, .batch_size = 6};
constexpr auto in_float16 =
    sc::training{.optimizer = sc::optimizers::sgd{}, .batch_size = 6, .dtype_policy = sc::dtype_policies::float16};

/// A normalization between two layers with weights, so that all gradients are wanted: call number 2.
template <auto Layer>
using rows = sc::sequential<sc::layers::input{20}, sc::layers::dense{19}, Layer, sc::layers::dense{2}>;
template <auto Layer>
using images = sc::sequential<sc::layers::input{4, 3, 5}, sc::layers::conv2d{7, 1}, Layer, sc::layers::conv2d{1, 1},
                              sc::layers::flatten{}, sc::layers::dense{2}>;

template <class M, auto Training, int Tiles>
void check(float tolerance) {
  for (int const valid : {6, 4, 1}) {
    tests::call_on_tiles<M, Training, training, Tiles, 2>(tolerance, valid).check_forward();
    tests::call_on_tiles<M, Training, training, Tiles, 2>(5 * tolerance, valid).check_backward();
  }
  tests::call_on_tiles<M, Training, inference, Tiles, 2>(tolerance).check_forward();
}

template <class M>
void check() {
  check<M, in_float32, 1>(1e-5F);
  check<M, in_float32, 8>(1e-5F);
  check<M, in_float32, 64>(1e-5F);
  check<M, in_float16, 3>(2e-2F);
}

}  // namespace

TEST_CASE("batch_normalization of rows") { check<rows<sc::layers::batch_normalization{}>>(); }
TEST_CASE("batch_normalization of images, its last axis") { check<images<sc::layers::batch_normalization{}>>(); }
TEST_CASE("batch_normalization of images, another axis, without weights") {
  check<images<sc::layers::batch_normalization{{.axis = 1, .momentum = 0.5F, .center = false, .scale = false}}>>();
}
TEST_CASE("layer_normalization of rows") { check<rows<sc::layers::layer_normalization{}>>(); }
TEST_CASE("layer_normalization of images, with one weight or none") {
  check<images<sc::layers::layer_normalization{{.axis = {2, 3}, .center = false}}>>();
  check<images<sc::layers::layer_normalization{{.scale = false}}>>();
  check<images<sc::layers::layer_normalization{{.center = false, .scale = false}}>>();
}
TEST_CASE("layer_normalization of images, axes that are not the last") {
  check<images<sc::layers::layer_normalization{{.axis = {3, 1}}}>>();
}
