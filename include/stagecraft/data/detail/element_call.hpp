// SPDX-License-Identifier: BSD-3-Clause
// Calls a user's function with an element of a dataset: whole, in parts or, after `batch`, with the arrays of the
// batch.
#pragma once

#include <stagecraft/data/array_batch.hpp>
#include <stagecraft/data/detail/element.hpp>
#include <stagecraft/data/detail/stack.hpp>
#include <stagecraft/diagnostics/compile_error.hpp>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace stagecraft::data::detail {

template <class Function, class Element>
inline constexpr bool takes_whole = std::is_invocable_v<Function&, Element&>;
template <class Function, class Element>
inline constexpr bool takes_parts = false;
template <class Function, trainers::SampleTuple Element>
inline constexpr bool takes_parts<Function, Element> = []<std::size_t... Index>(std::index_sequence<Index...>) {
  return std::is_invocable_v<Function&, std::tuple_element_t<Index, Element>&...>;
}(std::make_index_sequence<std::tuple_size_v<Element>>{});

/// True for a number, an array, and a tuple of those, of which many make an array with one axis more.
template <class Value>
inline constexpr bool is_stackable = ArrayPart<Value>;
template <trainers::SampleTuple Value>
inline constexpr bool is_stackable<Value> = []<std::size_t... Index>(std::index_sequence<Index...>) {
  return (is_stackable<std::remove_cv_t<std::tuple_element_t<Index, Value>>> && ...);
}(std::make_index_sequence<std::tuple_size_v<Value>>{});

/// The argument of a function: the element, or the arrays of a batch.
template <class Element>
struct call_argument {
  using type = Element;
  static constexpr bool is_batch = false;
};
template <class Sample>
struct call_argument<batch_of<Sample>> {
  using type = batch_of<Sample>;
  static constexpr bool is_batch = false;
};
template <class Sample>
  requires is_stackable<Sample>
struct call_argument<batch_of<Sample>> {
  using type = stacked_type<Sample>;
  static constexpr bool is_batch = true;
};
template <class Arrays>
struct call_argument<array_batch<Arrays>> {
  using type = Arrays;
  static constexpr bool is_batch = true;
};

/// The form in which a function takes an element.
enum class call_form { whole, parts, named_batch, none };
template <class Function, class Element>
inline constexpr call_form form_of_call = [] {
  using argument = typename call_argument<Element>::type;
  if constexpr (takes_whole<Function,
                            argument>)  // only what is needed is asked, since the question compiles the bodies of
                                        // generic functions
    return call_form::whole;
  else if constexpr (takes_parts<Function, argument>)
    return call_form::parts;
  else if constexpr (takes_whole<Function, Element>)
    return call_form::named_batch;
  else
    return call_form::none;
}();

/// True for a function that cannot be called while it is const, such as a mutable lambda: its result may depend on
/// earlier calls.
template <class Function, class Element>
inline constexpr bool changes_itself =
    form_of_call<Function, Element> != call_form::none && form_of_call<Function const, Element> == call_form::none;

/// The number of threads for such a function: one, since results would otherwise depend on which thread takes which
/// element. Reports E4126 if `asked` is neither 1 nor autotune.
[[nodiscard]] inline int one_thread_for_own_state(int asked) {
  if (asked != 1 && asked != autotune)
    stagecraft::detail::throw_data_error("E4126",
                                         "map: num_parallel_calls: expected 1 for a function that changes itself, such "
                                         "as a mutable lambda, found %d",
                                         asked);
  return 1;
}

/// Reports E4119 for a function that does not take the elements.
template <class Function, class Element>
inline constexpr diagnostics::diagnostic function_problem = [] {
  using argument = typename call_argument<Element>::type;
  constexpr bool is_batch = call_argument<Element>::is_batch;
  diagnostics::diagnostic problem;
  if constexpr (form_of_call<Function, Element> == call_form::none) {
    if constexpr (trainers::SampleTuple<argument>)
      problem.report(4119, "the function does not take the elements of the dataset, which have ",
                     static_cast<int>(std::tuple_size_v<argument>), " parts", is_batch ? ", arrays of a batch" : "",
                     "; it takes each as a parameter, such as 'auto const& x', or one tuple of them");
    else
      problem.report(4119, "the function does not take the elements of the dataset, which are ",
                     is_batch ? "arrays of a batch" : "one value each",
                     "; it takes one parameter, such as 'auto const& x'");
  }
  return problem;
}();

template <class Function, class Value>
[[nodiscard]] auto call_with_value(Function& function, Value& value) {
  if constexpr (takes_whole<Function, Value>)
    return owned(function(value));
  else
    return owned(std::apply(function, value));
}

/// The function's result for an element, as a value that outlives the call.
template <class Function, class Element>
[[nodiscard]] auto call_with(Function& function, Element& element) {
  using argument = typename call_argument<Element>::type;
  constexpr auto form = form_of_call<Function, Element>;
  if constexpr (form == call_form::none) {
    static_assert(stagecraft::detail::report<function_problem<Function, Element>>());
    return Element(element);
  } else if constexpr (form == call_form::named_batch) {
    return owned(function(element));
  } else if constexpr (std::is_base_of_v<argument, Element> || std::is_same_v<argument, Element>) {
    return call_with_value<Function, argument>(function, element);
  } else {
    auto batch = stack(element);
    return call_with_value<Function, argument>(function, batch.arrays());
  }
}

template <class Function, class Element>
using result_type = decltype(call_with(std::declval<Function&>(), std::declval<Element&>()));

/// The type of the elements that `map` makes. Arrays that a function makes of a batch are a batch again; numbers, such
/// as a sum, are not.
template <class Function, class Element>
using mapped_type = std::conditional_t<call_argument<Element>::is_batch && is_arrays<result_type<Function, Element>>,
                                       array_batch<result_type<Function, Element>>, result_type<Function, Element>>;

}  // namespace stagecraft::data::detail
