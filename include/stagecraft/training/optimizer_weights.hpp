// SPDX-License-Identifier: BSD-3-Clause
// The numbers that an optimizer keeps with each weight, as users see them: copies in Keras's order, under Keras's
// names.
#pragma once

#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/optimizers/optimizer.hpp>
#include <stagecraft/training/weight_views.hpp>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft::trainers {

/// Records the names of an optimizer's slots.
class slot_name_tracer : public update_tracer {
 public:
  using update_tracer::update_tracer;
  constexpr tensor slot(std::string_view name) {
    names.push_back(name);
    return update_tracer::slot(name);
  }
  growing_array<std::string_view> names;
};

/// The names of an optimizer's slots; empty for slots that it asks for as an update_tracer.
template <auto Optimizer>
inline constexpr auto slot_names = [] {
  operations::operation_list list;
  operations::tensor const weight{&list, list.append(operations::input{update_tracer::weight}, {}, {})};
  operations::tensor const gradient{&list, list.append(operations::input{update_tracer::gradient}, {}, {})};
  int slots = 0;
  slot_name_tracer ops(list, &slots, Optimizer.learning_rate);
  Optimizer.update(ops, weight, gradient);
  std::array<std::string_view, static_cast<std::size_t>(slots_of<Optimizer>)> result{};
  for (std::size_t i = 0; i < result.size() && i < ops.names.size(); ++i) result[i] = ops.names[i];
  return result;
}();

/// The name of a slot: "m", or "slot_1" if it has none of its own.
template <auto Optimizer>
[[nodiscard]] std::string slot_name(std::size_t slot) {
  constexpr auto const& names = slot_names<Optimizer>;
  std::string_view const name = names[slot];
  bool is_own = !name.empty();
  for (std::size_t i = 0; i < names.size(); ++i) is_own = is_own && (i == slot || names[i] != name);
  return is_own ? std::string(name) : "slot_" + std::to_string(slot);
}

/// "dense/kernel/m:0"
[[nodiscard]] inline std::string optimizer_weight_name(std::string const& weight, std::string const& slot) {
  return weight.substr(0, weight.size() - 2) + "/" + slot + ":0";
}

/// The weights that are trained, in Keras's order, as indices of graph_of<M>.parameters.
template <class M>
inline constexpr auto trained_weight_order = [] {
  constexpr auto count = [] {
    std::size_t trained = 0;
    for (auto const& weight : graph_of<M>.parameters) trained += weight.trainable && !weight.is_captured() ? 1 : 0;
    return trained;
  }();
  std::array<int, count> result{};
  std::size_t next = 0;
  for (int const weight : weight_order<M>)
    if (graph_of<M>.parameters[weight].trainable) result[next++] = weight;
  return result;
}();

template <class M, auto const& Weights, class Session>
std::vector<weight_array> copy_optimizer_weights(Session const& session) {
  std::vector<weight_array> result;
  if constexpr (Session::sizes::slots > 0)
    for_each_weight<Weights>(session, [&]<std::size_t Weight>(Session const& from, std::size_t) {
      auto const& info = graph_of<M>.parameters[Weight];
      for (std::size_t slot = 0; slot < std::size_t{Session::sizes::slots}; ++slot) {
        result.push_back({optimizer_weight_name(weight_name<M>(static_cast<int>(Weight)),
                                                slot_name<Session::sizes::training.optimizer>(slot)),
                          {info.shape.begin(), info.shape.end()},
                          std::vector<float>(static_cast<std::size_t>(info.size()))});
        from.template read_optimizer_slot<Weight>(static_cast<int>(slot), result.back().values.data());
      }
    });
  return result;
}

template <class M, auto const& Weights, class Session>
void assign_optimizer_weights(Session& session, std::vector<weight_array> const& weights) {
  constexpr auto slots = static_cast<std::size_t>(Session::sizes::slots);
  if (weights.size() != Weights.size() * slots)
    throw data_error("E4009", "set_optimizer_weights: the optimizer has " + std::to_string(Weights.size() * slots) +
                                  " weights, found " + std::to_string(weights.size()));
  if constexpr (slots > 0) {
    for (std::size_t i = 0; i < weights.size(); ++i)
      check_weight(weights[i],
                   optimizer_weight_name(weight_name<M>(Weights[i / slots]),
                                         slot_name<Session::sizes::training.optimizer>(i % slots)),
                   graph_of<M>.parameters[Weights[i / slots]].shape);
    for_each_weight<Weights>(session, [&]<std::size_t Weight>(Session& to, std::size_t index) {
      for (std::size_t slot = 0; slot < slots; ++slot)
        to.template write_optimizer_slot<Weight>(static_cast<int>(slot), weights[index * slots + slot].values.data());
    });
  }
}

}  // namespace stagecraft::trainers
