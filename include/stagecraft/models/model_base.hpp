// SPDX-License-Identifier: BSD-3-Clause
// What the three kinds of model share: each is traced by one function, and each can be called inside another model, as
// a layer is.
#pragma once

#include <stagecraft/diagnostics/any_argument.hpp>
#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/diagnostics/type_name.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/graph/model_builder.hpp>
#include <array>
#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>

namespace stagecraft::layers {

struct output_part;  // layers/output_part.hpp

}  // namespace stagecraft::layers

namespace stagecraft::operations {

struct tensor;  // operations/tensor.hpp

}  // namespace stagecraft::operations

namespace stagecraft::models {

/// E1080: Keras's functions of a model are a trainer's here.
template <class... Arguments>
inline constexpr diagnostic untrained_model_problem = [] {
  diagnostic problem;
  problem.report(1080,
                 "fit, evaluate, predict or compile is called on a model, which is a type without weights here; "
                 "a trainer has them: sc::trainer<model, training> trained; trained.fit(x, y)");
  return problem;
}();

template <class... Arguments>
constexpr int call_untrained() {
  static_assert(report<untrained_model_problem<Arguments...>>());
  return 0;
}

/// The part of a model that does not depend on its type. `call_scope` is given at the first call inside another model;
/// calls of the same variable share their weights. `model_name` is the name of one inside another, see `named`.
/// Keras's `fit` and its relatives are E1080: they belong to the trainer.
struct model_base {
  int call_scope = -1;
  fixed_name model_name{};

  template <class... Arguments>
  constexpr int fit(Arguments const&...) const {
    return call_untrained<Arguments...>();
  }
  template <class... Arguments>
  constexpr int evaluate(Arguments const&...) const {
    return call_untrained<Arguments...>();
  }
  template <class... Arguments>
  constexpr int predict(Arguments const&...) const {
    return call_untrained<Arguments...>();
  }
  template <class... Arguments>
  constexpr int compile(Arguments const&...) const {
    return call_untrained<Arguments...>();
  }
  // These overloads take options in braces, which Clang takes for `...` only.
  template <class Nothing = void, std::size_t Size>
  constexpr int fit(any_argument, any_argument, any_options<Size>) const {
    return call_untrained<Nothing>();
  }
  template <class Nothing = void>
  constexpr int fit(any_argument, any_argument, ...) const {
    return call_untrained<Nothing>();
  }
};

}  // namespace stagecraft::models

namespace stagecraft {

/// Anything that can be trained, staged or called inside another model.
template <class M>
concept Model = std::derived_from<M, models::model_base> && requires {
  { M::kind } -> std::convertible_to<tracing::model_kind>;
};

}  // namespace stagecraft

namespace stagecraft::models {

/// Ends a model. Outputs of the outermost one that are int32 are converted to float32, which users get.
template <class Part = layers::output_part>
constexpr void leave(model_builder& builder, array_view<symbolic_tensor const> outputs) {
  growing_array<symbolic_tensor> converted;
  for (auto const& output : outputs) {
    if (builder.current_model() != 0 || output.model == nullptr || !output.shape().is_whole) continue;
    if (converted.empty())
      for (auto const& each : outputs) converted.push_back(each);
    shape of = output.shape();
    of.is_whole = false;
    Part part(0, 0, of, false, true);
    part.layer_name = builder.name_of(builder.calls[output.call].layer);
    converted[&output - outputs.begin()] = part(first_tensor(output, nullptr, 0));
  }
  builder.leave(converted.empty() ? outputs : array_view<symbolic_tensor const>(converted));
}

constexpr std::array<symbolic_tensor, 1> output_tensors(symbolic_tensor const& tensor) { return {tensor}; }
template <std::size_t Count>
constexpr std::array<symbolic_tensor, Count> const& output_tensors(std::array<symbolic_tensor, Count> const& tensors) {
  return tensors;
}

/// A model's class and its own member `name`; without one, it gets Keras's default name.
template <class M>
constexpr model_description description_of_model() {
  if constexpr (requires { typename M::unstaged; }) {
    return description_of_model<typename M::unstaged>();
  } else {
    model_description description{M::kind, class_name(M::kind), {}};
    if constexpr (M::kind == model_kind::subclass) {
      description.class_name = type_name<typename M::model_type>();
      if constexpr (requires { std::string_view(M::model_type::name); }) description.name = M::model_type::name;
    }
    if constexpr (requires { std::string_view(M::name); }) description.name = M::name;
    return description;
  }
}

/// The reason that a model cannot be traced, called with a number of tensors (0: it is the outermost model).
template <class M, std::size_t Inputs>
inline constexpr diagnostic definition_problem{};
template <class M, std::size_t Inputs>
  requires requires { M::template check_definition<Inputs>(); }
inline constexpr diagnostic definition_problem<M, Inputs> = M::template check_definition<Inputs>();

/// E1022 unless a model's function returns one tensor or several.
template <class M, class Result>
constexpr diagnostic check_result(std::string_view function) {
  diagnostic problem;
  if constexpr (std::same_as<Result, void>)
    problem.report(1022, "`", function, "` of model '", type_name<M>(),
                   "' returns nothing; return the output tensor, or "
                   "sc::outputs(a, b) for several");
  else if constexpr (!requires(Result const& result) { output_tensors(result); })
    problem.report(1022, "`", function, "` of model '", type_name<M>(), "' returns a value of type '",
                   type_name<Result>(),
                   "', which is not a tensor; return the output of a call, such as `dense(10)(x)`");
  return problem;
}

template <class M>
inline constexpr diagnostic wrong_model_call_problem = [] {
  diagnostic problem;
  problem.report(1018, "a model (", type_name<M>(),
                 ") is called inside another one without tensors of it, or with "
                 "something else; call it with the output of model.input(...) or of a layer");
  return problem;
}();

/// The result of a call that is refused: the tensor of a training step or of a layer's `call`, where it has been given
/// one, so that nothing else fails.
symbolic_tensor result_of_refused_call(...);
operations::tensor result_of_refused_call(operations::tensor const&, ...);

/// Lets a model be called on symbolic tensors inside another model's `build` or `call`.
template <class Derived>
struct callable_model : model_base {
  template <std::derived_from<symbolic_tensor>... More>
  constexpr auto operator()(first_tensor first, More... more) & {
    return call_nested(static_cast<Derived&>(*this), first.where, first.tensor, more...);
  }
  template <std::derived_from<symbolic_tensor>... More>
  constexpr auto operator()(first_tensor first, More... more) && {
    return call_nested(static_cast<Derived&>(*this), first.where, first.tensor, more...);
  }
  /// Called with anything else: E1018; E2116 in a training step.
  template <class... Arguments>
    requires(!are_tensors<Arguments...>)
  constexpr auto operator()(Arguments const&... given) const -> decltype(result_of_refused_call(given...)) {
    if constexpr (std::same_as<decltype(result_of_refused_call(given...)), symbolic_tensor>) {
      static_assert(report<wrong_model_call_problem<Derived>>());
      return {};
    } else {
      return refuse(given...);
    }
  }

  /// This model with Keras's `name` argument, to be called inside another one.
  [[nodiscard]] constexpr Derived named(std::string_view name) const {
    auto copy = static_cast<Derived const&>(*this);
    copy.model_name = name;
    return copy;
  }

 private:
  template <class Tensor>
  static constexpr Tensor refuse(Tensor const& first, auto const&...) {
    auto& problem = first.list->problem;
    if (first.list->step == nullptr && !problem.failed()) problem = wrong_model_call_problem<Derived>;
    problem.report(2116, "a training step calls a model (", type_name<Derived>(),
                   "), which is no member of it; give the step a member sc::trained<model, \"name\">, and call that");
    return first;
  }
  template <class... Tensors>
  static constexpr auto call_nested(Derived& self, source_line const& where, Tensors... tensor) {
    constexpr auto const& problem = definition_problem<Derived, sizeof...(Tensors)>;
    if constexpr (problem.failed()) {
      static_assert(report<problem>());
      return symbolic_tensor{};
    } else {
      std::array<symbolic_tensor, sizeof...(Tensors)> const bound{tensor...};
      using result_type = decltype(self.trace(*bound[0].model, bound));
      for (auto const& given : bound)
        if (given.model == nullptr) return result_type{};
      auto& builder = *bound[0].model;
      auto description = description_of_model<Derived>();
      if (!self.model_name.empty()) description.name = self.model_name;
      self.call_scope = builder.enter(description, self.call_scope, bound);
      result_type result = self.trace(builder, bound);
      builder.leave(output_tensors(result));
      builder.problem.locate(where);
      return result;
    }
  }
};

}  // namespace stagecraft::models
