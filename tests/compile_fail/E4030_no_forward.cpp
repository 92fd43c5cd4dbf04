// SPDX-License-Identifier: BSD-3-Clause
// E4030: a layer of the user's own that is run does not say what it computes.
// expect-error: a layer that is run needs `void forward(auto const& call) const`
// expect-error: [E4030]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
struct twice : sc::layer<twice> {
  static constexpr std::string_view class_name = "Twice";
  constexpr sc::shape output_shape(sc::layer_inputs const& in) const { return in[0]; }
};
#else
struct twice : sc::layer<twice> {
  static constexpr std::string_view class_name = "Twice";
  constexpr sc::shape output_shape(sc::layer_inputs const& in) const { return in[0]; }
  void forward(auto const& call) const {
    for (std::size_t i = 0; i < call.output().size(); ++i) call.output()[i] = 2 * call.input()[i];
  }
  void backward(auto const& call) const {
    for (std::size_t i = 0; i < call.output_gradient().size(); ++i)
      call.input_gradient()[i] += 2 * call.output_gradient()[i];
  }
};
#endif

using mlp = sc::sequential<input{16}, dense{8}, twice{}, dense{4}>;
inline constexpr auto training = sc::training{.loss = sc::losses::mean_squared_error{}};

void predict(sc::trainer<mlp, training>& model, xt::xtensor<float, 2> const& x) { model.predict(x); }  // <- here
