// SPDX-License-Identifier: BSD-3-Clause
// The callbacks of one run, by their addresses, and the check that members that look like hooks are hooks. Keras
// counterpart: the `callbacks` argument of Model.fit.
#pragma once

#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/diagnostics/diagnostic.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/diagnostics/type_name.hpp>
#include <stagecraft/training/callbacks/callback.hpp>
#include <concepts>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace stagecraft::trainers {

/// Finds a hook that a callback declares with other parameters than the library passes, so that it is never called.
/// Private and overloaded members are not examined.
template <class C>
constexpr std::string_view find_uncalled_hook() {
  using of_run = void (C::*)(logs&);
  using of_part = void (C::*)(int, logs&);
#define STAGECRAFT_HOOK(HOOK, TYPE)                            \
  if constexpr (requires { &C::HOOK; }) {                      \
    if constexpr (!requires { TYPE{&C::HOOK}; }) return #HOOK; \
  }
  STAGECRAFT_HOOK(on_train_begin, of_run)
  STAGECRAFT_HOOK(on_train_end, of_run)
  STAGECRAFT_HOOK(on_epoch_begin, of_part)
  STAGECRAFT_HOOK(on_epoch_end, of_part)
  STAGECRAFT_HOOK(on_train_batch_begin, of_part)
  STAGECRAFT_HOOK(on_train_batch_end, of_part)
  STAGECRAFT_HOOK(on_batch_begin, of_part)
  STAGECRAFT_HOOK(on_batch_end, of_part)
  STAGECRAFT_HOOK(on_test_begin, of_run)
  STAGECRAFT_HOOK(on_test_end, of_run)
  STAGECRAFT_HOOK(on_test_batch_begin, of_part)
  STAGECRAFT_HOOK(on_test_batch_end, of_part)
  STAGECRAFT_HOOK(on_predict_begin, of_run)
  STAGECRAFT_HOOK(on_predict_end, of_run)
  STAGECRAFT_HOOK(on_predict_batch_begin, of_part)
  STAGECRAFT_HOOK(on_predict_batch_end, of_part)
#undef STAGECRAFT_HOOK
  return {};
}

/// A name by which other libraries, or a typing error, call a hook, and the hook's own name.
struct misnamed_hook {
  std::string_view found, meant;
};
template <class C>
constexpr misnamed_hook find_misnamed_hook() {
#define STAGECRAFT_NO_HOOK(NAME, MEANT) \
  if constexpr (requires { &C::NAME; }) return {#NAME, MEANT};
  STAGECRAFT_NO_HOOK(on_epoch_start, "on_epoch_begin")
  STAGECRAFT_NO_HOOK(on_epoch_finish, "on_epoch_end")
  STAGECRAFT_NO_HOOK(on_epochs_begin, "on_epoch_begin")
  STAGECRAFT_NO_HOOK(on_epochs_end, "on_epoch_end")
  STAGECRAFT_NO_HOOK(on_train_epoch_start, "on_epoch_begin")
  STAGECRAFT_NO_HOOK(on_train_epoch_begin, "on_epoch_begin")
  STAGECRAFT_NO_HOOK(on_train_epoch_end, "on_epoch_end")
  STAGECRAFT_NO_HOOK(on_train_start, "on_train_begin")
  STAGECRAFT_NO_HOOK(on_training_begin, "on_train_begin")
  STAGECRAFT_NO_HOOK(on_training_end, "on_train_end")
  STAGECRAFT_NO_HOOK(on_fit_begin, "on_train_begin")
  STAGECRAFT_NO_HOOK(on_fit_start, "on_train_begin")
  STAGECRAFT_NO_HOOK(on_fit_end, "on_train_end")
  STAGECRAFT_NO_HOOK(on_batch_start, "on_train_batch_begin")
  STAGECRAFT_NO_HOOK(on_train_batch_start, "on_train_batch_begin")
  STAGECRAFT_NO_HOOK(on_batch_train_begin, "on_train_batch_begin")
  STAGECRAFT_NO_HOOK(on_batch_train_end, "on_train_batch_end")
  STAGECRAFT_NO_HOOK(on_training_batch_begin, "on_train_batch_begin")
  STAGECRAFT_NO_HOOK(on_training_batch_end, "on_train_batch_end")
  STAGECRAFT_NO_HOOK(on_step_begin, "on_train_batch_begin")
  STAGECRAFT_NO_HOOK(on_step_end, "on_train_batch_end")
  STAGECRAFT_NO_HOOK(on_test_start, "on_test_begin")
  STAGECRAFT_NO_HOOK(on_test_batch_start, "on_test_batch_begin")
  STAGECRAFT_NO_HOOK(on_evaluate_begin, "on_test_begin")
  STAGECRAFT_NO_HOOK(on_evaluate_end, "on_test_end")
  STAGECRAFT_NO_HOOK(on_validation_begin, "on_test_begin")
  STAGECRAFT_NO_HOOK(on_validation_start, "on_test_begin")
  STAGECRAFT_NO_HOOK(on_validation_end, "on_test_end")
  STAGECRAFT_NO_HOOK(on_validation_batch_begin, "on_test_batch_begin")
  STAGECRAFT_NO_HOOK(on_validation_batch_end, "on_test_batch_end")
  STAGECRAFT_NO_HOOK(on_predict_start, "on_predict_begin")
  STAGECRAFT_NO_HOOK(on_prediction_begin, "on_predict_begin")
  STAGECRAFT_NO_HOOK(on_prediction_end, "on_predict_end")
  STAGECRAFT_NO_HOOK(on_predict_batch_start, "on_predict_batch_begin")
#undef STAGECRAFT_NO_HOOK
  return {};
}

/// Reports E4137 and E4138 for a member that was meant as a hook, but is never called.
template <class C>
inline constexpr diagnostic hook_problem = [] {
  diagnostic problem;
  if (constexpr std::string_view hook = find_uncalled_hook<C>(); !hook.empty())
    problem.report(4137, "callback '", type_name<C>(), "' has a function ", hook,
                   " with other parameters than the hook, which is never called; hooks of runs take (sc::logs&), those "
                   "of epochs and batches (int, sc::logs&), and are written with override");
  if (constexpr misnamed_hook name = find_misnamed_hook<C>(); !name.found.empty())
    problem.report(4138, "callback '", type_name<C>(), "' has a function ", name.found,
                   ", which no run calls; the hook is ", name.meant);
  return problem;
}();

template <class Given>
concept CallbackValue = std::derived_from<std::remove_cvref_t<Given>, callback>;

/// The address of a callback, or of an object of a derived class.
template <class Given>
concept CallbackAddress =
    std::is_pointer_v<std::remove_cvref_t<Given>> && CallbackValue<std::remove_pointer_t<std::remove_cvref_t<Given>>>;

/// Reports E4085 for a callback itself in place of its address.
template <class Given>
inline constexpr diagnostic callback_value_problem = [] {
  diagnostic problem;
  problem.report(4085, "a callback of type '", type_name<Given>(),
                 "' is given itself; a run takes the address of a variable of yours: .callbacks = {&stopping}");
  return problem;
}();

/// The type of `.callbacks = {&stopping, &log}`, addresses of the user's variables, which must outlive the run. Errors:
/// E4085 a callback itself; E4137, E4138 a callback with a member that looks like a hook, but is never called.
struct callback_pointers : std::vector<callback*> {
  callback_pointers() = default;
  callback_pointers(std::vector<callback*> pointers) : std::vector<callback*>(std::move(pointers)) {}

  template <class... Given>
    requires(sizeof...(Given) > 0 && ((CallbackValue<Given> || CallbackAddress<Given>) && ...))
  callback_pointers(Given&&... given) : std::vector<callback*>{address_of(given)...} {}

 private:
  template <class Given>
  static callback* address_of([[maybe_unused]] Given& given) {
    if constexpr (CallbackValue<Given>) {
      static_assert(report<callback_value_problem<Given>>());
      return nullptr;
    } else {
      using type = std::remove_pointer_t<std::remove_cvref_t<Given>>;
      static_assert(report<hook_problem<type>>());
      return given;
    }
  }
};

}  // namespace stagecraft::trainers
