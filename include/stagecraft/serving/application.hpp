// SPDX-License-Identifier: BSD-3-Clause
// Makes an application of a model: a shared object that any program can load, without a compiler and without knowing
// the model's type. Graphcore's counterpart is the result of export_for_ipu_serving.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/io/weights.hpp>
#include <stagecraft/kernels/simd/processor_check.hpp>
#include <stagecraft/serving/application_interface.h>
#include <stagecraft/serving/application_options.hpp>
#include <stagecraft/serving/batch_sizes_servable.hpp>
#include <stagecraft/serving/detail/application_marker.hpp>
#include <stagecraft/serving/detail/processed_servable.hpp>
#include <stagecraft/serving/predictor_servable.hpp>
#include <stagecraft/serving/reply.hpp>
#include <stagecraft/version.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft::serving {

namespace detail {

/// The table that `stagecraft_get_application` returns and, beside it, a marker with the processors that the shared
/// object is compiled for, which can be read without loading it.
struct marked_application {
  stagecraft_application table;
  application_marker marker;
};

/// Reports steps that do not fit the model (E5090), and names of outputs that it does not have (E5093).
template <class Session, auto const& Options>
inline constexpr diagnostics::diagnostic application_problem = [] {
  diagnostics::diagnostic problem;
  using preprocessing = std::remove_cvref_t<decltype(Options.preprocessing_step)>;
  using postprocessing = std::remove_cvref_t<decltype(Options.postprocessing_step)>;
  constexpr bool has_pre = !std::is_same_v<preprocessing, no_processing>;
  constexpr bool has_post = !std::is_same_v<postprocessing, no_processing>;
  constexpr auto pre = spans_of<preprocessing>();
  constexpr auto post = spans_of<postprocessing>();
  constexpr auto given = facts_of_step<preprocessing>();
  if ((has_pre && !pre.is_valid) || (has_post && !post.is_valid)) {
    problem.report(5090, has_pre && !pre.is_valid ? "preprocessing_step" : "postprocessing_step",
                   " has no 'static void call(std::span<float const, N>..., std::span<float, M>...)' that reads the ",
                   "first ones and writes the others");
    return problem;
  }
  if (has_pre) {
    if (static_cast<int>(given.sizes.size()) != pre.read) {
      problem.report(5090, "preprocessing_step reads ", pre.read, " arrays, but its preprocessing_step_signature has ",
                     static_cast<int>(given.sizes.size()));
      return problem;
    }
    for (std::size_t i = 0; i < given.sizes.size(); ++i)
      if (given.sizes[i] != pre.sizes[i]) {
        problem.report(5090, "preprocessing_step reads ", pre.sizes[i], " numbers as array ", static_cast<int>(i),
                       ", but its preprocessing_step_signature has ", given.sizes[i]);
        return problem;
      }
    if (pre.written != Session::input_count()) {
      problem.report(5090, "preprocessing_step writes ", pre.written, " arrays, but the model has ",
                     Session::input_count(), " inputs");
      return problem;
    }
    for (std::size_t i = 0; static_cast<int>(i) < pre.written; ++i)
      if (pre.sizes[static_cast<std::size_t>(pre.read) + i] != Session::input_shape(static_cast<int>(i)).size()) {
        problem.report(5090, "preprocessing_step writes ", pre.sizes[static_cast<std::size_t>(pre.read) + i],
                       " numbers as array ", static_cast<int>(i), ", but that input of the model has ",
                       Session::input_shape(static_cast<int>(i)).size());
        return problem;
      }
  }
  if (has_post) {
    constexpr int outputs = Session::output_count;
    if (post.read != outputs) {
      problem.report(5090, "postprocessing_step reads ", post.read, " arrays, but the model has ", outputs, " outputs");
      return problem;
    }
    for (std::size_t i = 0; static_cast<int>(i) < post.read; ++i)
      if (post.sizes[i] != Session::output_shape(i).size()) {
        problem.report(5090, "postprocessing_step reads ", post.sizes[i], " numbers as array ", static_cast<int>(i),
                       ", but that output of the model has ", Session::output_shape(i).size());
        return problem;
      }
  }
  constexpr int outputs = has_post ? post.written : static_cast<int>(Session::output_count);
  if (Options.output_names.count > static_cast<int>(output_name_list::capacity)) {
    problem.report(5093, "output_names has ", Options.output_names.count, " names, of which there may be ",
                   static_cast<int>(output_name_list::capacity));
    return problem;
  }
  if (Options.output_names.count != 0 && Options.output_names.count != outputs)
    problem.report(5093, "output_names has ", Options.output_names.count, " names, but there are ", outputs,
                   " outputs");
  for (int i = 0; i < Options.output_names.count; ++i)
    for (int other = 0; other < i; ++other)
      if (Options.output_names.names[i].view() == Options.output_names.names[other].view()) {
        problem.report(5093, "output_names has '", Options.output_names.names[i].view(), "' twice");
        return problem;
      }
  return problem;
}();

/// An application's options. Clang 19 reads members of template arguments from wrong offsets, but not of a copy.
template <auto Options>
inline constexpr auto application_options_of = Options;

/// The first rule that an application breaks, its predictor's rules before its own.
template <class M, auto Inference, auto Options, class Machine>
constexpr diagnostics::diagnostic const& first_application_problem() {
  auto const& options = application_options_of<Options>;
  if constexpr (stagecraft::detail::run_problem<M, Inference, Machine, false>().failed()) {
    return stagecraft::detail::run_problem<M, Inference, Machine, false>();
  } else {
    using session_type = typename predictor<M, Inference, Machine>::session_type;
    if constexpr (states_between_callers<session_type>.failed())
      return states_between_callers<session_type>;
    else if constexpr (application_problem<session_type, application_options_of<Options>>.failed())
      return application_problem<session_type, application_options_of<Options>>;
    else
      return batch_sizes_problem<session_type, options.allowed_batch_sizes>;
  }
}

/// Adapts a feed of the C interface to servable_feed.
class interface_feed final : public servable_feed {
 public:
  explicit interface_feed(stagecraft_feed const& of) : of_(of) {}
  int feed(int replica, float* const* inputs) override { return of_.feed(of_.context, replica, inputs); }
  void take(int replica, float const* const* outputs) override { of_.take(of_.context, replica, outputs); }
  void cancel() noexcept override { of_.cancel(of_.context); }

 private:
  stagecraft_feed const& of_;
};

/// Calls a function of the interface and turns exceptions into results, since no exception may leave it.
template <class Function>
int guarded(stagecraft_message* message, Function const& function) noexcept {
  using kind = call_failure::kind;
  auto const says = [message](char const* text) {
    if (message != nullptr) std::snprintf(message->text, sizeof message->text, "%s", text);
  };
  try {
    function();
    return stagecraft_ok;
  } catch (no_more_batches const&) {
    return stagecraft_ended;
  } catch (...) {
    try {
      auto const failure = call_failure::of(std::current_exception());
      says(failure.text().c_str());
      return failure.what == kind::application   ? stagecraft_failed
             : failure.what == kind::recoverable ? stagecraft_lacked
                                                 : stagecraft_unrecoverable;
    } catch (...) {  // there was no memory for the text
      says("the machine has no more memory");
      return stagecraft_lacked;
    }
  }
}

/// Specs in the form of the C interface.
class interface_specs {
 public:
  explicit interface_specs(std::vector<tensor_spec> specs) : specs_(std::move(specs)) {
    for (auto const& each : specs_)
      tensors_.push_back({each.name.c_str(), static_cast<int>(each.shape.size()), each.shape.data()});
  }
  interface_specs(interface_specs const&) = delete;
  interface_specs& operator=(interface_specs const&) = delete;
  [[nodiscard]] int count() const noexcept { return static_cast<int>(tensors_.size()); }
  [[nodiscard]] stagecraft_tensor const* tensors() const noexcept { return tensors_.data(); }

 private:
  std::vector<tensor_spec> specs_;
  std::vector<stagecraft_tensor> tensors_;
};

/// The type that `application<...>` names.
template <Model M, auto Inference, auto Options, class Machine>
class model_application {
  using predictor_type = predictor<M, Inference, Machine>;
  using session_type = typename predictor_type::session_type;
  static constexpr auto const& options = application_options_of<Options>;
  using preprocessing = std::remove_cvref_t<decltype(options.preprocessing_step)>;
  using postprocessing = std::remove_cvref_t<decltype(options.postprocessing_step)>;
  static constexpr auto sizes = options.allowed_batch_sizes;

 public:
  /// The table that `stagecraft_get_application` returns.
  [[nodiscard]] static stagecraft_application const* table() noexcept {
    // The lowest version of the interface that suffices, so that older programs can load it.
    constexpr int version = sizes.count == 0 ? 1 : stagecraft_interface_version;
    [[gnu::used]] static constexpr marked_application result{
        {version, describe, create, run, destroy},
        {application_marker::magic, static_cast<std::uint32_t>(version), kernels::compiled_instruction_sets}};
    return &result.table;
  }

 private:
  [[nodiscard]] static std::vector<tensor_spec> input_specs(servable_description const& known) {
    if constexpr (std::is_same_v<preprocessing, no_processing>)
      return known.inputs;
    else
      return signature_facts<typename preprocessing::preprocessing_step_signature>::specs();
  }
  [[nodiscard]] static std::vector<tensor_spec> output_specs(servable_description known) {
    auto result = std::move(known.outputs);
    if constexpr (!std::is_same_v<postprocessing, no_processing>) {
      using spans = decltype(spans_of<postprocessing>());
      result.clear();
      for (int i = 0; i < spans::written; ++i) {
        auto const size = std::int64_t{spans::sizes[static_cast<std::size_t>(spans::read + i)]};
        result.push_back({"output_" + std::to_string(i), {}});
        if (size > 1) result.back().shape.push_back(size);
      }
    }
    for (std::size_t i = 0; auto const& name : options.output_names.kept()) result[i++].name = std::string(name.view());
    return result;
  }
  /// The description that callers see.
  [[nodiscard]] static servable_description known_description() {
    auto result = describe_session<session_type>(std::string(graph_of<typename session_type::described::model>.name()));
    result.inputs = input_specs(result);
    result.outputs = output_specs(result);
    return result;
  }
  [[nodiscard]] static std::unique_ptr<serving::servable> make_servable(predictor_type model) {
    auto known = known_description();
    auto const wrap = [&]<class Each>(Each&& each) -> std::unique_ptr<serving::servable> {
      return std::make_unique<processed_servable<Each, preprocessing, postprocessing>>(std::move(each), known);
    };
    if constexpr (sizes.count == 0) {
      return wrap(std::move(model));
    } else {
      known.iterations = 1;
      return make_batch_sizes_servable<sizes>(std::move(model), wrap);
    }
  }

  static stagecraft_description const* describe() noexcept {
    static auto const known = known_description();
    static interface_specs const inputs(known.inputs), outputs(known.outputs);
    static std::string const version =
        std::to_string(version_major) + "." + std::to_string(version_minor) + "." + std::to_string(version_patch);
    static stagecraft_description const result{known.name.c_str(), known.batch_size, known.iterations, known.stages,
                                               known.replicas,     inputs.count(),   inputs.tensors(), outputs.count(),
                                               outputs.tensors(),  version.c_str(),  sizes.count,      sizes.sizes};
    return &result;
  }
  static int create(char const* weights, stagecraft_program** made, stagecraft_message* message) noexcept {
    return guarded(message, [&] {
      predictor_type model;
      model.load_weights(weights);
      *made = reinterpret_cast<stagecraft_program*>(make_servable(std::move(model)).release());
    });
  }
  static int run(stagecraft_program* own, stagecraft_feed const* feed, stagecraft_message* message) noexcept {
    return guarded(message, [&] {
      interface_feed outer(*feed);
      reinterpret_cast<serving::servable*>(own)->run(outer);
    });
  }
  static void destroy(stagecraft_program* own) noexcept { delete reinterpret_cast<serving::servable*>(own); }
};

/// Stands in for an application that had its compile error.
struct refused_application {
  [[nodiscard]] static stagecraft_application const* table() noexcept { return nullptr; }
};

template <class M, auto Inference, auto Options, class Machine>
using application_or_stand_in =
    std::conditional_t<first_application_problem<M, Inference, Options, Machine>().failed(), refused_application,
                       model_application<M, Inference, Options, Machine>>;

}  // namespace detail

/// A model as an application: the inference that it runs with, its options and steps, and the machine. An application
/// is a shared object of one source file with
///
///     inline constexpr auto inference = sc::inference{.batch_size = 4, .steps_per_execution = 8};
///     inline constexpr auto around = sc::serving::application_options{.output_names = {"probabilities"}};
///     extern "C" stagecraft_application const* stagecraft_get_application() {
///       return sc::serving::application<models::digits, inference, around>::table();
///     }
///
/// which CMake compiles with `stagecraft_add_application(digits SOURCES digits.cpp)`; `stagecraft compile` writes and
/// compiles such a file. Iterations are the steps_per_execution. Errors: those of a predictor; E5090 steps that do not
/// fit the model, E5093 output_names that are equal, more than 64, or of another number than the model's outputs; E5148
/// allowed_batch_sizes that do not fit, E5097 a stateful model.
template <Model M, auto Inference, auto Options = application_options<>{}, class Machine = host<>,
          class Verdict = typename diagnostics::early_verdict<
              detail::first_application_problem<M, Inference, Options, Machine>()>::checked>
using application = typename Verdict::template model<detail::application_or_stand_in<M, Inference, Options, Machine>>;

}  // namespace stagecraft::serving

#include <stagecraft/diagnostics/end_headers.hpp>
