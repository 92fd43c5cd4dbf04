// SPDX-License-Identifier: BSD-3-Clause
// Trainers and predictors that have the same weights, in one memory. Keras counterpart: models that have the same layer
// objects. No other header includes it.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/engine/policy/pass_memory.hpp>
#include <stagecraft/engine/policy/weight_storage.hpp>
#include <stagecraft/machines/ipu_devices.hpp>
#include <stagecraft/training/trained_model.hpp>
#include <stagecraft/training/weight_views.hpp>
#include <algorithm>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace stagecraft::trainers {

/// The weights of a model that are shared: graph_of<M>.parameters [first, first + count).
struct shared_range {
  int first = 0, count = 0;
  bool is_one_block = true;
};

/// Finds the weights of the whole model (`Part` is empty), or of a layer or nested model.
template <class M, fixed_name Part>
constexpr shared_range find_shared_range() {
  if constexpr (Part.empty()) {
    return {0, static_cast<int>(graph_of<M>.parameters.size())};
  } else {
    int found = 0;
    auto const weights = find_part<M>(Part, found);
    shared_range range;
    for (int const weight : weights) range.first = range.count++ == 0 ? weight : std::min(range.first, weight);
    for (int const weight : weights) range.is_one_block = range.is_one_block && weight < range.first + range.count;
    return range;
  }
}

/// E1200: the weights of `To` are not those of (a part of) `From`.
template <class From, class To, fixed_name Part>
inline constexpr diagnostic shared_weights_problem = [] {
  diagnostic problem;
  constexpr auto range = find_shared_range<From, Part>();
  auto const &from = graph_of<From>, &to = graph_of<To>;
  if (range.count != static_cast<int>(to.parameters.size()) || !range.is_one_block)
    problem.report(1200, "model '", to.name(), "' has ", static_cast<int>(to.parameters.size()),
                   " weights and is to share those of ", Part.empty() ? "model" : "a part of model", " '", from.name(),
                   "', which ", range.is_one_block ? "has " : "lie apart, ", range.count);
  for (int i = 0; i < range.count && !problem.failed(); ++i) {
    auto const &given = from.parameters[range.first + i], &own = to.parameters[i];
    auto const &layer = from.layer(from.layer_of_parameter(range.first + i)),
               &own_layer = to.layer(to.layer_of_parameter(i));
    bool const same = given.name == own.name && given.shape == own.shape && given.layout == own.layout &&
                      given.groups == own.groups && layer.class_name == own_layer.class_name &&
                      (!Part.empty() || layer.name == own_layer.name);
    if (!same)
      problem.report(1200, "weight '", own_layer.name, "/", own.name, "' of model '", to.name(), "', of shape ",
                     own.shape, ", is to be shared with '", layer.name, "/", given.name, "' of model '", from.name(),
                     "', of shape ", given.shape, "; both models have the same layers, in the same order");
  }
  return problem;
}();

/// E1201: sessions that cannot have weights in one memory.
template <class From, class To>
inline constexpr diagnostic sharing_problem = [] {
  diagnostic problem;
  char const* what = nullptr;
  if (is_ipu<typename From::sizes::machine> || is_ipu<typename To::sizes::machine>)
    what = "on emulated IPUs, which have weights on their tiles";
  else if (!std::is_same_v<typename From::architecture, typename To::architecture>)
    what = "for another processor";
  else if (From::graph.is_stateful() || To::graph.is_stateful())
    what = "with states between batches, which are among its weights";
  else if (From::sizes::training.dtype_policy.variable_dtype != To::sizes::training.dtype_policy.variable_dtype)
    what = "whose weights have another type";
  else if (From::sizes::shards_weights || To::sizes::shards_weights)
    what = "whose replicas have parts of its weights";
  if (what != nullptr) problem.report(1201, "weights are shared with a model ", what, "; copy them with set_weights");
  return problem;
}();

/// E1201: a training step of one's own takes weights of another trainer.
template <class Made>
inline constexpr diagnostic step_sharing_problem = [] {
  diagnostic problem;
  problem.report(1201, "weights are shared by a training step, whose models have memory of their own; make the step ",
                 "first, and the others of its models' weights: sc::shares<\"model\">(step)");
  return problem;
}();
/// Number of the model of a step `From` that a model of the step `To` is, by its name; -1: it has none.
template <class From, class To>
constexpr int find_model_of_step(int model) {
  for (int i = 0; i < From::models_of_step.member_count; ++i)
    if (From::models_of_step.members[i].name == To::models_of_step.members[model].name) return i;
  return -1;
}
/// The session of a step's first sub-step.
template <class Made>
using first_session_of = std::remove_reference_t<decltype(*std::get<0>(std::declval<Made&>().sessions_to_share()))>;
/// E1200, E1201: a step cannot have the weights of its models where another step has them.
template <class From, class To>
constexpr diagnostic find_problem_of_steps() {
  constexpr auto const &from = From::models_of_step, &to = To::models_of_step;
  diagnostic problem = sharing_problem<first_session_of<From>, first_session_of<To>>;
  if (!problem.failed() && (From::has_models_to_share != To::has_models_to_share || From::replicas != To::replicas))
    problem.report(1201, "weights are shared with a training step ",
                   From::replicas != To::replicas ? "that has another number of replicas"
                                                  : "of which one is planned as graphs, and one is not",
                   "; copy them with set_weights");
  [&]<std::size_t... Model>(std::index_sequence<Model...>) {
    (
        [&] {
          constexpr int model = static_cast<int>(Model), found = find_model_of_step<From, To>(model);
          if (problem.failed()) return;
          if constexpr (found < 0 || found != find_model_of_step<From, To>(0) + model)
            problem.report(1200, "model '", to.members[model].name, "' of a training step is ",
                           found < 0 ? "no model of the step whose weights it is to share"
                                     : "not where the step has it whose weights it is to share; both call their models "
                                       "in the same order");
          else
            problem = shared_weights_problem<type_of_tag<from.members[found].type>, type_of_tag<to.members[model].type>,
                                             fixed_name{}>;
        }(),
        ...);
  }(std::make_index_sequence<static_cast<std::size_t>(to.member_count)>{});
  return problem;
}
template <class From, class To>
inline constexpr diagnostic problem_of_steps = find_problem_of_steps<From, To>();

/// The result of `shares` of a whole step: it becomes the trainer of another step. Others share a model by its name.
template <class From>
class step_to_share {
 public:
  explicit step_to_share(From& from) : from_(&from) {}

  template <class Made>
    requires requires(Made& made) { made.reset_states(); }
  [[gnu::cold]] operator Made() const {
    constexpr auto const& problem = find_problem<Made>();
    static_assert(report<problem>());
    Made made;
    if constexpr (!problem.failed()) {
      using session = first_session_of<From>;
      constexpr int first = From::models_of_step.members[find_model_of_step<From, Made>(0)].first_weight;
      constexpr auto const& stored = engine::weight_storage_of<trained_type<session>, typename session::architecture>;
      auto& from = *std::get<0>(from_->sessions_to_share());
      static_cast<void>(from.weight(0));  // what was made of the weights is made anew from now on
      auto const share = [&](auto& own) {
        static_cast<void>(own.weight(0));
        for (int i = 0; i < Made::replicas; ++i) {
          auto& weights = own.memory_of_weights(i);
          weights = from.memory_of_weights(i).share_part(stored.offset[static_cast<std::size_t>(first)],
                                                         static_cast<long long>(weights.size()));
        }
      };
      std::apply([&](auto&... own) { (share(*own), ...); }, made.sessions_to_share());
      made.share_weights(*std::get<0>(made.sessions_to_share()));
    }
    return made;
  }

 private:
  template <class Made>
  static constexpr diagnostic const& find_problem() {
    if constexpr (requires { Made::has_models_to_share; })
      return problem_of_steps<From, Made>;
    else
      return From::template problem_of_name<fixed_name{}>();
  }

  From* from_;
};

/// Copies the weights of a model of a step that is one layer, the first of which is its weight `First`; and back.
template <class From, class To, int First>
void copy_weights_of_step(float const* from, float* to) {
  using layout = engine::weight_layout<trained_type<To>, typename To::architecture>;
  constexpr auto const& stored = engine::weight_storage_of<trained_type<From>, typename From::architecture>;
  [&]<std::size_t... Weight>(std::index_sequence<Weight...>) {
    (layout::template write<Weight>(from + stored.offset[First + Weight], to), ...);
  }(std::make_index_sequence<layout::storage.count>{});
}
template <class From, class To, int First>
void give_weights_to_step(float const* own, float* to) {
  using layout = engine::weight_layout<trained_type<To>, typename To::architecture>;
  constexpr auto const& stored = engine::weight_storage_of<trained_type<From>, typename From::architecture>;
  [&]<std::size_t... Weight>(std::index_sequence<Weight...>) {
    (layout::template read<Weight>(own, to + stored.offset[First + Weight]), ...);
  }(std::make_index_sequence<layout::storage.count>{});
}

/// The result of `shares` of a model of a step that is one layer: it becomes a trainer or predictor, whose weights are
/// copied when the step has changed them, and given back when the trainer has.
template <class Step, fixed_name Name>
class copies_of_step {
 public:
  explicit copies_of_step(Step& from) : from_(&from) {}

  template <class Made>
    requires requires(Made& made) { made.reset_states(); }
  [[gnu::cold]] operator Made() const {
    Made made;
    constexpr auto const& problem = find_problem<Made>();
    static_assert(report<problem>());
    if constexpr (!problem.failed()) {
      using session = first_session_of<Step>;
      using to_session = typename Made::session_type;
      constexpr int first = Step::models_of_step.members[Step::template number_of_model<Name>()].first_weight;
      auto& weights = std::get<0>(from_->sessions_to_share())->memory_of_weights();
      static_cast<void>(made.session().weight(0));  // what was made of its weights is made anew from now on
      made.session().copy_weights_from(engine::copied_weights(weights.share(),
                                                              &copy_weights_of_step<session, to_session, first>,
                                                              &give_weights_to_step<session, to_session, first>));
    }
    return made;
  }

 private:
  template <class Made>
  static constexpr diagnostic const& find_problem() {
    if constexpr (requires { Made::has_models_to_share; }) {
      return step_sharing_problem<Made>;
    } else {
      using to_session = typename Made::session_type;
      using from_model = type_of_tag<Step::models_of_step.members[Step::template number_of_model<Name>()].type>;
      if constexpr (sharing_problem<first_session_of<Step>, to_session>.failed())
        return sharing_problem<first_session_of<Step>, to_session>;
      else
        return shared_weights_problem<from_model, trained_type<to_session>, fixed_name{}>;
    }
  }

  Step* from_;
};

/// Stands in for weights that are not shared, after the error.
struct nothing_to_share {
  template <class Made>
    requires requires(Made& made) { made.reset_states(); }
  operator Made() const {
    return Made();
  }
};

/// The result of `shares`: it becomes the trainer or predictor that is made of it.
template <class Session, fixed_name Part>
class weights_to_share {
  using M = trained_type<Session>;

 public:
  explicit weights_to_share(Session& from) : from_(&from) {}

  template <class Made>
    requires requires(Made& made) { made.reset_states(); }
  [[gnu::cold]] operator Made() const {
    Made made;
    if constexpr (requires { Made::has_models_to_share; }) static_assert(report<step_sharing_problem<Made>>());
    if constexpr (requires { typename Made::session_type; }) {
      using to_session = typename Made::session_type;
      using to_model = trained_type<to_session>;
      constexpr auto const& problem = find_problem<to_session>();
      static_assert(report<problem>());
      if constexpr (!problem.failed() && graph_of<to_model>.parameters.size() > 0) {
        constexpr auto first = static_cast<std::size_t>(find_shared_range<M, Part>().first);
        auto& session = made.session();
        // Both sessions prepare their weights anew from now on; E4108 if other predictors count on those of the source.
        if (!from_->memory_of_weights().changes_elsewhere() || from_->copies_weights())
          static_cast<void>(from_->weight(0));
        static_cast<void>(session.weight(0));
        session.memory_of_weights() = from_->memory_of_weights().share_part(
            engine::weight_storage_of<M, typename Session::architecture>.offset[first],
            engine::weight_storage_of<to_model, typename to_session::architecture>.floats);
      }
    }
    return made;
  }

 private:
  template <class To>
  static constexpr diagnostic const& find_problem() {
    if constexpr (sharing_problem<Session, To>.failed())
      return sharing_problem<Session, To>;
    else
      return shared_weights_problem<M, trained_type<To>, Part>;
  }

  Session* from_;
};

/// The part that is meant: a step that does what `fit` does has one model, and a name for it.
template <class Other, fixed_name Part>
inline constexpr fixed_name part_to_share = [] {
  if constexpr (requires { Other::template is_model<Part>; })
    if constexpr (Other::template is_model<Part>) return fixed_name();
  return Part;
}();

}  // namespace stagecraft::trainers

namespace stagecraft {

/// A trainer or predictor with the weights of another one, in one memory: what one of them learns or is given, the
/// others have. `other` is a trainer or predictor; with a name, one of the models or layers inside it is shared:
///
///     sc::trainer<gan, training> both;
///     sc::trainer<discriminator, training> judge{sc::shares<"discriminator">(both)};
///     sc::predictor<generator, drawing> draw{sc::shares<"generator">(both)};
///
/// `other` may be a training step of one's own; the name is that of one of its models. Where the step takes gradients
/// itself, the others have copies of the weights, in the layout of their kernels: a run after the step has changed them
/// copies them first, and one of a trainer gives them back. Views of a trainer's weights are then E4108.
/// Another step's trainer is made of any step, without a name, if both take gradients themselves or neither: its models
/// have the names that they have there, and stand in the same order, one after the other.
/// The weights last as long as one of them does. All of them are one thread's. Each trainer has its own optimizer's
/// state. A predictor with weights that it prepares, such as folded batch normalizations, prepares them anew before
/// each run; its set_weights is E4108, a trainer's sets those of all. Errors: E1067 no part has the name; E1200 weights
/// that differ in number, names, shapes or layers (inside a model, default names of layers may differ); E1201 IPUs,
/// states between batches, other types; E4108, at run time, `other` is a predictor that shares its weights by
/// `sharing_weights`, or copies those of a step.
template <fixed_name Part = "", class Other>
[[nodiscard]] auto shares(Other& other) {
  if constexpr (requires { Other::has_models_to_share; } && Part.empty()) {
    return detail::step_to_share<Other>(other);
  } else if constexpr (requires { Other::has_models_to_share; }) {
    constexpr auto const& problem = Other::template problem_of_name<Part>();
    static_assert(detail::report<problem>());
    if constexpr (!problem.failed() && !Other::has_models_to_share)
      return detail::copies_of_step<Other, Part>(other);
    else if constexpr (!problem.failed())
      return detail::weights_to_share<detail::first_session_of<Other>, Part>(*std::get<0>(other.sessions_to_share()));
    else
      return detail::nothing_to_share{};
  } else {
    using session = typename Other::session_type;
    constexpr auto part = detail::part_to_share<Other, Part>;
    if constexpr (!part.empty())
      static_assert(detail::report<detail::part_name_problem<detail::trained_type<session>, part>>());
    return detail::weights_to_share<session, part>(other.session());
  }
}

}  // namespace stagecraft

#include <stagecraft/diagnostics/end_headers.hpp>
