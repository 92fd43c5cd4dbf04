// SPDX-License-Identifier: BSD-3-Clause
// A predictor of the five layers of five_layers.cpp, called for one sample and for many.
#include <stagecraft/stagecraft.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp =
    sc::sequential<input{28, 28}, flatten{}, dense{256, sc::relu}, dropout{0.2}, dense{128, sc::relu}, dense{10}>;

inline constexpr auto inference = sc::inference{.batch_size = 1};

int main() {
  sc::predictor<mlp, inference> model;
  xt::xtensor<float, 3> const one = xt::zeros<float>({1, 28, 28});
  xt::xtensor<float, 3> const many = xt::zeros<float>({100, 28, 28});
  xt::xtensor<float, 2> const logits = model.predict(many);
  return model(one)(0, 0) == logits(0, 0) ? 0 : 1;
}
