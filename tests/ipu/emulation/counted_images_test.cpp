// SPDX-License-Identifier: BSD-3-Clause
// What tiles count in whole sessions is what the profile said before: layers of images, interleaved stages with
// recomputation, and half precision.
#include "counting.hpp"

using namespace counting;  // NOLINT: the tests' own

namespace {

using image = sc::sequential<input{6, 6, 2}, conv2d{4, 3, sc::relu}, batch_normalization{}, max_pooling2d{2}, flatten{},
                             dense{4}>;
using staged_image = sc::pipelined<image, sc::stages<0, 0, 1, 1, 1>>;

inline constexpr auto interleaved = [] {
  auto result = recomputing;
  result.pipeline.schedule = sc::schedule::interleaved;
  return result;
}();

}  // namespace

TEST_CASE("images") {
  check_counts<image, plain, machine<true>>();
  check_counts<staged_image, interleaved, machine<true>>();
  check_counts<staged_image, mixed, machine<true>>();
}
