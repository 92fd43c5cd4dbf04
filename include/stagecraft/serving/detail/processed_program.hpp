// SPDX-License-Identifier: BSD-3-Clause
// A predictor with the steps before and after its model, which run on the CPU.
#pragma once

#include <stagecraft/serving/detail/processing_step.hpp>
#include <stagecraft/serving/predictor_program.hpp>
#include <stagecraft/serving/program.hpp>
#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

namespace stagecraft::serving::detail {

/// Runs the steps around a program's batches.
template <class Preprocessing, class Postprocessing>
class processing_feed final : public program_feed {
  static constexpr bool has_pre = !std::is_same_v<Preprocessing, no_processing>;
  static constexpr bool has_post = !std::is_same_v<Postprocessing, no_processing>;
  using pre = decltype(spans_of<Preprocessing>());
  using post = decltype(spans_of<Postprocessing>());

 public:
  processing_feed(program_feed& outer, std::size_t batch, int replicas) : outer_(outer), batch_(batch) {
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
  program_feed& outer_;
  std::size_t batch_;
  std::vector<replica_room> rooms_;
};

/// `known`: what callers see, whose iterations and inputs and outputs are not the predictor's own.
template <class Predictor, class Preprocessing, class Postprocessing>
class processed_program final : public program {
  using session_type = typename Predictor::session_type;

 public:
  processed_program(Predictor&& model, program_description known)
      : program_(std::move(model), {}, known.iterations), known_(std::move(known)) {
    known_.batch_size = session_type::batch;
  }

  [[nodiscard]] program_description const& description() const noexcept override { return known_; }
  void run(program_feed& feed) override {
    processing_feed<Preprocessing, Postprocessing> inner(feed, static_cast<std::size_t>(session_type::batch),
                                                         session_type::replicas);
    program_.run(inner);
  }

 private:
  predictor_program<Predictor> program_;
  program_description known_;
};

}  // namespace stagecraft::serving::detail
