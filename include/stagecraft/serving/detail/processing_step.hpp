// SPDX-License-Identifier: BSD-3-Clause
// What is known of a step before or after a model, from the type of its `call`.
#pragma once

#include <stagecraft/serving/application_options.hpp>
#include <stagecraft/serving/program.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace stagecraft::serving::detail {

template <class Span>
inline constexpr bool is_step_span = false;
template <class Number, std::size_t Extent>
inline constexpr bool is_step_span<std::span<Number, Extent>> =
    std::is_same_v<std::remove_const_t<Number>, float> && Extent != std::dynamic_extent;

/// Its spans: `read` of them are read, `written` are written after them; `is_valid` if it has such a function at all.
template <class Function>
struct step_spans {
  static constexpr bool is_valid = false;
  static constexpr int read = 0, written = 0;
  static constexpr std::array<int, 0> sizes{};
};
template <class... Spans>
  requires(is_step_span<Spans> && ...)
struct step_spans<void (*)(Spans...)> {
  static constexpr std::array<bool, sizeof...(Spans)> reads{std::is_const_v<typename Spans::element_type>...};
  static constexpr std::array<int, sizeof...(Spans)> sizes{static_cast<int>(Spans::extent)...};
  static constexpr int read = [] {
    std::size_t count = 0;
    while (count < reads.size() && reads[count]) ++count;
    return static_cast<int>(count);
  }();
  static constexpr int written = static_cast<int>(sizes.size()) - read;
  static constexpr bool is_valid = [] {
    for (auto i = static_cast<std::size_t>(read); i < reads.size(); ++i)
      if (reads[i]) return false;
    return read > 0 && written > 0;
  }();

  /// Calls it for one sample of arrays in which samples follow each other.
  template <class Step>
  static void call(float const* const* from, float* const* to, std::size_t sample) {
    [&]<std::size_t... Place>(std::index_sequence<Place...>) {
      Step::call(Spans(
          [&] {
            if constexpr (static_cast<int>(Place) < read)
              return from[Place] + sample * Spans::extent;
            else
              return to[static_cast<int>(Place) - read] + sample * Spans::extent;
          }(),
          Spans::extent)...);
    }(std::index_sequence_for<Spans...>{});
  }
};

template <class Step>
constexpr auto spans_of() {
  if constexpr (requires { &Step::call; })
    return step_spans<decltype(&Step::call)>{};
  else
    return step_spans<void>{};
}

/// The sizes of a signature's specs, and what they are at run time.
template <class Signature>
struct signature_facts {
  static constexpr std::array<int, 0> sizes{};
};
template <class... Specs>
struct signature_facts<signature<Specs...>> {
  static constexpr std::array<int, sizeof...(Specs)> sizes{Specs::size...};
  [[nodiscard]] static std::vector<tensor_spec> specs() {
    return {tensor_spec{std::string(Specs::name.view()),
                        std::vector<std::int64_t>(Specs::extents, Specs::extents + Specs::rank)}...};
  }
};
template <class Step>
constexpr auto facts_of_step() {
  if constexpr (requires { typename Step::preprocessing_step_signature; })
    return signature_facts<typename Step::preprocessing_step_signature>{};
  else
    return signature_facts<void>{};
}

}  // namespace stagecraft::serving::detail
