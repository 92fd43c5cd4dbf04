// SPDX-License-Identifier: BSD-3-Clause
// Options of layers, optimizers and losses as Keras's `get_config` writes them: names and values in JSON.
#pragma once

#include <stagecraft/activations/activation.hpp>
#include <stagecraft/description/layer_rates.hpp>
#include <stagecraft/diagnostics/number_text.hpp>
#include <stagecraft/diagnostics/text.hpp>
#include <stagecraft/diagnostics/type_name.hpp>
#include <stagecraft/graph/dtype.hpp>
#include <stagecraft/graph/fields.hpp>
#include <stagecraft/graph/parameter.hpp>
#include <stagecraft/graph/shape.hpp>
#include <stagecraft/initializers/initializer.hpp>
#include <stagecraft/layers/number_list.hpp>
#include <stagecraft/layers/reshaping/border.hpp>
#include <stagecraft/layers/sizes.hpp>
#include <stagecraft/losses/loss.hpp>
#include <stagecraft/losses/per_output.hpp>
#include <stagecraft/optimizers/learning_rate.hpp>
#include <stagecraft/optimizers/optimizer.hpp>
#include <stagecraft/optimizers/weight_decay.hpp>
#include <stagecraft/regularizers/regularizer.hpp>
#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace stagecraft::io {

using json = nlohmann::ordered_json;

/// The shortest decimal number that rounds to the float, as Python writes it: 0.1, not 0.10000000149. JSON has no
/// infinities or NaN, which become texts.
[[nodiscard]] inline json json_of_float(float value) {
  if (!std::isfinite(value)) return std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
  return diagnostics::decimal_of(value);
}

/// The name of an enumerator, as in the source.
template <class E, std::size_t... Index>
[[nodiscard]] std::string enumerator_name(E value, std::index_sequence<Index...>) {
  constexpr std::array names{stagecraft::detail::last_name(stagecraft::detail::spelling<static_cast<E>(Index)>())...};
  return std::string(names[static_cast<std::size_t>(value)]);
}
/// The most enumerators of an option's enumeration, which count from 0 without gaps.
inline constexpr std::size_t most_enumerators = 16;

/// Keras's pair of a class and its options.
[[nodiscard]] inline json json_of_class(std::string_view class_name, json config = json::object()) {
  return {{"class_name", std::string(class_name)}, {"config", std::move(config)}};
}

/// The members of a user's own activation, initializer, regularizer or constraint, as numbers of four bytes, whatever
/// their types are.
[[nodiscard]] inline json json_of_own(diagnostics::own_options const& options) {
  std::size_t count = diagnostics::own_options::most;
  while (count > 0 && options.words[count - 1] == 0) --count;
  auto words = json::array();
  for (std::size_t i = 0; i < count; ++i) words.push_back(options.words[i]);
  return words.empty() ? json::object() : json{{"words", words}};
}

[[nodiscard]] inline json json_of(activation const& value) {
  using enum activation_kind;
  if (value.kind == own) return json_of_class(value.name(), json_of_own(value.options));
  // A relu with parameters is a layer, as in Keras.
  if (value.kind == relu && value != activation::of(relu))
    return json_of_class("ReLU", {{"max_value", value.max_value < 0 ? json() : json_of_float(value.max_value)},
                                  {"negative_slope", json_of_float(value.alpha)},
                                  {"threshold", json_of_float(value.threshold)}});
  if (value.kind == elu && value.alpha != 1) return json_of_class("ELU", {{"alpha", json_of_float(value.alpha)}});
  if (value.kind == gelu_tanh) return json_of_class("gelu", {{"approximate", true}});
  return std::string(value.name());
}

/// The name of a type. A layer that has the policy's type has the name of Keras's default policy.
[[nodiscard]] inline json json_of(dtype value) { return std::string(name(value)); }

[[nodiscard]] inline json json_of(initializer const& value) {
  using enum initializer_kind;
  json const seed = value.seed == 0 ? json() : json(value.seed);
  json config = json::object();
  switch (value.kind) {
    case unsaid: return {};
    case zeros:
    case ones: break;
    case constant: config["value"] = json_of_float(value.a); break;
    case identity: config["gain"] = json_of_float(value.a); break;
    case orthogonal: config = {{"gain", json_of_float(value.a)}, {"seed", seed}}; break;
    case random_normal:
    case truncated_normal:
      config = {{"mean", json_of_float(value.a)}, {"stddev", json_of_float(value.b)}, {"seed", seed}};
      break;
    case random_uniform:
      config = {{"minval", json_of_float(value.a)}, {"maxval", json_of_float(value.b)}, {"seed", seed}};
      break;
    case variance_scaling: {
      constexpr std::string_view modes[]{"fan_in", "fan_out", "fan_avg"},
          distributions[]{"truncated_normal", "untruncated_normal", "uniform"};
      config = {{"scale", json_of_float(value.a)},
                {"mode", modes[static_cast<std::size_t>(value.mode)]},
                {"distribution", distributions[static_cast<std::size_t>(value.distribution)]},
                {"seed", seed}};
      break;
    }
    case own: config = json_of_own(value.options); break;
    default: config["seed"] = seed;
  }
  return json_of_class(value.kind == own ? value.rules->name : value.name(), std::move(config));
}

[[nodiscard]] inline json json_of(regularizer const& value) {
  if (value.is_own()) return json_of_class(value.rules->name, json_of_own(value.options));
  if (value.empty()) return nullptr;
  if (value.l2 == 0) return json_of_class("L1", {{"l1", json_of_float(value.l1)}});
  if (value.l1 == 0) return json_of_class("L2", {{"l2", json_of_float(value.l2)}});
  return json_of_class("L1L2", {{"l1", json_of_float(value.l1)}, {"l2", json_of_float(value.l2)}});
}

/// A constraint: the library's as in Keras, a user's own by its name and members.
[[nodiscard]] inline json json_of(constraint const& value) {
  if (value.empty()) return nullptr;
  auto const name = value.rules->name;
  auto const& words = value.options.words;
  auto const number = [&](std::size_t word) { return json_of_float(std::bit_cast<float>(words[word])); };
  auto const axes = [&](std::size_t word) {  // four bits for each axis, the first axis in the lowest ones: norm_axes
    auto list = json::array();
    for (auto rest = static_cast<std::uint32_t>(words[word]); rest > 1; rest >>= 4U) {
      int const axis = static_cast<int>(rest & 15U);
      list.push_back(axis < 8 ? axis : axis - 16);
    }
    return list.size() == 1 ? list[0] : list;
  };
  if (name == "max_norm") return json_of_class("MaxNorm", {{"max_value", number(0)}, {"axis", axes(1)}});
  if (name == "min_max_norm")
    return json_of_class("MinMaxNorm",
                         {{"min_value", number(0)}, {"max_value", number(1)}, {"rate", number(2)}, {"axis", axes(3)}});
  if (name == "unit_norm") return json_of_class("UnitNorm", {{"axis", axes(0)}});
  if (name == "non_neg") return json_of_class("NonNeg");
  if (name == "radial_constraint") return json_of_class("RadialConstraint");
  return json_of_class(name, json_of_own(value.options));
}

[[nodiscard]] inline json json_of(learning_rate const& value) {
  if (value.schedule == nullptr && value.warmup_steps == 0) return json_of_float(value.initial);
  std::size_t count = learning_rate::most_numbers;
  while (count > 0 && value.numbers[count - 1] == 0) --count;
  json config{{"initial_learning_rate", json_of_float(value.initial)}, {"numbers", json::array()}};
  for (std::size_t i = 0; i < count; ++i) config["numbers"].push_back(json_of_float(value.numbers[i]));
  config["warmup_steps"] = json_of_float(value.warmup_steps);
  return json_of_class("schedule", std::move(config));
}

template <class T>
[[nodiscard]] json json_of(T const& value);

template <class T, std::size_t Length>
[[nodiscard]] json json_of(std::array<T, Length> const& value) {
  auto list = json::array();
  for (auto const& each : value) list.push_back(json_of(each));
  return list;
}
template <std::size_t Length>
[[nodiscard]] json json_of(fixed_text<Length> const& value) {
  return std::string(value.view());
}
[[nodiscard]] inline json json_of(size_2d const& value) { return json::array({value.height, value.width}); }
[[nodiscard]] inline json json_of(size_3d const& value) {
  return json::array({value.depth, value.height, value.width});
}
[[nodiscard]] inline json json_of(border const& value) { return json::array({value.before, value.after}); }
[[nodiscard]] inline json json_of(border_2d const& value) {
  return json::array({json_of(value.rows), json_of(value.columns)});
}
[[nodiscard]] inline json json_of(border_3d const& value) {
  return json::array({json_of(value.along[0]), json_of(value.along[1]), json_of(value.along[2])});
}
[[nodiscard]] inline json json_of(factor_range const& value) {
  return json::array({json_of_float(value.lower), json_of_float(value.upper)});
}
[[nodiscard]] inline json json_of(shape const& value) {
  auto list = json::array();
  for (int const each : value) list.push_back(each);
  return list;
}
/// Keras's "an integer or a tuple of integers"; null if there is none.
[[nodiscard]] inline json json_of(axis_list const& value) {
  auto list = json::array();
  for (int const each : value) list.push_back(each);
  return list.empty() ? json() : list.size() == 1 ? list[0] : list;
}
[[nodiscard]] inline json json_of(number_list const& value) {
  auto list = json::array();
  for (float const each : value) list.push_back(json_of_float(each));
  return list;
}
[[nodiscard]] inline json json_of(optimizers::weight_names const& value) {
  auto list = json::array();
  for (auto const& text : value.texts)
    if (!text.empty()) list.push_back(json_of(text));
  return list;
}

[[nodiscard]] inline json json_of(optimizers::layer_rate_list const& value) {
  auto list = json::array();
  for (std::size_t i = 0; i < value.size(); ++i)
    list.push_back(json::array({json_of(value.entries[i].layers), json_of_float(value.entries[i].rate)}));
  return list;
}

[[nodiscard]] inline json json_of(bytes_from const& value) { return value.is_given ? json(value.least) : json(); }

/// Options of all other types: numbers, enumerators and texts, and structs that list their members (ListsOptions). Any
/// other type, such as a function or a user's own type, is represented by its name alone.
template <class T>
[[nodiscard]] json json_of(T const& value) {
  if constexpr (std::is_integral_v<T>) {
    return value;
  } else if constexpr (std::same_as<T, float>) {
    return json_of_float(value);
  } else if constexpr (std::same_as<T, double>) {
    return std::isfinite(value) ? json(value) : json_of_float(static_cast<float>(value));
  } else if constexpr (std::is_enum_v<T>) {
    return enumerator_name(value, std::make_index_sequence<most_enumerators>{});
  } else if constexpr (std::convertible_to<T const&, std::string_view>) {
    return std::string(std::string_view(value));
  } else if constexpr (tracing::ListsOptions<T>) {
    json fields = json::object();
    stagecraft::detail::for_each_field(
        value, [&](std::string_view name, auto const& field) { fields[std::string(name)] = json_of(field); });
    return fields;
  } else {
    return std::string(stagecraft::detail::type_name<T>());
  }
}

/// The name under which files have an optimizer, a loss or a metric: its own or, if it only has the name of its base,
/// which all share, the name of its type.
template <class T>
[[nodiscard]] constexpr std::string_view name_of_object() {
  if constexpr (requires { std::string_view(T::name); })
    if (std::string_view(T::name) != optimizer<T>::name && std::string_view(T::name) != loss<T>::name) return T::name;
  return stagecraft::detail::type_name<T>();
}

/// An optimizer or a loss: its name, and its options if it lists them (ListsOptions). Other optimizers have the
/// learning rate alone.
template <class T>
[[nodiscard]] json json_of_object(T const& value) {
  json config = json::object();
  if constexpr (tracing::ListsOptions<T>)
    stagecraft::detail::for_each_field(value, [&]<class Field>(std::string_view name, Field const& field) {
      if constexpr (Optimizer<Field>)  // the optimizer that this one wraps
        config[std::string(name)] = json_of_object(field);
      else
        config[std::string(name)] = json_of(field);
    });
  else if constexpr (Optimizer<T>)
    config["learning_rate"] = json_of(learning_rate(value.learning_rate));
  return json_of_class(name_of_object<T>(), std::move(config));
}
/// Losses of several outputs, in the order of the outputs.
template <class... Losses>
[[nodiscard]] json json_of_object(losses::output_loss_list<Losses...> const& value) {
  auto list = json::array();
  [&]<std::size_t... Output>(std::index_sequence<Output...>) {
    (list.push_back(json_of_object(losses::loss_of_output<Output>(value))), ...);
  }(std::index_sequence_for<Losses...>{});
  return json_of_class("per_output", {{"losses", std::move(list)}});
}

}  // namespace stagecraft::io
