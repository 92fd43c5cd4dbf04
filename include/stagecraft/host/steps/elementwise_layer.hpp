// SPDX-License-Identifier: BSD-3-Clause
// The steps of a layer that is one formula of its inputs at each place, or an activation: each is one loop. A layer
// that is nothing but the activation that the loss applies hands its logits on.
#pragma once

#include <stagecraft/host/steps/host_call.hpp>
#include <stagecraft/host/steps/step_epilogue.hpp>
#include <stagecraft/kernels/elementwise/activation.hpp>
#include <stagecraft/kernels/elementwise/elementwise.hpp>
#include <stagecraft/kernels/elementwise/formula_rows.hpp>
#include <stagecraft/kernels/normalization/softmax.hpp>
#include <stagecraft/layers/broadcast.hpp>
#include <stagecraft/layers/elementwise_call.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace stagecraft::cpu {

template <class Call>
void hand_logits_on(Call const& call) {
  auto const [first, last] = call.elements(static_cast<long long>(Call::batch) * Call::size);
  std::copy(call.input(0) + first, call.input(0) + last, call.output() + first);
}

template <class Call>
void hand_logits_gradient_back(Call const& call) {
  if constexpr (Call::wants_input_gradient(0)) {
    auto const [first, last] = call.elements(static_cast<long long>(Call::batch) * Call::size);
    if constexpr (Call::adds_input_gradient(0))
      kernels::scaled_add<true, typename Call::architecture>(1.0F, call.output_gradient() + first,
                                                             call.input_gradient(0) + first, last - first);
    else
      std::copy(call.output_gradient() + first, call.output_gradient() + last, call.input_gradient(0) + first);
  }
}

/// Inputs and weights that are repeated are read row by row; the sums of their gradients have one order, whatever the
/// number of threads.
template <class Call>
class elementwise_layer {
  using formulas = elementwise_call_of<Call, Call::plan::trains>;
  using arch = typename Call::architecture;
  static constexpr auto const& facts = formulas::facts;
  static constexpr activation function = facts.function;
  static constexpr auto inputs = static_cast<std::size_t>(Call::input_count);
  static constexpr std::size_t leaves = inputs + static_cast<std::size_t>(facts.weights);
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
        if constexpr (asks_for_fast_activations<Call::plan::training>)
          kernels::transform<arch>(last - first, epilogue_of_activation<Call, function, arch>{}, call.output() + first,
                                   call.input(0) + first);
        else
          kernels::activation_forward<function, arch>(call.input(0) + first, call.output() + first, last - first);
      } else if constexpr (!facts.repeats) {
        auto const [first, last] = call.elements(floats);
        loop<formula_of_layer<formulas>, inputs, 0>::write_through(places<inputs>(call, first), call.output() + first,
                                                                   last - first, drawn(call, first), epilogues_of(call),
                                                                   first);
      } else {
        write_rows<formula_of_layer<formulas>, leaves, false>(call, call.output());
      }
    }
  }

  /// The forward step as an epilogue of the one that makes an input.
  template <int Input>
  [[nodiscard]] static auto epilogue(Call const& call) {
    if constexpr (function != linear)
      return epilogue_of_activation<Call, function, arch>{};
    else
      return kernels::formula_epilogue<formula_of_layer<formulas>, inputs, Input, arch>(places<inputs>(call, 0),
                                                                                        drawn(call, 0));
  }

  static void backward(Call const& call) {
    if constexpr (Call::planned.activation_in_loss)
      hand_logits_gradient_back(call);
    else
      [&]<std::size_t... Leaf>(std::index_sequence<Leaf...>) {
        (leaf_backward<static_cast<int>(Leaf)>(call), ...);
      }(std::make_index_sequence<leaves>{});
  }

 private:
  template <auto const& Formula, std::size_t Places, unsigned Single>
  using loop = kernels::formula_row<Formula, Places, Single, arch>;

  /// The axes of a leaf, or of what is drawn.
  template <std::size_t Leaf>
  static constexpr broadcast_axes axes{Call::batch, Call::output_shape(),
                                       [] {
                                         shape of_sample;
                                         for (int axis = 1; axis < facts.aligned[Leaf].rank; ++axis)
                                           of_sample.push_back(facts.aligned[Leaf][axis]);
                                         return of_sample;
                                       }(),
                                       facts.aligned[Leaf][0] != Call::batch};
  static constexpr std::size_t all = leaves + (facts.draws ? 1 : 0);
  template <class F>
  static constexpr auto for_all(F const& f) {
    return [&]<std::size_t... Leaf>(std::index_sequence<Leaf...>) {
      return f(std::array{axes<Leaf>...});
    }(std::make_index_sequence<all>{});
  }
  static constexpr std::int64_t length_of(broadcast_axes const& of, int from_end) {
    return of.count >= from_end ? of.length[of.count - from_end] : floats;
  }
  /// A row: as many elements of the output as each leaf has either of its own, one after the other, or one for.
  static constexpr std::int64_t row = for_all([](auto const& each) {
    std::int64_t shortest = floats;
    for (auto const& of : each) shortest = std::min(shortest, length_of(of, 1));
    return shortest;
  });
  /// So many rows beside each other begin equally far from each other in each leaf.
  static constexpr std::int64_t rows_alike = for_all([](auto const& each) {
    std::int64_t alike = 0;
    for (auto const& of : each) {
      if (of.count == 1 && !of.shared[0]) continue;
      std::int64_t const own = of.length[of.count - 1] == row ? length_of(of, 2) : 1;
      alike = alike == 0 || alike == own ? own : 1;
    }
    return alike == 0 ? 1 : alike;
  });
  template <std::size_t Leaf>
  static constexpr bool is_shared_in_row = axes<Leaf>.shared[axes<Leaf>.count - 1];
  template <std::size_t Leaf>
  static constexpr bool is_whole = axes<Leaf>.count == 1 && !axes<Leaf>.shared[0];
  /// A bit for each leaf that has one element for a row.
  static constexpr unsigned single = []<std::size_t... Leaf>(std::index_sequence<Leaf...>) {
    return ((is_shared_in_row<Leaf> ? 1U << Leaf : 0U) | ...);
  }(std::make_index_sequence<leaves>{});

  /// The addresses of each number of a formula for the output's elements from this one on: the leaves, the output and
  /// its gradient.
  template <std::size_t Places>
  static std::array<float const*, Places> places(Call const& call, std::int64_t element) {
    std::array<float const*, Places> result{};
    [&]<std::size_t... Leaf>(std::index_sequence<Leaf...>) {
      ((result[Leaf] = leaf<Leaf>(call) + leaf_element<Leaf>(element)), ...);
    }(std::make_index_sequence<leaves>{});
    if constexpr (Places > leaves) {
      result[leaves] = call.output() + element;
      result[leaves + 1] = call.output_gradient() + element;
    }
    return result;
  }
  template <std::size_t Leaf>
  static float const* leaf(Call const& call) {
    if constexpr (Leaf < inputs)
      return call.input(static_cast<int>(Leaf));
    else
      return call.weight(static_cast<int>(Leaf - inputs));
  }
  static kernels::drawn_numbers drawn(Call const& call, std::int64_t element) {
    if constexpr (facts.draws)
      return {random_key_of_call(call, facts.seed), static_cast<std::uint64_t>(element)};
    else
      return {};
  }
  template <std::size_t Leaf>
  static std::int64_t leaf_element(std::int64_t element) {
    if constexpr (facts.repeats)
      return axes<Leaf>.element(element);
    else
      return element;
  }

  static constexpr std::int64_t long_row = 4096;  // is carried out in parts, which threads share

  /// Memory for what is drawn of a row that others have in common, once for all of them.
  static constexpr bool keeps_drawn = facts.draws && !is_whole<leaves>;
  struct drawn_row {
    alignas(
        64) std::array<float, keeps_drawn ? std::size_t{std::min(row, long_row) + kernels::lanes<arch>} : 0> numbers;
  };
  /// Rows, or parts of them, one after the other. Length is a constant, or an integer.
  template <auto const& Formula, std::size_t Places, class Length>
  class row_walk {
    static constexpr bool reads_drawn = keeps_drawn && kernels::detail::reads_place<Formula>(Places);
    using of_row = loop<Formula, Places + (reads_drawn ? 1 : 0), single>;

   public:
    row_walk(Call const& call, Length n, drawn_row& kept) : call_(call), n_(n), kept_(kept.numbers.data()) {}

    /// Calls f(index) at each row [first, last), of which `element_of(index)` is the first element.
    template <class ElementOf, class F>
    [[gnu::always_inline]] inline void run(std::int64_t first, std::int64_t last, ElementOf const& element_of,
                                           F const& f) {
      for (std::int64_t index = first; index < last;) {
        begin(element_of(index));
        std::int64_t const end = std::min((index / rows_alike + 1) * rows_alike, last);
        while (true) {
          f(index);
          if (++index == end) break;
          for (std::size_t i = 0; i < leaves; ++i) from_[i] += step_of[i];
          for (std::size_t i = leaves; i < Places; ++i) from_[i] += row;
          element_ += row;
        }
      }
    }
    template <bool Adds>
    [[gnu::always_inline]] inline void write(float* y) const {
      of_row::template write<Adds>(from_, y, n_, drawn(call_, element_));
    }
    [[gnu::always_inline]] inline void collect(kernels::batch<arch>* sums) const {
      of_row::collect(from_, sums, n_, drawn(call_, element_));
    }
    [[nodiscard, gnu::always_inline]] inline float sum() const {
      return of_row::sum(from_, n_, drawn(call_, element_));
    }

   private:
    static constexpr auto step_of = []<std::size_t... Leaf>(std::index_sequence<Leaf...>) {
      return std::array<std::int64_t, leaves>{(is_whole<Leaf> ? row : is_shared_in_row<Leaf> ? 1 : 0)...};
    }(std::make_index_sequence<leaves>{});

    [[gnu::always_inline]] inline void begin(std::int64_t element) {
      element_ = element;
      auto const found = places<Places>(call_, element);
      for (std::size_t i = 0; i < Places; ++i) from_[i] = found[i];
      if constexpr (reads_drawn) {
        auto const numbers = drawn(call_, leaf_element<leaves>(element));
        for (std::int64_t i = 0; i < n_; i += kernels::lanes<arch>)
          kernels::random_uniform_batch<arch>(numbers.key, numbers.first + static_cast<std::uint64_t>(i))
              .store_unaligned(kept_ + i);
        from_[Places] = kept_;
      }
    }

    Call const& call_;
    Length n_;
    float* kept_;
    std::int64_t element_ = 0;
    std::array<float const*, Places + (reads_drawn ? 1 : 0)> from_;
  };

  /// y (or y +=, if Adds) = the formula for all places of this share.
  template <auto const& Formula, std::size_t Places, bool Adds>
  static void write_rows(Call const& call, float* y) {
    drawn_row kept;
    if constexpr (row <= long_row) {
      auto const [first, last] = call.share().of(floats / row);
      row_walk<Formula, Places, std::integral_constant<std::int64_t, row>> walk(call, {}, kept);
      walk.run(
          first, last, [](std::int64_t i) { return i * row; },
          [&](std::int64_t i) __attribute__((always_inline)) { walk.template write<Adds>(y + i * row); });
    } else {
      auto const [first, last] = call.elements(floats);
      for (std::int64_t i = first, n = 0; i < last; i += n) {
        n = std::min({row - i % row, last - i, long_row});
        row_walk<Formula, Places, std::int64_t> walk(call, n, kept);
        walk.run(
            0, 1, [&](std::int64_t) { return i; },
            [&](std::int64_t) __attribute__((always_inline)) { walk.template write<Adds>(y + i); });
      }
    }
  }
  template <int Leaf>
  static void leaf_backward(Call const& call) {
    if constexpr (Leaf >= static_cast<int>(inputs)) {
      constexpr int weight = Leaf - static_cast<int>(inputs);
      if constexpr (Call::wants_parameter_gradient(weight))
        sum_gradients<Leaf, Call::adds_parameter_gradient>(call, call.parameter_gradient(weight));
    } else if constexpr (Call::wants_input_gradient(Leaf)) {
      constexpr bool adds = Call::adds_input_gradient(Leaf);
      float* const dx = call.input_gradient(Leaf);
      if constexpr (function == softmax) {
        apply_softmax_gradient(call);
      } else if constexpr (function != linear) {
        auto const [first, last] = call.elements(floats);
        kernels::activation_backward<function, adds, arch>(
            (function.gradient_needs_input() ? call.input(0) : call.output()) + first, call.output_gradient() + first,
            dx + first, last - first);
      } else if constexpr (!facts.repeats) {
        auto const [first, last] = call.elements(floats);
        loop<gradient_of_layer<formulas, Leaf>, inputs + 2, 0>::template write<adds>(
            places<inputs + 2>(call, first), dx + first, last - first, drawn(call, first));
      } else if constexpr (is_whole<Leaf>) {
        write_rows<gradient_of_layer<formulas, Leaf>, leaves + 2, adds>(call, dx);
      } else {
        sum_gradients<Leaf, adds>(call, dx);
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

  template <int Leaf, bool Adds>
  static void sum_gradients(Call const& call, float* dx) {
    using row_length = std::integral_constant<std::int64_t, row>;
    drawn_row kept;
    constexpr std::int64_t elements = axes<Leaf>.own_size(0, axes<Leaf>.count),
                           repeats = axes<Leaf>.size(0, axes<Leaf>.count) / elements;
    if constexpr (is_shared_in_row<Leaf>) {
      auto const [first, last] = call.share().of(elements);
      for (auto own = first; own < last; ++own) {
        float sum = 0;
        row_walk<gradient_of_layer<formulas, Leaf>, leaves + 2, row_length> rows(call, {}, kept);
        for (std::int64_t repeat = 0; repeat < repeats; repeat += row)
          rows.run(
              0, 1, [&](std::int64_t) { return axes<Leaf>.reader(own, repeat); },
              [&](std::int64_t) __attribute__((always_inline)) { sum += rows.sum(); });
        dx[own] = Adds ? dx[own] + sum : sum;
      }
    } else {
      constexpr std::int64_t width = kernels::lanes<arch>, registers = (row + width - 1) / width;
      auto const sum_rows = [&](std::int64_t own, auto n) __attribute__((always_inline)) {
        float* const to = dx + own;
        row_walk<gradient_of_layer<formulas, Leaf>, leaves + 2, decltype(n)> rows(call, n, kept);
        auto const element_of = [own](std::int64_t repeat) { return axes<Leaf>.reader(own, repeat); };
        if constexpr (registers <= 4) {
          kernels::batch<arch> sums[registers];
          for (auto& each : sums) each = kernels::batch<arch>(0.0F);
          rows.run(0, repeats, element_of, [&](std::int64_t) __attribute__((always_inline)) { rows.collect(sums); });
          for (std::int64_t i = 0; i < n; i += width) {
            int const count = static_cast<int>(std::min<std::int64_t>(n - i, width));
            auto const& sum = sums[i / width];
            kernels::store_first<arch>(Adds ? kernels::load_first<arch>(to + i, count) + sum : sum, to + i, count);
          }
        } else {
          rows.run(0, repeats, element_of, [&](std::int64_t repeat) __attribute__((always_inline)) {
            if (Adds || repeat > 0)
              rows.template write<true>(to);
            else
              rows.template write<false>(to);
          });
        }
      };
      auto const [first, last] = call.elements(elements);
      for (std::int64_t own = first, n = 0; own < last; own += n) {
        n = std::min({row - own % row, last - own, long_row});
        if (n == row)
          sum_rows(own, row_length{});
        else
          sum_rows(own, n);
      }
    }
  }
};

}  // namespace stagecraft::cpu
