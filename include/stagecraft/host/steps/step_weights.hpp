// SPDX-License-Identifier: BSD-3-Clause
// What the host's steps read in place of the stored weights, or besides them, as long as the weights do not change.
// A batch normalization becomes a part of the weights of the layer before it: y = gamma (Wx + b - mean) / deviation +
// beta is a product with other weights. Products of single samples have their weights packed.
#pragma once

#include <stagecraft/description/inference.hpp>
#include <stagecraft/diagnostics/for_each_index.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/engine/policy/pass_memory.hpp>
#include <stagecraft/engine/policy/weight_storage.hpp>
#include <stagecraft/host/steps/host_call.hpp>
#include <stagecraft/models/queries.hpp>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace stagecraft::cpu {

/// True if the weights of a layer can contain a normalization that comes after it.
constexpr bool takes_normalization(layer_kernel kernel) {
  return kernel == layer_kernel::product || kernel == layer_kernel::convolution;
}

/// True if a layer says that it multiplies bytes, and which.
template <class L>
[[nodiscard]] constexpr bool has_bytes(L const& layer) {
  if constexpr (requires { layer.options.input_bytes; })
    return layer.options.input_bytes.is_given && layer.options.input_bytes.least <= 0 &&
           layer.options.input_bytes.least >= -255;
  else
    return false;
}

/// True if a call multiplies bytes: its kernel is among the prepared weights.
template <class Call>
inline constexpr bool multiplies_bytes = false;
template <class Plan, int Call>
inline constexpr bool multiplies_bytes<host_call<Plan, Call>> = [] {
  if constexpr (Plan::trains || Plan::graph.call(Call).is_input || is_half(Plan::stored))
    return false;
  else
    return Plan::is_whole && only_infers<Plan::training> && has_bytes(host_call<Plan, Call>::layer);
}();

/// True if the normalization that is the epilogue of a call, alone in reading its output, is a part of its weights.
template <class Plan, int Call>
constexpr bool takes_in_epilogue() {
  using model = typename Plan::model;
  constexpr int next = Plan::epilogue(Call);
  if constexpr (next < 0) {
    return false;
  } else if constexpr (Plan::graph.layer_of(next).kernel != layer_kernel::batch_normalization ||
                       !takes_normalization(Plan::graph.layer_of(Call).kernel)) {
    return false;
  } else {
    return layer_of<model, Call>.activation == linear && !has_bytes(layer_of<model, Call>) &&
           Plan::graph.layer_of(Call).call_count == 1 && Plan::graph.layer_of(next).call_count == 1;
  }
}

/// The call whose weights contain a batch normalization; -1: it has a step of its own.
template <class Plan, int Call>
inline constexpr int folded_into = [] {
  if constexpr (!only_infers<Plan::training>) {
    return -1;
  } else if constexpr (!Plan::training.fold_batch_normalization || Plan::options.offloads_weights() ||
                       Plan::graph.is_stateful() ||  // the copies that are folded would hold the states, too
                       Plan::graph.layer_of(Call).kernel != layer_kernel::batch_normalization) {
    return -1;
  } else {
    constexpr int before = [] {
      int call = Call;
      while (call >= 0 && Plan::epilogue(call) != Call) --call;
      return call;
    }();
    if constexpr (before < 0)
      return -1;
    else
      return takes_in_epilogue<Plan, before>() ? before : -1;
  }
}();

/// The numbers of the weights of a batch normalization, in its layer.
struct normalization_weights {
  int gamma = 0, beta, moving_mean, moving_variance = moving_mean + 1;

  constexpr explicit normalization_weights(auto const& layer)
      : beta(layer.options.scale ? 1 : 0), moving_mean(beta + (layer.options.center ? 1 : 0)) {}
};

/// Makes the weights of a call of those that are given, for steps that leave out the normalization: a kernel whose
/// columns are scaled, and a bias, which stands in place of the moving mean if the call's layer has none.
template <class Plan, int Call>
void fold_normalization(float const* given, float* folded) {
  using model = typename Plan::model;
  using layout = weight_layout<model, typename Plan::architecture>;
  constexpr auto const& options = layer_of<model, Call>.options;
  constexpr normalization_weights numbers(layer_of<model, Call>);
  constexpr int before = folded_into<Plan, Call>;
  constexpr auto own = static_cast<std::size_t>(Plan::graph.layer_of(Call).first_parameter);
  constexpr auto kernel = static_cast<std::size_t>(Plan::graph.layer_of(before).first_parameter);
  constexpr bool has_bias = layer_of<model, before>.options.use_bias;
  constexpr auto target = has_bias ? kernel + 1 : own + numbers.moving_mean;
  constexpr long long size = Plan::graph.parameters[kernel].size(),
                      columns = Plan::graph.parameters[kernel].shape.back();
  auto const at = [given](std::size_t parameter) { return given + layout::storage.offset[parameter]; };
  aligned_block const values(size), scale(columns), bias(columns);
  for (long long c = 0; c < columns; ++c) {
    double factor =
        1 / std::sqrt(static_cast<double>(at(own + numbers.moving_variance)[c]) + static_cast<double>(options.epsilon));
    if constexpr (options.scale) factor *= static_cast<double>(at(own + numbers.gamma)[c]);
    double offset = -factor * static_cast<double>(at(own + numbers.moving_mean)[c]);
    if constexpr (has_bias) offset += factor * static_cast<double>(at(kernel + 1)[c]);
    if constexpr (options.center) offset += static_cast<double>(at(own + numbers.beta)[c]);
    scale.data()[c] = static_cast<float>(factor);
    bias.data()[c] = static_cast<float>(offset);
  }
  layout::template read<kernel>(given, values.data());
  for (long long i = 0; i < size; ++i) values.data()[i] *= scale.data()[i % columns];
  layout::template write<kernel>(values.data(), folded);
  std::copy_n(bias.data(), columns, folded + layout::storage.offset[target]);
}

/// The weights that the steps of a session read, if there are such normalizations. `Plan<Call>` is that of a call.
template <class M, auto Description, class Arch, template <int> class Plan>
class folded_weights {
  static constexpr auto calls = std::make_index_sequence<graph_of<M>.calls.size()>();

 public:
  /// True if a normalization is a part of the weights before it.
  template <int Call>
  [[nodiscard]] static constexpr bool is_folded() {
    if constexpr (only_infers<Description>)
      return folded_into<Plan<Call>, Call> >= 0;
    else
      return false;
  }
  /// Number of folded calls.
  static constexpr int count = []<std::size_t... Call>(std::index_sequence<Call...>) {
    int found = 0;
    for (bool const each : {false, is_folded<static_cast<int>(Call)>()...}) found += each ? 1 : 0;
    return found;
  }(calls);

  [[nodiscard]] float* data() const noexcept { return weights_.data(); }

  /// Makes them of those that are given.
  void fold(float const* given) {
    if constexpr (count > 0) {
      std::copy_n(given, weights_.size(), weights_.data());
      [&]<std::size_t... Call>(std::index_sequence<Call...>) {
        [[maybe_unused]] int const done[]{0, (fold_call<static_cast<int>(Call)>(given), 0)...};
      }(calls);
    }
  }

 private:
  template <int Call>
  void fold_call(float const* given) {
    if constexpr (is_folded<Call>()) fold_normalization<Plan<Call>, Call>(given, weights_.data());
  }

  aligned_block weights_{count > 0 ? weight_storage_of<M, Arch>.floats : 0};
};

/// Floats that the forward step of a call reads in place of weights; whole cache lines.
template <class Plan, int Call>
inline constexpr long long prepared_floats = [] {
  if constexpr (Plan::trains || Plan::graph.call(Call).is_input) {
    return 0LL;
  } else {
    using call = host_call<Plan, Call>;
    if constexpr (requires { cpu::layer_steps_of<call>::template prepared_floats<call>(); })
      return (cpu::layer_steps_of<call>::template prepared_floats<call>() + 15) / 16 * 16;
    else
      return 0LL;
  }
}();

/// The place where the floats of a call begin among those of all calls.
template <class Plan, int Call>
inline constexpr long long prepared_place = [] {
  return []<std::size_t... Before>(std::index_sequence<Before...>) {
    long long floats = 0;
    for (long long const each : {0LL, prepared_floats<Plan, static_cast<int>(Before)>...}) floats += each;
    return floats;
  }(std::make_index_sequence<static_cast<std::size_t>(Call)>{});
}();

/// Floats of states that the forward step of a call keeps beside the stored weights; whole cache lines.
template <class Plan, int Call>
inline constexpr long long kept_floats = [] {
  if constexpr (Plan::trains || Plan::graph.call(Call).is_input) {
    return 0LL;
  } else {
    using call = host_call<Plan, Call>;
    if constexpr (requires { cpu::layer_steps_of<call>::template kept_floats<call>(); })
      return (cpu::layer_steps_of<call>::template kept_floats<call>() + 15) / 16 * 16;
    else
      return 0LL;
  }
}();

/// The place where the floats of a call begin among those of all calls.
template <class Plan, int Call>
inline constexpr long long kept_place = [] {
  return []<std::size_t... Before>(std::index_sequence<Before...>) {
    long long floats = 0;
    for (long long const each : {0LL, kept_floats<Plan, static_cast<int>(Before)>...}) floats += each;
    return floats;
  }(std::make_index_sequence<static_cast<std::size_t>(Call)>{});
}();

/// The memory of all calls of a plan, where a session runs all of them by that plan: prepared weights, then states.
template <class Plan>
class prepared_weights {
  static constexpr int calls = static_cast<int>(Plan::graph.calls.size());
  static constexpr bool holds = Plan::is_whole && only_infers<Plan::training>;

  static constexpr long long weight_floats = [] {
    if constexpr (holds)
      return prepared_place<Plan, calls>;
    else
      return 0LL;
  }();

 public:
  /// Floats of the states of all calls that keep theirs here.
  static constexpr long long state_floats = [] {
    if constexpr (holds && Plan::graph.is_stateful())
      return kept_place<Plan, calls>;
    else
      return 0LL;
  }();
  static constexpr long long floats = weight_floats + state_floats;

  [[nodiscard]] float* data() const noexcept { return memory_.data(); }

  /// The states that a step reads: those of this memory, unless the caller has brought others.
  [[nodiscard, gnu::always_inline]] static inline float* kept_states(pass_memory const& memory) {
    return memory.kept_states != nullptr ? memory.kept_states : memory.prepared + weight_floats;
  }

  /// Copies these states to where states are stored.
  void store_states([[maybe_unused]] float* stored) const {
    if constexpr (state_floats > 0)
      give_states(memory_.data() + weight_floats,
                  [&](int parameter) { return stored + Plan::weights.offset[parameter]; });
  }
  /// Copies states to `place_of(parameter)`, row by row, or takes them from there.
  template <class PlaceOf>
  static void give_states(float* kept, PlaceOf const& place_of) {
    for_each_keeper([&]<class Call>() {
      layer_steps_of<Call>::template give_states<Call>(
          kept + kept_place<Plan, Call::call>, [&](int index) { return place_of(Call::first_parameter + index); });
    });
  }
  template <class PlaceOf>
  static void take_states(float* kept, PlaceOf const& place_of) {
    for_each_keeper([&]<class Call>() {
      layer_steps_of<Call>::template take_states<Call>(
          kept + kept_place<Plan, Call::call>, [&](int index) { return place_of(Call::first_parameter + index); });
    });
  }

  /// Makes them of those that are given, in the layout of the session.
  void prepare([[maybe_unused]] float* given) {
    if constexpr (weight_floats > 0) {
      pass_memory memory;
      memory.weights = given;
      for_each_index<calls>([&]<int Call>() { prepare_call<Call>(memory); });
    }
    if constexpr (state_floats > 0)
      take_states(memory_.data() + weight_floats,
                  [&](int parameter) { return given + Plan::weights.offset[parameter]; });
  }

 private:
  template <int Call>
  void prepare_call(pass_memory const& memory) {
    if constexpr (prepared_floats<Plan, Call> > 0) {
      using call = host_call<Plan, Call>;
      cpu::layer_steps_of<call>::prepare(call{memory}, memory_.data() + prepared_place<Plan, Call>);
    }
  }

  /// each.operator()<Call>() for the host_call of each call that keeps states here.
  template <class Each>
  static void for_each_keeper(Each const& each) {
    for_each_index<calls>([&]<int Call>() {
      if constexpr (kept_floats<Plan, Call> > 0) each.template operator()<host_call<Plan, Call>>();
    });
  }

  aligned_block memory_{floats};
};

/// See ExecutionPolicy. Weights that contain batch normalizations replace the stored ones; packed weights of single
/// samples stand beside them.
template <class Plan, template <int> class PlanOfCall>
class step_weights {
  using prepared_type = prepared_weights<Plan>;

 public:
  using folded_type = folded_weights<typename Plan::model, Plan::training, typename Plan::architecture, PlanOfCall>;
  static constexpr bool replaces_weights = folded_type::count > 0;
  static constexpr bool prepares_weights = prepared_type::floats > 0;

  void derive(float* stored) {
    folded_.fold(stored);
    prepared_.prepare(replaces_weights ? folded_.data() : stored);
  }
  [[nodiscard]] float* weights() const noexcept { return folded_.data(); }
  [[nodiscard]] float* prepared() const noexcept { return prepared_.data(); }
  /// Returns the stored weights. The states among them become those in `prepared` if these are ahead.
  float* store_states(float* stored, bool are_ahead) const {
    if (prepared_type::state_floats > 0 && are_ahead) prepared_.store_states(stored);
    return stored;
  }

 private:
  folded_type folded_;
  prepared_type prepared_;
};

}  // namespace stagecraft::cpu
