// SPDX-License-Identifier: BSD-3-Clause
// Layers that are one formula at each place of inputs, weights and random numbers that are repeated, against plain
// loops.
#include <stagecraft/host/steps/elementwise_layer.hpp>
#include <stagecraft/layers/layers.hpp>
#include <doctest/doctest.h>
#include <tuple>

#include "../../kernels/share_check.hpp"

namespace {

namespace sc = stagecraft;
using namespace share_check;
using sc::shape;

/// A call of a layer whose tensors are buffers: what its steps want of a host_call.
template <auto Layer, int Batch, shape In, shape Weight, bool Adds, class Arch>
struct buffer_call {
  using architecture = Arch;
  struct plan {
    static constexpr bool trains = true;
    static constexpr int epilogue(int) { return -1; }
  };
  struct planned_call {
    bool activation_in_loss = false;
  };
  struct host_memory {
    std::uint64_t seed = 5, step = 6;
  };
  static constexpr planned_call planned{};
  static constexpr auto layer = Layer;
  static constexpr int batch = Batch, input_count = 1, call = 3, size = In.size();
  static constexpr bool adds_parameter_gradient = Adds;
  static constexpr shape const& input_shape(int) { return of_input; }
  static constexpr shape const& output_shape() { return of_input; }
  static constexpr bool wants_input_gradient(int) { return true; }
  static constexpr bool adds_input_gradient(int) { return Adds; }
  static constexpr bool wants_parameter_gradient(int) { return true; }

  float* tensors[6];  // input, weight, output, and their gradients
  kernels::share part;
  host_memory memory{};

  [[nodiscard]] float const* input(int) const { return tensors[0]; }
  [[nodiscard]] float const* weight(int) const { return tensors[1]; }
  [[nodiscard]] float* output() const { return tensors[2]; }
  [[nodiscard]] float* input_gradient(int) const { return tensors[3]; }
  [[nodiscard]] float* parameter_gradient(int) const { return tensors[4]; }
  [[nodiscard]] float* output_gradient() const { return tensors[5]; }
  [[nodiscard]] kernels::share share() const { return part; }
  [[nodiscard]] kernels::share::range elements(long long count) const { return part.of(count, 16); }

 private:
  static constexpr shape of_input = In;
};

/// The steps of a layer, as functions whose types say nothing of it.
struct steps {
  int batch, lanes;
  shape in, weight;
  bool has_weight;
  void (*forward)(float* const* tensors, kernels::share part);
  void (*backward[2])(float* const* tensors, kernels::share part);  // which writes, and which adds
};

template <auto Layer, int Batch, shape In, shape Weight, bool Adds, class Arch>
struct steps_on {
  using call = buffer_call<Layer, Batch, In, Weight, Adds, Arch>;
  static constexpr auto const& facts = sc::detail::elementwise_call_of<call, true>::facts;
  static_assert(facts.holds);

  static call on(float* const* tensors, kernels::share part) {
    call result{{}, part};
    for (int i = 0; i < 6; ++i) result.tensors[i] = tensors[i];
    return result;
  }
  static void forward(float* const* tensors, kernels::share part) {
    sc::detail::elementwise_layer<call>::forward(on(tensors, part));
  }
  static void backward(float* const* tensors, kernels::share part) {
    sc::detail::elementwise_layer<call>::backward(on(tensors, part));
  }
};
template <auto Layer, int Batch, shape In, shape Weight, class Arch>
steps steps_of() {
  using writes = steps_on<Layer, Batch, In, Weight, false, Arch>;
  using adds = steps_on<Layer, Batch, In, Weight, true, Arch>;
  return {Batch,
          kernels::lanes<Arch>,
          In,
          Weight,
          writes::facts.weights > 0,
          &writes::forward,
          {&writes::backward, &adds::backward}};
}

/// What a layer computes at a place of its input `x` and weight `w`, and the gradients of both by that of the result.
struct at_place {
  double y, dx, dw;
};

template <class Formula>
void check(steps const& tested, Formula const& formula) {
  CAPTURE(tested.lanes);
  CAPTURE(tested.in.size());
  CAPTURE(tested.weight.size());
  int const size = tested.batch * tested.in.size(), weights = tested.weight.size();
  buffer x(size), w(weights), y(size), dx(size), dw(weights), dy(size);
  shuffled(x, 1);
  shuffled(w, 2);
  shuffled(dy, 3);
  x.data()[0] = 0;
  float* const tensors[]{x.data(), w.data(), y.data(), dx.data(), dw.data(), dy.data()};
  auto const count = static_cast<std::size_t>(size);
  std::vector<double> expected(count), expected_dx(count), expected_dw(static_cast<std::size_t>(weights));
  for (int i = 0; i < size; ++i) {
    int rest = i, weight = 0, stride = 1;
    for (int axis = tested.in.rank() - 1; axis >= 0; --axis) {
      if (tested.weight[axis] > 1) {
        weight += rest % tested.in[axis] * stride;
        stride *= tested.in[axis];
      }
      rest /= tested.in[axis];
    }
    auto const at = static_cast<std::size_t>(i), which = static_cast<std::size_t>(weight);
    at_place const found = formula(i, static_cast<double>(x.data()[i]), static_cast<double>(w.data()[weight]),
                                   static_cast<double>(dy.data()[i]));
    expected[at] = found.y;
    expected_dx[at] = found.dx;
    expected_dw[which] += found.dw;
  }
  check_shares(y, [&](kernels::share part) { tested.forward(tensors, part); });
  CHECK(deviation(y.data(), expected) < 2e-6);
  auto const backward = [&](bool adds, kernels::share part) { tested.backward[adds ? 1 : 0](tensors, part); };
  check_gradient(dx, expected_dx, 2e-6, backward);
  if (tested.has_weight) check_gradient(dw, expected_dw, 1e-6 * size, backward);
}

template <auto Layer, int Batch, shape In, shape Weight, class Formula>
void check_layer(Formula const& formula) {
  [&]<class... Arch>(std::tuple<Arch...>*) {
    (check(steps_of<Layer, Batch, In, Weight, Arch>(), formula), ...);
  }(static_cast<std::tuple<MATMUL_ARCHITECTURES>*>(nullptr));
}

template <int Batch, shape In, sc::axis_list Shared>
void check_prelu() {
  constexpr sc::layers::prelu layer{{.shared_axes = Shared}};
  check_layer<layer, Batch, In, layer.alpha_shape(In)>([](int, double x, double alpha, double dy) {
    return at_place{x > 0 ? x : alpha * x, x > 0 ? dy : x < 0 ? alpha * dy : 0, x < 0 ? x * dy : 0};
  });
}

template <int Batch, shape In>
void check_spatial_dropout() {
  auto const check_rate = [&]<float Rate>() {
    check_layer<sc::layers::spatial_dropout1d(Rate, 7), Batch, In, shape(1, 1)>(
        [&](int i, double x, double, double dy) {
          kernels::random_key const key(7, ~((std::uint64_t{6} << 16U) + 3U));
          auto const channel = static_cast<std::uint64_t>(i / In.size() * In[1] + i % In[1]);
          double const factor = kernels::random_uniform(key, channel) >= Rate ? 1 / (1 - static_cast<double>(Rate)) : 0;
          return at_place{factor * x, factor * dy, 0};
        });
  };
  check_rate.template operator()<0.3F>();
  check_rate.template operator()<0.9F>();
}

}  // namespace

TEST_CASE("rectifiers with slopes of their own") {
  check_prelu<1, shape(1, 1, 1), sc::axis_list::none()>();
  check_prelu<3, shape(4, 5, 7), sc::axis_list::none()>();
  check_prelu<2, shape(4, 5, 17), sc::axis_list{1, 2}>();
  check_prelu<2, shape(4, 5, 33), sc::axis_list{1, 3}>();
  check_prelu<2, shape(4, 5, 16), sc::axis_list{2}>();
  check_prelu<2, shape(4, 5, 3), sc::axis_list{2, 3}>();
  check_prelu<3, shape(31, 33, 5), sc::axis_list{1, 2, 3}>();
  check_prelu<2, shape(1, 1, 9001), sc::axis_list::none()>();
}

TEST_CASE("dropout of whole channels") {
  check_spatial_dropout<1, shape(1, 1)>();
  check_spatial_dropout<3, shape(6, 17)>();
  check_spatial_dropout<2, shape(5, 130)>();
  check_spatial_dropout<4, shape(9, 3)>();
  check_spatial_dropout<2, shape(2, 5000)>();
}
