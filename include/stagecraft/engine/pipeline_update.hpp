// SPDX-License-Identifier: BSD-3-Clause
// The weight update of a pipeline's devices, on any machine, and what it does with the gradients and weights of
// replicas.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/engine/pipeline_memory.hpp>
#include <stagecraft/engine/policy/device_threads.hpp>
#include <stagecraft/engine/update_norms.hpp>
#include <stagecraft/kernels/reduction/collectives.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace stagecraft::engine {

/// The place of a weight update and its number. `Replicas`: the memories of all replicas.
template <class Replicas>
struct update_place {
  Replicas const& all;
  int replica = 0;
  int device = 0;
  std::int64_t number = 1;  ///< number of the weight update, from 1
  std::uint64_t seed = 1;
  float learning_rate = 0;

  [[nodiscard]] auto& own() const { return *all[replica]; }
};

/// The parts of a weight update; between them all devices of all replicas wait for each other. All threads of a device
/// call each of them. `Plan` is that of any pass of training.
template <class Sizes, class Plan>
class pipeline_update {
  using memory_type = pipeline_memory<Sizes>;
  using policy = typename Plan::policy;
  using team = device_threads<Plan::threads>;
  using range = kernels::share::range;
  static constexpr int replicas = Sizes::replicas;
  static constexpr int slots = slots_of<Plan::training.optimizer>;
  template <std::size_t Parameter>
  using facts = weight_facts<Plan, Parameter>;
  using norms = update_norms<Sizes, Plan>;

 public:
  /// True if each replica updates a shard of each weight.
  static constexpr bool shards = Sizes::shards_state || Sizes::shards_weights;
  using all_replicas = std::array<memory_type*, static_cast<std::size_t>(replicas)>;
  using job = update_place<all_replicas>;

  /// True if backward steps leave anything to do.
  [[nodiscard]] static constexpr bool has_work() {
    return []<std::size_t... Parameter>(std::index_sequence<Parameter...>) {
      return (have_constraints<Plan> || ... || is_updated<Parameter>());
    }(parameters{});
  }

  /// The gradients of all calls of a layer become one. `apply` does it itself where nothing comes in between.
  static bool sum_calls(job const& what, device_thread const& self) {
    auto const memory = memory_of(what, self);
    if (!fetch_gradients(what, memory)) return false;
    team::divide(memory, [&what](pass_memory const& own) { sum_calls_of_share(what.device, own); });
    return team::goes_on(memory);
  }
  static constexpr bool sums_apart = replicas > 1 || have_penalty_gradients<Plan> || norms::rounds > 0;

  /// The gradients of all replicas become one, added in a fixed tree (collectives.hpp): each replica's device reduces
  /// its shard, for all of them or, if that is all that it will need, for itself.
  static bool reduce(job const& what, device_thread const& self) {
    auto const memory = memory_of(what, self);
    return team::alone(memory, [&] {
      for_each_weight(what.device, [&]<std::size_t Parameter>() {
        auto const here = Sizes::replicas_here();
        auto const shard = kernels::shard_of(Plan::weights.size[Parameter], what.replica, here);
        std::array<float*, static_cast<std::size_t>(replicas)> gradients{};
        for (int i = 0; i < here; ++i) gradients[i] = gradients_of(*what.all[i]) + Plan::weights.offset[Parameter];
        if constexpr (Sizes::processes::is_alone)
          policy::template sum_of_replicas<Plan, Parameter>(memory, gradients, what.replica, shard);
        else
          Sizes::processes::template add_up<Plan>(gradients.data(), shard);
      });
    });
  }
  /// The sums of this process's replicas, or the gradients of its devices, become those of all processes' replicas.
  static void exchange(all_replicas const& all) {
    std::array<float*, static_cast<std::size_t>(replicas)> here{};
    for (int i = 0; i < Sizes::replicas_here(); ++i) here[i] = gradients_of(*all[i]);
    if constexpr (Sizes::splits)
      Sizes::processes::template exchange_devices<Sizes, Plan>(here.data());
    else if constexpr (shards)
      Sizes::processes::template scatter_sums<Sizes, Plan>(here.data(), is_shared.data());
    else
      Sizes::processes::template exchange<Plan>(here.data(), Plan::weights.floats);
    for (int device = 0; device < Sizes::devices; ++device)
      if (Sizes::is_here(all[0]->replica, device))
        for_each_weight(device, [&]<std::size_t Parameter>() {
          policy::template sum_of_processes<Plan, Parameter>(here[0] + Plan::weights.offset[Parameter],
                                                             all[0]->done[0].value() - 1);
        });
  }
  /// The weights of the shards of this process's replicas, and of all other processes', become those of all replicas.
  static void gather_weights(all_replicas const& all) {
    std::array<float*, static_cast<std::size_t>(replicas)> here{};
    for (int i = 0; i < Sizes::replicas_here(); ++i) here[i] = all[i]->weights.data();
    Sizes::processes::template gather_weights<Sizes>(here.data(), is_shared.data());
  }
  /// The sums of squares that each replica has found for its shard become known to all.
  static void share_norms_of_shards(all_replicas const& all) {
    auto& sums = all[0]->norms.sums;
    for (int i = 1; i < Sizes::replicas_here(); ++i) sums[all[i]->replica] = all[i]->norms.sums[all[i]->replica];
    Sizes::processes::gather(sums.data(), sizeof sums[0], replicas);
    for (int i = 1; i < Sizes::replicas_here(); ++i) all[i]->norms.sums = sums;
  }
  /// The sums of squares, or the penalties, that each process has found for its devices' weights become known to all.
  /// They are the same for each replica.
  static void share_norms(all_replicas const& all) {
    auto& sums = all[0]->norms.sums;
    for (auto& of_shard : sums) Sizes::processes::template share_of_weights<Sizes>(of_shard.data(), sizeof of_shard[0]);
    for (int i = 1; i < Sizes::replicas_here(); ++i) all[i]->norms.sums = sums;
  }
  static void share_penalties(all_replicas const& all) {
    auto& penalties = all[0]->penalties;
    Sizes::processes::template share_of_weights<Sizes>(penalties.data(), sizeof penalties[0]);
    for (int i = 1; i < Sizes::replicas_here(); ++i) all[i]->penalties = penalties;
  }

  /// Adds the gradients of the user's own penalties to those of the device's weights, before any weight changes.
  static bool add_penalty_gradients(job const& what, device_thread const& self) {
    constexpr float times = penalties_in_gradient<typename Plan::job::described, replicas>;
    auto memory = memory_of(what, self);
    return team::alone(memory, [&] {
      policy::template begin_update<Sizes>(what.own().of_policy, what.device, memory, false);
      float scaled = times;
      if constexpr (Sizes::scales_losses) scaled *= scale_of(what).scale;
      for_each_weight(what.device, [&]<std::size_t Parameter>() {
        if constexpr (facts<Parameter>::has_penalty_gradient)
          policy::template penalty_gradient<Plan, Parameter>(memory, scaled, shards);
      });
    });
  }

  /// Rounds of `find_norms` before the optimizer's step, and whether devices wait for each other after one.
  static constexpr int norm_rounds = norms::rounds;
  template <int Round>
  static constexpr bool waits_for_norms = norms::template waits<Round>;

  /// The sums of squares of a round's norms; those of the round before are found first.
  template <int Round>
  static bool add_squares(job const& what, device_thread const& self) {
    auto memory = memory_of(what, self);
    if (self.leads()) policy::template begin_update<Sizes>(what.own().of_policy, what.device, memory, false);
    if (!find_norms<Round - 1>(what, memory)) return false;
    team::divide(memory, [&what](pass_memory const& own) {
      for_each_weight(what.device, [&]<std::size_t Parameter>() {
        norms::template add_squares<Parameter, Round>(what.own(), own, what.device,
                                                      [&](range const& of) { return state_of<Parameter>(what, of); });
      });
    });
    return team::goes_on(memory) && team::alone(memory, [&] {
             for_each_weight(what.device, [&]<std::size_t Parameter>() {
               norms::template add_blocks<Parameter, Round>(what.own(), memory, what.device,
                                                            state_of<Parameter>(what, {0, 0}));
             });
           });
  }

  /// The optimizer's step: on all weights of the device, or on this replica's shard of them. Threads take parts of
  /// each, unless the state goes through a place that has room for one weight at a time.
  static bool apply(job const& what, device_thread const& self) {
    auto memory = memory_of(what, self);
    if (self.leads()) policy::template begin_update<Sizes>(what.own().of_policy, what.device, memory, true);
    if (!sums_apart && !fetch_gradients(what, memory)) return false;
    if (!find_norms<norms::rounds - 1>(what, memory)) return false;
    if constexpr (!shards && !Sizes::fetches_state) {
      team::divide(memory, [&what](pass_memory const& own) {
        if constexpr (!sums_apart) sum_calls_of_share(what.device, own);
        for_each_weight(what.device, [&]<std::size_t Parameter>() {
          apply_to<Parameter>(what, own, own.share.of(Plan::weights.size[Parameter], 16));
        });
      });
      return team::goes_on(memory);
    } else {
      return team::alone(memory, [&] {
        if constexpr (!sums_apart) sum_calls_of_share(what.device, memory);
        for_each_weight(what.device, [&]<std::size_t Parameter>() {
          auto elements = range{0, Plan::weights.size[Parameter]};
          if constexpr (shards) elements = kernels::shard_of(elements.last, what.own().replica, replicas);
          apply_to<Parameter>(what, memory, elements);
          if constexpr (shards && !Sizes::shards_weights) give<Parameter>(what.all, what.replica, elements);
        });
      });
    }
  }

  /// Applies constraints to the device's weights after their updates, which all replicas have done. Weights that the
  /// replicas share stand with the first one.
  static bool constrain(job const& what, device_thread const& self) {
    if (Sizes::shards_weights && what.replica > 0) return true;
    auto memory = memory_of(what, self);
    return team::alone(memory, [&] {
      if (!is_carried_out(what)) return;
      policy::template begin_update<Sizes>(what.own().of_policy, what.device, memory, false);
      for_each_weight<false>(what.device, [&]<std::size_t Parameter>() {
        if constexpr (facts<Parameter>::has_constraint) policy::template constraint<Plan, Parameter>(memory, shards);
      });
    });
  }

  /// Finds the factor that losses are multiplied by from now on, if it changes. Every device does this for itself.
  static bool advance_loss_scale(job const& what, device_thread const& self) {
    if constexpr (Sizes::scales_losses)
      return team::alone(memory_of(what, self), [&] {
        scale_of(what).advance(Sizes::loss_scale, gradients);
        for (int other = 0; other < Sizes::devices; ++other)
          if (!Sizes::is_here(what.own().replica, other)) what.own().loss_scales.of_device[other] = scale_of(what);
      });
    else
      return true;
  }

  /// The regularizers' part of the loss, which stays the same until the weights change.
  static bool find_penalties(job const& what, device_thread const& self) {
    auto const memory = memory_of(what, self);
    return team::alone(memory, [&] {
      [&]<std::size_t... Parameter>(std::index_sequence<Parameter...>) {
        [[maybe_unused]] int const done[]{0, (find_penalty<Parameter>(what, memory.workspace), 0)...};
      }(parameters{});
    });
  }

 private:
  using parameters = std::make_index_sequence<Plan::weights.count>;
  /// The weights that replicas update for each other.
  static constexpr std::array<bool, Plan::weights.count + 1> is_shared =
      []<std::size_t... Parameter>(std::index_sequence<Parameter...>) {
        return std::array<bool, sizeof...(Parameter) + 1>{facts<Parameter>::is_trained..., false};
      }(parameters{});

  static float* gradients_of(memory_type& own) {
    return (Sizes::fetches_gradients ? own.local_gradients : own.gradients).data();
  }

  /// Weights that the replicas share stand with the first one.
  static pass_memory memory_of(job const& what, device_thread const& self) {
    auto& own = what.own();
    float* const workspace = own.workspaces[what.device].data();
    return {device_memory{.weights = (Sizes::shards_weights ? *what.all[0] : own).weights.data(),
                          .gradients = gradients_of(own),
                          .halves = reinterpret_cast<std::uint16_t*>(
                              (Sizes::fetches_gradients ? own.local_halves : own.halves).data()),
                          .first_workspace = workspace},
            pass_numbers{.seed = what.seed,
                         .micro_batch = own.done[0].value() - 1,  // the last one
                         .update = what.number,
                         .learning_rate = what.learning_rate},
            weight_numbers{}, thread_part{.workspace = workspace, .member = self.member}};
  }

  /// The norms of a round of the device's weights; nothing before the first one.
  template <int Round>
  static bool find_norms([[maybe_unused]] job const& what, [[maybe_unused]] pass_memory const& memory) {
    if constexpr (Round < 0)
      return true;
    else
      return team::alone(memory, [&] {
        for_each_weight(what.device,
                        [&]<std::size_t Parameter>() { norms::template find<Parameter, Round>(what.all, what.own()); });
        if constexpr (Sizes::scales_losses && Round == 0)
          scale_of(what).look_at(norms::sum_for_loss_scale(what.all, what.own()), Sizes::loss_scale);
      });
  }
  static dynamic_loss_scale& scale_of(job const& what)
    requires(Sizes::scales_losses)
  {
    return what.own().loss_scales.of_device[what.device];
  }
  /// True if weights change.
  static bool is_carried_out([[maybe_unused]] job const& what) {
    if constexpr (Sizes::scales_losses)
      return scale_of(what).is_finite;
    else
      return true;
  }
  /// The place of the optimizer's state of a range of a weight's elements; offsets of a shard begin where the shard
  /// does.
  template <std::size_t Parameter>
  static optimizer_state state_of(job const& what, [[maybe_unused]] range const& elements) {
    if constexpr (slots == 0) return {};
    auto begin = elements.first;
    if constexpr (Sizes::shards_state)
      begin -= kernels::shard_of(Plan::weights.size[Parameter], what.own().replica, replicas).first;
    return {what.own().state.data() + Sizes::state_offset(Parameter) + begin, Sizes::all_state_floats};
  }

  static bool fetch_gradients([[maybe_unused]] job const& what, [[maybe_unused]] pass_memory const& memory) {
    if constexpr (Sizes::fetches_gradients)
      return team::alone(memory, [&] {
        for_each_weight(what.device, [&]<std::size_t Parameter>() { fetch_accumulators<Parameter>(what.own()); });
      });
    return true;
  }
  static void sum_calls_of_share(int device, pass_memory const& own) {
    for_each_weight(device, [&]<std::size_t Parameter>() { policy::template sum_of_calls<Plan, Parameter>(own); });
  }

  /// The first call of the layer that a weight belongs to.
  static constexpr int call_of(std::size_t parameter) {
    return Plan::graph.layer(Plan::graph.layer_of_parameter(static_cast<int>(parameter))).first_call;
  }
  /// Number of elements of the weights that are trained, or whose gradients decide on the factor of the losses.
  static constexpr std::int64_t gradients = []<std::size_t... Parameter>(std::index_sequence<Parameter...>) {
    return (std::int64_t{0} + ... +
            (facts<Parameter>::is_trained &&
                     (!Sizes::loss_scale.captured_only || Plan::graph.parameters[Parameter].is_captured())
                 ? std::int64_t{Plan::graph.parameters[Parameter].shape.size()}
                 : 0));
  }(parameters{});
  /// True if the policy is asked for the update after the backward steps.
  template <std::size_t Parameter>
  static constexpr bool is_updated() {
    return facts<Parameter>::is_trained && !(policy::joins_passes && facts<Parameter>::is_joined);
  }

  /// each<Parameter>() for the weights of a device: those to be updated, or all that are trained.
  template <bool Updated = true, class Each>
  static void for_each_weight(int device, Each const& each) {
    [&]<std::size_t... Parameter>(std::index_sequence<Parameter...>) {
      [[maybe_unused]] int const done[]{0, (visit<Parameter, Updated>(device, each), 0)...};
    }(parameters{});
  }
  template <std::size_t Parameter, bool Updated, class Each>
  static void visit(int device, Each const& each) {
    if constexpr (Updated ? is_updated<Parameter>() : facts<Parameter>::is_trained) {
      constexpr int owner = Sizes::device_of_weight(Parameter);
      if (owner == device) each.template operator()<Parameter>();
    }
  }

  template <std::size_t Parameter>
  static void fetch_accumulators(memory_type& own) {
    for (std::size_t call = 0; call < Plan::graph.calls.size(); ++call)
      if (Plan::model_plan.calls[call].needs_gradient && facts<Parameter>::used_by(static_cast<int>(call)))
        move_accumulator<Sizes, true>(own, Plan::weights.offset[Parameter] + Plan::gradients.shift[call],
                                      Plan::weights.size[Parameter]);
  }

  template <std::size_t Parameter>
  static void apply_to(job const& what, pass_memory const& of_device, range elements) {
    auto& own = what.own();
    if (!is_carried_out(what)) return;
    auto const memory = norms::template memory_of<Parameter>(own, of_device, what.device);
    constexpr auto floats = Sizes::state_floats(Parameter);
    auto const first = Sizes::shards_state ? 0 : elements.first;
    float* const state = own.state.data() + Sizes::state_offset(Parameter) + first;
    if constexpr (Sizes::fetches_state && slots > 0) {
      float* const local = own.local_state.data() + what.device * Sizes::largest_state * slots;
      auto const count = elements.last - elements.first;
      for (int i = 0; i < slots; ++i) std::copy_n(state + i * Sizes::all_state_floats, count, local + i * floats);
      policy::template update<Plan, Parameter>(memory, optimizer_state{local, floats}, elements);
      for (int i = 0; i < slots; ++i) std::copy_n(local + i * floats, count, state + i * Sizes::all_state_floats);
    } else {
      policy::template update<Plan, Parameter>(memory, optimizer_state{state, Sizes::all_state_floats}, elements);
    }
  }

  /// All-gather: the other replicas get this one's shard, which none of them reads or writes meanwhile.
  template <std::size_t Parameter>
  static void give(all_replicas const& all, int replica, range elements) {
    constexpr auto offset = Plan::weights.offset[Parameter];
    float const* const from = all[replica]->weights.data() + offset;
    for (int i = 0; i < Sizes::replicas_here(); ++i)
      if (i != replica)
        std::copy(from + elements.first, from + elements.last, all[i]->weights.data() + offset + elements.first);
  }

  template <std::size_t Parameter>
  static void find_penalty(job const& what, float* workspace) {
    constexpr auto const& info = Plan::graph.parameters[Parameter];
    if constexpr (!info.regularizer.empty()) {
      constexpr int owner = Sizes::device_of_weight(Parameter);
      auto const& holder = Sizes::shards_weights && info.trainable ? *what.all[0] : what.own();
      if (owner == what.device)
        what.own().penalties[Parameter] = policy::template penalty<Plan, Parameter>(holder.weights.data(), workspace);
    }
  }
};

}  // namespace stagecraft::engine
