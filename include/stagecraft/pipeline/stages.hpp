// SPDX-License-Identifier: BSD-3-Clause
// Stage numbers and device numbers as lists in template arguments.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <array>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <type_traits>

namespace stagecraft::pipeline {

/// One stage per layer (sequential) or per call in Keras's order (functional, subclass); inputs are not counted. A
/// nested model is one entry, a stage for all of it or a list of its own: `stages<0, stages<0, 1>, 1>`. Without nested
/// lists its calls may also be written out flat.
template <auto... Stage>
struct stage_list {
  static constexpr std::size_t size = sizeof...(Stage);
};

}  // namespace stagecraft::pipeline

namespace stagecraft {

/// The stage of each layer call, in the order of the calls: `sc::stages<0, 0, 1>`; a nested model has one stage for all
/// of it, or a list of its own: `sc::stages<0, sc::stages<0, 1>, 1>`.
template <auto... Stage>
inline constexpr pipeline::stage_list<Stage...> stages{};

}  // namespace stagecraft

namespace stagecraft::pipeline {

template <class First, class... Rest>
struct first_not_integral : first_not_integral<Rest...> {};
template <class First, class... Rest>
  requires(!std::integral<First>)
struct first_not_integral<First, Rest...> {
  using type = First;
};

/// A number as that of a device; one that is too large stays a large one.
constexpr int device_number(std::integral auto number) {
  constexpr int largest = 0x7fffffff;
  return number > 0 && static_cast<unsigned long long>(number) > largest ? largest : static_cast<int>(number);
}

/// The devices of stages that work at the same time: `parallel<1, 2>` in a device mapping.
template <auto... Device>
struct parallel_list {};
template <std::integral auto... Device>
  requires(sizeof...(Device) > 0)
struct parallel_list<Device...> {
  static constexpr std::array<int, sizeof...(Device)> of_stages{device_number(Device)...};
};

}  // namespace stagecraft::pipeline

namespace stagecraft {

/// Stands in a device mapping for the devices of several stages that work on the same micro-batch at the
/// same time, as a list of functions in place of a stage of Graphcore's pipelines.
template <auto... Device>
inline constexpr pipeline::parallel_list<Device...> parallel{};

}  // namespace stagecraft

namespace stagecraft::pipeline {

/// An entry of a device mapping: the number of its stages, none if it is neither a number nor `parallel`.
template <class Entry>
inline constexpr std::size_t stages_of_entry = std::integral<Entry> ? 1 : 0;
template <auto... Device>
  requires requires { parallel_list<Device...>::of_stages; }
inline constexpr std::size_t stages_of_entry<parallel_list<Device...>> = sizeof...(Device);

template <class Entry>
inline constexpr bool is_parallel = false;
template <auto... Device>
inline constexpr bool is_parallel<parallel_list<Device...>> = true;

/// Entries written out, each with whether it stands beside the one before.
template <std::size_t Stages>
struct written_devices {
  std::array<int, Stages> devices{};
  std::array<bool, Stages> beside{};
  std::size_t count = 0;

  constexpr void append(std::integral auto device) { devices[count++] = device_number(device); }
  template <auto... Device>
  constexpr void append(parallel_list<Device...>) {
    std::size_t const first = count;
    for (int const device : parallel_list<Device...>::of_stages) {
      beside[count] = count > first;
      devices[count++] = device;
    }
  }
};

}  // namespace stagecraft::pipeline

namespace stagecraft {

/// The device of each stage: `device_mapping<0, 1, 0>`. Empty: stage i runs on device i. Stages that work at the same
/// time have one entry, `device_mapping<0, parallel<1, 2>, 0>`: then stages 1 and 2 are on devices 1 and 2, and stage 3
/// on device 0.
template <auto... Device>
struct device_list {
  using no_number = detail::first_not_integral<decltype(Device)...>::type;  ///< the first type that is no number
};
template <std::integral auto... Device>
struct device_list<Device...> {
  static constexpr std::array<int, sizeof...(Device)> devices{detail::device_number(Device)...};
};

template <auto... Device>
  requires((detail::stages_of_entry<std::remove_cvref_t<decltype(Device)>> > 0) && ...) &&
          (detail::is_parallel<std::remove_cvref_t<decltype(Device)>> || ...)
struct device_list<Device...> {
 private:
  static constexpr auto written = [] {
    detail::written_devices<(detail::stages_of_entry<std::remove_cvref_t<decltype(Device)>> + ...)> result;
    (result.append(Device), ...);
    return result;
  }();

 public:
  static constexpr auto devices = written.devices;
  static constexpr auto beside = written.beside;
};

/// The device of each stage: `.device_mapping = sc::device_mapping<0, 1, 1, 0>`.
template <auto... Device>
inline constexpr device_list<Device...> device_mapping{};

}  // namespace stagecraft

namespace stagecraft::pipeline {

/// The devices of a device mapping; none of anything else.
template <class Mapping>
constexpr auto devices_of() {
  if constexpr (requires { std::remove_cvref_t<Mapping>::devices; })
    return std::remove_cvref_t<Mapping>::devices;
  else
    return std::array<int, 0>{};
}

/// For each stage of a device mapping, whether it works at the same time as the one before; false for other arguments.
template <class Mapping>
constexpr auto stages_beside_of() {
  if constexpr (requires { std::remove_cvref_t<Mapping>::beside; })
    return std::remove_cvref_t<Mapping>::beside;
  else
    return std::array<bool, 0>{};
}

/// A stage list written out: numbers, and marks where a nested list begins and ends.
struct stage_token {
  static constexpr int begin = -1000001, end = -1000002;
  int value = 0;
};

template <class T>
inline constexpr std::size_t token_count = 1;
template <auto... Stage>
inline constexpr std::size_t token_count<stage_list<Stage...>> = [] {
  std::size_t count = 2;
  for (std::size_t const n : {std::size_t{0}, token_count<std::remove_cvref_t<decltype(Stage)>>...}) count += n;
  return count;
}();

template <std::integral Number>
constexpr void append_tokens(auto& tokens, std::size_t& count, Number number) {
  // A stage far below 0 must not be taken for a mark.
  tokens[count++] = {number < -1000000 ? -1000000 : static_cast<int>(number)};
}
template <auto... Stage>
constexpr void append_tokens(auto& tokens, std::size_t& count, stage_list<Stage...>) {
  tokens[count++] = {stage_token::begin};
  [[maybe_unused]] int const done[]{0, (append_tokens(tokens, count, Stage), 0)...};
  tokens[count++] = {stage_token::end};
}

template <auto... Stage>
constexpr auto tokens_of(stage_list<Stage...> list) {
  std::array<stage_token, token_count<stage_list<Stage...>>> tokens{};
  std::size_t count = 0;
  append_tokens(tokens, count, list);
  return tokens;
}

}  // namespace stagecraft::pipeline
