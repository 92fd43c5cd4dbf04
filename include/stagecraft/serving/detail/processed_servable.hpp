// SPDX-License-Identifier: BSD-3-Clause
// A servable of a predictor with steps before and after its model, which run on the CPU. Names and shapes of a step
// follow from the type of its `call`.
#pragma once

#include <stagecraft/serving/application_options.hpp>
#include <stagecraft/serving/predictor_servable.hpp>
#include <stagecraft/serving/servable.hpp>
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

/// The spans of a step's function: `read` spans that it reads, then `written` spans that it writes; `is_valid` if the
/// step has such a function.
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

  /// Calls the function for one sample of arrays in which samples follow each other.
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

/// The sizes of a signature's specs, and the specs at run time.
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

/// Runs the steps before and after the batches of a servable.
template <class Preprocessing, class Postprocessing>
class processing_feed final : public servable_feed {
  static constexpr bool has_pre = !std::is_same_v<Preprocessing, no_processing>;
  static constexpr bool has_post = !std::is_same_v<Postprocessing, no_processing>;
  using pre = decltype(spans_of<Preprocessing>());
  using post = decltype(spans_of<Postprocessing>());

 public:
  processing_feed(servable_feed& outer, std::size_t batch, int replicas) : outer_(outer), batch_(batch) {
    rooms_.resize(static_cast<std::size_t>(replicas));
    for (auto& room : rooms_) {
      if constexpr (has_pre)
        for (int i = 0; i < pre::read; ++i) room.before.emplace_back(batch * size_of(pre::sizes, i));
      if constexpr (has_post)
        for (int i = 0; i < post::written; ++i) room.after.emplace_back(batch * size_of(post::sizes, post::read + i));
    }
  }

  int feed(int replica, float* const* inputs) override {
    if constexpr (!has_pre) {
      return outer_.feed(replica, inputs);
    } else {
      auto& room = rooms_[static_cast<std::size_t>(replica)];
      std::array<float*, std::size_t{pre::read}> given;
      for (std::size_t i = 0; i < given.size(); ++i) given[i] = room.before[i].data();
      int const samples = outer_.feed(replica, given.data());
      std::array<float const*, std::size_t{pre::read}> from;
      for (std::size_t i = 0; i < from.size(); ++i) from[i] = given[i];
      if (samples >= 0)
        for (std::size_t i = 0; i < batch_; ++i) pre::template call<Preprocessing>(from.data(), inputs, i);
      return samples;
    }
  }
  void take(int replica, float const* const* outputs) override {
    if constexpr (!has_post) {
      outer_.take(replica, outputs);
    } else {
      auto& room = rooms_[static_cast<std::size_t>(replica)];
      std::array<float*, std::size_t{post::written}> to;
      std::array<float const*, std::size_t{post::written}> results;
      for (std::size_t i = 0; i < to.size(); ++i) results[i] = to[i] = room.after[i].data();
      for (std::size_t i = 0; i < batch_; ++i) post::template call<Postprocessing>(outputs, to.data(), i);
      outer_.take(replica, results.data());
    }
  }
  void cancel() noexcept override { outer_.cancel(); }

 private:
  [[nodiscard]] static std::size_t size_of(auto const& sizes, int place) {
    return static_cast<std::size_t>(sizes[static_cast<std::size_t>(place)]);
  }
  struct replica_room {
    std::vector<std::vector<float>> before, after;
  };
  servable_feed& outer_;
  std::size_t batch_;
  std::vector<replica_room> rooms_;
};

/// `known`: the description that callers see, whose iterations, inputs and outputs replace the predictor's own.
template <class Predictor, class Preprocessing, class Postprocessing>
class processed_servable final : public servable {
  using session_type = typename Predictor::session_type;

 public:
  processed_servable(Predictor&& model, servable_description known)
      : servable_(std::move(model), {}, known.iterations), known_(std::move(known)) {
    known_.batch_size = session_type::batch;
  }

  [[nodiscard]] servable_description const& description() const noexcept override { return known_; }
  void run(servable_feed& feed) override {
    processing_feed<Preprocessing, Postprocessing> inner(feed, static_cast<std::size_t>(session_type::batch),
                                                         session_type::replicas);
    servable_.run(inner);
  }

 private:
  predictor_servable<Predictor> servable_;
  servable_description known_;
};

}  // namespace stagecraft::serving::detail
