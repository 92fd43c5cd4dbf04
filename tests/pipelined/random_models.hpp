// SPDX-License-Identifier: BSD-3-Clause
// Models drawn at random by the compiler: branches, shared layers, nested models, images, several inputs and outputs,
// views, dropout, normalizations and a user's own layers. Every call has a reader, or is an output.
#pragma once

#include <stagecraft/pipeline.hpp>
#include <array>
#include <cstddef>

#include "own_layers.hpp"
#include "random_numbers.hpp"

namespace random_runs {

using namespace sc::layers;  // NOLINT: as a program writes it

/// A nested model that is a chain; another width goes through it.
template <int Width>
using narrowing = sc::sequential<dense{(Width + 1) / 2, sc::swish}, dropout{0.2F}, dense{Width, sc::tanh}>;

/// A nested model with a branch; called twice, it shares its weights.
template <int Width>
struct residual : sc::functional<residual<Width>> {
  static constexpr auto build(auto& model) {
    auto x = model.input(Width);
    return add()(x, dense(Width, sc::relu)(layer_normalization()(x)));
  }
};

/// Tensors that can be taken, each at least once.
class tensor_pool {
 public:
  constexpr explicit tensor_pool(random_numbers& random) : random_(random) {}

  constexpr void put(sc::symbolic_tensor const& tensor) {
    tensors_[count_] = tensor;
    taken_[count_++] = false;
  }
  /// The latest tensor most often, so that models get deep.
  constexpr sc::symbolic_tensor take() {
    auto const last = static_cast<int>(count_) - 1;
    auto const i = static_cast<std::size_t>(random_.one_of(2) ? last : random_.from_to(0, last));
    taken_[i] = true;
    return tensors_[i];
  }
  /// All that has not been taken yet as one.
  constexpr sc::symbolic_tensor join() {
    sc::symbolic_tensor joined{};
    for (std::size_t i = 0; i < count_; ++i) {
      if (taken_[i]) continue;
      taken_[i] = true;
      if (joined.model == nullptr)
        joined = tensors_[i];
      else if (random_.one_of(2))
        joined = add()(joined, tensors_[i]);
      else
        joined = maximum()(tensors_[i], joined);
    }
    return joined;
  }
  [[nodiscard]] constexpr sc::symbolic_tensor middle() const { return tensors_[count_ / 2]; }

 private:
  random_numbers& random_;
  std::array<sc::symbolic_tensor, 24> tensors_{};
  std::array<bool, 24> taken_{};
  std::size_t count_ = 0;
};

/// Width of most tensors of a model.
constexpr int width_of(int seed) {
  constexpr int widths[]{16, 5, 24, 3, 40, 17, 8, 13};
  return widths[seed % 8];
}

constexpr auto random_activation(random_numbers& random) {
  constexpr std::array functions{sc::relu, sc::tanh, sc::swish, sc::sigmoid, sc::linear};
  return functions[static_cast<std::size_t>(random.below(5))];
}

/// What a model of images does before its rows: some of convolution, normalization and pooling, then a flat view.
constexpr sc::symbolic_tensor image_front(random_numbers& random, sc::symbolic_tensor x) {
  auto const same = sc::padding::same;
  conv2d shared(4, 3, sc::relu, {.padding = same});
  x = shared(conv2d(4, 3, {.padding = same})(x));
  auto const branch = x;
  if (random.one_of(2)) x = batch_normalization()(x);
  x = add()(shared(x), branch);
  x = random.one_of(2) ? max_pooling2d(2)(x) : average_pooling2d(2)(x);
  if (random.one_of(2)) x = spatial_dropout2d(0.25F)(x);
  return flatten()(x);
}

template <int Seed>
struct random_model : sc::functional<random_model<Seed>> {
  static constexpr int width = width_of(Seed);
  /// Whether a layer is called at both ends of the model, so that its stages must be on one device.
  static constexpr bool shares_far = Seed % 2 == 1;
  static constexpr bool has_images = Seed % 4 == 2;
  static constexpr int inputs = Seed % 3 == 1 ? 2 : 1;
  static constexpr int outputs = Seed % 3 == 0 ? 2 : 1;

  static constexpr auto build(auto& model) {
    random_numbers random(Seed);
    tensor_pool pool(random);
    if constexpr (has_images)
      pool.put(dense(width)(image_front(random, model.input(6, 5, 2))));
    else
      pool.put(model.input(width));
    if (inputs == 2) pool.put(model.input(width));

    dense shared(width, sc::tanh, {.kernel_regularizer = sc::regularizers::l2{Seed % 5 == 0 ? 0.0F : 0.01F}});
    residual<width> block;
    bool has_block = false;
    int const operations = random.from_to(4, 6);
    for (int i = 0; i < operations; ++i) {
      // The shared layer twice or three times, with other calls between them.
      if (i == 1 || (shares_far && (i == 3 || random.one_of(6)))) pool.put(shared(pool.take()));
      if (i == 1 && !shares_far) pool.put(shared(add()(pool.take(), pool.take())));
      pool.put(random_call(random, pool, block, has_block));
      if (random.one_of(3)) pool.put(recomputation_checkpoint()(pool.take()));
    }
    auto last = dropout(0.125F)(pool.join());
    if (shares_far) last = shared(last);
    auto const first_output = dense(7)(last);
    if constexpr (outputs == 1)
      return first_output;
    else if constexpr (Seed % 2 == 0)
      return sc::outputs(first_output, pool.middle());  // which other calls read, too
    else
      return sc::outputs(first_output, reshape(width, 1)(pool.middle()));
  }

 private:
  static constexpr sc::symbolic_tensor random_call(random_numbers& random, tensor_pool& pool, residual<width>& block,
                                                   bool& has_block) {
    auto const a = pool.take();
    switch (random.below(14)) {
      case 0: return dense(width, random_activation(random))(a);
      case 1: return add()(a, pool.take());
      case 2: return activation(sc::tanh)(multiply()(a, pool.take()));
      case 3: return dense(width)(concatenate()(a, pool.take(), a));
      case 4: return layer_normalization()(a);
      case 5: return batch_normalization()(a);
      case 6: return dropout(0.25F)(a);
      case 7: return flatten()(activation(sc::swish)(reshape(1, width)(a)));
      case 8: return dense(width, sc::relu)(flatten()(dense(2)(reshape(width, 1)(a))));
      case 9: return gain()(squash()(a));
      case 10: return blend()(a, pool.take());
      case 11: return narrowing<width>()(a);
      case 12: return average()(a, subtract()(a, pool.take()));
      default:
        if (has_block) return dense(width, sc::tanh)(a);
        has_block = true;
        return block(block(a));
    }
  }
};

/// One layer of a sequential model.
template <int Seed, int Position>
constexpr auto random_entry() {
  constexpr int kind = random_numbers(static_cast<unsigned>(100 * Seed + Position)).below(10);
  constexpr int width = width_of(Seed + Position / 3);
  if constexpr (kind == 0)
    return dropout{0.25F};
  else if constexpr (kind == 1)
    return batch_normalization{};
  else if constexpr (kind == 2)
    return gain{};
  else if constexpr (kind == 3)
    return layer_normalization{};
  else if constexpr (kind == 4)
    return reshape{-1};
  else if constexpr (kind == 5)
    return activation{sc::swish};
  else if constexpr (kind == 9)
    return recomputation_checkpoint{};
  else
    return dense{width, kind == 6 ? sc::relu : sc::tanh};
}

template <int Seed, class Positions>
struct sequence_of;
template <int Seed, int... Position>
struct sequence_of<Seed, std::integer_sequence<int, Position...>> {
  using type = sc::sequential<input{9}, random_entry<Seed, Position>()..., dense{7}>;
};
template <int Seed>
using random_sequence = typename sequence_of<Seed, std::make_integer_sequence<int, 7 + Seed % 3>>::type;

}  // namespace random_runs
