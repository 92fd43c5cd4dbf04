// SPDX-License-Identifier: BSD-3-Clause
// A value that stands for a type and leads back to it. A traced graph is one flat constexpr value whose nodes may be
// calls of any layer, also of one that the library has never seen; with its tag, each node's type is found again.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <cstdint>
#include <string_view>

namespace stagecraft::tracing {

/// The address of one of these leads back to a type; `id` tells types of different names apart. (Addresses of different
/// objects cannot be compared in constant evaluation under GCC's undefined-behaviour sanitizer.)
struct type_tag {
  std::uint64_t id = 0;
};

/// A hash (FNV-1a) of the type's name.
template <class T>
constexpr std::uint64_t id_of_type() {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (char const c : std::string_view(__PRETTY_FUNCTION__))
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

template <class T>
struct type_box {
  using type = T;
};

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-template-friend"
#endif
// The way back from an address to a type: this declares a function per address, tag_holder defines it.
template <type_tag const* Tag>
struct tag_key {
  friend constexpr auto type_behind(tag_key<Tag>);
};
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

template <class T>
struct tag_holder {
  static constexpr type_tag tag{id_of_type<T>()};
  friend constexpr auto type_behind(tag_key<&tag>) { return type_box<T>{}; }
};

/// The tag of a type: the same address in each translation unit.
template <class T>
inline constexpr type_tag const* tag_of = &tag_holder<T>::tag;

/// The tag of no type.
inline constexpr type_tag const* no_type = tag_of<void>;

/// True if two tags stand for one type. Types of one name (GCC gives all lambdas of a signature the same) differ by
/// address; other types are told apart before their addresses are looked at.
[[nodiscard]] constexpr bool same_type(type_tag const* a, type_tag const* b) noexcept {
  return a->id == b->id && a == b;
}

/// The type of a tag.
template <type_tag const* Tag>
using type_of_tag = typename decltype(type_behind(tag_key<Tag>{}))::type;

}  // namespace stagecraft::tracing
