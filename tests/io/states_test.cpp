// SPDX-License-Identifier: BSD-3-Clause
// States of stateful layers in files: a program continues where another one was.
#include <stagecraft/io/weights.hpp>
#include <stagecraft/training/predictor.hpp>

#include <stagecraft/layers/layers.hpp>
#include <stagecraft/models/sequential.hpp>
#include <array>
#include <doctest/doctest.h>

#include "scratch_folder.hpp"

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

namespace {

using tests::contains;
using tests::error_of;

inline constexpr auto single = sc::inference{.batch_size = 1};
template <int Units>
using network = sc::sequential<
    input{1, 2}.of_batch_size(1),
    conv1d{3, 3, sc::tanh, {.padding = sc::padding::causal, .dilation_rate = 2, .stateful = true, .name = "window"}},
    lstm{4, {.return_sequences = true, .stateful = true, .name = "first"}},
    lstm{Units, {.stateful = true, .name = "second"}}>;

}  // namespace

TEST_CASE("a program continues where another one was") {
  tests::scratch_folder const folder;
  for (char const* const name : {"s.safetensors", "s.npz"}) {
    sc::predictor<network<3>, single> model(3), other(3);
    for (int i = 0; i < 7; ++i) static_cast<void>(model.call(std::array{0.1F * static_cast<float>(i), -0.5F}));
    sc::save_states(model, folder / name);
    sc::load_states(other, folder / name);
    CHECK(other.get_states<"window">() == model.get_states<"window">());
    CHECK(other.get_states<"second">() == model.get_states<"second">());
    for (int i = 0; i < 7; ++i) {
      std::array const x{0.2F, 0.3F * static_cast<float>(i)};
      CHECK(other.call(x) == model.call(x));
    }
  }
  CHECK(sc::read_safetensors(folder / "s.safetensors").tensors.size() == 5);
}

TEST_CASE("states of another model are refused, and change nothing") {
  tests::scratch_folder const folder;
  sc::predictor<network<3>, single> model(3);
  static_cast<void>(model.call(std::array{0.5F, -0.5F}));
  sc::save_states(model, folder / "s.npz");
  sc::predictor<network<5>, single> other(3);
  static_cast<void>(other.call(std::array{0.5F, -0.5F}));
  auto const before = other.get_states<"second">();
  auto const error = error_of([&] { sc::load_states(other, folder / "s.npz"); });
  CHECK(contains(error, "E5021"));
  CHECK(contains(error, "second/"));
  CHECK(other.get_states<"second">() == before);
}
