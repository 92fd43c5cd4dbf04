// SPDX-License-Identifier: BSD-3-Clause
// E4034: a layer of the user's own uses a weight that it does not declare.
// expect-error: layer 'shift' uses a weight, but its `parameters` declares none
// expect-error: [E4034]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct shift : sc::layer<shift> {
  static constexpr std::string_view class_name = "Shift";
  constexpr sc::shape output_shape(sc::layer_inputs const& in) const { return in[0]; }
#ifndef STAGECRAFT_BAD
  constexpr void parameters(sc::layer_inputs const& in, sc::parameter_list& weights) const {
    weights.add({.name = "offset", .shape = {in[0].back()}});
  }
#endif
  void forward(auto const& call) const {
    auto const offset = call.weight();
    for (std::size_t i = 0; i < call.output().size(); ++i)
      call.output()[i] = call.input()[i] + offset[i % offset.size()];
  }
};

using mlp = sc::sequential<input{16}, shift{}>;
inline constexpr auto training = sc::training{.loss = sc::losses::mean_squared_error{}};

void predict(sc::trainer<mlp, training>& model, xt::xtensor<float, 2> const& x) { model.predict(x); }
