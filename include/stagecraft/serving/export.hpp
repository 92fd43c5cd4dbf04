// SPDX-License-Identifier: BSD-3-Clause
// Compiles models as applications in the program that has trained them: `export_for_ipu_serving` of a trainer or
// predictor, and Graphcore's ipu.serving. Not part of <stagecraft/stagecraft.hpp>.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/io/bundle.hpp>
#include <stagecraft/serving/application_file.hpp>
#include <stagecraft/serving/application_options.hpp>
#include <stagecraft/serving/detail/example_signatures.hpp>
#include <stagecraft/serving/detail/export_folder.hpp>
#include <stagecraft/serving/embedded_runtime.hpp>
#include <stagecraft/serving/predictor_servable.hpp>
#include <stagecraft/training/export_options.hpp>
#include <stagecraft/training/trained_model.hpp>
#include <string>

namespace stagecraft::trainers {

template <class Session>
[[nodiscard]] serving::embedded_runtime export_application_of(file_functions, trained_model<Session> const& model,
                                                              std::string const& export_dir,
                                                              export_options const& options, int iterations = 0) {
  using M = trained_type<Session>;
  auto const place = io::without_slash(export_dir);
  int const batch_size = options.batch_size > 0 ? options.batch_size : graph_of<M>.batch_size();
  if (batch_size < 1)
    io::refuse(
        "E5092", place,
        "the batch size is not known: set batch_size, or give the model's inputs one, input{...}.of_batch_size(4)");
  if (!options.output_names.empty() && options.postprocessing_step.empty() &&
      options.output_names.size() != Session::output_count)
    io::refuse("E5093", place,
               "output_names has " + std::to_string(options.output_names.size()) + " names, but there are " +
                   std::to_string(Session::output_count) + " outputs");
  serving::detail::check_output_names(place, options.output_names);
  // The application has one replica, however many the model has here.
  auto const sizes = serving::detail::check_batch_sizes(
      options.allowed_batch_sizes,
      {.batch_size = batch_size, .stages = Session::sizes::stages, .of_inputs = graph_of<M>.batch_size()});
  if (auto const text = sizes.text.view(); sizes.failed())
    io::refuse("E5148", place, std::string(text.substr(0, text.rfind(" ["))));
  // Steps have inputs and outputs of their own, which the compiled application says.
  if (options.preprocessing_step.empty() && options.postprocessing_step.empty())
    serving::detail::check_signatures(options.signatures,
                                      serving::detail::describe_session<Session>(place, options.output_names), place);
  io::unfinished_export folder(place);
  folder.prepare(options.purge_export_dir);
  auto const wanted = iterations > 0 ? iterations : Session::described::training.steps_per_execution;
  io::write_export(place, io::contents_of(model), io::export_config(batch_size, wanted, options));
  io::compile_export(place, options);
  serving::application_file const file(place);
  serving::detail::check_signatures(options.signatures, file.description(), place);
  folder.keep();
  return serving::embedded_runtime(file.make_servable());
}

}  // namespace stagecraft::trainers

namespace stagecraft {

namespace serving {

/// `model.export_for_ipu_serving(export_dir, {.batch_size = batch_size})`. Graphcore's serving.export_keras.
template <class Model>
[[nodiscard]] embedded_runtime export_keras(Model const& model, std::string const& export_dir, int batch_size = 0) {
  return model.export_for_ipu_serving(export_dir, {.batch_size = batch_size});
}

/// Exports a model without stages, `iterations` batches of which are run at once. Graphcore's
/// serving.export_single_step.
template <class Model>
  requires(Model::session_type::sizes::stages == 1)
[[nodiscard]] embedded_runtime export_single_step(Model const& model, std::string const& export_dir, int iterations,
                                                  export_options const& options = {}) {
  return model.export_for_ipu_serving(export_dir, options, iterations);
}

/// Exports a model with stages, through which `iterations` batches go without a gap: a multiple of what its schedule
/// works on at once. Graphcore's serving.export_pipeline.
template <class Model>
  requires(Model::session_type::sizes::stages > 1)
[[nodiscard]] embedded_runtime export_pipeline(Model const& model, std::string const& export_dir, int iterations,
                                               export_options const& options = {}) {
  return model.export_for_ipu_serving(export_dir, options, iterations);
}

}  // namespace serving

}  // namespace stagecraft

#include <stagecraft/diagnostics/end_headers.hpp>
