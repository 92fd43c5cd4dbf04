// SPDX-License-Identifier: BSD-3-Clause
// A sequential model that is written stage by stage. Counterpart: ipu.keras.PipelineSequential of TensorFlow 2.1.
#pragma once

#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/diagnostics/type_name.hpp>
#include <stagecraft/layers/core/input.hpp>
#include <stagecraft/models/sequential.hpp>
#include <stagecraft/pipeline/pipeline_stage.hpp>
#include <stagecraft/pipeline/pipelined.hpp>
#include <stagecraft/pipeline/stages.hpp>
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace stagecraft::pipeline {

template <class T>
inline constexpr bool is_list_of_devices = requires { T::devices; };
template <class T>
inline constexpr bool is_input = std::same_as<std::remove_cv_t<T>, layers::input>;

/// E2081: an argument of pipeline_sequential is no list of layers, or an empty one.
template <auto... Stages>
inline constexpr diagnostic problem_of_stage_lists = [] {
  diagnostic problem;
  [[maybe_unused]] std::size_t position = 0;
  [[maybe_unused]] auto const check = [&]<class Argument>(Argument const&) {
    ++position;
    if constexpr (is_stage<Argument>) {
      if (Argument::size == 0)
        problem.report(2081, "pipeline stage ", static_cast<int>(position) - 1,
                       " of pipeline_sequential has no layers; a stage has at least one");
    } else if constexpr (is_list_of_devices<Argument>) {
      if (position < sizeof...(Stages))
        problem.report(2081, "the device mapping of pipeline_sequential stands before a stage; it comes last");
    } else {
      problem.report(2081, "argument ", static_cast<int>(position), " of pipeline_sequential is a value of type '",
                     type_name<Argument>(), "'; give the layers of each stage, sc::stage{flatten{}, dense{10}}");
    }
  };
  [[maybe_unused]] int const checks[]{0, (check(Stages), 0)...};
  if (sizeof...(Stages) == 0)
    problem.report(2081, "pipeline_sequential has no stages; give the layers of each, sc::stage{flatten{}, dense{10}}");
  return problem;
}();

/// Layers one after the other, and the stage of each that is no input.
template <class Layers, class Stages>
struct staged_layers;
template <auto... Layer, auto... Stage>
struct staged_layers<stage_list<Layer...>, stage_list<Stage...>> {
  template <auto... More, auto... StageOfMore>
  constexpr staged_layers<stage_list<Layer..., More...>, stage_list<Stage..., StageOfMore...>> operator+(
      staged_layers<stage_list<More...>, stage_list<StageOfMore...>>) const {
    return {};
  }
};
template <class Layers, auto Devices>
struct model_of_layers;
template <auto... Layer, auto... Stage, auto Devices>
struct model_of_layers<staged_layers<stage_list<Layer...>, stage_list<Stage...>>, Devices> {
  using type = pipelined<sequential<Layer...>, stages<Stage...>, Devices>;
};

// A copy, since GCC 12 does not read a base of a template argument.
template <auto Stage, std::size_t Index>
inline constexpr auto layer_at = [] {
  auto const copy = Stage;
  return layer_in<Index>(copy);
}();

/// The layers of one argument; none of a device mapping.
template <auto Stage, int Number, std::size_t... Index>
constexpr auto list_layers(std::index_sequence<Index...>) {
  constexpr std::size_t inputs = (std::size_t{0} + ... + (is_input<decltype(layer_at<Stage, Index>)> ? 1 : 0));
  return []<std::size_t... Call>(std::index_sequence<Call...>) {
    return staged_layers<stage_list<layer_at<Stage, Index>...>, stage_list<(static_cast<void>(Call), Number)...>>{};
  }(std::make_index_sequence<sizeof...(Index) - inputs>{});
}
template <auto Argument, int Number>
constexpr auto list_layers() {
  if constexpr (is_stage<std::remove_cv_t<decltype(Argument)>>)
    return list_layers<Argument, Number>(std::make_index_sequence<decltype(Argument)::size>{});
  else
    return staged_layers<stage_list<>, stage_list<>>{};
}

/// The device mapping among the arguments, or that stage i is on device i.
constexpr auto find_devices() { return device_mapping<>; }
template <class First, class... Rest>
constexpr auto find_devices(First const& first, Rest const&... rest) {
  if constexpr (is_list_of_devices<First>)
    return first;
  else
    return find_devices(rest...);
}

template <bool Valid, auto... Argument>
struct pipeline_of_lists {
  using type = not_a_model;
};
template <auto... Argument>
struct pipeline_of_lists<true, Argument...> {
  template <int... Number>
  static constexpr auto list(std::integer_sequence<int, Number...>) {
    return (staged_layers<stage_list<>, stage_list<>>{} + ... + list_layers<Argument, Number>());
  }
  using layers = decltype(list(std::make_integer_sequence<int, sizeof...(Argument)>{}));
  using type = typename model_of_layers<layers, find_devices(Argument...)>::type;
};

}  // namespace stagecraft::pipeline

namespace stagecraft {

/// A sequential model as lists of layers, one for each pipeline stage, and, last, the device of each stage if it is to
/// be given. It is the same type as `pipelined` of one list of layers and one of stages:
///
///     using mlp = sc::pipeline_sequential<sc::stage{input{28, 28}, flatten{}, dense{128, sc::relu}},
///                                         sc::stage{dense{10}}, sc::device_mapping<0, 1>>;
///
/// Errors: those of `sequential` and `pipelined`, and E2081 an argument that is no stage, or an empty one.
template <auto... Stages>
using pipeline_sequential = typename detail::verdict_on<detail::problem_of_stage_lists<Stages...>>::template model<
    typename detail::pipeline_of_lists<!detail::problem_of_stage_lists<Stages...>.failed(), Stages...>::type>;

}  // namespace stagecraft
