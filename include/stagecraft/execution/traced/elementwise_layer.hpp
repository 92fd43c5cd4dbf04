// SPDX-License-Identifier: BSD-3-Clause
// The steps of a layer that is one formula of its inputs at each place, or an activation: each is one loop. Level 5.
#pragma once

#include <stagecraft/execution/operations/logits.hpp>
#include <stagecraft/execution/random_key_of_call.hpp>
#include <stagecraft/execution/step_epilogue.hpp>
#include <stagecraft/kernels/activation.hpp>
#include <stagecraft/kernels/operations/formula_rows.hpp>
#include <stagecraft/kernels/softmax.hpp>
#include <stagecraft/kernels/softmax_planes.hpp>
#include <stagecraft/layers/broadcast.hpp>
#include <stagecraft/layers/elementwise_call.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace stagecraft::detail {

/// Inputs that are repeated are read row by row; the sums of their gradients have one order, whatever the number of
/// threads.
template <class Call>
class elementwise_layer {
  using formulas = elementwise_call_of<Call, Call::plan::trains>;
  using arch = typename Call::architecture;
  static constexpr auto const& facts = formulas::facts;
  static constexpr activation function = facts.function;
  static constexpr auto inputs = static_cast<std::size_t>(Call::input_count);
  static constexpr std::int64_t floats = std::int64_t{Call::batch} * Call::size;

 public:
  static void forward(Call const& call) {
    if constexpr (Call::planned.activation_in_loss) {
      hand_logits_on(call);
    } else {
      if constexpr (function == softmax) {
        apply_softmax(call);
      } else if constexpr (function != linear) {
        auto const [first, last] = call.elements(floats);
        kernels::activation_forward<function, arch>(call.input(0) + first, call.output() + first, last - first);
      } else if constexpr (!facts.repeats) {
        auto const [first, last] = call.elements(floats);
        loop<formula_of_layer<formulas>, inputs, 0>::write_through(places<inputs>(call, first), call.output() + first,
                                                                   last - first, drawn(call, first), epilogues_of(call),
                                                                   first);
      } else {
        auto const [first, last] = call.share().of(floats / row);
        for (auto i = first; i < last; ++i)
          loop<formula_of_layer<formulas>, inputs, single>::template write<false>(
              places<inputs>(call, i * row), call.output() + i * row, row, drawn(call, i * row));
      }
    }
  }

  /// The forward step as an epilogue of the one that makes an input.
  template <int Input>
  [[nodiscard]] static auto epilogue(Call const& call) {
    if constexpr (function != linear)
      return kernels::activation_epilogue<function, arch>{};
    else
      return kernels::formula_epilogue<formula_of_layer<formulas>, inputs, Input, arch>(places<inputs>(call, 0),
                                                                                        drawn(call, 0));
  }

  static void backward(Call const& call) {
    if constexpr (Call::planned.activation_in_loss)
      hand_logits_gradient_back(call);
    else
      [&]<std::size_t... Input>(std::index_sequence<Input...>) {
        (input_backward<static_cast<int>(Input)>(call), ...);
      }(std::make_index_sequence<inputs>{});
  }

 private:
  template <auto const& Formula, std::size_t Places, unsigned Single>
  using loop = kernels::formula_row<Formula, Places, Single, arch>;

  template <int Input>
  static constexpr broadcast_axes axes{Call::batch, Call::output_shape(), [] {
                                         shape of_sample;
                                         for (int axis = 1; axis < facts.aligned[Input].rank; ++axis)
                                           of_sample.push_back(facts.aligned[Input][axis]);
                                         return of_sample;
                                       }()};
  template <int Input>
  static constexpr bool is_shared_in_row = axes<Input>.shared[axes<Input>.count - 1];
  /// A row: as many elements of the output as each input has either of its own, one after the other, or one for.
  static constexpr std::int64_t row = []<std::size_t... Input>(std::index_sequence<Input...>) {
    std::int64_t shortest = floats;
    for (std::int64_t const length : {axes<static_cast<int>(Input)>.length[axes<static_cast<int>(Input)>.count - 1]...})
      shortest = length < shortest ? length : shortest;
    return shortest;
  }(std::make_index_sequence<inputs>{});
  /// A bit for each input that has one element for a row.
  static constexpr unsigned single = []<std::size_t... Input>(std::index_sequence<Input...>) {
    return ((is_shared_in_row<static_cast<int>(Input)> ? 1U << Input : 0U) | ...);
  }(std::make_index_sequence<inputs>{});

  /// Where each number of a formula lies for the output's elements from this one on: the inputs, the output and its
  /// gradient.
  template <std::size_t Places>
  static std::array<float const*, Places> places(Call const& call, std::int64_t element) {
    std::array<float const*, Places> result{};
    [&]<std::size_t... Input>(std::index_sequence<Input...>) {
      ((result[Input] = call.input(Input) + input_element<static_cast<int>(Input)>(element)), ...);
    }(std::make_index_sequence<inputs>{});
    if constexpr (Places > inputs) {
      result[inputs] = call.output() + element;
      result[inputs + 1] = call.output_gradient() + element;
    }
    return result;
  }
  static kernels::drawn_numbers drawn(Call const& call, std::int64_t element) {
    if constexpr (facts.draws)
      return {random_key_of_call(call, facts.seed), static_cast<std::uint64_t>(element)};
    else
      return {};
  }
  template <int Input>
  static std::int64_t input_element(std::int64_t element) {
    if constexpr (facts.repeats)
      return axes<Input>.element(element);
    else
      return element;
  }

  template <int Input>
  static void input_backward(Call const& call) {
    if constexpr (Call::wants_input_gradient(Input)) {
      constexpr bool adds = Call::adds_input_gradient(Input);
      if constexpr (function == softmax) {
        apply_softmax_gradient(call);
      } else if constexpr (function != linear) {
        auto const [first, last] = call.elements(floats);
        kernels::activation_backward<function, adds, arch>(
            (function.gradient_needs_input() ? call.input(0) : call.output()) + first, call.output_gradient() + first,
            call.input_gradient(0) + first, last - first);
      } else if constexpr (!facts.repeats) {
        auto const [first, last] = call.elements(floats);
        loop<gradient_of_layer<formulas, Input>, inputs + 2, 0>::template write<adds>(
            places<inputs + 2>(call, first), call.input_gradient(Input) + first, last - first, drawn(call, first));
      } else {
        sum_gradients<Input>(call);
      }
    }
  }
  static constexpr int outer = Call::batch * Call::output_shape().size(0, function == softmax ? facts.axis : 0),
                       length = function == softmax ? Call::output_shape()[facts.axis] : 1,
                       inner = function == softmax
                                   ? Call::output_shape().size(facts.axis + 1, Call::output_shape().rank())
                                   : 1;
  static void apply_softmax(Call const& call) {
    if constexpr (inner == 1)
      kernels::softmax<outer, length, arch>(call.input(0), call.output(), call.share());
    else
      kernels::softmax_planes<outer, length, inner, arch>(call.input(0), call.output(), call.share());
  }
  static void apply_softmax_gradient(Call const& call) {
    constexpr bool adds = Call::adds_input_gradient(0);
    if constexpr (inner == 1)
      kernels::softmax_gradient<outer, length, adds, arch>(call.output(), call.output_gradient(),
                                                           call.input_gradient(0), call.share());
    else
      kernels::softmax_planes_gradient<outer, length, inner, adds, arch>(call.output(), call.output_gradient(),
                                                                         call.input_gradient(0), call.share());
  }

  template <int Input>
  static void sum_gradients(Call const& call) {
    using of_row = loop<gradient_of_layer<formulas, Input>, inputs + 2, single>;
    constexpr bool adds = Call::adds_input_gradient(Input), is_one = is_shared_in_row<Input>;
    constexpr std::int64_t elements = axes<Input>.own_size(0, axes<Input>.count),
                           repeats = axes<Input>.size(0, axes<Input>.count) / elements;
    constexpr std::int64_t step = is_one ? 1 : row;  // elements of the input in a row
    constexpr std::int64_t rows_of_one = is_one ? repeats / row : repeats;
    auto const [first, last] = call.share().of(elements / step);
    for (auto unit = first; unit < last; ++unit) {
      float* const dx = call.input_gradient(Input) + unit * step;
      float sum = 0;
      for (std::int64_t repeat = 0; repeat < rows_of_one; ++repeat) {
        auto const element = axes<Input>.reader(unit * step, is_one ? repeat * row : repeat);
        auto const from = places<inputs + 2>(call, element);
        if constexpr (is_one)
          sum += of_row::sum(from, row, drawn(call, element));
        else if (adds || repeat > 0)
          of_row::template write<true>(from, dx, row, drawn(call, element));
        else
          of_row::template write<false>(from, dx, row, drawn(call, element));
      }
      if constexpr (is_one) *dx = adds ? *dx + sum : sum;
    }
  }
};

}  // namespace stagecraft::detail
