// SPDX-License-Identifier: BSD-3-Clause
// The fields of a struct, such as that of a layer's options: their names, as the compiler knows them, and their values.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace stagecraft::tracing {

struct any_field {
  template <class T>
  constexpr operator T() const;  // never called
};

template <class T, std::size_t... Index>
constexpr bool has_fields(std::index_sequence<Index...>) {
  return requires { T{(static_cast<void>(Index), any_field{})...}; };
}

/// The number of fields of an aggregate; at most `most_fields`.
inline constexpr std::size_t most_fields = 26;
template <class T, std::size_t Count = most_fields>
constexpr std::size_t count_fields() {
  if constexpr (Count == 0 || has_fields<T>(std::make_index_sequence<Count>{}))
    return Count;
  else
    return count_fields<T, Count - 1>();
}

/// f(fields...) of an aggregate.
template <class T, class F>
constexpr decltype(auto) with_fields(T& of, F&& f) {
  constexpr std::size_t count = count_fields<std::remove_const_t<T>>();
#define STAGECRAFT_FIELDS(N, ...)           \
  if constexpr (count == N) {               \
    auto& [__VA_ARGS__] = of;               \
    return std::forward<F>(f)(__VA_ARGS__); \
  } else
  // clang-format off
  STAGECRAFT_FIELDS(1, a)
  STAGECRAFT_FIELDS(2, a, b)
  STAGECRAFT_FIELDS(3, a, b, c)
  STAGECRAFT_FIELDS(4, a, b, c, d)
  STAGECRAFT_FIELDS(5, a, b, c, d, e)
  STAGECRAFT_FIELDS(6, a, b, c, d, e, g)
  STAGECRAFT_FIELDS(7, a, b, c, d, e, g, h)
  STAGECRAFT_FIELDS(8, a, b, c, d, e, g, h, i)
  STAGECRAFT_FIELDS(9, a, b, c, d, e, g, h, i, j)
  STAGECRAFT_FIELDS(10, a, b, c, d, e, g, h, i, j, k)
  STAGECRAFT_FIELDS(11, a, b, c, d, e, g, h, i, j, k, l)
  STAGECRAFT_FIELDS(12, a, b, c, d, e, g, h, i, j, k, l, m)
  STAGECRAFT_FIELDS(13, a, b, c, d, e, g, h, i, j, k, l, m, n)
  STAGECRAFT_FIELDS(14, a, b, c, d, e, g, h, i, j, k, l, m, n, o)
  STAGECRAFT_FIELDS(15, a, b, c, d, e, g, h, i, j, k, l, m, n, o, p)
  STAGECRAFT_FIELDS(16, a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q)
  STAGECRAFT_FIELDS(17, a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q, r)
  STAGECRAFT_FIELDS(18, a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q, r, s)
  STAGECRAFT_FIELDS(19, a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q, r, s, t)
  STAGECRAFT_FIELDS(20, a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u)
  STAGECRAFT_FIELDS(21, a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v)
  STAGECRAFT_FIELDS(22, a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w)
  STAGECRAFT_FIELDS(23, a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x)
  STAGECRAFT_FIELDS(24, a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y)
  STAGECRAFT_FIELDS(25, a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z)
  STAGECRAFT_FIELDS(26, a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, z1)
  static_assert(count > 0 && count <= most_fields, "stagecraft: options have 1 to 26 fields");
  // clang-format on
#undef STAGECRAFT_FIELDS
}

// An object that does not exist: its fields have addresses, whose spelling holds their names.
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-var-template"
#pragma clang diagnostic ignored "-Wundefined-internal"
#endif
template <class T>
struct unmade {
  T value;
  static unmade const object;
};
template <class T>
struct field_address {
  T const* of;
};

template <auto Field>
constexpr std::string_view spelling() {
  return __PRETTY_FUNCTION__;
}
/// The last name in such a spelling.
constexpr std::string_view last_name(std::string_view text) {
  std::size_t end = text.rfind("; std::");  // GCC says what the result is, too
  if (end == std::string_view::npos) end = text.rfind(']');
  while (text[end - 1] == ')' || text[end - 1] == '}') --end;
  std::size_t begin = end;
  while (text[begin - 1] != '.' && text[begin - 1] != ':') --begin;
  return text.substr(begin, end - begin);
}

template <class T>
inline constexpr auto addresses_of_fields =
    with_fields(unmade<T>::object.value, [](auto const&... field) { return std::tuple(&field...); });

// Constants, so that no program refers to the addresses.
template <class T>
inline constexpr auto names_of_fields = []<std::size_t... Index>(std::index_sequence<Index...>) {
  return std::array{last_name(spelling<field_address{std::get<Index>(addresses_of_fields<T>)}>())...};
}(std::make_index_sequence<count_fields<T>()>{});

/// f(name, value) for each field of an aggregate, in their order.
template <class T, class F>
constexpr void for_each_field(T& of, F const& f) {
  with_fields(of, [&](auto&... value) {
    auto const* name = names_of_fields<std::remove_const_t<T>>.data();
    (f(*name++, value), ...);
  });
}
#ifdef __clang__
#pragma clang diagnostic pop
#endif

/// A struct of options whose members files have under their names. It has no base, and says so by naming itself, `using
/// listed_options = adam;`: a class derived from it, whose members cannot be counted, then does not say the same.
template <class T>
concept ListsOptions = requires { typename T::listed_options; } && std::is_same_v<typename T::listed_options, T>;

}  // namespace stagecraft::tracing
