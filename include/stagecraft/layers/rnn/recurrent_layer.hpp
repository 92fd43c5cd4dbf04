// SPDX-License-Identifier: BSD-3-Clause
// The base of layers with a loop over time: masks, first and last states. Keras counterpart: RNN.
#pragma once

#include <stagecraft/layers/layer.hpp>
#include <stagecraft/layers/output_part.hpp>
#include <array>
#include <concepts>
#include <cstddef>

namespace stagecraft::layers::detail {

/// The results of a loop over time: its output, and each state after the last step.
template <std::size_t States>
struct recurrent_result {
  operations::tensor output;
  std::array<operations::tensor, States> states{};
  operations::tensor second{};  ///< a second output, of a bidirectional layer that merges nothing
};

}  // namespace stagecraft::layers::detail

namespace stagecraft {

namespace layers {

/// Base of recurrent layers of `States` states, between them and Base. `Derived::run(ops, x, mask, initial)` is the
/// loop: steps where the mask (batch, steps) is 0 leave the states as they are; `initial` are the first states, or
/// no tensor for zeros. The layer is called on x, or on x and all first states: Keras's `initial_state`. With
/// `options.return_state` it has 1 + States outputs. With `options.stateful` the states after the last step are those
/// that the next batch begins with, sample by sample, in training, evaluation and prediction, from micro-batch to
/// micro-batch: Keras's `stateful`. The model's inputs fix the batch size (input{...}.of_batch_size(32)), batches are
/// full (E4019), and there are no replicas (E2069); `reset_states` sets the states to zeros. Gradients stop at the
/// begin of a batch. States are no weights: get_weights, counts and files do not have them. Errors: E1085 another
/// number of states; E1087 no batch size, E1088 first states that a stateful layer is given.
template <class Base, class Derived, int States>
struct recurrent_layer : Base {
  static constexpr bool supports_masking = true;
  static constexpr int state_count = States, most_outputs = 1 + States;

  tracing::step_masks masks = {};  ///< masks of its first call, which the library finds

  using Base::Base;
  /// A template, so that a layer's own default constructor, which reports E1025, is taken before this.
  template <class L = Derived>
  constexpr recurrent_layer() {}

  [[nodiscard]] constexpr bool passes_mask() const { return self().options.return_sequences; }
  /// Number of outputs of a call.
  [[nodiscard]] constexpr int output_count() const { return self().options.return_state ? most_outputs : 1; }

  /// The call inside another layer's `call`: on x and, if given, all first states.
  template <std::same_as<operations::tensor>... More>
  constexpr operations::tensor call(operations::tracer& ops, operations::tensor x, More... first) const {
    operations::tensor const in[]{x, first...};
    return call_masked(ops, in, {});
  }
  constexpr operations::tensor call_masked(operations::tracer& ops, tensor_list in, mask_list const& counts) const {
    if (in.size() != 1 && in.size() != 1 + States) {
      ops.error(1085, "has ", States, States == 1 ? " state" : " states", ", but is called with ",
                static_cast<int>(in.size()) - 1, " behind its input; give it all first states or none");
      return in[0];
    }
    auto const done = self().run(ops, in[0], counts[0], in.subspan(1));
    if (self().output_count() == 1 || ops.list().problem.failed()) return done.output;
    std::array<operations::tensor, 2 + States> all{done.output, done.second};
    std::size_t const own = done.second.list == nullptr ? 1 : 2;
    for (std::size_t i = 0; i < States; ++i) all[own + i] = done.states[i];
    return ops.outputs(tensor_list(all).first(static_cast<std::size_t>(self().output_count())));
  }

 private:
  [[nodiscard]] constexpr Derived const& self() const { return static_cast<Derived const&>(*this); }
};

}  // namespace layers

}  // namespace stagecraft

namespace stagecraft::layers::detail {

/// The states that a loop begins with.
template <std::size_t States>
struct first_states {
  std::array<operations::tensor, States> each{};
  bool are_zeros = false, are_kept = false;

  /// Takes the given states, the states after the batch before if the layer is stateful, or zeros of the shape
  /// `of(index)`. Errors: E1085, E1088.
  template <class Shape>
  constexpr first_states(operations::tracer& ops, tensor_list given, bool stateful, Shape const& of)
      : are_zeros(given.empty() && !stateful), are_kept(given.empty() && stateful) {
    if (stateful && !given.empty())
      ops.error(1088, "is stateful, and is called with first states; it begins with those after the batch before");
    for (std::size_t i = 0; i < States; ++i) {
      operations::extents const expected = of(i);
      if (!given.empty()) {
        each[i] = given[i];
      } else if (stateful) {
        fixed_name name("states_");
        each[i] = ops.state(name.append(static_cast<int>(i)), expected);
      } else {
        each[i] = ops.full(expected, 0);
      }
      if (each[i].shape() == expected) continue;
      ops.error(1085, "has a state ", static_cast<int>(i), " of shape ", sample_of(expected), ", but is given ",
                sample_shape(each[i]));
      each[i] = ops.full(expected, 0);
    }
  }
  /// Keeps the states that the next batch begins with.
  constexpr void keep(operations::tracer& ops, std::array<operations::tensor, States> const& last) const {
    for (std::size_t i = 0; are_kept && i < States; ++i) ops.update(each[i], last[i]);
  }
};

/// Runs `step(x_t, states)` along the steps of x, (batch, steps, ...); see recurrent_layer for the mask. The output is
/// the state with the number `output`.
template <std::size_t States, class Options, class Step>
constexpr recurrent_result<States> loop_over_steps(operations::tracer& ops, operations::tensor x,
                                                   operations::tensor mask, first_states<States> const& initial,
                                                   Options const& options, Step const& step, std::size_t output = 0) {
  operations::tensor counts;
  if (mask.list != nullptr) {
    operations::extents of = mask.shape();
    while (of.rank <= initial.each[0].rank()) of.push_back(1);
    counts = ops.reshape(mask, of);
  }
  if (counts.list == nullptr || initial.are_zeros) {
    auto const done = ops.scan(x, 1, initial.each, step, options.go_backwards, counts);
    initial.keep(ops, done.last);
    return {options.return_sequences ? done.all[output] : done.last[output], done.last};
  }
  // Until the first step that counts, the output is 0, not the first state.
  std::array<operations::tensor, States + 1> with_output{};
  for (std::size_t i = 0; i < States; ++i) with_output[i] = initial.each[i];
  with_output[States] = ops.full(initial.each[output].shape(), 0);
  auto const step_and_output = [&](operations::tensor at, std::array<operations::tensor, States + 1> const& all) {
    std::array<operations::tensor, States> before{};
    for (std::size_t i = 0; i < States; ++i) before[i] = all[i];
    auto const next = step(at, before);
    std::array<operations::tensor, States + 1> result{};
    for (std::size_t i = 0; i < States; ++i) result[i] = next[i];
    result[States] = next[output];
    return result;
  };
  auto const done = ops.scan(x, 1, with_output, step_and_output, options.go_backwards, counts);
  recurrent_result<States> result{options.return_sequences ? done.all[States] : done.last[States]};
  for (std::size_t i = 0; i < States; ++i) result.states[i] = done.last[i];
  initial.keep(ops, result.states);
  return result;
}

}  // namespace stagecraft::layers::detail
