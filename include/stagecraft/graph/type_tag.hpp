// SPDX-License-Identifier: BSD-3-Clause
// A value that stands for a type and leads back to it. A traced graph is one flat constexpr value whose nodes may be
// calls of any layer, also of one that the library has never seen; with its tag, each node's type is found again.
// Level 1.
#pragma once

namespace stagecraft {

/// The address of one of these is the identity of a type.
struct type_tag {};

namespace detail {

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
  static constexpr type_tag tag{};
  friend constexpr auto type_behind(tag_key<&tag>) { return type_box<T>{}; }
};

}  // namespace detail

/// The tag of a type: the same address in each translation unit.
template <class T>
inline constexpr type_tag const* tag_of = &detail::tag_holder<T>::tag;

/// The type of a tag.
template <type_tag const* Tag>
using type_of_tag = typename decltype(type_behind(detail::tag_key<Tag>{}))::type;

}  // namespace stagecraft
