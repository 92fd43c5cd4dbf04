// SPDX-License-Identifier: BSD-3-Clause
// Converts values of Keras's configurations to values of the library's options, and to C++. The names of options,
// enumerators, initializers, regularizers and constraints come from the library's own declarations.
#pragma once

#include "source/source_layer.hpp"

#include <stagecraft/activations/activation.hpp>
#include <stagecraft/constraints/constraints.hpp>
#include <stagecraft/diagnostics/type_name.hpp>
#include <stagecraft/graph/fields.hpp>
#include <stagecraft/graph/shape.hpp>
#include <stagecraft/graph/stage_poplar_options.hpp>
#include <stagecraft/initializers/initializers.hpp>
#include <stagecraft/layers/number_list.hpp>
#include <stagecraft/layers/option_list.hpp>
#include <stagecraft/layers/reshaping/border.hpp>
#include <stagecraft/layers/sizes.hpp>
#include <stagecraft/regularizers/regularizers.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace stagecraft::tool {

/// Names that the compiler spells: of a type, a member, and a field of a struct.
template <class T>
inline constexpr own_text word_of_type{stagecraft::detail::type_name<T>()};
template <auto Member>
inline constexpr own_text word_of_member{stagecraft::detail::member_name<Member>};
template <class Struct, std::size_t Index>
inline constexpr own_text word_of_field{stagecraft::detail::names_of_fields<Struct>[Index]};

/// Calls f(name, field) for each field of a struct, in their order.
template <class Struct, class F>
void for_each_option(Struct& of, F const& f) {
  stagecraft::detail::with_fields(of, [&](auto&... field) {
    [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      (f(word_of_field<std::remove_const_t<Struct>, Index>, field), ...);
    }(std::make_index_sequence<sizeof...(field)>{});
  });
}

/// Numbers of a list, or a number by itself. Throws unsupported for anything else.
[[nodiscard]] std::vector<long long> whole_numbers(json const& value);
/// Keras's snake_case, as the library makes names: "HeNormal" is "he_normal".
[[nodiscard]] std::string snake_case_of(std::string const& class_name);
/// The class and the options of an object, which may be a name alone.
[[nodiscard]] std::pair<std::string, json> class_and_config(json const& value);
/// The literal of a size: "{1, 2}", or "1" if all numbers are equal.
[[nodiscard]] literal size_literal(std::vector<long long> const& each);

// Each read_option reads a value into an option and returns its C++.

literal read_option(json const& value, bool& to);
literal read_option(json const& value, int& to);
literal read_option(json const& value, float& to);
literal read_option(json const& value, double& to);
literal read_option(json const& value, std::uint64_t& to);
literal read_option(json const& value, size_2d& to);
literal read_option(json const& value, size_3d& to);
literal read_option(json const& value, shape& to);
/// The equation of an einsum_dense, or axes that are named by its letters.
literal read_option(json const& value, fixed_name& to);
literal read_option(json const& value, axis_list& to);
literal read_option(json const& value, number_list& to);
literal read_option(json const& value, border& to);
literal read_option(json const& value, border_2d& to);
literal read_option(json const& value, border_3d& to);
literal read_option(json const& value, activation& to);
literal read_option(json const& value, initializer& to);
literal read_option(json const& value, regularizer& to);
literal read_option(json const& value, constraint& to);
/// The smallest number of an input of 8 bits; files of Keras have none.
literal read_option(json const& value, bytes_from& to);
/// Options of IPUs' products, which Keras does not write.
inline literal read_option(json const& value, stage_poplar_options&) { throw unsupported("is " + value.dump()); }

/// An enumerator as the compiler spells it, with its namespaces; empty: the value has none.
template <auto Value>
consteval std::string_view spelling_of_enumerator() {
  auto const spelling = stagecraft::detail::spelling<Value>();
  auto const first = spelling.find("Field = ") + 8;
  auto const text = spelling.substr(first, spelling.find_first_of(";]", first) - first);
  return text.find('(') != std::string_view::npos ? std::string_view() : text;
}
/// True if the function is one of the layers' vocabulary, whose names imported headers use.
template <auto Value>
inline constexpr bool is_of_layers = spelling_of_enumerator<Value>().starts_with("stagecraft::layers::");
/// An enumerator after the namespace of the layers, or of the library.
template <auto Value>
inline constexpr own_text word_of_enumerator{[] {
  auto const text = spelling_of_enumerator<Value>();
  std::string_view const room = is_of_layers<Value> ? "stagecraft::layers::" : "stagecraft::";
  return text.starts_with(room) ? text.substr(room.size()) : std::string_view();
}()};

/// Reads an enumerator by Keras's name.
template <class Enum>
  requires std::is_enum_v<Enum>
literal read_option(json const& value, Enum& to) {
  if (!value.is_string()) throw unsupported("is " + value.dump());
  auto const wanted = value.get<std::string>();
  source_text found;
  [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    auto const look = [&](Enum each, own_text word, bool is_of_layers) {
      if (word.view().empty() || word.view().substr(word.view().rfind(':') + 1) != wanted) return;
      to = each;
      found = (is_of_layers ? ""_cpp : "sc::"_cpp) + word;
    };
    (look(static_cast<Enum>(Index), word_of_enumerator<static_cast<Enum>(Index)>,
          is_of_layers<static_cast<Enum>(Index)>),
     ...);
  }(std::make_index_sequence<16>{});
  if (found.empty()) throw unsupported("is " + value.dump());
  return {literal::kinds::fixed, std::move(found)};
}

/// The field of a struct with this name and type.
template <class T, class Struct>
T const* field_named(Struct const& of, std::string_view name) {
  T const* result = nullptr;
  stagecraft::detail::for_each_field(of, [&]<class Field>(std::string_view each, Field const& field) {
    if constexpr (std::is_same_v<Field, T>)
      if (each == name) result = &field;
  });
  return result;
}

/// Reads the options of a struct from a configuration; returns those that differ from the defaults, in braces.
template <class Struct>
source_text read_struct(json const& config, Struct& to) {
  source_text text;
  if constexpr (!std::is_empty_v<Struct>) {
    Struct const defaults{};
    for_each_option(to, [&](own_text name, auto& field) {
      auto const found = config.find(std::string(name.view()));
      if (name.view() == "seed" || found == config.end() || found->is_null()) return;
      auto const written = read_option(*found, field);
      if (!(*field_named<std::remove_cvref_t<decltype(field)>>(defaults, name) == field))
        text += (text.empty() ? "."_cpp : ", ."_cpp) + name + " = " + written.text;
    });
  }
  return "{" + text + "}";
}

/// Reads an option that is one of several structs, found by Keras's class name.
template <class... Structs, class Option>
literal read_one_of(json const& value, Option& to, own_text room) {
  auto const [class_name, config] = class_and_config(value);
  auto const wanted = snake_case_of(class_name);
  literal result;
  auto const look = [&]<class Each>(Each each) {
    constexpr own_text name = word_of_type<Each>;
    std::string letters;  // Keras 2 has `l2` and `L2`, `zeros` and `Zeros`
    for (char const c : name.view())
      if (c != '_') letters += c;
    if (name.view() != wanted && letters != wanted) return;
    auto const options = read_struct(config, each);
    to = each;
    result.text = "sc::"_cpp + room + "::" + name + options;
  };
  (look(Structs{}), ...);
  if (result.text.empty()) throw unsupported("is " + class_name);
  return result;
}

}  // namespace stagecraft::tool
