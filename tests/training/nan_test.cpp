// SPDX-License-Identifier: BSD-3-Clause
// NaN and infinity go through maxima, clips and comparisons as in Keras, on the host and on tiles: no step drops a NaN,
// so that a training with one stops where terminate_on_nan looks for it.
#include <stagecraft/description/inference.hpp>
#include <stagecraft/ipu/emulation/ipu.hpp>
#include <stagecraft/layers/layers.hpp>
#include <stagecraft/losses/losses.hpp>
#include <stagecraft/models/functional.hpp>
#include <stagecraft/models/sequential.hpp>
#include <stagecraft/operations/tracer.hpp>
#include <stagecraft/optimizers/optimizers.hpp>
#include <stagecraft/training/callbacks/terminate_on_nan.hpp>
#include <stagecraft/training/predictor.hpp>
#include <stagecraft/training/trainer.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <doctest/doctest.h>
#include <limits>
#include <string_view>
#include <tuple>
#include <vector>

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();

/// A layer of one's own: the maximum of windows along one axis, and of pairs.
struct own_maxima : sc::layer<own_maxima> {
  static constexpr std::string_view class_name = "OwnMaxima";
  constexpr auto call(auto& ops, auto x) const {
    auto const pooled = ops.max_pool(x, {sc::operations::window{2, 2, 1, 0}});
    return sc::minimum(sc::maximum(pooled, -pooled), pooled * 2.0F);
  }
};

struct maxima : sc::functional<maxima> {
  static constexpr auto build(auto& model) {
    auto x = model.input(4, 4, 2);
    auto rows = reshape{16, 2}(x);
    return sc::outputs(max_pooling2d{}(x), max_pooling2d{3, {.strides = 2, .padding = sc::padding::same}}(x),
                       max_pooling1d{4, {.strides = 3, .padding = sc::padding::same}}(rows),
                       max_pooling3d{}(reshape{2, 4, 2, 2}(x)), own_maxima{}(rows), re_lu{{.max_value = 6.0F}}(rows),
                       activation{sc::hard_sigmoid}(rows));
  }

};

bool alike(float a, float b) { return a == b || (a != a && b != b); }
float larger(float a, float b) { return a != a ? a : b != b ? b : a < b ? b : a; }

/// The maxima of windows of one axis after the other, as numpy.max has them: `before` cells of padding.
struct array {
  std::vector<float> values;
  std::vector<int> shape;  // the last axis is the channels

  [[nodiscard]] array pooled(std::size_t axis, int size, int stride, int before, int count) const {
    int outer = 1, inner = 1;
    for (std::size_t i = 0; i < axis; ++i) outer *= shape[i];
    for (std::size_t i = axis + 1; i < shape.size(); ++i) inner *= shape[i];
    array result{{}, shape};
    result.shape[axis] = count;
    for (int o = 0; o < outer; ++o)
      for (int w = 0; w < count; ++w)
        for (int i = 0; i < inner; ++i) {
          float most = -inf;
          for (int k = 0; k < size; ++k)
            if (int const at = w * stride + k - before; at >= 0 && at < shape[axis])
              most = larger(most, values[static_cast<std::size_t>((o * shape[axis] + at) * inner + i)]);
          result.values.push_back(most);
        }
    return result;
  }
  template <class Tensor>
  [[nodiscard]] bool is(Tensor const& found) const {
    if (found.size() != values.size()) return false;
    for (std::size_t i = 0; i < values.size(); ++i)
      if (!alike(found.data()[i], values[i])) return false;
    return true;
  }
};

xt::xtensor<float, 4> samples() {
  xt::xtensor<float, 4> x = xt::zeros<float>({3, 4, 4, 2});
  std::array<float, 7> const special{nan, -inf, inf, -1, 2, -inf, 7};
  for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = special[(i * i / 3 + i / 5) % special.size()];
  for (std::size_t i = 64; i < x.size(); ++i) x.data()[i] = i % 9 == 4 ? nan : -inf;  // windows of -inf alone
  return x;
}

template <class Machine>
void check_maxima() {
  auto const x = samples();
  sc::predictor<maxima, sc::inference{.batch_size = 3}, Machine> model;
  auto const [image, same_image, rows, cube, own, relu6, hard] = model.predict(x);
  array const whole{{x.begin(), x.end()}, {3, 4, 4, 2}}, sequence{whole.values, {3, 16, 2}};
  CHECK(whole.pooled(1, 2, 2, 0, 2).pooled(2, 2, 2, 0, 2).is(image));
  CHECK(whole.pooled(1, 3, 2, 0, 2).pooled(2, 3, 2, 0, 2).is(same_image));
  CHECK(sequence.pooled(1, 4, 3, 1, 6).is(rows));
  CHECK(array{whole.values, {3, 2, 4, 2, 2}}
            .pooled(1, 2, 2, 0, 1)
            .pooled(2, 2, 2, 0, 2)
            .pooled(3, 2, 2, 0, 1)
            .is(cube));
  auto expected = sequence.pooled(1, 2, 2, 0, 8);
  for (auto& each : expected.values) each = each != each ? each : std::fmin(std::fabs(each), each * 2);
  CHECK(expected.is(own));
  for (std::size_t i = 0; i < x.size(); ++i) {
    float const each = x.data()[i];
    CHECK(alike(relu6.data()[i], each != each ? each : std::fmin(std::fmax(each, 0.0F), 6.0F)));
    CHECK(alike(hard.data()[i], each != each ? each : std::fmin(std::fmax(each / 5 + 0.5F, 0.0F), 1.0F)));
  }
}

using cnn = sc::sequential<input{6, 6, 1}, conv2d{4, 3, sc::relu}, max_pooling2d{}, flatten{}, dense{2}>;
inline constexpr auto training = sc::training{.optimizer = sc::optimizers::sgd{},
                                              .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .batch_size = 2};

template <class Machine>
void check_training() {
  xt::xtensor<float, 4> x = xt::ones<float>({4, 6, 6, 1});
  xt::xtensor<int, 1> const y = xt::zeros<int>({4});
  x(3, 2, 3, 0) = nan;  // within a window, and not its first cell
  sc::trainer<cnn, training, Machine> model;
  std::string said;
  auto say = [&](std::string_view text) { said += text; };
  sc::callbacks::terminate_on_nan no_nan(say);
  auto const history = model.fit(x, y, {.epochs = 3, .verbose = 0, .callbacks = {&no_nan}, .shuffle = false});
  CHECK(said == "Batch 1: Invalid loss, terminating training\n");
  // The gradient of the NaN is not lost: it reaches the kernels of both layers.
  auto const weights = model.get_weights();
  CHECK((std::isnan(weights[0].values[0]) && std::isnan(weights[2].values[0])));
}

}  // namespace

TEST_CASE("maxima of windows, and clips, of NaN and infinity are Keras's on the host") { check_maxima<sc::host<>>(); }

TEST_CASE("maxima of windows, and clips, of NaN and infinity are Keras's on tiles") {
  check_maxima<sc::ipu<sc::ipu_config{.ipu_model = {.tiles_per_ipu = 4, .checked = true}}>>();
}

TEST_CASE("a convolutional network with a NaN among its pixels stops") {
  check_training<sc::host<>>();
  check_training<sc::ipu<sc::ipu_config{.ipu_model = {.tiles_per_ipu = 4, .checked = true}}>>();
}
