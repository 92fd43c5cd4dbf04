// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/graph/frozen.hpp>
#include <array>
#include <cstddef>
#include <type_traits>

namespace {

namespace sc = stagecraft;

struct lengths {
  std::size_t numbers = 0, letters = 0;
};

template <lengths Sizes>
struct constant {
  std::array<int, Sizes.numbers> numbers;
  std::array<char, Sizes.letters> letters;
  bool is_made_again;

  constexpr explicit constant(auto const& from)
      : numbers(sc::detail::array_of<Sizes.numbers>(from.numbers)),
        letters(sc::detail::array_of<Sizes.letters>(from.letters)),
        is_made_again(requires { std::remove_cvref_t<decltype(from)>::usual_sizes; }) {}
};

struct draft {
  static constexpr lengths usual_sizes{3, 2};
  template <lengths Sizes>
  using frozen = constant<Sizes>;

  sc::tracing::growing_array<int> numbers;
  sc::tracing::growing_array<char> letters;

  [[nodiscard]] constexpr auto sizes() const { return lengths{numbers.size(), letters.size()}; }
};

template <int Numbers, int Letters>
struct make {
  constexpr draft operator()() const {
    draft result;
    for (int i = 0; i < Numbers; ++i) result.numbers.push_back(i + 1);
    for (int i = 0; i < Letters; ++i) result.letters.push_back(static_cast<char>('a' + i));
    return result;
  }
};

template <int Numbers, int Letters>
constexpr bool is_kept() {
  auto const& kept = sc::detail::frozen_draft<make<Numbers, Letters>>;
  bool same = kept.numbers.size() == Numbers && kept.letters.size() == Letters;
  for (std::size_t i = 0; i < kept.numbers.size(); ++i) same = same && kept.numbers[i] == static_cast<int>(i) + 1;
  for (std::size_t i = 0; i < kept.letters.size(); ++i) same = same && kept.letters[i] == static_cast<char>('a' + i);
  return same;
}

// None, fewer, as many, and more than usual, of one or of all.
static_assert(is_kept<0, 0>() && is_kept<2, 1>() && is_kept<3, 2>());
static_assert(is_kept<4, 2>() && is_kept<1, 3>() && is_kept<40, 20>());
static_assert(!sc::detail::frozen_draft<make<2, 2>>.is_made_again, "what is not longer than usual is made once");
static_assert(sc::detail::frozen_draft<make<3, 3>>.is_made_again);

static_assert(sc::detail::fit_in(std::size_t{2}, std::size_t{2}) &&
              !sc::detail::fit_in(std::size_t{3}, std::size_t{2}));

}  // namespace
