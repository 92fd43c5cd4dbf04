// SPDX-License-Identifier: BSD-3-Clause
// Cross-entropies of outputs that come from softmax or sigmoid take the logits, as Keras's do: nothing is clipped, and
// a saturated output has a gradient. Such an activation is not its layer's then, but applied to the output's logits
// after the loss has seen them.
#pragma once

#include <stagecraft/description/inference.hpp>
#include <stagecraft/diagnostics/for_each_index.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/losses/along_axis.hpp>
#include <stagecraft/losses/loss.hpp>
#include <stagecraft/losses/losses.hpp>
#include <stagecraft/losses/per_output.hpp>
#include <stagecraft/models/last_activation.hpp>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace stagecraft::plan {

/// True if a layer is an activation and nothing else.
template <class Layer>
inline constexpr bool is_activation_alone = requires { requires Layer::is_activation || Layer::is_softmax; };

/// True if a layer's steps can do without its activation: they compute the logits then.
template <class Layer>
inline constexpr bool leaves_activation =
    is_activation_alone<Layer> || requires { requires Layer::ends_with_activation; };

/// True if Keras finds logits there: on the output of an activation function, whichever of the two it is and whatever
/// `from_logits` says; on that of a softmax layer, for losses of classes that expect probabilities.
template <class Layer, class Loss>
constexpr bool loss_takes_logits(Loss const& loss) {
  constexpr bool is_softmax = requires { requires Layer::is_softmax; };
  if constexpr (!leaves_activation<Layer>)
    return false;
  else if constexpr (std::same_as<Loss, losses::sparse_categorical_crossentropy> ||
                     std::same_as<Loss, losses::categorical_crossentropy>)
    return !is_softmax || !loss.from_logits;
  else
    return std::same_as<Loss, losses::binary_crossentropy> && !is_softmax;
}

template <class Job, std::size_t Output>
constexpr bool find_logits() {
  if constexpr (only_infers<Job::training>) {
    return false;
  } else if constexpr (!last_activations_of<typename Job::model>[Output].has_logits()) {
    return false;
  } else {
    constexpr int call = last_activations_of<typename Job::model>[Output].call;
    constexpr auto const& graph = Job::graph;
    // If another layer reads the output, it must be there before the loss.
    for (int const input : graph.inputs)
      if (input == call) return false;
    int times = 0;
    for (int const output : graph.outputs_of(0)) times += output == call ? 1 : 0;
    return times == 1 &&
           loss_takes_logits<layer_t<typename Job::model, call>>(losses::loss_of_output<Output>(Job::training.loss));
  }
}

/// A bit for each output whose loss takes logits.
template <class Job>
inline constexpr std::uint64_t outputs_with_logits = [] {
  std::uint64_t bits = 0;
  for_each_index<Job::graph.outputs_of(0).size()>([&]<int Output>() {
    if (Output < 64 && find_logits<Job, Output>()) bits |= std::uint64_t{1} << (Output & 63);
  });
  return bits;
}();

/// True if a call's activation is applied to logits after the loss.
constexpr bool leaves_activation_to_loss(graph_view const& graph, int call, std::uint64_t outputs) {
  auto const all = graph.outputs_of(0);
  for (std::size_t k = 0; k < all.size() && k < 64; ++k)
    if (all[k] == call && (outputs >> k & 1U) != 0) return true;
  return false;
}

template <class M, int Call, bool LeavesActivation>
constexpr auto layer_in_plan() {
  auto layer = layer_of<M, Call>;
  if constexpr (LeavesActivation && !is_activation_alone<layer_t<M, Call>>) layer.activation = linear;
  return layer;
}

/// A call's layer as its steps see it: without its activation if the loss applies that.
template <class M, int Call, bool LeavesActivation>
inline constexpr auto planned_layer = layer_in_plan<M, Call, LeavesActivation>();
template <class M, int Call>
inline constexpr auto const& planned_layer<M, Call, false> = layer_of<M, Call>;

/// True if the loss of an output takes the logits of its softmax or sigmoid.
template <class Job, std::size_t Output>
inline constexpr bool takes_logits =
    (outputs_with_logits<typename Job::described> >> (Output & 63U) & 1U) != 0 && Output < 64;

/// True if each row of the loss of an end is a whole sample: its axis is not the last one, or it has no axis.
template <class Job, std::size_t End>
inline constexpr bool loss_takes_samples = [] {
  if constexpr (End >= Job::graph.outputs_of(0).size())
    return false;
  else
    return losses::detail::takes_samples(losses::loss_of_output<End>(Job::training.loss),
                                         Job::graph.call(Job::graph.ends[End]).shape);
}();
/// The axis of a sample along which it has a number for each class.
template <class Job, std::size_t End>
inline constexpr int class_axis_of = [] {
  shape const& sample = Job::graph.call(Job::graph.ends[End]).shape;
  if constexpr (loss_takes_samples<Job, End>)
    return losses::detail::axis_of_sample(losses::detail::axis_of(losses::loss_of_output<End>(Job::training.loss)),
                                          sample);
  else
    return sample.rank() - 1;
}();
/// The columns of a row of it.
template <class Job, std::size_t End>
inline constexpr int loss_columns_of =
    loss_takes_samples<Job, End> ? Job::graph.call(Job::graph.ends[End]).shape.size()
                                 : Job::graph.call(Job::graph.ends[End]).shape.back();

/// The loss of an end of the graph, as it is computed: an output's loss, or the mean of a tensor that is added to the
/// loss.
template <class Job, std::size_t End>
inline constexpr auto computed_loss_of = [] {
  if constexpr (End >= Job::graph.outputs_of(0).size()) {
    return losses::added_loss{};
  } else {
    auto loss = losses::loss_of_output<End>(Job::training.loss);
    if constexpr (takes_logits<Job, End>) loss.from_logits = true;
    if constexpr (loss_takes_samples<Job, End>)
      return losses::detail::loss_of_sample(loss, Job::graph.call(Job::graph.ends[End]).shape);
    else
      return loss;
  }
}();
/// The number of steps among which a loss such as CTC places the labels of a sample; 0 for other losses.
template <class Job, std::size_t End>
inline constexpr int label_steps_of = [] {
  if constexpr (only_infers<Job::training>)
    return 0;
  else if constexpr (requires { computed_loss_of<Job, End>.steps; })
    return computed_loss_of<Job, End>.steps;
  else
    return 0;
}();
/// The factor of an end's loss in the total loss.
template <class Job>
constexpr float loss_weight_of(std::size_t end) {
  return end >= Job::graph.outputs_of(0).size() ? 1.0F : Job::training.loss_weights.of(end);
}

}  // namespace stagecraft::plan
