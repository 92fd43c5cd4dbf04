// SPDX-License-Identifier: BSD-3-Clause
// The names of layers and models: Keras's rule for those that have none of their own, and which are taken.
#pragma once

#include <stagecraft/diagnostics/text.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <cstddef>
#include <string_view>

namespace stagecraft::tracing {

/// Keras's `to_snake_case`, its two substitutions in turn: "(.)([A-Z][a-z0-9]+)", then "([a-z])([A-Z])".
constexpr fixed_name snake_case(std::string_view class_name) {
  auto const upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  auto const lower = [](char c) { return c >= 'a' && c <= 'z'; };
  auto const tail = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  fixed_name words;
  std::size_t const size = class_name.size();
  for (std::size_t i = 0; i < size;) {
    words.append(class_name[i++]);
    if (i + 1 >= size || !upper(class_name[i]) || !tail(class_name[i + 1])) continue;
    words.append('_').append(class_name[i++]);
    while (i < size && tail(class_name[i])) words.append(class_name[i++]);
  }
  fixed_name name(words.length > 0 && words.characters[0] == '_' ? "private" : "");
  for (std::size_t i = 0; i < words.length; ++i) {
    char const c = words.characters[i];
    if (i > 0 && upper(c) && lower(words.characters[i - 1])) name.append('_');
    name.append(upper(c) ? static_cast<char>(c - 'A' + 'a') : c);
  }
  return name;
}

/// The names of one traced model.
class layer_names {
 public:
  /// The counter of a class's default names.
  constexpr int counter_of(std::string_view class_name) {
    auto const base = snake_case(class_name);
    for (std::size_t i = 0; i < counters_.size(); ++i)
      if (counters_[i].base == base) return static_cast<int>(i);
    // The first input of Keras is input_1, the first of any other class has no number.
    counters_.push_back({base, base == "input" ? 1 : 0});
    return static_cast<int>(counters_.size()) - 1;
  }

  /// Keras's rule: the class name in snake case, with a number from its second use on.
  constexpr fixed_name next(int index) {
    auto name = peek(index);
    ++counters_[index].used;
    return name;
  }
  /// The name that would be next, which is not taken.
  [[nodiscard]] constexpr fixed_name peek(int index) const {
    auto const& own = counters_[index];
    auto name = own.base;
    if (own.used > 0) name.append('_').append(own.used);
    return name;
  }
  constexpr fixed_name next(std::string_view class_name) { return next(counter_of(class_name)); }

  /// Takes a name if it is new among the layers and models directly in an instance of a model; false if it is not.
  /// By hash, since every pair of layers compared would cost large models most of the compilers' limits of steps.
  constexpr bool take(fixed_name const& name, int instance) {
    auto hash = static_cast<unsigned>(instance);
    for (std::size_t i = 0; i < name.length; ++i) hash = hash * 31 + static_cast<unsigned char>(name.characters[i]);
    int& newest = newest_[hash % buckets];
    for (int i = newest; i > 0; i = taken_[i - 1].before) {
      auto const& other = taken_[i - 1];
      if (other.hash == hash && other.instance == instance && other.name == name) return false;
    }
    taken_.push_back({hash, instance, newest, name});
    newest = static_cast<int>(taken_.size());
    return true;
  }

 private:
  struct counter {
    fixed_name base;
    int used;
  };
  static constexpr std::size_t buckets = 64;
  struct taken_name {
    unsigned hash;
    int instance;
    int before;  // the one before it in its bucket, counted from 1
    fixed_name name;
  };

  growing_array<counter> counters_;
  growing_array<taken_name> taken_;
  int newest_[buckets]{};  // of each bucket
};

}  // namespace stagecraft::tracing
