// SPDX-License-Identifier: BSD-3-Clause
// A description of a training or an inference as a type that lists only what differs from the defaults. Compilers print
// the template arguments on the way to an error, and put them into the names of symbols: a description itself has a
// dozen members, and they more.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <type_traits>
#include <utility>

namespace stagecraft::jobs {

/// The members of a description, in their order.
template <auto... Members>
struct field_list {
  static constexpr int count = sizeof...(Members);
};
/// `list` is the field_list of a type of descriptions whose members all have defaults.
template <class Description>
struct fields_of {};

/// The member at position `Index` of a description is `Value`.
template <int Index, auto Value>
struct said {
  /// A copy, as that of settings_of.
  static constexpr auto value = Value;
};
/// A member that has its default.
struct unsaid {};

template <int Index, auto Value>
constexpr said<Index, Value> find_said(said<Index, Value> const*) {
  return {};
}

/// A description of type `Description` that has its defaults but for what `Said` lists.
template <class Description, class... Said>
struct settings : Said... {
  /// The description.
  static constexpr Description value = []<int... Index, auto... Member>(std::integer_sequence<int, Index...>,
                                                                        field_list<Member...>) {
    Description result{};
    auto const take = [&]<int Position>(std::integral_constant<int, Position>, auto member) {
      if constexpr (requires(settings const* all) { find_said<Position>(all); })
        result.*member = decltype(find_said<Position>(static_cast<settings const*>(nullptr)))::value;
    };
    (take(std::integral_constant<int, Index>{}, Member), ...);
    return result;
  }(std::make_integer_sequence<int, fields_of<Description>::list::count>{}, typename fields_of<Description>::list{});

  template <int Index, auto Value>
  friend constexpr settings<Description, Said..., said<Index, Value>> operator+(settings, said<Index, Value>) {
    return {};
  }
  friend constexpr settings operator+(settings, unsaid) { return {}; }
};

/// A description without a list of members, such as one that has had its compile error.
template <auto Description>
struct whole_settings {
  static constexpr auto value = Description;
};

template <int Index, auto Value, auto Default>
constexpr auto say() {
  if constexpr (std::is_same_v<said<Index, Value>, said<Index, Default>>)
    return unsaid{};
  else
    return said<Index, Value>{};
}

template <auto Description>
constexpr auto find_settings() {
  using type = std::remove_cvref_t<decltype(Description)>;
  if constexpr (requires { typename fields_of<type>::list; }) {
    // A copy: Clang 19 finds members of class type of a template argument at wrong places.
    constexpr auto given = Description;
    constexpr type defaults{};
    return [&]<int... Index, auto... Member>(std::integer_sequence<int, Index...>, field_list<Member...>) {
      using result = decltype((settings<type>{} + ... + say<Index, given.*Member, defaults.*Member>()));
      return result{};
    }(std::make_integer_sequence<int, fields_of<type>::list::count>{}, typename fields_of<type>::list{});
  } else {
    return whole_settings<Description>{};
  }
}

/// A description by what it says.
template <auto Description>
using settings_of = decltype(find_settings<Description>());

}  // namespace stagecraft::jobs
