// SPDX-License-Identifier: BSD-3-Clause
// Formulas over rows of memory, with all values in registers: a loop for each formula, or part of another loop.
#pragma once

#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/kernels/elementwise/epilogue.hpp>
#include <stagecraft/kernels/elementwise/formula.hpp>
#include <stagecraft/kernels/random/random.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace stagecraft::kernels {

/// The uniform random numbers of a row: counters first, first + 1, ... of a key.
struct drawn_numbers {
  random_key key{0, 0};
  std::uint64_t first = 0;
};

namespace detail {

/// True if a formula reads number `place`.
template <auto const& Formula>
constexpr bool reads_place(std::size_t place) {
  for (auto const& step : Formula.steps)
    if (step.from == operations::formula_source::place && step.index == static_cast<int>(place)) return true;
  return false;
}

}  // namespace detail

/// A formula of `Places` numbers and a random one as another kernel's epilogue, whose sums are number `Result`. Up to a
/// register after the end of the other numbers' arrays may be read.
template <auto const& Formula, std::size_t Places, std::size_t Result, class Arch = default_architecture>
class formula_epilogue {
  using value = batch<Arch>;

 public:
  formula_epilogue(std::array<float const*, Places> const& given, drawn_numbers const& drawn)
      : given_(given), drawn_(drawn) {}

  [[nodiscard, gnu::always_inline]] inline value operator()(value const& result, int /*column*/,
                                                            std::int64_t element) const {
    value numbers[Places + 1];
    [&]<std::size_t... Place>(std::index_sequence<Place...>)
        __attribute__((always_inline)) { (load<Place>(numbers, element), ...); }(std::make_index_sequence<Places>{});
    numbers[Result] = result;
    if constexpr (detail::reads_place<Formula>(Places))
      numbers[Places] = random_uniform_batch<Arch>(drawn_.key, drawn_.first + static_cast<std::uint64_t>(element));
    value made[1];
    function_(numbers, made);
    return made[0];
  }

 private:
  template <std::size_t Place>
  [[gnu::always_inline]] inline void load([[maybe_unused]] value* numbers,
                                          [[maybe_unused]] std::int64_t element) const {
    if constexpr (Place != Result && detail::reads_place<Formula>(Place))
      numbers[Place] = value::load_unaligned(given_[Place] + element);
  }

  formula_function<Formula, Arch> function_{tracing::array_view<double const>{}};
  std::array<float const*, Places> given_;
  drawn_numbers drawn_;
};

/// The loop of a formula over a row. It has `Places` numbers at each place, followed by a random one; a number whose
/// bit is set in `Single` is the same for the whole row. Pointers that the formula does not read may be anything.
template <auto const& Formula, std::size_t Places, unsigned Single, class Arch = default_architecture>
class formula_row {
  using value = batch<Arch>;
  using pointers = std::array<float const*, Places>;
  static constexpr int width = lanes<Arch>;

 public:
  /// y = f, or y += f if Adds, for n places.
  template <bool Adds>
  [[gnu::always_inline]] static inline void write(pointers const& given, float* y, std::int64_t n,
                                                  drawn_numbers const& drawn = {}) {
    if constexpr (Adds)
      run(
          given, n, drawn,
          [y](value const& result, std::int64_t i) { (value::load_unaligned(y + i) + result).store_unaligned(y + i); },
          [y](value const& result, std::int64_t i, int count) {
            store_first<Arch>(load_first<Arch>(y + i, count) + result, y + i, count);
          });
    else
      write_through(given, y, n, drawn, no_epilogue{}, 0);
  }
  /// y = epilogue(f) for n places; the first is number `element` of the epilogue.
  template <class Epilogue>
  [[gnu::always_inline]] static inline void write_through(pointers const& given, float* y, std::int64_t n,
                                                          drawn_numbers const& drawn, Epilogue const& epilogue,
                                                          std::int64_t element) {
    auto const finish = [&](value const& result, std::int64_t i) {
      if constexpr (std::same_as<Epilogue, no_epilogue>)
        return result;
      else
        return epilogue(rounded(result), 0, element + i);
    };
    run(
        given, n, drawn, [&](value const& result, std::int64_t i) { finish(result, i).store_unaligned(y + i); },
        [&](value const& result, std::int64_t i, int count) { store_first<Arch>(finish(result, i), y + i, count); });
  }
  /// Adds f to registers for n places: the sums of several rows.
  [[gnu::always_inline]] static inline void collect(pointers const& given, value* sums, std::int64_t n,
                                                    drawn_numbers const& drawn = {}) {
    auto const add = [&](value const& result, std::int64_t i) { sums[i / width] = sums[i / width] + result; };
    run(given, n, drawn, add, [&](value const& result, std::int64_t i, int) { add(result, i); });
  }
  /// The sum of f over n places.
  [[nodiscard]] static float sum(pointers const& given, std::int64_t n, drawn_numbers const& drawn = {}) {
    value total(0.0F);
    run(
        given, n, drawn, [&](value const& result, std::int64_t) { total = total + result; },
        [&](value const& result, std::int64_t, int count) { total = total + keep_first<Arch>(result, count); });
    return horizontal_sum<Arch>(total);
  }

 private:
  static constexpr bool reads(std::size_t place) { return detail::reads_place<Formula>(place); }
  static constexpr bool is_single(std::size_t place) { return (Single >> place & 1U) != 0; }

  template <class Whole, class Rest>
  [[gnu::always_inline]] static inline void run(pointers given, std::int64_t n,
                                                [[maybe_unused]] drawn_numbers const drawn, Whole const& whole,
                                                Rest const& rest) {
    formula_function<Formula, Arch> const f(tracing::array_view<double const>{});
    value numbers[Places + 1];
    load<true>(numbers, [&](std::size_t place) { return value(*given[place]); });
    value result[1];
    std::int64_t i = 0;
    for (; i + width <= n; i += width) {
      load<false>(numbers, [&](std::size_t place) { return value::load_unaligned(given[place] + i); });
      draw(numbers, drawn, i);
      f(numbers, result);
      whole(result[0], i);
    }
    if (int const count = static_cast<int>(n - i); count > 0) {
      load<false>(numbers, [&](std::size_t place) { return detail::load_repeating<Arch>(given[place] + i, count); });
      draw(numbers, drawn, i);
      f(numbers, result);
      rest(result[0], i, count);
    }
  }
  [[gnu::always_inline]] static inline void draw([[maybe_unused]] value* numbers,
                                                 [[maybe_unused]] drawn_numbers const& drawn,
                                                 [[maybe_unused]] std::int64_t i) {
    if constexpr (reads(Places))
      numbers[Places] = random_uniform_batch<Arch>(drawn.key, drawn.first + static_cast<std::uint64_t>(i));
  }
  template <bool OfSingle, class Load>
  [[gnu::always_inline]] static inline void load(value* numbers, Load const& one) {
    [&]<std::size_t... Place>(std::index_sequence<Place...>) __attribute__((always_inline)) {
      (load_place<OfSingle, Place>(numbers, one), ...);
    }(std::make_index_sequence<Places>{});
  }
  template <bool OfSingle, std::size_t Place, class Load>
  [[gnu::always_inline]] static inline void load_place([[maybe_unused]] value* numbers,
                                                       [[maybe_unused]] Load const& one) {
    if constexpr (reads(Place) && is_single(Place) == OfSingle) numbers[Place] = one(Place);
  }
};

}  // namespace stagecraft::kernels
